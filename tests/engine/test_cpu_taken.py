"""What a stage reads at an index: arrays of any layout, indices out of range, and in which pass it is read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.engine.cpu.run import target
from catad.engine.stages import layout

from .cpu_support import on

pytestmark = pytest.mark.skipif(not target.available(), reason="there is no LLVM here")

LAYOUTS: dict[str, Any] = {
    "contiguous": lambda a: a,
    "backwards": lambda a: np.ascontiguousarray(a[::-1])[::-1],
    "every second": lambda a: np.repeat(a, 2, axis=0)[::2],
    "by columns": lambda a: np.asfortranarray(a),
    "spread": lambda a: np.broadcast_to(a[:1], a.shape),
}


@pytest.fixture(params=["near", "far"])
def reach(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes and strides of 32 bits, and of more."""
    if request.param == "far":
        monkeypatch.setattr(layout, "FAR", 0)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("width", [(), (1,), (5,)])
@pytest.mark.parametrize("bins", [0, 1, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_cotangents_of_bins_are_read_at_their_indices(reach: None, layout: str, width: Any, bins: int, dtype: Any) -> None:
    rng = np.random.default_rng(5)
    index = np.array([0, 2, -1, 1, 3, 2, np.iinfo(np.int64).min, 0, 1 << 32, np.iinfo(np.int64).max, (1 << 32) + 1, 2, 1])
    values = np.ones((len(index), *width), dtype)
    w = LAYOUTS[layout](rng.normal(size=(bins, *width)).astype(dtype))
    back = ct.reverse_differential(ct.histogram(ct.add, 0.0, bins))
    want = np.array([w[i] if 0 <= i < bins else np.zeros(width, dtype) for i in index], dtype)
    for engine in ("reference", "cpu"):
        (got,) = [a for a in on(engine, back, ((index, values), w)) if a.dtype == dtype]
        assert np.array_equal(got, want), engine


@pytest.mark.parametrize("indices", [np.int8, np.uint8, np.int32, np.uint64])
def test_indices_of_any_width(reach: None, indices: Any) -> None:
    index = np.array([0, 2, 127, 1, 3, 2], indices)
    for dtype in (np.bool_, np.int8, np.uint16, np.int64, np.float32):
        table = np.array([1, 0, 3], dtype)
        f = ct.fork(ct.exl >> ct.map(lambda i: i % 3), ct.exr) >> ct.swap >> ct.gather >> ct.map(lambda v: (v, v))
        for got in on("cpu", f, (index, table)):
            assert got.dtype == dtype and np.array_equal(got, table[index.astype(np.int64) % 3])


def test_what_is_read_at_an_index_shares_the_pass_of_its_first_reader() -> None:
    x, index = np.full(5000, 0.5), np.zeros(5000, np.int64)
    f = ct.histogram(ct.mul, 1.0, 1)
    both = ct.fork(ct.exl >> f, ct.reverse_differential(f))
    with ct.use_engine("cpu"), ct.profile() as found:
        both((index, x), np.ones(1))
    names = {stage.name for stage in found.stages}  # the product underflows, so marks are looked for in each bin
    assert {"FoldByBin", "LeaveOneOutProductByBin Gathered Map", "Gathered Scan", "Gathered Map", "Map Fold"} <= names


def test_reading_at_what_was_read() -> None:
    """Each step waits for none but the one before, however many there are."""
    n, steps = 50, 600
    rng = np.random.default_rng(6)
    follow = rng.integers(0, n, n)
    f = ct.compose(*[ct.lift(ct.linear.gather(follow, ct.f64[n]))] * steps)
    x = rng.normal(size=n)
    want = x
    for _ in range(steps):
        want = want[follow]
    (got,) = on("cpu", f, x)
    assert np.array_equal(got, want)
