"""A pullback keeps the condition of a choice, a byte for each number, where its partials depend on nothing else."""

from __future__ import annotations

import numpy as np
import pytest

import catad as ct
from catad.engine.program import Program
from catad.engine.rewrites.conditions import with_conditions


def limited(x, y):
    d = x * x - y
    return np.where(d * y > 0, 0.0, d)


def test_a_truth_value_is_kept() -> None:
    rng = np.random.default_rng(1)
    f = ct.function(lambda x, y: np.where(x * y > 0, x + y, x - y))
    x, y = rng.standard_normal(10_000), rng.standard_normal(10_000)
    with ct.use_engine("cpu"):
        _, pullback = ct.vjp(f, x, y)
    assert sum(a.nbytes for a in pullback.arrays) == 10_000


@pytest.mark.parametrize("engine", ["reference", "cpu"])
def test_bits_are_those_of_the_slots(engine) -> None:
    rng = np.random.default_rng(2)
    x, y = rng.standard_normal((2, 5000))
    x[::7], y[::11], x[5], y[9] = 0.0, -0.0, np.nan, np.inf
    f = ct.function(limited)
    with ct.use_engine(engine), np.errstate(all="ignore"):
        _, pullback = ct.vjp(f, x, y)
        bar = rng.standard_normal(5000)
        got = pullback(bar)
        _, L = ct.linearize(f, (x, y))
        for a, b in zip(got, L.T(bar), strict=True):
            np.testing.assert_array_equal(a, b)


def test_the_wiring_gives_the_same() -> None:
    rng = np.random.default_rng(3)
    for fn, n in [(limited, 50), (lambda x, y: np.where(x > 1.0, x, y), 9)]:
        arrays = rng.standard_normal((2, n))
        dom = ct.space_of(arrays[0]) * ct.space_of(arrays[1])
        wiring = with_conditions(ct.wire(ct.function(fn).at(dom), dom))
        (got,) = Program(wiring)(np, list(arrays))
        np.testing.assert_array_equal(got, fn(*arrays))
