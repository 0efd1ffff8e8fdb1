"""The reader of Python functions: from their source where there is one, else from their bytecode."""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Iterable, Sequence
from types import CodeType, FunctionType, MethodType
from typing import Any

from catad import errors
from catad.errors import NeedsTree, ScalarError
from catad.scalar.ir import Function, Node, const, leaves, tree_of, unflatten
from catad.scalar.pairs.callables import meaning_on_pairs
from catad.scalar.reading.bytecode import refuse_kind, run_code
from catad.scalar.reading.callables import handler_of, scalar
from catad.scalar.reading.find_source import Definition, find_source
from catad.scalar.reading.frames import (
    RESULT,
    RETURNED,
    Body,
    Frame,
    LocalFunction,
    Parameters,
    Range,
    counted,
    enter,
    lifted,
    parameters_of,
)
from catad.scalar.reading.loops import pruned
from catad.scalar.reading.signatures import CACHED, is_array_function, not_readable
from catad.scalar.reading.source import Source, source_of
from catad.scalar.reading.statements import Statements
from catad.scalar.simplify import FALSE, TRUE, apply, substitute

MAX_DEPTH = 30
"""The depth to which calls may be nested while reading; recursion that does not end soon is an error."""


TAKE_TUPLES = frozenset((sum, len, any, all, tuple, list, zip, enumerate, reversed))
"""Builtins whose argument must be a tuple."""


