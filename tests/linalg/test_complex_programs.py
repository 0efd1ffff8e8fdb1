"""Programs on complex numbers run as they stand: NumPy's numbers, and gradients by differences."""

from __future__ import annotations

import cmath
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import catad as ct
from tests.linalg.test_complex_functions import differences, same

RNG = np.random.default_rng(7)


def drawn(*shape: int) -> Any:
    return RNG.normal(size=shape) + 1j * RNG.normal(size=shape)


def check(f: Callable[..., Any], *args: Any) -> None:
    same(ct.function(f)(*[one.copy() if isinstance(one, np.ndarray) else one for one in args]), f(*args))


def check_gradient(loss: Callable[[Any], Any], z: Any) -> None:
    got, want = ct.grad(loss)(z), differences(lambda z, w: loss(z), z, None)
    assert got.dtype == z.dtype and got.shape == z.shape
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6 * max(1.0, np.max(np.abs(want))))


# -- programs


def mandelbrot(c: Any, most: int = 20, horizon: float = 2.0) -> Any:
    z = np.zeros(c.shape, dtype=np.complex128)
    n = np.zeros(c.shape, dtype=np.int64)
    for k in range(most):
        inside = np.less(abs(z), horizon)
        n[inside] = k
        z[inside] = z[inside] ** 2 + c[inside]
    n[n == most - 1] = 0
    return z, n


def escape(c: Any) -> Any:
    z, k = 0, 0
    while abs(z) < 2.0 and k < 50:
        z = z * z + c
        k += 1
    return z, k


def contour(z0: Any, n: int = 64) -> Any:
    """The value of exp at z0 by Cauchy's integral around it."""
    t = 2 * np.pi * np.arange(n) / n
    gamma = 2.0 * np.exp(1j * t)
    return np.sum(np.exp(gamma) / (gamma - z0) * gamma) / n


def contour_by_steps(z0: Any, n: int = 40) -> Any:
    total = 0j
    for k in range(n):
        zeta = 2 * cmath.exp(2j * cmath.pi * k / n)
        total += cmath.exp(zeta) / (zeta - z0) * zeta
    return total / n


def stockham(x: Any, levels: int) -> Any:
    """The Fourier transform of 2**levels numbers, radix 2, with the entries in order (T. G. Stockham, 1966)."""
    y = x.reshape(-1, 1)
    for _ in range(levels):
        half = y.shape[0] // 2
        twiddle = np.exp(-1j * np.pi * np.arange(y.shape[1]) / y.shape[1])
        even, odd = y[:half], y[half:] * twiddle
        y = np.concatenate([even + odd, even - odd], axis=1)
    return y.reshape(-1)


