"""Names that a loop leaves are one array where they are one in Python: a later write reaches all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import catad as ct
from tests.traced.harness import check


def view_of_outer(s: Any, w: Any, m: Any) -> Any:
    for _ in range(20):
        w = m.T[-1]
    w += np.where(w > w, w, s)
    return w, m


def view_of_state(s: Any, w: Any, m: Any) -> Any:
    v = w * 1
    for _ in range(20):
        v = v * 0.9
        w = v[1:]
    w += s
    return v, w


def same_array(s: Any, w: Any, m: Any) -> Any:
    v = w * 1
    for _ in range(20):
        v = v * 0.9
        w = v
    v[0] = s
    return v, w


def row_read_before_a_write(s: Any, w: Any, m: Any) -> Any:
    for _ in range(20):
        s = s * 0.9
        w = m[0]
    m[0] = 5.0
    return s, w, m


def exchanged(s: Any, w: Any, m: Any) -> Any:
    a, b = w * 1, w * s
    for _ in range(21):
        a, b = b, a
    a[0] = 7
    return a, b


def nested(s: Any, w: Any, m: Any) -> Any:
    v = w * 1
    for _ in range(20):
        for _ in range(20):
            v = v * 0.9
            w = v
        w[0] = s
    return v, w


@pytest.mark.parametrize("fn", [view_of_outer, view_of_state, same_array, row_read_before_a_write, exchanged, nested])
def test_a_write_after_a_loop_reaches_all_names(fn: Callable[..., Any]) -> None:
    check(fn, np.float64(1.25), np.array([1.0, 2.0, 3.0]), np.arange(6.0).reshape(3, 2))


def test_names_without_a_later_write_stay_rolled() -> None:
    def f(w):
        v = w * 1
        for _ in range(50):
            v = v * 0.9
            w = v
        return v + w

    assert len(ct.function(f).at(ct.f64[3]).lines) < 8
    check(f, np.ones(3))


def test_a_while_loop_whose_names_share_an_array_is_refused_a_write() -> None:
    def f(w):
        v = w * 1
        while v.sum() > 0.1:
            v = v * 0.9
            w = v
        v[0] = 5
        return v, w

    check(f, np.ones(3), refuses=True, grad=False)


def test_rows_show_what_is_written_into_a_state_that_may_be_their_array() -> None:
    """A name that is bound anew in a branch holds in the first step the array whose rows the loop goes through."""

    def f(m: Any, k: Any) -> Any:
        for v in m:
            if k > 999:
                m = m * 2.0
            m[0, 0] -= v.sum() * 0.3
            m[1, 0] -= v.sum() * 0.3
        return m

    for k in (2, 1000):
        for unroll in (0, 16):
            m = np.arange(9.0).reshape(3, 3)
            np.testing.assert_allclose(ct.function(f, unroll=unroll)(m.copy(), k), f(m.copy(), k), rtol=1e-14)
