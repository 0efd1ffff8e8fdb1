"""`Patterned`: matrices whose entries repeat or stand on few diagonals, by their coefficients; and what is linear in these.

With A(a) the matrix of the coefficients a, the number v' A(a) x is linear in each of a, x and v. Leaving one out gives a map of
the two others: A x without v, A' v without x, and without a the sums of v x' along each diagonal. So one box has three meanings,
its derivatives are itself with two of them, and `Patterned` is the family of the linear maps that have one of the three in their
slot. Of v x' only what coefficients meet is made: O(n w) for w diagonals.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from catad.category.boxes import Primitive, box
from catad.category.spaces import Tensor
from catad.linear.families.block import grid
from catad.linear.families.contract import contract
from catad.linear.families.reindex import reshaped
from catad.linear.structure import Rule, Structure, family

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire

ROLES = "axv"


@dataclass(frozen=True)
class Bands:
    """Diagonals (w, n): column j of row r has the entry [j + r - upper, j]; others lie outside the matrix and are not read.

    With `symmetric` there is one half, and the entries stand on both sides of the main diagonal.
    """

    lower: int
    upper: int
    symmetric: bool = False

    @property
    def kind(self) -> str:
        return "tridiagonal" if max(self.lower, self.upper) == 1 and (self.symmetric or self.lower == self.upper) else "banded"

    def shape(self, n: int) -> tuple[int, ...]:
        return self.lower + self.upper + 1, n

    def count(self, n: int) -> int:
        sides = [1 + (self.symmetric and k != 0) for k in range(-self.upper, self.lower + 1)]
        return sum(side * max(0, n - abs(k)) for side, k in zip(sides, range(-self.upper, self.lower + 1), strict=True))

    @property
    def widths(self) -> tuple[int, int]:
        most = max(self.lower, self.upper)
        return (most, most) if self.symmetric else (self.lower, self.upper)

    def _diagonals(self, n: int) -> Iterator[tuple[int, slice, slice, slice]]:
        """Rows of coefficients, the columns of it that are read, and which rows and columns of the matrix have them."""
        for r in range(self.lower + self.upper + 1):
            k = r - self.upper
            if abs(k) < n:
                columns, rows = slice(max(0, -k), n - max(0, k)), slice(max(0, k), n - max(0, -k))
                yield r, columns, rows, columns
                if self.symmetric and k:
                    yield r, columns, columns, rows

    def times(self, xp: Any, a: Any, x: Any, turned: bool) -> Any:
        """A x (..., n, k), or A' x."""
        y = xp.zeros(x.shape, dtype=x.dtype)
        for r, read, rows, columns in self._diagonals(x.shape[-2]):
            into, out = (columns, rows) if turned else (rows, columns)
            y[..., into, :] += a[..., r, read, None] * x[..., out, :]
        return y

    def along(self, xp: Any, x: Any, v: Any) -> Any:
        """The sums of v x' over the last axis of both, at the coefficients."""
        n, k = x.shape[-2:]
        made = xp.zeros((*x.shape[:-2], *self.shape(n)), dtype=x.dtype)
        for r, read, rows, columns in self._diagonals(n):
            both = v[..., rows, :] * x[..., columns, :]
            made[..., r, read] += both[..., 0] if k == 1 else both.sum(axis=-1)
        return made


@dataclass(frozen=True)
class Diagonals:
    """Matrices with one number on each diagonal (2 n - 1), from that above on the right to that below on the left."""

    kind = "toeplitz"

    def shape(self, n: int) -> tuple[int, ...]:
        return (max(0, 2 * n - 1),)

    def count(self, n: int) -> int:
        return n * n

    widths = None

    def times(self, xp: Any, a: Any, x: Any, turned: bool) -> Any:
        n, k = x.shape[-2:]
        leading = x.shape[:-2]
        y = xp.empty((math.prod(leading), n, k), dtype=x.dtype)
        if y.size:
            stack = a.reshape(len(y), 2 * n - 1)
            for i, columns in enumerate(x.reshape(y.shape)):
                for j in range(k):
                    y[i, :, j] = xp.convolve(stack[i, ::-1] if turned else stack[i], columns[:, j], "valid")
        return y.reshape(x.shape)

    def along(self, xp: Any, x: Any, v: Any) -> Any:
        n, k = x.shape[-2:]
        leading = x.shape[:-2]
        made = xp.zeros((math.prod(leading), *self.shape(n)), dtype=x.dtype)
        if n:
            right, left = [one.reshape(len(made), n, k) for one in (x, v)]
            for i in range(len(made)):
                for j in range(k):
                    made[i] += xp.convolve(left[i, :, j], right[i, ::-1, j])
        return made.reshape(*leading, *self.shape(n))


Pattern = Bands | Diagonals


