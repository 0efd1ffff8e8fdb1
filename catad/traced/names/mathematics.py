"""`math`: functions of numbers, whose results are Python's: weak float64, or weak integers where `math` gives integers.

Where `math` raises an error that depends on the number, `ValueError` or `OverflowError`, the result is NaN or infinite, as in
NumPy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from catad import errors
from catad.traced.arrays.operators import cast, pointwise, weakened
from catad.traced.arrays.stand_in import Traced, fresh
from catad.traced.names.shapes import as_traced
from catad.traced.names.sums import one_line
from catad.traced.recorder import Trace
from catad.traced.table import python_meaning
from catad.vector.pointwise.operators import WORDS


def is_data(value: Any) -> bool:
    """True for a stand-in whose number is not known, and for a list of such ones."""
    if isinstance(value, (list, tuple)):
        return any(is_data(one) for one in value)
    return isinstance(value, Traced) and value.var_.constant is None


def number(trace: Trace, x: Any, kind: type = float) -> Traced:
    """The number that `math` takes of an argument."""
    array = as_traced(trace, x)
    if array.ndim:
        raise TypeError("only 0-dimensional arrays can be converted to Python scalars")
    return fresh(trace, cast(trace, array.var_, np.dtype(kind)))


def plain(trace: Trace, x: Any) -> Any:
    """A result as a number of Python."""
    if isinstance(x, tuple):
        return tuple([plain(trace, one) for one in x])
    return fresh(trace, weakened(trace, x.var_))


def _known(value: Any) -> Any:
    """What `math` itself takes: constants as numbers."""
    if isinstance(value, (list, tuple)):
        return type(value)([_known(one) for one in value])
    return value.item() if isinstance(value, Traced) and not value.ndim else value


def _enter(name: str, made: Callable[..., Any]) -> None:
    """The meaning of `math.name` for data; of other arguments it is what Python computes."""
    function = getattr(math, name, None)
    if function is None:  # it came with a later Python
        return

    def meaning(driver: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_data((*args, *kwargs.values())):
            return function(*[_known(arg) for arg in args], **{key: _known(value) for key, value in kwargs.items()})
        return plain(driver.trace, made(driver.trace, *args, **kwargs))

    python_meaning(function)(meaning)


def _of_ufunc(ufunc: np.ufunc) -> Callable[..., Any]:
    return lambda trace, *args: pointwise(trace, ufunc, *[number(trace, arg) for arg in args])


def _of_word(word: Any) -> Callable[..., Any]:
    return lambda trace, *args: one_line(trace, word, *[number(trace, arg) for arg in args])


_UFUNCS = (
    "acos acosh asin asinh atan atan2 atanh cbrt copysign cos cosh degrees exp exp2 expm1 fabs fmod isfinite isinf isnan log10 "
    "log1p log2 modf pow radians sin sinh sqrt tan tanh"
)
for _name in _UFUNCS.split():
    _enter(_name, _of_ufunc(getattr(np, _name if _name != "pow" else "power")))
for _name in ("erf", "erfc", "gamma", "lgamma", "remainder", "fma"):
    _enter(_name, _of_word(WORDS[_name]))


def _rounded(ufunc: np.ufunc) -> Callable[..., Any]:
    def made(trace: Trace, x: Any) -> Any:
        array = as_traced(trace, x)
        return number(trace, array if array.dtype.kind in "iub" else pointwise(trace, ufunc, array), int)

    return made


for _name in ("floor", "ceil", "trunc"):
    _enter(_name, _rounded(getattr(np, _name)))


def _frexp(trace: Trace, x: Any) -> Any:
    mantissa, exponent = pointwise(trace, np.frexp, number(trace, x))
    return mantissa, exponent.astype(np.int64)


def _log(trace: Trace, x: Any, base: Any = None) -> Any:
    top = pointwise(trace, np.log, number(trace, x))
    return top if base is None else top / pointwise(trace, np.log, number(trace, base))


def _hypot(trace: Trace, *args: Any) -> Any:
    parts = [number(trace, arg) for arg in args]
    return abs(parts[0]) if len(parts) == 1 else reduce(lambda a, b: pointwise(trace, np.hypot, a, b), parts)


def _dist(trace: Trace, p: Any, q: Any) -> Any:
    pairs = list(zip(p, q, strict=True))
    return _hypot(trace, *[number(trace, a) - number(trace, b) for a, b in pairs])


def _ldexp(trace: Trace, x: Any, i: Any) -> Any:
    return pointwise(trace, np.ldexp, number(trace, x), number(trace, i, int) if isinstance(i, Traced) else i)


def _isclose(trace: Trace, a: Any, b: Any, *, rel_tol: float = 1e-09, abs_tol: float = 0.0) -> Any:
    x, y = number(trace, a), number(trace, b)
    near = abs(x - y) <= np.maximum(rel_tol * np.maximum(abs(x), abs(y)), abs_tol)
    return (x == y) | (near & np.isfinite(x) & np.isfinite(y))


def _fsum(trace: Trace, seq: Any) -> Any:
    return reduce(lambda a, b: a + b, [number(trace, one) for one in seq], number(trace, 0.0))


def _prod(trace: Trace, seq: Any, *, start: Any = 1) -> Any:
    return reduce(lambda a, b: a * b, list(seq), start)


def _sumprod(trace: Trace, p: Any, q: Any) -> Any:
    return reduce(lambda a, b: a + b, [a * b for a, b in zip(p, q, strict=True)], 0)


for _name, _made in (
    ("frexp", _frexp), ("log", _log), ("hypot", _hypot), ("dist", _dist), ("ldexp", _ldexp), ("isclose", _isclose),
    ("fsum", _fsum), ("prod", _prod), ("sumprod", _sumprod),
):  # fmt: skip
    _enter(_name, _made)


def _refused(name: str) -> Callable[..., Any]:
    def made(trace: Trace, *args: Any) -> Any:
        raise errors.TraceError(
            errors.unknown_function(f"math.{name}", "pass its result as an argument, or make the number static")
        )

    return made


for _name in ("comb", "factorial", "gcd", "isqrt", "lcm", "nextafter", "perm", "ulp"):
    _enter(_name, _refused(_name))
