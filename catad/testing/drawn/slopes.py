"""Slopes of a Python function that NumPy runs: central differences of several steps, where they can be trusted.

The differences of two steps h and h / 5 are extrapolated (L. Richardson, 1911). Two extrapolations have to agree, and the
differences to both sides have to come nearer to each other, which they do not at a kink. Elsewhere nothing is said.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

RATIO = 5.0
STEPS = np.array([0.01 * RATIO**-k for k in range(6)])
TRUSTED = 1e-6  # how far extrapolations may be apart, relative to the slope
NOISE = 1e-13  # rounding in a result, relative to its size


class Slopes(NamedTuple):
    """For each floating argument the slopes along its entries, and which of them are known."""

    value: list[Any]
    known: list[Any]


def weighed(weights: tuple[Any, ...], results: Any) -> float:
    """The results as one number; those of integers have the weight `()`."""
    pairs = zip(weights, results, strict=True)
    return float(sum([np.sum(w * np.asarray(y, np.float64)) for w, y in pairs if np.shape(w) != (0,)]))


def slopes(fn: Callable[..., Any], args: tuple[Any, ...], weights: tuple[Any, ...]) -> Slopes:
    """The slopes of the weighed results along each entry of the floating arguments, in float64."""
    wide = [np.asarray(x, np.float64) if np.asarray(x).dtype.kind == "f" else x for x in args]
    kinds = [type(x) for x in args]

    def total(k: int, entry: int, step: float) -> float:
        at = copy.deepcopy(wide)
        at[k].reshape(-1)[entry] += step
        given = [float(x) if kind is float else x for x, kind in zip(at, kinds, strict=True)]
        return weighed(weights, fn(*given))

    found = Slopes([], [])
    with np.errstate(all="ignore"):
        for k, x in enumerate(wide):
            if isinstance(x, np.ndarray) and x.dtype.kind == "f":
                each = [_slope(partial(total, k, entry)) for entry in range(x.size)]
                for kept, part in zip(found, zip(*each, strict=True), strict=True):
                    kept.append(np.array(part).reshape(x.shape))
    return found


def _slope(total: Callable[[float], float]) -> tuple[float, bool]:
    """The slope of a function of one number at 0, and whether it is known."""
    centre = total(0.0)
    up, down = (np.array([total(sign * h) for h in STEPS]) for sign in (1.0, -1.0))
    noise = NOISE * np.max(np.abs([*up, centre, *down])) / STEPS
    once = (up - down) / (2 * STEPS)
    sides = np.abs(up - 2 * centre + down) / STEPS
    twice = (RATIO**2 * once[1:] - once[:-1]) / (RATIO**2 - 1)
    apart = np.abs(twice[1:] - twice[:-1])
    if not np.isfinite(apart).any():
        return 0.0, False
    best = int(np.nanargmin(apart))
    value, last = float(twice[best + 1]), best + 2
    meets = sides[last] <= 0.5 * sides[last - 1] or sides[last] <= noise[last]
    return value, bool(meets and apart[best] <= TRUSTED * max(1.0, abs(value)))
