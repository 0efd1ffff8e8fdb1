"""The source of a scalar function, kept for printing: the text of a lambda, and the values of the names in it."""

from __future__ import annotations

import ast
import builtins
import copy
from collections.abc import Mapping
from dataclasses import dataclass
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np

from catad.scalar.ir import Function
from catad.scalar.reading.find_source import Definition
from catad.support.lru import remembered
from catad.values.frozen_functions import NOTHING, content_of


@dataclass(frozen=True)
class Source:
    """The source of a function: a lambda as text, with the values of its free names; "" for a `def`, which has a name."""

    text: str
    values: Mapping[str, Any]


def source_of(fn: Any, definition: Definition | None) -> Source | None:
    """The source of a function that was read from its definition; None where its text would not say all."""
    if type(fn) is not FunctionType:
        return None
    if fn.__name__ != "<lambda>":
        return Source("", {})
    if not isinstance(definition, ast.Lambda):
        return None
    try:
        text, free, defaults = _unparsed(definition)
    except RecursionError:  # writing nests deeper than reading
        return None
    scope = dict(zip(fn.__code__.co_freevars, [content_of(cell) for cell in fn.__closure__ or ()], strict=True))
    values = dict(zip(defaults, (*(fn.__defaults__ or ()), *(fn.__kwdefaults__ or {}).values()), strict=False))
    for name in free:
        value = scope.get(name, fn.__globals__.get(name, NOTHING))
        if value is not NOTHING:
            values[name] = value
        elif not hasattr(builtins, name):
            return None
    return Source(text, values) if all(map(_light, values.values())) else None


def _light(value: Any) -> bool:
    """True where a value may be kept with a scalar function: it holds no arrays."""
    if isinstance(value, tuple):
        return all(map(_light, value))
    if isinstance(value, FunctionType):
        return value.__closure__ is None
    plain = (bool, int, float, np.generic, ModuleType, BuiltinFunctionType, np.ufunc, type, Function)
    return isinstance(value, plain) or hasattr(type(value), "__scalar_function__")


@remembered
def _unparsed(definition: ast.Lambda) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """The text of a lambda with its defaults as names, its free names, and the names of its defaults."""
    made = copy.deepcopy(definition)
    defaults = tuple(
        [f"default_{k}" for k in range(len(made.args.defaults) + sum(d is not None for d in made.args.kw_defaults))]
    )
    names = iter(defaults)
    made.args.defaults = [ast.Name(next(names), ast.Load()) for _ in made.args.defaults]
    made.args.kw_defaults = [d and ast.Name(next(names), ast.Load()) for d in made.args.kw_defaults]
    nodes = list(ast.walk(made.body))
    bound = {node.arg for node in ast.walk(made) if isinstance(node, ast.arg)}
    bound |= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    free = dict.fromkeys(node.id for node in nodes if isinstance(node, ast.Name) and node.id not in bound)
    return ast.unparse(made), tuple(free), defaults