def stockham_in_place(x: Any, levels: int) -> Any:
    y = x.copy()
    n = len(x)
    for level in range(levels):
        s, half = 2**level, n // 2
        out = np.empty_like(y)
        for p in range(n // (2 * s)):
            for q in range(s):
                a, b = y[q + s * p], y[q + s * p + half]
                w = np.exp(-1j * np.pi * q / s)
                out[q + 2 * s * p] = a + w * b
                out[q + 2 * s * p + s] = a - w * b
        y = out
    return y


def split_step(psi: Any, steps: int = 30) -> Any:
    n = len(psi)
    k = np.concatenate([np.arange(n // 2), np.arange(-n // 2, 0)]) * 2 * np.pi / n
    x = np.arange(n) - n / 2
    F = np.exp(-2j * np.pi * np.outer(np.arange(n), np.arange(n)) / n) / np.sqrt(n)
    half, full = np.exp(-0.5j * 0.05 * 0.02 * x**2), np.exp(-0.5j * 0.05 * k**2)
    for _ in range(steps):
        psi = half * psi
        psi = F.conj().T @ (full * (F @ psi))
        psi *= half
    return psi


A = drawn(4, 4)
B = drawn(4)


def quadratic(z: Any) -> Any:
    r = A @ z - B
    return np.vdot(r, r).real


def by_entries(z: Any) -> Any:
    """A recursion along an array, written into."""
    y = np.zeros_like(z)
    y[0] = z[0]
    for k in range(1, len(z)):
        y[k] = 0.5 * y[k - 1] + 1j * z[k]
        y[k] += y[k - 1] * 0.1j
    return y


def appended(z: Any) -> Any:
    rows = []
    s = z[0] * 0
    for one in z:
        s = s * 0.5 + one**2
        rows.append(s)
    return np.array(rows)


def over_rows(m: Any) -> Any:
    s = np.zeros(m.shape[1], dtype=complex)
    for k, row in enumerate(m):
        s = s * 1j + row / (k + 1)
    return s


def branches(z: Any) -> Any:
    w = z[0]
    if w.real > 0:
        y = w * 1j
        t = 1.0
    else:
        y = w.imag
        t = 2j
    return y * t + (z[1] if abs(z[1]) > 1 else 0.5)


def parts(z: Any) -> Any:
    y = z.copy()
    y.real[1:] = 2.0
    y.imag = y.real * 3
    y[::2] *= 1j
    y[1] -= 4
    y.real += y.imag
    return y


def starts_real(z: Any) -> Any:
    s = 1.0
    for k in range(30):
        s = s * (z[0] + 0.01 * k)
    return s


C = drawn(3, 5) * 0.7
PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "mandelbrot": (mandelbrot, (C,)),
    "escape": (escape, (0.3 + 0.5j,)),
    "escape of none": (escape, (-0.2 + 0.1j,)),
    "contour": (contour, (0.3 - 0.2j,)),
    "contour by steps": (contour_by_steps, (0.3 - 0.2j,)),
    "stockham": (lambda x: stockham(x, 5), (drawn(32),)),
    "stockham in place": (lambda x: stockham_in_place(x, 4), (drawn(16),)),
    "split step": (split_step, (drawn(16),)),
    "quadratic": (quadratic, (drawn(4),)),
    "by entries": (by_entries, (drawn(40),)),
    "by few entries": (by_entries, (drawn(5),)),
    "appended": (appended, (drawn(30) * 0.5,)),
    "few appended": (appended, (drawn(3),)),
    "over rows": (over_rows, (drawn(25, 3),)),
    "over few rows": (over_rows, (drawn(4, 3),)),
    "branches": (branches, (np.array([1 + 2j, 3 - 1j]),)),
    "other branches": (branches, (np.array([-1 + 2j, 0.3 - 0.1j]),)),
    "parts": (parts, (drawn(6),)),
    "starts real": (starts_real, (np.array([0.9 + 0.1j]),)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_give_numpys_numbers(name: str) -> None:
    check(PROGRAMS[name][0], *PROGRAMS[name][1])


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_of_programs(name: str) -> None:
    f, (z,) = PROGRAMS[name]

    def loss(z: Any) -> Any:
        y = f(z)
        y = y[0] if isinstance(y, tuple) else y
        return np.sum(y.real * 0.5 + np.cos(y.imag)) if np.iscomplexobj(y) else y

    check_gradient(loss, np.asarray(z))


def test_a_transform_is_numpys() -> None:
    x = drawn(64)
    np.testing.assert_allclose(ct.function(lambda x: stockham(x, 6))(x), np.fft.fft(x), rtol=1e-12, atol=1e-12)


def test_an_argument_stays_as_it_is() -> None:
    z = drawn(6)
    before = z.copy()
    ct.function(parts)(z)
    assert np.array_equal(z, before)


def test_strided_and_other_arguments() -> None:
    z = drawn(8, 6)
    f = ct.function(lambda z: z * 2 + z.conj() * 1j)
    for one in (z[::2, ::-1], z.T, np.asfortranarray(z), z[:0], z[0, 0], z.astype(">c16"), complex(z[0, 0]), z[:1, :1]):
        same(f(one), one * 2 + np.conj(one) * 1j)
    for _ in range(3):
        same(f(z), z * 2 + z.conj() * 1j)


def test_results_and_constants_of_outside() -> None:
    w = np.array([1j, 2.0])
    f = ct.function(lambda x: {"a": w * x, "b": 1j, "c": w, "d": (x + 0j).real})
    got = f(np.array([1.0, 3.0]))
    same(got["a"], np.array([1j, 6.0]))
    assert got["b"] == 1j and np.array_equal(got["c"], w) and got["c"] is not w
    w[0] = 5
    with pytest.raises(ct.TraceError, match="w"):
        f(np.array([1.0, 3.0]))


FACTOR = 1j


def test_a_complex_number_of_outside_that_changes() -> None:
    global FACTOR
    f = ct.function(lambda x: FACTOR * x)
    assert f(2.0) == 2j
    FACTOR = 3j
    try:
        with pytest.raises(ct.TraceError):
            f(2.0)
        assert ct.function(lambda x: FACTOR * x)(2.0) == 6j
    finally:
        FACTOR = 1j


# -- derivatives


def test_derivatives_by_all_names() -> None:
    z, w = drawn(4), drawn(4)
    value, g = ct.value_and_grad(quadratic)(z)
    assert np.isclose(value, quadratic(z)) and np.allclose(g, 2 * A.conj().T @ (A @ z - B))
    y, dy = ct.jvp(lambda z: z**2, (z,), (w,))
    assert np.allclose(y, z**2) and np.allclose(dy, 2 * z * w)
    y, back = ct.vjp(lambda z: z**2, z)
    assert np.allclose(back(w)[0], np.conj(2 * z) * w)
    f = ct.function(lambda a, z: np.sum(abs(a * z) ** 2))
    assert np.allclose(ct.grad(f, argnums=1)(2.0, z), 8 * z)
    assert np.isclose(ct.grad(f, argnums=0)(2.0, z), 4 * np.sum(abs(z) ** 2))
    assert np.isclose(ct.grad(lambda a: abs(a) ** 2)(1 + 2j), 2 + 4j)
    g = ct.grad(lambda p: np.sum(abs(p["z"] * p["x"]) ** 2))({"z": z, "x": np.ones(4)})
    assert np.allclose(g["z"], 2 * z) and g["x"].dtype == float
    h = ct.hvp(quadratic, (z,), (w,))
    assert np.allclose(h, 2 * A.conj().T @ (A @ w))


def test_maps_over_an_axis() -> None:
    m = drawn(5, 4)
    assert np.allclose(ct.vmap(quadratic)(m), [quadratic(row) for row in m])
    assert np.allclose(ct.vmap(lambda z, s: z * s, in_axes=(1, None))(m, 1j), m.T * 1j)
    assert np.allclose(ct.vmap(ct.grad(quadratic))(m), [ct.grad(quadratic)(row) for row in m])


def test_jacobians_have_parts() -> None:
    z = drawn(3)
    J = ct.jacobian(lambda z: z**2)(z)
    blocks = J.blocks()
    whole = blocks.real.real.todense() + 1j * blocks.imag.real.todense()
    assert np.allclose(whole, np.diag(2 * z))
    assert np.allclose(blocks.real.imag.todense(), -blocks.imag.real.todense())  # Cauchy-Riemann
    real = ct.jacobian(lambda z: abs(z) ** 2)(z).blocks()
    assert np.allclose(real.real.todense(), np.diag(2 * z.real)) and np.allclose(real.imag.todense(), np.diag(2 * z.imag))
    assert np.allclose(ct.jacrev(lambda z: abs(z) ** 2)(z), np.diag(2 * z))


def test_gradients_inside_functions() -> None:
    z = drawn(4)

    def norm_of_gradient(z: Any) -> Any:
        return np.sum(abs(ct.grad(quadratic)(z)) ** 2)

    check_gradient(norm_of_gradient, z)


def test_laws_of_derivatives() -> None:
    f = ct.function(lambda x, y: np.sum(abs(np.exp(x + 1j * y) / (1 + (x - 1j * y) ** 2)) ** 2))
    ct.testing.check_grads(f, np.array([0.3, -0.4]), np.array([0.2, 1.1]), order=2)


def hostile(z: Any, x: Any) -> Any:
    """Writes through views, masks, `out=`, and mixed dtypes."""
    y = z.copy()
    y[:] = y[::-1].conj()
    y[abs(y) > 1] *= 2
    y[y.real > 0] += 1j
    y[[0, 2]] -= x[:2]
    v = y[::2]
    v *= 0.5j
    y.reshape(2, 3)[1, 0] = 5
    np.add.at(y, [0, 0, 1], z[:3])
    out = np.empty(6, dtype=np.complex128)
    np.multiply(y, 2j, out=out)
    r = np.zeros(6)
    np.abs(out, out=r)
    q, p = np.meshgrid(z, x)
    return y, out, r, q * p, np.sum(z, initial=1j), np.add.outer(z, x), p


def test_writes_views_and_options() -> None:
    z, x = drawn(6), np.arange(6.0)
    same(ct.function(hostile)(z, x), hostile(z, x))
    check_gradient(lambda z: sum([np.sum(abs(one) ** 2) for one in hostile(z, x)]), z)


@pytest.mark.parametrize("name", ["exp", "sqrt", "log", "sin", "cos", "tan", "sinh", "cosh", "tanh", "log10", "phase", "isnan"])
def test_cmath(name: str) -> None:
    f = getattr(cmath, name)
    for z in (0.3 - 1.2j, -2.0 + 0j, -0.5):
        assert np.isclose(ct.function(lambda z: f(z))(z), f(z), rtol=1e-14)


def test_more_of_cmath() -> None:
    def f(z: Any, x: Any) -> Any:
        return cmath.log(z, 2), *cmath.polar(z), cmath.rect(x, 2.0), cmath.sqrt(-1), complex(x, 3.0) * 2, isinstance(z, complex)

    assert np.allclose(ct.function(f)(1 + 2j, -2.0), f(1 + 2j, -2.0))
    with pytest.raises(TypeError):
        ct.function(lambda z: float(z))(1j)


def test_narrow_numbers_and_truth_values() -> None:
    """NumPy's promotion: complex64 beside small integers and float32, complex128 beside others; Python numbers are weak."""
    z = drawn(4).astype(np.complex64)
    for x in (np.arange(4).astype(kind) for kind in (np.int8, np.int16, np.int32, np.int64, bool, np.float32, np.float64)):
        for f in (lambda z, x: z * x, lambda z, x: x + 2j, lambda z, x: x * np.complex64(1j), lambda z, x: z * 2.0 + 1j * x):
            got, want = ct.function(f)(z, x), f(z, x)
            assert got.dtype == want.dtype, (x.dtype, got.dtype, want.dtype)
            np.testing.assert_allclose(got, want, rtol=1e-6)


def test_empty_and_single() -> None:
    def f(z: Any) -> Any:
        return z.sum(), z * 2, z.prod(), abs(z), np.cumsum(z), np.cumprod(z), np.vdot(z, z), z.conj() @ z

    for z in (drawn(0), drawn(1)):
        same(ct.function(f)(z), f(z))


# -- errors


@pytest.mark.parametrize(
    ("f", "said"),
    [
        (lambda z: np.unique(z), "np.unique"),
        (lambda z: np.floor(z), "floor"),
        (lambda z: z % 2, "remainder"),
        (lambda z: np.cbrt(z), "cbrt"),
        (lambda z: np.arange(3.0)[z], "index"),
        (lambda z: np.fix(z), "fix"),
    ],
)
def test_what_has_no_meaning_is_named(f: Callable[[Any], Any], said: str) -> None:
    with pytest.raises((TypeError, IndexError), match=said):
        ct.function(f)(drawn(3))


def test_a_complex_loss_is_refused() -> None:
    with pytest.raises(ct.DerivativeError, match=r"a complex result, ct.c128\[\(\)\]"):
        ct.grad(lambda z: np.sum(z))(drawn(3))


def test_a_real_array_takes_no_complex_number() -> None:
    def f(x: Any, z: Any) -> Any:
        y = np.zeros(3)
        y[0] = z[0]
        return y

    with pytest.raises(TypeError, match="complex"):
        ct.function(f)(np.ones(3), drawn(3))

    def g(x: Any, z: Any) -> Any:
        y = np.zeros(3)
        y += z
        return y

    with pytest.raises(ct.SpaceError, match="complex128"):
        ct.function(g)(np.ones(3), drawn(3))
