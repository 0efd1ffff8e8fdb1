"""Finding the syntax tree of a function: the right `def` or lambda in its file, also among several on one line.

The source lines come from `linecache`, so notebooks, doctests and zipped packages work. A lambda is told from its
neighbours by the positions that its bytecode carries (`co_positions`). When the file has changed since it was imported,
or there is no file, there is no source, and the function is traced instead.
"""

from __future__ import annotations

import ast
import copy
import linecache
from collections.abc import Iterator
from functools import lru_cache
from types import CodeType, FunctionType

Definition = ast.FunctionDef | ast.Lambda


@lru_cache(256)
def _parsed(lines: tuple[str, ...]) -> tuple[tuple[Definition, ...], tuple[str, ...]] | None:
    try:
        tree = ast.parse("".join(lines))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return tuple(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.Lambda)), lines


def find_source(function: FunctionType) -> tuple[Definition, tuple[str, ...]] | None:
    """The definition of a function and the lines of its file; None where there is no (trustworthy) source."""
    code = function.__code__
    linecache.checkcache(code.co_filename)
    lines = tuple(linecache.getlines(code.co_filename, function.__globals__))
    found = _parsed(lines) if lines else None
    if found is None:
        return None
    definitions, lines = found
    fitting = [node for node in definitions if _fits(node, code)]
    best = min(fitting, key=_extent, default=None)
    return (best, lines) if best is not None and _up_to_date(best, code) else None


def _fits(node: Definition, code: CodeType) -> bool:
    """Can this definition be what the code was compiled from?"""
    if isinstance(node, ast.Lambda) != (code.co_name == "<lambda>"):
        return False
    if isinstance(node, ast.FunctionDef):
        first = min([node.lineno, *[decorator.lineno for decorator in node.decorator_list]])
        if node.name != code.co_name or first != code.co_firstlineno:
            return False
    elif node.lineno != code.co_firstlineno:
        return False
    args = node.args
    named = [arg.arg for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs)]
    if tuple(named) != code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
        return False
    return all(_within(node, place) for place in _positions(code))


def _positions(code: CodeType) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Where the instructions come from: (line, column) of start and end; the prologue says nothing and is left out."""
    for start, end, left, right in code.co_positions():
        if start is None or end is None or left is None or right is None:
            continue
        if (end, right) > (start, left):
            yield (start, left), (end, right)


def _within(node: Definition, place: tuple[tuple[int, int], tuple[int, int]]) -> bool:
    inner: ast.AST = node.body if isinstance(node, ast.Lambda) else node
    start = (inner.lineno, inner.col_offset)  # type: ignore[attr-defined]
    end = (inner.end_lineno, inner.end_col_offset)  # type: ignore[attr-defined]
    return start <= place[0] and place[1] <= end


def _up_to_date(node: Definition, code: CodeType) -> bool:
    """Has the file still the numbers that were compiled? (Test runners rewrite asserts, so those are not compared.)"""
    if any(isinstance(one, ast.Assert) for one in ast.walk(node)):
        return True
    if isinstance(node, ast.Lambda):
        module = ast.Module([ast.copy_location(ast.Expr(node), node)], [])
    else:
        bare = copy.copy(node)
        bare.decorator_list = []
        module = ast.Module([bare], [])
    inside = [c for c in compile(module, code.co_filename, "exec").co_consts if isinstance(c, CodeType)]
    return any(c.co_name == code.co_name and _numbers(c) == _numbers(code) for c in inside)


def _numbers(code: CodeType) -> set[str]:
    return {repr(c) for c in code.co_consts if isinstance(c, int | float | tuple)}


def _extent(node: Definition) -> tuple[int, int]:
    """How large a definition is: of nested ones that fit, the innermost is meant."""
    last = node.end_lineno or node.lineno
    return last - node.lineno, (node.end_col_offset or 0) - node.col_offset


def names_read(node: ast.AST) -> set[str]:
    """All names that appear in a piece of source."""
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def names_bound(nodes: list[ast.stmt] | list[ast.AST]) -> list[str]:
    """The names that statements (not nested functions) may bind, in order of appearance."""
    found: dict[str, None] = {}
    stack: list[ast.AST] = list(reversed(nodes))
    while stack:
        node = stack.pop()
        if isinstance(node, ast.FunctionDef):
            found[node.name] = None
            continue
        if isinstance(node, ast.Lambda):
            continue
        if isinstance(node, ast.alias):
            found[node.asname or node.name.partition(".")[0]] = None
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found[node.id] = None
        stack.extend(reversed(list(ast.iter_child_nodes(node))))
    return list(found)


def has_statement(nodes: list[ast.stmt], kinds: tuple[type[ast.stmt], ...], loops: bool = True) -> bool:
    """Do the statements contain one of these kinds, outside nested functions (and, if asked, outside nested loops)?"""
    stack: list[ast.AST] = list(nodes)
    while stack:
        node = stack.pop()
        if isinstance(node, kinds):
            return True
        if isinstance(node, ast.For | ast.While) and not loops:
            stack.extend(node.orelse)
        elif not isinstance(node, ast.FunctionDef | ast.Lambda):
            stack.extend(ast.iter_child_nodes(node))
    return False
