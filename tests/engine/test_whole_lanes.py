"""Loops whose steps are pointwise over many lanes run block by block: they are what the array code makes of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.engine.cpu.engine import THREADED
from catad.engine.cpu.whole.lanes import LANES, LanesSweep
from catad.engine.cpu.whole.run import lanes
from catad.errors import CannotPrint
from catad.vector.loops.sweep_map import Sweep

SIZE = THREADED + 77  # not so many whole blocks


def logistic(r: Any, x: Any) -> Any:
    for _ in range(20):
        x = r * x * (1.0 - x)
    return x


def kept(r: Any, x: Any) -> Any:
    y = x
    for _ in range(20):
        x, y = y * 0.5, x * r + np.sin(y)
    return x + y


def counting(r: Any, x: Any) -> Any:
    n = np.zeros(x.shape, dtype=np.int64)
    for _ in range(20):
        n = np.where(x < 1.0, n + 1, n)
        x = np.where(x < 1.0, x * r, x)
    return x * n


def sizes(shape: tuple[int, ...], dtype: str) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    return rng.uniform(0.5, 1.5, shape).astype(dtype), rng.uniform(0.1, 0.9, shape).astype(dtype)


def sweeps(f: ct.D, dom: ct.Space) -> list[tuple[Sweep, tuple[ct.Tensor, ...]]]:
    wiring = ct.wire(f, dom)
    return [(box.primitive, wiring.spaces(box.ins)) for box in wiring.boxes if isinstance(box.primitive, Sweep)]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("fn", [logistic, kept, counting])
def test_blocks_of_lanes_give_what_the_array_code_gives(fn: Callable[..., Any], dtype: str) -> None:
    f, (r, x) = ct.function(fn), sizes((SIZE,), dtype)
    dom = ct.product(ct.Tensor((SIZE,), dtype), ct.Tensor((SIZE,), dtype))
    for g in (f, ct.grad(f >> ct.sum())):
        assert all(isinstance(lanes(*one), LanesSweep) for one in sweeps(g, dom))
    results = []
    for engine in ("cpu", "reference"):
        with ct.use_engine(engine), ct.num_threads(2):
            value, pull = ct.vjp(f, r, x)
            results.append((value, *pull(np.cos(np.arange(SIZE)).astype(value.dtype))))
    near = {"rtol": 1e-12, "atol": 1e-10} if dtype == "float64" else {"rtol": 1e-4, "atol": 1e-3}
    for got, want in zip(*results, strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, **near)


def test_a_number_for_all_lanes_and_axes_of_lanes() -> None:
    f, (_, x) = ct.function(logistic), sizes((3, SIZE // 3), "float64")
    r = np.float64(2.5)
    with ct.use_engine("cpu"):
        value = f(r, x)
    with ct.use_engine("reference"):
        np.testing.assert_array_equal(value, f(r, x))


def test_nan_in_one_lane_reaches_no_other() -> None:
    f, (r, x) = ct.function(logistic), sizes((SIZE,), "float64")
    x[LANES] = np.nan
    with ct.use_engine("cpu"):
        value = f(r, x)
    assert np.flatnonzero(np.isnan(value)).tolist() == [LANES]


def test_steps_that_are_not_pointwise_are_refused() -> None:
    def mean(x: Any) -> Any:
        for _ in range(20):
            x = x - x.mean()
        return x

    ((box, ins),) = sweeps(ct.function(mean), ct.f64[SIZE])
    with pytest.raises(CannotPrint):
        LanesSweep(box, ins)
