"""Drawn Python programs: NumPy's result or a named error, the text traces back, and the derivative is that of differences."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings

import catad as ct
from tests.traced.drawn import programs
from tests.traced.programs import compare, module

POINT = (
    0.3,
    -0.4,
    np.array([0.5, -0.3, 0.8]),
    np.array([0.2, 0.9, -0.6]),
    np.array([[0.1, -0.2, 0.4], [0.7, 0.3, -0.5], [0.2, 0.6, 0.9]]),
)

PHASES = [Phase.explicit, Phase.reuse, Phase.generate]  # making a failure short takes minutes: add Phase.shrink to look into one


@settings(suppress_health_check=list(HealthCheck), deadline=None, phases=PHASES)
@given(programs())
def test_a_drawn_program_is_numpys_or_refused(text: str) -> None:
    fn = module(text).f
    try:
        compare(fn, *POINT)
    except AssertionError as error:
        raise AssertionError(f"{error}\n{text}") from None


def gradients_agree(fn: Any) -> bool:
    """The derivative along a direction against a central difference, where the program is smooth at the point."""
    rng = np.random.default_rng(0)
    along = tuple(rng.standard_normal(np.shape(x)) for x in POINT)

    def total(h: float) -> float:
        at = [x + h * d for x, d in zip(POINT, along, strict=True)]
        return float(
            sum(
                np.sum(np.sin(np.asarray(part) + 0.1)) for part in fn(*[np.array(a) if np.ndim(a) else float(a) for a in at])
            )
        )

    slopes = [(total(h) - total(-h)) / (2 * h) for h in (1e-5, 1e-6)]
    if not np.isfinite(slopes).all() or abs(slopes[0] - slopes[1]) > 1e-5 * max(1.0, abs(slopes[0])):
        return True  # a kink lies there
    f = ct.function(fn)
    scaled = ct.function(lambda *xs: sum(np.sum(np.sin(part + 0.1)) for part in f(*xs)))
    _, tangent = ct.jvp(scaled, tuple(np.asarray(x) for x in POINT), tuple(np.asarray(d) for d in along))
    return bool(abs(tangent - slopes[1]) <= 1e-5 * max(1.0, abs(slopes[1])))


@settings(suppress_health_check=list(HealthCheck), deadline=None, max_examples=15, phases=PHASES)
@given(programs())
def test_the_derivative_of_a_drawn_program_is_that_of_differences(text: str) -> None:
    fn = module(text).f
    with np.errstate(all="ignore"):
        if compare(fn, *POINT) == "equal":
            assert gradients_agree(fn), text
