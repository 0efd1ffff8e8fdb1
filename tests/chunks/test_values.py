"""Kinds of values: complex numbers in chunks, and chunks that are more than arrays."""

import numpy as np
import pytest

import catad as ct

da = pytest.importorskip("dask.array")
Z = np.array([1 + 2j, -0.5j, complex(np.inf, 1), complex(1, -np.inf), complex(np.nan, 0), complex(-0.0, -0.0), 3 - 4j])
FINITE = np.linspace(-1, 1, 11) + 1j * np.cos(np.arange(11))
PROGRAMS = {
    "map": lambda z: z * z.conj() + np.exp(1j * z),
    "scan": np.cumsum,
    "product": lambda z: np.outer(z, z) @ z,
    "transform": np.fft.fft,
    "parts": lambda z: (z.real, z.imag[::-1]),
    "imaginary parts are a constant": lambda z: z.real + np.zeros(11) * 1j,
    "both parts cut anew": lambda z: np.concatenate([z[3:], z[:3] * 1j]),
}


def _cuts(array):
    parts = ((0, 5, 0, len(array) - 5),)
    return [ct.testing.in_chunks(array, 4), da.from_array(array, chunks=3), da.from_array(array, chunks=parts)]


def _numbers(array):
    return array.numpy() if hasattr(array, "numpy") else array.compute()


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex_numbers_in_chunks(name, dtype):
    z = FINITE.astype(dtype)
    f = ct.function(PROGRAMS[name])
    with ct.use_engine("reference"):
        expected = f(z)
        for cut in _cuts(z):
            found = f(cut)
            pairs = zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
            for one, other in pairs:
                assert one.dtype == other.dtype and one.shape == other.shape
                assert np.allclose(_numbers(one), other, rtol=1e-5 if dtype == np.complex64 else 1e-13)


def test_parts_that_are_not_finite_stay_apart():
    f = ct.function(lambda z: -z)
    with ct.use_engine("reference"):
        for cut in _cuts(Z):
            found, expected = _numbers(f(cut)), -Z
            assert np.array_equal(found, expected, equal_nan=True)
            assert np.array_equal(np.signbit(found.real), np.signbit(expected.real))
            assert np.array_equal(np.signbit(found.imag), np.signbit(expected.imag))


def test_derivatives_of_complex_numbers_in_chunks():
    with ct.use_engine("reference"):
        gradient = ct.grad(lambda z: np.sum(np.abs(z) ** 2 * np.arange(11.0)))
        pullback = ct.vjp(np.cumsum, FINITE)[1]
        for cut in _cuts(FINITE):
            assert np.allclose(_numbers(gradient(cut)), 2 * FINITE * np.arange(11.0))
            assert np.allclose(_numbers(ct.vjp(np.cumsum, cut)[1](cut)[0]), pullback(FINITE)[0])


def test_masked_chunks_are_an_error():
    masked = da.ma.masked_greater(da.from_array(np.arange(5.0), chunks=2), 2)
    with pytest.raises(ct.SpaceError, match="a mask has no meaning here"):
        ct.function(np.sum)(masked)


def test_masked_chunks_of_which_dask_does_not_know_are_an_error_of_the_task():
    plain = da.from_array(np.arange(5.0), chunks=2)
    masked = plain.map_blocks(lambda block: np.ma.masked_greater(block, 2), meta=np.zeros(0))
    with ct.use_engine("reference"):
        found = ct.function(np.sum)(masked)
        with pytest.raises(ct.SpaceError, match="a mask has no meaning here"):
            found.compute(scheduler="synchronous")


def test_memory_maps_are_plain_arrays(tmp_path):
    stored = np.memmap(tmp_path / "x", dtype=float, mode="w+", shape=(9,))
    stored[:] = np.arange(9)
    assert ct.function(np.sum)(da.from_array(stored, chunks=2)).compute() == 36
