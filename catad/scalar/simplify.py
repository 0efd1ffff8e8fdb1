"""Smart constructors: build an operation and simplify it where IEEE arithmetic gives the same number.

Nothing here assumes that numbers are finite or that zero has no sign: `x*1` is `x`, `x+(-0.0)` is `x`, `x-0.0` is
`x`, but `x+0.0` (which turns -0.0 into 0.0) and `x*0` (NaN, infinity, signs) stay as they are. Dtypes are not known
here, so `x*1.0` becomes `float(x)`, which costs nothing where x already is a float, and `x*1` becomes `pos(x)`.
Zeros of derivatives are structural (`None` in `duals.py`) and never reach these rules.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from catad import errors
from catad.errors import ScalarError
from catad.scalar import special
from catad.scalar.ir import Function, Loop, Node, const, make_node, param
from catad.scalar.ops import OPS, join_kinds, result_kind

TRUE, FALSE = const(True), const(False)

Rule = Callable[..., "Node | None"]


def apply(op: str, *args: Node | int | float | np.generic, value: Any = None) -> Node:
    """The operation `op` on nodes (numbers are made constants), simplified.

    >>> x = param(0)
    >>> apply("mul", 2, 3), apply("neg", apply("exp", x)) is apply("neg", apply("exp", x))
    (6, True)
    >>> apply("add", x, 0.0), apply("pow", x, 2)
    (add(x0, 0.0), mul(x0, x0))
    """
    info = OPS.get(op)
    if info is None or info.arity != len(args):
        raise ScalarError(errors.no_such_operation(op, len(args), None if info is None else info.arity))
    nodes = tuple([arg if isinstance(arg, Node) else const(arg) for arg in args])
    if info.typing == "logic":
        nodes = tuple([truth(node) for node in nodes])
    elif op == "select":
        nodes = (truth(nodes[0]), *nodes[1:])
    rule = RULES.get(op)
    simpler = rule(*nodes) if rule is not None and value is None else None
    if simpler is not None:
        return simpler
    if op not in ("cast", "unread") and info.typing != "image" and all(node.op == "const" for node in nodes):
        folded = _fold(op, nodes, value)
        if folded is not None:
            return folded
    return make_node(op, nodes, value, result_kind(op, tuple([node.kind for node in nodes]), value))


def truth(node: Node) -> Node:
    """The node as a truth value: Python's `bool(x)`."""
    if node.kind == "b":
        return node
    if node.op == "const":
        return const(bool(node.value))
    return make_node("truth", (node,), None, "b")


def cast(dtype: Any, node: Node) -> Node:
    """The node converted to a dtype, as `numpy.float32(x)` does it."""
    name = np.dtype(dtype).name
    if node.op == "cast" and node.value == name:
        return node
    if node.op == "const":
        return const(_as_dtype(node.value, np.dtype(name)))
    return make_node("cast", (node,), name, result_kind("cast", (node.kind,), name))


# -- constants


def _as_dtype(value: Any, dtype: np.dtype) -> Any:
    """A constant in a dtype, as arrays are converted."""
    with np.errstate(all="ignore"):
        if dtype.kind in "iu" and isinstance(value, float | np.floating):
            return special.integer(np, np.asarray(value), dtype)[()]
        try:
            return dtype.type(value)
        except OverflowError as error:
            raise errors.NumberRangeError(errors.constant_out_of_range(value, dtype)) from error


@cache
def _evaluator(op: str) -> Callable[..., Any]:
    names = {name: getattr(special, name[1:]) for name in special.ARRAY_NAMES}
    code = OPS[op].code.replace("{value}", "value")
    operands = [f"a{i}" for i in range(OPS[op].arity)]
    made: Callable[..., Any] = eval(f"lambda xp, value, {', '.join(operands)}: {code.format(*operands)}", names)
    return made


def _python_logic(op: str, values: Sequence[Any]) -> Node | None:
    """Operations on constants where Python's own operators differ from the array template."""
    if op == "truth":
        return const(bool(values[0]))
    if op in ("and", "or", "not"):
        first = values[0]
        return const(not first if op == "not" else first and values[1] if op == "and" else first or values[1])
    if op == "int":
        value = values[0]
        finite = isinstance(value, int | np.integer) or math.isfinite(value)
        return const(int(value) if finite else int(_as_dtype(value, np.dtype(np.int64))))
    if op == "float":
        return const(values[0] if isinstance(values[0], np.floating) else float(values[0]))
    if op in ("pos", "index"):
        value = values[0]
        if op == "index" and isinstance(value, float | np.floating):
            raise ScalarError(errors.needs_an_integer(value))
        return const(int(value) if isinstance(value, bool) else value)
    return None


