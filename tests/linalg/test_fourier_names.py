"""The names of numpy.fft, scipy.fft, scipy.signal and scipy.linalg in traced functions, against these libraries."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.fft
import scipy.linalg
import scipy.signal
import scipy.special

import catad as ct
from catad.testing import check_grads

RNG = np.random.default_rng(11)
X = RNG.normal(size=(4, 6))


def same(fn: Any, *args: Any) -> None:
    """A traced function has the library's numbers, shapes and dtypes."""
    got, want = ct.function(fn)(*args), fn(*args)
    assert got.shape == want.shape and got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=0, atol=100 * np.finfo(float if want.dtype.kind != "f" else want.dtype).eps)


FUNCTIONS_OF_ONE = {
    "irfft": lambda x: np.fft.irfft(x),
    "irfft of keywords": lambda x: np.fft.irfft(a=x, n=5, norm="forward"),
    "hfft": lambda x: np.fft.hfft(x, 5, 0, "ortho"),
    "irfft2": lambda x: np.fft.irfft2(x, (3, 4)),
    "irfftn": lambda x: np.fft.irfftn(x, axes=(1, 0), s=(3, 4)),
    "shift": lambda x: np.fft.fftshift(x, axes=(0, 1)) + np.fft.ifftshift(x),
    "frequencies": lambda x: x * np.fft.fftfreq(6, 0.5) + x[:, :4].sum() * np.fft.rfftfreq(10)[0],
    "scipy irfft": lambda x: scipy.fft.irfft(np.sin(x), 7, workers=1),
    "dct": lambda x: scipy.fft.dct(x, 3, norm="ortho", overwrite_x=True),
    "idct": lambda x: scipy.fft.idct(x, 1, 5, 0),
    "dst": lambda x: scipy.fft.dst(scipy.special.erf(x), type=4),
    "idst": lambda x: scipy.fft.idst(x, orthogonalize=False),
    "dctn": lambda x: scipy.fft.dctn(x, axes=[1]),
    "idctn": lambda x: scipy.fft.idctn(x, 2, (3, 8)),
    "dstn": lambda x: scipy.fft.dstn(x, 1, norm="forward"),
    "idstn": lambda x: scipy.fft.idstn(x, 3),
    "hfft2": lambda x: scipy.fft.hfft2(x, (3, 7), norm="forward"),
    "hfftn": lambda x: scipy.fft.hfftn(x, axes=(1, 0)),
    "ihfft2": lambda x: abs(scipy.fft.ihfft2(x + 4)),
    "ihfftn": lambda x: scipy.fft.ihfftn(x, s=(5,), axes=(0,), norm="ortho").imag,
    "scipy shift": lambda x: scipy.fft.ifftshift(scipy.fft.fftshift(x, 1) * np.arange(6.0), 1),
}


@pytest.mark.parametrize("name", FUNCTIONS_OF_ONE)
def test_transforms(name: str) -> None:
    fn = FUNCTIONS_OF_ONE[name]
    same(fn, X)
    same(fn, X.T[::-1].T)
    if "freq" not in name:
        same(fn, X.astype(np.float32))
        same(fn, np.arange(24).reshape(4, 6))
    check_grads(ct.function(fn) >> ct.sin, X, order=1)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize(("n", "m"), [(9, 4), (4, 9), (5, 5), (1, 3), (100, 70)])
def test_convolutions_of_scipy(n: int, m: int, mode: str) -> None:
    a, v = RNG.normal(size=n), RNG.normal(size=m)
    for fn in (scipy.signal.convolve, scipy.signal.correlate, scipy.signal.fftconvolve):
        same(lambda a, v, fn=fn: fn(a, v, mode), a, v)
    for method in ("fft", "direct"):
        same(lambda a, v, method=method: scipy.signal.convolve(a, v, mode, method), a, v)
    whole = np.arange(n), np.arange(m)
    for fn in (scipy.signal.convolve, scipy.signal.correlate):
        same(lambda a, v, fn=fn: fn(a, v, mode), *whole)


