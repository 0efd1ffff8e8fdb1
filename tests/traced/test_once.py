"""What happens once in Python happens once in a program: variables of other functions, iterators, calls of them.

A branch that is merged and a loop that is rolled run their statements while they are recorded. What cannot be recorded makes
them run as Python runs them.
"""

# ruff: noqa: RUF059, SIM108, B905, RUF015, B007

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
def nl_branch(x: Any) -> Any:
    n = 0

    def inc():
        nonlocal n
        n += 1

    if x[0] > 0:
        inc()
    else:
        inc()
    return x * n


@program
def nl_loop(x: Any) -> Any:
    n = 0

    def inc():
        nonlocal n
        n += 1

    for i in range(40):
        inc()
    return x * n


@program
def nextit(x: Any) -> Any:
    it = iter([float(k) for k in range(40)])
    s = 0.0
    for i in range(40):
        s = s + next(it) * x[0]
    return s


@program
def iter_for(x: Any) -> Any:
    it = iter([float(k) for k in range(400)])
    s = 0.0
    for i in range(40):
        for v in it:
            s = s + v * x[0]
            if v > i * 2:
                break
    return s


@program
def iter_branch(x: Any) -> Any:
    it = iter([1.0, 2.0, 3.0])
    if x[0] > 0:
        y = next(it) * x
    else:
        y = next(it) * x
    return y * next(it)


@program
def nl_direct(x: Any) -> Any:
    t = 0.0

    def run():
        nonlocal t
        for i in range(40):
            t = t * 0.5 + x[0]

    run()
    return t


@program
def nl_if(x: Any) -> Any:
    t = x[1]

    def run():
        nonlocal t
        if x[0] > 0:
            t = t * 2
        else:
            t = t + 1

    run()
    run()
    return t


@program
def nl_aug(x: Any) -> Any:
    t = np.zeros(3)

    def run(k):
        nonlocal t
        t += x * k

    for i in range(40):
        run(i)
    return t


@program
def nl_tuple(x: Any) -> Any:
    a = b = 0.0

    def run(k):
        nonlocal a, b
        a, b = b + x[0], a * 0.5 + k

    for i in range(20):
        run(i)
    return a, b


@program
def nl_for(x: Any) -> Any:
    t = 0

    def run():
        nonlocal t
        for t in range(3):
            pass

    if x[0] > 0:
        run()
    return x * t


@program
def nl_walrus(x: Any) -> Any:
    t = 0

    def run(v):
        nonlocal t
        return (t := t + 1) * v

    if x[0] > 0:
        y = run(x)
    else:
        y = run(x) * 2
    return y * t


@program
def nl_with(x: Any) -> Any:
    t = 0

    def run(v):
        nonlocal t

        def inner():
            nonlocal t
            t = t + 1

        inner()
        return t * v

    if x[0] > 0:
        y = run(x)
    else:
        y = run(x) * 2
    return y * t


@program
def nl_in_either(x: Any) -> Any:
    t = 0

    def run(v):
        nonlocal t
        t = t + 1
        return v

    y = run(x[0]) if x[0] > 0 else run(x[1])
    return y * t


@program
def it_zip(x: Any) -> Any:
    it = zip([1.0] * 50, [2.0] * 50)
    s = 0.0
    for i in range(40):
        a, b = next(it)
        s = s + a * b * x[0] + i
    a, b = next(it)
    return s, len(list(it)) * x


@program
def it_gen(x: Any) -> Any:
    def gen():
        k = 0.0
        while True:
            yield k
            k = k + 1.0

    g = gen()
    s = 0.0
    for i in range(40):
        s = s + next(g) * x[0]
    return s


@program
def it_sum(x: Any) -> Any:
    it = iter([1.0, 2.0, 3.0])
    if x[0] > 0:
        y = sum(it) * x
    else:
        y = sum(it) * x + 1
    return y + sum(it)


@program
def it_list(x: Any) -> Any:
    it = iter([1.0, 2.0, 3.0])
    if x[0] > 0:
        y = list(it)[0] * x
    else:
        y = list(it)[0] * x + 1
    return y


@program
def it_unpack(x: Any) -> Any:
    it = iter([1.0, 2.0, 3.0])
    if x[0] > 0:
        a, b, c = it
    else:
        a, b, c = it
    return x * a


@program
def it_send(x: Any) -> Any:
    def gen():
        t = 0.0
        while True:
            v = yield t
            t = t + v

    g = gen()
    next(g)
    s = 0.0
    for i in range(40):
        s = g.send(x[0] + i)
    return s


@program
def gen_consumed_by_helper(x: Any) -> Any:
    def helper(it):
        return next(it)

    it = iter([1.0, 2.0, 3.0])
    if x[0] > 0:
        y = helper(it)
    else:
        y = helper(it)
    return y * x + next(it)


@program
def star_it(x: Any) -> Any:
    def f(*a):
        return a[0]

    it = iter([1.0, 2.0, 3.0])
    if x[0] > 0:
        y = f(*it)
    else:
        y = f(*it)
    return y * x


@program
def zip_twice(x: Any) -> Any:
    z = zip(x, [1.0, 2.0, 3.0])
    s = 0.0
    for a, b in z:
        s = s + a * b
    for a, b in z:
        s = s + 100
    return s


@program
def enum_twice(x: Any) -> Any:
    z = enumerate(np.outer(np.arange(30.0), x))
    s = 0.0
    for k, r in z:
        s = s * 0.5 + r.sum() * k
    for k, r in z:
        s = s + 100
    return s


@program
def enum_partial(x: Any) -> Any:
    z = enumerate(np.outer(np.arange(30.0), x))
    s = 0.0
    next(z)
    next(z)
    for k, r in z:
        s = s * 0.5 + r.sum() * k
        if s > 30:
            break
    for k, r in z:
        s = s + k
    return s


@program
def enum_zip(x: Any) -> Any:
    z = zip(np.outer(np.arange(30.0), x), range(30))
    s = 0.0
    for k, (r, j) in enumerate(z):
        s = s * 0.5 + r.sum() * k + j
    return s + len(list(z))


@program
def rev_twice(x: Any) -> Any:
    z = reversed(range(30))
    s = 0.0
    for k in z:
        s = s * 0.5 + x[0] * k
    for k in z:
        s = s * 0.5 + x[0] * k
    return s


@pytest.mark.quick(13)
@pytest.mark.parametrize("name", PROGRAMS)
def test_functions_inside_are_pythons(name: str) -> None:
    for x in POINTS:
        check(PROGRAMS[name], x)
