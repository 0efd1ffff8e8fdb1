"""Loops whose steps only write into arrays, at other indices each: all steps at once, without a sweep."""

from __future__ import annotations

import numpy as np
import pytest

import catad as ct
from catad.vector.loops.sweep_map import Sweep


def loops(fn, *arrays) -> int:
    """How many loops of a function are left when it is laid out."""
    spaces = [ct.space_of(a) for a in arrays]
    dom = ct.Product(spaces) if len(spaces) > 1 else spaces[0]
    return sum(isinstance(box.primitive, Sweep) for box in ct.wire(ct.function(fn).at(dom), dom).boxes)


def gradients(fn, *arrays):
    """The gradients of a weighted sum of what a function gives, by central differences."""
    rng = np.random.default_rng(0)
    weights = rng.standard_normal(np.shape(fn(*arrays)))
    out = []
    for k, a in enumerate(arrays):
        g = np.zeros_like(a)
        for at in np.ndindex(a.shape):
            ends = []
            for h in (1e-6, -1e-6):
                moved = [x.copy() for x in arrays]
                moved[k][at] += h
                ends.append(np.sum(weights * fn(*moved)))
            g[at] = (ends[0] - ends[1]) / 2e-6
        out.append(g)
    return weights, out


def check(fn, *arrays, left: int = 0, engines=("reference", "cpu")) -> None:
    expected = fn(*[a.copy() for a in arrays])
    weights, slopes = gradients(fn, *arrays)
    assert loops(fn, *arrays) == left
    for engine in engines:
        with ct.use_engine(engine):
            y, pullback = ct.vjp(ct.function(fn), *arrays)
            np.testing.assert_allclose(y, expected, rtol=1e-12, atol=1e-12)
            bars = pullback(weights)
            bars = bars if isinstance(bars, tuple) else (bars,)
            for bar, slope in zip(bars, slopes, strict=True):
                np.testing.assert_allclose(bar, slope, rtol=1e-6, atol=1e-6)


def rows(x):
    y = np.empty_like(x)
    for i in range(len(x)):
        y[i] = np.sin(x[i]) * x[i - 1]
    return y


def columns(x):
    y = np.ones_like(x)
    for j in range(1, x.shape[1] - 1):
        y[:, j] = x[:, j - 1] * x[:, j + 1]
    return y


def every_other(x):
    y = np.zeros(2 * len(x))
    for i in range(len(x)):
        y[2 * i + 1] = x[i] * x[i]
    return y


def backwards(x):
    y = x * 2.0
    for i in range(len(x) - 1, -1, -1):
        y[i] = x[len(x) - 1 - i] * 3.0
    return y


def in_place(x):
    x = x * 1.0
    for i in range(len(x)):
        x[i] = x[i] * x[i] + i
    return x


def added(x):
    y = x * 0.5
    for i in range(len(x)):
        y[i] += np.exp(x[i])
    return y


def from_the_end(x):
    y = np.zeros(len(x) + 3)
    for i in range(len(x)):
        y[i - len(x)] = x[i] * 2.0
    return y


def two_arrays(x):
    y, z = np.zeros_like(x), np.ones_like(x)
    for i in range(len(x)):
        y[i] = x[i] * 2.0
        z[len(x) - 1 - i] = x[i] * x[i]
    return y * z


@pytest.mark.parametrize("fn", [every_other, backwards, in_place, added, from_the_end, two_arrays])
def test_vectors(fn) -> None:
    check(fn, np.random.default_rng(1).standard_normal(20))


@pytest.mark.parametrize("fn", [rows, columns])
def test_matrices(fn) -> None:
    check(fn, np.random.default_rng(2).standard_normal((18, 19)))


def convolved(x, w):
    k = w.shape[0]
    y = np.empty((x.shape[0], x.shape[1] - k + 1, x.shape[2] - k + 1, w.shape[3]))
    for i in range(y.shape[1]):
        for j in range(y.shape[2]):
            y[:, i, j, :] = np.sum(x[:, i : i + k, j : j + k, :, np.newaxis] * w[np.newaxis, :, :, :], axis=(1, 2, 3))
    return y


