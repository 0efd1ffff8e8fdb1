"""Derivatives of integrals: Leibniz's rule of any order, closures, loops, batches."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.integrate

import catad as ct
from catad.testing import check_grads

INF = np.inf


def leibniz(x: float, k: float) -> Any:
    return np.exp(-k * x) * np.sin(x + k)


@pytest.mark.parametrize("ends", [(0.2, 1.7), (1.7, -0.4)])
def test_derivatives_are_leibniz_s_rule(ends: tuple[float, float]) -> None:
    q, k = ct.quad(leibniz), 0.8
    slopes = ct.grad(q)(*ends, k)
    by_k = scipy.integrate.quad(lambda x: np.exp(-k * x) * (np.cos(x + k) - x * np.sin(x + k)), *ends)[0]
    np.testing.assert_allclose(slopes, (-leibniz(ends[0], k), leibniz(ends[1], k), by_k), rtol=1e-12)
    check_grads(q, *ends, k, order=1)


def test_second_and_third_derivatives() -> None:
    q, k, ends = ct.quad(leibniz), 0.8, (0.2, 1.7)
    whole = ct.function(lambda v: q(v[0], v[1], v[2]))
    point = np.array([*ends, k])
    hessian = np.asarray(ct.hessian(whole)(point))
    np.testing.assert_allclose(hessian, hessian.T, rtol=1e-12, atol=1e-13)
    for j in range(3):
        one = np.eye(3)[j] * 1e-5
        column = (ct.grad(whole)(point + one) - ct.grad(whole)(point - one)) / 2e-5
        np.testing.assert_allclose(hessian[:, j], column, rtol=1e-7, atol=1e-8)
    third = ct.grad(ct.grad(ct.grad(lambda k: q(0.0, 1.0, k))))(k)
    with mpmath.workdps(30):
        def exact(k: Any) -> Any:
            return mpmath.quad(lambda x: mpmath.exp(-k * x) * mpmath.sin(x + k), [0, 1])

        assert abs(third - mpmath.diff(exact, k, 3)) < 1e-8


def test_an_end_beside_a_jump_has_the_derivative_of_the_integral() -> None:
    q = ct.quad(lambda x: np.where(x < 0.3, 5.0, 1.0), points=[0.3])
    np.testing.assert_array_equal(ct.grad(q)(0.1, 0.9), (-5.0, 1.0))
    assert abs(q(0.1, 0.9) - 1.6) < 1e-12


def test_an_infinite_end_does_not_move() -> None:
    q = ct.quad(lambda x, k: np.log(x) * np.exp(-k * x))
    slopes = ct.grad(q)(1.5, INF, 2.0)
    assert slopes[1] == 0.0 and abs(slopes[0] + np.log(1.5) * np.exp(-3.0)) < 1e-15
    want = scipy.integrate.quad(lambda x: -x * np.log(x) * np.exp(-2.0 * x), 1.5, INF)[0]
    np.testing.assert_allclose(slopes[2], want, rtol=1e-7)


def test_forward_and_reverse_agree() -> None:
    q = ct.quad(lambda x, w: np.tanh(w * x) * np.array([1.0, 2.0]))
    point, v, u = (0.1, 0.9, np.array([0.5, 2.0])), (0.3, -0.7, np.array([1.1, 0.4])), np.array([0.6, -1.3])
    _, moved = ct.jvp(q, point, v)
    _, pulled = ct.vjp(q, *point)
    back = pulled(u)
    assert moved @ u == pytest.approx(back[0] * v[0] + back[1] * v[1] + back[2] @ v[2], rel=1e-13)


def test_functions_read_the_values_around_them() -> None:
    @ct.function
    def f(k: Any, n: Any) -> Any:
        g = np.tanh(n)
        return ct.quad(lambda x: np.exp(-k * x) * g)(0.0, n)

    def want(k: float, n: float) -> Any:
        return np.tanh(n) * (1.0 - np.exp(-k * n)) / k

    assert f(2.0, 3.0) == pytest.approx(want(2.0, 3.0))
    check_grads(f, 2.0, 0.7, order=1)


def test_loops_and_integrals_of_integrals() -> None:
    @ct.function
    def stepped(k: Any) -> Any:
        s = 0.0
        for _ in range(40):
            s = s + 0.1 * ct.quad(lambda x, s: np.sin(k * x + s))(0.0, 1.0, s)
        return s

    def by_hand(k: float) -> float:
        s = 0.0
        for _ in range(40):
            s += 0.1 * (np.cos(s) - np.cos(k + s)) / k
        return s

    assert stepped(2.0) == pytest.approx(by_hand(2.0))
    assert ct.grad(stepped)(2.0) == pytest.approx((by_hand(2.0 + 1e-6) - by_hand(2.0 - 1e-6)) / 2e-6, rel=1e-7)
    double = ct.quad(lambda y, k: ct.quad(lambda x: np.exp(k * x) * y)(0.0, y))
    want = scipy.integrate.dblquad(lambda x, y: np.exp(0.5 * x) * y, 0.0, 2.0, 0.0, lambda y: y)[0]
    assert double(0.0, 2.0, 0.5) == pytest.approx(want, rel=1e-8)


def test_each_lane_has_its_own_intervals() -> None:
    ends = np.array([0.0, 0.5, 1.3, 2.9, INF])
    q = ct.quad(lambda x, k: abs(np.sin(5.0 * x)) * np.exp(-k * x))
    made = ct.vmap(q, in_axes=(None, 0, None))(0.0, ends, 1.5)
    for end, value in zip(ends, made, strict=True):
        assert value == pytest.approx(q(0.0, end, 1.5), rel=1e-13, abs=1e-15)
    slopes = ct.vmap(ct.grad(q, argnums=(1, 2)), in_axes=(None, 0, None))(0.0, ends, 1.5)
    for k, end in enumerate(ends):
        np.testing.assert_allclose([slope[k] for slope in slopes], ct.grad(q, argnums=(1, 2))(0.0, end, 1.5), rtol=1e-9)
    jagged = ct.grad(lambda k: np.sum(ct.vmap(lambda b: ct.quad(lambda x: np.cos(k * x))(0.0, b))(ends[:4])))(2.0)
    own = [ct.grad(lambda k, b=b: ct.quad(lambda x: np.cos(k * x))(0.0, b))(2.0) for b in ends[:4]]
    assert jagged == pytest.approx(sum(own))
