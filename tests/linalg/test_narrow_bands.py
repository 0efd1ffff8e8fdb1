"""Narrow bands of general matrices within a program: loops in its text in place of LAPACK, at all widths and ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.engine.cpu.whole.narrow_bands import NARROW
from tests.linalg.test_banded import full

RNG = np.random.default_rng(11)
WIDTHS = [(0, 1), (1, 0), (0, 3), (3, 0), (1, 1), (2, 2), (3, 1), (1, 4), (5, 5), (NARROW, 0), (NARROW // 2, NARROW // 2 + 1)]


def case(lower: int, upper: int, n: int, *leading: int) -> tuple[Any, Any, Any]:
    """A band that needs interchanges of rows, its matrix, a right-hand side."""
    ab = RNG.normal(size=(*leading, lower + upper + 1, n))
    ab[..., upper, :] *= 0.3
    ab[..., upper, :] += 0.5 * np.sign(ab[..., upper, :])
    each = [full(one, lower, upper) for one in ab.reshape(-1, *ab.shape[-2:])]
    return ab, np.reshape(each, (*leading, n, n)), RNG.normal(size=(*leading, n))


@pytest.mark.parametrize(("lower", "upper"), WIDTHS)
def test_solutions_and_transposed_solutions(lower: int, upper: int) -> None:
    f = ct.linalg.solve_banded((lower, upper))
    g = ct.function(lambda ab, b, w: (f(ab, b), ct.vjp(lambda right: f(ab, right), b)[1](w)))
    for n in (1, 2, 3, 4, 7, 12, 40):
        ab, matrix, b = case(lower, upper, n)
        x, back = g(ab, b, b[::-1].copy())
        bound = 1e-13 * np.linalg.cond(matrix)
        assert np.allclose(x, np.linalg.solve(matrix, b), rtol=0, atol=bound * np.abs(x).max())
        back = back[0] if isinstance(back, tuple) else back
        assert np.allclose(back, np.linalg.solve(matrix.T, b[::-1]), rtol=0, atol=bound * np.abs(back).max())


def test_stacks_and_single_precision() -> None:
    f = ct.linalg.solve_banded((2, 1))
    ab, matrix, b = case(2, 1, 9, 3)
    for dtype, within in ((np.float64, 1e-11), (np.float32, 1e-3)):
        x = ct.function(lambda ab, b: 1 * f(ab, b))(ab.astype(dtype), b[..., None].astype(dtype))
        assert x.dtype == dtype and np.allclose(x, np.linalg.solve(matrix, b[..., None]), atol=within)


def test_what_is_not_a_number_stays_in_its_matrix() -> None:
    f = ct.function(lambda ab, b: 1 * ct.linalg.solve_banded((1, 2))(ab, b))
    ab, matrix, b = case(1, 2, 6, 3)
    ab[1, 2, 3] = np.nan
    x = f(ab, b[..., None])
    assert np.isnan(x[1]).any() and np.allclose(x[[0, 2]], np.linalg.solve(matrix, b[..., None])[[0, 2]])
    ab[1] = 0.0
    with pytest.raises(ct.SolveError):
        f(ab, b[..., None])
