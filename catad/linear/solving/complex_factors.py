"""Factorisations of complex matrices, which are given as real ones: `re + i im` as the blocks [[re, -im], [im, re]].

Products, inverses and transposes of such matrices have this form, too; the transpose is the conjugate transpose of the complex
matrix. So maps, their rules and their products are those of real matrices, and only the factors are complex: LAPACK's, of half
the size. Complex columns are real ones, first the real parts and then the imaginary parts. Complex factors are stored as real
arrays of twice as many columns, first the real parts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from catad.category.spaces import Tensor
from catad.linear.solving.factors import KINDS, Arrays, Kind, half, substituted
from catad.values.complex_numbers import complex_of


def of_real_form(xp: Any, a: Any) -> Any:
    """The complex matrices of a stack of real forms."""
    m, n = a.shape[-2] // 2, a.shape[-1] // 2
    return complex_of(xp, a[..., :m, :n], a[..., m:, :n])


def _stored(xp: Any, z: Any) -> Any:
    return xp.concatenate([z.real, z.imag], axis=-1)


def of_stored(xp: Any, stored: Any) -> Any:
    """The complex factors that are stored as a real array."""
    n = stored.shape[-1] // 2
    return complex_of(xp, stored[..., :n], stored[..., n:])


def _triangles(a: Tensor) -> Tensor:
    *leading, n, _ = a.shape
    return Tensor((*leading, n // 2, n), a.dtype)


def _lu_spaces(a: Tensor) -> tuple[Tensor, ...]:
    return _triangles(a), Tensor((*a.shape[:-2], a.shape[-1] // 2), np.int32)


def _lu(xp: Any, a: Any) -> Arrays:
    lu, pivots = KINDS["general"].factor(xp, of_real_form(xp, a))
    return _stored(xp, lu), pivots


def _cholesky(xp: Any, a: Any) -> Arrays:
    return (_stored(xp, KINDS["pos"].factor(xp, of_real_form(xp, a))[0]),)


Solve = Callable[[Any, Any, Arrays, Any], Any]


def _on_columns(solve: Callable[[Any, Any, Arrays, Any, bool], Any]) -> Callable[[Any, Any, Arrays, Any, bool], Any]:
    """Solving for real columns, by what solves with complex matrices and with their transposes.

    A^H x = b is A' conj(x) = conj(b).
    """

    def made(xp: Any, a: Any, factors: Arrays, b: Any, turned: bool) -> Any:
        n = b.shape[-2] // 2
        right = complex_of(xp, b[..., :n, :], b[..., n:, :])
        x = solve(xp, a, factors, xp.conjugate(right) if turned else right, turned)
        return xp.concatenate([x.real, -x.imag if turned else x.imag], axis=-2)

    return made


def _lu_solve(xp: Any, a: Any, factors: Arrays, b: Any, turned: bool) -> Any:
    return KINDS["general"].solve(xp, a, (of_stored(xp, factors[0]), factors[1]), b, turned)


def _cholesky_solve(xp: Any, a: Any, factors: Arrays, b: Any, turned: bool) -> Any:
    """The transpose of L L^H is conj(L) L'."""
    low = of_stored(xp, factors[0])
    first = xp.conjugate(low) if turned else low
    return substituted(xp, xp.conjugate(first), substituted(xp, first, b, True, False), True, True)


def _triangle(name: str) -> Kind:
    def solve(xp: Any, a: Any, factors: Arrays, b: Any, turned: bool) -> Any:
        return KINDS[name].solve(xp, of_real_form(xp, a), (), b, turned)

    return Kind(lambda a: (), lambda xp, a: (), _on_columns(solve), lambda a: 0)


def of_complex(kind: str) -> str:
    """The kind of complex matrices in real form that are what a kind of real matrices is."""
    return f"complex {kind}"


KINDS[of_complex("general")] = Kind(_lu_spaces, _lu, _on_columns(_lu_solve))
KINDS[of_complex("pos")] = Kind(lambda a: (_triangles(a),), _cholesky, _on_columns(_cholesky_solve), half)
KINDS[of_complex("lower")] = _triangle("lower")
KINDS[of_complex("upper")] = _triangle("upper")
