"""Constants: morphisms that ignore their argument."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from catad.arrays import array_module
from catad.calls import constructor
from catad.primitive import Primitive
from catad.spaces import Space, Tensor, Value, as_leaves, rebuild, space_of
from catad.terms import D

if TYPE_CHECKING:
    from catad.wiring import Builder, Wire, Wires


class Constant(Primitive):
    """One array, kept with the term; it moves to the device of the other arrays when it runs there."""

    __slots__ = ("_key", "array", "space")
    arity = 0

    def __init__(self, array: Any) -> None:
        if array_module(array) is np:
            array = np.array(array)  # a copy of our own, so that the term cannot change behind its hash
            array.setflags(write=False)
            self._key: Hashable = (array.shape, array.dtype.str, array.tobytes())
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
        return xp.asarray(self.array)

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> None:
        return None

    def batched(self, b: Builder, ins: tuple[Wire, ...], flags: tuple[bool, ...], size: int) -> tuple[Wire, ...]:
        raise AssertionError("a constant has no argument to batch")

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        return name(self, "constant")


class Const(D):
    """`ct.const(v)`: the value v, whatever the argument."""

    __slots__ = ("children", "space")
    children: tuple[Constant, ...]

    def __init__(self, space: Space, leaves: tuple[Constant, ...]) -> None:
        self.space, self.children = space, leaves

    def data(self) -> Hashable:
        return self.space

    @property
    def known_cod(self) -> Space:
        return self.space

    def wired(self, b: Builder, x: Wires) -> Wires:
        return rebuild(self.space, [b.add(leaf)[0] for leaf in self.children])

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        value = rebuild(self.space, [leaf.array for leaf in self.children])
        if isinstance(self.space, Tensor) and self.space.ndim == 0 and self.space.dtype in (np.float64, np.int64, np.bool_):
            number = value.item()
            if number == number and abs(number) != float("inf"):
                return f"ct.const({number!r})"
        return f"ct.const({name(value, 'value')})"


@constructor("value")
def const(value: Value) -> D:
    """The constant morphism with a value: an array, a number, or a tuple of values; its domain is any space.

    The array is copied. Its derivative is zero.

    >>> import catad as ct
    >>> (ct.fork(ct.id, ct.const(2.0)) >> ct.mul)(3.0)
    np.float64(6.0)
    """
    return Const(space_of(value), tuple([Constant(leaf) for leaf in as_leaves(value)]))
