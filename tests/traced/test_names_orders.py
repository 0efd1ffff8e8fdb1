"""Order, counting, differences of traced arrays are NumPy's."""

import pytest
from cases_orders import CASES
from harness import check, in_other_kinds


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_values_and_gradients(case):
    check(case[1], *case[2:], refuses=case[0][0] == "!")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_other_dtypes(case):
    for _, args in in_other_kinds(case[2:]):
        check(case[1], *args, refuses=case[0][0] == "!")
