"""Shapes, joining, moving and making of traced arrays are NumPy's."""

import numpy as np
import pytest

import catad as ct

from .cases_shapes import CASES
from .harness import check_case, in_other_kinds


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_values_and_gradients(case):
    check_case(case, *case[2:])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_other_dtypes(case):
    for _, args in in_other_kinds(case[2:]):
        check_case(case, *args)


def test_numbers_in_a_row_from_a_step_of_a_loop_can_be_written():
    def f(x):
        total = 0.0
        for k in range(20):
            numbers = np.arange(k, k + 3.0)
            numbers[0] = 7.0 * k
            total = total + np.sum(x * numbers)
        return total

    x = np.array([0.5, -1.0, 2.0])
    assert ct.function(f)(x) == pytest.approx(f(x), rel=1e-13)
    np.testing.assert_allclose(ct.grad(f)(x), [1330.0, 210.0, 230.0])
