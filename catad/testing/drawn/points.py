"""Points of drawn programs: sizes on both sides of every switch, both precisions, odd layouts, special values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from catad.testing.drawn.meaning import Leaves

Generator = np.random.Generator
SIZES = (0, 1, 2, 7, 64, 4095, 4096, 100_003)
WEIGHTS = (1.0, 1.0, 2.0, 5.0, 3.0, 2.0, 2.0, 1.0)
SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 5e-324, 1e-40)


@dataclass(frozen=True)
class Point:
    """Arrays of ordinary numbers, and how they lie in memory."""

    ordinary: Leaves
    dtype: Any
    layouts: tuple[str, ...]

    @property
    def arrays(self) -> Leaves:
        """The arrays in their layouts."""
        return tuple(laid(x, layout) for x, layout in zip(self.ordinary, self.layouts, strict=True))

    def special(self, rng: Generator) -> Leaves:
        """The arrays with special values in some places."""
        out = []
        for x in self.ordinary:
            with np.errstate(all="ignore"):
                chosen = rng.choice(SPECIAL, size=x.shape).astype(x.dtype)
            out.append(np.where(rng.uniform(size=x.shape) < 0.3, chosen, x))
        return tuple(out)


def draw_point(rng: Generator, sizes: tuple[int, ...] | None = None) -> Point:
    """One to three arrays of one precision, mostly with a common axis 0."""
    chances = np.array(WEIGHTS) / sum(WEIGHTS)
    n = int(rng.choice(SIZES, p=chances) if sizes is None else rng.choice(sizes))
    dtype = np.dtype(str(rng.choice(["float64", "float64", "float32"])))
    shapes: list[tuple[int, ...]] = [(n,), (n,), (n, 3), (n, 1), (3, n), (2, n, 2), ()]
    count = int(rng.integers(1, 4))
    first = shapes[int(rng.integers(len(shapes)))]
    chosen = [first, *[first if rng.integers(3) else shapes[int(rng.integers(len(shapes)))] for _ in range(count - 1)]]
    ordinary = tuple(numbers(rng, shape).astype(dtype) for shape in chosen)
    return Point(ordinary, dtype, tuple(str(rng.choice(list(LAYOUTS))) for _ in chosen))


def numbers(rng: Generator, shape: tuple[int, ...]) -> Any:
    """Numbers of size about one; now and then small whole ones, which have ties and zeros."""
    if rng.integers(4) == 0:
        return rng.integers(-2, 3, shape).astype(np.float64)
    return np.round(rng.normal(size=shape), 6)


def _every_other(x: Any) -> Any:
    wide = np.full((*x.shape[:-1], 2 * x.shape[-1]), 7.0, x.dtype)
    wide[..., ::2] = x
    return wide[..., ::2]


def _offset(x: Any) -> Any:
    """At an address that is no multiple of a cache line, nor of a vector."""
    room = np.empty(x.size + 3, x.dtype)
    room[3:] = x.ravel()
    return room[3:].reshape(x.shape)


def _read_only(x: Any) -> Any:
    y = x.copy()
    y.flags.writeable = False
    return y


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "plain": lambda x: x,
    "every other": _every_other,
    "backwards": lambda x: np.ascontiguousarray(x[::-1])[::-1],
    "Fortran": np.asfortranarray,
    "offset": _offset,
    "read-only": _read_only,
}


def laid(x: Any, layout: str) -> Any:
    """The same numbers, laid out in memory in another way; arrays without axes stay as they are."""
    y = LAYOUTS[layout](x) if x.ndim else x
    assert y.shape == x.shape
    return y
