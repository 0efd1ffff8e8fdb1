"""Reductions on traced arrays are NumPy's."""

import pytest

from .cases_reductions import CASES
from .harness import check_case, in_other_kinds


def ident(case):
    return case[0]


@pytest.mark.parametrize("case", CASES, ids=ident)
def test_values_and_gradients(case):
    check_case(case, *case[2:])


@pytest.mark.parametrize("case", CASES, ids=ident)
def test_other_dtypes(case):
    for _, args in in_other_kinds(case[2:]):
        check_case(case, *args)
