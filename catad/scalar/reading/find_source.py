"""Finding the syntax tree of a function: the right `def` or lambda in its file, also among several on one line.

The source lines come from `linecache`, so notebooks, doctests and zipped packages work. They are believed only where compiling
them again gives the function's own code, constants, names and positions included, down to the functions inside it. A file that
was edited, a function whose `__code__` was replaced, another file of the same name: in all these cases there is no source.
IPython compiles each statement of a cell alone, so code that a statement gives alone is believed, too.
"""

from __future__ import annotations
import __future__

import ast
import dis
import inspect
import linecache
import sys
from bisect import bisect_left
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import NamedTuple

from catad.support.lru import remembered
from catad.support.parsing import parsed
from catad.values.frozen_functions import codes_of

Definition = ast.FunctionDef | ast.Lambda
Place = tuple[tuple[int, int], tuple[int, int]]

_FUTURES = __future__.annotations.compiler_flag
"""The flags of code that a `from __future__` which Python 3.11 or later heeds sets."""


class _Parsed(NamedTuple):
    """The functions of a file, its lines, the code that its functions are compiled to, its statements, and what it imports."""

    definitions: tuple[Definition, ...]
    lines: tuple[str, ...]
    compiled: tuple[CodeType, ...]
    statements: tuple[ast.stmt, ...]
    imports: tuple[ast.stmt, ...]


@remembered(weight=lambda found: 0 if found is None else sum(map(len, found.lines)) // 25)  # syntax trees are large
def _parsed(lines: tuple[str, ...], flags: int) -> _Parsed | None:
    try:
        tree = parsed("".join(lines))
        codes = _compiled(tree, flags)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    definitions = tuple(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.Lambda))
    return _Parsed(definitions, lines, codes, tuple(tree.body), tuple(_imports(tree)))


def _compiled(tree: ast.Module, flags: int) -> tuple[CodeType, ...]:
    """The code of the functions in a file, the outer ones first."""
    module = compile(tree, "<source>", "exec", flags | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    return tuple(codes_of(module))[1:]


def _file_of(function: FunctionType) -> _Parsed | None:
    """The file of a function."""
    lines = _lines(function)
    return _parsed(lines, function.__code__.co_flags & _FUTURES) if lines else None


def find_source(function: FunctionType) -> tuple[Definition, tuple[str, ...]] | None:
    """The definition of a function and the lines of its file; None where there is no (trustworthy) source."""
    code, found = function.__code__, _file_of(function)
    if found is None:
        return None
    lines = found.lines
    fitting = [node for node in found.definitions if _fits(node, code)]
    if not fitting or (len(fitting) > 1 and not any(_positions(code))):  # Python was told to keep no columns
        return None
    best = min(fitting, key=_extent)
    alike = _alike(code, found.compiled)
    if code not in alike and found.imports:
        alike += _alike(code, _compiled_alone(best, found, code.co_flags & _FUTURES))
    if code in alike:
        return best, lines
    asserts = [_place(node) for node in ast.walk(best) if isinstance(node, ast.Assert)]
    same = asserts and _outline(code, asserts) in [_outline(one, asserts) for one in alike]
    return (best, lines) if same else None


def _alike(code: CodeType, compiled: tuple[CodeType, ...]) -> list[CodeType]:
    return [one for one in compiled if (one.co_name, one.co_firstlineno) == (code.co_name, code.co_firstlineno)]


def _compiled_alone(node: Definition, file: _Parsed, flags: int) -> tuple[CodeType, ...]:
    """The code of the functions in the statement that holds a definition, compiled alone. It differs where the file imports:
    Python compiles `name.method(...)` otherwise where it sees that `name` is imported."""
    after = (one for one in file.statements if (one.end_lineno or 0) >= node.lineno)
    holding = next(one for one in after if any(inner is node for inner in ast.walk(one)))
    return _compiled(ast.Module([holding], []), flags)


def _imports(node: ast.AST) -> Iterator[ast.stmt]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child
        elif isinstance(child, ast.stmt | ast.ExceptHandler) and not isinstance(child, ast.FunctionDef | ast.ClassDef):
            yield from _imports(child)


def imports_of(function: FunctionType) -> list[ast.stmt]:
    """The imports of the module of a function: Python compiles `name.method(...)` otherwise where `name` is imported."""
    found = _file_of(function)
    kept = [] if found is None else found.imports
    return [one for one in kept if not (isinstance(one, ast.ImportFrom) and one.module == "__future__")]


def _lines(function: FunctionType) -> tuple[str, ...]:
    """The lines of the file, or of what was typed at a prompt that remembers it (Python 3.13 and later)."""
    file = function.__code__.co_filename
    linecache.checkcache(file)
    lines = tuple(linecache.getlines(file, function.__globals__))
    if not lines and sys.version_info >= (3, 13):
        try:
            lines = tuple(inspect.findsource(function)[0])
        except (OSError, IndexError, TypeError):
            return ()
    return lines


def _fits(node: Definition, code: CodeType) -> bool:
    """True where the code may have been compiled from this definition."""
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


def _positions(code: CodeType) -> Iterator[Place]:
    """The places from which the instructions come: (line, column) of start and end; the prologue says nothing and is left out."""
    for start, end, left, right in code.co_positions():
        if start is None or end is None or left is None or right is None:
            continue
        if (end, right) > (start, left):
            yield (start, left), (end, right)


def _within(node: Definition, place: Place) -> bool:
    inner: ast.AST = node.body if isinstance(node, ast.Lambda) else node
    start, end = _place(inner)
    return start <= place[0] and place[1] <= end


def _place(node: ast.AST) -> Place:
    return (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]


def _outline(code: CodeType, without: list[Place]) -> list[object]:
    """The instructions of a function outside some places: test runners rewrite the asserts of the functions that they load."""
    kept = []
    for one in dis.get_instructions(code):
        at = one.positions
        if one.opname in ("NOP", "EXTENDED_ARG", "CACHE") or at is None or None in at:
            continue
        place = ((at.lineno, at.col_offset), (at.end_lineno, at.end_col_offset))
        if not any(start <= place[0] and place[1] <= end for start, end in without):
            kept.append((one, place))
    offsets = [one.offset for one, _ in kept]
    said: list[object] = [code.co_varnames[: code.co_argcount + code.co_kwonlyargcount], code.co_flags]
    for one, place in kept:
        value = one.argval
        if isinstance(value, CodeType):
            value = _outline(value, without)
        elif "JUMP" in one.opname or one.opname == "FOR_ITER":
            value = bisect_left(offsets, value)
        said.append((one.opname, type(value), repr(value), place))
    return said


def _extent(node: Definition) -> tuple[int, int]:
    """The size of a definition: of nested ones that fit, the innermost is meant."""
    last = node.end_lineno or node.lineno
    return last - node.lineno, (node.end_col_offset or 0) - node.col_offset
