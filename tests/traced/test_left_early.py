"""What happens once in Python happens once in a program: variables of other functions, iterators, calls of them.

A branch that is merged and a loop that is rolled run their statements while they are recorded. What cannot be recorded makes
them run as Python runs them.
"""

# ruff: noqa: E731, F841, F821, SIM108, B023, B007

from __future__ import annotations

import collections
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
def prev_none(x: Any) -> Any:
    prev = None
    s = 0.0
    for i in range(40):
        v = x[i % 3] * i
        if prev is not None:
            s = s + prev * v
        prev = v
    return s


@program
def prev_unbound(x: Any) -> Any:
    s = 0.0
    for i in range(40):
        if i > 0:
            s = s + prev
        prev = x[0] * i
    return s


@program
def lam_state(x: Any) -> Any:
    g = None
    s = 0.0
    for i in range(40):
        if g is not None:
            s = g(s)
        g = lambda v: v * 0.5 + x[0] + i
    return s


@program
def lam_loopvar(x: Any) -> Any:
    s = 0.0
    for i in range(40):
        g = lambda v: v * 0.5 + x[0] + i
        s = g(s)
    return s


@program
def lam_reads_outer(x: Any) -> Any:
    s = 0.0
    g = lambda: s * 0.5 + x[1]
    for i in range(40):
        s = g()
    return g()


@program
def lam_after(x: Any) -> Any:
    s = 0.0
    g = lambda: s
    for i in range(40):
        s = s * 0.5 + x[1]
    return g()


@program
def lam_branch(x: Any) -> Any:
    if x[0] > 0:
        k = x[1] * 2
        g = lambda v: v * k
    else:
        k = x[2]
        g = lambda v: v + k
    return g(x)


@program
def lam_in_while(x: Any) -> Any:
    y = x
    while y.sum() > 0.1:
        g = lambda v: v * 0.5 - 0.01
        y = g(y)
    return y


@program
def dict_state(x: Any) -> Any:
    d = {"a": x[0]}
    for i in range(40):
        d = {"a": d["a"] * 0.5 + x[1]}
    return d["a"]


@program
def cache_attr(x: Any) -> Any:
    class A:
        n = 0

    a = A()

    def inc():
        a.n += 1

    if x[0] > 0:
        inc()
    else:
        inc()
    return x * a.n


@program
def setdefault(x: Any) -> Any:
    d = {}
    if x[0] > 0:
        d.setdefault("k", x)
    else:
        d.setdefault("k", x * 2)
    return d["k"]


@program
def del_item(x: Any) -> Any:
    items = [x, x * 2, x * 3]
    if x[0] > 0:
        del items[0]
    else:
        del items[1]
    return items[0] + items[1] * 2


@program
def del_loop(x: Any) -> Any:
    items = [float(k) for k in range(50)]
    for i in range(40):
        del items[0]
    return x * items[0]


@program
def del_name(x: Any) -> Any:
    for i in range(40):
        t = x * i
        s = t.sum()
        del t
    return s


@program
def comp_walrus(x: Any) -> Any:
    items = [(t := v * 2) for v in x]
    return t + items[0]


@program
def try_in_loop(x: Any) -> Any:
    s = 0.0
    for i in range(40):
        try:
            s = s + x[0]
        finally:
            s = s * 0.5
    return s


@program
def with_in_loop(x: Any) -> Any:
    s = 0.0
    for i in range(40):
        with np.errstate(all="ignore"):
            s = s * 0.5 + x[0]
    return s


@program
def deque_(x: Any) -> Any:
    d = collections.deque([x[0], x[1]], maxlen=2)
    for i in range(40):
        d.append(d[0] * 0.5 + d[1] * 0.25)
    return d[0] + d[1]


@program
def try_branch(x: Any) -> Any:
    items = [x[0]]
    try:
        if x[0] > 0:
            y = items[5]
        else:
            y = x[0]
    except IndexError:
        y = x[1]
    return y


@program
def try_helper(x: Any) -> Any:
    items = [x[0]]

    def h(v):
        y = 0.0
        if v > 0:
            y = items[5]
        else:
            y = v
        return y

    try:
        y = h(x[0])
    except IndexError:
        y = x[1]
    return y


@program
def try_suppress(x: Any) -> Any:
    items = [x[0]]
    y = x[2]
    with contextlib.suppress(IndexError):
        if x[0] > 0:
            y = items[5]
        else:
            y = x[0]
    return y


@program
def try_loop(x: Any) -> Any:
    s = 0.0
    items = [1.0] * 30
    try:
        for i in range(40):
            s = s + x[0] * items[i]
    except IndexError:
        s = s + 100
    return s


@program
def prev_none2(x: Any) -> Any:
    prev = None
    s = 0.0
    for i in range(40):
        v = x[i % 3] * i
        if i > 0:
            s = s + prev * v
        prev = v
    return s


@program
def try_either(x: Any) -> Any:
    items = [x[0]]
    try:
        y = items[5] if x[0] > 0 else x[0]
    except IndexError:
        y = x[1]
    return y


@program
def try_either_helper(x: Any) -> Any:
    items = [x[0]]

    def h(v):
        return items[5] if v > 0 else v

    try:
        y = h(x[0])
    except IndexError:
        y = x[1]
    return y


@program
def try_and(x: Any) -> Any:
    items = [x[0]]
    try:
        y = 1.0 if x[0] > 0 and items[5] > 0 else 2.0
    except IndexError:
        y = x[1]
    return y * x[2]


@pytest.mark.parametrize("name", PROGRAMS)
def test_functions_inside_are_pythons(name: str) -> None:
    for x in POINTS:
        check(PROGRAMS[name], x)
