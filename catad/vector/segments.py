"""Loops in bounded memory whose value already keeps states: segments of equal length, one after the other.

    value      s_0 -> s_L -> s_2L -> ... -> s_n,    and these states are kept for the pullback
    pullback   the segments from the last to the first, each from its own state

Both are loops over segments. With room for about 2 sqrt(n) states, no step is taken again but once, where its coefficients are
computed (A. Griewank and A. Walther, Evaluating Derivatives, 2008, section 12.3). With less room the segments are reversed by
Revolve's schedule (`revolve.py`), and with little room so is the whole loop.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from catad import errors
from catad.late import late
from catad.linear.apply import applying
from catad.linear.batch import depending
from catad.linear.reindex import Reshaped, StridedCopy, axis, whole
from catad.spaces import Space, flatten, rebuild
from catad.terms import D
from catad.vector.checkpoint import checkpoint
from catad.vector.revolve import Revolved, revolve
from catad.wiring import wire

if TYPE_CHECKING:
    from catad.vector.loop import Iterate
    from catad.wiring import Builder, Wire

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
        steps = count * again(length, kept, share) + again(n % count, kept, share)
        if steps < best:
            best, found = steps, Segments(count, length, n % count, kept)
    return found


def again(n: int, kept: int, share: float) -> int:
    """The steps that are taken again to reverse some, with room for so many states beside the first one."""
    return 0 if n * share <= kept else revolve(n, kept + 1)[0]


def _counts(most: int) -> Iterator[int]:
    """Numbers of segments below a limit, all of the small ones."""
    count = 2
    while count < most:
        yield count
        count += max(1, count * 8 // TRIED)


def share_of(step: D, dom: Space, n: int) -> float | None:
    """What a plain loop keeps of a step, in parts of the state; None where a step has no derivative, or other ones as it runs."""
    state = sum([leaf.nbytes for leaf in dom.factors[0].leaves])  # type: ignore[attr-defined]
    if any(box.primitive.must_run for box in wire(step, dom).boxes):
        return None  # a while loop: its number of steps may be another one at each step
    k = len(dom.factors[0].leaves)  # type: ignore[attr-defined]
    try:
        valued, structure = late().linearised(step, dom)
    except errors.DerivativeError:
        return None
    wiring = wire(valued, dom)
    varying = depending(wiring, [True] * len(wiring.inputs)).difference(wiring.inputs[k:])
    pulling, _ = applying(structure.T)
    read = {j for box in pulling.boxes for j in box.ins}.union(pulling.outputs)
    slots = zip(wiring.outputs[len(wiring.outputs) - len(structure.slots) :], pulling.inputs, strict=False)
    needed = [{j for j, at in slots if at in read}, {*late().kept_of_step(wiring, structure, n, k, 0)}]
    return min([sum([wiring.wires[j].nbytes for j in own & varying]) for own in needed]) / max(state, 1)


def laid_out(b: Builder, loop: Iterate, found: Segments, state: Any, given: Any, share: float) -> Any:
    """The end of a loop in segments."""
    f, inputs = loop.children[0], loop.inputs

    def part(length: int) -> D:
        if length * share <= found.kept:
            return checkpoint(loop.of(f, length, None))
        return Revolved(loop.of(f, length, found.kept + 1))

    if found.head:
        first = rebuild(b.space(given), [_rows(b, w, 0, found.head) for w in flatten(given)])
        state = b.apply(part(found.head), (state, first) if inputs else state)
    shape = found.parts, found.length
    rows = [b.add(Reshaped((*shape, *w.shape[1:])), _rows(b, w, found.head, loop.n))[0] for w in flatten(given)]
    rest = rebuild(b.space(given), rows)
    return b.apply(loop.of(part(found.length), found.parts, None), (state, rest) if inputs else state)


def _rows(b: Builder, w: Wire, start: int, stop: int) -> Wire:
    """The inputs of some of the steps."""
    n, m = w.shape[0], stop - start
    return b.add(StridedCopy((axis(n, m, start, 1, 0, 1, m), *[whole(size) for size in w.shape[1:]])), w)[0]
