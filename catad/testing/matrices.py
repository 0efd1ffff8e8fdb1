"""The Hypothesis strategy `matrices`: matrices of the kinds that linear algebra distinguishes, each far from singular."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from catad import errors
from catad.testing.strategies import array, composite, hypothesis

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy
else:
    SearchStrategy = Any

NEARLY = 2.0**-20  # of the eigenvalues that are nearly equal, relative to their size


def _turned(a: Any) -> Any:
    return np.swapaxes(a, -1, -2)


def _dominant(b: Any, signs: Any) -> Any:
    """With a diagonal that outweighs the rest of its row, which is at most 2 (n - 1)."""
    n = b.shape[-1]
    return b + (2 * n + 1) * np.eye(n) * signs[..., None, :]


def _signs(b: Any) -> Any:
    return np.where(np.diagonal(b, axis1=-2, axis2=-1) < 0, -1.0, 1.0)


def _reflections(b: Any) -> Any:
    """The product of two Householder reflections by columns of the given matrix."""
    q = np.broadcast_to(np.eye(b.shape[-1]), b.shape)
    for k in range(min(2, b.shape[-1])):
        v = b[..., k] + 4.0 * np.eye(b.shape[-1])[k]  # entries are at most 2, so it is not 0
        q = q - 2.0 * (q @ v[..., None]) * (v / (v * v).sum(-1, keepdims=True))[..., None, :]
    return q


def _nearly_equal(b: Any) -> Any:
    """Two of the eigenvalues differ by `NEARLY`, the others by 1 and more."""
    q, n = _reflections(b), b.shape[-1]
    w = np.arange(1.0, n + 1)
    if n > 1:
        w[1] = w[0] + NEARLY
    return (q * w) @ _turned(q)


def _within_band(b: Any, lower: int, upper: int) -> Any:
    return np.triu(np.tril(_dominant(b, _signs(b)), upper), -lower)


MATRICES: dict[str, Callable[[Any], Any]] = {  # from entries between -2 and 2
    "general": lambda b: _dominant(b, _signs(b)),
    "symmetric": lambda b: (_dominant(b, _signs(b)) + _turned(_dominant(b, _signs(b)))) / 2,
    "positive definite": lambda b: b @ _turned(b) + np.eye(b.shape[-1]),
    "lower triangular": lambda b: np.tril(_dominant(b, _signs(b))),
    "upper triangular": lambda b: np.triu(_dominant(b, _signs(b))),
    "tridiagonal": lambda b: _within_band(b, 1, 1),
    "banded": lambda b: _within_band(b, 1, 2),
    "orthogonal": _reflections,
    "nearly equal eigenvalues": _nearly_equal,
}


def matrices(
    kind: str = "general", n: int | None = None, batch: tuple[int, ...] = (), dtype: Any = np.float64
) -> SearchStrategy[Any]:
    """Matrices (*batch, n, n) of a kind, far from singular: condition numbers are at most about 70 up to 4 unknowns.

    `kind` is "general", "symmetric" (of either sign), "positive definite", "lower triangular", "upper triangular", "tridiagonal",
    "banded" (one diagonal below and two above), "orthogonal", or "nearly equal eigenvalues" (symmetric, two eigenvalues differ by
    2^-20). Without `n` it is drawn between 1 and 4. `dtype` is a floating one; numbers are dimensionless. Raises `ArgumentError`
    for another kind, `EngineError` where Hypothesis is not installed.

    >>> from catad.testing import matrices
    >>> from hypothesis import find
    >>> find(matrices("lower triangular", n=2), lambda a: a[1, 0] > 0)
    array([[5.   , 0.   ],
           [0.125, 5.   ]])
    """
    if kind not in MATRICES:
        raise errors.ArgumentError(errors.no_such_kind(kind, list(MATRICES)))
    st = hypothesis("matrices")

    def drawn(draw: Any) -> Any:
        size = draw(st.integers(1, 4)) if n is None else n
        return MATRICES[kind](array(draw, (*batch, size, size), np.float64, False)).astype(dtype)

    return composite(drawn)  # type: ignore[no-any-return]
