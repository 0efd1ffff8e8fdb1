"""The dtype of every node of a scalar function, from the dtypes of its params.

The meaning is that of NEP 50: Python numbers are weak, so `2*x` keeps x's dtype; what is typed promotes as NumPy does.
Truth values count as weak (in arithmetic they are the integers 0 and 1, as in Python). `float32` stays `float32`; a
true division or a mathematical function of integers is `float64`. A value that is weak and still not a constant, such
as `1.0 if x > 0 else 0.0`, is kept in the widest float dtype among the params (float64 without one), a whole one in
int64; it adapts to what it meets. The states of a loop are promoted until nothing changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from catad import errors
from catad.errors import NotAnInteger, NumberRangeError, ScalarError
from catad.scalar.ir import Function, Loop, Node, param, postorder
from catad.scalar.ops import OPS
from catad.support.lru import remembered
from catad.values.formats import FORMATS

BOOL, INT, FLOAT = np.dtype(bool), np.dtype(np.int64), np.dtype(np.float64)


class Type(NamedTuple):
    """The dtype in which a value is kept, and whether it is weak."""

    dtype: np.dtype
    weak: bool


TRUTH = Type(BOOL, True)


def rank(one: Type) -> int:
    """0 truth value, 1 integer, 2 float."""
    return {"b": 0, "i": 1, "u": 1, "f": 2}[one.dtype.kind]


def promote(types: Sequence[Type], real: np.dtype) -> Type:
    """The type in which values of these types meet; `real` is what weak floats are kept in."""
    return _met(tuple(types), real)


@lru_cache(4096)
def _met(types: tuple[Type, ...], real: np.dtype) -> Type:
    strong = [one.dtype for one in types if not one.weak]
    top = max((rank(one) for one in types if one.weak), default=0)
    if not strong:
        return Type((BOOL, INT, real)[top], True)
    met = np.result_type(*strong)
    return Type(FLOAT if top == 2 and met.kind in "iu" else met, False)


def as_number(one: Type) -> Type:
    """A truth value counts as an integer."""
    return Type(INT, True) if one.dtype.kind == "b" else one


def as_real(one: Type, real: np.dtype) -> Type:
    """The type of a mathematical function of such a value."""
    if one.dtype.kind == "f":
        return one
    return Type(real, True) if one.weak else Type(FLOAT, False)


def default_real(dtypes: Sequence[np.dtype]) -> np.dtype:
    """The widest float dtype among these, else float64."""
    floats = [dtype for dtype in dtypes if dtype.kind == "f"]
    return np.result_type(*floats) if floats else FLOAT


def work_type(node: Node, args: Sequence[Type], real: np.dtype) -> Type:
    """The type in which an operation is carried out: where its operands meet."""
    typing = OPS[node.op].typing
    if typing == "select":
        return promote(args[1:], real)
    if typing in ("ldexp",):
        return as_real(args[0], real)
    met = promote(args, real)
    if typing == "real":
        return as_real(met, real)
    if typing in ("arith", "pow", "rounding", "shift"):
        met = as_number(met)
    if typing == "pow" and met.dtype.kind in "iu":
        exponent = node.args[1]
        if exponent.op != "const":
            raise ScalarError(errors.integer_power())
        return as_real(met, real) if exponent.value < 0 else met
    if typing == "exponent":
        return as_real(met, real)
    return met


def sources(node: Node, types: Mapping[Node, Type], real: np.dtype) -> Sequence[Node]:
    """The operands to compute with: those of the node, but for `int(floor(x))` that meets floats, which is `floor(x)`
    itself (after `+ 0.0`, for an integer has no -0.0): no size can overflow it."""
    if node.op in ("loop", "proj", "const", "param") or OPS[node.op].typing not in ("arith", "real", "compare"):
        return node.args
    work = work_type(node, [types[arg] for arg in node.args], real)
    found = list(node.args)
    for i, arg in enumerate(found):
        inner = arg.args[0] if arg.op == "int" else None
        whole = inner is not None and inner.op in ("floor", "ceil", "trunc", "rint")
        if inner is not None and whole and work.dtype.kind == "f" and types[inner].dtype == work.dtype:
            found[i] = inner
    return found


def result_of(node: Node, args: Sequence[Type], real: np.dtype) -> Type:
    """The type of an operation on arguments of these types."""
    typing = OPS[node.op].typing
    if typing in ("compare", "test", "logic"):
        return TRUTH
    if typing in ("bits", "shift"):
        if any(one.dtype.kind == "f" for one in args):
            raise NotAnInteger(errors.bits_of_floats(node.op))
        if promote(args, real).dtype.kind == "f":
            raise ScalarError(errors.bits_without_a_dtype(node.op, [one.dtype for one in args]))
    if typing == "ldexp" and args[1].dtype.kind == "f":
        raise NotAnInteger(errors.float_exponent(args[1].dtype))
    if typing == "exponent":
        return Type(INT, True)
    if typing == "int":
        return Type(INT, True) if args[0].dtype.kind in "bf" else args[0]
    if typing == "float":
        return as_real(args[0], real)
    if typing == "index":
        if args[0].dtype.kind == "f":
            raise NotAnInteger(errors.float_range(args[0].dtype))
        return as_number(args[0])
    if typing == "image":
        return _image(node.op, args[0])
    if typing == "cast":
        return TRUTH if node.value == "bool" else Type(np.dtype(node.value), False)
    return _with_room(node, work_type(node, args, real))


def _with_room(node: Node, work: Type) -> Type:
    """The type, where it has room for the constants among the operands."""
    if work.dtype.kind in "iu":
        about = np.iinfo(work.dtype)
        for arg in node.args[node.op == "select" :]:
            if arg.op == "const" and isinstance(arg.value, int) and not about.min <= arg.value <= about.max:
                raise NumberRangeError(errors.constant_out_of_range(arg.value, work.dtype))
    return work


def _image(op: str, one: Type) -> Type:
    pairs = {f.dtype: f.whole for f in FORMATS.values()}
    pairs = pairs if op == "bits" else {whole: real for real, whole in pairs.items()}
    if one.dtype not in pairs:
        expected = ", ".join(map(str, pairs))
        raise ScalarError(errors.no_such_bits(op, one.dtype, expected))
    return Type(pairs[one.dtype], False)


def const_type(node: Node, real: np.dtype) -> Type:
    """The type of a constant."""
    value = node.value
    if isinstance(value, np.generic):
        return Type(value.dtype, False)
    return TRUTH if isinstance(value, bool) else Type(INT if isinstance(value, int) else real, True)


def loop_param_types(loop: Loop, args: Sequence[Type], real: np.dtype) -> list[Type]:
    """The types of a loop's states (promoted until they stay) and of its invariants."""
    types = list(args)
    while True:
        stepped = node_types(loop.step, types, real)
        found = [promote([old, stepped[out]], real) for old, out in zip(types, loop.step.outputs, strict=False)]
        if found == types[: loop.states]:
            return types
        types[: loop.states] = found


