"""The common functions of `scipy.special`, entered when the first of them is called."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from catad import errors
from catad.traced.arrays.operators import pointwise, resolved
from catad.traced.arrays.stand_in import computed, fresh
from catad.traced.names.shapes import as_traced
from catad.traced.names.sums import axes_of, one_line, strong
from catad.traced.recorder import Trace
from catad.traced.table import meaning_anywhere, of_package
from catad.vector.folds import softmax as words
from catad.vector.pointwise.functions import digamma, erf, erfc, gamma, lgamma, sigmoid, softplus, trigamma
from catad.vector.pointwise.operators import WORDS


def floats(trace: Trace, *args: Any) -> list[Any]:
    """Operands in one floating dtype."""
    arrays = [strong(trace, arg) for arg in args]
    dtype = np.dtype(np.float32) if all(x.dtype == np.float32 for x in arrays) else np.dtype(np.float64)
    return [x.astype(dtype, copy=False) for x in arrays]


def _word(term: Any) -> Callable[..., Any]:
    def made(trace: Trace, *args: Any) -> Any:
        vars_ = tuple([x.var_ for x in floats(trace, *args)])
        return fresh(trace, computed(trace.region, term, vars_ if len(vars_) > 1 else vars_[0]))

    return made


def of_scipy(ufunc: np.ufunc, made: Callable[..., Any]) -> Callable[..., Any]:
    """The meaning of a universal function, with operands in the dtypes that it computes in."""

    def meaning(trace: Trace, *args: Any) -> Any:
        dtypes = resolved(trace, ufunc, *args)
        return made(trace, *[as_traced(trace, arg).astype(dtype) for arg, dtype in zip(args, dtypes, strict=False)])

    return meaning


_sigmoid, _lgamma, _digamma, _softplus = _word(sigmoid), _word(lgamma), _word(digamma), _word(softplus)
_erfc, _gamma = _word(erfc), _word(gamma)


def _logit(trace: Trace, p: Any) -> Any:
    (p,) = floats(trace, p)
    return np.log(p) - np.log1p(-p)


def _log_expit(trace: Trace, x: Any) -> Any:
    (x,) = floats(trace, x)
    return -_softplus(trace, -x)


def _xlogy(trace: Trace, x: Any, y: Any) -> Any:
    x, y = floats(trace, x, y)
    return np.where((x == 0) & ~np.isnan(y), x.dtype.type(0), x * np.log(y))


def _xlog1py(trace: Trace, x: Any, y: Any) -> Any:
    x, y = floats(trace, x, y)
    return np.where((x == 0) & ~np.isnan(y), x.dtype.type(0), x * np.log1p(y))


def _entr(trace: Trace, x: Any) -> Any:
    (x,) = floats(trace, x)
    return np.where(
        x > 0, -x * np.log(x), np.where(x == 0, x.dtype.type(0), np.where(np.isnan(x), x, x.dtype.type(-np.inf)))
    )


def _rel_entr(trace: Trace, x: Any, y: Any) -> Any:
    x, y = floats(trace, x, y)
    made = np.where(
        (x > 0) & (y > 0), x * np.log(x / y), np.where((x == 0) & (y >= 0), x.dtype.type(0), x.dtype.type(np.inf))
    )
    return np.where(np.isnan(x) | np.isnan(y), x.dtype.type(np.nan), made)


def _betaln(trace: Trace, a: Any, b: Any) -> Any:
    a, b = floats(trace, a, b)
    return _lgamma(trace, a) + _lgamma(trace, b) - _lgamma(trace, a + b)


def _exprel(trace: Trace, x: Any) -> Any:
    (x,) = floats(trace, x)
    return np.where(abs(x) < 1e-5, 1 + x / 2 + x * x / 6, np.where(x == np.inf, x, np.expm1(x) / x))


def _ndtr(trace: Trace, x: Any) -> Any:
    (x,) = floats(trace, x)
    return _erfc(trace, x * -math.sqrt(0.5)) / 2


def _exp10(trace: Trace, x: Any) -> Any:
    (x,) = floats(trace, x)
    return pointwise(trace, np.power, np.array(10, x.dtype), x)


def _loggamma(trace: Trace, x: Any) -> Any:
    (x,) = floats(trace, x)
    return np.where(x < 0, x.dtype.type(np.nan), _lgamma(trace, x))


def _beta(trace: Trace, a: Any, b: Any) -> Any:
    a, b = floats(trace, a, b)
    gammas = _gamma(trace, a) * _gamma(trace, b) / _gamma(trace, a + b)
    return np.where((a > 0) & (b > 0), np.exp(_betaln(trace, a, b)), gammas)


def _polygamma(trace: Trace, n: Any, x: Any) -> Any:
    order = as_traced(trace, n).constant
    if order is None or order.ndim or order not in (0, 1):
        raise errors.TraceError(errors.unknown_function("scipy.special.polygamma of an order that is not 0 or 1"))
    x = strong(trace, x).astype(np.float64)
    return _word(digamma if order == 0 else trigamma)(trace, x)


def _logsumexp(
    trace: Trace, a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False
) -> Any:
    if return_sign:
        raise errors.TraceError(errors.unknown_parameter("scipy.special.logsumexp", "return_sign"))
    x = strong(trace, a)
    if b is not None:
        (x, weights) = floats(trace, x, b)
        top = np.max(x, axis=axis, keepdims=True)
        top = np.where(np.isfinite(top), top, x.dtype.type(0))
        made = np.log(np.sum(np.exp(x - top) * weights, axis=axis, keepdims=True)) + top
        return made if keepdims else np.squeeze(made, tuple(range(x.ndim)) if axis is None else axis)
    axes = axes_of(x, axis)
    return one_line(trace, words.logsumexp(axes[0] if axes is not None and len(axes) == 1 else axes, bool(keepdims)), x)


def _softmax(trace: Trace, x: Any, axis: Any = None) -> Any:
    array = strong(trace, x)
    axes = axes_of(array, axis)
    return one_line(trace, words.softmax(axes[0] if axes is not None and len(axes) == 1 else axes), array)


def _log_softmax(trace: Trace, x: Any, axis: Any = None) -> Any:
    (array,) = floats(trace, strong(trace, x))
    return array - _logsumexp(trace, array, axis, keepdims=True)


MEANINGS: dict[str, Callable[..., Any]] = {
    "expit": _sigmoid, "logit": _logit, "log_expit": _log_expit, "erf": _word(erf), "erfc": _erfc, "gammaln": _lgamma,
    "loggamma": _loggamma, "gamma": _gamma, "digamma": _digamma, "psi": _digamma, "polygamma": _polygamma, "xlogy": _xlogy,
    "xlog1py": _xlog1py, "entr": _entr, "rel_entr": _rel_entr, "betaln": _betaln,
    "beta": _beta, "exprel": _exprel, "ndtr": _ndtr, "exp10": _exp10,
    "exp2": _word(WORDS["exp2"]), "expm1": _word(WORDS["expm1"]), "log1p": _word(WORDS["log1p"]), "cbrt": _word(WORDS["cbrt"]),
    "logsumexp": _logsumexp, "softmax": _softmax, "log_softmax": _log_softmax,
}  # fmt: skip


@of_package("scipy")
def enter() -> None:
    """Enter the functions into the tables."""
    import scipy.special

    for name, made in MEANINGS.items():
        function = getattr(scipy.special, name, None)
        if function is not None:
            meaning_anywhere(function)(of_scipy(function, made) if isinstance(function, np.ufunc) else made)
