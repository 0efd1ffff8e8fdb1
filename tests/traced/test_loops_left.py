"""Loops that are left by `return`, `break` and `else`, also `while True`: values and derivatives of Python."""

# ruff: noqa: B007

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.traced.harness import check

PROGRAMS: dict[str, Callable[..., Any]] = {}
POINTS = (np.array([1.5137, 0.7071, -0.2236]), np.array([-0.5142, 0.3419, 0.9437]))


def program(fn: Callable[..., Any]) -> Callable[..., Any]:
    PROGRAMS[fn.__name__] = fn
    return fn


@program
def wt_return(x: Any) -> Any:
    y = x * 4
    while True:
        y = y / 2
        if np.abs(y).max() < 1:
            return y


@program
def wt_return2(x: Any) -> Any:
    y = x * 4
    k = 0
    while True:
        y = y / 2
        k += 1
        if np.abs(y).max() < 1:
            return y
        if k > 3:
            return y * 10


@program
def wt_return_top(x: Any) -> Any:
    y = np.abs(x) * 4
    while True:
        if y.sum() < 1:
            return y
        y = y / 2


@program
def wt_break(x: Any) -> Any:
    y = np.abs(x) * 4
    while True:
        if y.sum() < 1:
            break
        y = y / 2
    return y


@program
def wt_break_return(x: Any) -> Any:
    y = np.abs(x) * 4
    k = 0
    while True:
        if y.sum() < 1:
            break
        y = y / 2
        k += 1
        if k == 2 and x[0] > 0:
            return y * 100
    return y


@program
def wt_tuple(x: Any) -> Any:
    y = np.abs(x) * 4
    k = 0
    while True:
        y = y / 2
        k += 1
        if y.sum() < 1:
            return y, k


@program
def wt_cond_return_other(x: Any) -> Any:
    y = np.abs(x) * 4
    while True:
        if y.sum() < 1:
            return 0.0
        y = y / 2
        if y[0] > y[1]:
            return y[0]


@program
def while_in_if(x: Any) -> Any:
    if x[0] > 0:
        y = np.abs(x)
        while y.sum() > 0.5:
            y = y / 2
            if y[0] < 0.3:
                return y
        return y * 3
    return x


@program
def for_in_if(x: Any) -> Any:
    if x[0] > 0:
        s = 0.0
        for i in range(40):
            s = s + np.abs(x[1])
            if s > 3:
                return s, i
        return s * 2, 100
    return x[1], -1


@program
def for_in_if_short(x: Any) -> Any:
    if x[0] > 0:
        s = 0.0
        for i in range(5):
            s = s + np.abs(x[1])
            if s > 3:
                return s, i
        return s * 2, 100
    return x[1], -1


@program
def while_else(x: Any) -> Any:
    y = np.abs(x)
    k = 0
    while y.sum() > 0.1:
        y = y / 2
        k += 1
        if k > 4:
            break
    else:
        y = y + 100
    return y


@program
def while_else_return(x: Any) -> Any:
    y = np.abs(x)
    while y.sum() > 0.5:
        y = y / 2
        if y[0] < 0.3:
            return y
    else:
        return y + 100


@program
def for_else_return(x: Any) -> Any:
    s = 0.0
    for i in range(40):
        s = s + x[0]
        if s > 5:
            return s
    else:
        return s - 1


@program
def for_else_nested(x: Any) -> Any:
    s = 0.0
    for i in range(20):
        for j in range(20):
            s = s + np.abs(x[0]) * 0.1
            if s > 3:
                break
        else:
            s = s * 0.5
            continue
        break
    return s, i, j


@program
def nested_return(x: Any) -> Any:
    s = 0.0
    for i in range(20):
        for j in range(20):
            s = s + np.abs(x[0]) * 0.1
            if s > 3:
                return s, i, j
    return s, -1, -1


@program
def nested_while_return(x: Any) -> Any:
    s = 0.0
    i = 0
    while i < 10:
        j = 0
        while True:
            s = s + np.abs(x[0]) * 0.1
            j += 1
            if s > 3:
                return s, i, j
            if j > 5:
                break
        i += 1
    return s, -1, -1


