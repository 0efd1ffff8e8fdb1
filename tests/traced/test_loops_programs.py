"""Programs with loops that data end: searches, iterations, nested loops, names that tests bind."""

# ruff: noqa: E731, RET503, SIM223, F841, B007

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
def wt_with(x: Any) -> Any:
    y = np.abs(x)
    with np.errstate(all="ignore"):
        while True:
            y = y * 0.5
            if y.sum() < 0.2:
                return y


@program
def wt_with_in(x: Any) -> Any:
    y = np.abs(x)
    while True:
        with np.errstate(all="ignore"):
            y = y * 0.5
            if y.sum() < 0.2:
                return y


@program
def wt_match(x: Any) -> Any:
    y = np.abs(x)
    k = 0
    while True:
        y = y * 0.5
        k += 1
        match x.shape[0]:
            case 3:
                if y.sum() < 0.2:
                    return y
            case _:
                return k


@program
def wt_static(x: Any) -> Any:
    k = 0
    while True:
        k += 1
        if k > 5:
            return x * k


@program
def wt_mixed(x: Any) -> Any:
    k = 0
    y = x
    while True:
        k += 1
        y = y * 0.9
        if k > 5:
            return y
        if y.sum() > 2:
            return y * 2


@program
def while_else_break_static(x: Any) -> Any:
    k = 0
    while k < 5:
        k += 1
        if k == 3:
            break
    else:
        k = 100
    return x * k


@program
def for_else_static(x: Any) -> Any:
    for i in range(3):
        if i == 5:
            break
    else:
        return x * 7
    return x


@program
def for_else_data_short(x: Any) -> Any:
    for i in range(4):
        if x[0] * i > 2:
            break
    else:
        return x * 7 + i
    return x * i


@program
def while1(x: Any) -> Any:
    y = np.abs(x)
    while 1:
        y = y * 0.5
        if y.sum() < 0.2:
            return y


@program
def while_not_done(x: Any) -> Any:
    y = np.abs(x)
    done = False
    while not done:
        y = y * 0.5
        if y.sum() < 0.2:
            done = True
    return y


@program
def ret_in_else(x: Any) -> Any:
    y = np.abs(x)
    while True:
        if y.sum() > 0.2:
            y = y * 0.5
        else:
            return y


@program
def ret_in_elif(x: Any) -> Any:
    y = np.abs(x)
    while True:
        if y.sum() > 2:
            y = y * 0.5
        elif y.sum() > 0.2:
            y = y * 0.25
        else:
            return y


@program
def ret_in_nested_if(x: Any) -> Any:
    y = np.abs(x)
    while True:
        if y.sum() < 1.0:
            if y[0] < 0.1:
                return y
            y = y * 0.9
        else:
            y = y * 0.5


@program
def infinite_gen(x: Any) -> Any:
    def g():
        k = 0
        while True:
            yield k
            k += 1

    s = 0.0
    for k in g():
        s = s + x[0] * k
        if k > 4:
            break
    return s


@program
def range_data_return(x: Any) -> Any:
    n = (np.abs(x[0]) * 10).astype(np.int64)
    s = 0.0
    for i in range(n):
        s = s + np.abs(x[1])
        if s > 2:
            return s, i
    return s, -1


@program
def range_data_else(x: Any) -> Any:
    n = (np.abs(x[0]) * 10).astype(np.int64)
    s = 0.0
    for i in range(n):
        s = s + np.abs(x[1])
        if s > 2:
            break
    else:
        s = s + 100
    return s


@program
def wt_ret_loopvar(x: Any) -> Any:
    for i in range(1000):
        if x[0] * 0.01 * i > 1 or x[1] * i > 5:
            return i
    return -1


@program
def ret_str(x: Any) -> Any:
    k = 0

    def g():
        for i in range(30):
            if x[0] * i > 10:
                return "a"
        return "b"

    return x * 2 if g() == "a" else x


@program
def ret_list(x: Any) -> Any:
    y = np.abs(x)
    while True:
        y = y * 0.5
        if y.sum() < 0.2:
            return [y, {"k": y.sum()}]["k" and 0]


@program
def ret_bool(x: Any) -> Any:
    def g(v):
        v = np.abs(v)
        while True:
            v = v * 0.5
            if v < 0.1:
                return True
            if v > 100:
                return False

    return x * 2 if g(x[0]) else x


@program
def ret_mixed_const(x: Any) -> Any:
    def g(v):
        v = np.abs(v)
        while True:
            v = v * 0.5
            if v < 0.1:
                return 1
            if v > 100:
                return v

    return x * g(x[0])


@program
def relax_inplace(x: Any) -> Any:
    def relax(y):
        while True:
            y *= 0.5
            if np.abs(y).sum() < 0.1:
                return

    y = x.copy()
    relax(y)
    return y


@program
def relax_rolled(x: Any) -> Any:
    def relax(y):
        for k in range(40):
            y *= 0.9
            if np.abs(y).sum() < 0.1:
                return
        y += 1

    y = x.copy()
    relax(y)
    return y


@program
def triple(x: Any) -> Any:
    s = 0.0
    for i in range(20):
        j = 0
        while j < 5:
            j += 1
            k = 0
            while True:
                k += 1
                s = s + np.abs(x[0]) * 0.01 * k
                if s > 7:
                    return s, i, j, k
                if k > 3:
                    break
            if s > 6.9:
                break
        else:
            continue
        return s, i, j, -1
    return s, -1, -1, -1


@program
def try_return(x: Any) -> Any:
    y = np.abs(x)
    for i in range(40):
        try:
            y = y * 0.9
            if y.sum() < 1:
                return y
        finally:
            y = y * 1.01
    return y * 2


@program
def else_after_break_nested(x: Any) -> Any:
    s = 0.0
    for i in range(18):
        for j in range(3):
            if x[0] * j > i:
                break
            s = s + x[1] * j
        else:
            s = s + 1
            if s > 12:
                break
    else:
        s = s * 1000
    return s


@program
def while_else_continue(x: Any) -> Any:
    k = 0
    s = x[0]
    while k < 20:
        k += 1
        if k % 3 == 0:
            continue
        s = s * 0.9 + x[1]
        if s > 100:
            break
    else:
        s = s + 50
    return s


@program
def collatz(x: Any) -> Any:
    n = np.abs(x[0] * 10).astype(np.int64) + 1
    k = 0
    while True:
        if n == 1:
            return k, n
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        k += 1


@program
def armijo(x: Any) -> Any:
    f = lambda v: (v * v).sum()
    g = 2 * x
    t = 1.0
    while True:
        if f(x - t * g) <= f(x) - 0.3 * t * (g * g).sum():
            return x - t * g, t
        t = t * 0.5


@program
def gradient_descent(x: Any) -> Any:
    y = x
    for it in range(200):
        g = 2 * (y - 1)
        if np.abs(g).max() < 1e-3:
            return y, it
        y = y - 0.1 * g
    return y, -1


@pytest.mark.quick(15)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_with_loops_are_pythons(name: str) -> None:
    for x in POINTS:
        check(PROGRAMS[name], x)
