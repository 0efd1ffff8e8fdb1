"""Python's operators of two numbers: kind of node, symbol, function in `operator`, operation of `ops.py`, name in NumPy."""

from __future__ import annotations

import ast
from typing import NamedTuple


class Operator(NamedTuple):
    """One operator; that of matrices is no operation on numbers."""

    kind: type[ast.AST]
    symbol: str
    function: str
    op: str
    numpy: str


OPERATORS = tuple([Operator(*row) for row in (
    (ast.Add, "+", "add", "add", "add"), (ast.Sub, "-", "sub", "sub", "subtract"), (ast.Mult, "*", "mul", "mul", "multiply"),
    (ast.Div, "/", "truediv", "div", "divide"), (ast.FloorDiv, "//", "floordiv", "floordiv", "floor_divide"),
    (ast.Mod, "%", "mod", "mod", "remainder"), (ast.Pow, "**", "pow", "pow", "power"), (ast.MatMult, "@", "matmul", "", "matmul"),
    (ast.BitAnd, "&", "and_", "bitand", "bitwise_and"), (ast.BitOr, "|", "or_", "bitor", "bitwise_or"),
    (ast.BitXor, "^", "xor", "bitxor", "bitwise_xor"), (ast.LShift, "<<", "lshift", "lshift", "left_shift"),
    (ast.RShift, ">>", "rshift", "rshift", "right_shift"), (ast.Lt, "<", "lt", "lt", "less"),
    (ast.LtE, "<=", "le", "le", "less_equal"), (ast.Gt, ">", "gt", "gt", "greater"),
    (ast.GtE, ">=", "ge", "ge", "greater_equal"), (ast.Eq, "==", "eq", "eq", "equal"), (ast.NotEq, "!=", "ne", "ne", "not_equal"),
)])  # fmt: skip
OF_OP = {one.op: one for one in OPERATORS if one.op}
OF_KIND = {one.kind: one for one in OPERATORS}
OF_SYMBOL = {one.symbol: one for one in OPERATORS}
