"""From a stage to a kernel: what is static (`Kernel`, compiled once) and what are numbers (`Layout`, passed at each call).

A kernel knows dtypes, work, and how many loops it has; sizes, strides and intervals come in a table, so that one compiled kernel
serves arrays of all sizes. Loops over which all arrays lie alike are merged, and parallel loops are ordered so that the innermost
is that of the smallest strides.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import copysign
from typing import NamedTuple

import numpy as np

from catad.category.spaces import Tensor
from catad.engine.stages.access import Access, Guard
from catad.engine.stages.body import Body, Sink, Source
from catad.engine.stages.stage import FoldResult, Op, Stage

POINTS, LINE, LANES, FOLDS, TOTALS, BLOCKS, FEW = "points", "line", "lanes", "folds", "totals", "blocks", "few states"
SHORT = 256  # indices of a line below which tiles do not pay where results are stored at each (measured)
LEAST = 33  # indices from which on they pay where none are: fewer are folded one after the other in any case
FAR = 1 << 31  # sizes and strides from which on products of two take more than 32 bits of each


class Kernel(NamedTuple):
    """A kernel as it is compiled: the work, the kind of loop nest, the number of outer loops, and how each array runs innermost.

    The classes are "c" contiguous, "r" contiguous backwards, "z" standing still, "s" any other stride; of sources, then sinks.
    A guard holds where all its tests do: each says that a position, a sum of indices times steps, is in an interval. Its courses
    are "c" by 1, "r" by -1, "z" not at all, "u" up and "d" down by more, a letter for each loop.
    """

    body: Body
    kind: str
    outer: int
    classes: tuple[str, ...]
    streaming: bool = False  # results are written by streaming stores, in full aligned vectors
    near: bool = False  # indexed axes are not empty, and their sizes and strides are numbers of 32 bits
    tests: tuple[tuple[int, str], ...] = ()  # of each test the guard to which it belongs, and its courses along the loops
    rare: tuple[int, ...] = ()  # guards that hold at few indices: unguarded code is for those where they do not

    @property
    def loops(self) -> int:
        """All loops: the outer ones, that of the lanes' axis, the innermost."""
        return self.outer + (2 if self.kind == LANES else 1)


class Place(NamedTuple):
    """The place of an array of a stage over its loops: the axes' positions, and the guards."""

    wire: int
    access: Access
    axis: int = -1  # an indexed axis, of this size
    size: int = 0


class Ready(NamedTuple):
    """A stage with all that is known before the arrays are: the work, and the places of sources and sinks."""

    shape: tuple[int, ...]
    axis: tuple[int, ...]
    direction: int
    body: Body
    reads: tuple[Place, ...]
    writes: tuple[Place, ...]
    needs: tuple[tuple[int, str], ...]


def ready(stage: Stage, wanted: Sequence[int], wires: Sequence[Tensor]) -> Ready:
    """The stage with stores for the wanted wires, and without what they do not need."""
    sinks, writes = [], []
    for wire in wanted:
        value: int | FoldResult
        if wire in stage.made:
            value, own = stage.made[wire]
        else:
            value, own = stage.folded[wire]
        sinks.append((value, wires[wire].dtype))
        writes.append(Place(wire, Access(own)))
    needed = _needed(stage, [value for value, _ in sinks])
    numbers: dict[int, int] = {}
    guards: dict[tuple[Guard, ...], int] = {}  # equal ones are tested once
    sources, reads = [], []
    for value, load in stage.inputs:
        if value in needed:
            numbers[value] = len(numbers)
            holds = load.access.guards
            guard = guards.setdefault(holds, len(guards)) if holds else -1
            fill = load.access.fill if holds else None
            minus_zero = fill == 0 and copysign(1.0, fill) < 0
            sources.append(Source(numbers[value], load.dtype.str, load.wire < 0, guard, fill, load.by, minus_zero))
            reads.append(Place(load.wire, load.access, load.axis, load.size))
    ops: list[Op] = []
    place: dict[int, int] = {}
    for k, op in enumerate(stage.ops):
        if k in needed.folds or any(op.first + i in needed for i in range(op.results)):
            place[k] = len(ops)
            first = len(numbers)
            numbers.update({op.first + i: first + i for i in range(op.results)})
            ops.append(op._replace(args=tuple([numbers[a] for a in op.args]), first=first))
    sources = [source._replace(by=numbers[source.by]) if source.by >= 0 else source for source in sources]
    made = []
    for value, dtype in sinks:
        at = FoldResult(place[value.op], value.part) if isinstance(value, FoldResult) else numbers[value]
        made.append(Sink(at, dtype.str))
    body = Body(tuple(sources), tuple(ops), tuple(made))
    return Ready(stage.shape, stage.axis, stage.direction, body, tuple(reads), tuple(writes), tuple(stage.needs))