class Reader(Statements):
    """Evaluates calls; one reader reads one function with everything it calls."""

    def __init__(self, open_params: Iterable[Node] = ()) -> None:
        self.open_params = set(open_params)
        self.path = TRUE
        self.depth = 0
        self.definition: Definition | None = None  # of the function itself
        self.sources: dict[tuple[CodeType, int], tuple[Definition, tuple[str, ...]] | None] = {}  # of what it calls

    def call_value(self, thing: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Call anything the language knows."""
        if isinstance(thing, functools.partial):
            return self.call_value(
                thing.func,
                [*map(lifted, thing.args), *args],
                {**{k: lifted(v) for k, v in thing.keywords.items()}, **kwargs},
            )
        if isinstance(thing, MethodType):
            return self.call_value(thing.__func__, [thing.__self__, *args], kwargs)
        if isinstance(thing, LocalFunction):
            return self.call_local(thing, args, kwargs)
        known = self.known(thing)
        of_pairs = meaning_on_pairs(thing, known, args, kwargs)
        if of_pairs is not None:
            return of_pairs(*args, **kwargs)
        if known is not None:
            return self.call_known(thing, known, args, kwargs)
        if isinstance(thing, FunctionType):
            return self.call_function(thing, args, kwargs)
        if isinstance(thing, CACHED):
            return self.call_value(thing.__wrapped__, args, kwargs)
        constant = self.call_constant(thing, args, kwargs)
        if constant is not None:
            return constant
        method = type(thing).__call__ if callable(thing) else None
        if isinstance(method, FunctionType):
            return self.call_function(method, [thing, *args], kwargs)
        error = ScalarError(not_readable(thing))
        error.unknown = True
        raise error

    @staticmethod
    def known(thing: Any) -> Any:
        """A handler or a scalar Function, or None."""
        if thing is range or thing is functools.partial:
            return _make_range if thing is range else thing
        if isinstance(thing, Function):
            return thing
        function = getattr(thing, "__scalar_function__", None)
        return function if isinstance(function, Function) else handler_of(thing)

    def call_known(self, thing: Any, known: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        name = getattr(thing, "__name__", repr(thing))
        if thing in TAKE_TUPLES:
            args = [counted(arg) if isinstance(arg, Range) else arg for arg in args]
        for arg in args:
            if isinstance(arg, Node) and arg in self.open_params and thing in TAKE_TUPLES:
                raise NeedsTree(errors.needs_tree(name))
        if isinstance(known, Function):
            given = tuple([tree_of(arg) for arg in args])
            if kwargs or given != known.param_trees:
                wanted = _said(known.param_trees)
                raise ScalarError(errors.other_arguments(name, _said(given), wanted))
            return unflatten(known.tree, substitute(known, [scalar(leaf) for leaf in leaves(tuple(args))]))
        try:
            return known(*args, **kwargs)
        except TypeError as error:
            if isinstance(error, ScalarError):
                raise
            try:
                inspect.signature(known).bind(*args, **kwargs)
            except TypeError:
                said = errors.no_such_option(name, kwargs) if kwargs else errors.wrong_operand_count(name, len(args))
                raise ScalarError(said) from error
            raise

    @staticmethod
    def call_constant(thing: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """A function of the math module that has no meaning on nodes, on constants."""
        values = leaves(tuple(args))
        constant = not kwargs and all(isinstance(v, Node) and v.op == "const" for v in values)
        if not constant or getattr(thing, "__module__", None) != "math":
            return None
        return lifted(thing(*unflatten(tree_of(tuple(args)), [v.value for v in values])))

    def call_function(self, function: FunctionType, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """A plain Python function: its source is read, or its bytecode where there is none."""
        refuse_kind(function.__code__)
        if is_array_function(function):
            name = "a morphism" if function.__name__ == "__call__" else f"ct.{function.__name__}"
            raise ScalarError(errors.array_function(name))
        defaults = tuple(map(lifted, function.__defaults__ or ()))
        keywords = {name: lifted(value) for name, value in (function.__kwdefaults__ or {}).items()}
        key = (function.__code__, id(function.__globals__))
        if key not in self.sources:
            self.sources[key] = find_source(function)
        found = self.sources[key]
        if self.depth == 0 and found is not None:
            self.definition = found[0]
        body, lines = found or (function.__code__, ())
        frame = enter(body, lines, function, None, self.depth + 1)
        return self.run(body, frame, defaults, keywords, args, kwargs)

    def call_local(self, thing: LocalFunction, args: list[Any], kwargs: dict[str, Any]) -> Any:
        frame = enter(thing.definition, thing.frame.lines, None, thing.frame, self.depth + 1)
        return self.run(thing.definition, frame, thing.defaults, thing.keyword_defaults, args, kwargs)

    def run(self, body: Body, frame: Frame, defaults: Any, keywords: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Execute a function in a fresh frame; the value it returns."""
        if self.depth >= MAX_DEPTH:
            raise ScalarError(errors.nested_calls(MAX_DEPTH, frame.name))
        frame.env |= bind(frame.name, parameters_of(body), defaults, keywords, args, kwargs)
        caller = getattr(self, "frame", None)
        self.frame, self.depth = frame, self.depth + 1
        try:
            if isinstance(body, CodeType):
                return run_code(self, body)
            if isinstance(body, ast.Lambda):
                return self.value(body.body)
            self.block(body.body)
            return self.returned(body)
        except RecursionError as error:
            raise self.error(body, errors.nested_too_deeply()) from error
        finally:
            if caller is not None:
                self.frame = caller
            self.depth -= 1

    def returned(self, definition: ast.FunctionDef) -> Any:
        """What the definition that was executed in the current frame returns."""
        frame = self.frame
        if frame.env[RETURNED] is not TRUE:
            with self.at(definition):
                raise ScalarError(errors.returns_nothing(frame.name, frame.env[RETURNED] is FALSE))
        return frame.env[RESULT]


def _make_range(*args: Any) -> Range:
    bounds = [apply("index", scalar(arg)) for arg in args]
    if not 1 <= len(bounds) <= 3:
        raise ScalarError(errors.range_arguments(len(bounds)))
    start, stop = (const(0), bounds[0]) if len(bounds) == 1 else bounds[:2]
    step = bounds[2] if len(bounds) == 3 else const(1)
    if step.op != "const" or step.value == 0:
        raise ScalarError(errors.range_step())
    return Range(start, stop, int(step.value))


def bind(
    name: str,
    spec: Parameters,
    defaults: Sequence[Any],
    keywords: dict[str, Any],
    args: list[Any],
    kwargs: dict[str, Any],
) -> dict[str, Any]:
    """Python's rules for what parameter gets what argument."""
    positional, only = spec.positional, spec.only
    if spec.double_star:
        raise ScalarError(errors.takes_keywords(name))
    bound: dict[str, Any] = dict(zip(positional, args, strict=False))
    extra = tuple(args[len(positional) :])
    if spec.star is not None:
        bound[spec.star] = extra
    elif extra:
        raise ScalarError(errors.too_many_arguments(name, len(args), len(positional)))
    allowed = {*positional[spec.bare :], *only}
    for key, value in kwargs.items():
        if key not in allowed or key in bound:
            raise ScalarError(errors.no_such_keyword(name, key))
        bound[key] = value
    for key, value in [*zip(positional[::-1], defaults[::-1], strict=False), *keywords.items()]:
        bound.setdefault(key, value)
    missing = [key for key in [*positional, *only] if key not in bound]
    if missing:
        raise ScalarError(errors.missing_argument(name, missing[0], len(args)))
    return bound


def _said(trees: Sequence[Any]) -> Any:
    """Arguments for people: how many numbers there are, where all are numbers."""
    return trees if any(tree is not None for tree in trees) else f"{len(trees)} number{'s' * (len(trees) != 1)}"


def called(fn: Any, args: Sequence[Any], open_params: Iterable[Node]) -> tuple[Any, Sequence[Node], Source | None]:
    """What a function returns on nodes, its leaves, and its source."""
    reader = Reader(open_params)
    value = reader.call_value(fn, list(args), {})
    return value, pruned([scalar(leaf) for leaf in leaves(value)]), source_of(fn, reader.definition)
