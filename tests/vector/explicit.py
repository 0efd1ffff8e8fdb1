"""Every way to a derivative of a morphism on one float64 array, against central differences written out entry by entry."""

from __future__ import annotations

from typing import Any

import numpy as np

import catad as ct

MODES = ("auto", "forward", "reverse")


def differences(f: Any, x: Any, h: float = 1e-5) -> Any:
    """The matrix of central differences, rows for the result and columns for the argument."""
    columns = []
    for k in range(x.size):
        step = np.zeros(x.size)
        step[k] = h
        up, down = f(x + step.reshape(x.shape)), f(x - step.reshape(x.shape))
        columns.append((np.asarray(up) - np.asarray(down)).reshape(-1) / (2 * h))
    return np.stack(columns, axis=1) if columns else np.zeros((np.size(f(x)), 0))


def check_derivatives(f: ct.D, x: Any, order: int = 2) -> None:
    """jvp, vjp, linearize and the Jacobian in every mode; at order 2 the Hessian of the sum of cubes in every mode."""
    matrix = differences(f, x)
    rng = np.random.default_rng(x.size)
    v, w = rng.standard_normal(x.shape), rng.standard_normal(np.shape(f(x)))
    bound = 1e-8 * (1.0 + np.abs(matrix).max(initial=0.0)) * (1 + x.size)
    y, dy = ct.jvp(f, (x,), (v,))
    assert np.array_equal(y, f(x))
    assert np.allclose(dy.reshape(-1), matrix @ v.reshape(-1), rtol=0, atol=bound), f
    (dx,) = ct.vjp(f, x)[1](w)
    assert np.allclose(dx.reshape(-1), w.reshape(-1) @ matrix, rtol=0, atol=bound), f
    _, linear = ct.linearize(f, x)
    assert np.allclose(linear.todense().reshape(matrix.shape), matrix, rtol=0, atol=bound), f
    for mode in MODES:
        J = ct.jacobian(f, mode)(x)
        assert np.allclose(J.todense().reshape(matrix.shape), matrix, rtol=0, atol=bound), (f, mode)
    if order < 2:
        return
    total = f >> ct.map(lambda t: t * t * t) >> ct.sum()
    gradient = ct.grad(total)
    second = differences(gradient, x)
    bound = 1e-7 * (1.0 + np.abs(second).max(initial=0.0)) * (1 + x.size)
    for mode in MODES:
        H = ct.hessian(total, mode)(x).todense().reshape(second.shape)
        assert np.allclose(H, second, rtol=0, atol=bound), (f, mode)
    assert np.allclose(ct.hvp(total, (x,), (v,)).reshape(-1), second @ v.reshape(-1), rtol=0, atol=bound), f