class _Needed(set[int]):
    """Values that are needed; `folds` are the positions of needed folds among the work."""

    folds: set[int]


def _needed(stage: Stage, roots: Sequence[int | FoldResult]) -> _Needed:
    needed = _Needed(root for root in roots if not isinstance(root, FoldResult))
    needed.folds = {root.op for root in roots if isinstance(root, FoldResult)}
    indexed = {value: load.by for value, load in stage.inputs if load.by >= 0}
    needed.update([indexed[value] for value in needed if value in indexed])
    for k in reversed(range(len(stage.ops))):
        op = stage.ops[k]
        if k in needed.folds or any(op.first + i in needed for i in range(op.results)):
            needed.update(op.args)
            needed.update([indexed[value] for value in op.args if value in indexed])
    while more := {indexed[value] for value in needed if value in indexed} - needed:
        needed.update(more)
    return needed


def strides_of(space: Tensor) -> tuple[int, ...]:
    """The strides in bytes of a contiguous array."""
    steps = [space.dtype.itemsize]
    for n in reversed(space.shape[1:]):
        steps.append(steps[-1] * n)
    return tuple(reversed(steps[: space.ndim]))


class Loop(NamedTuple):
    """One loop of a nest: its size, whether states are carried along it, the stride of each array, the step of each test."""

    size: int
    carried: bool
    strides: tuple[int, ...]
    tests: tuple[int, ...]


class Layout(NamedTuple):
    """A kernel with the numbers of a call: offsets of the arrays, and the loops from the outermost in."""

    kernel: Kernel
    offsets: tuple[int, ...]
    loops: tuple[Loop, ...]
    indexed: tuple[tuple[int, int], ...] = ()  # of each indexed source the stride and the size of that axis
    tests: tuple[tuple[int, int], ...] = ()  # of each test the positions for which it holds: from the first to before the second


def layout(stage: Ready, strides: Sequence[Sequence[int]]) -> Layout | None:
    """The layout of a kernel over arrays of the given strides (of sources, then sinks, in bytes); None where axes do not merge.

    A loop index counts as an array of stride 1 a step that is never read.
    """
    places = [*stage.reads, *stage.writes]
    offsets = [0] * len(places)
    steps = [[0] * len(stage.shape) for _ in places]
    for j, (place, own) in enumerate(zip(places, strides, strict=True)):
        for at, stride in zip(place.access.axes, own, strict=True):
            offsets[j] += at.a * stride
            for label, s in at.terms:
                steps[j][label] += s * stride
    loops, arrays, guards = [], len(places), _guards(stage)
    offsets += [0] * len(guards)
    for k, size in enumerate(stage.shape):
        column = [*[own[k] for own in steps], *[dict(guard.terms).get(k, 0) for _, guard in guards]]
        if k in stage.axis and stage.direction < 0:
            offsets = [o + s * (size - 1) for o, s in zip(offsets, column, strict=True)]
            column = [-s for s in column]
        loops.append(Loop(size, k in stage.axis, tuple(column[:arrays]), tuple(column[arrays:])))
    found = _nest(stage, loops, offsets[:arrays])
    if found is not None and guards:
        found = _tested(found, [(k, g.lo - a, g.hi - a) for a, (k, g) in zip(offsets[arrays:], guards, strict=True)])
    indexed = [(own[p.axis], p.size) for p, own in zip(stage.reads, strides, strict=False) if p.axis >= 0]
    if found is None or not indexed:
        return found
    near = all(abs(stride) < FAR and 0 < size < FAR for stride, size in indexed)
    return found._replace(kernel=found.kernel._replace(near=near), indexed=tuple(indexed))


def _guards(stage: Ready) -> list[tuple[int, Guard]]:
    """What is tested, with the number of the guard to which it belongs."""
    found = {source.guard: place.access.guards for source, place in zip(stage.body.sources, stage.reads, strict=True)}
    return [(k, one) for k in range(max(found, default=-1) + 1) for one in found[k]]


