"""Concatenations that maps read are views: the numbers are NumPy's to the last bit, and `np.roll` costs no pass."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.engine.cpu.run import target

from .cpu_support import assert_near, assert_same, on

pytestmark = [pytest.mark.skipif(not target.available(), reason="no LLVM here"), pytest.mark.numpy_only]
RNG = np.random.default_rng(5)
SPECIAL = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1.5, -2.5, 5e-324])
PROGRAMS: dict[str, Any] = {
    "a roll": lambda x: np.roll(x, 1) * 2,
    "neighbours": lambda x: np.roll(x, 1) - 2 * x + np.roll(x, -1),
    "rolls along both axes": lambda x: np.roll(np.roll(x.reshape(4, -1), 3, axis=0), -2, axis=1) * x.reshape(4, -1),
    "two parts": lambda x: np.concatenate([x[5:], x[:5]]) + x,
    "four parts, turned": lambda x: np.concatenate([x[:3][::-1], x[3:4], x[4:8], x[8:]]) * 3,
    "five parts": lambda x: np.concatenate([x[:1], x[1:2], x[2:3], x[3:4], x[4:]]) * 3,
    "a part without numbers": lambda x: np.concatenate([x, x[:0]]) * 2,
    "a result, too": lambda x: (np.concatenate([x[5:], x[:5]]), np.concatenate([x[5:], x[:5]]) * 2),
    "in a loop": lambda x: steps(x),
}


def steps(x: Any) -> Any:
    for _ in range(20):
        x = np.roll(x, 1) + x
    return x


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i2", "u4", "?"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_numbers_are_those_of_numpy(name: str, dtype: str) -> None:
    fn = PROGRAMS[name]
    if dtype == "?" and ("neighbours" in name or "loop" in name):
        pytest.skip("NumPy does not subtract truth values")
    for n in (24, 2400):
        x = RNG.integers(0, 9, n).astype(dtype)
        if dtype[0] == "f":
            x[: len(SPECIAL)] = SPECIAL
        with np.errstate(all="ignore"):
            want = fn(x)
        assert_same(on("cpu", ct.function(fn), x), list(want) if isinstance(want, tuple) else [want])


@pytest.mark.parametrize("n", [24, 2400])
def test_signed_zeros_stay(n: int) -> None:
    x = np.full(n, -0.0)
    (got,) = on("cpu", ct.function(lambda x: np.roll(x, 3) * 1.0), x)
    assert np.signbit(got).all()


@pytest.mark.parametrize("name", ["neighbours", "rolls along both axes", "four parts, turned", "in a loop"])
def test_derivatives(name: str) -> None:
    f, x = ct.function(PROGRAMS[name]), RNG.normal(size=240)
    w = RNG.normal(size=np.shape(PROGRAMS[name](x)))
    back = ct.reverse_differential(f)
    assert_near(on("cpu", back, (x, w)), on("reference", back, (x, w)))


def test_a_roll_is_no_pass_of_its_own() -> None:
    f = ct.function(PROGRAMS["neighbours"])
    with ct.use_engine("cpu"):
        assert f.source("steps", ct.f64[5000]) == "0: Map, compiled"