def node_types(function: Function, params: Sequence[Type], real: np.dtype) -> dict[Node, Type]:
    """The type of every node of a function or loop body; a loop node has that of its states, by its projections."""
    types: dict[Node, Type] = {param(i): one for i, one in enumerate(params)}
    states: dict[Node, list[Type]] = {}
    for node in postorder(function.outputs):
        if node.op == "const":
            types[node] = const_type(node, real)
        elif node.op == "loop":
            args = [types[arg] for arg in node.args]
            states[node] = loop_param_types(node.value, args, real)
            types[node] = TRUTH
        elif node.op == "proj":
            types[node] = states[node.args[0]][node.value]
        elif node.op != "param":
            types[node] = result_of(node, [types[arg] for arg in node.args], real)
    return types


def typed(function: Function, dtypes: Sequence[object]) -> tuple[dict[Node, Type], np.dtype]:
    """The types of all nodes for params of these dtypes, and the dtype of weak floats."""
    known = [np.dtype(dtype) for dtype in dtypes]  # type: ignore[call-overload]
    if len(known) != function.arity:
        raise ScalarError(
            errors.dtype_count(function.name, len(known), function.arity)
        )
    for dtype in known:
        if dtype.kind not in "biuf":
            raise ScalarError(errors.no_real_dtype(dtype))
    real = default_real(known)
    params = [Type(dtype, dtype.kind == "b") for dtype in known]
    return node_types(function, params, real), real


def result_types(function: Function, dtypes: Sequence[object]) -> tuple[np.dtype, ...]:
    """The dtypes of the outputs for params of these dtypes.

    Raises ScalarError for what cannot be typed: bit operations on floats, `range` of a float, an integer to a variable
    integer power.

    >>> from catad.scalar.simplify import apply
    >>> twice = Function.make(1, [apply("mul", 2.0, param(0))])
    >>> result_types(twice, ["float32"]), result_types(twice, ["int64"])
    ((dtype('float32'),), (dtype('float64'),))
    """
    return _result_types(function, tuple([np.dtype(dtype) for dtype in dtypes]))  # type: ignore[call-overload]


@remembered
def _result_types(function: Function, dtypes: tuple[np.dtype, ...]) -> tuple[np.dtype, ...]:
    types, _ = typed(function, dtypes)
    return tuple([types[output].dtype for output in function.outputs])