def _tested(how: Layout, tests: Sequence[tuple[int, int, int]]) -> Layout:
    """The layout with the numbers of its tests: the guard, and the interval. No position goes down along the innermost loop."""
    columns, courses, intervals = [], [], []
    for t, (guard, lo, hi) in enumerate(tests):
        steps = [loop.tests[t] for loop in how.loops]
        if next((s for s in reversed(steps) if s), 1) < 0:
            steps, lo, hi = [-s for s in steps], 1 - hi, 1 - lo
        columns.append(steps)
        courses.append((guard, "".join(map(_course, steps))))
        intervals.append((lo, hi))
    loops = tuple([loop._replace(tests=own) for loop, own in zip(how.loops, zip(*columns, strict=True), strict=True)])
    rare = [_is_rare(own, interval, how.loops) for own, interval in zip(columns, intervals, strict=True)]
    guards = {guard for (guard, _), one in zip(courses, rare, strict=True) if one}
    kernel = how.kernel._replace(tests=tuple(courses), rare=tuple(sorted(guards)))
    return how._replace(kernel=kernel, loops=loops, tests=tuple(intervals))


def _is_rare(steps: Sequence[int], interval: tuple[int, int], loops: Sequence[Loop]) -> bool:
    """True where a test holds for less than half of the positions that the loops come to."""
    positions = 1 + sum([abs(s) * max(loop.size - 1, 0) for s, loop in zip(steps, loops, strict=True)])
    return 2 * (interval[1] - interval[0]) < positions


def _nest(stage: Ready, loops: list[Loop], offsets: list[int]) -> Layout | None:
    """The loops merged and ordered, and the kind of nest they make."""
    carried = [loop for loop in loops if loop.carried]
    plain = [loop for loop in loops if not loop.carried and loop.size != 1]
    if stage.direction == 0:  # sums, in whichever order
        carried = sorted(carried, key=_weight, reverse=True)
    carried = _merged([loop for loop in carried if loop.size != 1] or carried[:1])
    if len(carried) > 1:
        return None
    plain = _merged(sorted(plain, key=_weight, reverse=True))
    arrays: list[Source | Sink] = [*stage.body.sources, *stage.body.sinks]
    sizes = [np.dtype(a.dtype).itemsize if not (isinstance(a, Source) and a.is_index) else 0 for a in arrays]
    if not stage.axis:
        if not plain:
            plain = [Loop(1, False, (0,) * len(sizes), (0,) * len(loops[0].tests if loops else ()))]
        kind, order = POINTS, plain
    elif not plain or not carried or _weight(carried[0]) < _weight(plain[-1]):
        size = (carried or plain)[-1].size
        stores = any(not isinstance(sink.value, FoldResult) for sink in stage.body.sinks)
        kind = FOLDS if folds_alone(stage.body) and size >= (SHORT if stores else LEAST) else LINE
        order = [*plain, *carried]
    else:
        kind, order = LANES, [*plain[:-1], *carried, plain[-1]]
    outer = len(order) - (2 if kind == LANES else 1)
    classes = tuple([_class(s, n) for s, n in zip(order[-1].strides, sizes, strict=True)])
    return Layout(Kernel(stage.body, kind, outer, classes), tuple(offsets), tuple(order))


def folds_alone(body: Body) -> bool:
    """True where no state but those of folds is carried: the parts of a line can be gone through in any order."""
    return all(op.kind in ("map", "fold") for op in body.ops)


def _weight(loop: Loop) -> int:
    return sum(abs(s) for s in loop.strides)


def _merged(loops: list[Loop]) -> list[Loop]:
    """Neighbouring loops in one, where every array and every test goes on in the inner from where the outer is."""
    out: list[Loop] = []
    for loop in loops:
        if out:
            above, steps = out[-1], (*loop.strides, *loop.tests)
            if all(a == b * loop.size for a, b in zip((*above.strides, *above.tests), steps, strict=True)):
                out[-1] = loop._replace(size=above.size * loop.size)
                continue
        out.append(loop)
    return out


def _class(stride: int, itemsize: int) -> str:
    if stride == 0:
        return "z"
    if itemsize and abs(stride) == itemsize:
        return "c" if stride > 0 else "r"
    return "s"



def _course(step: int) -> str:
    """How a position runs."""
    return {0: "z", 1: "c", -1: "r"}.get(step, "u" if step > 0 else "d")
