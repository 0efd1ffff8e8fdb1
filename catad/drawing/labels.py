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
from catad.scalar import Function, Node
from catad.scalar.ir import postorder
from catad.vector.deferred import Named, Shaped
from catad.vector.folds.monoid import Monoid
from catad.vector.pointwise.map import _PUBLIC, Map, MapOf

LONGEST = 26  # characters on a box
_KINDS = {  # the last word of the module in which a box is at home -> kind
    "map": "pointwise", "operators": "pointwise",
    "constant": "constant", "generate": "constant",
    "contract": "linear", "shape": "linear", "gather": "linear", "reindex": "linear",
    "lift": "linear", "terms": "linear", "linear": "linear",
    "functors": "functor", "batching": "functor", "custom_derivative": "functor",
}  # fmt: skip
_INFIX = {  # operation -> (sign, rank): what binds closer has the higher rank
    "or": ("or", 1), "and": ("and", 2),
    "lt": ("<", 4), "le": ("<=", 4), "gt": (">", 4), "ge": (">=", 4), "eq": ("==", 4), "ne": ("!=", 4),
    "add": ("+", 5), "sub": ("-", 5), "mul": ("*", 6), "div": ("/", 6),
}  # fmt: skip
_ATOM = 9
_LETTERS = "xyzwuvabcdefghijklmnopqrst"


def space_label(space: Space) -> str:
    """A space as on a wire: `f64[3, 4]`, and `f64` for a scalar."""
    return repr(space).replace("ct.", "").replace("[()]", "")


def kind_of(term: D) -> str:
    """The kind of a box: pointwise, linear, constant, functor (made from other terms) or combinator."""
    home = term.lay if isinstance(term, Named) or type(term) is Shaped else type(term)
    return _KINDS.get(home.__module__.rpartition(".")[2], "combinator")


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

    try:
        text = term.code(part, _named)
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
    texts = [_expression(node, function.arity) for node in function.outputs]
    if any(text is None for text in texts):
        return "fn"
    return ", ".join(text for text in texts if text is not None)


def _expression(node: Node, arity: int) -> str | None:
    """An expression in infix form; None where it is large."""
    order = postorder((node,))
    if len(order) > 16 or arity > len(_LETTERS):
        return None
    shown: dict[Node, tuple[str, int]] = {}
    for one in order:
        args = [shown[arg] for arg in one.args]
        if one.op in ("loop", "local"):
            return None
        shown[one] = _written(one, args)
        if len(shown[one][0]) > 200:
            return None
    return shown[node][0]


def _written(node: Node, args: Sequence[tuple[str, int]]) -> tuple[str, int]:
    """The text of one operation, and how closely it binds."""
    if node.op == "const":
        number = node.value.item() if hasattr(node.value, "item") else node.value
        return f"{number:g}" if isinstance(number, float) else repr(number), _ATOM if number >= 0 else 5
    if node.op == "param":
        return _LETTERS[int(node.value)], _ATOM
    if node.op in _INFIX:
        sign, rank = _INFIX[node.op]
        left, right = _wrapped(args[0], rank), _wrapped(args[1], rank + (node.op not in ("add", "mul", "or", "and")))
        return f"{left}{sign}{right}" if sign in "*/" else f"{left} {sign} {right}", rank
    if node.op == "neg":
        return "-" + _wrapped(args[0], 7), 5
    if node.op == "not":
        return "not " + _wrapped(args[0], 3), 3
    if node.op == "truth":
        return args[0]
    if node.op == "select":
        return f"{_wrapped(args[1], 1)} if {_wrapped(args[0], 1)} else {args[2][0]}", 0
    return f"{node.op}({', '.join(text for text, _ in args)})", _ATOM


def _wrapped(shown: tuple[str, int], rank: int) -> str:
    return shown[0] if shown[1] >= rank else f"({shown[0]})"


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
