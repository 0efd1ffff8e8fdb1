"""Choosing by conditions: `np.where`, `np.clip` and their like."""

from __future__ import annotations

from typing import Any

import numpy as np

from catad import errors
from catad.late import late
from catad.traced.names.shapes import as_traced
from catad.traced.operators import cast, pointwise
from catad.traced.recorder import Trace
from catad.traced.stand_in import Traced, computed, fresh, var_of
from catad.traced.table import meaning, method


@meaning(np.where)
def where(trace: Trace, condition: Any, *sides: Any) -> Traced:
    if not sides:
        raise errors.TraceError(errors.shape_depends_on_data("np.where(mask), which gives the positions"))
    a, b = sides
    test = as_traced(trace, condition)
    if test.dtype.kind != "b":
        test = pointwise(trace, np.not_equal, test, 0)
    x, y = var_of(trace, a if not isinstance(a, (list, tuple)) else as_traced(trace, a)), var_of(
        trace, b if not isinstance(b, (list, tuple)) else as_traced(trace, b)
    )
    dtype = np.result_type(*[var.weak(0) if var.weak else var.space.dtype for var in (x, y)])
    return fresh(trace, computed(trace.region, late().where, (test.var_, cast(trace, x, dtype), cast(trace, y, dtype))))


@meaning(np.clip)
@method("clip")
def clip(trace: Trace, a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    made = a
    if low is not None:
        made = pointwise(trace, np.maximum, made, low)
    if high is not None:
        made = pointwise(trace, np.minimum, made, high)
    return made if made is not a else as_traced(trace, a).copy()
