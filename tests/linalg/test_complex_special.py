"""Special values: signed zeros, infinities, NaN, branch cuts, huge and tiny numbers, as NumPy has them."""

from __future__ import annotations

import itertools
from typing import Any

import mpmath
import numpy as np
import pytest

import catad as ct
from catad.scalar.pairs.tables import COMPLEX, REAL

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -3.0, 0.9999999]
SPECIAL += [np.inf, -np.inf, np.nan, 1e300, -1e300, 1e-310, 710.0, -740.0, 1e-8, 100.0]
GRID = np.array([complex(a, b) for a, b in itertools.product(SPECIAL, SPECIAL)])
ROUNDED = (np.multiply, np.square)  # NumPy's loops contract some products: the last bit, and what cancels, is another one
INVERSES = {f"arc{name}": f"a{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")}
OPEN = {np.sin: 6, np.cos: 2}  # entries such as sin(nan + inf i), of which C99 leaves the sign open: C libraries differ


def wrong(got: Any, want: Any, rtol: float) -> Any:
    """Where two arrays differ: in a sign of zero, a NaN, an infinity, or beyond a tolerance."""
    if got.dtype.kind != "c":
        return ~((got == want) | (np.isnan(got) & np.isnan(want)) | np.isclose(got, want, rtol=rtol, atol=0))
    out = np.zeros(got.shape, bool)
    for g, w in ((got.real, want.real), (got.imag, want.imag)):
        same = ((g == w) & (np.signbit(g) == np.signbit(w))) | (np.isnan(g) & np.isnan(w))
        out |= ~(same | ((g != 0) & (w != 0) & np.isclose(g, w, rtol=rtol, atol=1e-320)))
    return out


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("ufunc", [one for one in (*COMPLEX, *REAL) if "power" not in one.__name__], ids=lambda one: one.__name__)
def test_special_values(ufunc: np.ufunc) -> None:
    args = [GRID] if ufunc.nin == 1 else [one.reshape(-1) for one in np.broadcast_arrays(GRID[:, None], GRID[None])]
    with np.errstate(all="ignore"):
        got, want = ct.function(lambda *z: ufunc(*z))(*args), ufunc(*args)
        assert got.dtype == want.dtype
        if ufunc in ROUNDED:
            exact = np.abs(args[0]) * np.abs(args[-1])
            known = np.isfinite(exact)
            assert np.all(np.abs(got - want)[known] <= 1e-15 * exact[known] + 1e-320)
            small = np.all([np.abs(one) != 1e300 for one in args for one in (one.real, one.imag)], axis=0)  # none overflows
            assert not np.any(wrong(got, want, 1e-13)[small & ~known])
            return
        assert np.sum(wrong(got, want, 1e-13)) <= OPEN.get(ufunc, 0)

@pytest.mark.filterwarnings("ignore")
def test_powers_at_special_values() -> None:
    z, w = (one.reshape(-1) for one in np.broadcast_arrays(GRID[:, None], GRID[None]))
    with np.errstate(all="ignore"):
        got, want = ct.function(lambda z, w: z**w)(z, w), z**w
    finite = np.isfinite(want) & np.isfinite(got) & (abs(want) > 1e-290)
    near = finite & (abs(z) < 1e3) & (abs(z) > 1e-3) & (abs(w) < 1e2)
    np.testing.assert_allclose(got[near], want[near], rtol=1e-12)
    assert near.sum() > 10_000
    zero = (z == 0) & np.isfinite(w)
    assert np.array_equal(got[zero], want[zero], equal_nan=True)
    assert np.all(got[w == 0] == 1)


@pytest.mark.parametrize("name", ["sqrt", "exp", "log", "sinh", "cosh", "tanh", "sin", "cos", "tan", *INVERSES])
def test_fifty_digits(name: str) -> None:
    points = [0.7 - 1.3j, 1e-5 + 2e-7j, -2.5 + 1e-9j, 0.6 + 0.8j, 3 - 40j, 12 + 0.5j]
    with mpmath.workdps(50):
        exact = getattr(mpmath, INVERSES.get(name, name))
        want = [complex(exact(mpmath.mpc(z))) for z in points]
        slopes = [complex(mpmath.diff(exact, mpmath.mpc(z))) for z in points]
    f = ct.function(lambda z: getattr(np, name)(z))
    z = np.array(points)
    got = f(z)
    np.testing.assert_allclose(got, want, rtol=2e-14)
    if name in INVERSES:  # each part alone
        np.testing.assert_allclose(got.real, np.real(want), rtol=5e-13)
        np.testing.assert_allclose(got.imag, np.imag(want), rtol=5e-13)
    assert np.allclose(ct.jvp(f, (z,), (np.ones(6, complex),))[1], slopes, rtol=1e-11)
    assert np.allclose(ct.jvp(f, (z,), (np.full(6, 1j),))[1], 1j * np.array(slopes), rtol=1e-11)


