"""`ct.fixed_point`: against dense systems and closed forms; derivatives; what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import catad as ct

METHODS = pytest.mark.parametrize("method", ["anderson", "plain"])
DOTTIE = 0.7390851332151607


@METHODS
def test_values_and_derivatives(method):
    f = ct.fixed_point(lambda x, a: np.cos(a * x), method=method)
    assert f(1.0, 1.0) == pytest.approx(DOTTIE, abs=1e-14)
    slope = -DOTTIE * np.sin(DOTTIE) / (1 + np.sin(DOTTIE))
    assert ct.grad(f, argnums=1)(1.0, 1.0) == pytest.approx(slope, rel=1e-13)
    assert ct.jvp(f, (1.0, 1.0), (5.0, 1.0))[1] == pytest.approx(slope, rel=1e-13)
    second = ct.grad(ct.grad(f, argnums=1), argnums=1)
    h = 1e-4
    first = ct.grad(f, argnums=1)
    assert second(1.0, 1.0) == pytest.approx((first(1.0, 1 + h) - first(1.0, 1 - h)) / (2 * h), rel=1e-6)


@METHODS
def test_a_linear_map_gives_its_system(method):
    rng = np.random.default_rng(0)
    matrix, b = rng.normal(size=(30, 30)), np.ones(30)
    matrix *= 0.9 / np.abs(np.linalg.eigvals(matrix)).max()
    f = ct.fixed_point(lambda x, b: matrix @ x + b, method=method)
    inverse = np.linalg.inv(np.eye(30) - matrix)
    assert np.allclose(f(b, b), inverse @ b, atol=1e-11)
    assert np.allclose(ct.jacrev(f, argnums=1)(b, b), inverse, atol=1e-11)


def test_anderson_finds_what_repels_and_plain_does_not():
    assert ct.fixed_point(lambda x: 2 * x + 1)(1.0) == pytest.approx(-1.0, abs=1e-14)
    with pytest.raises(ct.ConvergenceError, match="no fixed point was found"):
        ct.fixed_point(lambda x: 2 * x + 1, method="plain")(1.0)
    with pytest.raises(ct.ConvergenceError, match="after 1000 steps"):
        ct.fixed_point(lambda x: x + 1)(1.0)


def test_trees_lanes_and_failures():
    f = ct.fixed_point(lambda p, k: {"a": np.cos(p["b"]), "b": k * p["a"]})
    start = {"a": np.ones(2), "b": np.zeros(2)}
    found = f(start, 0.5)
    assert np.allclose(found["a"], np.cos(found["b"])) and np.allclose(found["b"], 0.5 * found["a"])
    g = ct.fixed_point(lambda x, a: a * np.exp(-x), method="plain", on_failure="nan")
    lanes = ct.vmap(g)(np.ones(3), np.array([0.5, 5.0, 1.0]))  # the second one repels
    assert np.array_equal(np.isnan(lanes), [False, True, False])
    assert np.allclose(lanes[::2] * np.exp(lanes[::2]), [0.5, 1.0])
    slopes = ct.grad(lambda a: ct.vmap(g)(np.ones(3), a).sum())(np.array([0.5, 5.0, 1.0]))
    assert np.array_equal(np.isnan(slopes), [False, True, False])
    assert np.allclose(slopes[::2], 1 / (np.exp(lanes[::2]) * (1 + lanes[::2])))


def test_dtypes_and_wrong_results():
    assert ct.fixed_point(np.cos)(np.float32(1)).dtype == np.float32
    with pytest.raises(ct.SpaceError, match="gives what it does not take"):
        ct.fixed_point(lambda x: np.stack([x, x]))(1.0)
    with pytest.raises(ct.SpaceError, match="floating numbers"):
        ct.fixed_point(ct.id)(np.array([True]))


def test_in_a_function_with_a_closure():
    @ct.function
    def f(a):
        return 2.0 * ct.fixed_point(lambda x: np.cos(a * x))(1.0)

    assert f(1.0) == pytest.approx(2 * DOTTIE, abs=1e-14)
    with ct.use_engine("reference"):
        assert ct.grad(f)(1.0) == pytest.approx(-2 * DOTTIE * np.sin(DOTTIE) / (1 + np.sin(DOTTIE)), rel=1e-13)