@program
def return_in_if_in_loop_twice(x: Any) -> Any:
    s = 0.0
    for i in range(30):
        if x[0] > 0:
            if s > 3:
                return s
            s = s + 1
        else:
            if s < -3:
                return s * 2
            s = s - 1 + x[1] * 0.1
    return s


@program
def loop_then_return(x: Any) -> Any:
    s = 0.0
    for i in range(30):
        s = s + np.abs(x[0])
        if s > 3:
            return s
    for i in range(30):
        s = s + np.abs(x[1])
        if s > 10:
            return s * 2
    return s * 3


@program
def helper_wt(x: Any) -> Any:
    def g(v):
        v = np.abs(v)
        while True:
            if v < 0.3:
                return v
            v = v / 2

    return g(x[0]) + g(x[1])


@program
def helper_wt_in_if(x: Any) -> Any:
    def g(v):
        v = np.abs(v)
        while True:
            if v < 0.3:
                return v
            v = v / 2

    if x[0] > 0:
        return g(x[1])
    return g(x[2]) * 2


@program
def helper_wt_in_loop(x: Any) -> Any:
    def g(v):
        v = np.abs(v)
        while True:
            if v < 0.3:
                return v
            v = v / 2

    s = x[0]
    for i in range(30):
        s = g(s + x[1]) + 0.5
    return s


@program
def newton(x: Any) -> Any:
    r = x[0] * 0 + 1.0
    while True:
        n = r - (r * r - 2 - x[1]) / (2 * r)
        if abs(n - r) < 1e-12:
            return n
        r = n


@program
def bisection(x: Any) -> Any:
    lo, hi = 0.0, 5.0 + x[1] * 0
    while True:
        mid = (lo + hi) / 2
        if hi - lo < 1e-10:
            return mid + x[0]
        if mid * mid > 2 + x[1]:
            hi = mid
        else:
            lo = mid


@program
def wt_continue(x: Any) -> Any:
    s = np.abs(x).sum()
    k = 0
    while True:
        k += 1
        if k % 2 == 0:
            continue
        s = s * 0.7
        if s < 0.2:
            return s, k


@program
def while_cond_and_return(x: Any) -> Any:
    k = 0
    y = np.abs(x)
    while k < 10:
        if y.sum() < 0.2:
            return y
        y = y * 0.5
        k += 1
    return y * 100


@program
def wt_dict(x: Any) -> Any:
    s = {"a": x[0], "k": 0}
    while True:
        s = {"a": s["a"] * 0.5, "k": s["k"] + 1}
        if abs(s["a"]) < 0.1:
            return s["a"], s["k"]


@program
def wt_arr_write(x: Any) -> Any:
    y = x.copy()
    while True:
        y[0] = y[0] * 0.5
        if abs(y[0]) < 0.1:
            return y


@program
def wt_return_expr(x: Any) -> Any:
    y = np.abs(x)
    while True:
        y = y * 0.5
        if y.sum() < 0.2:
            return y.sum() if y[0] > y[1] else y[2]


@program
def if_return_before_loop(x: Any) -> Any:
    if x[0] > 0:
        return x * 2
    y = np.abs(x)
    while True:
        y = y * 0.5
        if y.sum() < 0.2:
            return y


@program
def wt_try(x: Any) -> Any:
    y = np.abs(x)
    try:
        while True:
            y = y * 0.5
            if y.sum() < 0.2:
                return y
    finally:
        pass


@pytest.mark.quick(15)
@program
def binding_test_whose_else_leaves(x: Any) -> Any:
    y, n = x * 3.0, 0.0
    for i in range(12):
        while (y := y - 0.4).sum() > 2.0:
            n = n + y.max()
        else:
            if y.sum() < -4.0:
                break
            if i < 3:
                continue
            y = y + 0.3 * x
        n = n + 10.0
    return y * n


@pytest.mark.parametrize("name", PROGRAMS)
def test_loops_are_left_as_in_python(name: str) -> None:
    for x in POINTS:
        check(PROGRAMS[name], x, grad=False if name == "bisection" else None)
