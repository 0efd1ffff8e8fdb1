"""`np.r_` and `np.c_` with traced arrays between the brackets: NumPy is the oracle."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import catad as ct

X = np.array([1.5, -2.0, 3.0])
M = np.arange(6.0).reshape(3, 2)

PROGRAMS = {
    "numbers": lambda x, m: np.r_[0, x, 4.5, x[1]],
    "ranges": lambda x, m: np.r_[1:4, x, 0:1:3j, -1:6:2],
    "one": lambda x, m: np.r_[x],
    "number alone": lambda x, m: np.r_[x[0]],
    "a list": lambda x, m: np.r_[[x[0], 2, x[2]], x],
    "rows of a matrix": lambda x, m: np.r_[m, m[:1] * 2],
    "an axis": lambda x, m: np.r_["1", m, m[:, :1]],
    "axis and rank": lambda x, m: np.r_["0,2", x, x],
    "axis, rank and place": lambda x, m: np.r_["0,2,0", x, x],
    "a new axis last": lambda x, m: np.r_["1,2,0", x, m],
    "a rank of three": lambda x, m: np.r_["0,3,1", x, x],
    "columns": lambda x, m: np.c_[x, x**2, x],
    "column of a matrix": lambda x, m: np.c_[m, x, m],
    "numbers in columns": lambda x, m: np.c_[1, x[0], 2],
    "ones before": lambda x, m: np.c_[np.ones(len(x)), x] @ np.r_[2.0, x[1]],
    "a range as column": lambda x, m: np.c_[0:3, x],
    "rank three": lambda x, m: np.c_[m[:, :, None], m[:, :, None]],
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", PROGRAMS)
def test_they_join_as_numpy_does(name: str, dtype: type) -> None:
    program = PROGRAMS[name]
    x, m = X.astype(dtype), M.astype(dtype)
    expected, found = program(x, m), ct.function(program)(x, m)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


def test_integers_and_booleans_promote_as_in_numpy() -> None:
    for x in (np.arange(3), np.arange(3, dtype=np.int8), np.array([True, False])):
        for program in (
            lambda v: np.r_[v, 2],
            lambda v: np.r_[v, 2.5],
            lambda v: np.c_[v, v],
            lambda v: np.r_[v, np.float32(1)],
        ):
            expected, found = program(x), ct.function(program)(x)
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found, expected)


def test_the_gradient_goes_to_each_part() -> None:
    def loss(x: np.ndarray) -> np.ndarray:
        return np.sum(np.r_[0.0, x, x[:1]] ** 2 * np.arange(5.0))

    np.testing.assert_allclose(ct.grad(loss)(X), 2 * X * np.array([1.0 + 4.0, 2.0, 3.0]))


@pytest.mark.parametrize(
    ("program", "error", "words"),
    [
        (lambda x: np.r_["c", x], ct.TraceError, "directive"),
        (lambda x: np.r_["x,1", x], ct.TraceError, "directive"),
        (lambda x: np.r_[x, "0"], ValueError, "first entry"),
        (lambda x: np.r_[0 : x[0], x], ct.TraceError, "depend on data"),
        (lambda x: np.c_[x, x[:2]], ValueError, "dimensions"),
        (lambda x: np.r_["0,2,-3", x], ValueError, "do not fit"),
    ],
)
def test_what_cannot_be_joined_is_refused(program: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=re.escape(words)):
        ct.function(program)(X)