@pytest.mark.parametrize(
    ("f", "slope", "z"),
    [
        (np.exp, np.exp, 0.5 + 0j),
        (np.sinh, np.cosh, -0.5 + 0j),
        (np.cosh, np.sinh, 0.3j),
        (np.tanh, lambda z: 1 / np.cosh(z) ** 2, 0.4 + 0j),
        (np.sin, np.cos, 1.2 + 0j),
        (np.log, lambda z: 1 / z, 0.7 + 0.7j),
        (np.log, lambda z: 1 / z, complex(-0.7, -0.0)),
        (np.sqrt, lambda z: 0.5 / np.sqrt(z), 2j),
        (np.sqrt, lambda z: 0.5 / np.sqrt(z), complex(-2.0, 0.0)),
        (np.sqrt, lambda z: 0.5 / np.sqrt(z), complex(-2.0, -0.0)),
        (np.arcsinh, lambda z: 1 / np.sqrt(1 + z * z), 0.5 + 0j),
        (np.arcsinh, lambda z: 1 / np.sqrt(1 + z * z), 0j),
        (np.arcsinh, lambda z: 1 / np.sqrt(1 + z * z), 0.5j),
        (np.arcsinh, lambda z: -1 / np.sqrt(1 + z * z), complex(-0.0, 2.0)),
        (np.arcsin, lambda z: 1 / np.sqrt(1 - z * z), 0.5 + 0j),
        (np.arcsin, lambda z: 1 / np.sqrt(1 - z * z), 1e12 - 3e11j),
        (np.arcsin, lambda z: -1 / np.sqrt(1 - z * z), complex(-2.0, -0.0)),
        (np.arccos, lambda z: -1 / np.sqrt(1 - z * z), 0.5 + 0j),
        (np.arccos, lambda z: -1 / np.sqrt(1 - z * z), 0.5j),
        (np.arccosh, lambda z: 1 / np.sqrt(z - 1) / np.sqrt(z + 1), 0.5 + 0j),
        (np.arccosh, lambda z: 1 / np.sqrt(z - 1) / np.sqrt(z + 1), 2.5 + 0j),
        (np.arccosh, lambda z: 1 / np.sqrt(z - 1) / np.sqrt(z + 1), complex(0.3, -0.0)),
        (np.arctanh, lambda z: 1 / (1 - z * z), 0j),
        (np.arctanh, lambda z: 1 / (1 - z * z), 0.5 + 0j),
        (np.arctanh, lambda z: 1 / ((1 - z) * (1 + z)), 1 + 1e-6j),
        (np.arctanh, lambda z: 1 / (1 - z * z), complex(-1.5, -0.0)),
        (np.arctanh, lambda z: 1 / (1 - z * z), 3j),
        (np.arctan, lambda z: 1 / (1 + z * z), -2 + 0j),
        (np.arctan, lambda z: 1 / (1 + z * z), 0.5j),
        (lambda z: z**1.0, lambda z: 1.0, 0j),
        (lambda z: z**3, lambda z: 3 * z**2, 0j),
        (lambda z: 1 / z, lambda z: -1 / z**2, 2j),
        (lambda z: z**2.5, lambda z: 2.5 * z**1.5, 1.5 + 0j),
    ],
)
def test_derivatives_on_axes_and_cuts(f: Any, slope: Any, z: complex) -> None:
    """A case of a formula that holds for special numbers alone would have another derivative."""
    for direction in (1.0, 1j, 0.3 - 2j):
        got = ct.jvp(lambda z: f(z), (np.complex128(z),), (np.complex128(direction),))[1]
        assert np.isclose(got, slope(z) * direction, rtol=1e-13), (got, slope(z) * direction)
