"""Arrays that are int64 on one path and float64 on the other: writes into them are NumPy's, or refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import catad as ct
from tests.traced.programs import compare

INTS = np.array([1, 2, 3])


def after_an_if(x: Any, m: Any) -> Any:
    if x[0] > 0:
        m = m * 0.5
    m[1] = 0.25
    return m


def after_two_writes(x: Any, m: Any) -> Any:
    if x[0] > 0:
        m = m * 0.5
    m[0] = 7
    m[1] = 0.25
    return m


def after_a_ternary(x: Any, m: Any) -> Any:
    m = m * 0.5 if x[0] > 0 else m + 1
    m[1:] = x[1:] * 0.75
    return m


def of_what_was_computed(x: Any, m: Any) -> Any:
    if x[0] > 0:
        m = m * 0.5
    y = (m + 1).reshape(3, 1)
    y[1] = 0.75
    return y


def under_a_mask(x: Any, m: Any) -> Any:
    if x[0] > 0:
        m = m * 0.5
    m[m > 1] = 0.75
    return m


def one_like_it(x: Any, m: Any) -> Any:
    if x[0] > 0:
        m = m * 0.5
    y = np.zeros_like(m)
    y[:] = x
    return y


def in_place(x: Any, m: Any) -> Any:
    if x[0] > 0:
        m = m * 0.5
    m += 0.5
    return m


def at_the_start_of_a_step(x: Any, m: Any) -> Any:
    for _ in range(30):
        m[0] = 0.75
        m = m * 0.5 + x
    return m


def in_a_branch_of_a_step(x: Any, m: Any) -> Any:
    for _ in range(30):
        if x[0] > 0:
            m = m * 0.5
        m[1] = 0.25
    return m


def truth_values(x: Any, m: Any) -> Any:
    b = m > 1 if x[0] > 0 else m
    return (b + b) * 1, (~b) * 1


def a_truth_value_or_a_number(x: Any, m: Any) -> Any:
    b = x[1] > 0
    if x[0] > 0:
        b = 3
    return (b + b) * 1.0


def filled_with_a_number(x: Any, m: Any) -> Any:
    s = 1 if x[0] > 0 else 0.5
    y = np.full(3, s)
    y[0] = 0.25
    return y


def in_a_list(x: Any, m: Any) -> Any:
    k = [m, 1]
    if x[0] > 0:
        k[0] = k[0] * 0.5
    row = k[0][1:]
    row[0] = 0.7
    return k[0]


@pytest.mark.parametrize("first", [-1.25, 2.5])
@pytest.mark.parametrize(
    "fn",
    [after_an_if, after_two_writes, after_a_ternary, of_what_was_computed, under_a_mask, one_like_it, at_the_start_of_a_step,
     in_a_branch_of_a_step, truth_values, a_truth_value_or_a_number, filled_with_a_number, in_a_list],
    ids=lambda fn: fn.__name__,
)  # fmt: skip
def test_a_write_truncates_where_numpys_does(fn: Callable[..., Any], first: float) -> None:
    x = np.array([first, 1.5, 2.5])
    expected, got = fn(x.copy(), INTS.copy()), ct.function(fn)(x.copy(), INTS.copy())
    for e, g in zip(np.atleast_1d(expected), np.atleast_1d(got), strict=True):
        np.testing.assert_allclose(g, e, rtol=1e-14)


def test_numpy_refuses_on_one_path_alone() -> None:
    with pytest.raises((TypeError, ct.SpaceError)):
        ct.function(in_place)(np.array([-1.0, 1.0, 2.0]), INTS.copy())


def certain(x: Any, m: Any) -> Any:
    for _ in range(30):
        m = m * 0.5 + x
        m[0] = 0.75
    m[1] = 0.3
    return m


def test_a_sum_with_floats_is_one_of_floats() -> None:
    compare(certain, np.array([1.0, 2.0, 3.0]), INTS)
    f = ct.function(certain)
    assert len(f.at(np.ones(3), INTS).lines) < 10  # it is rolled


def while_it_lasts(x: Any, m: Any) -> Any:
    while x[0] > 0:
        x = x - 1
        m = m * 0.5
    m[1] = 0.25
    return m


def rows_in_which_it_may_last(x: Any, m: Any) -> Any:
    for _ in range(30):
        while x[0] > 0:
            x = x - 1
            m = m * 0.5
    m[1] = 0.25
    return m


@pytest.mark.parametrize("fn", [while_it_lasts, rows_in_which_it_may_last], ids=lambda fn: fn.__name__)
def test_a_loop_on_data_that_makes_other_numbers_is_refused(fn: Callable[..., Any]) -> None:
    with pytest.raises(ct.TraceError, match="another dtype before a while loop") as caught:
        ct.function(fn)(np.array([1.0, 2.0, 3.0]), INTS.copy())
    assert "m[1] = 0.25" in str(caught.value)
    compare(fn, np.array([1.0, 2.0, 3.0]), INTS * 1.0)
    compare(fn, np.array([-1.0, 2.0, 3.0]), INTS * 1.0)


def added_at(x: Any, m: Any) -> Any:
    np.add.at(m, [0, 0, -1], x)
    return m


def test_add_at_of_floats_into_whole_numbers_names_what_numpy_does() -> None:
    assert added_at(np.array([0.75, 0.75, 1.5]), INTS.copy()).tolist() == [1, 2, 4]  # NumPy truncates twice
    with pytest.raises(ct.TraceError, match="round to a whole number each time") as caught:
        ct.function(added_at)(np.array([0.75, 0.75, 1.5]), INTS.copy())
    assert "np.add.at(m" in str(caught.value)
    compare(added_at, np.array([0.75, 0.75, 1.5]), INTS * 1.0)