def _fold(op: str, nodes: Sequence[Node], value: Any) -> Node | None:
    """An operation on constants, as NumPy computes it: division by zero gives infinity or NaN, never an exception."""
    values = [node.value for node in nodes]
    special_case = _python_logic(op, values)
    if special_case is not None or op in ("int", "cast"):
        return special_case
    typing = OPS[op].typing
    weak = not any(isinstance(one, np.generic) for one in values)
    if typing in ("arith", "real", "rounding", "pow"):
        values = [int(one) if isinstance(one, bool) else one for one in values]
    whole = weak and not any(isinstance(one, float) for one in values)
    if typing == "rounding" and whole:
        return const(values[0])
    if weak and (typing in ("real", "test", "ldexp") or not whole):
        values = [np.float64(one) if typing != "ldexp" or i == 0 else one for i, one in enumerate(values)]
    with np.errstate(all="ignore"):
        try:
            result = _evaluator(op)(np, value, *values)
        except ZeroDivisionError:
            result = math.inf if op == "pow" else 0
        except (TypeError, ValueError, OverflowError) as error:
            raise ScalarError(
                errors.constants_not_computed(op, values, error)
            ) from error
    if isinstance(result, complex | np.complexfloating):
        result = math.nan
    return const(result.item() if weak and isinstance(result, np.generic) else result)


def _is(node: Node, number: float) -> bool:
    """True where the node is the weak constant that prints like this number (sign of zero and type included)."""
    if node.op != "const" or type(node.value) is not type(number) or node.value != number:
        return False
    return math.copysign(1.0, node.value) == math.copysign(1.0, number)


def _unit(node: Node, other: Node, whole: int, fractional: float) -> Node | None:
    """`other` where `node` is the neutral element `whole` (of integers) or `fractional` (of floats)."""
    if _is(node, fractional):
        return apply("float", other)
    return apply("pos", other) if _is(node, whole) else None


# -- rules, one an operation: the simpler node or None


def _add(a: Node, b: Node) -> Node | None:
    for one, other in ((b, a), (a, b)):
        if _is(one, -0.0):
            return apply("float", other)
        if _is(one, 0) and other.kind in "bi":
            return apply("pos", other)
        if one.op == "neg" and other.op != "neg":
            return apply("sub", other, one.args[0])
    return None


def _sub(a: Node, b: Node) -> Node | None:
    if b.op == "neg":
        return apply("add", a, b.args[0])
    return _unit(b, a, 0, 0.0)


def _mul(a: Node, b: Node) -> Node | None:
    for one, other in ((b, a), (a, b)):
        found = _unit(one, other, 1, 1.0) or _unit(one, apply("neg", other), -1, -1.0)
        if found is not None:
            return found
    return apply("mul", a.args[0], b.args[0]) if a.op == b.op == "neg" else None


def _div(a: Node, b: Node) -> Node | None:
    if _is(b, 1) or _is(b, 1.0):
        return apply("float", a)
    return apply("div", a.args[0], b.args[0]) if a.op == b.op == "neg" else None


def _pow(a: Node, b: Node) -> Node | None:
    """Small whole powers become products; a float exponent makes the base a float first."""
    if b.op != "const" or type(b.value) not in (int, float) or a.op == "const":
        return None
    base = apply("float", a) if type(b.value) is float else a
    if b.value == 1:
        return base if type(b.value) is float else apply("pos", a)
    if b.value == -1:
        return apply("div", 1, base)
    if b.value in (2, 3, 4):
        square = apply("mul", base, base)
        return square if b.value == 2 else apply("mul", square, base if b.value == 3 else square)
    return None


def _same(a: Node) -> Node | None:
    """`pos` where there is nothing to do."""
    return a if a.kind in "ifn" else None


def _neg(a: Node) -> Node | None:
    return apply("pos", a.args[0]) if a.op == "neg" else None


def _abs(a: Node) -> Node | None:
    if a.op == "neg" and a.kind == "f":
        return apply("abs", a.args[0])
    return a if a.op == "abs" else None


def _not(a: Node) -> Node | None:
    return a.args[0] if a.op == "not" else None


def _joined(op: str, dominant: Node) -> Rule:
    """`and`, which is false where one side is, or `or`, which is true."""

    def rule(a: Node, b: Node) -> Node | None:
        for one, other in ((a, b), (b, a)):
            if one.op == "const":
                return dominant if one is dominant else other
        if a is b or (a.op == op and b in a.args):
            return a
        if b.op == op and a in b.args:
            return b
        return dominant if _opposite(a, b) else None

    return rule


def _opposite(a: Node, b: Node) -> bool:
    return (a.op == "not" and a.args[0] is b) or (b.op == "not" and b.args[0] is a)


def _select(c: Node, a: Node, b: Node) -> Node | None:
    if c.op == "const":
        return a if c.value else b  # the other side is dropped, dtype and all, as Python would
    if a is b:
        return a
    if c.op == "not":
        return apply("select", c.args[0], b, a)
    if a.op == "select" and a.args[0] is c:
        return apply("select", c, a.args[1], b)
    if b.op == "select" and b.args[0] is c:
        return apply("select", c, a, b.args[2])
    return _select_of_truths(c, a, b) if a.kind == b.kind == "b" else None


