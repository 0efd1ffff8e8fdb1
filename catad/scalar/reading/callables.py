"""The meaning of the functions of `math`, `operator`, `numpy` and the builtins in the scalar language.

They are known by identity, so it does not matter under which name they were imported. A handler takes values (nodes or
nested tuples of them) and returns one. `math.floor`, `ceil`, `trunc` and `round` give integers, as in Python; NumPy's
give floats. The builtins `min` and `max` compare as Python does; NumPy's `minimum` and `maximum` propagate NaN.
"""

from __future__ import annotations

import builtins
import functools
import math
import operator
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from catad import errors
from catad.errors import ScalarError
from catad.scalar.ir import Node, Pair, const
from catad.scalar.operators import OPERATORS
from catad.scalar.simplify import apply, cast, truth
from catad.scalar.vocabulary import NAMED

Handler = Callable[..., Any]


class Listed(tuple[Any, ...]):
    """A list: a tuple that `+=` would change in place, and so refuses."""

    __slots__ = ()


def scalar(value: Any) -> Node:
    """The value as a single number; an error for a tuple or another object."""
    if isinstance(value, Node):
        return value
    if isinstance(value, bool | int | float | np.number | np.bool_):
        return const(value)
    if isinstance(value, Pair):
        raise ScalarError(errors.complex_scalar())
    what = "a tuple" if isinstance(value, tuple) else repr(value)
    raise ScalarError(errors.needs_a_scalar(what, getattr(value, "instead", None)))  # an array of a kernel says what to write


def _op(name: str) -> Handler:
    return lambda *args: apply(name, *map(scalar, args))


def _whole(name: str) -> Handler:
    """A rounding that gives an integer."""
    return lambda x: apply("int", apply(name, scalar(x)))


def _round(x: Any, ndigits: Any = None) -> Node:
    if ndigits is None:
        return apply("int", apply("rint", scalar(x)))
    digits = scalar(ndigits)
    if digits.op != "const":
        raise ScalarError(errors.digits_on_data())
    scale = 10.0 ** int(digits.value)
    return apply("div", apply("rint", apply("mul", scalar(x), scale)), scale)


def _flat(args: tuple[Any, ...]) -> tuple[Any, ...]:
    return args[0] if len(args) == 1 and isinstance(args[0], tuple) else args


def _extremum(comparison: str) -> Handler:
    """Python's min or max: a later operand wins only if it compares as better."""

    def choose(*args: Any) -> Node:
        parts = [scalar(arg) for arg in _flat(args)]
        if not parts:
            raise ScalarError(errors.least_of_nothing())
        best = parts[0]
        for one in parts[1:]:
            best = apply("select", apply(comparison, one, best), one, best)
        return best

    return choose


def _fold(op: str, start: Any = None) -> Handler:
    def run(*args: Any) -> Node:
        parts = [scalar(arg) for arg in _flat(args)]
        first = parts.pop(0) if start is None else const(start)
        return functools.reduce(lambda a, b: apply(op, a, b), parts, first)

    return run


def _sum(items: Any, start: Any = 0) -> Node:
    return functools.reduce(lambda a, b: apply("add", a, b), map(scalar, items), scalar(start))


def _hypot(*args: Any) -> Node:
    parts = [scalar(arg) for arg in args]
    if len(parts) == 1:
        return apply("abs", apply("float", parts[0]))
    return functools.reduce(lambda a, b: apply("hypot", a, b), parts)


def _log(x: Any, base: Any = None) -> Node:
    top = apply("log", scalar(x))
    return top if base is None else apply("div", top, apply("log", scalar(base)))


def _modf(x: Any) -> tuple[Node, Node]:
    real = apply("float", scalar(x))
    return apply("fraction", real), apply("trunc", real)


def _frexp(x: Any) -> tuple[Node, Node]:
    return apply("mantissa", scalar(x)), apply("exponent", scalar(x))


def _pow(x: Any, y: Any, modulus: Any = None) -> Node:
    if modulus is not None:
        raise ScalarError(errors.modular_power())
    return apply("pow", scalar(x), scalar(y))


def _divmod(x: Any, y: Any) -> tuple[Node, Node]:
    return apply("floordiv", scalar(x), scalar(y)), apply("mod", scalar(x), scalar(y))


def select_values(condition: Node, a: Any, b: Any) -> Any:
    """`a if condition else b` on values of the same nesting; ScalarError where they differ.

    A number beside a complex one is complex.
    """
    if isinstance(a, Pair) or isinstance(b, Pair):
        return a if a is b else Pair([apply("select", condition, x, y) for x, y in zip(as_pair(a), as_pair(b), strict=True)])
    if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
        made = tuple([select_values(condition, x, y) for x, y in zip(a, b, strict=True)])
        return Listed(made) if isinstance(a, Listed) or isinstance(b, Listed) else made
    if a is b:
        return a
    if isinstance(a, tuple) or isinstance(b, tuple):
        raise ScalarError(errors.unequal_branches(a, b))
    return apply("select", condition, scalar(a), scalar(b))


def as_pair(value: Any) -> Pair:
    """The value as a complex number: of a real one the imaginary part is zero."""
    return value if isinstance(value, Pair) else Pair((apply("float", scalar(value)), const(0.0)))


def _where(condition: Any, a: Any, b: Any) -> Any:
    return select_values(truth(scalar(condition)), a, b)


