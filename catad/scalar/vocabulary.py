"""The pointwise functions that catad exports, each as a scalar function; and the cost of scalar functions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from weakref import WeakKeyDictionary

from catad.scalar.ir import Function, Node, param, postorder
from catad.scalar.ops import OPS
from catad.scalar.simplify import apply

ASSUMED_TRIPS = 10
"""The number of trips that a loop is taken to make when operations are counted."""

FREE = frozenset(("param", "const", "cast", "proj", "loop", "float", "int", "pos", "index", "truth", "unread"))
"""Nodes that count as no operation."""


@dataclass(frozen=True, slots=True)
class Word:
    """One function of the vocabulary."""

    name: str
    arity: int
    function: Function


_X, _Y, _Z = param(0), param(1), param(2)

_INNER = (
    "bitand bitor bitxor lshift rshift and or not invert pos truth polygamma fraction mantissa exponent bits of_bits select "
    "unread int float index cast"
)
"""Operations that are no words under their own names."""

_RENAMED = {
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "arctan2": "atan2",
    "arcsinh": "asinh",
    "arccosh": "acosh",
    "arctanh": "atanh",
    "subtract": "sub",
    "multiply": "mul",
    "divide": "div",
    "negative": "neg",
    "power": "pow",
    "absolute": "abs",
    "round": "rint",
    "logical_and": "and",
    "logical_or": "or",
    "logical_not": "not",
    "where": "select",
}

NAMED: Mapping[str, str] = {name: name for name in OPS if name not in _INNER.split()} | _RENAMED
"""The operations by the names under which catad, and mostly NumPy and `math`, have them."""

_COMPOSED: Mapping[str, tuple[int, Node]] = {
    "square": (1, apply("mul", _X, _X)),
    "reciprocal": (1, apply("div", 1.0, _X)),
    "relu": (1, apply("maximum", 0, _X)),
    "softplus": (1, apply("logaddexp", _X, 0.0)),
    "trigamma": (1, apply("polygamma", _X, value=1)),
    "degrees": (1, apply("mul", _X, 180.0 / math.pi)),
    "radians": (1, apply("mul", _X, math.pi / 180.0)),
    "clip": (3, apply("minimum", apply("maximum", _X, _Y), _Z)),
}


def _words() -> dict[str, Word]:
    words = {}
    for name, op in NAMED.items():
        arity = OPS[op].arity
        words[name] = Word(name, arity, Function.make(arity, [apply(op, *map(param, range(arity)))], name=name))
    for name, (arity, node) in _COMPOSED.items():
        words[name] = Word(name, arity, Function.make(arity, [node], name=name))
    return words


vocabulary: Mapping[str, Word] = MappingProxyType(_words())
"""Every pointwise function by the name under which catad exports it.

>>> vocabulary["hypot"].arity, vocabulary["square"].function.outputs
(2, (mul(x0, x0),))
"""


_counted: WeakKeyDictionary[Function, int] = WeakKeyDictionary()


def operations(function: Function) -> int:
    """The number of scalar operations of one evaluation; a loop counts its body ten times, both sides of branches count.

    >>> from catad.scalar.reading.read import read
    >>> operations(read(lambda x, y: x * y + y))
    2
    """
    total = _counted.get(function)
    if total is None:
        total = 0
        for node in postorder(function.outputs):
            total += node.op not in FREE
            if node.op == "loop":
                total += ASSUMED_TRIPS * (operations(node.value.condition) + operations(node.value.step))
        _counted[function] = total
    return total
