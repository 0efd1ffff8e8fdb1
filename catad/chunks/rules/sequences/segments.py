"""Segments: their numbers, the states that they start from, and the positions of these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from catad.category.boxes import AlongAxis, box
from catad.category.spaces import Tensor
from catad.chunks.parts import Ranges
from catad.chunks.plan import Labels, Plan
from catad.chunks.rules.contractions import added
from catad.chunks.rules.moves import move_of
from catad.chunks.rules.sequences.in_sequence import Here, block_sizes, follows, in_sequence, steps
from catad.chunks.rules.table import WHOLE, itself, rule
from catad.chunks.wires import At, Chunked, Local, Read
from catad.linear.families.previous_state import Origin, PreviousState
from catad.linear.families.recurrence import ONE, Recurred
from catad.linear.families.reindex import StridedCopy, along, moved_along, reshaped
from catad.linear.families.reindex import axis as ap
from catad.linear.structure import cast
from catad.scalar import apply, const, param
from catad.vector.bins.searchsorted import SortedPositions
from catad.vector.pointwise.generate import Iota
from catad.vector.pointwise.map import mapped
from catad.vector.scans.scan import shifted
from catad.vector.scans.segmented import NumberedByFlags, NumberedByLengths

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire

_INT = np.dtype(np.int64)


@box
class RightNumber(AlongAxis):
    """Numbers of segments in blocks, passed on; raises where their sum is another than `segments`."""

    segments: int
    axis: int = 0
    arity = 1

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return ins

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        (counts,) = arrays
        NumberedByFlags(self.segments).judge([0, 0, *xp.sum(counts, axis=self.axis).reshape(-1).tolist()])
        return counts


@box
class RightLengths(AlongAxis):
    """Lengths of segments as 64-bit integers; raises where one is negative, or where they do not add up to n."""

    n: int
    axis: int = 0
    arity = 1

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return (Tensor(ins[0].shape, _INT),)

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        numbered = NumberedByLengths(self.n, self.axis)
        numbered.judge(numbered.facts(xp, arrays[0]).tolist())
        return arrays[0].astype(np.int64)


WHOLE[RightNumber] = WHOLE[RightLengths] = "it is a part of plans, and reads few numbers"


@rule(
    NumberedByFlags,
    cut="along its axis: counts of blocks, then numbers in blocks from the ones before them; along others: local",
    exchanged="counts, scanned",
)
def _by_flags(plan: Plan, primitive: NumberedByFlags, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> Sequence[Chunked]:
    (flags,), axis = ins, primitive.axis
    labels = tuple(range(flags.ndim))
    given: list[tuple[Chunked, Labels]] = [(flags, labels)]
    sizes = block_sizes(plan, given, axis)
    if len(sizes) == 1:
        return plan.labelled("numbers of segments", given, [(outs[0], labels)], itself(primitive), whole=[axis])[0]
    rest = (axis, *labels[:axis], *labels[axis + 1 :])
    notes = follows(sizes)

    def lay_counts(b: Builder, wires: list[Wire], carried: list[Wire], here: Here) -> Sequence[Wire]:
        n = here.sizes[axis]
        own = _numbers(b, wires[0], axis, here) if n else cast(wires[0], _INT)
        last = moved_along(b, own, axis, ap(n, 1, n - 1, 1, 0, 1, min(n, 1)))
        if n and not here.note:
            (last,) = mapped(b, [apply("add", param(0), const(1))], [last])
        return [reshaped(b, last, (1, *[here.sizes[k] for k in rest[1:]]))]

    counted = Tensor((len(sizes), *[flags.shape[k] for k in rest[1:]]), _INT)
    counts = in_sequence(plan, "numbers of segments in blocks", given, [(counted, rest)], axis, lay_counts, (), notes, each=True)
    if primitive.segments >= 0:
        counts = _checked(plan, counts[0], rest, primitive.segments)
    before = plan.before_each("scan of numbers of segments", counts, added, sums_before, sums)

    def lay(b: Builder, wires: list[Wire], carried: list[Wire], here: Here) -> Sequence[Wire]:
        if not here.note or not here.sizes[axis]:
            return b.add(NumberedByFlags(-1, axis), *wires)
        own = _numbers(b, wires[0], axis, here)
        return mapped(b, [apply("sub", apply("add", param(0), param(1)), const(1))], [own, carried[0]])

    return in_sequence(plan, "numbers of segments", given, [(outs[0], labels)], axis, lay, [(before[0], rest)], notes)


def _checked(plan: Plan, counts: Chunked, labels: Labels, segments: int) -> list[Chunked]:
    """Counts in blocks, checked to add up to the number of segments."""

    def lay(b: Builder, wires: list[Wire], sizes: Mapping[int, int]) -> Sequence[Wire]:
        return b.add(RightNumber(segments), *wires)

    blocks = [k for k in labels[:1] if k is not None]
    return plan.labelled("check of counts", [(counts, labels)], [(counts.space, labels)], lay, whole=blocks)[0]


def _numbers(b: Builder, flags: Wire, axis: int, here: Here) -> Wire:
    """The numbers of the starts up to each element of a block, from 0 on where the block stands first."""
    (own,) = b.add(NumberedByFlags(-1, axis), flags)
    if not here.note:
        return own
    first = cast(moved_along(b, flags, axis, ap(flags.shape[axis], 1, 0, 1, 0, 1, 1)), _INT)
    return mapped(b, [apply("add", param(0), param(1))], [own, first])[0]


def sums_before(b: Builder, wires: Sequence[Wire]) -> Sequence[Wire]:
    """The sums of what stands before each element along axis 0."""
    return [shifted(b, b.add(Recurred(((ONE,),), 0), w)[0], 0, 0) for w in wires]


def sums(b: Builder, wires: Sequence[Wire]) -> Sequence[Wire]:
    return mapped(b, [apply("add", param(0), param(1))], wires)


@rule(
    NumberedByLengths,
    cut="as those wish who read the result: local, from the ends of the segments; lengths are read whole",
    exchanged="the ends of segments, to all",
)
def _by_lengths(plan: Plan, primitive: NumberedByLengths, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> Sequence[Chunked]:
    (lengths,), axis = ins, primitive.axis
    if lengths.ndim > 1:
        labels: Labels = [None if k == axis else k for k in range(lengths.ndim)]
        return plan.labelled("numbers of segments", [(lengths, labels)], [(outs[0], labels)], itself(primitive), whole=[axis])[0]

    def lay(b: Builder, wires: list[Wire], sizes: Mapping[int, int]) -> Sequence[Wire]:
        return b.add(Recurred(((ONE,),), 0), *b.add(RightLengths(primitive.n), *wires))

    space = Tensor(lengths.shape, _INT)
    ends = plan.labelled("ends of segments", [(lengths, (0,))], [(space, (0,))], lay, whole=[0])[0]
    return [numbers_in(plan, ends[0], primitive.n, None)]


def numbers_in(plan: Plan, ends: Chunked, n: int, ranges: Ranges | None) -> Chunked:
    """The numbers of the segments of n elements, or of ranges of them: how many segments have ended before each."""

    def lay(b: Builder, wires: list[Wire], at: At) -> Sequence[Wire]:
        (positions,) = b.add(Iota(at.sizes[0] if ranges is not None else n))
        positions = positions + at.offsets[0] if ranges is not None else positions
        return b.add(SortedPositions(True), wires[0], positions)

    reads = [Read(ends, (None,))]
    if ranges is None:
        whole = Local("numbers of segments", (), reads, lay, salt=plan.salt)
        return whole.result(Tensor((n,), _INT), (None,), None, lambda asked: numbers_in(plan, ends, n, *asked))
    sizes = ranges.sizes
    box = Local("numbers of segments", (sizes,), reads, lay, offsets=[(0, ranges.starts)], salt=plan.salt)
    return box.result(Tensor((sum(sizes),), _INT), (0,), (sizes,), lambda asked: numbers_in(plan, ends, n, *asked))


@rule(
    PreviousState,
    cut="along its axis: local, from the state before each block; along others: local",
    exchanged="a state a block",
)
def _previous(plan: Plan, primitive: PreviousState, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> Sequence[Chunked]:
    resets, states = ins
    axis, labels = primitive.axis, tuple(range(states.ndim))
    n, back = states.shape[axis], primitive.back
    before = states
    if back:
        moves = StridedCopy(along(states.shape, axis, ap(n, n, 0, 1, back, 1, max(n - back, 0))), 0.0)
        before = move_of(plan, moves, states)
    node = apply("select", param(0), const(0), param(1))

    def lay(b: Builder, wires: list[Wire], sizes: Mapping[int, int]) -> Sequence[Wire]:
        return mapped(b, [node], wires)

    return plan.labelled("state before", [(resets, labels), (before, labels)], [(outs[0], labels)], lay, light=True)[0]


@rule(Origin, cut="along its axis: local, from an offset that is an argument of the program; along others: local")
def _origin(plan: Plan, primitive: Origin, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> Sequence[Chunked]:
    (resets,), axis = ins, primitive.axis
    labels = tuple(range(resets.ndim))
    given: list[tuple[Chunked, Labels]] = [(resets, labels)]
    node = apply("select", param(0), const(-1), apply("sub", apply("add", param(1), param(2)), const(primitive.back)))
    if len(block_sizes(plan, given, axis)) == 1:
        return plan.labelled("origins", given, [(outs[0], labels)], itself(primitive), whole=[axis])[0]

    def lay(b: Builder, wires: list[Wire], carried: list[Wire], here: Here) -> Sequence[Wire]:
        assert here.start is not None
        return mapped(b, [node], [*wires, steps(b, here.sizes[axis], axis, resets.ndim), here.start])

    return in_sequence(plan, "origins", given, [(outs[0], labels)], axis, lay, starts=True, light=True)
