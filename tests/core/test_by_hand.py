"""`ct.D(fn)`: morphisms by hand, traced where they can be, opaque where not."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special

import catad as ct
from catad.category.wiring import wire
from catad.derivative.functors import fused
from catad.errors.notices import forget

X = np.array([0.5, 1.0, 2.0])
square = ct.D(lambda x: (x * x, ct.scale(2 * x)))
exp = ct.D(lambda x: (lambda y: (y, ct.scale(y)))(ct.exp(x)))


def test_values_and_derivatives() -> None:
    assert np.array_equal(square(X), X * X)
    assert np.array_equal(ct.jvp(square, (X,), (X,))[1], 2 * X * X)
    f = square >> exp >> ct.sum()
    assert np.allclose(ct.grad(f)(X), 2 * X * np.exp(X**2), rtol=1e-14)
    assert np.allclose(ct.hessian(f)(X).todense(), np.diag((2 + 4 * X**2) * np.exp(X**2)), rtol=1e-14)
    third = ct.grad(ct.grad(ct.grad(exp)))
    assert np.isclose(third(0.5), np.exp(0.5), rtol=1e-15)


@pytest.mark.numpy_only
def test_the_exponential_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = {"exp": 0}
    real = np.exp

    def counted(*args: Any, **kwargs: Any) -> Any:
        counts["exp"] += 1
        return real(*args, **kwargs)

    f = ct.D(lambda x: (lambda y: (y, ct.scale(y)))(ct.exp(x)))
    monkeypatch.setattr(np, "exp", counted)
    with ct.use_engine("reference"):  # the engine whose calls of NumPy can be counted
        y, linear = ct.linearize(f, X)
        assert counts["exp"] == 1 and np.array_equal(y, linear.todense().diagonal())
        ct.vjp(f, X)[1](X)
        ct.jvp(f, (X,), (X,))
    assert counts["exp"] == 3


def test_the_given_derivative_is_the_one_that_is_used() -> None:
    """A derivative that is wrong on purpose shows at every order: nothing differentiates the value behind its back."""
    wrong = ct.D(lambda x: (x * x, ct.scale(7.0 * x)))
    assert ct.grad(wrong)(3.0) == 21.0
    assert ct.grad(ct.grad(wrong))(3.0) == 7.0
    assert ct.jvp(ct.tangent(wrong), ((3.0, 1.0),), ((1.0, 0.0),)) == ((9.0, 21.0), (21.0, 7.0))


def test_it_fuses_with_its_neighbours() -> None:
    f = ct.sin >> square >> ct.cos
    from catad.engine.program import Program

    assert len(Program(wire(f, ct.f64[3])).reference.steps) == 1
    assert len(fused(f, ct.f64[3]).boxes) >= 1


def test_branches_are_refused_where_a_map_should_be() -> None:
    f = ct.D(lambda x: (x if x > 0 else -x, ct.scale(x)))
    with pytest.raises(ct.ScalarError, match="has no truth value while"):
        f(np.float64(1.0))


def opaque(x: Any) -> Any:
    return np.asarray([float(v) ** 2 for v in x]), ct.scale(2 * np.asarray(x))


@pytest.mark.numpy_only
def test_opaque_code_has_first_derivatives() -> None:
    f = ct.sin >> ct.D(opaque) >> ct.sum()
    assert np.allclose(f(X), np.sum(np.sin(X) ** 2))
    assert np.allclose(ct.grad(f)(X), 2 * np.sin(X) * np.cos(X))
    assert np.allclose(ct.jvp(f, (X,), (X,))[1], np.sum(2 * np.sin(X) * np.cos(X) * X))
    with pytest.raises(ct.DerivativeError, match="could not be traced"):
        ct.hvp(f, (X,), (X,))


@pytest.mark.numpy_only
def test_code_may_call_universal_functions_that_catad_does_not_know() -> None:
    f = ct.D(lambda x: (special.i0(x), ct.scale(special.i1(x))))
    with pytest.warns(ct.CatadNotice, match=r"special\.i0\(x\) takes arrays only"):
        assert np.array_equal(f(X), special.i0(X))
    assert np.allclose(ct.grad(f >> ct.sum())(X), special.i1(X))
    with pytest.raises(ct.ScalarError, match="not a function that the scalar language knows"):
        ct.D(lambda x: (ct.map(special.i0)(x), ct.scale(x)))(X)


@pytest.mark.numpy_only
def test_opaque_code_is_mapped_one_by_one() -> None:
    f = ct.map(ct.D(opaque))
    x = np.stack([X, 2 * X])
    assert np.allclose(f(x), x**2)
    assert np.allclose(ct.vjp(f, x)[1](x)[0], 2 * x * x)


@pytest.mark.numpy_only
def test_opaque_code_that_changes_its_structure() -> None:
    def fickle(x: Any) -> Any:
        x = np.asarray([float(v) for v in x])
        return x, (ct.scale(x) if x[0] == X[0] else ct.linear.dense(np.diag(x)))

    f = ct.D(fickle)
    assert f(X).shape == (3,)
    with pytest.raises(ct.SpaceError, match="changed its result's space or its linear map's structure"):
        ct.linearize(f, X + 1)


def test_several_factors_and_several_results() -> None:
    def polar(p: Any) -> Any:
        r, t = p
        c, s = ct.cos(t), ct.sin(t)
        grid = ct.linear.block(
            [[ct.scale(c), ct.scale(-r * s)], [ct.scale(s), ct.scale(r * c)]],
            ct.f64[()] * ct.f64[()],
            ct.f64[()] * ct.f64[()],
        )
        return (r * c, r * s), grid

    f = ct.D(polar)
    assert np.allclose(f(2.0, 0.3), (2 * np.cos(0.3), 2 * np.sin(0.3)))
    want = ct.jacobian(ct.map(lambda r, t: (r * np.cos(t), r * np.sin(t))))(2.0, 0.3).todense()
    assert np.allclose(ct.jacobian(f)(2.0, 0.3).todense(), want, rtol=1e-15)
    assert np.allclose(ct.vjp(f, 2.0, 0.3)[1]((1.0, 0.0)), want[0])
    batch = (np.array([1.0, 2.0]), np.array([0.1, 0.2]))
    assert np.allclose(
        ct.jvp(ct.map(f), batch, batch)[1][0], batch[0] * np.cos(batch[1]) - batch[0] * batch[1] * np.sin(batch[1])
    )


def test_a_linear_map_from_a_python_number() -> None:
    f = ct.D(lambda x: (3.0 * x, ct.scale(3.0)))
    assert ct.grad(f)(2.0) == 3.0


def inverse(a: Any) -> Any:
    b = np.linalg.inv(a)
    return b, ct.linear.dense(-np.einsum("ik,lj->ijkl", b, b), ct.f64[2, 2])


@pytest.mark.numpy_only
def test_code_that_cannot_be_traced_is_called_at_the_point() -> None:
    """`inv` has no value where all entries are equal; a notice names the operation."""
    forget()
    a, v = np.array([[2.0, 1.0], [0.0, 3.0]]), np.array([[0.3, -1.0], [0.5, 0.2]])
    uses: list[Callable[[ct.D], Any]] = [
        lambda f: f(a),
        lambda f: (ct.exp >> f)(np.log(a + 1)),
        lambda f: ct.grad(f >> ct.sum())(a),
        lambda f: ct.linearize(f, a),
        lambda f: ct.jvp(f, (a,), (v,)),
        lambda f: ct.tangent(f)(a, v),
        lambda f: ct.reverse_differential(f)(a, v),
        lambda f: ct.map(f)(np.stack([a, a])),
        lambda f: ct.grad(ct.checkpoint(f) >> ct.sum())(a),
        lambda f: ct.iterate(f, 3)(a),
        lambda f: ct.grad(ct.iterate(f, 4, memory=1) >> ct.sum())(a),
        lambda f: (ct.times(2.0) >> ct.checkpoint(ct.exp >> f))(a),
    ]
    for use in uses:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ct.CatadNotice)
            use(ct.D(lambda x: inverse(x)))
    with pytest.warns(ct.CatadNotice, match=r"in which np\.linalg\.inv\(a\) takes arrays only"):
        value = ct.D(inverse)(a)
    assert np.allclose(value @ a, np.eye(2))
    assert np.allclose(ct.jvp(ct.D(inverse), (a,), (v,))[1], -value @ v @ value)
    with pytest.raises(ct.SpaceError, match="call the morphism at a point first"):
        ct.D(lambda x: inverse(x)).spaces(ct.f64[2, 2])
