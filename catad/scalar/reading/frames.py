"""The state of a function that the reader runs: variables, where it stands in the file, what names mean."""

from __future__ import annotations

import ast
import builtins
import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from catad import errors
from catad.errors import ScalarError
from catad.scalar.ir import Node, Pair, const
from catad.scalar.reading.callables import Listed
from catad.scalar.reading.find_source import Definition
from catad.scalar.reading.syntax_trees import names_bound
from catad.scalar.simplify import FALSE
from catad.support.lru import remembered

Body = Definition | CodeType
"""What is read of a function: its syntax tree, or its code where it has no source."""

RETURNED, RESULT, BROKEN, CONTINUED = "return?", "return", "break?", "continue?"
"""Variables of the reader itself: has the path returned, with what, has it left the loop or this trip of it."""


@dataclass(frozen=True, slots=True)
class Unbound:
    """A variable without a value on some path, and why."""

    reason: str


@dataclass(slots=True, eq=False)
class Frame:
    """One call of a Python function that is being read."""

    name: str
    file: str
    lines: tuple[str, ...]
    names: frozenset[str]
    outer: Mapping[str, Any]
    globals: Mapping[str, Any]
    parent: Frame | None
    depth: int
    env: dict[str, Any] = field(default_factory=lambda: {RETURNED: FALSE, BROKEN: FALSE, CONTINUED: FALSE})


@dataclass(frozen=True, slots=True, eq=False)
class LocalFunction:
    """A function inside the one that is being read; free names are looked up when it is called."""

    definition: Body
    frame: Frame
    defaults: tuple[Any, ...]
    keyword_defaults: Mapping[str, Any]

    def __call__(self) -> None:
        """Only there so that `functools.partial` takes it; the reader makes the calls."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Range:
    """A `range` whose bounds are nodes; the step is a constant."""

    start: Node
    stop: Node
    step: int


def counted(span: Range) -> tuple[Node, ...]:
    """The numbers of a range whose ends are constants."""
    if not span.start.op == span.stop.op == "const":
        raise ScalarError(errors.range_of_data())
    return tuple(map(const, range(span.start.value, span.stop.value, span.step)))


@dataclass(frozen=True, slots=True)
class Parameters:
    """The parameters of a function: by position (the first `bare` by position only), by keyword only, and starred."""

    positional: tuple[str, ...]
    bare: int
    only: tuple[str, ...]
    star: str | None
    double_star: bool


def parameters_of(body: Body) -> Parameters:
    """The parameters of a function."""
    if isinstance(body, CodeType):
        n, m = body.co_argcount, body.co_argcount + body.co_kwonlyargcount
        names = body.co_varnames
        star = names[m] if body.co_flags & inspect.CO_VARARGS else None
        return Parameters(names[:n], body.co_posonlyargcount, names[n:m], star, bool(body.co_flags & inspect.CO_VARKEYWORDS))
    spec = body.args
    positional = tuple([arg.arg for arg in (*spec.posonlyargs, *spec.args)])
    only = tuple([arg.arg for arg in spec.kwonlyargs])
    star = None if spec.vararg is None else spec.vararg.arg
    return Parameters(positional, len(spec.posonlyargs), only, star, spec.kwarg is not None)


def enter(body: Body, lines: tuple[str, ...], function: FunctionType | None, parent: Frame | None, depth: int) -> Frame:
    """A fresh frame for a Python function, or for a local one (then its frame is `parent`)."""
    names = _names(body)
    if isinstance(body, CodeType):
        name = body.co_name if function is None else function.__name__
    else:
        name = body.name if isinstance(body, ast.FunctionDef) else "<lambda>"
    if function is None:
        assert parent is not None
        return Frame(name, parent.file, lines, names, {}, parent.globals, parent, depth)
    cells = function.__closure__ or ()
    outer = dict(zip(function.__code__.co_freevars, cells, strict=True))
    return Frame(name, function.__code__.co_filename, lines, names, outer, function.__globals__, None, depth)


@remembered
def _names(body: Body) -> frozenset[str]:
    """The names that a function binds."""
    if isinstance(body, CodeType):
        return frozenset([*body.co_varnames, *body.co_cellvars])
    args = body.args
    named = [arg.arg for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg) if arg]
    inside = body.body if isinstance(body, ast.FunctionDef) else [body.body]
    return frozenset([*named, *names_bound(inside)])


def look_up(frame: Frame, name: str) -> Any:
    """The meaning of a name: local, then enclosing functions, globals, builtins; Unbound or KeyError if nothing."""
    scope: Frame | None = frame
    while scope is not None:
        if name in scope.names:
            return scope.env[name] if name in scope.env else Unbound("it has no value yet")
        if name in scope.outer:
            return lifted(scope.outer[name].cell_contents)
        last, scope = scope, scope.parent
    return look_up_outside(last, name)


def look_up_outside(frame: Frame, name: str) -> Any:
    """The meaning of a name outside all functions: globals, then builtins; KeyError if nothing."""
    return lifted(frame.globals[name] if name in frame.globals else vars(builtins)[name])


def lifted(thing: Any) -> Any:
    """A Python object as a value: numbers become constants, tuples of them tuples, the rest stays what it is."""
    if isinstance(thing, Node | Pair):
        return thing
    if isinstance(thing, complex | np.complexfloating):
        return Pair((const(thing.real), const(thing.imag)))
    if isinstance(thing, bool | int | float | np.number | np.bool_):
        return const(thing)
    if isinstance(thing, tuple | list):
        parts = [lifted(part) for part in thing]
        return Listed(parts) if isinstance(thing, list | Listed) else tuple(parts)
    if isinstance(thing, np.ndarray):
        if thing.ndim:
            raise ScalarError(errors.captured_array(thing.shape))
        return lifted(thing[()])
    return thing
