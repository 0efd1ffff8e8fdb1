"""Gradients within a limit of memory: which stages of a program are checkpoints, and how many states its loops keep.

The limit is on all that is alive while the gradient runs: arguments, the tape, and what runs (`liveness.py`). The sizes of the
stages, with several ways for those with loops (`loop_snapshots.py`), give schedules (`schedule.py`); each that is tried is laid
out as a program and counted, so a plan that fits fits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from catad.category.cache import cached
from catad.category.cartesian import compose, exl, fork
from catad.category.points import point_of
from catad.category.spaces import Product, Space, Tensor, Value, tangent_space
from catad.category.terms import D
from catad.category.wiring import Box, Wiring, wire
from catad.derivative.functors import ReverseDifferential
from catad.derivative.grad import grad
from catad.engine.program import program_of
from catad.linear.families.block import grid
from catad.linear.families.delta import delta
from catad.linear.map import LinearMap, linear_map
from catad.linear.products import cost_of_wiring
from catad.linear.structure import Structure
from catad.planner.chains.factors import work_of
from catad.planner.costs.cost import Model, short_of_memory
from catad.planner.costs.cost_profile import CostProfile
from catad.planner.memory.liveness import peak_of, peak_of_wiring
from catad.planner.memory.loop_snapshots import fastest, loops_in, menu, roomier, with_rooms
from catad.planner.memory.recompute import parts_of, with_checkpoints
from catad.planner.memory.schedule import Runs, Schedule, Stage, every, least, price, schedule, shorter
from catad.planner.request import Request
from catad.values.arrays import common_module
from catad.vector.loops.snapshots import Rooms

TRIED = 7  # schedules that are laid out and counted
FEW = 8  # stages, of which
COUNTED, IMPROVED = 100, 20  # more are counted: sizes that are joined tell less of few


class Counted(NamedTuple):
    """The runs of boxes that are computed again, the rooms of all loops, and the peak of value and pullback in bytes."""

    runs: Runs
    rooms: Rooms
    peak: int


class Stages(NamedTuple):
    """The stages of a program, their first boxes and the end, and the rooms of their loops in each way to tape them."""

    stages: tuple[Stage, ...]
    starts: tuple[int, ...]
    rooms: tuple[tuple[Rooms, ...], ...]

    def of_boxes(self, one: Schedule) -> tuple[Runs, Rooms]:
        """The runs of boxes of a schedule, and the rooms of all loops."""
        ways = (*one.ways, *[0] * len(self.stages))
        rooms = tuple([room for own, way in zip(self.rooms, ways, strict=False) for room in own[way]])
        return tuple([(self.starts[first], self.starts[end]) for first, end in one.runs]), rooms


def is_limited(f: D, dom: Space, request: Request) -> bool:
    """True where a gradient is asked for within a limit: of floating numbers to one floating number, planned freely."""
    if request.memory is None or request.mode != "auto":
        return False
    cod = f.spaces(dom)
    one = isinstance(cod, Tensor) and cod.shape == () and cod.is_float
    return one and bool(dom.leaves) and all(leaf.is_float for leaf in dom.leaves)


def within(f: D, dom: Space, memory: float, model: Model) -> Counted:
    """The fastest schedule of those that fit, by the cost model; raises `PlanError` where none does, with the least tried.

    A cost function knows products only, so there schedules are compared by operations.
    """
    loops = loops_in(parts_of(f), dom)
    free = counted(f, dom, ())
    if free.peak <= memory:
        return free
    found = _within(f, dom, memory, stages_of(f, dom, model if isinstance(model, CostProfile) else None))

    def fits(rooms: Rooms) -> bool:
        return counted(f, dom, found.runs, rooms).peak <= memory

    return counted(f, dom, found.runs, roomier(loops, found.rooms, fits))


def _within(f: D, dom: Space, memory: float, made: Stages) -> Counted:
    """The fastest schedule of those that fit, each loop with one of the rooms that were measured."""
    stages = made.stages
    lowest, found = _least(f, dom, made, memory)
    low, high = float(lowest.peak), float(price(stages, ()).peak)
    enough = found.peak  # what is tried whatever the limit is
    best = (lowest.seconds, lowest, found) if found.peak <= memory else None
    given = min(max(low, memory), high)  # what the sizes alone say first; then between what fits and what does not
    for _ in range(TRIED):
        tried = schedule(stages, given)
        found = counted(f, dom, *made.of_boxes(tried))
        if found.peak <= memory:
            low = given
            best = (tried.seconds, tried, found) if best is None or tried.seconds < best[0] else best
            following = (low + high) / 2
        else:
            high = given
            following = max(low, high * memory / found.peak)
        if high - low <= 0.02 * high:
            break
        given = following
    if best is None and len(stages) <= FEW:
        best = 0.0, *_fitting(f, dom, made, memory)
        enough = min(enough, best[2].peak)
    if best is None or best[2].peak > memory:
        raise short_of_memory(memory, enough, False)
    return _improved(f, dom, made, *best[1:], memory) if len(stages) <= FEW else best[2]


def _least(f: D, dom: Space, made: Stages, memory: float) -> tuple[Schedule, Counted]:
    """The schedule that takes the least memory: the first that fits, else that which is nearer.

    Stages that were joined into one program take less than their sizes say, and more so where more is computed again.
    """
    tried = []
    for again in (False, True):
        lowest = least(made.stages, again)
        tried.append((lowest, counted(f, dom, *made.of_boxes(lowest))))
        if tried[-1][1].peak <= memory:
            return tried[-1]
    return min(tried, key=lambda one: one[1].peak)


def _fitting(f: D, dom: Space, made: Stages, memory: float) -> tuple[Schedule, Counted]:
    """A schedule that fits where by the sizes none does: of one run, or of those that take the least by the sizes.

    If none of them fits, the one that takes the least. Loops keep as few states as they can.
    """
    stages, ways = made.stages, [len(stage.others) for stage in made.stages]
    priced = [price(stages, runs, ways) for runs in every(0, len(stages) - 1)]
    known = sorted(priced, key=lambda one: (one.peak, one.runs))
    nearest = [one for one in known if len(one.runs) == 1] + known[:COUNTED]
    least_of_all: tuple[Schedule, Counted] | None = None
    for one in dict.fromkeys(nearest):
        found = counted(f, dom, *made.of_boxes(one))
        if least_of_all is None or found.peak < least_of_all[1].peak:
            least_of_all = one, found
        if found.peak <= memory:
            break
    assert least_of_all is not None
    return least_of_all


def _improved(f: D, dom: Space, made: Stages, one: Schedule, found: Counted, memory: float) -> Counted:
    """A schedule that fits, or one that takes fewer seconds and fits, too: step by step, each counted, while one is found."""
    left = IMPROVED
    while left > 0:
        for better in shorter(made.stages, one.runs, one.ways):
            left -= 1
            tried = counted(f, dom, *made.of_boxes(better))
            if tried.peak <= memory:
                one, found = better, tried
                break
            if left <= 0:
                break
        else:
            break
    return found


def gradient_map(f: D, primals: Sequence[Value]) -> LinearMap:
    """The derivative of a program to one number at a point, from its gradient, which runs as one program."""
    leaves, dom = point_of(f, primals[0] if len(primals) == 1 else tuple(primals))
    slots = program_of(grad(f), dom)[0](common_module(leaves), leaves)
    cod = f.spaces(dom)
    rows = [_row(leaf, cod.leaves[0]) for leaf in dom.leaves]
    structure = rows[0] if len(rows) == 1 else grid([rows], dom.leaves, cod.leaves)
    return linear_map(tangent_space(dom), tangent_space(cod), structure, slots)


def _row(leaf: Tensor, one: Tensor) -> Structure:
    """All entries of an array to one number."""
    axes = range(leaf.ndim)
    return delta((), axes, axes, leaf.shape, leaf.dtype, one.dtype, leaf.dtype)


def counted(f: D, dom: Space, runs: Runs, rooms: Rooms = ()) -> Counted:
    """What the gradient of a program with checkpoints, and with rooms for its loops, takes.

    Without rooms, loops have the largest ones.
    """
    rooms = rooms or fastest(loops_in(parts_of(f), dom))
    return Counted(runs, rooms, peak_of(grad(with_checkpoints(f, runs, dom, rooms)), dom))


def stages_of(f: D, dom: Space, profile: CostProfile | None) -> Stages:
    """The stages of a program with their seconds by a profile, else their operations; their first boxes, and the end.

    A stage ends where its result is an array that is kept in any case. It is none where a pointwise box follows in one loop, so
    that it is computed again at no cost worth telling; and none that holds a constant, which would be an argument of the next.
    """
    return cached(f, ("stages", dom, profile), lambda: _stages(f, dom, profile))


def _stages(f: D, dom: Space, profile: CostProfile | None) -> Stages:
    parts, made, starts, rooms = parts_of(f), list[Stage](), [0], list[tuple[Rooms, ...]]()

    def ended(own: list[D], dom: Space, cod: Space) -> None:
        def measure(one: Rooms) -> Stage:
            return _stage(compose(*with_rooms(own, dom, one)), dom, cod, profile, not made)

        loops = loops_in(own, dom)
        ways = menu(loops, measure) if loops else [((), measure(()))]
        rooms.append(tuple([one for one, _ in ways]))
        made.append(ways[0][1]._replace(others=tuple([stage for _, stage in ways[1:]])))

    own, end = [parts[0]], wire(parts[0], dom)
    for k, part in enumerate(parts[1:], 1):
        cod = end.cod
        joined = compose(*own, part)
        if _holds_constants(end) or _loops(joined, dom) < _loops(compose(*own), dom) + _loops(part, cod):
            own, end = [*own, part], wire(joined, dom)
            continue
        ended(own, dom, cod)
        starts.append(k)
        dom, own, end = cod, [part], wire(part, cod)
    ended(own, dom, end.cod)
    return Stages(tuple(made), (*starts, len(parts)), tuple(rooms))


def _loops(f: D, dom: Space) -> int:
    """The number of boxes that run, after pointwise ones were joined."""
    return sum([1 for box in _program(f, dom).boxes if box.ins])


def _holds_constants(wiring: Wiring) -> bool:
    constant = {out for box in wiring.boxes if not box.ins for out in box.outs}
    return not constant.isdisjoint(wiring.outputs)


def _stage(f: D, dom: Space, cod: Space, profile: CostProfile | None, first: bool) -> Stage:
    """The sizes of a stage, from the programs of its value and of its value and pullback.

    The argument of the first stage is alive to the end, since the caller holds it.
    """
    value, end = _program(f, dom), Product((dom, cod))
    alone = _program(ReverseDifferential(f), end)
    both = _program(fork(exl >> f, ReverseDifferential(f)), end)  # what makes the value may make coefficients
    n = len(dom.leaves)
    xs, cotangents = both.inputs[:n], both.inputs[n:]
    pulled = set(cotangents)  # what depends on a cotangent
    last = list[Box]()
    for box in both.boxes:
        if not pulled.isdisjoint(box.ins):
            last.append(box)
            pulled.update(box.outs)
    constant = {out for box in both.boxes if not box.ins for out in box.outs}
    tape = {k for box in last for k in box.ins} - pulled - constant
    tape.update(xs if first else ())
    pullback = Wiring(end, end, both.wires, (*cotangents, *tape), tuple(last), tuple(both.outputs[len(cod.leaves) :]))
    forward = peak_of_wiring(value)
    return Stage(
        input=_bytes(both, xs),
        cotangent=_bytes(both, cotangents),
        tape=_bytes(both, tape),
        forward=forward,
        taped=forward + _bytes(both, tape.difference(both.inputs, both.outputs)),
        backward=peak_of_wiring(pullback, range(len(cotangents), len(pullback.inputs))),
        alone=peak_of_wiring(alone, range(n) if first else ()),
        seconds=_amount(value, profile),
        reversing=_amount(both, profile),
    )


def _program(f: D, dom: Space) -> Wiring:
    found: Wiring = program_of(f, dom)[0].wiring
    return found


def _bytes(wiring: Wiring, wires: Iterable[int]) -> int:
    return sum([wiring.wires[k].nbytes for k in wires])


def _amount(wiring: Wiring, profile: CostProfile | None) -> float:
    if profile is None:
        return float(cost_of_wiring(wiring))
    return profile.seconds(work_of([(p, wiring.spaces(ins), wiring.spaces(outs)) for p, ins, outs in wiring.boxes if ins]))
