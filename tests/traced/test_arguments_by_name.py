"""Arguments that `argnums` names: the same derivatives as by their numbers, against central differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import catad as ct

X, RATE = np.array([0.5, 1.5, -1.0]), 0.7


def decay(x: Any, rate: Any, *, steps: float = 2.0) -> Any:
    return np.sum(np.sin(x) * np.exp(-rate * steps))


def rows(x: Any, rate: Any, *, steps: float = 2.0) -> Any:
    return np.sin(x) * np.exp(-rate * steps)


def slope(f: Callable[..., Any], steps: float = 2.0) -> Any:
    h = 1e-6
    return (f(X, RATE + h, steps=steps) - f(X, RATE - h, steps=steps)) / (2 * h)


def test_a_gradient_by_a_name() -> None:
    assert np.allclose(ct.grad(decay, argnums="rate")(X, RATE), slope(decay))
    assert np.allclose(ct.grad(decay, argnums="rate")(X, rate=RATE, steps=3.0), slope(decay, 3.0))
    assert ct.grad(decay, argnums="rate") == ct.grad(decay, argnums=1)
    value, (by_rate, by_x) = ct.value_and_grad(decay, argnums=("rate", "x"))(X, RATE)
    assert np.isclose(value, decay(X, RATE)) and np.allclose(by_rate, slope(decay))
    assert np.allclose(by_x, np.cos(X) * np.exp(-2 * RATE))
    assert np.allclose(ct.grad(decay, argnums=["rate", 0])(X, RATE)[1], by_x)


def test_jacobians_by_a_name() -> None:
    for jacobian in (ct.jacfwd, ct.jacrev):
        assert np.allclose(jacobian(rows, argnums="rate")(X, RATE), slope(rows))
    assert np.allclose(np.asarray(ct.jacobian(rows, argnums="rate")(X, RATE)).ravel(), slope(rows))
    assert np.allclose(np.asarray(ct.hessian(decay, argnums="rate")(X, RATE)), 4 * decay(X, RATE))


def test_names_of_what_is_made_of_functions() -> None:
    f = ct.function(decay)
    assert np.allclose(ct.grad(f, argnums="rate")(X, RATE), slope(decay))
    assert np.allclose(ct.grad(f >> ct.exp, argnums="rate")(X, RATE), slope(decay) * np.exp(decay(X, RATE)))
    fixed = ct.function(lambda n, x, rate: n * decay(x, rate)).bind(n=3)  # numbers of arguments count those that are left
    assert np.allclose(ct.grad(fixed, argnums="rate")(X, RATE), 3 * slope(decay))
    twice = ct.grad(ct.grad(decay, argnums="rate"), argnums="rate")
    assert np.allclose(twice(X, RATE), 4 * decay(X, RATE))


@pytest.mark.parametrize("make", [ct.grad, ct.value_and_grad, ct.jacobian, ct.jacfwd, ct.jacrev, ct.hessian])
def test_names_that_are_not_there(make: Callable[..., Any]) -> None:
    with pytest.raises(ct.ArgumentError, match=r"(?s)the name 'rat'; did you mean 'rate'\?.*one of 'x', 'rate'"):
        make(decay, argnums="rat")
    with pytest.raises(ct.ArgumentError, match=r"(?s)the name 'steps'\n.*one of 'x', 'rate'"):
        make(decay, argnums=("x", "steps"))
    with pytest.raises(ct.ArgumentError, match=r"(?s)no argument with the name 'x'.*no argument by position has a name"):
        make(ct.square >> ct.sum(), argnums="x")
    with pytest.raises(ct.ArgumentError, match=r"argnums is one integer"):
        make(decay, argnums=(0, 1.0))
