"""`Clear`, `ClearAt` and `ClearWhere`: projections that make the entries of a region zero and keep the others.

They are what overwriting does to the array that is overwritten. The region of a `Clear` is an arithmetic progression of
positions along each axis; that of a `ClearAt` is given by an index array, as the places to which a `ScatterAdd` adds; that of a
`ClearWhere` is where a mask is false. They are diagonal, with zeros and ones, and their own transposes; no number is stored
but the index array or the mask. Nothing passes a region, not even NaN: its entries are not multiplied by zero.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from catad.category.boxes import Primitive, box
from catad.category.spaces import Tensor
from catad.linear.families.gather import Indexing, positions, spread_beside, spread_over
from catad.linear.families.reindex import meet
from catad.linear.matrix.entries import Moves
from catad.linear.matrix.patterns import Grid, Pattern, Range
from catad.linear.solving.solver import Solver, singular
from catad.linear.structure import Rule, family

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire


class Run(NamedTuple):
    """The positions `start + step * k`, `0 <= k < length`, of an axis; `step > 0`."""

    size: int
    start: int
    step: int
    length: int

    @property
    def places(self) -> slice:
        return slice(self.start, self.start + self.step * self.length, self.step)

    def common(self, other: Run) -> int:
        """The number of positions that two runs of one axis have in common."""
        return meet(self.start, self.step, self.length, other.start, other.step, other.length)[4]


def run(size: int, start: int, step: int, count: int) -> Run:
    """A run in normal form."""
    if count <= 0:
        return Run(size, 0, 1, 0)
    if step < 0:
        start, step = start + step * (count - 1), -step
    return Run(size, start, 1 if count == 1 else step, count)


Region = tuple[Run, ...]


@box
class Cleared(Primitive):
    """The primitive that applies a `Clear`."""

    region: Region
    arity = 1

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        assert ins[0].shape == tuple(axis.size for axis in self.region)
        return ins

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        out = arrays[0].copy()
        out[tuple(axis.places for axis in self.region)] = 0
        return out

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule | None:
        return Rule(Clear(self.region, ins[0].dtype))

    def carried(self, size: int) -> Cleared:
        return Cleared((run(size, 0, 1, size), *self.region))


def written_at(xp: Any, how: Indexing, index: Any, x: Any, values: Any) -> Any:
    """A copy of x with values at the positions of an index array, which differ; positions out of range are left out."""
    if xp is not np:
        return _written_beside(xp, how, index, x, values)
    out = x.copy()
    if not how.by:
        at = int(index)
        if 0 <= at < how.bins:
            laid = values if isinstance(values, int) else np.transpose(values, [how.dst.index(label) for label in how.rest])
            out[(slice(None),) * how.axis + (at,)] = laid
        return out
    flat = positions(xp, how, index, how.shape(how.dst)).reshape(-1)
    inside = flat < x.size
    entries = values if isinstance(values, int) else values.reshape(-1)
    if not inside.all():
        flat, entries = flat[inside], entries if isinstance(entries, int) else entries[inside]
    line = out.reshape(-1)
    line[flat] = entries
    return line.reshape(x.shape)


def _written_beside(xp: Any, how: Indexing, index: Any, x: Any, values: Any) -> Any:
    """The same on a device, which nobody asks whether positions are out of range: these go to one more place."""
    flat = positions(xp, how, index, how.shape(how.dst)).reshape(-1)
    line = xp.concatenate([x.reshape(-1), xp.zeros(1, dtype=x.dtype)])
    line[flat] = values if isinstance(values, int) else values.reshape(-1)
    return line[:-1].reshape(x.shape)


@box
class ClearedAt(Primitive):
    """The primitive that applies a `ClearAt`: (index, x) to x with zeros."""

    how: Indexing
    arity = 2

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        assert ins[0].shape == self.how.shape(self.how.by) and ins[1].shape == self.how.shape(self.how.src)
        return ins[1:]

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        index, x = arrays
        return written_at(xp, self.how, index, x, 0)

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule | None:
        return Rule(ClearAt(self.how, ins[0].dtype, ins[1].dtype), lambda wires, _: wires[:1])

    def batched(self, b: Builder, ins: tuple[Wire, ...], flags: tuple[bool, ...], size: int) -> tuple[Wire, ...]:
        return b.add(ClearedAt(self.how.carried(flags[0], size)), ins[0], *spread_beside(b, ins[1:], flags[1:], size))


@box
class ClearedWhere(Primitive):
    """The primitive that applies a `ClearWhere`: (mask, x) to x with zeros where the mask is false.

    The axes of the mask have the sizes of those of x, or 1.
    """

    arity = 2

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        assert ins[0].dtype == bool and ins[0].ndim == ins[1].ndim
        assert all(n in (1, m) for n, m in zip(ins[0].shape, ins[1].shape, strict=True))
        return ins[1:]

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        mask, x = arrays
        return xp.where(mask, x, xp.zeros((), dtype=x.dtype))

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule | None:
        return Rule(ClearWhere(ins[0].shape, ins[1]), lambda wires, _: wires[:1])

    def batched(self, b: Builder, ins: tuple[Wire, ...], flags: tuple[bool, ...], size: int) -> tuple[Wire, ...]:
        mask, x = ins
        mask = mask if flags[0] else spread_over(b, mask, 1)
        return b.add(ClearedWhere(), mask, x if flags[1] else spread_over(b, x, size))


class _Projection(Moves):
    """The common part of `Clear`, `ClearAt` and `ClearWhere`."""

    @property
    def cod(self) -> tuple[Tensor, ...]:
        return self.dom

    @property
    def T(self) -> _Projection:
        return self

    kind = "projection"
    is_monomial = True
    is_diagonal = True
    bandwidths = (0, 0)

    @cached_property
    def nnz(self) -> int:
        return self.columns

    def why_singular(self, slots: Sequence[Any]) -> str:
        """What is zero, with these arrays in the slots; nothing where the map is the identity."""
        raise NotImplementedError

    def solver(self, xp: Any, slots: Sequence[Any], rtol: float | None = None) -> Solver:
        why = self.why_singular(slots)
        if why:
            raise singular(self, why)
        return Solver("identity", "O(n)", lambda ys: ys)

    def patterns(self) -> Grid:
        return ((Pattern(tuple([Range(n, n, 0, 0) for n in self.dom[0].shape])),),)


def _some_are_zero(cleared: Any) -> str:
    count = int(cleared.sum())
    return f"{count} rows or blocks of rows are zero" if count else ""


@family
class Clear(_Projection):
    """See the module: zero in a region of arithmetic progressions, the identity outside."""

    region: Region
    dtype: np.dtype[Any]
    slots = ()
    before = property(lambda self: tuple([axis.size for axis in self.region]))
    box = property(lambda self: Cleared(self.region))

    @cached_property
    def nnz(self) -> int:
        return self.columns - math.prod(axis.length for axis in self.region)

    @property
    def is_identity(self) -> bool:
        return any(axis.length == 0 for axis in self.region)

    @property
    def is_zero(self) -> bool:
        return self.nnz == 0

    def why_singular(self, slots: Sequence[Any]) -> str:
        return f"{self.rows - self.nnz} rows are zero by structure" if self.nnz < self.rows else ""


@family
class ClearAt(_Projection):
    """See the module: zero at the positions of an index array, the slot; the identity elsewhere."""

    how: Indexing
    index_dtype: np.dtype[Any]
    dtype: np.dtype[Any]
    before = property(lambda self: self.how.shape(self.how.src))
    box = property(lambda self: ClearedAt(self.how))

    @cached_property
    def slots(self) -> tuple[Tensor, ...]:
        return (Tensor(self.how.shape(self.how.by), self.index_dtype),)

    def why_singular(self, slots: Sequence[Any]) -> str:
        (index,) = slots
        return _some_are_zero((index >= 0) & (index < self.how.bins))


@family
class ClearWhere(_Projection):
    """See the module: zero where a mask, the slot, is false; the identity elsewhere."""

    mask: tuple[int, ...]
    space: Tensor
    dom = property(lambda self: (self.space,))
    box = property(lambda self: ClearedWhere())

    @cached_property
    def slots(self) -> tuple[Tensor, ...]:
        return (Tensor(self.mask, np.bool_),)

    def why_singular(self, slots: Sequence[Any]) -> str:
        return _some_are_zero(~slots[0])
