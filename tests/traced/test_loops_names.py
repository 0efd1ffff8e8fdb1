"""Names and statements in loops that data end: what tests bind, what is deleted, raised, asserted."""

# ruff: noqa: B007

from __future__ import annotations

import contextlib
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
def two_returns_after(x: Any) -> Any:
    k = 0
    while True:
        k += 1
        if x[0] * k > 3:
            return x * k
        if x[1] * k > 5:
            return x * -k
        if k > 20:
            return x


@program
def return_in_for_in_while(x: Any) -> Any:
    y = np.abs(x) + 1
    n = 0
    while True:
        for i in range(3):
            y = y * 0.9
            n += 1
            if y[i] < 0.5:
                return y, n, i


@program
def break_sets(x: Any) -> Any:
    best = x[0]
    arg = 0
    for i in range(100):
        v = np.sin(i * 0.1) * x[1]
        if v > best:
            best = v
            arg = i
        if i > 50 and best > 0.5:
            break
    return best, arg, i


@program
def loop_var_after_break(x: Any) -> Any:
    for i in range(100):
        y = x * i
        if y[1] > 5:
            break
    return y, i


@program
def rows_return(x: Any) -> Any:
    a = np.outer(np.arange(1.0, 30.0), x)
    for k, row in enumerate(a):
        if row[1] > 5:
            return row, k
    return a[0], -1


@program
def while_walrus(x: Any) -> Any:
    y = np.abs(x)
    while (s := y.sum()) > 0.5:
        y = y * 0.5
    return y, s


@program
def while_and(x: Any) -> Any:
    y = np.abs(x)
    k = 0
    while k < 20 and y.sum() > 0.5:
        y = y * 0.5
        k += 1
    return y, k


@program
def while_or_not(x: Any) -> Any:
    y = np.abs(x)
    k = 0
    while not (y.sum() < 0.5 or k > 20):
        y = y * 0.5
        k += 1
    return y, k


@program
def nested_def_loop(x: Any) -> Any:
    def solve(b):
        v = b * 0
        for _ in range(100):
            n = (b + np.cos(v)) * 0.5
            if np.abs(n - v).max() < 1e-9:
                return n
            v = n
        return v

    return solve(x) + solve(x * 2)


@program
def recursion_data(x: Any) -> Any:
    def f(v, n):
        if n == 0:
            return v
        if v > 0:
            return f(v - 0.3, n - 1)
        return f(v + 0.5, n - 1)

    return f(x[0], 4)


@program
def return_in_with_suppress(x: Any) -> Any:
    y = np.abs(x)
    for i in range(30):
        with contextlib.suppress(ValueError):
            y = y * 0.8
            if y.sum() < 0.3:
                return y, i
    return y, -1


@program
def del_in_while(x: Any) -> Any:
    y = np.abs(x)
    while True:
        t = y * 0.5
        y = t
        del t
        if y.sum() < 0.3:
            return y


@program
def assert_in_while(x: Any) -> Any:
    y = np.abs(x)
    while True:
        assert y[0] > -1
        y = y * 0.5
        if y.sum() < 0.3:
            return y


@program
def raise_in_loop(x: Any) -> Any:
    for i in range(40):
        if i > 100:
            raise ValueError
        if x[0] * i > 5:
            return i * x
    return x


@program
def global_while(x: Any) -> Any:
    global QQ
    QQ = 0
    while True:
        QQ += 1
        if QQ > 5:
            return x * QQ


@program
def pass_else(x: Any) -> Any:
    for i in range(40):
        pass
    else:
        return x * i


@program
def empty_for_else(x: Any) -> Any:
    for i in range(0):
        return x
    else:
        x = x * 2
    return x


@program
def empty_rows(x: Any) -> Any:
    for r in x[:0]:
        return r
    return x


@program
def listcomp_return(x: Any) -> Any:
    while True:
        if (s := sum([v * v for v in x])) < 0.1:
            return x, s
        x = x * 0.5


@program
def walrus_and(x: Any) -> Any:
    y = np.abs(x)
    k = 0
    while k < 20 and (s := y.sum()) > 0.5:
        y = y * 0.5
        k += 1
    return y, s, k


@program
def walrus_else(x: Any) -> Any:
    y = np.abs(x)
    k = 0
    while k < 3 and (s := y.sum()) > 0.5:
        y = y * 0.5
        k += 1
        if y[0] < 0.3:
            break
    else:
        s = s + 100
    return y, s, k


@program
def walrus_return(x: Any) -> Any:
    y = np.abs(x)
    while (s := y.sum()) > 0.1:
        y = y * 0.5
        if s < 0.7:
            return s
    return s * 100


@program
def raise_static_in_branch(x: Any) -> Any:
    n = 3
    if x[0] > 0:
        if n > 5:
            raise ValueError
        y = x * 2
    else:
        y = x * 3
    return y


@program
def raise_static_in_while(x: Any) -> Any:
    y = np.abs(x)
    while y.sum() > 0.3:
        if y.ndim > 1:
            raise ValueError
        y = y * 0.5
    return y


@program
def del_branch(x: Any) -> Any:
    t = x * 2
    if x[0] > 0:
        u = t * 2
        del u
        y = t
    else:
        y = t * 3
    return y


@program
def del_one_side(x: Any) -> Any:
    t = x * 2
    if x[0] > -100:
        del t
    try:
        return t
    except NameError:
        return x


@program
def del_before_loop(x: Any) -> Any:
    t = x * 2
    for i in range(40):
        if i == 0:
            del t
    return x


@pytest.mark.quick(14)
@pytest.mark.parametrize("name", PROGRAMS)
def test_names_in_loops_are_pythons(name: str) -> None:
    for x in POINTS:
        check(PROGRAMS[name], x)
