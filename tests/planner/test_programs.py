"""Random programs: the Jacobians of all modes agree, with each other and with pushing a basis through."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.planner import plan


def matrix(rng: np.random.Generator, m: int, n: int) -> ct.D:
    return ct.fork(ct.const(rng.standard_normal((m, n))), ct.id) >> ct.einsum("ij,j->i")


def layer(rng: np.random.Generator, n: int) -> tuple[ct.D, int]:
    """A random map from R^n, and the size of its result."""
    kind = rng.integers(11)
    m = int(rng.integers(2, 6))
    x = rng.standard_normal(n)
    if kind == 0:
        return matrix(rng, m, n), m
    if kind == 1:
        return ct.sin, n
    if kind == 2:
        return ct.fork(ct.tanh, matrix(rng, n, n)) >> ct.mul, n
    if kind == 3:
        return ct.fork(ct.id, ct.const(rng.integers(0, n, m))) >> ct.gather, m
    if kind == 4:
        return ct.scan(lambda a, b: a + b, 0.0), n
    if kind == 5:
        return ct.scan(lambda a, b: a * b, 1.0), n
    if kind == 6:
        return ct.flip(), n
    if kind == 7:
        return ct.fork(matrix(rng, n, n), ct.cos) >> ct.sub, n
    if kind == 8:
        return ct.fork(ct.const(x), ct.exp) >> ct.mul, n
    if kind == 9:
        return ct.fork(ct.sin, ct.cos) >> ct.concatenate(), 2 * n
    return ct.pad(1, 1), n + 2


def random_program(seed: int, depth: int) -> tuple[ct.D, Any]:
    rng = np.random.default_rng(seed)
    start = n = int(rng.integers(2, 5))
    f: ct.D = ct.id
    for _ in range(depth):
        made, n = layer(rng, n)
        f = f >> made
    return f, rng.standard_normal(start) / 4


@pytest.mark.quick(12)
@pytest.mark.parametrize("seed", range(60))
def test_modes_agree(seed: int) -> None:
    f, x = random_program(seed, 2 + seed % 6)
    y, linear = ct.linearize(f, x)
    pushed = np.stack([np.asarray(linear(e)) for e in np.eye(x.size)], axis=-1)
    scale = 1 + np.abs(pushed).max()
    for mode in ("auto", "forward", "reverse"):
        jacobian = ct.jacobian(f, mode=mode)(x)
        assert np.shape(y) == np.shape(pushed)[:1]
        np.testing.assert_allclose(jacobian.todense(), pushed, rtol=1e-11, atol=1e-13 * scale)
    planned = plan(f, x, cost="operations")
    assert planned.structure is not None and planned.program is not None
    np.testing.assert_allclose(planned.run(x).todense(), pushed, rtol=1e-11, atol=1e-13 * scale)
    wiring = planned.strategy.execution.wiring
    assert planned.cost.operations == sum(p.cost(wiring.spaces(i), wiring.spaces(o)) for p, i, o in wiring.boxes)
    assert planned.cost.operations <= min(plan(f, x, mode=mode).cost.operations for mode in ("forward", "reverse"))


def test_products_of_spaces() -> None:
    f = ct.fork(ct.mul, ct.exl >> ct.sin, ct.exr >> ct.fold(lambda a, b: a * b, 1.0))
    x = (np.array([0.1, 0.2]), np.array([1.0, 2.0]))
    dense = [ct.jacobian(f, mode)(*x).todense() for mode in ("auto", "forward", "reverse")]
    expected = np.array([[1, 0, 0.1, 0], [0, 2, 0, 0.2], [np.cos(0.1), 0, 0, 0], [0, np.cos(0.2), 0, 0], [0, 0, 2, 1.0]])
    for found in dense:
        np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_hessians() -> None:
    f = ct.map(lambda x: x**3) >> ct.fork(ct.id, ct.flip()) >> ct.mul >> ct.sum()
    x = np.array([1.0, 2.0, 3.0])
    planned = plan(f, ct.f64[3], want="hessian")
    expected = ct.hessian(f)(x).todense()
    np.testing.assert_allclose(planned.run(x).todense(), expected)
    e = 1e-6
    g = ct.grad(f)
    for i, basis in enumerate(np.eye(3)):
        np.testing.assert_allclose(expected[:, i], (g(x + e * basis) - g(x - e * basis)) / (2 * e), rtol=1e-6, atol=1e-6)


def test_spaces_and_values_give_the_same_plan() -> None:
    f = ct.mul >> ct.sin
    by_value = plan(f, np.ones(3), np.ones(3))
    by_space = plan(f, ct.f64[3], ct.f64[3])
    assert by_value == by_space == plan(f, ct.f64[3] * ct.f64[3])
    assert ct.plan is plan


def test_nothing_to_differentiate() -> None:
    with pytest.raises(ct.DerivativeError):
        plan(ct.id, ct.i64[3])


def test_a_long_program() -> None:
    rng = np.random.default_rng(0)
    f = ct.compose(*[matrix(rng, 3, 3) >> ct.tanh for _ in range(200)])
    planned = plan(f, ct.f64[3])
    assert len(planned.factors) == 400 and not planned.exact
    x = rng.standard_normal(3)
    pushed = ct.jvp(f, (x,), (np.ones(3),))[1]
    np.testing.assert_allclose(planned.run(x)(np.ones(3)), pushed, rtol=1e-8, atol=1e-300)
