"""Which formula a universal function of NumPy is on complex numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from catad.scalar.pairs import formulas as one
from catad.scalar.pairs import inverses as inverse

COMPLEX: dict[np.ufunc, Callable[..., Any]] = {
    getattr(np, fn.__name__): fn
    for fn in (one.add, one.subtract, one.multiply, one.divide, one.reciprocal, one.square, one.negative, one.positive,
               one.conjugate, one.sign, one.rint, one.maximum, one.minimum, one.fmax, one.fmin, one.sqrt, one.exp, one.log,
               one.log2, one.log10, one.log1p, one.exp2, one.expm1, one.power, one.sinh, one.cosh, one.tanh, one.sin, one.cos,
               one.tan, inverse.arcsinh, inverse.arcsin, inverse.arccosh, inverse.arccos, inverse.arctanh, inverse.arctan)
} | {np.float_power: one.power}  # fmt: skip
"""Those whose results are complex numbers."""

REAL: dict[np.ufunc, Callable[..., Any]] = {
    getattr(np, fn.__name__): fn
    for fn in (one.absolute, one.equal, one.not_equal, one.less, one.less_equal, one.greater, one.greater_equal, one.isnan,
               one.isinf, one.isfinite, one.logical_not, one.logical_and, one.logical_or, one.logical_xor)
}  # fmt: skip
"""Those whose results are real numbers or truth values."""
