"""`numpy.fft` and `scipy.fft` on complex numbers in traced functions: NumPy's values, and gradients of programs with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.fft

import catad as ct
from catad.testing import check_grads

rng = np.random.default_rng(0)
X = rng.normal(size=12)
Z = X + 1j * rng.normal(size=12)
CALLS: dict[str, tuple[Callable[..., Any], Any]] = {
    "fft": (np.fft.fft, Z), "fft of reals": (np.fft.fft, X), "ifft": (np.fft.ifft, Z), "rfft": (np.fft.rfft, X),
    "padded": (lambda z: np.fft.fft(z, 16, norm="ortho"), Z), "cut": (lambda x: np.fft.rfft(x, n=7), X),
    "there and back": (lambda x: np.fft.irfft(np.fft.rfft(x) * 2.0), X), "fft2": (np.fft.fft2, Z.reshape(3, 4)),
    "fftn": (lambda z: np.fft.fftn(z, axes=(0,)), Z.reshape(3, 4)), "fftshift": (np.fft.fftshift, Z), "hfft": (np.fft.hfft, Z),
    "ihfft": (np.fft.ihfft, X), "SciPy's": (lambda z: scipy.fft.ifft(scipy.fft.fft(z) * 2.0), Z),
    "rfft2": (np.fft.rfft2, X.reshape(3, 4)),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_values_are_numpys(name: str) -> None:
    f, x = CALLS[name]
    want, got = f(x), ct.function(f)(x)
    assert got.dtype == want.dtype and got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)


def power(x: Any) -> Any:
    return np.sum(np.abs(np.fft.fft(x * (1 + 2j))) ** 2 * np.arange(12.0))


def split_step(x: Any) -> Any:
    psi, k = x.astype(complex), 2 * np.pi * np.fft.fftfreq(12)
    for _ in range(5):
        psi = np.fft.ifft(np.exp(-0.1j * k**2) * np.fft.fft(psi * np.exp(-0.05j * np.arange(12.0) ** 2)))
    return np.sum(np.abs(psi) ** 2 * np.arange(12.0))


@pytest.mark.parametrize("f", [power, split_step])
def test_gradients(f: Any) -> None:
    assert ct.function(f)(X) == pytest.approx(f(X), rel=1e-12)
    check_grads(ct.function(f), X, order=2)


def test_a_complex_array_for_real_transforms_is_refused() -> None:
    with pytest.raises(TypeError, match="real"):
        ct.function(np.fft.rfft)(Z)
