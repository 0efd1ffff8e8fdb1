"""Constants: morphisms that ignore their argument."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from catad import errors
from catad.category.boxes import Primitive
from catad.category.constructors import constructor
from catad.category.spaces import (
    ComplexTensor,
    Product,
    Space,
    Tensor,
    Value,
    as_leaves,
    flatten,
    of_parts,
    rebuild,
    space_like,
    space_of,
)
from catad.category.terms import D
from catad.values.arrays import array_module, as_number, asarray, is_weak, kept, refuse_blocks, weak_dtype
from catad.values.complex_numbers import is_complex, paired, parts_of

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire, Wires


class Constant(Primitive):
    """One array, kept with the term; it moves to the device of the other arrays when it runs there.

    `number` is the Python number that it stands for, if any.
    """

    __slots__ = ("_key", "array", "number", "space")
    drawn_as = "constant"
    arity = 0

    def __init__(self, array: Any, number: float | None = None) -> None:
        self.number = number
        array = kept(refuse_blocks(array))  # a copy of our own, so that the term cannot change behind its hash
        if array_module(array) is np:
            self._key: Hashable = (array.shape, array.dtype.str, array.tobytes(), number is None)
        else:
            self._key = id(array)
        self.array = array
        self.space = Tensor(array.shape, array.dtype)

    def data(self) -> Hashable:
        return self._key

    @property
    def lasting(self) -> bool:
        return isinstance(self._key, tuple)

    @property
    def held_bytes(self) -> int:
        return self.space.nbytes

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return (self.space,)

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        return asarray(xp, self.array)

    def batched(self, b: Builder, ins: tuple[Wire, ...], flags: tuple[bool, ...], size: int) -> tuple[Wire, ...]:
        raise AssertionError("a constant has no argument to batch")

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        number = "" if self.number is None else f", {name(self.number, 'number')}"
        return f"{name(Constant, 'Constant')}({name(self.array, 'array')}{number})"


class Const(D):
    """`ct.const(v)`: the value v, whatever the argument."""

    __slots__ = ("children", "space")
    drawn_as = "constant"
    children: tuple[Constant, ...]

    def __init__(self, space: Space, leaves: tuple[Constant, ...]) -> None:
        self.space, self.children = space, leaves

    def data(self) -> Hashable:
        return self.space

    @property
    def known_cod(self) -> Space | None:
        return None if any(self._weak(leaf) for leaf in self.children) else of_parts(self.space)

    @staticmethod
    def _weak(leaf: Constant) -> bool:
        return isinstance(leaf.number, float)

    def lay_out(self, b: Builder, x: Wires) -> Wires:
        floats = [dtype for wire in flatten(x) if (dtype := wire.dtype).kind == "f"]
        leaves = [
            Constant(as_number(np, leaf.number, weak_dtype(leaf.number, floats)), leaf.number)
            if leaf.number is not None and self._weak(leaf)
            else leaf
            for leaf in self.children
        ]
        return rebuild(self.space, [b.add(leaf)[0] for leaf in leaves])

    @property
    def value(self) -> Any:
        """The value, with the Python numbers that were given."""
        return _value(self.space, iter([leaf.array[()] if leaf.number is None else leaf.number for leaf in self.children]))

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        return f"ct.const({name(self.value, 'value')})"


def _value(space: Space, leaves: Iterator[Any]) -> Any:
    """The value of a space, with complex arrays and numbers, of the leaves."""
    if isinstance(space, ComplexTensor):
        return paired(next(leaves), next(leaves))
    assert isinstance(space, (Tensor, Product))
    return next(leaves) if isinstance(space, Tensor) else tuple([_value(factor, leaves) for factor in space.factors])


@constructor("value")
def const(value: Value) -> D:
    """The constant morphism with a value: a real or complex array, a number, or a tuple of values; its domain is any space.

    The array is copied. Its derivative is zero. A Python float is weak: it takes the dtype of the floating arrays in the
    argument, and is float64 where there are none. A Python integer is int64, since it may be an index. Raises `SpaceError`
    for an argument that is no value.

    >>> import catad as ct
    >>> (ct.fork(ct.id, ct.const(2.0)) >> ct.mul)(3.0)
    np.float64(6.0)
    """
    given = [part for leaf in flatten(value) for part in (parts_of(leaf) if is_complex(leaf) else [leaf])]
    numbers = [leaf if is_weak(leaf) else None for leaf in given]
    alone = [as_leaves(leaf)[0] for leaf in given]
    space = space_like(value, [space_of(leaf) for leaf in flatten(value)])
    return Const(space, tuple([Constant(leaf, number) for leaf, number in zip(alone, numbers, strict=True)]))


def index_of(wire: Wire) -> Wire:
    """A wire that is an index: of integers, or a Python integer that took the dtype of floats beside it, as it was given."""
    if wire.dtype.kind in "iu":
        return wire
    for each in wire.builder.boxes:
        if wire.number in each.outs and isinstance(each.primitive, Constant) and type(each.primitive.number) is int:
            return wire.builder.add(Constant(np.asarray(each.primitive.number, np.int64), each.primitive.number))[0]
    raise errors.NotAnIndex(errors.not_an_index(wire.space), wire.number)
