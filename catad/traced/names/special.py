"""The common functions of `scipy.special`, entered when the first of them is called."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from catad import errors
from catad.traced.arrays.operators import pointwise, resolved
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


def _computed(term: Any, *xs: Any) -> Any:
    """A word of stand-ins in one floating dtype."""
    return one_line(xs[0].trace_, term, *xs)


def _of_floats(formula: Callable[..., Any]) -> Callable[..., Any]:
    """A function of operands in one floating dtype."""
    return lambda trace, *args: formula(*floats(trace, *args))


def _word(term: Any) -> Callable[..., Any]:
    return _of_floats(partial(_computed, term))


def of_scipy(ufunc: np.ufunc, made: Callable[..., Any]) -> Callable[..., Any]:
    """The meaning of a universal function, with operands in the dtypes that it computes in."""

    def meaning(trace: Trace, *args: Any) -> Any:
        dtypes = resolved(trace, ufunc, *args)
        return made(trace, *[as_traced(trace, arg).astype(dtype) for arg, dtype in zip(args, dtypes, strict=False)])

    return meaning


def _product_with_log(log: Any) -> Callable[..., Any]:
    return _of_floats(lambda x, y: np.where((x == 0) & ~np.isnan(y), x.dtype.type(0), x * log(y)))


def _entr(x: Any) -> Any:
    return np.where(
        x > 0, -x * np.log(x), np.where(x == 0, x.dtype.type(0), np.where(np.isnan(x), x, x.dtype.type(-np.inf)))
    )


def _rel_entr(x: Any, y: Any) -> Any:
    made = np.where(
        (x > 0) & (y > 0), x * np.log(x / y), np.where((x == 0) & (y >= 0), x.dtype.type(0), x.dtype.type(np.inf))
    )
    return np.where(np.isnan(x) | np.isnan(y), x.dtype.type(np.nan), made)


def _betaln(a: Any, b: Any) -> Any:
    return _computed(lgamma, a) + _computed(lgamma, b) - _computed(lgamma, a + b)


def _exprel(x: Any) -> Any:
    return np.where(abs(x) < 1e-5, 1 + x / 2 + x * x / 6, np.where(x == np.inf, x, np.expm1(x) / x))


def _beta(a: Any, b: Any) -> Any:
    gammas = _computed(gamma, a) * _computed(gamma, b) / _computed(gamma, a + b)
    return np.where((a > 0) & (b > 0), np.exp(_betaln(a, b)), gammas)


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
    return one_line(trace, words.logsumexp(axes[0] if axes is not None and len(axes) == 1 else axes, keepdims), x)


def _softmax(trace: Trace, x: Any, axis: Any = None) -> Any:
    array = strong(trace, x)
    axes = axes_of(array, axis)
    return one_line(trace, words.softmax(axes[0] if axes is not None and len(axes) == 1 else axes), array)


def _log_softmax(trace: Trace, x: Any, axis: Any = None) -> Any:
    (array,) = floats(trace, strong(trace, x))
    return array - _logsumexp(trace, array, axis, keepdims=True)


MEANINGS: dict[str, Callable[..., Any]] = {
    **{name: _of_floats(formula) for name, formula in (
        ("logit", lambda p: np.log(p) - np.log1p(-p)), ("log_expit", lambda x: -_computed(softplus, -x)), ("entr", _entr),
        ("rel_entr", _rel_entr), ("betaln", _betaln), ("beta", _beta), ("exprel", _exprel),
        ("ndtr", lambda x: _computed(erfc, x * -math.sqrt(0.5)) / 2),
        ("exp10", lambda x: pointwise(x.trace_, np.power, np.array(10, x.dtype), x)),
        ("loggamma", lambda x: np.where(x < 0, x.dtype.type(np.nan), _computed(lgamma, x))),
    )},
    **{name: _word(term) for name, term in (
        ("expit", sigmoid), ("erf", erf), ("erfc", erfc), ("gammaln", lgamma), ("gamma", gamma), ("digamma", digamma),
        ("psi", digamma), *[(name, WORDS[name]) for name in ("exp2", "expm1", "log1p", "cbrt")],
    )},
    "xlogy": _product_with_log(np.log), "xlog1py": _product_with_log(np.log1p), "polygamma": _polygamma,
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
