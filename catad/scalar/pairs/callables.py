"""The meaning of operations and functions on complex numbers in the scalar language: formulas on pairs of nodes.

Functions are known by identity, as in `reading/callables.py`; those of `cmath` and the types of complex numbers mean complex
numbers also of real ones.
"""

from __future__ import annotations

import builtins
import cmath
import functools
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from catad import errors
from catad.errors import ScalarError
from catad.scalar.ir import Function, Node, Pair, const, postorder, unflatten
from catad.scalar.operators import OPERATORS
from catad.scalar.pairs import formulas
from catad.scalar.pairs.tables import COMPLEX, REAL
from catad.scalar.reading.callables import Handler, as_pair, scalar, select_values
from catad.scalar.reading.read import read
from catad.scalar.simplify import apply, cast, rebuild, substitute
from catad.scalar.vocabulary import NAMED
from catad.support.lru import remembered

_WHOLE = 100  # powers by whole numbers below this one are products, as NumPy's are


@remembered
def _function(formula: Callable[..., Any]) -> Function:
    return read(formula)


def by_formula(formula: Callable[..., Any], *args: Any) -> Any:
    """A formula on real and imaginary parts, of nodes or pairs."""
    function = _function(formula)
    flat = [part for arg in args for part in as_pair(arg)]
    if function.arity != len(flat):
        raise TypeError(f"{formula.__name__} takes {function.arity // 2} numbers")
    made = unflatten(function.tree, substitute(function, flat))
    return Pair(made) if isinstance(made, tuple) else made


def is_true(z: Pair) -> Node:
    """A complex number as a condition."""
    found: Node = by_formula(formulas.not_equal, z, const(0.0))
    return found


def power(z: Any, n: Any) -> Any:
    """A power: products where the exponent is a whole number that is known."""
    k = _whole(n)
    if k is None:
        return by_formula(formulas.power, z, n)
    made, factor, rest = None, as_pair(z), abs(k)
    while rest:
        if rest % 2:
            made = factor if made is None else by_formula(formulas.multiply, made, factor)
        rest //= 2
        factor = by_formula(formulas.multiply, factor, factor) if rest else factor
    return made if k > 0 else by_formula(formulas.divide, const(1.0), made)


def _whole(n: Any) -> int | None:
    if isinstance(n, Pair):
        return _whole(n[0]) if n[1].op == "const" and n[1].value == 0 else None
    node = scalar(n)
    if node.op != "const" or not math.isfinite(node.value) or node.value != int(node.value):
        return None
    return int(node.value) if 0 < abs(node.value) < _WHOLE else None


def _ufunc(ufunc: np.ufunc) -> Handler:
    return functools.partial(by_formula, COMPLEX.get(ufunc) or REAL[ufunc])


_KNOWN = {**COMPLEX, **REAL}
_OF_OP: dict[str, Handler] = {
    op: _ufunc(getattr(np, name)) for name, op in NAMED.items() if getattr(np, name, None) in _KNOWN
}
_OF_OP |= {one.op: _ufunc(getattr(np, one.numpy)) for one in OPERATORS if one.op and getattr(np, one.numpy) in _KNOWN}
_OF_OP |= {"pos": _ufunc(np.positive), "pow": power, "float": as_pair, "truth": is_true, "select": select_values}
"""The operations of the scalar language on complex numbers."""


def operation(op: str, *args: Any) -> Any:
    """An operation of the scalar language on values of which one is complex."""
    found = _OF_OP.get(op)
    if found is None:
        raise ScalarError(errors.complex_scalar(f"the operation {op}"))
    return found(*args)


def lift(function: Function, args: Sequence[Any]) -> Any:
    """A scalar function of real numbers, such as a word of the vocabulary, on values of which one is complex."""
    if any(tree is not None for tree in function.param_trees) or function.arity != len(args):
        raise ScalarError(errors.complex_scalar(function.name))
    done: dict[Node, Any] = {}
    for node in postorder(function.outputs):
        parts = [done[arg] for arg in node.args]
        if node.op == "param":
            done[node] = args[node.value]
        elif not any(isinstance(part, Pair) for part in parts):
            done[node] = rebuild(node, parts) if node.args else node
        elif node.op in _OF_OP:
            done[node] = operation(node.op, *parts)
        else:
            raise ScalarError(errors.complex_scalar(function.name))
    return unflatten(function.tree, [done[output] for output in function.outputs])


# -- attributes of numbers


ATTRIBUTES: Mapping[str, Callable[[Any], Any]] = {
    "real": lambda z: z[0] if isinstance(z, Pair) else z,
    "imag": lambda z: z[1] if isinstance(z, Pair) else const(0.0),
    "conjugate": lambda z: functools.partial(np.conjugate, z),
}
"""What complex and real numbers have."""


# -- functions


def _complex(real: Any = 0.0, imag: Any = None) -> Pair:
    z = as_pair(real)
    if imag is None:
        return z
    if not isinstance(real, Pair) and not isinstance(imag, Pair):
        return Pair((z[0], apply("float", scalar(imag))))
    made: Pair = by_formula(formulas.add, z, by_formula(formulas.multiply, imag, Pair((const(0.0), const(1.0)))))
    return made


