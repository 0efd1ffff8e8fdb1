"""Python's operators of two numbers: class in syntax trees, symbol, function in `operator`, and operation of `ops.py`."""

from __future__ import annotations

import ast
from typing import NamedTuple


class Operator(NamedTuple):
    """One operator; that of matrices is no operation on numbers."""

    kind: type[ast.AST]
    symbol: str
    function: str
    op: str


OPERATORS = tuple([Operator(*row) for row in (
    (ast.Add, "+", "add", "add"), (ast.Sub, "-", "sub", "sub"), (ast.Mult, "*", "mul", "mul"),
    (ast.Div, "/", "truediv", "div"), (ast.FloorDiv, "//", "floordiv", "floordiv"), (ast.Mod, "%", "mod", "mod"),
    (ast.Pow, "**", "pow", "pow"), (ast.MatMult, "@", "matmul", ""), (ast.BitAnd, "&", "and_", "bitand"),
    (ast.BitOr, "|", "or_", "bitor"), (ast.BitXor, "^", "xor", "bitxor"), (ast.LShift, "<<", "lshift", "lshift"),
    (ast.RShift, ">>", "rshift", "rshift"), (ast.Lt, "<", "lt", "lt"), (ast.LtE, "<=", "le", "le"), (ast.Gt, ">", "gt", "gt"),
    (ast.GtE, ">=", "ge", "ge"), (ast.Eq, "==", "eq", "eq"), (ast.NotEq, "!=", "ne", "ne"),
)])  # fmt: skip
OF_OP = {one.op: one for one in OPERATORS if one.op}
OF_KIND = {one.kind: one for one in OPERATORS}
OF_SYMBOL = {one.symbol: one for one in OPERATORS}
