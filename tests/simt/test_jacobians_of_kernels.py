"""The structure of the Jacobians of kernels, which the planner sees; defaults of parameters, and host code."""

from __future__ import annotations

import numpy as np
import pytest

import catad as ct
from catad.simt import atomic, grid, local


@ct.kernel
def stencil(x, o):
    i = grid(1)
    if i > 0 and i < len(x) - 1:
        o[i] = x[i - 1] * x[i] + x[i + 1]


@ct.kernel
def squares(x, y):
    i = grid(1)
    if i < len(x):
        y[i] = x[i] * x[i]


@ct.kernel
def histogram(b, v, h):
    i = grid(1)
    if i < len(b):
        atomic.add(h, b[i], v[i])


x = np.linspace(0.5, 1.5, 20)
smooth, squared = (
    stencil.forall(20, block=16).returning("o", like="x"),
    squares.forall(20, block=16).returning("y", like="x"),
)


def dense(f, at):
    """The Jacobian by central differences."""
    step = 1e-6 * np.eye(len(at))
    return np.stack([np.ravel(f(at + e) - f(at - e)) / 2e-6 for e in step], axis=1)


def test_the_jacobian_of_a_stencil_kernel_is_banded():
    plan = ct.plan(smooth, x, explicit=True, cost="operations")
    assert "3 colours" in plan.explain()
    _, jacobian = ct.linearize(smooth, x)
    ours = jacobian.toarray()
    np.testing.assert_allclose(ours, dense(smooth, x), atol=1e-8)
    rows, columns = np.nonzero(ours)
    assert np.abs(rows - columns).max() == 1
    assert jacobian.stored < ours.size / 2


def test_the_jacobian_of_a_map_kernel_is_one_diagonal():
    plan = ct.plan(squared, x, explicit=True, cost="operations")
    assert "1 factor: 0 operations" in plan.explain()
    np.testing.assert_array_equal(ct.linearize(squared, x)[1].toarray(), np.diag(2.0 * x))


def test_the_jacobian_of_a_histogram_kernel_adds_where_the_bins_are():
    bins = np.arange(20) * 7 % 5
    of_weights = ct.function(lambda v: histogram[2, 16](bins, v, np.zeros(5)))
    _, jacobian = ct.linearize(of_weights, x)
    np.testing.assert_array_equal(jacobian.toarray(), bins == np.arange(5)[:, None])
    assert jacobian.stored < 100  # 20 positions, not 5 * 20 numbers


def test_the_planner_multiplies_a_chain_of_two_kernels_and_a_fold_from_the_cheaper_end():
    loss = smooth >> squared >> ct.sum()
    plan = ct.plan(loss, x, cost="operations", result="array")
    np.testing.assert_allclose(plan.run(x).toarray().ravel(), ct.grad(loss)(x), rtol=1e-14)
    table = plan.compare()
    assert table["planned"].operations == table["reverse"].operations < table["forward"].operations


def test_last_arguments_with_numbers_as_defaults_may_be_left_out_and_are_known_while_reading():
    @ct.kernel
    def powers(x, y, n=3, a=2.0):
        i = grid(1)
        kept = local.array(n, np.float64)
        for k in range(n):
            kept[k] = x[i] if k == 0 else x[i] * kept[k - 1]
        y[i] = a * kept[n - 1]

    v, launch = x[:4], powers[1, 4]
    np.testing.assert_allclose(launch(v, np.zeros(4)), 2.0 * v**3, rtol=1e-15)
    np.testing.assert_array_equal(ct.testing.threads(launch, v, np.zeros(4)), launch(v, np.zeros(4)))
    ct.testing.check_races(launch, v, np.zeros(4))
    np.testing.assert_array_equal(launch.returning("y", like="x")(v), launch(v, np.zeros(4)))
    np.testing.assert_allclose(ct.grad(launch >> ct.sum())(v, np.zeros(4))[0], 6.0 * v**2, rtol=1e-15)
    assert "kept[n - 1]" in launch.explain(v, np.zeros(4))
    with pytest.raises(ct.SpaceError, match="x, y, n, a"):
        launch(v)
    with pytest.raises(ct.ScalarError):
        launch(v, np.zeros(4), 3)  # an argument is data, and no size of an array
    with pytest.raises(ct.ArgumentError, match="x, y, n, a"):
        ct.testing.threads(launch, v)


