"""Races that data make, divergent shuffles, and barriers of warps: what is refused, and what is not."""

from __future__ import annotations

import numpy as np
import pytest

import catad as ct
from catad.simt import atomic, grid, shared, shfl_down_sync, shfl_xor_sync, syncthreads, syncwarp, threadIdx

x8, next8, count8 = np.arange(8.0), np.roll(np.arange(8), -1), np.arange(1, 9)
x64 = np.arange(64.0)


def refused(body, *args, launch=(1, 8), match="a race at cell"):
    """The launch is refused, and so is its derivative; each program that is made checks its own first call."""
    f = ct.kernel(body)[launch]
    for one in (f, ct.grad(f >> ct.sum())):
        with pytest.raises(ct.ScalarError, match=match):
            one(*args)


# -- data that decide something else than the index of a store


def test_a_race_where_data_decide_the_path():
    def one_cell(x, o):
        t = threadIdx.x
        if x[t] > 2.0:
            o[3] = x[t]

    refused(one_cell, x8, np.zeros(8))
    np.testing.assert_array_equal(ct.kernel(one_cell)[1, 8](-x8 + 2.5, np.zeros(8)), [0, 0, 0, 2.5, 0, 0, 0, 0])

    def neighbours(x, o):
        t = threadIdx.x
        if x[t] > 2.0:
            o[t] = x[t]
        if x[t] > 3.0 and t > 0:
            o[t - 1] += x[t]

    refused(neighbours, x8, np.zeros(8))


def test_a_race_where_data_decide_what_is_read():
    def moved(p, x):
        t = threadIdx.x
        x[t] = x[p[t]]

    refused(moved, next8, x8)
    np.testing.assert_array_equal(ct.kernel(moved)[1, 8](np.arange(8), x8), x8)


def test_a_race_where_data_decide_how_many_trips_are_made():
    def counted(n, o):
        for k in range(n[threadIdx.x]):
            o[k] = 1.0 * k

    def going(n, o):
        t, k = threadIdx.x, 0
        while k < n[t]:
            o[k] = 1.0 * t
            k += 1

    for body in (counted, going):
        refused(body, count8, np.zeros(8))

    @ct.kernel
    def own(n, o):
        t = threadIdx.x
        for k in range(n[t]):
            o[t, k] = 1.0 * k

    np.testing.assert_array_equal(own[1, 8](count8, np.zeros((8, 8)))[7], x8)


def test_a_race_in_a_loop_at_an_index_from_data():
    def rows(p, o):
        t = threadIdx.x
        for k in range(9):
            o[p[t] * 9 + k] = 1.0 * t

    refused(rows, np.array([0, 0, 1, 2, 3, 4, 5, 6]), np.zeros(72))


def test_shared_memory_that_data_leave_unwritten():
    def bad(x, o):
        s = shared.array(8, np.float64)
        t = threadIdx.x
        if x[t] > 2.0:
            s[t] = x[t]
        syncthreads()
        o[t] = s[7 - t]

    refused(bad, x8, np.zeros(8), match="of s is read before any thread has written it")


@pytest.mark.parametrize("engine", ["reference", "cpu"])
def test_a_checked_launch_composes_and_has_its_derivative(engine):
    @ct.kernel
    def positive(x, o):
        t = threadIdx.x
        if x[t] > 0.0:
            o[t] = x[t] * x[t]

    x = np.linspace(-1.0, 1.0, 8)
    f = positive[1, 8].returning("o", like="x")
    with ct.use_engine(engine):
        np.testing.assert_allclose(ct.grad(f >> ct.square >> ct.sum())(x), np.where(x > 0, 4 * x**3, 0.0))
        hessian = ct.hvp(f >> ct.square >> ct.sum(), x, np.ones(8))
        np.testing.assert_allclose(hessian, np.where(x > 0, 12 * x**2, 0.0))
        np.testing.assert_allclose(ct.vmap(f)(np.stack([x, -x])), np.where([x > 0, -x > 0], x * x, 0.0))


# -- warps


def divergent(body, launch):
    with pytest.raises(ct.ScalarError, match="not all threads of the warp reach") as caught:
        ct.kernel(body)[launch](x64, np.zeros(64))
    assert "test_checks_of_launches.py" in str(caught.value)
    with pytest.raises(ct.ScalarError, match="wait at barriers"):
        ct.testing.threads(ct.kernel(body)[launch], x64, np.zeros(64))


def test_a_shuffle_that_not_all_threads_of_a_warp_reach():
    def half(x, o):
        t = threadIdx.x
        if t < 16:
            o[t] = shfl_down_sync(-1, x[t], 1)

    def by_data(x, o):
        t = threadIdx.x
        if x[t] > 3.0:
            o[t] = shfl_down_sync(-1, x[t], 1)

    def chosen(x, o):
        t = threadIdx.x
        o[t] = shfl_xor_sync(-1, x[t], 1) if t < 40 else 0.0

    def left(x, o):
        t = threadIdx.x
        if t >= 40:
            return
        o[t] = shfl_down_sync(-1, x[t], 1)

    def looped(x, o):
        t = threadIdx.x
        for _ in range(t):
            o[t] += shfl_down_sync(-1, x[t], 1)

    def warp_barrier(x, o):
        t = threadIdx.x
        if t % 2 == 0:
            syncwarp()
        o[t] = x[t]

    for body in (half, by_data, chosen, left, looped, warp_barrier):
        divergent(body, (1, 64))


