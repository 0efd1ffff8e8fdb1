"""Mistakes that the examples brought to light stay away."""

from __future__ import annotations

import numpy as np

import catad as ct


def test_constructors_outlive_the_modules_they_share_names_with() -> None:
    L = ct.linear.dense(np.ones((2, 3)))
    L.todense(), L.tocsr(), L.as_linear_operator()
    assert ct.linear.dense(np.ones((2, 3))).shape == (2, 3)
    assert all(callable(getattr(ct.linear, name)) for name in ct.linear.__all__)


def test_jacobian_with_a_constant_argument() -> None:
    """A map that reads a constant beside its argument has a column that no input reaches."""
    rng = np.random.default_rng(0)
    W, x = rng.normal(size=(3, 4)), rng.normal(size=(2, 3))
    f = ct.fork(ct.const(x), ct.id) >> ct.matmul >> ct.tanh
    for mode in ("auto", "forward", "reverse"):
        J = ct.jacobian(f, mode)(W).todense()
        np.testing.assert_allclose(J, ct.linearize(f, W)[1].todense(), rtol=1e-13)


def test_products_of_slices_that_do_not_meet() -> None:
    """Inside a chain such a product is zero, and then has no coefficients."""
    bends = ct.fork(ct.slice(0, -2), ct.slice(1, -1), ct.slice(2, None)) >> ct.map(lambda a, b, c: a * b - c)
    f = ct.fork(ct.id, 2.0 * bends) >> ct.concatenate() >> ct.square >> ct.sum()
    x = np.linspace(0.5, 1.5, 9)
    columns = [ct.hvp(f, (x,), (e,)) for e in np.eye(9)]
    np.testing.assert_allclose(ct.hessian(f)(x).todense(), np.stack(columns, axis=1), rtol=1e-12, atol=1e-12)


def test_results_without_axes_are_numpy_scalars() -> None:
    assert isinstance(ct.id(2.0), np.float64) and isinstance(ct.exl(2.0, 3.0), np.float64)
    assert all(isinstance(part, np.float64) for part in ct.inl(ct.f64[()], ct.f64[()])(2.0))
