"""The order of complex numbers, with NaN, infinities, signed zeros and equal numbers: NumPy's numbers; and errors by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import catad as ct

PARTS = [0.0, -0.0, 1.0, 1.0, -2.0, np.nan, np.inf, -np.inf, 0.5]
ORDERED: dict[str, Callable[[Any], Any]] = {
    "sort": lambda z: np.sort(z, axis=1),
    "sort all": lambda z: np.sort(z, axis=None),
    "max": lambda z: z.max(axis=1),
    "min": lambda z: z.min(axis=0),
    "argmax": lambda z: z.argmax(axis=1),
    "argmin": lambda z: np.argmin(z, axis=0),
    "argsort": lambda z: np.take_along_axis(z, np.argsort(z, axis=1, kind="stable"), 1),
    "median": lambda z: np.median(z, axis=1),
    "clip": lambda z: np.clip(z, -1j, 0.5 + 1j),
    "nansum": lambda z: np.nansum(np.where(np.isinf(z), 0, z), axis=1),
    "nanprod": lambda z: np.nanprod(np.where(np.isinf(z), 0, z), axis=1),
    "nan_to_num": lambda z: np.nan_to_num(z, nan=7.0),
    "isclose": lambda z: np.isclose(z, z[::-1], equal_nan=True),
    "angle": np.angle,
    "rint": np.rint,
}


def drawn(seed: int, dtype: Any, shape: tuple[int, ...] = (6, 5)) -> Any:
    rng = np.random.default_rng(seed)
    z = np.empty(shape, dtype)
    z.real, z.imag = rng.choice(PARTS, shape), rng.choice(PARTS, shape)
    return z


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("name", ORDERED)
def test_as_in_numpy(name: str, dtype: Any) -> None:
    f = ORDERED[name]
    for seed in range(12):
        z = drawn(seed, dtype)
        for one in (z, z.T, z[::2, ::-1], z[:1], z[:, :1]):
            got, want = ct.function(lambda z: f(z))(one), f(one)
            assert got.dtype == want.dtype and got.shape == want.shape
            if name == "median":  # NumPy gives a NaN in both parts, or the first one
                assert np.array_equal(np.isnan(got), np.isnan(want))
                got, want = (np.where(np.isnan(y), 0, y) for y in (got, want))
            if name == "angle":
                np.testing.assert_allclose(got, want, rtol=float(np.finfo(dtype).eps))  # `arctan2` of a GPU is its own
            else:
                np.testing.assert_array_equal(got, want)


def test_none_and_one() -> None:
    none = np.zeros((0, 3), complex)
    assert ct.function(lambda z: np.sort(z, axis=0))(none).shape == (0, 3)
    assert ct.function(lambda z: z.max(axis=1))(none).shape == (0,)
    one = np.array([2j])
    assert ct.function(lambda z: (z.max(), np.sort(z)[0], z.argmin()))(one) == (2j, 2j, 0)
    for f in (lambda z: z.max(axis=0), lambda z: z.argmax()):
        with pytest.raises(ValueError, match=r"zero-size|empty sequence"):
            ct.function(f)(none)


@pytest.mark.parametrize(
    ("f", "said"),
    [
        (lambda z: np.unique(z), r"np\.sort\(z\)"),
        (lambda z: np.real_if_close(z), r"take z\.real"),
        (lambda z: z.view(float), r"np\.stack\(\[z\.real, z\.imag\], -1\)"),
        (lambda z: np.nanmax(z), "compute with z.real and z.imag"),
        (lambda z: np.multiply.at(z.copy(), [0], 2j), "factors of each entry"),
        (lambda z: np.max(z, where=z.real > 0, initial=0), "with where="),
        (lambda z: np.zeros(3).__setitem__(0, z[0]), "make the array that it goes into with dtype=complex"),
    ],
)
def test_errors_say_what_to_do(f: Callable[[Any], Any], said: str) -> None:
    with pytest.raises(ct.TraceError, match=said):
        ct.function(f)(np.array([1j, 2.0]))


def test_real_numbers_of_complex_ones_warn() -> None:
    with pytest.warns(np.exceptions.ComplexWarning):
        assert ct.function(lambda z: np.float32(z[0]))(np.array([2 + 1j])) == 2
    with pytest.warns(np.exceptions.ComplexWarning):
        assert ct.function(lambda z: z.astype(np.int8))(np.array([2 + 1j])) == 2
    for kind in (float, int):
        with pytest.raises(TypeError, match="not 'complex'"):
            ct.function(lambda z: kind(z[0]))(np.array([2 + 1j]))  # noqa: B023


def test_dtypes_beside_each_other() -> None:
    """NumPy's promotion: Python's numbers are weak, integers count as float64."""
    for real in (np.float32, np.float64, np.int32, np.int8, np.bool_):
        x = np.array([1, 0, 1], real)
        for f in (lambda x: x * 1j, lambda x: x + np.complex64(1j), lambda x: x.astype(np.complex64) * 2.0 + x):
            got, want = ct.function(lambda x: f(x))(x), f(x)  # noqa: B023
            assert got.dtype == want.dtype
            np.testing.assert_allclose(got, want)
