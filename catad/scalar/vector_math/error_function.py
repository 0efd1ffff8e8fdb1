"""erf and erfc.

erf is `x + x p(x**2)` up to 1, and above `1 - exp(q(|x|))` with q the logarithm of erfc. q need not be accurate where erfc is
small, which is why one polynomial reaches from 1 to where erf is 1. erfc of a positive number is `exp(-x**2) g(t) / (1 + b x)`
with b = 2 / sqrt(pi) and `t = (x - k) / (x + k)`, all factors in two parts (M. M. Shepherd, J. G. Laframboise, Mathematics of
Computation 36, 1981).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from catad.scalar.vector_math.exponential import exponentials
from catad.scalar.vector_math.formats import (
    Format,
    Number,
    ScalarFunction,
    fma,
    leading,
    polynomial,
    product,
    ratio,
    two_sum,
)

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

SCALED = {
    "float32": (
        0.831762,
        1.6773752e-08,
        -0.23850846,
        0.011644036,
        0.058137577,
        -0.028955879,
        -0.0014905363,
        0.0045080604,
        0.00029647534,
        -0.00069476955,
        -0.0001429656,
        2.8609988e-05,
    ),
    "float64": (
        0.7553487931750763,
        3.7967785323995616e-17,
        -0.19167733398439016,
        0.10399735387055642,
        -0.03316561881960634,
        -0.009517900868898808,
        0.02538004572711553,
        -0.023782446608203098,
        0.015371999643926517,
        -0.007369087651860592,
        0.002490717255636006,
        -0.0004370117769792463,
        -7.799685276856791e-05,
        7.514899750615814e-05,
        -1.4595235058370766e-05,
        -5.047980796820535e-06,
        3.0432591359439524e-06,
        4.1707104941709126e-08,
        -4.2378996176743104e-07,
        5.349142125853093e-08,
        5.5477181794108015e-08,
        -1.1379414496776305e-08,
        -7.188384173836771e-09,
        1.2073017007609219e-09,
        6.899873658383998e-10,
    ),
}
"""exp(x**2) erfc(x) (1 + b x) in (x - k) / (x + k) with k = 2 or 4; the first coefficient in two parts."""


def error_function(f: Format) -> Mapping[str, ScalarFunction]:
    """erf and erfc in one format."""
    inner, outer = INNER[f.name], OUTER[f.name]
    one, zero, middle = (4.0, 10.25, 2.0) if f.digits == 24 else (6.0, 27.5, 4.0)  # where erf is 1, where erfc is 0, and k
    exponential = exponentials(f)
    exp, exp_parts, scaled = exponential["exp"], exponential["exp_parts"], exponential["scaled"]
    factors, slope = SCALED[f.name], float(f.real(1.1283791670955126))

    def erf(x: Number) -> Number:
        a = abs(x)
        near = fma(x, polynomial(x * x, inner), x)
        far = 1.0 - exp(polynomial(one if one < a else a, outer))
        return near if a < 1 else np.copysign(far, x)

    def erfc(x: Number) -> Number:
        size = abs(x)
        a = zero if zero < size else size
        square = a * a
        p, p_low, k = exp_parts(-square, -fma(a, a, -square))
        high, low = product(p, p_low, *leading((a - middle) / (a + middle), factors))
        grown = slope * a
        below, below_low = two_sum(1.0, grown)
        value = scaled(ratio(high, low, below, below_low + fma(slope, a, -grown)), k)
        return 2.0 - value if x < 0 else value

    return {"erf": erf, "erfc": erfc}
