"""Messages about linear systems."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from catad.errors.base import abbreviated, text


def not_square(linear: object, rows: int, columns: int) -> str:
    return text(
        "a linear map between spaces of different sizes has no inverse",
        given=f"{rows} equations for {columns} unknowns, {abbreviated(linear)}",
        expected="a domain and a codomain of one size",
        do="for least squares, (L.T @ L).solve(L.T @ b), or scipy.sparse.linalg.lsqr(L.as_linear_operator(), b)",
    )


def not_in_codomain(space: object, cod: object, linear: object) -> str:
    return text("the right-hand side does not lie in the codomain of a linear map", given=space, expected=cod, where=linear)


def singular(kind: str, why: str) -> str:
    return text("a linear map is singular", given=why, expected="an invertible map", where=kind, do=_INSTEAD)


def nearly_singular(kind: str, eps: float) -> str:
    return text(
        "a linear map is singular to working precision",
        given=f"a change of its entries by their last digit ({eps:.0e} of each) makes it singular",
        expected="an invertible map",
        where=kind,
        do=_INSTEAD,
    )


_INSTEAD = "for a solution of least norm, np.linalg.lstsq(L.todense().reshape(L.shape), b.reshape(-1)), where that array fits"


def in_stack(k: int, shape: Sequence[int]) -> str:
    """The k-th matrix of a stack; nothing where there is one alone."""
    return "" if not shape else f"matrix {[int(i) for i in np.unravel_index(k, tuple(shape))]} of {tuple(shape)}"


def singular_matrix(kind: str, n: int, place: str, pivot: int) -> str:
    return text(
        f"a {kind} matrix is singular",
        given=f"a matrix of {n} rows, pivot {pivot} of its factorisation is 0",
        expected="an invertible matrix",
        where=place or None,
        do="for a solution of least norm, np.linalg.pinv(A) @ b",
    )


def singular_minor(n: int, place: str) -> str:
    return text(
        "Levinson's recursion meets a singular part of a Toeplitz matrix",
        given=f"a matrix of {n} rows",
        expected="a matrix whose leading parts are invertible",
        where=place or None,
        do="take ct.linalg.solve()(scipy.linalg.toeplitz(c, r), b), which interchanges rows",
    )


def not_positive(n: int, place: str, pivot: int) -> str:
    return text(
        "a matrix is not positive definite",
        given=f"a matrix of {n} rows, pivot {pivot} of its Cholesky factorisation is not positive",
        expected="a symmetric matrix with positive eigenvalues, of which one half is read",
        where=place or None,
        do="add a multiple of the identity, A + e * np.eye(n), or take another factorisation",
    )


def not_finite(what: str, kind: object) -> str:
    return text(
        f"{what} has NaN or infinity",
        expected="finite numbers",
        where=abbreviated(kind),
        do="find where they come from with np.isfinite, and leave these equations out",
    )


def not_converged(residual: float, rtol: float, steps: int, kind: str) -> str:
    return text(
        "an iterative solution of a linear system did not converge",
        given=f"|L x - b| = {residual:.2g} |b| after {steps} products with the map",
        expected=f"at most {rtol:.2g} |b|",
        where=kind,
        do="give a larger rtol, solve P @ L instead with P an approximate inverse, or, where the dense array fits, "
        "np.linalg.solve(L.todense().reshape(L.shape), b.reshape(-1))",
    )


def bad_tolerance(rtol: Any) -> str:
    return text("rtol bounds |L x - b| / |b|", given=abbreviated(rtol), expected="a number between 0 and 1")


def rank_lost(values: list[float], place: str) -> str:
    return text(
        "a least squares problem has no derivative where its matrix does not have full rank",
        given=f"singular values {', '.join([f'{x:.3g}' for x in values])}",
        expected="no singular value that is 0 beside the greatest",
        where=place or None,
        do="leave columns out, add equations e * np.eye(n) (ridge), or differentiate np.linalg.pinv(A) @ b, which keeps the rank",
    )


def no_residuals(n: int, rank: int) -> str:
    return text(
        "the shape of the residuals of a least squares problem depends on data: they are an empty array without full rank",
        given=f"rank {rank} of {n} columns",
        expected="full rank",
        do="compute them: np.sum((A @ x - b) ** 2, axis=0)",
    )
