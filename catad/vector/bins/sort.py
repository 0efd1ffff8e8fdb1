"""`sort` and `argsort`: along one axis, ascending and stable.

    y = x[p]        p = argsort(x)        dy = dx[p]

The permutation is constant on a neighbourhood of every point without ties, so the Jacobian of `sort` is the gather by it and
the second derivative is zero. Only the permutation is a primitive here; reading by it is `Gathered`. At ties the derivative
follows the stable permutation: equal entries keep their order, and so do their tangents.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from catad.category.boxes import AlongAxis, box
from catad.category.constructors import constructor, integer
from catad.category.spaces import Tensor
from catad.category.terms import D
from catad.linear.families.gather import Gathered, along_axis
from catad.vector.shapes.shape import OneArray, axes_of

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire


@box
class StableOrder(AlongAxis):
    """The positions of the entries along an axis in stable ascending order, NaN last. Work O(n log n)."""

    axis: int
    arity = 1

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return (Tensor(ins[0].shape, np.int64),)

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        return xp.argsort(arrays[0], axis=self.axis, kind="stable").astype(np.int64, copy=False)

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        n = ins[0].shape[self.axis]
        return ins[0].size * n.bit_length()


class Ordered(OneArray):
    """`ct.sort` or `ct.argsort`."""

    __slots__ = ()


def _order(b: Builder, x: Wire, term: Any) -> Wire:
    return b.add(StableOrder(*axes_of(term.parameters["axis"], x, term)), x)[0]


def _sorted(b: Builder, x: Wire, term: Any) -> Wire:
    (axis,) = axes_of(term.parameters["axis"], x, term)
    return b.add(Gathered(along_axis(x.shape, axis)), _order(b, x, term), x)[0]


@constructor()
def sort(axis: int = -1) -> D:
    """The entries of one array in ascending order along an axis; shape and dtype stay.

    Stable, NaN last, as `numpy.sort(x, axis, kind="stable")`; integers and booleans as well. The Jacobian is a gather by
    `argsort`: a permutation, whose second derivative is zero. Work O(n log n), depth O(log n); two passes over the entries, of
    the value and of its gradient: the order and a gather. At ties equal entries keep their order, in the derivative too.
    Raises `SpaceError` for a product or a missing axis (a number has none), `ArgumentError` for an axis that is no integer.

    >>> import catad as ct, numpy as np
    >>> x = np.array([3.0, 1.0, 2.0])
    >>> ct.sort()(x)
    array([1., 2., 3.])
    >>> ct.jvp(ct.sort(), (x,), (np.array([30.0, 10.0, 20.0]),))[1]
    array([10., 20., 30.])
    >>> median = ct.sort() >> ct.slice(1, 2) >> ct.sum()
    >>> ct.grad(median)(x)
    array([0., 0., 1.])
    """
    return Ordered(sort, _sorted, axis=integer(axis, "an axis"))


@constructor()
def argsort(axis: int = -1) -> D:
    """The positions (int64) of the entries of one array in ascending order along an axis; the shape stays.

    Stable, NaN last, as `numpy.argsort(x, axis, kind="stable")`; its derivative is zero. With `ct.gather` it sorts by a key.
    Raises the errors of `ct.sort`.

    >>> import catad as ct, numpy as np
    >>> ct.argsort()(np.array([3.0, 1.0, 2.0]))
    array([1, 2, 0])
    >>> by_key = ct.fork(ct.exr, ct.exl >> ct.argsort()) >> ct.gather
    >>> by_key(np.array([3, 1, 2]), np.array([0.3, 0.1, 0.2]))
    array([0.1, 0.2, 0.3])
    """
    return Ordered(argsort, _order, axis=integer(axis, "an axis"))
