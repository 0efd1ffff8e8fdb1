"""Rounding, and functions of one number that are several words."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from catad.traced.arrays.operators import pointwise
from catad.traced.names.shapes import as_traced
from catad.traced.recorder import Trace
from catad.traced.table import meaning, method


@meaning(np.round, np.around)
@method("round")
def round_(trace: Trace, a: Any, decimals: int = 0) -> Any:
    x = a if getattr(a, "full", None) is not None else as_traced(trace, a)
    decimals = decimals.__index__()
    if x.dtype.kind in "iu" and decimals >= 0:
        return x.copy()
    if x.dtype.kind == "b" and decimals:
        said = "Cannot cast ufunc 'multiply' output from dtype('float64') to dtype('bool') with casting rule 'same_kind'"
        raise TypeError(said)
    if decimals == 0:
        return pointwise(trace, np.rint, x)
    scale = 10.0 ** abs(decimals)
    if decimals > 0:
        return pointwise(trace, np.rint, x * scale) / scale
    made = pointwise(trace, np.rint, x / scale) * scale
    return made.astype(x.dtype, copy=False)


@meaning(np.sinc)
def sinc(trace: Trace, x: Any) -> Any:
    array = as_traced(trace, x)
    array = array if array.dtype.kind == "f" else array.astype(np.float64)
    y = math.pi * array
    return np.where(y == 0, 1 - y * y / 6, np.sin(y) / y)  # with the derivatives of the series at 0


@meaning(np.angle)
def angle(trace: Trace, z: Any, deg: bool = False) -> Any:
    x = as_traced(trace, z)
    made = pointwise(trace, np.arctan2, np.zeros((), x.dtype), x)
    return made * (180 / math.pi) if deg else made


def _of_array(function: Any, made: Callable[[Any], Any]) -> None:
    meaning(function)(lambda trace, x: made(as_traced(trace, x)))


_of_array(np.fix, lambda x: pointwise(x.trace_, np.trunc, x))
_of_array(np.isposinf, lambda x: np.isinf(x) & ~np.signbit(x))
_of_array(np.isneginf, lambda x: np.isinf(x) & np.signbit(x))
_of_array(np.isreal, lambda x: np.ones_like(x, dtype=bool))
_of_array(np.iscomplex, lambda x: np.zeros_like(x, dtype=bool))
meaning(np.real_if_close, shares=True)(lambda trace, a, tol=100: as_traced(trace, a))