SHAPES = [((4, 5), (2, 3)), ((2, 3), (4, 5)), ((4, 1), (1, 3)), ((3, 3), (3, 3)), ((2, 3, 4), (2, 1, 3))]


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("shapes", SHAPES)
def test_convolutions_of_several_axes(shapes: Any, mode: str) -> None:
    a, v = (RNG.normal(size=shape) for shape in shapes)
    names = ("convolve", "correlate", "fftconvolve", "oaconvolve")
    for name in names:
        fn: Any = lambda a, v, name=name: getattr(scipy.signal, name)(a, v, mode)  # noqa: E731
        for cast in (float, np.float32, complex):
            same_or_same_error(fn, a.astype(cast), (v * (1 + (1j if cast is complex else 0))).astype(cast))
        same_or_same_error(fn, np.round(9 * a).astype(int), np.round(9 * v).astype(int))
    for method in ("direct", "fft"):
        same_or_same_error(lambda a, v, method=method: scipy.signal.convolve(a, v, mode, method), a, v)
        same_or_same_error(lambda a, v, method=method: scipy.signal.correlate(a, v, mode, method), a, v)


def same_or_same_error(fn: Any, *args: Any) -> None:
    try:
        want = fn(*args)
    except ValueError as own:
        with pytest.raises(ValueError) as caught:
            ct.function(fn)(*args)
        assert str(caught.value) == str(own)
        return
    got = ct.function(fn)(*args)
    assert got.shape == want.shape and got.dtype == want.dtype
    eps = np.finfo(np.result_type(want.dtype, np.float32 if want.dtype.kind in "fc" else np.float64)).eps
    np.testing.assert_allclose(got, want, rtol=0, atol=2000 * eps)


def test_convolutions_along_axes_and_their_derivatives() -> None:
    a, v = RNG.normal(size=(3, 5)), RNG.normal(size=(3, 2))
    for axes in (1, [1], (-1,)):
        same(lambda a, v, axes=axes: scipy.signal.fftconvolve(a, v, "same", axes), a, v)
        same(lambda a, v, axes=axes: scipy.signal.oaconvolve(a, v, axes=axes), a, v)
    check_grads(ct.function(lambda a, v: scipy.signal.fftconvolve(a, v, axes=1)), a, v, order=2)
    check_grads(ct.function(lambda a, v: scipy.signal.convolve(a, v, method="direct")), a, v, order=2)
    check_grads(ct.function(lambda a, v: scipy.signal.correlate(a, v, "same", "fft")), a, v, order=1)
    for bad in ((), (5,)):
        with pytest.raises(ValueError):
            ct.function(lambda a, bad=bad: scipy.signal.fftconvolve(a, a, axes=bad))(a)


def test_circulants_of_scipy() -> None:
    c, b = RNG.normal(size=(3, 5)) + 9.0 * (np.arange(5) == 0), RNG.normal(size=(5, 3))
    same(lambda c, b: scipy.linalg.solve_circulant(c, b), c[0], b)
    same(lambda c, b: scipy.linalg.solve_circulant(c, b), c, b[:, 0])
    same(lambda c, b: scipy.linalg.solve_circulant(c, b, caxis=0, baxis=-1, outaxis=-1), c.T.copy(), b.T.copy())
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        ct.function(lambda c, b: scipy.linalg.solve_circulant(c, b))(np.ones(5), b)


def test_what_is_not_traced_says_so() -> None:
    for fn in (
        lambda x: scipy.fft.dct(x, orthogonalize=True),
        lambda x: scipy.linalg.solve_circulant(x[0], x[0], singular="lstsq"),
    ):
        with pytest.raises(ct.TraceError):
            ct.function(fn)(X)
    for bad in (lambda x: np.fft.irfft(x, norm="best"), lambda x: scipy.fft.dct(x, 5), lambda x: np.fft.irfft(x, 0)):
        with pytest.raises(ValueError):
            ct.function(bad)(X)
        with pytest.raises(ValueError):
            bad(X)


def test_functions_call_the_morphisms_on_pairs() -> None:
    def smooth(x: Any) -> Any:
        re, im = ct.fft.rfft()(x)
        keep = np.arange(len(re)) < 3
        return ct.fft.irfft(len(x))(re * keep, im * keep)

    x = RNG.normal(size=12)
    want = np.fft.irfft(np.fft.rfft(x) * (np.arange(7) < 3), 12)
    np.testing.assert_allclose(ct.function(smooth)(x), want, atol=1e-13)
    check_grads(ct.function(smooth) >> ct.sin, x, order=2)
    assert ct.jacobian(ct.function(smooth))(np.ones(600)).stored < 3000
