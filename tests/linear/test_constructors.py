"""What the constructors of `ct.linear` refuse, with an error that says what they take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import catad as ct

R = ct.f64[()]

WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "a fork of nothing": (ct.linear.fork, "a linear map is expected"),
    "a join of nothing": (ct.linear.join, "a linear map is expected"),
    "a cross of nothing": (ct.linear.cross, "a linear map is expected"),
    "a join with an array": (lambda: ct.linear.join(ct.scale(2.0), np.ones(2)), "a linear map is expected"),
    "sums along no axis": (lambda: ct.linear.cumulative_sum(R), "along axis 0"),
    "sums of integers": (lambda: ct.linear.cumulative_sum(ct.i64[3]), "between floating spaces"),
    "links that are integers": (lambda: ct.linear.recurrence(np.ones(3, int)), "between floating spaces"),
    "one link": (lambda: ct.linear.recurrence(np.float64(2.0)), "along axis 0"),
    "no space": (lambda: ct.linear.identity(3), "a space is"),
    "an injection into no space": (lambda: ct.inl(R, 3), "a space is"),
    "no space of the argument": (lambda: ct.linear.dense(np.ones((2, 3)), 3), "a space is"),
    "a map between no spaces": (lambda: ct.linear.matrix_free(ct.exr, ct.exr, 3, R), "a space is"),
    "an array for a sparse matrix": (lambda: ct.linear.sparse(np.ones((2, 2))), "a sparse matrix is expected"),
    "a dtype that is none": (lambda: ct.astype("float65"), "a space holds"),
    "a dtype of no space": (lambda: ct.astype("complex64"), "a space holds"),
    "a tensor of no dtype": (lambda: ct.Tensor((2,), "float65"), "a space holds"),
    "tangents of no space": (lambda: ct.tangent_space(3), "a space is"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_does_not_fit_is_an_error_that_says_what_does(case: str) -> None:
    make, said = WRONG[case]
    with pytest.raises(ct.SpaceError, match=said):
        make()