def _clip(x: Any, low: Any, high: Any) -> Node:
    return apply("minimum", apply("maximum", scalar(x), scalar(low)), scalar(high))


def _float_of(op: str) -> Handler:
    return lambda *args: apply(op, *[apply("float", scalar(arg)) for arg in args])


def _logic(op: str) -> Handler:
    return lambda *args: apply(op, *[truth(scalar(arg)) for arg in args])


def _xor(a: Any, b: Any) -> Node:
    return apply("ne", truth(scalar(a)), truth(scalar(b)))


def _angle(factor: float) -> Handler:
    return lambda x: apply("mul", scalar(x), factor)


def _cast(dtype: Any) -> Handler:
    return lambda x=0: cast(dtype, scalar(x))


def _isclose(a: Any, b: Any) -> Node:
    a, b = scalar(a), scalar(b)
    size = apply("maximum", apply("abs", a), apply("abs", b))
    near = apply("le", apply("abs", apply("sub", a, b)), apply("mul", 1e-9, size))
    return apply("or", apply("eq", a, b), apply("and", near, apply("isfinite", size)))


DEGREES, RADIANS = _angle(180.0 / math.pi), _angle(math.pi / 180.0)

def _named(module: ModuleType) -> dict[Any, Handler]:
    """The functions of a module that have the names of operations."""
    return {getattr(module, name): _op(op) for name, op in NAMED.items() if hasattr(module, name)}


def _math() -> dict[Any, Handler]:
    names: dict[str, Handler] = {"floor": _whole("floor"), "ceil": _whole("ceil"), "trunc": _whole("trunc")}
    names |= {"fabs": _float_of("abs"), "pow": _float_of("pow"), "log": _log, "hypot": _hypot}
    names |= {"modf": _modf, "frexp": _frexp, "degrees": DEGREES, "radians": RADIANS}
    names |= {"fsum": _sum, "prod": _fold("mul", 1), "isclose": _isclose}
    return _named(math) | {getattr(math, name): handler for name, handler in names.items()}


def _numpy() -> dict[Any, Handler]:
    names: dict[str, Handler] = {"fix": _op("trunc"), "round": _np_round, "positive": _op("pos")}
    names |= {one.numpy: _op(one.op) for one in OPERATORS if one.op}
    names |= {"float_power": _float_of("pow"), "divmod": _divmod, "logical_xor": _xor, "invert": _op("invert")}
    names |= {"fabs": _float_of("abs"), "square": lambda x: apply("pow", scalar(x), 2), "modf": _modf, "frexp": _frexp}
    names |= {"reciprocal": lambda x: apply("div", 1.0, scalar(x)), "where": _where, "clip": _clip}
    names |= {"degrees": DEGREES, "rad2deg": DEGREES, "radians": RADIANS, "deg2rad": RADIANS}
    types = "float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool_ intp"
    found = _named(np) | {getattr(np, name): handler for name, handler in names.items()}
    return found | {getattr(np, name): _cast(getattr(np, name)) for name in types.split()}


def _np_round(x: Any, decimals: Any = None) -> Node:
    return apply("rint", scalar(x)) if decimals is None else _round(x, decimals)


def _operator() -> dict[Any, Handler]:
    names: dict[str, Handler] = {one.function: _op(one.op) for one in OPERATORS if one.op}
    names |= {"pos": _op("pos"), "invert": _op("invert"), "not_": _logic("not"), "truth": lambda x: truth(scalar(x))}
    names |= {f"i{op}": _op(op) for op in ("add", "sub", "mul", "floordiv", "mod", "pow")} | {"itruediv": _op("div")}
    return _named(operator) | {getattr(operator, name): handler for name, handler in names.items()}


def _zip(*parts: Any, strict: Any = False) -> tuple[Any, ...]:
    return tuple(zip(*parts, strict=bool(getattr(strict, "value", strict))))


def _enumerate(items: Any, start: Any = 0) -> tuple[Any, ...]:
    return tuple([(apply("add", scalar(start), i), item) for i, item in enumerate(items)])


def _float(x: Any = 0.0) -> Node:
    return const(float(x)) if isinstance(x, str) else apply("float", scalar(x))


def _builtins() -> dict[Any, Handler]:
    names: dict[str, Handler] = {"abs": _op("abs"), "min": _extremum("lt"), "max": _extremum("gt"), "pow": _pow}
    names |= {"float": _float, "int": lambda x=0: apply("int", scalar(x))}
    names |= {"bool": lambda x=False: truth(scalar(x)), "round": _round, "divmod": _divmod, "sum": _sum}
    names |= {"any": lambda items: functools.reduce(_logic("or"), items, const(False))}
    names |= {"all": lambda items: functools.reduce(_logic("and"), items, const(True))}
    names |= {"len": lambda items: const(len(items)), "tuple": tuple}
    names |= {"list": Listed, "reversed": lambda items: tuple(reversed(items))}
    names |= {"zip": _zip, "enumerate": _enumerate}
    return {getattr(builtins, name): handler for name, handler in names.items()}


HANDLERS: dict[Any, Handler] = _math() | _numpy() | _operator() | _builtins()
"""The meaning of each Python callable, by identity (callables are hashable and compare by identity)."""


def handler_of(thing: Any) -> Handler | None:
    """The handler of a known callable."""
    try:
        return HANDLERS.get(thing)
    except TypeError:
        return None