def _select_of_truths(c: Node, a: Node, b: Node) -> Node | None:
    if a is c:
        return apply("or", c, b)
    if b is c:
        return apply("and", c, a)
    if a.op == "const":
        return apply("or", c, b) if a.value else apply("and", apply("not", c), b)
    if b.op == "const":
        return apply("or", apply("not", c), a) if b.value else apply("and", c, a)
    return None


def _float(a: Node) -> Node | None:
    if a.op == "const":
        return None
    return a if a.kind == "f" else apply("float", a.args[0]) if a.op == "pos" else None


def _int(a: Node) -> Node | None:
    return a if a.op == "int" else None


def _ldexp(a: Node, n: Node) -> Node | None:
    """A constant exponent beyond all floats becomes one that every integer dtype of the library holds."""
    far = special.LARGE_EXPONENT
    if n.op != "const" or not isinstance(n.value, int) or abs(n.value) <= far:
        return None
    return apply("ldexp", a, far if n.value > 0 else -far)


def _idempotent(a: Node) -> Node | None:
    return a if a.op in ("floor", "ceil", "trunc", "rint") or a.kind == "i" else None


def _extremum(a: Node, b: Node) -> Node | None:
    return a if a is b else None


def _strict(a: Node, b: Node) -> Node | None:
    return FALSE if a is b else None


RULES: Mapping[str, Rule] = {
    "add": _add,
    "sub": _sub,
    "mul": _mul,
    "div": _div,
    "pow": _pow,
    "pos": _same,
    "neg": _neg,
    "abs": _abs,
    "not": _not,
    "and": _joined("and", FALSE),
    "or": _joined("or", TRUE),
    "select": _select,
    "float": _float,
    "int": _int,
    "ldexp": _ldexp,
    "lt": _strict,
    "gt": _strict,
    **dict.fromkeys(("floor", "ceil", "trunc", "rint"), _idempotent),
    **dict.fromkeys(("minimum", "maximum", "fmin", "fmax"), _extremum),
}


# -- loops and rebuilding


def loop_node(args: Sequence[Node], loop: Loop) -> Node:
    """The loop itself; its results are `projection`s. Constant and repeated invariants go into the body."""
    place: dict[Node, Node] = {param(k): param(k) for k in range(loop.states)}
    kept: dict[Node, int] = {}
    for j, arg in enumerate(args[loop.states :], loop.states):
        if arg.op != "const":
            kept.setdefault(arg, loop.states + len(kept))
        place[param(j)] = arg if arg.op == "const" else param(kept[arg])
    if loop.states + len(kept) < len(args):
        arity = loop.states + len(kept)
        condition = Function.make(arity, replace(loop.condition.outputs, place))
        loop = Loop(loop.states, condition, Function.make(arity, replace(loop.step.outputs, place)))
    return make_node("loop", (*args[: loop.states], *kept), loop, "?")


def projection(loop: Node, index: int) -> Node:
    """Final state number `index` of a loop."""
    both = (loop.args[index].kind, loop.value.step.outputs[index].kind)
    kind = join_kinds(both) if "?" not in both else "?"
    return make_node("proj", (loop,), index, kind)


def rebuild(node: Node, args: Sequence[Node]) -> Node:
    """The same operation on other arguments, simplified again."""
    if all(new is old for new, old in zip(args, node.args, strict=True)):
        return node
    if node.op == "loop":
        return loop_node(args, node.value)
    if node.op == "proj":
        return projection(args[0], node.value)
    if node.op == "cast":
        return cast(node.value, args[0])
    return apply(node.op, *args, value=node.value)


def replace(outputs: Sequence[Node], mapping: Mapping[Node, Node]) -> tuple[Node, ...]:
    """The outputs with some nodes replaced by others, everything that depends on them built anew."""
    done = dict(mapping)
    stack = [output for output in reversed(outputs) if output not in done]
    while stack:
        node = stack[-1]
        if node in done:
            stack.pop()
            continue
        missing = [arg for arg in node.args if arg not in done]
        if missing:
            stack.extend(reversed(missing))
            continue
        done[node] = rebuild(node, [done[arg] for arg in node.args]) if node.args else node
        stack.pop()
    return tuple([done[output] for output in outputs])


def substitute(function: Function, args: Sequence[Node]) -> tuple[Node, ...]:
    """The outputs of a function with `args` in the place of its params: how scalar functions are composed.

    >>> square = Function.make(1, [apply("mul", param(0), param(0))])
    >>> substitute(square, [apply("exp", param(1))])
    (mul(exp(x1), exp(x1)),)
    """
    if len(args) != function.arity:
        raise ScalarError(
            errors.wrong_scalar_count(function.name, len(args), function.arity)
        )
    return replace(function.outputs, {param(i): arg for i, arg in enumerate(args)})


def put(rows: Sequence[Sequence[Node | None]], args: Sequence[Node]) -> list[list[Node | None]]:
    """Rows of expressions with `args` in the place of their params; None stays."""
    n = len(args)
    return [[None if node is None else substitute(Function.make(n, [node]), args)[0] for node in row] for row in rows]
