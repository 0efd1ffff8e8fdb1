"""Complex arrays of other libraries: strict ones always, those of CuPy where there is a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catad as ct

from ..test_array_libraries import LIBRARIES, library

RNG = np.random.default_rng(2)
Z = RNG.normal(size=(4, 3)) + 1j * RNG.normal(size=(4, 3))
PROGRAMS: dict[str, Any] = {
    "a function": ct.function(lambda z: np.exp(z) @ z.T.conj() + np.sort(z, axis=1)[:, :1]),
    "a map": ct.map(lambda z: z * z + abs(z) * 1j),
    "words": ct.sin >> ct.exp,
    "a sum": ct.sum(axis=0) >> ct.prod(),
    "a scan": ct.scan(lambda a, b: a * b, 1 + 0j),
    "a real result": ct.map(abs),
    "parts": ct.function(lambda z: {"real": z.real, "both": (z, z.imag)}),
}


def leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for part in value.values() for leaf in leaves(part)]
    return [leaf for part in value for leaf in leaves(part)] if isinstance(value, tuple) else [value]


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("program", PROGRAMS)
def test_values(name: str, program: str, dtype: Any) -> None:
    xp, f, z = library(name), PROGRAMS[program], Z.astype(dtype)
    got, want = f(xp.asarray(z)), f(z)
    for one, other in zip(leaves(got), leaves(want), strict=True):
        assert type(one) is type(xp.asarray(z)) and one.dtype == other.dtype
        np.testing.assert_allclose(one.get(), other, rtol=1e-12 if dtype is np.complex128 else 1e-4)


@pytest.mark.parametrize("name", LIBRARIES)
def test_gradients_and_special_values(name: str) -> None:
    xp = library(name)
    loss = ct.function(lambda z: np.sum(abs(z * z + 1j)))
    got = ct.grad(loss)(xp.asarray(Z))
    assert type(got) is type(xp.asarray(Z)) and got.dtype == complex
    np.testing.assert_allclose(got.get(), ct.grad(loss)(Z), rtol=1e-12)
    (back,) = ct.vjp(ct.sin, xp.asarray(Z))[1](xp.asarray(Z))
    np.testing.assert_allclose(back.get(), ct.vjp(ct.sin, Z)[1](Z)[0], rtol=1e-12)
    special = np.array([complex(np.inf, 1), complex(0.0, np.nan), complex(-0.0, -np.inf)])
    same = ct.function(lambda z: z)(xp.asarray(special)).get()
    np.testing.assert_array_equal([same.real, same.imag], [special.real, special.imag])
