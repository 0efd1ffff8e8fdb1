"""What syntax trees say: the names that statements bind, the kinds of statements, and loops whose test binds names."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import TypeVar

N = TypeVar("N", bound=ast.AST)

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def names_bound(nodes: Sequence[ast.AST]) -> list[str]:
    """The names that statements bind in their function, in order of appearance; those of comprehensions are their own."""
    found: dict[str, None] = {}
    stack = [(node, False) for node in reversed(nodes)]  # and whether a comprehension is around
    while stack:
        node, inside = stack.pop()
        if isinstance(node, _DEFINITIONS):
            found[node.name] = None
            continue
        if isinstance(node, ast.Lambda):
            continue
        if isinstance(node, ast.NamedExpr):
            found[node.target.id] = None
        elif isinstance(node, ast.Name) and not inside and not isinstance(node.ctx, ast.Load):
            found[node.id] = None
        elif isinstance(node, ast.alias):
            found[node.asname or node.name.partition(".")[0]] = None
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
            found[node.name] = None
        inside = inside or isinstance(node, _COMPREHENSIONS)
        stack.extend([(child, inside) for child in reversed(list(ast.iter_child_nodes(node)))])
    return list(found)


def contains(nodes: Sequence[ast.AST], kinds: tuple[type[ast.AST], ...], loops: bool = True) -> bool:
    """True where statements have a node of a kind, outside nested functions (and, if asked, nested loops)."""
    stack = list(nodes)
    while stack:
        node = stack.pop()
        if isinstance(node, kinds):
            return True
        if isinstance(node, ast.For | ast.While) and not loops:
            stack.extend(node.orelse)
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            stack.extend(ast.iter_child_nodes(node))
    return False


def with_test_inside(node: ast.While, fresh: Callable[[str], str]) -> list[ast.stmt]:
    """`while test` whose test binds names as `while True: if not test: break`: so the names are those of the last test.

    An `else` that leaves a loop around it stands behind, and asks a flag, for which `fresh` makes a name.
    """
    if not any(isinstance(one, ast.NamedExpr) for one in ast.walk(node.test)):
        return [node]
    leaves = any(isinstance(one, (ast.Break, ast.Continue)) for part in node.orelse for one in ast.walk(part))
    flag = fresh("flag") if leaves else ""
    both = isinstance(node.test, ast.BoolOp) and isinstance(node.test.op, ast.And)
    tests = node.test.values if both else [node.test]  # type: ignore[attr-defined]
    last = [assigned(flag, True)] if leaves else node.orelse
    leave = [at(ast.If(ast.UnaryOp(ast.Not(), test), [*deepcopy(last), ast.Break()], []), test) for test in tests]
    loop = at(ast.While(ast.Constant(True), [*leave, *node.body], []), node)
    if not leaves:
        return [loop]
    return [at(assigned(flag, False), node), loop, at(ast.If(ast.Name(flag, ast.Load()), node.orelse, []), node)]


def assigned(name: str, value: ast.expr | bool) -> ast.stmt:
    """`name = value`."""
    return ast.Assign([ast.Name(name, ast.Store())], value if isinstance(value, ast.expr) else ast.Constant(value))


def at(node: N, where: ast.AST) -> N:
    """A new node with the place of an old one."""
    ast.copy_location(node, where)
    return ast.fix_missing_locations(node)
