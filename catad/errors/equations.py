"""Messages about functions that an equation gives."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from catad.errors.base import abbreviated, text


def lane(k: int, shape: Sequence[int]) -> str:
    """The k-th lane of a batch; nothing where there is one alone."""
    return "" if not shape else f"lane {[int(i) for i in np.unravel_index(k, tuple(shape))]} of {tuple(shape)}"


def start_not_floating(name: str, space: object) -> str:
    return text(f"ct.{name} looks for floating numbers", given=f"a start in {space}", expected="arrays of floats")


def not_as_many_equations(name: str, f: object, unknown: object, made: object) -> str:
    return text(
        f"ct.{name} needs as many equations as unknowns",
        given=f"unknowns in {unknown}, equations in {made}",
        expected="floating results with as many numbers as the first argument",
        where=abbreviated(f),
        do="for more equations than unknowns, ct.least_squares",
    )


def root_not_found(place: str, residual: float, size: float, steps: float) -> str:
    return text(
        "Newton's method did not converge",
        given=f"a residual of norm {residual:.3g}, and a last step {size:.3g} times the tolerance, after {steps:.0f} steps",
        expected="a step within the tolerance",
        where=place or None,
        do="another start, or a larger max_steps=",
    )
