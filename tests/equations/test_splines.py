"""Splines in traced functions, and `ct.cubic_spline`: SciPy's numbers and errors, derivatives by differences, linear cost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.interpolate import Akima1DInterpolator, CubicSpline, PchipInterpolator

import catad as ct
from catad.testing import check_grads

RNG = np.random.default_rng(3)
T = np.array([-1.0, 0.0, 0.3, 1.7, 2.9, 9.0, np.nan])
ENDS: list[Any] = [
    "not-a-knot", "natural", "clamped", "periodic", ("natural", "not-a-knot"), ("clamped", (1, np.ones(2))),
    ((1, np.ones(2)), (2, np.full(2, 0.5))),
]  # fmt: skip


def data(n: int, bc: Any = None) -> tuple[Any, Any]:
    x, y = np.cumsum(RNG.uniform(0.2, 1.0, n)) - 0.5, RNG.normal(size=(n, 2))
    if bc == "periodic":
        y[-1] = y[0]
    return x, y


def same(f: Any, *args: Any) -> None:
    want, got = f(*args), ct.function(f)(*args)
    assert np.shape(got) == np.shape(want) and np.asarray(got).dtype == np.asarray(want).dtype
    np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("bc", ENDS, ids=str)
@pytest.mark.parametrize("n", [2, 3, 4, 9])
def test_cubic_splines_are_scipy_s(n: int, bc: Any) -> None:
    x, y = data(n, bc)
    same(lambda x, y, t: CubicSpline(x, y, bc_type=bc)(t), x, y, T)
    same(lambda x, y, t: CubicSpline(x, y, bc_type=bc)(t, nu=2), x, y, T)
    same(lambda x, y: CubicSpline(x, y, bc_type=bc).c, x, y)


def everything(x: Any, y: Any, t: Any) -> Any:
    s = CubicSpline(x, y, extrapolate="periodic")
    plain = CubicSpline(x, y)
    parts = [s.derivative()(t), plain.antiderivative(2)(t), plain.derivative(5)(t), plain(t.reshape(-1, 1), 1)[:, 0]]
    ends = [s.integrate(0.1, 7.2), plain.integrate(1.2, -0.4), CubicSpline(x, y, extrapolate=False).integrate(-3.0, 1.0)]
    return np.concatenate([*parts, np.stack(ends)])


def test_derivatives_and_integrals_are_scipy_s() -> None:
    same(everything, *data(6), T)
    x, y = data(5)
    same(lambda x, y, t: CubicSpline(x, y, axis=1)(t.reshape(7, 1)), x, y.T, T)
    same(lambda x, y, t: CubicSpline(x, y, extrapolate=False)(t), x, y, T)
    same(lambda x, y, t: CubicSpline(x, y)(t), x, y[:, 0], 1.2)
    same(lambda x, y, t: CubicSpline(x, y)(t), x, y, np.zeros((0, 2)))


@pytest.mark.parametrize("n", [2, 3, 4, 9])
def test_interpolants_that_keep_the_shape(n: int) -> None:
    x, y = data(n)
    for values in (y, np.round(y), np.zeros_like(y)):
        same(lambda x, y, t: PchipInterpolator(x, y)(t), x, values, T)
        same(lambda x, y, t: Akima1DInterpolator(x, y)(t), x, values, T)
        same(lambda x, y, t: Akima1DInterpolator(x, y, method="makima", extrapolate=True)(t, 1), x, values, T)


def test_splines_from_outside() -> None:
    x, y = data(6)
    spline, other = CubicSpline(x, y), PchipInterpolator(x, y[:, 0])
    slope = spline.derivative()
    same(lambda t: spline(t) + slope(t) + spline(t, 1) + other(t)[:, None], T)
    assert ct.grad(lambda t: other(t))(0.7) == pytest.approx(float(other(0.7, 1)))


@pytest.mark.parametrize("bc", ["not-a-knot", "natural", "clamped", "periodic"])
def test_derivatives_by_points_values_and_arguments(bc: str) -> None:
    x, y = np.array([0.0, 0.9, 1.7, 3.0, 3.9, 5.0]), data(6)[1]

    def f(x: Any, v: Any, t: Any) -> Any:
        values = np.concatenate([v, v[:1]]) if bc == "periodic" else v
        return CubicSpline(x, values, bc_type=bc)(t)

    check_grads(f, x, y[:-1, 0] if bc == "periodic" else y[:, 0], np.array([0.3, 1.1, 4.2]), order=2 if bc == "natural" else 1)


def test_derivatives_of_interpolants_that_keep_the_shape() -> None:
    x, y = np.array([0.0, 0.7, 1.5, 2.0, 3.1]), np.array([0.0, 1.0, 1.2, 2.5, 4.0])
    for kind in (PchipInterpolator, Akima1DInterpolator):
        check_grads(lambda x, y, t, kind=kind: kind(x, y)(t), x, y, np.array([0.3, 1.1, 2.6]), order=1)


def test_the_spline_as_a_morphism() -> None:
    x, y = data(7)
    for bc in ("not-a-knot", ("natural", (1, 2.0))):
        f = ct.cubic_spline(bc_type=bc, nu=1)
        ends = bc if isinstance(bc, str) else ("natural", (1, np.full(2, 2.0)))
        for engine in ("reference", "cpu"):
            with ct.use_engine(engine):
                np.testing.assert_allclose(f(x, y, T), CubicSpline(x, y, bc_type=ends)(T, 1), rtol=1e-11, atol=1e-11)
        assert eval(repr(f)) == f
    rows = ct.vmap(ct.cubic_spline(), in_axes=(None, 1, None))(x, y, T)
    np.testing.assert_allclose(rows, CubicSpline(x, y)(T).T, rtol=1e-12)

    @ct.function
    def looped(y: Any) -> Any:
        t = 0.5
        for _ in range(30):
            t = t + 0.05 * np.sin(CubicSpline(x, y)(t))
        return t

    h, v = 1e-6, y[:, 0]
    slope = [(looped(v + h * e) - looped(v - h * e)) / (2 * h) for e in np.eye(7)]
    np.testing.assert_allclose(ct.grad(looped)(v), slope, rtol=1e-6, atol=1e-8)


def test_the_cost_is_linear() -> None:
    n = 20_000
    x, y = np.arange(float(n)), RNG.normal(size=n)
    L = ct.linearize(lambda y: ct.cubic_spline()(x, y, x[:-1] + 0.5), y)[1]
    assert L.stored < 200 * n
    v = RNG.normal(size=n)
    np.testing.assert_allclose(L(v), CubicSpline(x, v)(x[:-1] + 0.5), rtol=1e-9, atol=1e-10)


BAD: list[tuple[Any, ...]] = [
    ([0.0, 1.0, 1.0], [1.0, 2.0, 3.0], "natural"),
    ([0.0, 1.0, np.nan], [1.0, 2.0, 3.0], "natural"),
    ([0.0, 1.0, 2.0], [1.0, 2.0], "natural"),
    ([0.0], [1.0], "natural"),
    ([0.0, 1.0], [1.0, np.inf], "natural"),
    ([0.0, 1.0], [1.0, 2.0], "other"),
    ([0.0, 1.0], [1.0, 2.0], "periodic"),
    ([0.0, 1.0], [1.0, 2.0], ("natural", "periodic")),
    ([0.0, 1.0], [1.0, 2.0], ((3, 0.0), "natural")),
    ([0.0, 1.0], [1.0, 2.0], ((1, [0.0, 1.0]), "natural")),
]


@pytest.mark.parametrize(("x", "y", "bc"), BAD)
def test_errors_are_scipy_s(x: Any, y: Any, bc: Any) -> None:
    with pytest.raises(ValueError) as want:
        CubicSpline(x, y, bc_type=bc)
    with pytest.raises(ValueError) as got:
        ct.function(lambda t: CubicSpline(x, y, bc_type=bc)(t))(T)
    assert str(got.value).split("\n")[0].split() == str(want.value).split()


def test_what_is_refused() -> None:
    x, y = data(4)
    assert np.isnan(ct.cubic_spline()(x[::-1], y, T)).all()
    with pytest.raises(ct.TraceError, match="real values"):
        ct.function(lambda z: CubicSpline(x, z)(T))(y + 1j)
    with pytest.raises(ct.TraceError, match="has no roots"):
        ct.function(lambda y: CubicSpline(x, y).roots())(y)
    with pytest.raises(ct.SpaceError, match="no spline"):
        ct.cubic_spline()(x, y[:-1], T)
    for options in ({"bc_type": "other"}, {"bc_type": ("natural", "periodic")}, {"nu": -1}, {"extrapolate": 3}):
        with pytest.raises(ct.ArgumentError):
            ct.cubic_spline(**options)
