"""Sums of one array moved to all tiles of a larger one are that array repeated: the bits of the sums, and few passes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.engine.program import Program
from catad.engine.stages.repetition import tiled

RNG = np.random.default_rng(5)


def pads(x: Any, places: list[int], size: int, axis: int = 0) -> list[Any]:
    around = [[(0, 0)] * axis + [(k, size - k - x.shape[axis])] + [(0, 0)] * (x.ndim - 1 - axis) for k in places]
    return [np.pad(x, one) for one in around]


def three(x: Any) -> Any:
    a, b, c = pads(x, [6, 0, 3], 9)
    return a + (b + c)


def twice(x: Any) -> Any:
    a, b = pads(x, [0, 3], 6)
    a, b = pads(a + b, [6, 0], 12)
    return a + b


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "two": lambda x: sum(pads(x, [0, 3], 6)[1:], pads(x, [0, 3], 6)[0]),
    "three": three,
    "twice": twice,
    "columns": lambda x: np.add(*pads(x, [2, 0], 4, axis=1)),
}
OTHERS: dict[str, Callable[[Any], Any]] = {
    "a gap": lambda x: np.add(*pads(x, [0, 4], 7)),
    "tiles that overlap": lambda x: np.add(*pads(x, [0, 2], 5)),
    "too few tiles": lambda x: np.add(*pads(x, [0, 3], 9)),
    "one tile twice": lambda x: np.add(*pads(x, [3, 3], 6)),
    "two arrays": lambda x: pads(x, [0], 6)[0] + pads(x * 2.0, [3], 6)[0],
    "a difference": lambda x: np.subtract(*pads(x, [0, 3], 6)),
    "backwards": lambda x: pads(x, [0], 6)[0] + pads(x[::-1], [3], 6)[0],
    "other numbers between": lambda x: np.pad(x, ((0, 3), (0, 0)), constant_values=1.0) + np.pad(x, ((3, 0), (0, 0))),
    "products": lambda x: np.multiply(*pads(x, [0, 3], 6)),
}


def point() -> np.ndarray:
    x = RNG.normal(size=(3, 2))
    x[0] = -0.0, 0.0
    x[1, 0] = np.inf
    return x


@pytest.mark.parametrize("engine", ["reference", "cpu"])
@pytest.mark.parametrize("name", [*PROGRAMS, *OTHERS])
def test_numbers_and_signs_of_zeros(name: str, engine: str) -> None:
    fn, x = (PROGRAMS | OTHERS)[name], point()
    with ct.use_engine(engine), np.errstate(invalid="ignore"):
        got, want = ct.function(lambda x: fn(x))(x), fn(x)
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(np.signbit(got), np.signbit(want))


@pytest.mark.parametrize("name", PROGRAMS)
def test_they_are_found(name: str) -> None:
    f = ct.function(lambda x: PROGRAMS[name](x))
    wiring = Program(ct.wire(f, ct.f64[3, 2])).wiring
    assert tiled(wiring) is not wiring


@pytest.mark.parametrize("name", OTHERS)
def test_others_are_not(name: str) -> None:
    f = ct.function(lambda x: OTHERS[name](x))
    wiring = Program(ct.wire(f, ct.f64[3, 2])).wiring
    assert tiled(wiring) is wiring


def test_derivatives_of_tree_reductions() -> None:
    def tree(x: Any) -> Any:
        while len(x) > 1:
            half = len(x) // 2
            x = x[:half] + x[half:] * 2.0
        return x[0]

    x = RNG.normal(size=64)
    weights = np.array([2.0 ** bin(k).count("1") for k in range(64)])
    with ct.use_engine("cpu"):
        np.testing.assert_allclose(ct.grad(ct.function(tree))(x), weights, rtol=1e-14)
