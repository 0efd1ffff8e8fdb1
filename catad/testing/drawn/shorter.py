"""Making the text of a function short while something about it stays true."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any


def shortened(text: str, holds: Callable[[str], bool]) -> Iterator[str]:
    """Shorter and shorter texts of which `holds` is true, until no single edit leaves it true."""
    start, tried = 0, {text}
    while True:
        for number, candidate in enumerate(_edits(text)):
            if number < start or candidate in tried:
                continue
            tried.add(candidate)
            if holds(candidate):
                text, start = candidate, number
                yield text
                break
        else:
            if start == 0:
                return
            start = 0


def _edits(text: str) -> Iterator[str]:
    """The text without one of its statements, with the body of one in its place, or with a plainer expression."""
    tree = ast.parse(text)
    for node in list(ast.walk(tree)):
        for name, old in list(ast.iter_fields(node)):
            for new in _instead(old):
                setattr(node, name, new)
                yield ast.unparse(ast.fix_missing_locations(tree)) + "\n"
            setattr(node, name, old)


def _instead(old: Any) -> Iterator[Any]:
    """What may stand in the place of a part of a node."""
    if isinstance(old, ast.expr):
        yield from _plainer(old)
    elif isinstance(old, list):
        for k, part in enumerate(old):
            if isinstance(part, ast.stmt) and not isinstance(part, (ast.Return, ast.Pass)):
                rest = old[:k] + old[k + 1 :]
                yield rest or [ast.Pass()]
                if not isinstance(part, ast.FunctionDef) and hasattr(part, "body"):
                    yield old[:k] + part.body + old[k + 1 :]
            elif isinstance(part, ast.expr):
                for new in _plainer(part):
                    yield [*old[:k], new, *old[k + 1 :]]


def _plainer(old: ast.expr) -> Iterator[ast.expr]:
    """Parts of an expression, and smaller constants."""
    if isinstance(getattr(old, "ctx", None), ast.Store) or isinstance(old, ast.Name):
        return
    if isinstance(old, ast.Constant):
        if isinstance(old.value, (int, float)) and not isinstance(old.value, bool):
            for value in (0, 1, 2, old.value // 2):
                if abs(value) < abs(old.value):
                    yield ast.Constant(type(old.value)(value))
        return
    if isinstance(old, ast.Tuple):  # stays one
        for k in range(len(old.elts)) if len(old.elts) > 1 else ():
            yield ast.Tuple(old.elts[:k] + old.elts[k + 1 :], ast.Load())
        return
    for child in ast.iter_child_nodes(old):
        if isinstance(child, ast.expr) and not (isinstance(old, ast.Call) and child is old.func and isinstance(child, ast.Name)):
            yield child
