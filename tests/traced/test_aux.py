"""`has_aux=True`: a function returns what is differentiated, and something beside it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catad as ct
from tests.traced.trees import alike, direction, jax, jnp

P = {"w": np.array([1.0, 2.0, 3.0]), "b": 0.5}
X = np.array([0.1, 0.2, 0.3])


def model(xp: Any) -> Any:
    def fn(p: Any, x: Any) -> Any:
        h = xp.tanh(p["w"] * x + p["b"])
        return xp.sum(h**2), {"h": h, "list": [x, p["b"] * 2.0]}

    return fn


def plain(p: Any, x: Any) -> Any:
    return model(np)(p, x)[0]


@pytest.mark.skipif(jax is None, reason="JAX is not installed")
def test_as_in_jax() -> None:
    f, g, v = model(np), model(jnp), direction((P, X))
    assert alike(ct.grad(f, has_aux=True)(P, X), jax.grad(g, has_aux=True)(P, X))
    assert alike(ct.grad(f, argnums=(1, 0), has_aux=True)(P, X), jax.grad(g, argnums=(1, 0), has_aux=True)(P, X))
    assert alike(ct.value_and_grad(f, has_aux=True)(P, X), jax.value_and_grad(g, has_aux=True)(P, X))
    assert alike(ct.jvp(f, (P, X), v, has_aux=True), jax.jvp(g, (P, X), v, has_aux=True))
    (y, pullback, aux), (jy, jpullback, jaux) = ct.vjp(f, P, X, has_aux=True), jax.vjp(g, P, X, has_aux=True)
    assert alike((y, aux, pullback(1.0)), (jy, jaux, jpullback(1.0)))


@pytest.mark.parametrize("engine", ["reference", "cpu"])
def test_the_derivatives_are_those_without_aux(engine: str) -> None:
    f, v = model(np), direction((P, X))
    with ct.use_engine(engine):
        gradient, aux = ct.grad(f, has_aux=True)(P, X)
        assert alike(gradient, ct.grad(plain)(P, X)) and alike(aux, f(P, X)[1])
        (y, aux), gradient = ct.value_and_grad(f, has_aux=True)(P, X)
        assert alike((y, gradient, aux), (plain(P, X), ct.grad(plain)(P, X), f(P, X)[1]))
        y, dy, aux = ct.jvp(f, (P, X), v, has_aux=True)
        assert alike((y, dy), ct.jvp(plain, (P, X), v)) and alike(aux, f(P, X)[1])
        y, pullback, aux = ct.vjp(f, P, X, has_aux=True)
        assert alike(pullback(2.0), ct.vjp(plain, P, X)[1](2.0)) and alike(aux, f(P, X)[1])


def test_aux_may_be_anything() -> None:
    f = ct.function(lambda x: (x * x, ("done", None, np.int64(3), {"n": len("abc")}, x > 0)))
    gradient, aux = ct.grad(f, has_aux=True)(2.0)
    assert gradient == 4.0 and aux == ("done", None, 3, {"n": 3}, True)
    assert ct.vjp(f, 2.0, has_aux=True)[2] == aux and ct.jvp(f, (2.0,), (1.0,), has_aux=True)[2] == aux
    assert ct.grad(lambda x: (x * x, "text"), has_aux=True)(2.0) == (4.0, "text")


def test_aux_of_morphisms_and_inside_functions() -> None:
    f = ct.fork(ct.square, ct.exp)
    assert ct.value_and_grad(f, has_aux=True)(0.0) == ((0.0, 1.0), 0.0) and ct.grad(f, has_aux=True)(0.0) == (0.0, 1.0)
    y, pullback, aux = ct.vjp(f, 3.0, has_aux=True)
    assert (y, pullback(1.0), aux) == (9.0, (6.0,), np.exp(3.0))
    assert ct.jvp(f, (3.0,), (1.0,), has_aux=True) == (9.0, 6.0, np.exp(3.0))

    @ct.function
    def outer(x: Any) -> Any:
        gradient, aux = ct.grad(model(np), has_aux=True)(P, x)
        y, pullback, more = ct.vjp(model(np), P, x, has_aux=True)
        return np.sum(gradient["w"]) + np.sum(aux["h"]) + np.sum(pullback(y)[1]) + more["list"][1]

    want = np.sum(ct.grad(plain)(P, X)["w"]) + np.sum(model(np)(P, X)[1]["h"]) + 1.0
    assert np.isclose(outer(X), want + np.sum(ct.vjp(plain, P, X)[1](plain(P, X))[1]))


def test_the_program_runs_the_function_once() -> None:
    f = ct.function(model(np))
    dom = f.at(P, X).dom
    boxes = len(ct.wire(ct.value_and_grad(f.at(P, X) >> ct.exl), dom).boxes)
    assert len(ct.wire(ct.value_and_grad(f.at(P, X), has_aux=True), dom).boxes) <= boxes + 2  # what only aux needs


@pytest.mark.parametrize("fn", [lambda x: x * x, lambda x: (x, x, x), lambda x: [x]])
def test_a_function_without_aux(fn: Any) -> None:
    for call in (
        lambda: ct.grad(fn, has_aux=True)(2.0),
        lambda: ct.value_and_grad(fn, has_aux=True)(2.0),
        lambda: ct.jvp(fn, (2.0,), (1.0,), has_aux=True),
        lambda: ct.vjp(fn, 2.0, has_aux=True),
    ):
        with pytest.raises(ct.SpaceError, match="has_aux=True returns a pair"):
            call()