@box
class PatternProduct(Primitive):
    """Of coefficients a, x and v those two that are not `result`, in this order, to the third; see the module.

    Shapes: x and v (..., n, k), a (..., *pattern.shape(n)).
    """

    pattern: Pattern
    result: str
    arity = 2
    vectorized = True
    borrows = True

    @property
    def given(self) -> tuple[str, str]:
        first, second = [role for role in ROLES if role != self.result]
        return first, second

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        assert ins[0].dtype == ins[1].dtype
        if self.result != "a":
            return (ins[1],)
        return (Tensor((*ins[0].shape[:-2], *self.pattern.shape(ins[0].shape[-2])), ins[0].dtype),)

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        first, second = arrays
        if self.result == "a":
            return self.pattern.along(xp, first, second)
        return self.pattern.times(xp, first, second, self.result == "x")

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule:
        by = dict(zip(self.given, ins, strict=True))
        first, second = self.given
        parts = [patterned(self.pattern, by[slot], slot, at) for slot, at in ((second, first), (first, second))]
        n, k = by["v" if self.result == "x" else "x"].shape[-2:]
        parts = [replace(part, n=n, k=k) for part in parts]
        return Rule(grid([parts], ins, outs), lambda wires, made: (wires[1], wires[0]))

    def batched(self, b: Builder, ins: tuple[Wire, ...], flags: tuple[bool, ...], size: int) -> tuple[Wire, ...]:
        if self.result == "a" or flags != (False, True):
            return super().batched(b, ins, flags, size)
        (made,) = b.add(self, ins[0], as_columns(b, ins[1]))
        return (as_lanes(b, made, ins[1].shape),)

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        n = next(space for role, space in zip((*self.given, self.result), (*ins, *outs), strict=True) if role != "a").shape[-2]
        of_vectors = ins[0] if self.result == "a" else ins[1]
        return self.pattern.count(n) * (of_vectors.size // max(1, n))

    def carried(self, size: int) -> PatternProduct:
        return self


def as_columns(b: Builder, lanes: Wire, columns: int = 1) -> Wire:
    """Arrays (size, ..., n, k) as the columns of (..., n, k * size); vectors (size, ..., n) have no axis of `columns`."""
    axes = tuple(range(lanes.ndim))
    beside = contract(b, [axes], [lanes], (*axes[1:], 0), lanes.shape)
    before = lanes.ndim - 1 - columns
    return reshaped(b, beside, (*beside.shape[:before], math.prod(beside.shape[before:])))


def as_lanes(b: Builder, columns: Wire, shape: tuple[int, ...]) -> Wire:
    """The inverse of that, to arrays of this shape."""
    axes = tuple(range(len(shape)))
    return contract(b, [(*axes[1:], 0)], [reshaped(b, columns, (*shape[1:], shape[0]))], axes, shape)


@family
class Patterned(Structure):
    """The map from one of coefficients a, x and v to another, the third being in the slot: see the module."""

    pattern: Pattern
    slot: str
    start: str
    leading: tuple[int, ...]
    n: int
    k: int
    dtype: np.dtype[Any]

    def _space(self, role: str) -> Tensor:
        own = self.pattern.shape(self.n) if role == "a" else (self.n, self.k)
        return Tensor((*self.leading, *own), self.dtype)

    @property
    def end(self) -> str:
        return next(role for role in ROLES if role not in (self.slot, self.start))

    dom = property(lambda self: (self._space(self.start),))
    cod = property(lambda self: (self._space(self.end),))
    slots = property(lambda self: (self._space(self.slot),))

    @property
    def T(self) -> Patterned:
        return replace(self, start=self.end)

    @property
    def kind(self) -> str:
        return self.pattern.kind if self.slot == "a" else f"diagonals of {self.pattern.kind}"

    @property
    def nnz(self) -> int:
        return math.prod(self.leading) * self.k * self.pattern.count(self.n)

    @property
    def bandwidths(self) -> tuple[int, int]:
        widths = self.pattern.widths
        if self.slot != "a" or widths is None or self.k != 1:
            return super().bandwidths
        below, above = [min(width, max(0, self.n - 1)) for width in widths]
        return (below, above) if self.start == "x" else (above, below)

    def apply(self, b: Builder, slots: Sequence[Wire], xs: Sequence[Wire | None]) -> list[Wire | None]:
        if xs[0] is None:
            return [None]
        by = {self.slot: slots[0], self.start: xs[0]}
        return list(b.add(PatternProduct(self.pattern, self.end), *[by[role] for role in ROLES if role in by]))


def patterned(pattern: Pattern, space: Tensor, slot: str = "a", start: str = "x", k: int = 1) -> Patterned:
    """The map whose slot has this space; of coefficients it says the leading axes, of others `n` and `k`, too."""
    if slot != "a":
        return Patterned(pattern, slot, start, space.shape[:-2], space.shape[-2], space.shape[-1], space.dtype)
    axes = len(pattern.shape(0))
    n = space.shape[-1] if axes == 2 else (space.shape[-1] + 1) // 2
    return Patterned(pattern, slot, start, space.shape[: space.ndim - axes], n, k, space.dtype)
