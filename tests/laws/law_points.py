"""Makers of points: functions of (generator, dtype, exact) that give a value of a space."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Maker = Callable[[np.random.Generator, Any, bool], Any]


def real(*shape: int, low: float = -2.0, high: float = 2.0) -> Maker:
    """Floats between two bounds; where exact, the whole numbers between -2 and 3, so that there are ties and zeros."""

    def make(rng: np.random.Generator, dtype: Any, exact: bool) -> Any:
        drawn = rng.integers(-2, 4, shape) if exact else rng.uniform(low, high, shape)
        return np.asarray(drawn, dtype=np.dtype(dtype))

    return make


def whole(*shape: int, low: int = 0, high: int = 3) -> Maker:
    """Integers, low <= k < high."""
    return lambda rng, dtype, exact: np.asarray(rng.integers(low, high, shape), dtype=np.int64)


def given(array: Any) -> Maker:
    """An array as it is."""
    return lambda rng, dtype, exact: np.asarray(array)


def both(*makers: Any) -> Maker:
    """A tuple of values; makers may be nested tuples of makers."""

    def make(rng: np.random.Generator, dtype: Any, exact: bool) -> Any:
        return tuple((both(*m) if isinstance(m, tuple) else m)(rng, dtype, exact) for m in makers)

    return make
