"""The pointwise vocabulary: `ct.add`, `ct.sin`, `ct.where`, ... Each is `map` of one scalar function.

`add`, `sub`, `div`, `pow` and `neg` also act on products, leaf by leaf, since `f + g` is pointwise on each result leaf.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from catad import errors, scalar
from catad.category.constructors import constructor
from catad.category.spaces import as_dtype, flatten, rebuild
from catad.category.terms import D, Fork, is_function, morphism, then
from catad.errors.places import Place
from catad.scalar import Function
from catad.values.complex_numbers import is_complex
from catad.vector.pointwise.map import LEAFWISE, Map, MapOf, named

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wires

WORDS: dict[str, MapOf] = {name: named(name, word.function) for name, word in scalar.vocabulary.items()}


class Leafwise(D):
    """A scalar function of n numbers on n values of one space, leaf by leaf; on tensors it broadcasts."""

    __slots__ = ("box", "function", "name")
    drawn_as = "pointwise"

    def __init__(self, name: str, function: Function) -> None:
        self.name, self.function, self.box = name, function, Map(function)

    def data(self) -> Hashable:
        return self.function

    def lay_out(self, b: Builder, x: Wires) -> Any:
        arity = self.function.arity
        parts = (x,) if arity == 1 else x
        if not isinstance(parts, tuple) or len(parts) != arity:
            raise errors.SpaceError(errors.not_a_product_of(arity, b.space(x), self))
        leaves = [flatten(part) for part in parts]
        if any(isinstance(part, tuple) for part in parts) and len({b.space(part) for part in parts}) != 1:
            raise errors.SpaceError(errors.unequal_spaces([b.space(part) for part in parts], self))
        return rebuild(b.space(parts[0]), [b.add(self.box, *wires)[0] for wires in zip(*leaves, strict=True)])

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        return self.name

    @property
    def __scalar_function__(self) -> Function:
        return self.function


def _leafwise(name: str) -> Leafwise:
    return Leafwise(f"ct.{name}", scalar.vocabulary[name].function)


add, sub, neg, div, pow = (_leafwise(name) for name in LEAFWISE)
_OPERATORS = {"add": (add, "+"), "sub": (sub, "-"), "div": (div, "/"), "pow": (pow, "**")}


def operated(word: str, f: Any, g: Any, where: Place) -> D:
    """`f + g` and its like: pointwise on each result leaf, where one of the two may be a number.

    A Python number is weak, as everywhere; a NumPy scalar has its dtype.
    """
    both, symbol = _OPERATORS[word]
    if is_function(f) or is_function(g):
        f, g = (morphism(one, symbol) if is_function(one) else one for one in (f, g))
    if isinstance(f, D) and isinstance(g, D):
        return then(Fork((f, g)), both, where)
    one, number = (f, g) if isinstance(f, D) else (g, f)
    if is_complex(number) and not np.ndim(number):
        of = getattr(operator, {"div": "truediv"}.get(word, word))
        made = MapOf(lambda z: of(z, number)) if isinstance(f, D) else MapOf(lambda z: of(number, z))
        return then(one, made, where)
    if isinstance(number, bool) or not isinstance(number, (int, float, np.integer, np.floating)):
        raise errors.SpaceError(errors.not_an_operand(symbol, number))
    return then(one, WithNumber(word, symbol, number, isinstance(f, D)), where)


class WithNumber(Leafwise):
    """`ct.id + 2.0`, `2.0 - ct.id` and their like."""

    __slots__ = ("after", "number", "symbol")

    def __init__(self, word: str, symbol: str, number: Any, after: bool) -> None:
        self.symbol, self.number, self.after = symbol, number, after
        fixed = scalar.const(number.item() if isinstance(number, np.generic) else number)
        if isinstance(number, np.generic):
            fixed = scalar.cast(number.dtype, fixed)
        nodes = [scalar.param(0), fixed] if after else [fixed, scalar.param(0)]
        super().__init__(f"ct.id {symbol}", Function.make(1, [scalar.apply(word, *nodes)], name=word))

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        plain = not isinstance(self.number, np.generic) and math.isfinite(self.number)
        number = (
            f"({self.number!r})"
            if plain and self.number < 0
            else f"{self.number!r}"
            if plain
            else name(self.number, "number")
        )
        return f"(ct.id {self.symbol} {number})" if self.after else f"({number} {self.symbol} ct.id)"


class Times(Leafwise):
    """`ct.times(...)`."""

    __slots__ = ("number",)

    def __init__(self, number: int | float) -> None:
        self.number = number
        super().__init__("ct.times", Function.make(1, [scalar.apply("mul", scalar.const(number), scalar.param(0))], name="times"))

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        return f"ct.times({name(self.number, 'number')})"


@constructor()
def times(number: Any) -> D:
    """Multiplication of every leaf by a number; `2.0 * f` is `f >> times(2.0)`.

    A complex number multiplies as NumPy's: `ct.map` of a product.

    Shapes stay. Dtypes by NEP 50: a Python number is weak, a NumPy scalar has its own. The Jacobian is the number, on the
    diagonal. Raises `SpaceError` for an argument that is no number.

    >>> import catad as ct
    >>> ct.times(2.0)(1.0, 3.0)
    (np.float64(2.0), np.float64(6.0))
    """
    if is_complex(number) and not np.ndim(number):
        return MapOf(lambda z: number * z)
    if isinstance(number, (bool, np.bool_)) or not isinstance(number, (int, float, np.number)):
        raise errors.SpaceError(errors.not_a_factor(number))
    return Times(number.item() if isinstance(number, np.generic) else number)


@constructor()
def astype(dtype: Any, casting: Literal["unsafe", "same_value"] = "unsafe") -> D:
    """Conversion to a dtype; between floating dtypes it is linear, to and from integers its derivative is zero.

    Shapes stay; a product is converted leaf by leaf. Dtypes are those of spaces. Conversion to integers cuts towards zero;
    numbers beyond them become the nearest integer, and NaN the least. With `casting="same_value"` integers become integers, and
    one that the dtype does not hold is a `NumberRangeError`, as in NumPy 2.4. Raises `SpaceError` for a name that is no dtype of
    a space, and `ArgumentError` for another way of casting.

    >>> import catad as ct
    >>> ct.astype("float32")(1.5)
    np.float32(1.5)
    """
    dtype = as_dtype(dtype)
    function = Function.make(1, [scalar.cast(dtype, scalar.param(0))], name=f"astype_{dtype}")
    if casting == "same_value":
        from catad.vector.pointwise.same_value import (
            SameValue,  # late: it reads where numbers are too large, as few programs do
        )

        return SameValue(dtype, Map(function))
    if casting != "unsafe":
        raise errors.ArgumentError(errors.no_such_casting(casting))
    return Leafwise(f"ct.astype({str(dtype)!r})", function)


def with_numbers(op: Any, args: Sequence[Any]) -> tuple[D, Any]:
    """The map that applies `op` (a name of the scalar language, or a ufunc) with the numbers among `args` put in."""
    nodes = []
    values: list[Any] = []
    for arg in args:
        if isinstance(arg, (bool, int, float)) and not isinstance(arg, np.generic):
            nodes.append(scalar.const(arg))
        else:
            nodes.append(scalar.param(len(values)))
            values.append(arg)
    if isinstance(op, str):
        function = Function.make(len(values), [scalar.apply(op, *nodes)])
    else:
        outputs = scalar.substitute(scalar.read(op), nodes)
        function = Function.make(len(values), outputs)
    return MapOf(function), values[0] if len(values) == 1 else tuple(values)
