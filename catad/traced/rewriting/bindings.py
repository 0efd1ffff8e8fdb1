"""Which names some statements bind, and which statements they contain."""

from __future__ import annotations

import ast
from collections.abc import Sequence


def bound_names(nodes: Sequence[ast.AST]) -> list[str]:
    """The names that statements bind in their function, in order of appearance; those of comprehensions are their own."""
    found: dict[str, None] = {}

    def visit(node: ast.AST, inside: bool) -> None:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found[node.name] = None
            return
        if isinstance(node, ast.Lambda):
            return
        if isinstance(node, ast.NamedExpr):
            found[node.target.id] = None
            visit(node.value, inside)
            return
        if isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            for child in ast.iter_child_nodes(node):
                visit(child, True)
            return
        if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)) and not inside:
            found[node.id] = None
        if isinstance(node, ast.alias):
            found[node.asname or node.name.partition(".")[0]] = None
        if isinstance(node, ast.ExceptHandler) and node.name:
            found[node.name] = None
        if isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name:
            found[node.name] = None
        for child in ast.iter_child_nodes(node):
            visit(child, inside)

    for node in nodes:
        visit(node, False)
    return list(found)


def augmented_only(nodes: Sequence[ast.AST]) -> list[str]:
    """The names that statements bind by `name op= value` alone: an array stays the same array."""
    augmented: dict[str, None] = {}
    others: list[ast.AST] = []
    stack = list(nodes)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            augmented[node.target.id] = None
            others.append(node.value)
        elif (
            isinstance(node, (ast.stmt, ast.ExceptHandler))
            and hasattr(node, "body")
            and not isinstance(node, ast.FunctionDef)
        ):
            stack.extend(ast.iter_child_nodes(node))
        else:
            others.append(node)
    rebound = set(bound_names(others))
    return [name for name in augmented if name not in rebound]


def contains(nodes: Sequence[ast.AST], kinds: tuple[type[ast.AST], ...]) -> bool:
    """True where statements have a node of a kind, outside nested functions."""
    stack = list(nodes)
    while stack:
        node = stack.pop()
        if isinstance(node, kinds):
            return True
        if not isinstance(node, (ast.FunctionDef, ast.Lambda)):
            stack.extend(ast.iter_child_nodes(node))
    return False
