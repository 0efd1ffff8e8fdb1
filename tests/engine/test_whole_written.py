"""Writing at indices, clearing there and last writers within whole programs: equal to the array code, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

import catad as ct
from catad.linear.families.clear import ClearedAt
from catad.linear.families.gather import Indexing
from catad.vector.indexing.overwrite import LastOnly, OverwrittenAt

from . import whole_support


def drawn(seed: int):
    """An indexing, and its arguments: (index, x, values)."""
    rng = np.random.default_rng(seed)
    before, after, by = [[int(n) for n in rng.integers(1, 4, rng.integers(0, 3))] for _ in range(3)]
    by = by or [int(rng.integers(1, 6))]
    count = int(np.prod(by))
    bins = count + int(rng.integers(0, 5))
    sizes = (*before, bins, *after, *by)
    labels = list(range(len(sizes)))
    src, own = labels[: len(before) + 1 + len(after)], labels[len(sizes) - len(by) :]
    rest = [label for label in src if label != len(before)]
    dst = [int(k) for k in rng.permutation([*rest, *own])]
    how = Indexing(tuple(src), len(before), tuple(own), tuple(dst), sizes)
    index = rng.permutation(np.arange(-2, bins + 3))[:count].reshape(by)
    dtype = [np.float64, np.float32, np.int64, np.int32, np.int8, np.bool_][seed % 6]
    x, values = [(rng.standard_normal(how.shape(k)) * 9).astype(dtype) for k in (how.src, how.dst)]
    return how, index.astype([np.int64, np.int32, np.int16][seed % 3]), x, values


def compiled(box, *arrays):
    return whole_support.compiled(box, tuple([ct.space_of(a) for a in arrays]))(np, *arrays)


@pytest.mark.parametrize("seed", range(80))
def test_writes_and_clears(seed: int) -> None:
    how, index, x, values = drawn(seed)
    if x.dtype.kind == "f":
        x.reshape(-1)[:1], values.reshape(-1)[:1] = np.nan, -0.0
    before = x.copy()
    got, expected = compiled(OverwrittenAt(how), index, x, values), OverwrittenAt(how).evaluate(np, index, x, values)
    assert got.tobytes() == expected.tobytes() and got.dtype == expected.dtype
    got, expected = compiled(ClearedAt(how), index, x), ClearedAt(how).evaluate(np, index, x)
    assert got.tobytes() == expected.tobytes()
    assert x.tobytes() == before.tobytes(), "the argument was changed"


@pytest.mark.parametrize("strides", [1, -1, 2])
def test_arrays_that_are_not_contiguous(strides: int) -> None:
    how = Indexing((0, 1), 0, (2,), (2, 1), (9, 3, 4))
    x, values = np.arange(54.0).reshape(18, 3)[::2][::strides][:9], np.arange(24.0).reshape(3, 8)[:, ::2].T
    x = np.resize(x, (9, 3))
    index = np.array([7, 1, 100, 0])
    expected = OverwrittenAt(how).evaluate(np, index, x, values)
    np.testing.assert_array_equal(compiled(OverwrittenAt(how), index, x, values), expected)


@pytest.mark.parametrize("seed", range(30))
def test_last_writers(seed: int) -> None:
    rng = np.random.default_rng(seed)
    axes, size = 1 + seed % 2, int(rng.integers(1, 12))
    index = rng.integers(0, size, [3, 4, 5][: axes + seed % 2])
    box = LastOnly(axes, size)
    np.testing.assert_array_equal(compiled(box, index), box.evaluate(np, index))


def test_threads_write_the_same() -> None:
    rng = np.random.default_rng(0)
    x, values, index = rng.standard_normal(300_000), rng.standard_normal(200_000), rng.permutation(300_000)[:200_000]
    how = Indexing((0,), 0, (1,), (1,), (300_000, 200_000))
    expected = x.copy()
    expected[index] = values
    for count in (1, 2, 3):
        with ct.num_threads(count):
            np.testing.assert_array_equal(compiled(OverwrittenAt(how), index, x, values), expected)


def test_assignment_is_numpys_where_indices_repeat() -> None:
    rng = np.random.default_rng(1)
    x, values = rng.standard_normal(5000), rng.standard_normal(20_000)
    index = rng.integers(-5000, 5000, 20_000)

    def f(x, values):
        y = x * 1.0
        y[index] = values
        return y

    with ct.use_engine("cpu"):
        y, pullback = ct.vjp(ct.function(f), x, values)
        np.testing.assert_array_equal(y, f(x, values))
        bar = rng.standard_normal(5000)
        dx, dv = pullback(bar)
    owner = np.full(5000, -1)
    owner[index] = np.arange(20_000)
    np.testing.assert_array_equal(dx, np.where(owner < 0, bar, 0.0))
    expected = np.zeros(20_000)
    expected[owner[owner >= 0]] = bar[owner >= 0]
    np.testing.assert_array_equal(dv, expected)
