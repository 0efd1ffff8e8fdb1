"""`Windows` and `WindowSums`: reading at positions that are affine in several indices, and adding back.

    y[o...] = x[a_1 + sum_j s_1j o_j, a_2 + sum_j s_2j o_j, ...]        each index o_j moves along one axis of x

Windows `x[i + k]`, blocks `x[B i + k]` and every so-many-th entry of either are of this form. No index array is stored. The
transpose adds all y that were read from one place: where places differ it moves entries, as a `Reindex` and a `Reshape` do,
and where windows overlap it is the sum over the places in a window of moved entries.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from catad.category.boxes import Primitive, box
from catad.category.spaces import Tensor
from catad.linear.families.contract import contract
from catad.linear.families.reindex import axis, moved_along, reshaped
from catad.linear.matrix.entries import Entries, Moves
from catad.linear.structure import Rule, family

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire

MOST = 32  # places in a window that overlaps others


class Progression(NamedTuple):
    """The positions `a + sum s * index` along one axis: a term (axis of the result, s) for each index, s > 0."""

    a: int
    terms: tuple[tuple[int, int], ...] = ()


@box
class Windowed(Primitive):
    """The primitive that applies a `Windows`: the positions along each axis of the argument, and the shape of the result."""

    axes: tuple[Progression, ...]
    shape: tuple[int, ...]
    arity = 1

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        assert len(ins[0].shape) == len(self.axes)
        for n, (a, terms) in zip(ins[0].shape, self.axes, strict=True):
            last = a + sum([s * (self.shape[k] - 1) for k, s in terms])
            assert 0 in self.shape or (0 <= a <= last < n), "a window lies within the array"
        return (Tensor(self.shape, ins[0].dtype),)

    def kernel(self, ins: tuple[Tensor, ...]) -> Callable[..., Any]:
        axes, shape = self.axes, self.shape
        starts = tuple([slice(a, None) for a, _ in axes])

        def kernel(xp: Any, x: Any) -> Any:
            if 0 in shape:
                return xp.zeros(shape, dtype=x.dtype)
            if xp is not np:
                return x[tuple([_places(xp, one, shape) for one in axes])]
            steps = [0] * len(shape)
            for stride, (_, terms) in zip(x.strides, axes, strict=True):
                for k, s in terms:
                    steps[k] += s * stride
            return np.lib.stride_tricks.as_strided(x[starts], shape, steps, writeable=False)

        return kernel

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule | None:
        return Rule(Windows(self.axes, ins[0].shape, self.shape, ins[0].dtype))

    def carried(self, size: int) -> Windowed:
        rest = [Progression(a, tuple([(k + 1, s) for k, s in terms])) for a, terms in self.axes]
        return Windowed((Progression(0, ((0, 1),)), *rest), (size, *self.shape))


def _places(xp: Any, one: Progression, shape: tuple[int, ...]) -> Any:
    """The positions along one axis of the argument, for all indices of the result."""
    found: Any = xp.asarray(one.a)
    for k, s in one.terms:
        found = found + s * xp.arange(shape[k]).reshape([-1 if j == k else 1 for j in range(len(shape))])
    return xp.broadcast_to(found, shape)


@family
class _Windowing(Moves):
    """The common part of `Windows` and its transpose."""

    axes: tuple[Progression, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]
    dtype: np.dtype[Any]
    slots = ()
    box = property(lambda self: Windowed(self.axes, self.after))

    @cached_property
    def nnz(self) -> int:
        return math.prod(self.after)


@family
class Windows(_Windowing):
    """Reading in windows: see the module."""

    @property
    def T(self) -> WindowSums:
        return WindowSums(self.axes, self.before, self.after, self.dtype)

    kind = "windows"


@family
class WindowSums(_Windowing):
    """Adding windows back: see the module."""

    @cached_property
    def dom(self) -> tuple[Tensor, ...]:
        return (Tensor(self.after, self.dtype),)

    @cached_property
    def cod(self) -> tuple[Tensor, ...]:
        return (Tensor(self.before, self.dtype),)

    @property
    def T(self) -> Windows:
        return Windows(self.axes, self.before, self.after, self.dtype)

    def apply(self, b: Builder, slots: Sequence[Wire], xs: Sequence[Wire | None]) -> list[Wire | None]:
        (y,) = xs
        return [None if y is None else summed(y, self.axes, self.before)]

    kind = "window sums"

    def entries(self, xp: Any, slots: Sequence[Any]) -> Entries:
        rows, columns, values = self.T.entries(xp, slots)
        return Entries(columns, rows, values)


def summed(y: Wire, axes: Sequence[Progression], before: Sequence[int]) -> Wire:
    """What was read at these positions of an array of a shape, added up at them; zero elsewhere."""
    orders = [sorted(one.terms, key=lambda term: -term[1]) for one in axes]
    order = tuple([k for terms in orders for k, _ in terms])
    b = y.builder
    y = contract(b, [tuple(range(y.ndim))], [y], order, y.shape)
    for at, (one, terms, n) in enumerate(zip(axes, orders, before, strict=True)):
        y, step = _line(y, at, [s for _, s in terms])
        y = moved_along(b, y, at, axis(y.shape[at], n, 0, 1, one.a, step, y.shape[at]))
    return y


def _line(y: Wire, at: int, steps: list[int]) -> tuple[Wire, int]:
    """The axes from `at` on, of these steps, the largest first, as one axis of positions; and the step of that."""
    if not steps:
        return reshaped(y.builder, y, (*y.shape[:at], 1, *y.shape[at:])), 1
    step = steps.pop()
    while steps:
        outer = steps.pop()
        k = at + len(steps)
        y, step = _joined(y, k, outer, step)
    return y, step


def _joined(y: Wire, k: int, outer: int, inner: int) -> tuple[Wire, int]:
    """Two axes of positions, that of k and the next one, as one; and its step."""
    b, (m, n) = y.builder, y.shape[k : k + 2]
    step = math.gcd(outer, inner)
    size = (outer * (m - 1) + inner * (n - 1)) // step + 1
    ratio = outer // inner
    if outer % inner == 0 and (ratio >= n or m == 1):
        ratio = max(ratio, n) if m == 1 else ratio
        y = moved_along(b, y, k + 1, axis(n, ratio, 0, 1, 0, 1, n))
        y = reshaped(b, y, (*y.shape[:k], m * ratio, *y.shape[k + 2 :]))
        return moved_along(b, y, k, axis(m * ratio, size, 0, 1, 0, 1, size)), step
    along, places, across = (k + 1, n, (outer // step, inner // step)) if n <= m else (k, m, (inner // step, outer // step))
    count = m if n <= m else n
    total: Wire | None = None
    for place in range(places):
        one = moved_along(b, y, along, axis(places, 1, place, 1, 0, 1, 1))
        one = reshaped(b, one, (*y.shape[:along], *y.shape[along + 1 :]))
        one = moved_along(b, one, k, axis(count, size, 0, 1, across[1] * place, across[0], count))
        total = one if total is None else total + one
    assert total is not None
    return total, step


def fits(one: Progression, shape: Sequence[int]) -> bool:
    """Whether the sum over windows along an axis is one of few terms, since few places overlap, or none."""
    steps = sorted([(s, shape[k]) for k, s in one.terms if shape[k] > 1])
    size, step, work = 1, 0, 1
    for s, n in steps:
        if step and (s % step or s // step < size):
            work *= min(size, n)
            new = math.gcd(s, step)
            size, step = (s * (n - 1) + step * (size - 1)) // new + 1, new
        else:
            size, step = (size - 1 + s // step * (n - 1) + 1) if step else n, step or s
    return work <= MOST
