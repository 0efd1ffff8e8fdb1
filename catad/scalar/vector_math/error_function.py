"""erf: `x + x p(x**2)` up to 1, and above `1 - exp(q(|x|))` with q the logarithm of erfc.

q need not be accurate where erfc is small, which is why one polynomial reaches from 1 to where erf is 1.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from .exponential import exponentials
from .formats import Format, Number, ScalarFunction, fma, polynomial

INNER = {
    "float32": (0.12837917, -0.37612626, 0.112836, -0.026854444, 0.0051895347, -0.00080208358, 7.8891011e-05),
    "float64": (
        0.1283791670955126,
        -0.3761263890318375,
        0.11283791670954885,
        -0.02686617064507789,
        0.005223977624828577,
        -0.0008548326981434284,
        0.00012055331133281978,
        -1.4925595780100056e-05,
        1.646100860492709e-06,
        -1.635039756121271e-07,
        1.466033760728403e-08,
        -1.1374989461747561e-09,
        5.960741139270484e-11,
    ),
}
"""erf(x) / x - 1 in x**2, |x| <= 1."""

OUTER = {
    "float32": (
        0.00025394242,
        -1.1299206,
        -0.63245618,
        -0.10937464,
        0.025941905,
        -0.0045576296,
        0.00054531195,
        -3.880377e-05,
        1.2050172e-06,
    ),
    "float64": (
        -5.581815119788928e-07,
        -1.128373774386573,
        -0.6366439791880372,
        -0.10270567404635873,
        0.01900120957181111,
        0.0003845862403069051,
        -0.0018754651955744607,
        0.0007250739107012608,
        -9.621715148500392e-05,
        -4.591673094987565e-05,
        3.6121872611058574e-05,
        -1.4109453686058961e-05,
        3.892778236594751e-06,
        -8.183482127921136e-07,
        1.3384395185553604e-07,
        -1.7007118940331988e-08,
        1.6514666513112972e-09,
        -1.1858006686178984e-10,
        5.936608475964202e-12,
        -1.850379669862275e-13,
        2.703052214228454e-15,
    ),
}
"""log erfc(t), 1 <= t <= 4 or 6."""


def error_function(f: Format) -> Mapping[str, ScalarFunction]:
    """erf in one format."""
    inner, outer = INNER[f.name], OUTER[f.name]
    one = 4.0 if f.digits == 24 else 6.0
    exp = exponentials(f)["exp"]

    def erf(x: Number) -> Number:
        a = abs(x)
        near = fma(x, polynomial(x * x, inner), x)
        far = 1.0 - exp(polynomial(one if one < a else a, outer))
        return near if a < 1 else np.copysign(far, x)

    return {"erf": erf}
