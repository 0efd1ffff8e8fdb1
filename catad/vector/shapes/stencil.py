"""`stencil`: a scalar function of the neighbours of each entry.

    y[i] = fn(x[i + o_1], ..., x[i + o_k])        dy[i] = sum_j (d fn / d x_j)(x[i + o_1], ...) dx[i + o_j]

A stencil is the map of the function over k shifted copies of the array, so it needs no rule. Its Jacobian is a sum over the
offsets, of a strided copy of the argument and then a diagonal; so it is banded. A stencil with constant weights (a
convolution) stores nothing. A shift reads the entries of its result from at most two arithmetic progressions: the entries
inside the array, and the entries with which the boundary replaces the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from catad import errors
from catad.category.boxes import of_fields
from catad.category.constructors import constructor, integer
from catad.category.terms import D
from catad.category.text import call
from catad.category.wiring import share
from catad.linear.families.reindex import Axis, moved_along, whole
from catad.linear.families.reindex import axis as ap
from catad.vector.pointwise.map import MapOf
from catad.vector.shapes.shape import Concatenate, axes_of

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire, Wires

BOUNDARIES = ("zero", "wrap", "reflect")
Offset = tuple[int, ...]


@share
@of_fields
class Stencil(D):
    """`ct.stencil(...)`; the child is the map of the function."""

    fn: D
    offsets: tuple[Offset, ...]
    one: bool
    boundary: str
    axis: int

    def lay_out(self, b: Builder, x: Wires) -> Any:
        if isinstance(x, tuple):
            raise errors.SpaceError(errors.not_a_tensor(b.space(x), self))
        (first,) = axes_of(self.axis, x, self)
        if first + len(self.offsets[0]) > x.ndim:
            raise errors.SpaceError(errors.offsets_without_axes(len(self.offsets[0]), first, x.space, self))
        copies = []
        for offset in self.offsets:
            copy = x
            for k, o in enumerate(offset):
                copy = self._shifted(b, copy, first + k, o)
            copies.append(copy)
        return b.apply(self.fn, copies[0] if len(copies) == 1 else tuple(copies))

    def _shifted(self, b: Builder, x: Wire, axis: int, o: int) -> Wire:
        """`y[i] = x[i + o]` along an axis."""
        n = x.shape[axis]
        if self.boundary == "reflect" and n and abs(o) >= n:
            raise errors.SpaceError(errors.offset_beyond_reflection(o, axis, x.space, self))
        made = [moved_along(b, x, axis, piece) for piece in _pieces(n, o, self.boundary)]
        return made[0] if len(made) == 1 else b.add(Concatenate(axis, len(made)), *made)[0]

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        offsets = tuple([o for (o,) in self.offsets]) if self.one else self.offsets
        return call(stencil, name, part(self.fn), offsets=offsets, boundary=self.boundary, axis=self.axis)


def _pieces(n: int, o: int, boundary: str) -> list[Axis]:
    """The moves whose results, after each other, are the axis shifted by an offset."""
    if o == 0 or n == 0:
        return [whole(n)]
    if boundary == "zero":
        return [ap(n, n, max(o, 0), 1, max(-o, 0), 1, n - abs(o))]
    if boundary == "wrap":
        o %= n
        return [ap(n, n - o, o, 1, 0, 1, n - o), ap(n, o, 0, 1, 0, 1, o)] if o else [whole(n)]
    m = abs(o)  # position -k stands for k, and n - 1 + k for n - 1 - k
    inside, outside = ap(n, n - m, max(o, 0), 1, 0, 1, n - m), ap(n, m, n - 2 if o > 0 else m, -1, 0, 1, m)
    return [inside, outside] if o > 0 else [outside, inside]


def _read(offsets: Any) -> tuple[tuple[Offset, ...], bool]:
    """The offsets as tuples of integers, and whether they were single integers."""
    if isinstance(offsets, np.ndarray):
        offsets = offsets.tolist()
    if not isinstance(offsets, Sequence) or isinstance(offsets, str) or len(offsets) == 0:
        raise errors.ArgumentError(errors.bad_offsets(offsets))
    one = not isinstance(offsets[0], Sequence)
    tuples = [(o,) if one else o for o in offsets]
    for offset in tuples:
        sized = isinstance(offset, Sequence) and not isinstance(offset, str) and len(offset) == len(tuples[0]) > 0
        if not sized or any(isinstance(o, bool) or not isinstance(o, (int, np.integer)) for o in offset):
            raise errors.ArgumentError(errors.bad_offsets(offsets))
    return tuple([tuple([int(o) for o in offset]) for offset in tuples]), one


@constructor("offsets", morphisms="fn")
def stencil(
    fn: Callable[..., Any],
    offsets: Sequence[int] | Sequence[Sequence[int]],
    boundary: Literal["zero", "wrap", "reflect"] = "zero",
    axis: int = 0,
) -> D:
    """A scalar function of the neighbours of each entry: `y[i] = fn(x[i + o_1], ..., x[i + o_k])`, of the shape of x.

    `fn` is as for `ct.map` and takes one number for each offset. `offsets` are integers, along `axis`, or tuples of d
    integers, along the d axes from `axis` on; the other axes are carried along. Outside the array the entries are

    - `"zero"`: 0, whatever the offset;
    - `"wrap"`: the entry at the other end: indices are taken modulo the size;
    - `"reflect"`: the mirror image at the outermost entries, which are not repeated (`numpy.pad`'s mode "reflect"): index -k is
      k, and n - 1 + k is n - 1 - k. An offset must be less than the size, so an axis of size 1 takes the offset 0 only.

    An empty axis gives an empty result. The Jacobian is a sum of shifted diagonals, one for each offset (two, where the
    boundary is not zero), with at most k n numbers; it stores nothing where `fn` is a weighted sum with constant weights.
    Work O(k n), depth O(1): one map and k shifts, and the gradient the same once more with the partials in one map.

    Raises `ArgumentError` for offsets or a boundary that are none of these, `SpaceError` where the array has too few axes, an
    offset reaches beyond a reflection, or `fn` takes another number of parameters.

    >>> import catad as ct, numpy as np
    >>> laplace = ct.stencil(lambda left, x, right: left - 2.0 * x + right, (-1, 0, 1))
    >>> laplace(np.array([1.0, 4.0, 9.0, 16.0]))
    array([  2.,   2.,   2., -23.])
    >>> ct.jacobian(laplace)(np.zeros(3)).todense()
    array([[-2.,  1.,  0.],
           [ 1., -2.,  1.],
           [ 0.,  1., -2.]])
    >>> mean = ct.stencil(lambda a, b: (a + b) / 2.0, [(0, 0), (1, 1)], boundary="wrap")
    >>> mean(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[2.5, 2.5],
           [2.5, 2.5]])
    """
    read, one = _read(offsets)
    if boundary not in BOUNDARIES:
        raise errors.ArgumentError(errors.no_such("boundary of a stencil", boundary, BOUNDARIES))
    mapped = fn if isinstance(fn, MapOf) else MapOf(fn)
    if mapped.function is not None and len(mapped.function.param_trees) != len(read):
        raise errors.SpaceError(errors.wrong_neighbour_count(len(mapped.function.param_trees), len(read), fn))
    return Stencil(mapped, read, one, boundary, integer(axis, "an axis"))
