"""Pieces of syntax of which rewritten functions are made."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from catad.scalar.reading.syntax_trees import names_bound

DRIVER = "__catad__"


def later(value: ast.expr) -> ast.Lambda:
    """A function without arguments that computes an expression."""
    none = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    return ast.copy_location(ast.Lambda(none, value), value)


def used_up(value: ast.expr) -> ast.expr:
    """What Python takes items of: an iterator is used up."""
    return asked(value, "used", value)


def caught(region: str, node: ast.AST) -> ast.stmt:
    """A statement that says that an exception may have been caught, which left blocks early."""
    return done(node, "caught", load(region))


def changing(node: ast.AST) -> ast.stmt:
    """A statement that says that a variable of another function, or an object, is changed."""
    return done(node, "changes_python")


def new(node: ast.expr) -> ast.expr:
    """A list, a dict or a set that is made."""
    return asked(node, "new", node)


def reads_of(body: Sequence[ast.stmt]) -> list[tuple[ast.AST, str]]:
    """Where statements read names; `x += 1` reads x."""
    nodes = [n for statement in body for n in ast.walk(statement)]
    targets = {id(n.target) for n in nodes if isinstance(n, ast.AugAssign)}
    return [(n, n.id) for n in nodes if isinstance(n, ast.Name) and (isinstance(n.ctx, ast.Load) or id(n) in targets)]


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
        elif isinstance(node, (ast.stmt, ast.ExceptHandler)) and hasattr(node, "body") and not isinstance(node, ast.FunctionDef):
            stack.extend(ast.iter_child_nodes(node))
        else:
            others.append(node)
    rebound = set(names_bound(others))
    return [name for name in augmented if name not in rebound]


def with_names(target: ast.expr, value: ast.expr) -> ast.expr:
    """A value that is bound to a name, or to a tuple of names: arrays get them for texts and messages."""
    names = [target] if isinstance(target, ast.Name) else target.elts if isinstance(target, ast.Tuple) else []
    said = [name.id for name in names if isinstance(name, ast.Name)]
    if len(said) < len(names) or not said or any(name.startswith((DRIVER, "__catad_")) for name in said):
        return value
    given = ast.Constant(said[0]) if isinstance(target, ast.Name) else texts(said)
    return asked(value, "named", given, value)


def key_of(key: ast.expr) -> ast.expr:
    """The key of a subscript as an expression: slices are objects."""
    if isinstance(key, ast.Slice):
        ends = [ast.Constant(None) if end is None else end for end in (key.lower, key.upper, key.step)]
        return asked(key, "slice", *ends)
    if isinstance(key, ast.Tuple):
        return ast.copy_location(ast.Tuple([key_of(part) for part in key.elts], ast.Load()), key)
    return key


def load(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def asked(where: ast.AST, name: str, *args: ast.expr) -> ast.expr:
    """What a method of the driver gives, in the place of a piece of the user's."""
    return ast.copy_location(method(DRIVER, name, *args), where)


def done(where: ast.AST, name: str, *args: ast.expr) -> ast.stmt:
    """The same as a statement."""
    return ast.copy_location(ast.Expr(asked(where, name, *args)), where)


def attribute(name: str, attribute: str) -> ast.expr:
    return ast.Attribute(load(name), attribute, ast.Load())


def method(name: str, method: str, *args: ast.expr) -> ast.expr:
    return ast.Call(attribute(name, method), list(args), [])


def texts(names: Sequence[str]) -> ast.expr:
    return ast.Tuple([ast.Constant(name) for name in names], ast.Load())