def _cast(dtype: Any) -> Handler:
    real = np.empty(0, dtype).real.dtype
    return lambda x=0: Pair([cast(real, part) for part in as_pair(x)])


def _angle(z: Any, deg: Any = False) -> Node:
    both = as_pair(z)
    made = apply("atan2", both[1], both[0])
    return apply("mul", made, 180.0 / math.pi) if getattr(deg, "value", deg) else made


def _log(z: Any, base: Any = None) -> Any:
    made = by_formula(formulas.log, z)
    return made if base is None else by_formula(formulas.divide, made, by_formula(formulas.log, base))


def _rect(r: Any, phi: Any) -> Pair:
    return Pair([apply("mul", scalar(r), apply(part, scalar(phi))) for part in ("cos", "sin")])


def _folded(formula: Callable[..., Any], first: float) -> Handler:
    return lambda items, start=first: functools.reduce(lambda a, b: by_formula(formula, a, b), items, start)


def _pow(x: Any, y: Any, modulus: Any = None) -> Any:
    if modulus is not None:
        raise ScalarError(errors.modular_power())
    return power(x, y)


def _cmath() -> dict[Any, Handler]:
    circular = ["sin", "cos", "tan", "sinh", "cosh", "tanh"]
    names = ["sqrt", "exp", "log10", "isnan", "isinf", "isfinite", *circular]
    found = {getattr(cmath, name): _ufunc(getattr(np, name)) for name in names}
    found |= {getattr(cmath, f"a{name}"): _ufunc(getattr(np, f"arc{name}")) for name in circular}
    return found | {cmath.log: _log, cmath.phase: _angle, cmath.rect: _rect, cmath.polar: lambda z: (
        by_formula(formulas.absolute, z), _angle(z)
    )}  # fmt: skip


def _operators() -> dict[Any, Handler]:
    found = {getattr(operator, one.function): _OF_OP[one.op] for one in OPERATORS if one.op in _OF_OP}
    found |= {getattr(operator, f"i{op}"): _OF_OP[op] for op in ("add", "sub", "mul", "pow")}
    found |= {operator.neg: _OF_OP["neg"], operator.pos: _OF_OP["pos"], operator.itruediv: _OF_OP["div"]}
    refused = ("lt", "le", "gt", "ge")
    return {key: value for key, value in found.items() if key.__name__ not in refused} | {operator.truth: is_true}


ALWAYS: dict[Any, Handler] = _cmath() | {
    complex: _complex, np.complex64: _cast(np.complex64), np.complex128: _cast(np.complex128), np.angle: _angle,
    np.conjugate: lambda z: by_formula(formulas.conjugate, z) if isinstance(z, Pair) else scalar(z),
    np.real: ATTRIBUTES["real"], np.imag: ATTRIBUTES["imag"],
}  # fmt: skip
"""Functions that mean complex numbers, or know them, whatever they are given."""

SOME: dict[Any, Handler] = _operators() | {ufunc: _ufunc(ufunc) for ufunc in (*COMPLEX, *REAL)} | {
    builtins.abs: _ufunc(np.absolute), operator.abs: _ufunc(np.absolute), builtins.pow: _pow, builtins.bool: is_true,
    np.power: power, np.where: lambda condition, a, b: select_values(_condition(condition), a, b),
    builtins.sum: _folded(formulas.add, 0), math.prod: _folded(formulas.multiply, 1),
    np.iscomplex: lambda z: apply("ne", as_pair(z)[1], 0.0), np.isreal: lambda z: apply("eq", as_pair(z)[1], 0.0),
}  # fmt: skip
"""Functions of which one argument is a complex number."""

_HOLDERS = (len, tuple, list, zip, enumerate, reversed)
"""Functions of tuples, in which complex numbers may be."""


def _condition(value: Any) -> Node:
    return is_true(value) if isinstance(value, Pair) else apply("truth", scalar(value))


def meaning_on_pairs(thing: Any, known: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Handler | None:
    """What a function means where one of its arguments is complex; None where it has the meaning that it has of others."""
    given = [*args, *kwargs.values()]
    try:
        always = ALWAYS.get(thing)
        if always is not None:
            return always
        if not any(_has_pairs(arg) for arg in given):
            return None
        if isinstance(known, Function):
            return None if any(tree is not None for tree in known.param_trees) else lambda *values: lift(known, values)
        found = SOME.get(thing)
    except TypeError:  # not hashable
        return None
    if found is None and known is not None and not (thing in _HOLDERS and not any(isinstance(arg, Pair) for arg in given)):
        raise ScalarError(errors.complex_scalar(getattr(thing, "__name__", repr(thing))))
    return found


def _has_pairs(value: Any) -> bool:
    return isinstance(value, Pair) or (isinstance(value, tuple) and any(map(_has_pairs, value)))

