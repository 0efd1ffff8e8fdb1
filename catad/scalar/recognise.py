"""Recognising the operators that have special rules, `+`, `*`, min, max and `logaddexp`, whatever way they are written."""

from __future__ import annotations

import operator
from collections.abc import Hashable

from catad.scalar.ir import Function, Node, param, postorder

LEFT, RIGHT = param(0), param(1)

_COMMUTATIVE = ("add", "mul", "bitand", "bitor", "bitxor", "minimum", "maximum", "fmin", "fmax")
_TRANSPARENT = ("float", "pos")


def recognise(function: Function) -> str | None:
    """'add', 'mul', 'logaddexp', 'min' or 'max' if a function of two numbers computes that for all numbers but NaN, else None.

    For min and max the derivative must agree too: at a tie it is the left operand's.

    >>> from catad.scalar.reading.read import read
    >>> recognise(read(lambda a, b: b + a)), recognise(read(lambda a, b: a if a >= b else b))
    ('add', 'max')
    >>> recognise(read(lambda a, b: a if a > b else b)) is None  # the right operand wins ties
    True
    """
    if function.param_trees != (None, None) or function.tree is not None:
        return None
    (output,) = function.outputs
    bare = _bare(output)
    if bare.op in ("add", "mul", "logaddexp") and {_bare(arg) for arg in bare.args} == {LEFT, RIGHT}:
        return bare.op
    if bare.op in ("select", "minimum", "maximum", "fmin", "fmax"):
        winners = tuple([_winner(output, order) for order in (-1, 0, 1)])
        return {(LEFT, LEFT, RIGHT): "min", (RIGHT, LEFT, LEFT): "max"}.get(winners)  # type: ignore[arg-type]
    return None


def commutes(function: Function) -> bool:
    """True where an operator on elements of some numbers gives the same to the last bit with its operands exchanged.

    It is seen where only sums, products, extrema and operations on bits need be turned, as of dual numbers:
    x * u + y * t and y * t + x * u.

    >>> from catad.scalar.reading.read import read
    >>> commutes(read(lambda a, b: a + b + a * b)), commutes(read(lambda a, b: a - b))
    (True, False)
    """
    d, numbers = function.arity // 2, dict[Hashable, int]()
    if function.arity % 2:
        return False

    def written(turned: bool) -> list[int]:
        at: dict[Node, int] = {}
        for node in postorder(function.outputs):
            args = [at[arg] for arg in node.args]
            value: Hashable = node.value if node.args else node  # constants meet as nodes: -0.0 is not 0.0
            if node.op == "param":
                value = (node.value + d * turned) % (2 * d)
            own = (node.op, value, *(sorted(args) if node.op in _COMMUTATIVE else args))
            at[node] = numbers.setdefault(own, len(numbers))
        return [at[output] for output in function.outputs]

    return written(False) == written(True)


def _bare(node: Node) -> Node:
    while node.op in _TRANSPARENT:
        node = node.args[0]
    return node


def _winner(output: Node, order: int) -> Node | None:
    """The param that the output is, if the left one is smaller (-1), equal (0) or larger (1); None if unclear."""
    known: dict[Node, Node | bool | None] = {LEFT: LEFT, RIGHT: RIGHT}
    for node in postorder([output]):
        if node not in known:
            known[node] = _evaluate(node, [known[arg] for arg in node.args], order)
    found = known[output]
    return found if isinstance(found, Node) else None


def _evaluate(node: Node, args: list[Node | bool | None], order: int) -> Node | bool | None:
    if node.op == "const":
        return node.value if isinstance(node.value, bool) else None
    if node.op == "select":
        return None if args[0] is None else args[1] if args[0] else args[2]
    if any(arg is None for arg in args):
        return None
    if node.op in _TRANSPARENT:
        return args[0]
    if node.op in ("and", "or", "not") and all(isinstance(arg, bool) for arg in args):
        return not args[0] if node.op == "not" else all(args) if node.op == "and" else any(args)
    if not all(isinstance(arg, Node) for arg in args) or len(args) != 2:
        return None
    place = 0 if args[0] is args[1] else order if args[0] is LEFT else -order
    if node.op in ("minimum", "fmin", "maximum", "fmax"):
        sign = 1 if node.op in ("minimum", "fmin") else -1
        return args[0] if place * sign <= 0 else args[1]
    if node.op in ("lt", "le", "gt", "ge", "eq", "ne"):
        return bool(getattr(operator, node.op)(place, 0))
    return None
