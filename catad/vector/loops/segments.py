"""Loops in bounded memory whose value already keeps states: segments of equal length, one after the other.

    value      s_0 -> s_L -> s_2L -> ... -> s_n,    and these states are kept for the pullback
    pullback   the segments from the last to the first, each from its own state

Both are loops over segments. With room for about 2 sqrt(n) states, no step is taken again but once, where its coefficients are
computed (A. Griewank and A. Walther, Evaluating Derivatives, 2008, section 12.3). With less room the segments are reversed by
Revolve's schedule (`revolve.py`), and with little room so is the whole loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from catad import errors, upward
from catad.category.boxes import of_fields
from catad.category.cache import cached
from catad.category.spaces import Product, Tensor, flatten
from catad.category.terms import D
from catad.category.wiring import share, wire
from catad.linear.apply import applying
from catad.linear.batch import depending
from catad.linear.families.reindex import Reshaped
from catad.vector.loops.checkpoint import Call
from catad.vector.loops.revolve import BoundedLoop, revolve
from catad.vector.loops.sweep_map import Sweep, stacked
from catad.vector.shapes.shape import concatenate
from catad.vector.shapes.split import piece

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire

TRIED = 100  # numbers of segments
BESIDE = 3  # states that loops over segments hold besides: the first one again, that of the segment that is reversed, a cotangent


class Segments(NamedTuple):
    """`parts` segments of `length` steps after `head` steps, and how many states reversing each may keep."""

    parts: int
    length: int
    head: int
    kept: int


def segments(n: int, memory: int, share: float) -> Segments | None:
    """The segments with which the fewest steps are taken again; None where the schedule for the whole loop takes fewer.

    `share` is what the coefficients of a step take, in parts of a state. The first run of the loop keeps the states at which
    segments begin; Revolve's schedule takes it again.

    >>> segments(1000, 70, 1.0)
    Segments(parts=22, length=45, head=10, kept=45)
    """
    best, found = revolve(n, memory)[0], None
    for count in _counts(min(memory - BESIDE, n)):
        length, kept = n // count, memory - BESIDE - count
        tried = Segments(count, length, n % count, kept)
        steps = taken_again(tried, share)
        if steps < best:
            best, found = steps, tried
    return found


def taken_again(found: Segments, share: float) -> int:
    """The steps that are taken again to reverse all segments."""
    return found.parts * again(found.length, found.kept, share) + again(found.head, found.kept, share)


def again(n: int, kept: int, share: float) -> int:
    """The steps that are taken again to reverse some, with room for so many states beside the first one."""
    return 0 if n <= 1 or n * share <= kept else revolve(n, kept + 1)[0]


def _counts(most: int) -> Iterator[int]:
    """Numbers of segments up to a limit, all of the small ones, and the limit."""
    count = 2
    while count < most:
        yield count
        count += max(1, count * 8 // TRIED)
    if most > 1:
        yield most


def share_of(sweep: Sweep) -> float | None:
    """What a plain loop keeps of a step, in parts of the state; None where a step has no derivative, or other ones as it runs."""
    return cached(sweep.body, ("share", sweep.dom, sweep.n), lambda: _share_of(sweep))


def _share_of(sweep: Sweep) -> float | None:
    step, dom = sweep.body, sweep.dom
    if any(box.primitive.must_run for box in wire(step, dom).boxes):
        return None  # a while loop: its number of steps may be another one at each step
    k, g = len(sweep.state.leaves), len(sweep.given.leaves)
    try:
        valued, structure = upward.linearised(step, dom)
    except errors.DerivativeError:
        return None
    wiring = wire(valued, dom)
    varying = depending(wiring, [not k <= i < k + g for i in range(len(wiring.inputs))]).difference(wiring.inputs[k:])
    pulling, _ = applying(structure.T)
    read = {j for box in pulling.boxes for j in box.ins}.union(pulling.outputs)
    slots = zip(wiring.outputs[len(wiring.outputs) - len(structure.slots) :], pulling.inputs, strict=False)
    needed = [{j for j, at in slots if at in read}, {*upward.kept_of_step(wiring, structure, sweep.n, k, g)}]
    kept = min([sum([wiring.wires[j].nbytes for j in own & varying]) for own in needed])
    return kept / max(sum([leaf.nbytes for leaf in sweep.state.leaves]), 1)


@share
@of_fields
class Segment(D):
    """Some steps of a loop as one box, from (state, given, inputs) to (state, sums, outputs), in other parts of these spaces."""

    sweep: Sweep
    kept: int | None
    wanted: tuple[bool, ...]

    def lay_out(self, b: Builder, x: Any) -> Any:
        return self.sweep.nested(b.add(self.box([w.space for w in flatten(x)]), *flatten(x)))

    def box(self, spaces: Sequence[Tensor]) -> Call:
        """The box: one that keeps its argument, or also some states between."""
        dom = Product(spaces)
        return Call(self.sweep, dom) if self.kept is None else BoundedLoop(self.sweep, dom, self.kept, self.wanted)


def in_segments(
    b: Builder, sweep: Sweep, wires: Sequence[Wire], found: Segments, part_kept: float, wanted: tuple[bool, ...]
) -> tuple[Wire, ...]:
    """The results of a loop in segments."""
    state, given, inputs = sweep.parted(wires)

    def part(length: int) -> Segment:
        whole = length == 1 or length * part_kept <= found.kept
        return Segment(replace(sweep, n=length), None if whole else found.kept + 1, wanted)

    first, rest = (found.head, sweep.n) if not sweep.reverse else (0, sweep.n - found.head)  # where the segments stand
    sums: Sequence[Wire] = ()
    outputs: Sequence[Wire] = ()
    if found.head:
        own = [piece(b, w, 0, *((rest, sweep.n) if sweep.reverse else (0, first))) for w in inputs]
        state, sums, outputs = b.apply(part(found.head), (tuple(state), tuple(given), tuple(own)))
    shape = found.parts, found.length
    rows = [b.add(Reshaped((*shape, *w.shape[1:])), piece(b, w, 0, first, rest))[0] for w in inputs]
    each, made = [Product(stacked(space, found.length)) for space in (sweep.input, sweep.output)]
    loop = Sweep(part(found.length), found.parts, sweep.state, each, made, sweep.reverse, sweep.given, sweep.sums)
    state, more, made_rows = loop.nested(b.add(loop, *state, *given, *rows))
    flat = [b.add(Reshaped((found.parts * found.length, *w.shape[2:])), w)[0] for w in made_rows]
    if found.head:
        more = tuple([one + other for one, other in zip(sums, more, strict=True)])
        pairs = zip(flat, outputs, strict=True) if sweep.reverse else zip(outputs, flat, strict=True)
        flat = [b.apply(concatenate(0), pair) for pair in pairs]
    return (*state, *more, *flat)
