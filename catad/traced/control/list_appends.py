"""Which lists a loop may fill: those that are made just before it, and of which nothing but `append` is asked since.

No other name can have such a list, so no statement in the loop can see what is in it. A loop that is recorded may leave it as it
is, then, and fill it afterwards (`loop_outputs.py`).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from catad.scalar.reading.syntax_trees import names_bound

_OWN_SCOPE = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.GeneratorExp)
_SEES_ALL = frozenset(("locals", "vars", "eval", "exec", "globals"))


class FreshLists:
    """The lists of a block of statements, one after the other."""

    def __init__(self, function: ast.AST, declared: set[str]) -> None:
        inner = [node for node in ast.walk(function) if isinstance(node, _OWN_SCOPE) and node is not function]
        self.elsewhere = {n.id for node in inner for n in ast.walk(node) if isinstance(n, ast.Name)} | declared
        self.seen = any(isinstance(n, ast.Name) and n.id in _SEES_ALL for n in ast.walk(function))
        self.names: set[str] = set()

    def before(self, statement: ast.stmt) -> list[str]:
        """The lists that a loop fills, if the statement is one."""
        if self.seen or not isinstance(statement, ast.For):
            return []
        return sorted(name for name in self.names & _appended(statement) if not _uses(statement, name))

    def after(self, statement: ast.stmt) -> None:
        """Heed what a statement does: it makes a list, or uses lists."""
        self.names = {name for name in self.names if not _uses(statement, name)}
        self.names.update({name for name, value in _assigned(statement).items() if isinstance(value, ast.List)} - self.elsewhere)


def _assigned(statement: ast.stmt) -> dict[str, ast.expr | None]:
    """The names that a statement gives one value each, with these: `a = x`, `a: T = x`, and `a, b = x, y`."""
    if isinstance(statement, ast.AnnAssign):
        target, value = statement.target, statement.value
    elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target, value = statement.targets[0], statement.value  # type: ignore[assignment]
    else:
        return {}
    paired = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts)
    targets, values = (target.elts, value.elts) if paired else ([target], [value])  # type: ignore[union-attr]
    if any(isinstance(part, ast.Starred) for part in values) or not all(isinstance(part, ast.Name) for part in targets):
        return {}
    return {name.id: part for name, part in zip(targets, values, strict=True)}


def _uses(statement: ast.AST, name: str) -> bool:
    """Whether a statement does anything with a name but to append to it."""
    kept = {id(list_) for list_ in _lists_appended_to(statement)}
    if name in names_bound([statement]):
        return True
    return any(isinstance(n, ast.Name) and n.id == name and id(n) not in kept for n in ast.walk(statement))


def _appended(statement: ast.AST) -> set[str]:
    return {list_.id for list_ in _lists_appended_to(statement)}


def _lists_appended_to(statement: ast.AST) -> Iterator[ast.Name]:
    """The names in `name.append(value)`."""
    return filter(None, map(_list_of, ast.walk(statement)))


def _list_of(node: ast.AST) -> ast.Name | None:
    """The name in `name.append(value)`; None for anything else."""
    method = node.func if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords else None
    if not isinstance(method, ast.Attribute) or method.attr != "append" or not isinstance(method.value, ast.Name):
        return None
    return None if isinstance(node.args[0], ast.Starred) else method.value  # type: ignore[attr-defined]


# -- appends in branches


def appends_behind(statements: Sequence[ast.stmt], fresh: Callable[[str], str]) -> list[ast.stmt]:
    """The statements, in which an append to a list at the end of both sides of an `if` stands behind the `if`.

    The sides compute what is appended, under a name that `fresh` makes. So they change no list, and can be merged. In Python it
    is the same, as a value is computed before it is appended.
    """
    out: list[ast.stmt] = []
    for statement in statements:
        if not isinstance(statement, _OWN_SCOPE):
            for name, part in ast.iter_fields(statement):
                if isinstance(part, list) and part and isinstance(part[0], ast.stmt):
                    setattr(statement, name, appends_behind(part, fresh))
        out.append(statement)
        if isinstance(statement, ast.If) and statement.orelse:
            first, second = [_list_of(side[-1].value) if isinstance(side[-1], ast.Expr) else None
                             for side in (statement.body, statement.orelse)]  # fmt: skip
            if first is not None and second is not None and first.id == second.id:
                out.append(_moved(statement, fresh("value")))
    return out


def _moved(branch: ast.If, name: str) -> ast.stmt:
    """The append behind a branch."""
    last: Any = branch.body[-1]
    for side in (branch.body, branch.orelse):
        value = side[-1].value.args[0]  # type: ignore[attr-defined]
        side[-1] = ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], value), side[-1])
    made = ast.Call(last.value.func, [ast.Name(name, ast.Load())], [])
    return ast.fix_missing_locations(ast.copy_location(ast.Expr(made), last))