def pooled(x):
    y = np.empty((x.shape[0] // 2, x.shape[1] // 2))
    for i in range(y.shape[0]):
        for j in range(y.shape[1]):
            y[i, j] = np.max(x[2 * i : 2 * i + 2, 2 * j : 2 * j + 2])
    return y


def test_loops_within_each_other() -> None:
    rng = np.random.default_rng(3)
    check(convolved, rng.standard_normal((2, 8, 9, 2)), rng.standard_normal((3, 3, 2, 3)))
    check(pooled, rng.standard_normal((13, 14)))


def carried(x):
    y = np.zeros_like(x)
    for i in range(1, len(x)):
        y[i] = y[i - 1] * 0.5 + x[i]
    return y


def read_elsewhere(x):
    y = x * 1.0
    for i in range(len(x)):
        y[i] = y[len(x) - 1 - i] * 2.0
    return y


def one_place(x):
    y = np.zeros(3)
    for i in range(len(x)):
        y[1] = x[i]
    return y


def colliding(x):
    """Two steps write at one place: the later one stays."""
    y = np.zeros(10)
    for i in range(len(x)):
        y[(2 * i) % 10] = x[i] * x[i]
    return y


def colliding_from_the_end(x):
    y = np.zeros(len(x) - 2)
    for i in range(len(x) - 1):
        y[i - 2] = x[i] * x[i]
    return y


def by_halves(x):
    y = np.zeros(len(x))
    for i in range(len(x)):
        y[i // 2] = x[i] * 2.0
    return y


def sums(x):
    y = np.zeros_like(x)
    total = 0.0
    for i in range(len(x)):
        total = total + x[i]
        y[i] = total
    return y


@pytest.mark.parametrize("fn", [carried, read_elsewhere, one_place, colliding, colliding_from_the_end, by_halves, sums])
def test_loops_whose_steps_depend_on_each_other_stay(fn) -> None:
    check(fn, np.random.default_rng(4).standard_normal(20), left=1, engines=("reference", "cpu"))


def test_an_index_that_is_out_of_range_is_refused() -> None:
    def f(x):
        y = np.zeros(10)
        for i in range(len(x)):
            y[i] = x[i]
        return y

    for engine in ("reference", "cpu"):
        with ct.use_engine(engine), pytest.raises(ct.IndexRangeError):
            ct.function(f)(np.ones(20))


def test_indices_that_are_data_may_collide() -> None:
    def f(x, k):
        y = np.zeros(5)
        for i in range(20):
            y[k[i]] = x[i]
        return y

    rng = np.random.default_rng(5)
    x, k = rng.standard_normal(20), rng.integers(0, 5, 20)
    np.testing.assert_array_equal(ct.function(f)(x, k), f(x, k))
    assert loops(f, x, k) == 1


def test_a_planted_collision_is_found(monkeypatch) -> None:
    """If indices were taken as different without a proof, what is overwritten later would have a gradient."""
    from catad.vector.loops import hoisting

    monkeypatch.setattr(hoisting, "are_apart", lambda *_: True)

    def planted(x):
        y = np.zeros(len(x))
        for i in range(len(x)):
            y[len(x) - 1 - i // 2] = x[i] * 3.0
        return y

    with pytest.raises(AssertionError, match="Not equal"):
        check(planted, np.random.default_rng(6).standard_normal(20), left=0, engines=("reference",))


def test_nothing_of_other_steps_is_read() -> None:
    """NaN in one step reaches no other."""
    x = np.linspace(1.0, 2.0, 20)
    x[3] = np.nan
    y = ct.function(in_place)(x)
    assert np.isnan(y[3]) and np.isfinite(np.delete(y, 3)).all()


def test_second_order_and_batches() -> None:
    rng = np.random.default_rng(7)
    x, v = rng.standard_normal(18), rng.standard_normal(18)
    grad = ct.grad(ct.function(lambda x: np.sum(in_place(x) ** 2)))
    _, h = ct.jvp(grad, x, v)
    np.testing.assert_allclose(h, (grad(x + 1e-6 * v) - grad(x - 1e-6 * v)) / 2e-6, rtol=1e-6, atol=1e-5)
    xs = rng.standard_normal((4, 18))
    np.testing.assert_allclose(ct.vmap(ct.function(added))(xs), np.stack([added(x) for x in xs]), rtol=1e-13)


def test_short_loops_within_each_other_are_recorded() -> None:
    def f(x):
        y = np.zeros_like(x)
        for i in range(8):
            for j in range(8):
                y[i, j] = x[i, j] * x[j, i]
        return y

    x = np.random.default_rng(8).standard_normal((8, 8))
    assert len(ct.function(f).at(ct.f64[8, 8]).lines) < 20
    np.testing.assert_array_equal(ct.function(f)(x), x * x.T)


def test_short_loops_over_python_things_stay_python() -> None:
    def f(x):
        total = 0.0
        for name in ["a", "b", "c", "d", "e", "f", "g"]:
            for k in range(7):
                total = total + x[k] * len(name)
        return total

    x = np.arange(7.0)
    assert ct.function(f)(x) == f(x)
