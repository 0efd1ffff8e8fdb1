"""`iota` and `generate`: arrays made from their indices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from catad import errors, scalar
from catad.category.boxes import box
from catad.category.constructors import constructor, integer, integers
from catad.category.spaces import Tensor, rebuild, space_like
from catad.category.terms import D
from catad.linear.families.contract import contract
from catad.scalar import Function
from catad.vector.indexing.gather import Integers
from catad.vector.pointwise.map import Map

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wires


@box
class Iota(Integers):
    """The integers `0 .. n - 1`."""

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


class Generate(D):
    """`ct.generate(shape, fn)`."""

    __slots__ = ("function", "shape")

    def __init__(self, shape: tuple[int, ...], function: Function) -> None:
        self.shape, self.function = shape, function

    def data(self) -> Any:
        return (self.shape, self.function)

    def lay_out(self, b: Builder, x: Wires) -> Any:
        full = tuple(range(len(self.shape)))
        indices = [contract(b, [(k,)], [b.add(Iota(n))[0]], full, self.shape) for k, n in enumerate(self.shape)]
        outs = b.add(Map(self.function), *indices)
        tree = self.function.tree
        return outs[0] if tree is None else rebuild(space_like(tree, [w.space for w in outs]), outs)

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        return f"ct.generate({self.shape!r}, {name(self.function, self.function.name or 'fn')})"


@constructor()
def iota(n: int) -> D:
    """The integers `0 .. n - 1`, whatever the argument.

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
        raise errors.SpaceError(errors.wrong_parameter_count(function.arity, len(shape), None, fn))
    return Generate(shape, function)
