"""The text on a box: a short label, a full one for the tooltip, and the kind that decides its colour."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from catad.category.constant import Constant
from catad.category.spaces import Space, space_of
from catad.category.terms import Compose, D
from catad.category.text import is_internal
from catad.linear.families.contract import Contract
from catad.linear.families.gather import Gathered, ScatterAdded
from catad.linear.families.recurrence import Recurred
from catad.linear.families.reindex import Reindex, Reshaped, StridedCopy
from catad.linear.map import LinearMap
from catad.scalar import Function
from catad.scalar.ir import postorder
from catad.scalar.printing.text import lambda_of
from catad.vector.folds.monoid import Monoid
from catad.vector.pointwise.map import _PUBLIC, Map, MapOf

LONGEST = 26  # characters on a box


def space_label(space: Space) -> str:
    """A space as on a wire: `f64[3, 4]`, and `f64` for a scalar."""
    return repr(space).replace("ct.", "").replace("[()]", "")


def kind_of(term: D) -> str:
    """The kind of a box: pointwise, linear, constant, functor (made from other terms) or combinator."""
    own: str | None = getattr(getattr(term, "lay", None), "drawn_as", None)
    return own or term.drawn_as


def shortened(text: str, longest: int = LONGEST) -> str:
    """The text, cut where it is too long for a box."""
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"


def label_of(term: D, depth: int = 3) -> str:
    """The text for a box, of any length; parts of parts only to a small depth."""
    special = _SPECIAL.get(type(term))
    if special is not None:
        return str(special(term))

    def part(child: D) -> str:
        return label_of(child, depth - 1) if depth > 0 and len(child.children) <= 4 else "…"

    def name(value: Any, wish: str) -> str:
        return part(value) if any(value is child for child in term.children) else _named(value, wish)

    try:
        text = term.code(part, name)
    except NotImplementedError:
        return type(term).__name__.lower()
    if isinstance(term, Compose) or type(term).__name__ in ("Fork", "Cross"):
        return text.replace("ct.", "")
    return _tidied(text)


def _tidied(text: str) -> str:
    """Code as a label: without the package, defaults, and the names of what only wraps."""
    internal = re.match(r"ct\.primitive\.([A-Z]\w*)", text)
    if internal:  # a primitive without a public name: its class name in lower case, without its axis
        name = re.sub(r"(?<!^)(?=[A-Z])", "_", internal[1]).lower()
        text = re.sub(r", \d+\)$", ")", name + text[internal.end() :])
    given = re.match(r"ct\.primitive\.[a-z]\w*\((\w+)", text)
    if given:  # a primitive made of functions: the name of the first
        return given[1]
    if not text.startswith("ct."):  # a primitive that says nothing of its text
        text = text.removesuffix("()")
    text = re.sub(r"\bct\.(linear\.|vector\.|primitive\.)?", "", text)
    text = re.sub(r"(, )?\b\w+=(None|False)(?=[,)])", "", text).replace("(, ", "(")
    inside = re.fullmatch(r"const\(([^()]+)\)", text)
    return inside[1] if inside else text


def _named(value: Any, wish: str) -> str:
    """The text that stands for a value."""
    if value is None or isinstance(value, (bool, int, float, str, Space)):
        return repr(value)
    if type(value) is tuple:
        return f"({', '.join([_named(part, wish) for part in value])}{',' * (len(value) == 1)})"
    if isinstance(value, type):
        return f"ct.primitive.{value.__name__}" if is_internal(value) else value.__name__
    if isinstance(value, Function):
        return function_label(value)
    if isinstance(value, Monoid):
        return function_label(value.op)
    if isinstance(value, LinearMap):
        return value.kind
    if callable(value):
        own = getattr(value, "__name__", wish)
        return wish if own == "<lambda>" else str(own)
    try:
        return space_label(space_of(value))
    except Exception:
        return wish


def function_label(function: Function) -> str:
    """The public name of a scalar function, its own name, or the expression if that is short."""
    public = _PUBLIC.get(function)
    if public is not None:
        return public
    if function.name.isidentifier() and function.name != "times":
        return function.name
    small = all(len(postorder((node,))) <= 16 for node in function.outputs)
    text = lambda_of(function, True) if small else None
    if text is None:
        return "fn"
    text = re.sub(r"\bnp\.\w+\(([-\d.]+)\)", r"\1", text.partition(": ")[2])
    text = re.sub(r"(?<![\w.])\d+(?:\.\d*)?(?:e[-+]?\d+)?", _number, text)
    text = re.sub(r" ([*/]) ", r"\1", re.sub(r"\b(ct|np)\.", "", text))
    return text[1:-1] if len(function.outputs) > 1 else text


def _number(found: re.Match[str]) -> str:
    return found[0] if found[0].isdigit() else f"{float(found[0]):g}"


def _letters(labels: Sequence[int]) -> str:
    return "".join(chr(97 + k) if k < 26 else f"<{k}>" for k in labels)


def _contraction(box: Any) -> str:
    out = _letters(box.out)
    spec = f"{','.join(map(_letters, box.operands))}->{out}"
    if len(box.operands) > 1:
        a, b = box.operands
        return "matmul" if len(a) == len(b) == 2 and a[1] == b[0] and box.out == (a[0], b[1]) else f"einsum {spec}"
    (operand,) = box.operands
    if set(operand) == set(box.out) and len(operand) == len(box.out):
        return f"transpose {spec}"
    if set(operand) < set(box.out):
        return f"broadcast {spec}"
    return f"sum {spec}" if set(box.out) < set(operand) else f"einsum {spec}"


def _constant(box: Any) -> str:
    array = box.array
    if array.size == 1:
        number = array.reshape(-1)[0].item()
        return f"{number:g}" if isinstance(number, float) else repr(number)
    return f"const {space_label(box.space)}"


_SPECIAL: dict[type, Any] = {
    Map: lambda box: function_label(box.function),
    MapOf: lambda term: _named(term.fn if term.function is None else term.function, "fn"),
    Constant: _constant,
    Contract: _contraction,
    Gathered: lambda box: "gather",
    ScatterAdded: lambda box: "scatter_add",
    StridedCopy: lambda box: Reindex(box.axes, "f8").kind,  # type: ignore[arg-type]
    Reshaped: lambda box: f"reshape({', '.join(map(str, box.shape))})",
    Recurred: lambda box: "recurrence" + (" reversed" if box.reverse else ""),
}
