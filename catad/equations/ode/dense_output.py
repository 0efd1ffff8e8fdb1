"""Values within a step: the cubic of values and slopes at both ends, and one term of fourth degree.

    y(t + s h) = w y0 + (1 - w) y1 + h (s (1 - s)^2 f0 - s^2 (1 - s) f1 + s^2 (1 - s)^2 q),    w = (1 + 2 s) (1 - s)^2

Without q it is of third order. Every dense output of degree 4 that has values and slopes of the ends is of this form, with
`q = sum_i d_i k_i`. (E. Hairer, S. P. Norsett and G. Wanner, *Solving Ordinary Differential Equations I*, II.6.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def hermite(part: Any, h: Any, kept: Sequence[Any]) -> Any:
    """The value at a part of a step of length h, from `(y0, y1, f0, f1)`, or these and q."""
    y0, y1, f0, f1, *more = kept
    rest = 1.0 - part
    late = part * part * (1.0 + 2.0 * rest)
    slopes = part * rest * rest * f0 - part * part * rest * f1
    for q in more:
        slopes = slopes + (part * rest) ** 2 * q
    return (1.0 - late) * y0 + late * y1 + h * slopes
