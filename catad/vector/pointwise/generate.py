"""`iota` and `generate`: arrays made from their indices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from catad import errors, scalar
from catad.category.boxes import Primitive, box, of_fields
from catad.category.constructors import constructor, integer, integers
from catad.category.spaces import Tensor, rebuild, space_like
from catad.category.terms import D
from catad.linear.families.contract import repeated
from catad.scalar import Function
from catad.vector.pointwise.map import Map

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire, Wires


@box
class Iota(Primitive):
    """The integers from 0 to n - 1."""

    drawn_as = "constant"
    n: int
    arity = 0

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return (Tensor((self.n,), np.int64),)

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        return xp.arange(self.n, dtype=np.int64)

    def lay_out(self, b: Builder, x: Wires) -> Any:
        return b.add(self)[0]

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        return f"ct.iota({self.n})"


def steps_along(b: Builder, shape: tuple[int, ...], axis: int) -> Wire:
    """The positions along an axis of an array of a shape, everywhere in it."""
    return repeated(b, b.add(Iota(shape[axis]))[0], (axis,), shape)


@of_fields
class Generate(D):
    """`ct.generate(shape, fn)`."""

    drawn_as = "constant"
    shape: tuple[int, ...]
    function: Function

    def lay_out(self, b: Builder, x: Wires) -> Any:
        outs = b.add(Map(self.function), *[steps_along(b, self.shape, k) for k in range(len(self.shape))])
        tree = self.function.tree
        return outs[0] if tree is None else rebuild(space_like(tree, [w.space for w in outs]), outs)

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        return f"ct.generate({self.shape!r}, {name(self.function, self.function.name or 'fn')})"


@constructor()
def iota(n: int) -> D:
    """The integers from 0 to n - 1, whatever the argument.

    The shape is (n,), the dtype int64. Its derivative is zero. Raises `ArgumentError` where n is no integer of at least 0.

    >>> import catad as ct
    >>> ct.iota(3)(())
    array([0, 1, 2])
    """
    return Iota(integer(n, "the number of integers", 0))


@constructor(morphisms="fn")
def generate(shape: int | Sequence[int], fn: Callable[..., Any]) -> D:
    """The array whose entry at (i, j, ...) is fn(i, j, ...), for a scalar function of integers; whatever the argument.

    The shape is `shape`, the dtype that of fn for int64. Its derivative is zero. Raises `ArgumentError` for a size that is
    no integer of at least 0, `ScalarError` where the function cannot be read.

    >>> import catad as ct
    >>> ct.generate((2, 3), lambda i, j: 10.0 * i + j)(())
    array([[ 0.,  1.,  2.],
           [10., 11., 12.]])
    """
    shape = integers(shape, "a size")
    if not shape or any(n < 0 for n in shape):
        raise errors.ArgumentError(errors.bad_shape(shape))
    function = scalar.read(fn)
    if function.arity != len(shape):
        raise errors.SpaceError(errors.wrong_index_count(function.arity, len(shape), fn))
    return Generate(shape, function)
