"""Large passes of whole programs: kernels that serve all sizes, called by address."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.engine.cpu.run import target

from .cpu_support import assert_near, assert_same, on

pytestmark = pytest.mark.full_code


def price(x: Any, y: Any) -> Any:
    z = np.log(x / y) * np.exp(-x) + np.sqrt(y)
    return z / (1.0 + z * z), np.sum(np.abs(z) > 0.5)


def stencil(x: Any, y: Any) -> Any:
    for _ in range(3):
        x = x + 0.1 * (np.roll(x, 1) - 2.0 * x + np.roll(x, -1)) * y
    return x


def along_columns(x: Any, y: Any) -> Any:
    m = x.reshape(-1, 5) * y.reshape(-1, 5)
    return np.cumsum(m, axis=0), np.max(m, axis=1), m.T[::-1]


PROGRAMS = {one.__name__: one for one in (price, stencil, along_columns)}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [505, 515, 5000, 200_000])
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_are_those_of_stages_and_of_the_reference(name: str, n: int, dtype: Any) -> None:
    rng = np.random.default_rng(n)
    f, x = ct.function(PROGRAMS[name]), (rng.uniform(0.5, 2.0, n).astype(dtype), rng.uniform(0.5, 2.0, n).astype(dtype))
    made = on("cpu", f, *x)
    assert_same(made, on("cpu", f, *x), (name, n))
    assert_near(made, on("reference", f, *x), note=(name, n))


@pytest.mark.parametrize("n", [600, 70_000])
def test_gradients_have_the_same_bits_on_any_number_of_threads(n: int) -> None:
    rng = np.random.default_rng(n)
    x, y = rng.uniform(0.5, 2.0, (2, n))
    f = ct.grad(ct.function(lambda x, y: np.sum(price(x, y)[0] * stencil(x, y))), argnums=(0, 1))
    with ct.num_threads(1):
        alone = on("cpu", f, x, y)
    assert_near(alone, on("reference", f, x, y), note=n)
    for count in (2, 3, 8):
        with ct.num_threads(count):
            assert_same(on("cpu", f, x, y), alone, count)


def test_one_kernel_serves_programs_of_all_sizes() -> None:
    f = ct.function(lambda x: np.tanh(np.sqrt(x * 1.0625 + 3.5)) * 0.1328125)  # no other test has this work
    on("cpu", f, np.ones(1000))
    before = target.counts["compiled"]
    assert np.allclose(on("cpu", f, np.ones(2000))[0], on("reference", f, np.ones(2000))[0])
    text = f.at(np.ones(2000)).source("llvm", ct.f64[2000])
    assert target.counts["compiled"] - before <= 2  # the function that calls the kernel, and the stage that is shown
    assert text.count("@kernel(") >= 1


def test_errors_and_interrupts_come_out_as_from_other_passes() -> None:
    f = ct.function(lambda x, k: np.sum(x[k] * 2.0))
    x, k = np.ones(4000), np.arange(4000)
    assert on("cpu", f, x, k)[0] == 8000.0
    k[17] = 5000
    with pytest.raises(IndexError, match="5000"):
        on("cpu", f, x, k)
