"""`return` in branches as one exit: a branch on data whose sides return is merged as any other.

    if a: return x              if a: result = x
    y = f(x)          becomes   else:
    return y                        y = f(x)
                                    result = y
                                return result

What stands behind a side that always returns moves into the other side. A function in which that is not all, with a `return` in a
`try` or in a side that returns only sometimes, stays as it is: its branches are explored. Jumps out of loops are flags before
(`flags.py`).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from catad.scalar.reading.syntax_trees import assigned, at, contains
from catad.traced.rewriting.nodes import load


class _NotStructured(Exception):
    """A `return` stands elsewhere than in sides of branches."""


def with_one_exit(statements: list[ast.stmt], fresh: Callable[[str], str]) -> list[ast.stmt]:
    """The statements of a function with one `return`, at the end, where some were in branches."""
    if not any(isinstance(one, ast.If) and contains([one], (ast.Return,)) for one in statements):
        return statements
    result = fresh("result")
    try:
        made = _tail(statements, result)
    except _NotStructured:
        return statements
    return [*made, at(ast.Return(load(result)), statements[-1])]


def _tail(statements: Sequence[ast.stmt], result: str) -> list[ast.stmt]:
    """Statements behind which the function ends: what they return is the result."""
    for k, node in enumerate(statements):
        before, rest = list(statements[:k]), list(statements[k + 1 :])
        if isinstance(node, ast.Return):
            return [*before, at(assigned(result, node.value or ast.Constant(None)), node)]
        if not contains([node], (ast.Return,)):
            continue
        if not isinstance(node, ast.If):
            raise _NotStructured
        if not rest or _always(node.body):
            sides = node.body, [*node.orelse, *rest]
        elif _always(node.orelse):
            sides = [*node.body, *rest], node.orelse
        else:
            raise _NotStructured
        made = ast.If(node.test, *[_tail(side, result) for side in sides])
        made.kept = (result,)  # type: ignore[attr-defined]
        return [*before, at(made, node)]
    return [*statements, assigned(result, ast.Constant(None))]


def _always(statements: Sequence[ast.stmt]) -> bool:
    """True for statements behind which nothing runs."""
    return any(
        isinstance(one, (ast.Return, ast.Raise)) or (isinstance(one, ast.If) and _always(one.body) and _always(one.orelse))
        for one in statements
    )
