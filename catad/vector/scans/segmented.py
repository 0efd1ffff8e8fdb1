"""`segmented_scan` and `segmented_fold`: scans and folds of the segments of one array, whose lengths may differ.

Flags, true where a segment starts, or lengths give the segments. Each element gets the number of its segment; this is the
only integer part, and other combinators do the rest. A segmented scan is a scan with the operator lifted to (segment starts
here, element), which ignores all elements before a start (G. Blelloch, Scans as primitive parallel operations, 1989; Bruun
and Larsen 2022, section 2.1.1). A fold of segments is a histogram whose bins are the segments. So the Jacobians are a
recurrence with resets at starts, and a scatter-add for `+`. No number of a segment reaches another one, in any order of
derivative: not even NaN and infinity.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from catad import errors, scalar
from catad.category.boxes import AlongAxis, box
from catad.category.constructors import constructor
from catad.category.spaces import Elements, Tensor, rebuild
from catad.category.terms import D
from catad.linear.families.contract import repeated
from catad.linear.families.previous_state import PreviousState
from catad.support.options import truth_value
from catad.vector.bins.histogram import by_bin
from catad.vector.bins.sorted_bins import segmented
from catad.vector.deferred import OfOperator
from catad.vector.folds.monoid import Monoid, elements, factors, monoid_of, parts
from catad.vector.pointwise.map import mapped
from catad.vector.scans.scan import Scan, check_params, shifted, turned
from catad.vector.shapes.shape import axes_of

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire, Wires


class Numbered(AlongAxis):
    """Base of boxes that number the segment of each element. Some integers, its facts, tell whether an argument is right."""

    arity = 1

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        self.judge(self.facts(xp, arrays[0]).tolist())
        return self.numbers(xp, arrays[0])

    def facts(self, xp: Any, given: Any) -> Any:
        """The integers that `judge` looks at, as an array with one axis."""
        raise NotImplementedError

    def judge(self, facts: Sequence[int]) -> None:
        """Raises `ArgumentError` where they say that the argument is wrong."""
        raise NotImplementedError

    def numbers(self, xp: Any, given: Any) -> Any:
        """The numbers of the segments, where the argument is right."""
        raise NotImplementedError


@box
class NumberedByFlags(Numbered):
    """Flags (n,) to the number of the segment of each element (n,); axis `axis` counts the elements.

    Raises where integer flags are not 0 or 1, or where there are not `segments` segments (-1: any number).
    """

    segments: int = -1
    axis: int = 0

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return (Tensor(ins[0].shape, np.int64),)

    def facts(self, xp: Any, given: Any) -> Any:
        flags = given.astype(np.int64)
        ends = xp.stack([xp.min(flags), xp.max(flags)]) if flags.size else xp.zeros(2, dtype=np.int64)
        if self.segments < 0:
            return ends
        return xp.concatenate([ends, xp.sum(self._starts(xp, given), axis=-1).reshape(-1)])

    def judge(self, facts: Sequence[int]) -> None:
        low, high, *counts = facts
        if low < 0 or high > 1:
            raise errors.ArgumentError(errors.flag_out_of_range(low, high))
        for count in counts:
            if count != self.segments:
                raise errors.ArgumentError(errors.wrong_segment_count(count, self.segments))

    def _starts(self, xp: Any, given: Any) -> Any:
        starts = xp.moveaxis(given, self.axis, -1).astype(np.int64)  # a copy: the first element starts a segment in any case
        starts[..., :1] = 1
        return starts

    def numbers(self, xp: Any, given: Any) -> Any:
        return xp.moveaxis(xp.cumsum(self._starts(xp, given), axis=-1) - 1, -1, self.axis)


@box
class NumberedByLengths(Numbered):
    """Lengths (k,) to the number of the segment of each of n elements (n,); axis `axis` counts them.

    Raises where a length is negative or where they do not add up to n.
    """

    n: int
    axis: int = 0

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        shape = ins[0].shape
        return (Tensor((*shape[: self.axis], self.n, *shape[self.axis + 1 :]), np.int64),)

    def facts(self, xp: Any, given: Any) -> Any:
        lengths = xp.moveaxis(given, self.axis, -1).astype(np.int64)
        low = xp.min(lengths).reshape(1) if lengths.size else xp.zeros(1, dtype=np.int64)
        return xp.concatenate([low, xp.sum(lengths, axis=-1).reshape(-1)])

    def judge(self, facts: Sequence[int]) -> None:
        low, *totals = facts
        if low < 0:
            raise errors.ArgumentError(errors.negative_length(low))
        for total in totals:
            if total != self.n:
                raise errors.ArgumentError(errors.wrong_length_sum(total, self.n))

    def numbers(self, xp: Any, given: Any) -> Any:
        lengths = xp.moveaxis(given, self.axis, -1).astype(np.int64)
        rows = math.prod(lengths.shape[:-1])
        ends = xp.cumsum(lengths, axis=-1).reshape(rows, lengths.shape[-1])
        out = xp.empty((rows, self.n), dtype=np.int64)
        for i in range(rows):  # how many segments have ended before an element; an empty one ends where it starts
            out[i] = xp.searchsorted(ends[i], xp.arange(self.n), side="right")
        return xp.moveaxis(out.reshape(*lengths.shape[:-1], self.n), -1, self.axis)


def numbered(b: Builder, given: Any, element: Wire, by: str, segments: int, term: D) -> tuple[Wire, int]:
    """The number of the segment of each element, and how many segments there are (-1: not known before the data)."""
    space = b.space(given)
    n = element.shape[0]
    if by == "lengths":
        if isinstance(given, tuple) or given.ndim != 1 or given.dtype.kind not in "iu":
            raise errors.SpaceError(errors.not_lengths(space))
        return b.add(NumberedByLengths(n), given)[0], given.shape[0]
    if isinstance(given, tuple) or given.ndim != 1 or given.dtype.kind not in "iub":
        raise errors.SpaceError(errors.not_flags(space))
    if given.shape != (n,):
        raise errors.SpaceError(errors.wrong_flag_count(space, element.space, term))
    return b.add(NumberedByFlags(segments), given)[0], segments


def scanned_by_segments(
    b: Builder, monoid: Monoid, number: Wire, x: Sequence[Wire], exclusive: bool, reverse: bool, free: Sequence[Wire]
) -> list[Wire]:
    """Lay the scan of each segment out, one for each independent part of the operator.

    Reversed, everything is turned: an element then starts a segment where its number is not that of the one before it, as ever.
    """
    if reverse:
        number, x, monoid = turned(b, number, 0), [turned(b, w, 0) for w in x], monoid.flipped
    differs = scalar.apply("ne", scalar.param(0), scalar.param(1))
    (start,) = mapped(b, [differs], [number, shifted(b, number, 0, -1)])
    everywhere = repeated(b, start, (0,), x[0].shape)
    made: dict[int, Wire] = {}
    for own, part in parts(monoid):
        _, *prefixes = b.add(Scan(segmented(part)), everywhere, *[x[k] for k in own], *free)
        made.update(zip(own, prefixes, strict=True))
    out = [made[k] for k in range(len(x))]
    if exclusive:
        out = [_one_later(b, s, everywhere, monoid.neutral[k]) for k, s in enumerate(out)]
    return [turned(b, s, 0) for s in out] if reverse else out


def _one_later(b: Builder, prefixes: Wire, starts: Wire, neutral: float) -> Wire:
    """Each prefix one step later in its segment, the neutral element first."""
    node = scalar.apply("select", scalar.param(0), scalar.const(neutral), scalar.param(1))
    return mapped(b, [node], [starts, *b.add(PreviousState(0, 1), starts, prefixes)])[0]


def _arguments(b: Builder, x: Any, term: OfOperator) -> tuple[Any, Any, list[Wire], list[Wire]]:
    """Flags or lengths, the elements as they are nested and as wires, and the free numbers; all but the first checked."""
    (given, values), free = factors(b, x, (term.parameters["by"], "values"), term.monoid, term)
    wires = elements(b, values, term.monoid, term)
    axes_of(0, wires[0], term)
    check_params(free, wires[0], 0, term)
    return given, values, wires, free


def _lay_scan(b: Builder, x: Wires, term: OfOperator) -> Any:
    given, values, wires, free = _arguments(b, x, term)
    options = term.parameters
    number, _ = numbered(b, given, wires[0], options["by"], -1, term)
    out = scanned_by_segments(b, term.monoid, number, wires, options["exclusive"], options["reverse"], free)
    return rebuild(b.space(values), out)


def _lay_fold(b: Builder, x: Wires, term: OfOperator) -> Any:
    given, values, wires, free = _arguments(b, x, term)
    segments = term.parameters["segments"]
    number, count = numbered(b, given, wires[0], term.parameters["by"], -1 if segments is None else segments, term)
    return rebuild(b.space(values), by_bin(b, term.monoid, number, wires, count, free))


def _check_by(by: Any) -> None:
    if by not in ("flags", "lengths"):
        raise errors.ArgumentError(errors.bad_segments_by(by))


@constructor(morphisms="op")
def segmented_scan(
    op: Callable[..., Any] | Monoid,
    neutral: Elements | None = None,
    exclusive: bool = False,
    reverse: bool = False,
    by: Literal["flags", "lengths"] = "flags",
    params: int = 0,
) -> D:
    """Maps (flags, values) to the prefixes within each segment, of the shape and nesting of the values.

    `op` and `neutral` are as for `ct.scan`. `values` are elements nested as `neutral`, arrays of one shape (n, ...) whose
    axis 0 is cut into segments; other axes are carried along. `flags` (n,) are booleans, or the integers 0 and 1, true where
    a segment starts; the first element starts one whether flagged or not. With `by="lengths"` the first factor is `lengths`
    (k,) instead: integers of at least 0 that add up to n. `exclusive`, `reverse` and `params` are as for `ct.scan`, in each
    segment by itself.

    Its Jacobian is that of a scan, cut at starts: work O(n), depth O(log n) (Bruun and Larsen 2022,
    section 2.1.1). Passes over the n elements, of the value and of its gradient: an operator on numbers 4 and 8.

    Raises `SpaceError` for flags or lengths of another shape or dtype, `ArgumentError` where they have other
    values; errors of the operator as `ct.scan`.

    >>> import catad as ct, numpy as np
    >>> x = np.array([1.0, 2.0, 3.0, 4.0])
    >>> ct.segmented_scan(ct.add, 0.0)(np.array([True, False, True, False]), x)
    array([1., 3., 3., 7.])
    >>> ct.segmented_scan(ct.add, 0.0, exclusive=True, reverse=True, by="lengths")(np.array([3, 0, 1]), x)
    array([5., 3., 0., 0.])
    """
    _check_by(by)
    monoid = monoid_of(op, neutral, params)
    exclusive, reverse = truth_value(exclusive, "exclusive"), truth_value(reverse, "reverse")
    return OfOperator(segmented_scan, _lay_scan, monoid, exclusive=exclusive, reverse=reverse, by=by)


@constructor(morphisms="op")
def segmented_fold(
    op: Callable[..., Any] | Monoid,
    neutral: Elements | None = None,
    segments: int | None = None,
    by: Literal["flags", "lengths"] = "flags",
    params: int = 0,
) -> D:
    """Maps (flags, values) to the fold of each segment, or (lengths, values) with `by="lengths"`.

    `op`, `neutral`, `params` and `values`, arrays (n, ...), are as for `ct.segmented_scan`, and so are `flags` (n,) and
    `lengths` (k,). The result has the shape (k, ...) and the dtype of the values, with k the number of segments; a segment of
    length 0, which lengths can give, has the neutral element. By flags the number of segments is data: `segments=` says it,
    and another number is an error at run time.

    It is a histogram whose bins are the segments, and so is its derivative: one gather for `+` and for a minimum or maximum,
    the folds of each segment from both sides for any other operator. Work O(n + k), depth O(log n), beside the sort of
    `ct.histogram`; passes over the n elements, of the value by lengths and of its gradient: `*` 2 and 5, any other operator
    on numbers 2 and 4. Raises the errors of `ct.segmented_scan`, and `ArgumentError` where `segments` is needed and missing,
    or `by` is neither.

    >>> import catad as ct, numpy as np
    >>> x = np.array([1.0, 2.0, 3.0, 4.0])
    >>> products = ct.segmented_fold(lambda a, b: a * b, 1.0, by="lengths")
    >>> products(np.array([3, 0, 1]), x)
    array([6., 1., 4.])
    >>> ct.segmented_fold(ct.maximum, -np.inf, segments=2)(np.array([True, False, True, False]), x)
    array([2., 4.])
    >>> ct.grad(products >> ct.sum(), argnums=1)(np.array([3, 0, 1]), x)
    array([6., 3., 2., 1.])
    """
    _check_by(by)
    if by == "lengths" and segments is not None:
        raise errors.ArgumentError(errors.segments_and_lengths(segments))
    if by == "flags" and (isinstance(segments, bool) or not isinstance(segments, (int, np.integer)) or segments < 0):
        raise errors.ArgumentError(errors.bad_segment_count(segments))
    count = None if segments is None else int(segments)
    return OfOperator(segmented_fold, _lay_fold, monoid_of(op, neutral, params), segments=count, by=by)
