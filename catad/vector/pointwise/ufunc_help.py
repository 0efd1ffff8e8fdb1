"""The form of the help of a ufunc: what it computes, shapes, dtypes, derivative, errors, an example."""

from __future__ import annotations

from textwrap import fill

from catad.category.terms import D
from catad.scalar import vocabulary
from catad.support.help import documented
from catad.vector.pointwise.operators import WORDS, Leafwise

FLOATING = (
    "that of the argument if it is floating, else float64",
    "the widest floating dtype by NEP 50, float64 without one",
)
"""The dtype of the result, of one argument and of several: functions of real numbers."""

NUMBER = ("that of the argument; booleans count as int64", "the common dtype by NEP 50; if all are booleans, they count as int64")
"""Arithmetic, which integers are closed under."""

KEPT = ("that of the argument", "the common dtype by NEP 50")
"""A choice among the arguments."""

BOOLEAN = ("bool", "bool")
"""Tests and comparisons."""

CONSTANT = "0 everywhere"
"""The derivative of a step."""

NONE = "none: truth values have no tangent"
"""The derivative of a test."""

_WIDTH = 100  # of the text, in characters
_EACH = "Shape: {0} is an array of any shape or a number, and the result has the same shape."
_TOGETHER = "Shape: {0} and {1} are arrays or numbers that broadcast together by NumPy's rules, to the shape of the result."
_LEAFWISE = " Products of one space are combined leaf by leaf."
_LEAF_BY_LEAF = " A product is mapped leaf by leaf."


def ufunc(
    names: str,
    does: str,
    dtype: tuple[str, str],
    derivative: str,
    example: str,
    result: str,
    *,
    args: str = "",
    errors: str = "",
    source: str = "",
    value: D | None = None,
) -> D:
    """The ufunc with the first of the names, with its help.

    `does` goes on where the call stops, `ct.sin(x) ...`; `derivative` is a formula or a sentence; `example` is an expression that
    prints as `result`.
    """
    name, *others = names.split()
    f = WORDS[name] if value is None else value
    parameters = (args or "x y z"[: 2 * vocabulary[name].arity - 1]).split()

    def text() -> str:
        return _text(f, name, others, parameters, does, dtype, derivative, errors, source) + f">>> {example}\n{result}"

    return documented(f, text)


def _text(
    f: D,
    name: str,
    others: list[str],
    parameters: list[str],
    does: str,
    dtype: tuple[str, str],
    derivative: str,
    errors: str,
    source: str,
) -> str:
    """The help but for its example."""
    *before, last = parameters
    known = f" Another name is `ct.{others[0]}`." if others else ""
    leafwise = isinstance(f, Leafwise)
    if before:
        shape = _TOGETHER.format(", ".join(before), last) + _LEAFWISE * leafwise
        wrong = "`SpaceError` for another number of arguments, or arrays that do not broadcast"
    else:
        shape = _EACH.format(last) + _LEAF_BY_LEAF * leafwise
        wrong = f"`SpaceError` for an argument that is no array{',' if leafwise else ' or'} number{' or product' * leafwise}"
    lines = [
        f"`ct.{name}({', '.join([*before, last])})` {does}.{known}",
        "",
        shape,
        f"Dtype: {dtype[bool(before)]}.",
        f"Derivative: {derivative}.",
        f"Errors: {wrong}{'; ' + errors if errors else ''}.",
        *([f"Source: {source}."] if source else []),
        "",
    ]
    wrapped = [fill(line, _WIDTH, subsequent_indent="  " if line in lines[2:] else "") for line in lines]
    return "\n".join([*wrapped, ">>> import catad as ct, numpy as np\n"])