def test_threads_behind_the_end_are_left_out_and_races_with_them_are_not():
    assert "f64[32]" not in ct.plan(squared >> squared, x, cost="operations").explain()

    @ct.kernel
    def first(x):
        v = x[0]
        if grid(1) < 1:
            x[0] = 2.0 * v

    with pytest.raises(ct.ScalarError, match="a race"):
        first[2, 16](x)


def test_host_code_that_allocates_copies_and_launches_with_different_grids():
    @ct.kernel
    def doubled(x, y):
        i, j = grid(2)
        if i < x.shape[0] and j < x.shape[1]:
            y[i, j] = 2.0 * x[i, j]

    @ct.kernel
    def by_row(x, s):
        i = grid(1)
        if i < x.shape[0]:
            for j in range(x.shape[1]):
                s[i] += x[i, j]

    @ct.function
    def host(x):
        y = doubled[(2, 2), (4, 4)](x, np.zeros_like(x))
        s = by_row[1, 8](y, np.zeros(x.shape[0]))
        kept = s.copy()
        kept[0] = 0.0
        del s
        return (kept * kept).sum()

    m = np.random.default_rng(0).normal(size=(5, 6))
    s = 2.0 * m.sum(axis=1)
    np.testing.assert_allclose(host(m), (s[1:] ** 2).sum(), rtol=1e-14)
    expected = np.where(np.arange(5) > 0, 4.0 * s, 0.0)[:, None] * np.ones(6)
    np.testing.assert_allclose(ct.grad(host)(m), expected, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("launch", [((3, 2), (4, 4)), ((2, 3), (8, 2)), ((12, 1), (1, 7)), ((3, 2, 2), (4, 4, 1))])
def test_the_order_of_threads_is_that_of_the_whole_launch_where_some_are_left_out(launch):
    @ct.kernel
    def ranked(m, p, rank, total):
        i, j = grid(2)
        if i < m.shape[0] and j < m.shape[1] and ct.simt.blockIdx.z == 0:
            rank[i, j] = atomic.add(total, p[i, j], m[i, j])

    rng = np.random.default_rng(1)
    args = rng.normal(size=(9, 5)), rng.integers(0, 3, (9, 5)), np.zeros((9, 5)), rng.normal(size=3)
    f = ranked[launch]
    for ours, theirs in zip(f(*args), ct.testing.threads(f, *args), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-13, atol=1e-14)
    for k in range(2):
        got = ct.grad(f >> ct.proj(k) >> ct.square >> ct.sum())(*args)[0]
        step = 1e-6 * rng.normal(size=(9, 5))
        ends = [np.sum(ct.testing.threads(f, args[0] + s * step, *args[1:])[k] ** 2) for s in (1, -1)]
        np.testing.assert_allclose(np.vdot(got, step), (ends[0] - ends[1]) / 2, rtol=1e-5)


def test_bounds_from_every_side_leave_out_no_thread_that_does_something():
    def made(low, high):
        @ct.kernel
        def some(x, y):
            i = grid(1)
            if low > i or not i < high:
                return
            y[i] = 2.0 * x[i]

        @ct.kernel
        def other(x, y):
            i = grid(1)
            if high >= i + 1 and i - low >= 0:
                y[i] = 2.0 * x[i]

        @ct.kernel
        def strided(x, y):
            i = grid(1)
            if 2 * i < high:
                y[2 * i] = x[i]

        return some, other, strided

    v = np.linspace(0.5, 1.0, 16)
    for low, high in [(0, 16), (2, 7), (0, 1), (5, 5), (0, 0), (15, 16), (0, 40)]:
        for k in made(low, min(high, 16)):
            f = k[4, 4]
            np.testing.assert_array_equal(f(v, -v), ct.testing.threads(f, v, -v))
