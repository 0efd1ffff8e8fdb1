"""Reductions: sums, products, extrema, means."""

from __future__ import annotations

from typing import Any

import numpy as np

from catad.traced.names.shapes import as_traced
from catad.traced.operators import cast
from catad.traced.recorder import Trace
from catad.traced.stand_in import computed, fresh
from catad.traced.table import meaning, method
from catad.vector.shape import sum as sum_


@meaning(np.sum)
@method("sum")
def total(trace: Trace, a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Any:
    x = as_traced(trace, a)
    var = x.var if dtype is None else cast(trace, x.var, np.dtype(dtype))
    return fresh(trace, computed(trace.region, sum_(axis, keepdims), var))


@meaning(np.mean)
@method("mean")
def mean(trace: Trace, a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Any:
    x = as_traced(trace, a)
    made = total(trace, x, axis, dtype, keepdims=keepdims)
    return made / (x.size // max(made.size, 1))
