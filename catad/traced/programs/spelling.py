"""How Python writes a term applied to variables: `x * 2.0`, `x @ w`, `x[1:, 0]`; where that traces to the same term.

Whether it does is tried: the expression is computed on stand-ins, in a trace of its own. So no rule of tracing (dtypes, numbers,
views) stands here a second time. What has no such expression is written as a call of the term.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from catad.category.cache import cached
from catad.category.spaces import Tensor
from catad.category.terms import D
from catad.scalar import Function
from catad.scalar.operators import OF_OP, OF_SYMBOL, Operator
from catad.traced.arrays.stand_in import Traced, fresh
from catad.traced.recorder import Findings, tracing
from catad.vector.folds.contract import matmul
from catad.vector.indexing.keys import Bounds, Key, arg
from catad.vector.indexing.subscript import Subscript
from catad.vector.pointwise.operators import Times, WithNumber

CALL, POWER, UNARY, COMPARISON, LOWEST = 14, 12, 11, 4, 0  # how closely an expression binds
_RANKS = {
    9: "add sub", 10: "mul div floordiv mod", POWER: "pow", 8: "lshift rshift", 7: "bitand", 6: "bitxor", 5: "bitor",
    COMPARISON: "lt le gt ge eq ne",
}  # fmt: skip
_RANK_OF = {op: rank for rank, ops in _RANKS.items() for op in ops.split()}
_PREFIX: dict[str, tuple[str, Callable[[Any], Any]]] = {"neg": ("-", operator.neg), "invert": ("~", operator.invert)}


class Hole(NamedTuple):
    """The place of an operand in an expression: its number, and how closely it has to bind."""

    operand: int
    rank: int


class Expression(NamedTuple):
    """Texts and places of operands, one after the other; how closely the whole binds; and the function that it computes."""

    parts: tuple[str | Hole, ...]
    rank: int
    compute: Callable[..., Any]


class Operand(NamedTuple):
    """What an expression is about to be applied to."""

    space: Tensor
    is_constant: bool


def spelled(term: D, operands: Sequence[Operand], nested: Any) -> Expression | None:
    """The expression that traces to a term applied to operands, nested as its domain; None where there is none."""
    made = _candidate(term, operands)
    if made is None:
        return None
    spaces = tuple([one.space for one in operands])
    traces = cached(term, ("spelled", made, spaces, nested), lambda: _traces_to(term, made, spaces, nested))
    return made if traces else None


def filled(expression: Expression, texts: Sequence[tuple[str, int]]) -> str:
    """The expression with the texts of its operands, each with how closely it binds."""
    out = []
    for part in expression.parts:
        if isinstance(part, str):
            out.append(part)
        else:
            text, rank = texts[part.operand]
            out.append(text if rank >= part.rank else f"({text})")
    return "".join(out)


def _traces_to(term: D, expression: Expression, spaces: tuple[Tensor, ...], nested: Any) -> bool:
    """True where an expression of stand-ins is recorded as the term."""
    with tracing(Findings(), 0) as trace:
        inputs = [trace.root.input(space) for space in spaces]
        try:
            made = expression.compute(*[fresh(trace, var) for var in inputs])
            if isinstance(made, Traced):
                made.var_  # noqa: B018  (a view is recorded when it is read)
        except Exception:  # whatever the reason, it is written as a call then
            return False
        if not isinstance(made, Traced) or len(trace.root.lines) != 1:
            return False
        recorded, args, outs, *_ = trace.root.lines[0]
        return outs is made.var_ and recorded == term and _same(args, nested, inputs)


def _same(args: Any, nested: Any, inputs: Sequence[Any]) -> bool:
    if isinstance(nested, tuple):
        return (
            isinstance(args, tuple)
            and len(args) == len(nested)
            and all(_same(one, other, inputs) for one, other in zip(args, nested, strict=True))
        )
    return args is inputs[nested]


def _candidate(term: D, operands: Sequence[Operand]) -> Expression | None:
    if isinstance(term, Subscript):
        return _subscript(term.key, operands)
    if term == matmul and len(operands) == 2:
        return _infix(OF_SYMBOL["@"], 10, Hole(0, 0), Hole(1, 0))
    function = getattr(term, "__scalar_function__", None)
    if not isinstance(function, Function) or len(function.outputs) != 1 or len(operands) != function.arity:
        return None
    if isinstance(term, WithNumber):
        sides = [Hole(0, 0), term.number] if term.after else [term.number, Hole(0, 0)]
        return _arithmetic(OF_SYMBOL[term.symbol].op, *sides) if _has_text(term.number) else None
    if isinstance(term, Times):
        return _arithmetic("mul", Hole(0, 0), term.number) if _has_text(term.number) else None
    (node,) = function.outputs
    if node.op in _PREFIX and [arg.op for arg in node.args] == ["param"]:
        symbol, compute = _PREFIX[node.op]
        return Expression((symbol, Hole(0, UNARY)), UNARY, compute)
    if node.op not in _RANK_OF:
        return None
    sides = [_side(arg) for arg in node.args]
    if sorted([side.operand for side in sides if isinstance(side, Hole)]) != list(range(len(operands))):
        return None
    return None if None in sides else _arithmetic(node.op, *sides)


def _side(node: Any) -> Hole | bool | int | float | None:
    """An operand, or a number that has a text."""
    if node.op == "param":
        return Hole(int(node.value), 0)
    return node.value if node.op == "const" and _has_text(node.value) else None


def _has_text(number: Any) -> bool:
    return type(number) in (bool, int, float) and math.isfinite(number)


def _arithmetic(op: str, left: Any, right: Any) -> Expression:
    return _infix(OF_OP[op], _RANK_OF[op], left, right)


def _infix(python: Operator, rank: int, left: Any, right: Any) -> Expression:
    """`left symbol right`. Powers take atoms on the left, comparisons no comparisons."""
    least = (CALL, UNARY) if rank == POWER else (rank + 1, rank + 1) if rank == COMPARISON else (rank, rank + 1)
    sides = [
        Hole(side.operand, bound) if isinstance(side, Hole) else f"({side!r})" if side < 0 and bound > UNARY else repr(side)
        for side, bound in zip((left, right), least, strict=True)
    ]
    return Expression((sides[0], f" {python.symbol} ", sides[1]), rank, _Applied(getattr(operator, python.function), left, right))


class _Keyed:
    """What an expression computes; equal ones are equal."""

    key: Any

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


class _Applied(_Keyed):
    """An operator of operands and numbers."""

    def __init__(self, compute: Callable[[Any, Any], Any], left: Any, right: Any) -> None:
        self.key = compute, left, right, type(left), type(right), str(left), str(right)

    def __call__(self, *operands: Any) -> Any:
        compute, left, right = self.key[:3]
        return compute(*[operands[side.operand] if isinstance(side, Hole) else side for side in (left, right)])


def _subscript(key: Key, operands: Sequence[Operand]) -> Expression | None:
    """`x[key]`, for an array that depends on arguments; indices that are known have axes, or they would be numbers of the key."""
    base, *indices = operands
    if base.is_constant or any(one.is_constant and not one.space.ndim for one in indices):
        return None
    parts: list[str | Hole] = [Hole(0, CALL), "["]
    places = iter(range(1, len(operands)))
    for k, part in enumerate(key):
        parts.append(", " if k else "")
        parts.append(Hole(next(places), LOWEST) if part is arg else "..." if part is Ellipsis else repr(part))
    return Expression((*parts, "]"), CALL, _Subscripted(key))


class _Subscripted(_Keyed):
    """The reading of an array by a key."""

    def __init__(self, key: Key) -> None:
        self.parts, self.key = key, repr(key)

    def __call__(self, x: Any, *indices: Any) -> Any:
        at = iter(indices)
        parts = [next(at) if p is arg else slice(*p) if isinstance(p, Bounds) else p for p in self.parts]
        return x[parts[0] if len(parts) == 1 else tuple(parts)]
