"""Scalar functions as Python: the lambda that was read where there is one, else a lambda that is written from the expressions.

A text is used only where reading it gives the same function again. Numbers around a lambda stand in its text as they were when it
was read; modules and functions that it names keep their names.
"""

from __future__ import annotations

import ast
import math
import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from catad.scalar.ir import Function, Node, Tree, postorder
from catad.scalar.operators import OF_OP
from catad.scalar.reading.read import read
from catad.scalar.reading.source import Source
from catad.scalar.vocabulary import vocabulary
from catad.support.parsing import parsed

LONGEST = 400  # characters of an expression; longer functions go by a name
_INFIX = {name: one.symbol for name, one in OF_OP.items()} | {"and": "and", "or": "or"}
_PREFIX = {"neg": "-", "not": "not ", "invert": "~"}
_CALLED = {"float": "float", "int": "int", "truth": "bool"}
_WORDS = {
    word.function.outputs[0].op: name
    for name, word in vocabulary.items()
    if word.function.outputs[0].args == tuple([node for node in postorder(word.function.outputs) if node.op == "param"])
}


def written(function: Function, name: Callable[[Any, str], str]) -> str | None:
    """A lambda that reads as the function; None where it goes by a name. `name` gives Python for the values around it."""
    source = function.source
    if source is not None and not source.text:
        return None
    if source is not None and _reads_as(source.text, source.values, function):
        return _filled(source, name)
    for branches in (True, False):  # bytecode splits what follows a branch, where() does not
        text = lambda_of(function, branches)
        if text is not None and _reads_as(text, {}, function):
            if "np." in text:
                name(np, "np")
            return text
    return None


def _reads_as(text: str, values: Mapping[str, Any], function: Function) -> bool:
    if len(text) > LONGEST:
        return False
    try:
        made = eval(text, {"np": np, "ct": sys.modules["catad"], **values})
        return read(made, function.param_trees) == function
    except Exception:  # whatever is wrong with a text, the function goes by a name then
        return False


def _filled(source: Source, name: Callable[[Any, str], str]) -> str:
    """The text with values in place of free names."""
    texts = {key: name(value, key) for key, value in source.values.items()}

    class Fill(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return parsed(texts[node.id], "eval").body if node.id in texts else node

    return ast.unparse(Fill().visit(parsed(source.text, "eval")))


# -- from expressions


def lambda_of(function: Function, branches: bool) -> str | None:
    """A lambda of the same expressions, with branches or `ct.where`; None where they are large, or loops."""
    trees = function.param_trees
    names = "xyzw"[: len(trees)] if len(trees) <= 4 else [f"x{k}" for k in range(len(trees))]
    leaves = [text for tree, own in zip(trees, names, strict=True) for text in _paths(tree, own)]
    shown: dict[Node, str] = {}
    for node in postorder(function.outputs):
        args = [shown[arg] for arg in node.args]
        text = leaves[node.value] if node.op == "param" else _expression(node, args, branches)
        if text is None or len(text) > LONGEST:
            return None
        shown[node] = text
    rest = iter([shown[node] for node in function.outputs])

    def nested(tree: Tree) -> str:
        return next(rest) if tree is None else f"({''.join([nested(part) + ', ' for part in tree])})"

    body = nested(function.tree)
    return ast.unparse(parsed(f"lambda {', '.join(names)}: {body}", "eval"))


def _paths(tree: Tree, text: str) -> list[str]:
    """The leaves of a parameter, as Python."""
    return [text] if tree is None else [leaf for k, part in enumerate(tree) for leaf in _paths(part, f"{text}[{k}]")]


def _expression(node: Node, args: list[str], branches: bool) -> str | None:
    op = node.op
    if op == "const":
        return _number(node.value)
    if op == "select" and branches:
        return f"({args[1]} if {args[0]} else {args[2]})"
    if op in _INFIX and (branches or op not in ("and", "or")):
        return f"({args[0]} {_INFIX[op]} {args[1]})"
    if op in _PREFIX:
        return f"({_PREFIX[op]}{args[0]})"
    if op == "cast":
        return f"np.{'bool_' if node.value == 'bool' else node.value}({args[0]})"
    called = _CALLED.get(op) or (f"ct.{_WORDS[op]}" if op in _WORDS else None)
    return called and f"{called}({', '.join(args)})"


def _number(value: Any) -> str:
    if isinstance(value, np.generic):
        return f"np.{type(value).__name__}({_number(value.item())})"
    if isinstance(value, float) and not math.isfinite(value):
        return "np.nan" if value != value else "np.inf" if value > 0 else "(-np.inf)"
    return f"({value!r})"
