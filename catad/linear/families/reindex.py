"""`Reindex` and `Reshape`: maps that only move entries, described without index arrays.

A `Reindex` moves, along each axis, an arithmetic progression of positions of the argument to one of the result:
`y[c + t k] = x[a + s k]` for `0 <= k < m`, zero elsewhere. Slices (with any step), flips, padding, shifts and the pieces of a
concatenation are of this form, the transpose exchanges the two progressions, and the product of two is again one, since two
arithmetic progressions meet in an arithmetic progression. `Reshape` keeps the entries and changes the axes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from catad.category.boxes import Primitive, box
from catad.category.spaces import Tensor
from catad.linear.matrix.columns import images
from catad.linear.matrix.entries import Moves
from catad.linear.matrix.patterns import Grid, Pattern, Range
from catad.linear.solving.solver import Solver, singular
from catad.linear.structure import Rule, WeightedMove, family

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire


class Axis(NamedTuple):
    """`y[c + t k] = x[a + s k]`, `0 <= k < m`, between axes of sizes `n_in` and `n_out`; `t > 0`."""

    n_in: int
    n_out: int
    a: int
    s: int
    c: int
    t: int
    m: int

    @property
    def T(self) -> Axis:
        return axis(self.n_out, self.n_in, self.c, self.t, self.a, self.s, self.m)

    @property
    def is_whole(self) -> bool:
        """True where the whole axis stays where it is."""
        return self.n_in == self.n_out == self.m and self.a == self.c == 0 and self.s == self.t


def axis(n_in: int, n_out: int, a: int, s: int, c: int, t: int, m: int) -> Axis:
    """An `Axis` in normal form, so that equal moves are equal objects."""
    if m <= 0:
        return Axis(n_in, n_out, 0, 1, 0, 1, 0)
    if m == 1:
        return Axis(n_in, n_out, a, 1, c, 1, 1)
    if t < 0:
        a, s, c, t = a + s * (m - 1), -s, c + t * (m - 1), -t
    return Axis(n_in, n_out, a, s, c, t, m)


def whole(n: int) -> Axis:
    """The axis that stays as it is."""
    return axis(n, n, 0, 1, 0, 1, n)


def then(first: Axis, second: Axis) -> Axis:
    """First one move, then the other: the progression of the middle positions that both use."""
    k, k_step, j, j_step, count = meet(first.c, first.t, first.m, second.a, second.s, second.m)
    a, s = first.a + first.s * k, first.s * k_step
    c, t = second.c + second.t * j, second.t * j_step
    return axis(first.n_in, second.n_out, a, s, c, t, count)


def meet(c: int, t: int, m: int, a: int, s: int, n: int) -> tuple[int, int, int, int, int]:
    """All (k, j) with `c + t k = a + s j`, `0 <= k < m`, `0 <= j < n`, as starts, steps and a count."""
    g = math.gcd(t, s)
    if m == 0 or n == 0 or (a - c) % g:
        return 0, 1, 0, 1, 0
    k_step, j_step = abs(s) // g, (t // g) * (1 if s > 0 else -1)
    k = (a - c) // g * pow(t // g, -1, k_step) % k_step if k_step > 1 else 0
    j = (c + t * k - a) // s
    low, high = 0, (m - 1 - k) // k_step
    if j_step > 0:
        low, high = max(low, -(j // j_step)), min(high, (n - 1 - j) // j_step)
    else:
        low, high = max(low, -((n - 1 - j) // -j_step)), min(high, j // -j_step)
    return k + k_step * low, k_step, j + j_step * low, j_step, max(0, high - low + 1)


def places(start: int, step: int, count: int) -> slice:
    """A slice of these positions."""
    stop = start + step * count
    return slice(start, None if stop < 0 else stop, step)


@box
class StridedCopy(Primitive):
    """The primitive that applies a `Reindex`; positions that nothing moves to get `fill`."""

    drawn_as = "linear"
    axes: tuple[Axis, ...]
    fill: float = 0.0
    arity = 1

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        assert ins[0].shape == tuple(ax.n_in for ax in self.axes)
        return (Tensor([ax.n_out for ax in self.axes], ins[0].dtype),)

    def kernel(self, ins: tuple[Tensor, ...]) -> Callable[..., Any]:
        source = tuple(places(ax.a, ax.s, ax.m) for ax in self.axes)
        target = tuple(places(ax.c, ax.t, ax.m) for ax in self.axes)
        if all(ax.m == ax.n_out for ax in self.axes):
            return lambda xp, x: x[source]
        shape, fill = tuple(ax.n_out for ax in self.axes), self.fill

        def kernel(xp: Any, x: Any) -> Any:
            out = xp.full(shape, fill, dtype=x.dtype)
            out[target] = x[source]
            return out

        return kernel

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule | None:
        return Rule(Reindex(self.axes, ins[0].dtype))

    def carried(self, size: int) -> StridedCopy:
        return StridedCopy((whole(size), *self.axes), self.fill)


@box
class Reshaped(Primitive):
    """The primitive that applies a `Reshape`: the same entries in other axes, in C order."""

    drawn_as = "linear"
    shape: tuple[int, ...]
    arity = 1

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        assert ins[0].size == math.prod(self.shape)
        return (Tensor(self.shape, ins[0].dtype),)

    def kernel(self, ins: tuple[Tensor, ...]) -> Callable[..., Any]:
        shape = self.shape
        return lambda xp, x: x.reshape(shape)

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule | None:
        return Rule(Reshape(ins[0].shape, self.shape, ins[0].dtype))

    def carried(self, size: int) -> Reshaped:
        return Reshaped((size, *self.shape))


def _range_of(ax: Axis) -> Range:
    """Positions `c + t k` of the result and `a + s k` of the argument."""
    if ax.m == 0:
        return Range(ax.n_in, ax.n_out, 0, 0)
    first, last = ax.c - ax.a, ax.c - ax.a + (ax.t - ax.s) * (ax.m - 1)
    return Range(ax.n_in, ax.n_out, min(first, last), max(first, last))


class _Moves(Moves):
    """The common part of `Reindex` and `Reshape`: they move each entry to one place, or leave it out."""

    slots = ()
    is_monomial = True
    only_moves = True


@family
class Reindex(_Moves):
    """See the module: along each axis one arithmetic progression of entries is moved to another."""

    axes: tuple[Axis, ...]
    dtype: np.dtype[Any]

    before = property(lambda self: tuple([ax.n_in for ax in self.axes]))
    after = property(lambda self: tuple([ax.n_out for ax in self.axes]))
    box = property(lambda self: StridedCopy(self.axes))

    @property
    def T(self) -> Reindex:
        return Reindex(tuple([ax.T for ax in self.axes]), self.dtype)

    @property
    def kind(self) -> str:
        if all(ax.n_out == ax.m for ax in self.axes):
            flipped = all(abs(ax.s) == 1 and ax.n_in == ax.m for ax in self.axes)
            return "flip" if flipped else "slice"
        return "pad" if all(ax.n_in == ax.m for ax in self.axes) else "shift"

    @cached_property
    def nnz(self) -> int:
        return math.prod(ax.m for ax in self.axes)

    @cached_property
    def bandwidths(self) -> tuple[int, int]:
        """One diagonal where each axis moves by an offset, and the axes after the first keep their sizes."""
        offset, stride = 0, 1
        for ax in reversed(self.axes):
            offset, stride = offset + (ax.c - ax.a) * stride, stride * ax.n_out
        shifts = all(ax.s == ax.t for ax in self.axes) and all(ax.n_in == ax.n_out for ax in self.axes[1:])
        return (offset, -offset) if shifts else super().bandwidths

    def solver(self, xp: Any, slots: Sequence[Any], rtol: float | None = None) -> Solver:
        """A permutation, if all entries are moved."""
        if self.nnz < self.rows:
            raise singular(self, f"{self.rows - self.nnz} rows are zero by structure")
        return Solver("permutation", "O(n)", lambda ys: images(self.T, xp, slots, ys, len(ys[0])))

    @property
    def is_identity(self) -> bool:
        return all(ax.is_whole for ax in self.axes)

    @property
    def weighted_move(self) -> WeightedMove:
        from catad.linear.families.delta import identity

        return WeightedMove(self, identity(self.cod[0]), None)

    def patterns(self) -> Grid:
        return ((Pattern(tuple([_range_of(ax) for ax in self.axes])),),)


@family
class Reshape(_Moves):
    """The same entries in other axes, in C order."""

    before: tuple[int, ...]
    after: tuple[int, ...]
    dtype: np.dtype[Any]

    box = property(lambda self: Reshaped(self.after))

    @property
    def T(self) -> Reshape:
        return Reshape(self.after, self.before, self.dtype)

    kind = "reshape"

    @cached_property
    def nnz(self) -> int:
        return math.prod(self.before)

    bandwidths = (0, 0)

    def solver(self, xp: Any, slots: Sequence[Any], rtol: float | None = None) -> Solver:
        return Solver("identity", "O(n)", lambda ys: images(self.T, xp, slots, ys, len(ys[0])))

    @property
    def is_identity(self) -> bool:
        return self.before == self.after


def along(shape: Sequence[int], at: int, ax: Axis) -> tuple[Axis, ...]:
    """The moves of all axes of a shape where one is moved, and the others stay as they are."""
    return tuple([ax if k == at else whole(n) for k, n in enumerate(shape)])


# -- on wires


def moved(b: Builder, x: Wire, axes: Sequence[Axis], fill: float = 0.0) -> Wire:
    """One `StridedCopy` box, or none where every axis stays as it is."""
    return x if all(ax.is_whole for ax in axes) else b.add(StridedCopy(tuple(axes), fill), x)[0]


def moved_along(b: Builder, x: Wire, at: int, ax: Axis, fill: float = 0.0) -> Wire:
    """The same, where one axis is moved."""
    return moved(b, x, along(x.shape, at, ax), fill)


def reshaped(b: Builder, x: Wire, shape: Sequence[int]) -> Wire:
    """The wire in another shape; no box where it has it."""
    return x if x.shape == tuple(shape) else b.add(Reshaped(tuple(shape)), x)[0]
