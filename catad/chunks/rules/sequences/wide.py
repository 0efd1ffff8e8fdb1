"""Operators in a longer range than that of floats, in which the totals of blocks are joined.

The total of a block may leave the range of floats although no state does: a block of factors 2 after a state that is 0. So a
float is m 2**e there, with 1/2 <= |m| < 1, or m is 0, infinite or NaN, and e far from all others. Arithmetic, choices and
comparisons are the same functions of such pairs; rounding is that of m, which has double precision.

A block is folded as it is first. Only if that leads to infinity or NaN, or to nothing but tiny numbers, it is folded in the
longer range.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from catad import scalar
from catad.category.boxes import box, of_fields
from catad.category.spaces import Tensor
from catad.category.terms import D
from catad.category.wiring import share
from catad.chunks.rules.sequences.present import PLUS, THERE
from catad.chunks.rules.table import WHOLE
from catad.linear.structure import cast
from catad.scalar import Function, Node, apply, const, param
from catad.scalar.simplify import rebuild
from catad.support.lru import remembered
from catad.values.formats import DOUBLE
from catad.vector.decomposed import one_term
from catad.vector.folds.fold import Fold
from catad.vector.folds.monoid import Monoid
from catad.vector.folds.shortcut import Formula, Read, Shortcut
from catad.vector.pointwise.map import mapped

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire, Wires

Pair: TypeAlias = tuple[Node, Node]
"""A float: m and e."""

FAR = 2**40  # the exponent of infinity and NaN; that of 0 is -FAR
MOST = 200  # operations of an operator, between which m stays in the range of floats
COMPARE = ("lt", "le", "gt", "ge", "eq", "ne")
_DOUBLE = np.dtype(np.float64)
_FIELD, _HALF = DOUBLE.infinity, (DOUBLE.bias - 1) << DOUBLE.shift  # the exponent among the bits of a double; that of 1/2
_SMALL, _UP = 2.0**-900, 2.0**200
_SAME = Function.make(1, [param(0)])


class _Uncovered(Exception):
    """An operation has no meaning in the longer range."""


def is_wide(monoid: Monoid, dtypes: Sequence[np.dtype[Any]]) -> bool:
    """Whether totals of an operator on numbers of some dtypes are joined in the longer range: they may leave that of floats."""
    floats = _floats(dtypes)
    return any(floats) and scalar.recognise(monoid.op) not in ("min", "max") and wide(monoid, floats) is not None


def longer_of(monoid: Monoid, dtypes: Sequence[np.dtype[Any]]) -> Monoid:
    """The operator in the longer range, where there is one."""
    found = wide(monoid, _floats(dtypes))
    assert found is not None
    return found


def _floats(dtypes: Sequence[np.dtype[Any]]) -> tuple[bool, ...]:
    return tuple([dtype.kind == "f" for dtype in dtypes])


@remembered
def wide(monoid: Monoid, floats: tuple[bool, ...]) -> Monoid | None:
    """The operator on elements in which each float is a pair; None where an operation of it has no meaning there."""
    w = sum(floats) + len(floats)
    if scalar.operations(monoid.op) > MOST:
        return None
    try:
        given = [*_elements(floats, 0), *_elements(floats, w)]
        made = _Reading(given).outputs(monoid.op)
    except _Uncovered:
        return None
    if any(isinstance(one, tuple) and not is_pair for one, is_pair in zip(made, floats, strict=True)):
        return None
    outputs: list[Any] = []
    for one, is_pair in zip(made, floats, strict=True):
        outputs += _normal(*_pair(one)) if is_pair else [one]
    neutral = [own for e, is_pair in zip(monoid.neutral, floats, strict=True) for own in (_split(e) if is_pair else (e,))]
    tree = (None,) * w
    op = Function.make(2 * w, outputs, tree, (tree, tree), f"{monoid.op.name or 'op'} in a longer range")
    return Monoid(op, tuple(neutral), tree, None, 0, PLUS)


def _elements(floats: Sequence[bool], first: int) -> list[Node | Pair]:
    found: list[Node | Pair] = []
    for is_pair in floats:
        found.append((param(first), param(first + 1)) if is_pair else param(first))
        first += 1 + is_pair
    return found


def _split(number: float) -> tuple[float, int]:
    """A number as m and e."""
    m, e = math.frexp(number)
    return m, -FAR if m == 0 else e if math.isfinite(m) else FAR


def _normal(m: Node, e: Node) -> Pair:
    """A pair with 1/2 <= |m| < 1; m is 0, infinite, NaN, or a double of all digits."""
    image = apply("bits", m)
    field = apply("rshift", apply("bitand", image, const(_FIELD)), const(DOUBLE.shift))
    moved = apply("of_bits", apply("bitor", apply("bitand", image, const(~_FIELD)), const(_HALF)))
    tiny = apply("eq", field, const(0))  # what is left of a number that meant nothing beside another
    special = apply("or", tiny, apply("not", apply("isfinite", m)))
    power = apply("add", e, apply("sub", field, const(DOUBLE.bias - 1)))
    return apply("select", special, m, moved), apply("select", tiny, const(-FAR), _far(m, power))


def _pair(x: Node | Pair) -> Pair:
    if isinstance(x, tuple):
        return x
    number = scalar.constant(x)
    if number is not None:
        m, e = _split(float(number))
        return const(m), const(e)
    double = scalar.cast(np.float64, x)
    small = apply("lt", apply("abs", double), const(_SMALL))  # it may lack digits
    scale = apply("select", small, const(np.float64(_UP)), const(np.float64(1.0)))
    return _normal(apply("mul", double, scale), apply("select", small, const(1 - math.frexp(_UP)[1]), const(0)))


def _met(x: Node | Pair, y: Node | Pair) -> tuple[Node, Node, Node]:
    """The numbers before one power of 2, and its exponent."""
    pairs = [(m, _far(m, e)) for m, e in (_pair(x), _pair(y))]
    most = apply("maximum", *[e for _, e in pairs])
    one, other = [apply("mul", m, _power(apply("sub", e, most))) for m, e in pairs]
    return one, other, most


def _far(m: Node, e: Node) -> Node:
    """The exponent, far from all others where m is 0, infinite or NaN."""
    finite = apply("select", apply("isfinite", m), e, const(FAR))
    return apply("select", apply("eq", m, const(0.0)), const(-FAR), finite)


def _power(e: Node) -> Node:
    """2**e for an integer up to 0; 0 where that is smaller than floats of all digits."""
    field = apply("maximum", apply("add", e, const(DOUBLE.bias)), const(0))
    return apply("of_bits", apply("lshift", field, const(DOUBLE.shift)))


class _Reading:
    """An operator, read on arguments of which floats are pairs."""

    def __init__(self, given: Sequence[Node | Pair]) -> None:
        self.given = given

    def outputs(self, function: Function) -> list[Node | Pair]:
        known: dict[Node, Node | Pair] = {}
        for node in scalar.postorder(function.outputs):
            known[node] = self._read(node, [known[arg] for arg in node.args])
        return [known[node] for node in function.outputs]

    def _read(self, node: Node, args: list[Node | Pair]) -> Node | Pair:
        op = node.op
        if op == "param":
            number: int = node.value
            return self.given[number]
        if op == "const":
            return node
        to_float = op in ("div", "float") or (op == "cast" and node.kind == "f")
        if not to_float and not any(isinstance(arg, tuple) for arg in args):
            same: Node = rebuild(node, args)  # type: ignore[arg-type]
            return same
        if op == "pos" or (to_float and op != "div"):
            return _pair(args[0])
        if op in COMPARE:
            return apply(op, *_met(*args)[:2])
        if op in ("isnan", "isinf", "isfinite", "truth"):
            return apply(op, _pair(args[0])[0])
        if op in ("neg", "abs"):
            m, e = _pair(args[0])
            return apply(op, m), e
        if op == "select" and not isinstance(args[0], tuple):
            (a, h), (b, k) = _pair(args[1]), _pair(args[2])
            return apply("select", args[0], a, b), apply("select", args[0], h, k)
        if op in ("maximum", "minimum"):
            (a, h), (b, k) = _pair(args[0]), _pair(args[1])
            one, other, _ = _met(*args)
            first = apply("or", apply("ge" if op == "maximum" else "le", one, other), apply("isnan", a))
            return apply("select", first, a, b), apply("select", first, h, k)
        if op in ("add", "sub"):
            one, other, e = _met(*args)
            return apply(op, one, other), e
        if op in ("mul", "div"):
            (a, h), (b, k) = _pair(args[0]), _pair(args[1])
            return apply(op, a, b), apply("add" if op == "mul" else "sub", h, k)
        raise _Uncovered


# -- totals of blocks


def pairs_of(dtypes: Sequence[np.dtype[Any]]) -> list[np.dtype[Any]]:
    """The dtypes of the numbers of an element in the longer range."""
    return [own for dtype in dtypes for own in ((_DOUBLE, np.dtype(np.int64)) if dtype.kind == "f" else (dtype,))]


class Totals(NamedTuple):
    """The total of a block as it is, and the arguments and the term, for each number, that make it in the longer range.

    What is `seen` tells whether floats hold it: its elements along an axis, and the numbers of their total.
    """

    plain: Sequence[Wire]
    args: Sequence[Wire]
    term: Callable[[int], D]
    elements: Sequence[Wire]
    seen: Sequence[Wire]
    monoid: Monoid
    axis: int

    def in_range(self, b: Builder) -> list[Wire]:
        """The total in the longer range.

        The term is asked where a number is not finite, or some have underflown and none is much larger. A number is 0 by right
        where one of the elements is 0 there.
        """
        floats = [k for k, w in enumerate(self.seen) if w.space.is_float]
        multiplies = any(node.op in ("mul", "div") for node in scalar.postorder(self.monoid.op.outputs))
        lost: Node = const(0.0)
        most: Node = const(0.0)
        small: Node = const(False)
        for k, total in enumerate([self.seen[k] for k in floats]):
            tiny, size = float(np.finfo(total.dtype).tiny), apply("abs", param(k))
            lost = apply("add", lost, apply("mul", param(k), const(0.0)))
            most = apply("maximum", most, apply("mul", size, const(tiny**-0.5)))
            small = apply("or", small, apply("lt", size, const(tiny)))
        numbers = [cast(self.seen[k], _DOUBLE) for k in floats]
        (helper,) = mapped(b, [lost], numbers)
        if multiplies:
            under = apply("select", apply("and", small, apply("lt", most, const(1.0))), const(math.nan), const(0.0))
            (doubt,) = mapped(b, [under], numbers)
            own = [w for k in floats for w in (self.elements[k], self.seen[k])]
            by_right = b.add(OrLonger(one_term(Underflow, self.axis), len(own)), *own, doubt, doubt)[0]
            (helper,) = mapped(b, [apply("add", param(0), param(1))], [helper, by_right])
        exact = [OrLonger(self.term(k), len(self.args)) for k in range(len(pairs_of([w.dtype for w in self.plain])))]
        return [b.add(own, *self.args, w, helper)[0] for own, w in zip(exact, _numbers(b, self.plain), strict=True)]


def _numbers(b: Builder, wires: Sequence[Wire]) -> list[Wire]:
    """Numbers as they are in the longer range."""
    pair = list(_pair(param(0)))
    return [own for w in wires for own in (mapped(b, pair, [cast(w, _DOUBLE)]) if w.space.is_float else [w])]


def in_range(b: Builder, found: Wire, last: Wire, term: D, args: Sequence[Wire]) -> Wire:
    """A result, or what a term of one result makes of its arguments, where the last states have left the range of floats."""
    if not last.space.is_float:
        return found
    (helper,) = mapped(b, [apply("mul", param(0), const(0.0))], [last])
    return b.add(OrLonger(term, len(args)), *args, found, helper)[0]


def in_floats(b: Builder, wires: Sequence[Wire], dtypes: Sequence[np.dtype[Any]]) -> list[Wire]:
    """Numbers of some dtypes, of those in the longer range."""
    rest, made = iter(wires), []
    for dtype in dtypes:
        m = next(rest)
        made.append(cast(mapped(b, [apply("ldexp", param(0), param(1))], [m, next(rest)])[0], dtype) if dtype.kind == "f" else m)
    return made


@share
@of_fields
class Underflow(D):
    """Numbers along an axis and their total, several times, to NaN where a total is tiny and none of the numbers is 0, else 0."""

    axis: int

    def lay_out(self, b: Builder, x: Wires) -> Any:
        made = const(0.0)
        wires = []
        for k, (own, total) in enumerate(zip(x[::2], x[1::2], strict=True)):
            (is_zero,) = mapped(b, [apply("eq", param(0), const(0.0))], [own])
            wires += [cast(total, _DOUBLE), *b.add(Fold(THERE, self.axis), is_zero)]
            small = apply("lt", apply("abs", param(2 * k)), const(float(np.finfo(total.dtype).tiny)))
            made = apply("select", apply("and", small, apply("not", param(2 * k + 1))), const(np.float64(math.nan)), made)
        return mapped(b, [made], wires)[0]


@share
@of_fields
class LongFold(D):
    """Elements to one number of their fold along an axis in the longer range."""

    monoid: Monoid
    axis: int
    which: int

    def lay_out(self, b: Builder, x: Wires) -> Any:
        return long_fold(b, self.monoid, self.axis, x if isinstance(x, tuple) else (x,))[self.which]


def long_fold(b: Builder, monoid: Monoid, axis: int, wires: Sequence[Wire]) -> Sequence[Wire]:
    """The fold of elements along an axis in the longer range."""
    return b.add(Fold(longer_of(monoid, [w.dtype for w in wires]), axis), *_numbers(b, wires))


@box
class OrLonger(Shortcut):
    """(the arguments of a term, a number, 0 where that is right) to that number; or else to what the term says."""

    term: D
    own_arity: int
    helpers = 2
    condition = "number"

    @property
    def arity(self) -> int:
        return self.own_arity + 2

    @property
    def decomposition(self) -> D:
        return self.term

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return ins[-2:-1]

    def formula(self, ins: tuple[Tensor, ...]) -> Formula | None:
        shape = ins[-2].shape
        return Formula(_SAME, (Read(len(ins) - 2, tuple(range(len(shape)))),), shape)


WHOLE[OrLonger] = "it is a part of plans"