def test_a_divergent_shuffle_is_refused_in_large_launches_and_in_two_dimensions():
    @ct.kernel
    def half(x, o):
        i, t = grid(1), threadIdx.x
        if t < 16:
            o[i] = shfl_down_sync(-1, x[i], 1)

    x = np.zeros(1 << 20)
    with pytest.raises(ct.ScalarError, match="not all threads of the warp reach"):
        half[1 << 14, 64](x, x)

    @ct.kernel
    def rows(x, o):
        i, j = threadIdx.x, threadIdx.y
        if j < 2:
            o[i, j] = shfl_down_sync(-1, x[i, j], 1)

    x = np.arange(64.0).reshape(16, 4)
    np.testing.assert_array_equal(rows[1, (16, 4)](x, 0 * x), ct.testing.threads(rows[1, (16, 4)], x, 0 * x))
    with pytest.raises(ct.ScalarError, match="not all threads of the warp reach"):
        rows[1, (8, 4)](x, 0 * x)


def test_whole_warps_may_shuffle_alone():
    @ct.kernel
    def first(x, o):
        t = threadIdx.x
        if t < 32:
            o[t] = shfl_down_sync(-1, x[t], 1)
        elif x[0] == 0.0:
            o[t] = shfl_xor_sync(-1, x[t], 3)

    args = (x64, np.zeros(64))
    np.testing.assert_array_equal(first[1, 64](*args), ct.testing.threads(first[1, 64], *args))


def test_a_barrier_of_a_warp_orders_its_threads_and_no_others():
    @ct.kernel
    def reduced(x, o):
        s = shared.array(64, np.float64)
        t = threadIdx.x
        s[t] = x[t]
        syncwarp()
        for k in (16, 8, 4, 2, 1):
            if t % 32 < k:
                s[t] += s[t + k]
            syncwarp()
        if t % 32 == 0:
            o[t // 32] = s[t]

    np.testing.assert_array_equal(reduced[1, 64](x64, np.zeros(2)), [x64[:32].sum(), x64[32:].sum()])

    def across(x, o):
        s = shared.array(64, np.float64)
        t = threadIdx.x
        s[t] = x[t]
        syncwarp()
        o[t] = s[63 - t]

    refused(across, x64, np.zeros(64), launch=(1, 64))


def test_check_races_finds_a_divergent_barrier():
    @ct.kernel
    def bad(x):
        t = threadIdx.x
        if x[t] > 2.0:
            syncthreads()
        x[t] = 1.0

    with pytest.raises(ct.ScalarError, match="not all threads of a block reach"):
        ct.testing.check_races(bad[1, 8], x8)


# -- zeros


@pytest.mark.parametrize("engine", ["reference", "cpu"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_atomic_leaves_the_sign_of_zero_where_nobody_adds(engine, dtype):
    @ct.kernel
    def by_data(b, x, o):
        atomic.add(o, b[grid(1)], x[grid(1)])

    @ct.kernel
    def affine(b, x, o):
        if grid(1) < 3:
            atomic.add(o, grid(1), x[grid(1)])

    b, x = np.array([1, 1, 9, 2]), np.array([1.0, -1.0, 3.0, -2.0], dtype=dtype)
    for k in (by_data, affine):
        for zero in (0.0, -0.0):
            o = np.full(4, zero, dtype=dtype)
            with ct.use_engine(engine):
                out, pull = ct.vjp(k[1, 4], b, x, o)
                back = pull(np.ones(4, dtype=dtype))
            assert np.signbit(out[[0, 3]] if k is by_data else out[3:]).all() == np.signbit(zero)
            np.testing.assert_array_equal(out, ct.testing.threads(k[1, 4], b, x, o))
            np.testing.assert_array_equal(back[1], [1, 1, 0, 1] if k is by_data else [1, 1, 1, 0])
            np.testing.assert_array_equal(back[2], np.ones(4))


def test_arrays_are_called_as_the_variable():
    @ct.kernel
    def two(x, o):
        s = shared.array(4, np.float64)
        t = threadIdx.x
        s[t] = x[grid(1)]
        syncthreads()
        first = s[3 - t]
        s = shared.array(4, np.float64)
        s[t] = first
        syncthreads()
        o[grid(1)] = s[t] * shared_sum(x, t)

    def shared_sum(x, t):
        x = shared.array(4, np.float64)
        x[t] = 2.0
        syncthreads()
        return x[0]

    said = two[2, 4].explain(x8, np.zeros(8))
    assert all(name in said for name in ("\ns[t]", "\ns[3 - t]", "\ns 2[t]", "\nx 2[0]", "x[grid(1)]"))
    np.testing.assert_array_equal(two[2, 4](x8, np.zeros(8)), 2.0 * x8.reshape(2, 4)[:, ::-1].reshape(8))


@pytest.mark.parametrize("engine", ["reference", "cpu"])
def test_nan_stays_in_an_atomic_maximum_as_in_numpy(engine):
    @ct.kernel
    def ends(x, o, before):
        before[grid(1)] = atomic.max(o, 0, x[grid(1)])
        atomic.min(o, 1, x[grid(1)])

    args = (np.array([1.0, np.nan, 3.0, 2.0]), np.zeros(2), np.zeros(4))
    with ct.use_engine(engine):
        for got, expected in zip(ends[1, 4](*args), ct.testing.threads(ends[1, 4], *args), strict=True):
            np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(got, [0.0, 1.0, np.nan, np.nan])
