"""Functions inside a traced one that read its variables, differentiated: nested, in loops and branches, with later writes."""

# ruff: noqa: E731, SIM108, B023

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import catad as ct
from tests.traced.harness import check

PROGRAMS: dict[str, Callable[..., Any]] = {}
POINTS = (np.array([1.5137, 0.7071, -0.2236]), np.array([-0.5142, 0.3419, 0.9437]))
REFUSED = ["write_inside"]


def program(fn: Callable[..., Any]) -> Callable[..., Any]:
    PROGRAMS[fn.__name__] = fn
    return fn


@program
def grad_args(x: Any) -> Any:
    k = x * x
    return ct.grad(lambda u, v: (u * v * k).sum(), argnums=1)(x, x + 1)


@program
def grad_both(x: Any) -> Any:
    k = x * x
    a, b = ct.grad(lambda u, v: (u * u * v * k).sum(), argnums=(0, 1))(x, x + 1)
    return a + b * 2


@program
def grad_tree(x: Any) -> Any:
    k = x * x
    g = ct.grad(lambda q: (q["a"] * q["b"] * k).sum())({"a": x, "b": x + 1})
    return g["a"] - g["b"]


@program
def grad_aux(x: Any) -> Any:
    k = x * x
    g, aux = ct.grad(lambda v: ((v * v * k).sum(), v + k), has_aux=True)(x)
    return g + aux


@program
def vag(x: Any) -> Any:
    k = x.sum()
    v, g = ct.value_and_grad(lambda v: np.sum(np.sin(v) * k))(x)
    return v + g


@program
def grad_of_grad(x: Any) -> Any:
    k = x * x
    return ct.grad(lambda v: (ct.grad(lambda u: (u**3 * k * v).sum())(v)).sum())(x)


@program
def three_levels(x: Any) -> Any:
    k = x * x

    def f(v):
        m = v * k

        def g(u):
            n = u * m + k

            def h(w):
                return (w * w * n * m * k * v).sum()

            return ct.grad(h)(u).sum()

        return ct.grad(g)(v).sum()

    return ct.grad(f)(x)


@program
def loop_grad(x: Any) -> Any:
    w = x
    data = np.outer(np.arange(20.0), np.ones(3))
    for i in range(20):
        row = data[i] * 0.01
        w = w - 0.1 * ct.grad(lambda v: ((v - row) ** 2).sum() + (v * x).sum() * 0.01)(w)
    return w


@program
def loop_grad_short(x: Any) -> Any:
    w = x
    for i in range(3):
        k = w * i
        w = w - 0.1 * ct.grad(lambda v: ((v - k) ** 2).sum())(w)
    return w


@program
def branch_grad(x: Any) -> Any:
    k = x * 2
    if x[0] > 0:
        y = ct.grad(lambda v: (v * v * k).sum())(x)
    else:
        y = ct.grad(lambda v: (v * k).sum())(x)
    return y


@program
def inner_branch(x: Any) -> Any:
    c = x[0]

    def f(v):
        if v[1] > c:
            return (v * v * c).sum()
        return (v * v * v * c).sum()

    return ct.grad(f)(x)


@program
def inner_branch_merged(x: Any) -> Any:
    c = x[0]
    k = x * 3

    def f(v):
        if c > 0:
            s = (v * k).sum()
        else:
            s = (v * v).sum() * c
        return s

    return ct.grad(f)(x)


@program
def inner_explored_late(x: Any) -> Any:
    c = x[0]
    k = x * 3
    m = x * 5

    def f(v):
        if v[0] > 0:
            return (v * k).sum()
        return (v * v * m).sum() * c

    return ct.grad(f)(x)


@program
def inner_loop(x: Any) -> Any:
    c = x * 0.1

    def f(v):
        s = 0.0
        for i in range(30):
            s = s * 0.5 + (v * c).sum() * i
        return s

    return ct.grad(f)(x)


@program
def inner_while(x: Any) -> Any:
    c = np.abs(x) * 0.5

    def f(v):
        y = np.abs(v)
        while y.sum() > c.sum():
            y = y * 0.7
        return (y * c).sum()

    return ct.grad(f)(x)


@program
def outer_while(x: Any) -> Any:
    c = x * 0.1
    y = np.abs(x)
    while y.sum() > 0.5:
        y = y * 0.5 + 0 * ct.grad(lambda v: (v * c).sum())(y)
    return y


@program
def newton_closure(x: Any) -> Any:
    a = np.abs(x) + 1

    def root(v):
        f = lambda u: (u * u * u / 3 - a * u).sum()
        for _ in range(20):
            v = v - ct.grad(f)(v) / (2 * v)
        return v

    return root(np.ones(3) * 1.5)


@program
def const_arg(x: Any) -> Any:
    k = x * x
    return ct.grad(lambda v: (v * v * k).sum())(np.ones(3))


@program
def const_closure_written(x: Any) -> Any:
    k = np.ones(3)
    f = lambda v: (v * v * k).sum()
    a = ct.grad(f)(np.ones(3))
    k[0] = 5.0
    b = ct.grad(f)(np.ones(3))
    return a + b * x


@program
def written_between(x: Any) -> Any:
    k = x * 1
    f = lambda v: (v * v * k).sum()
    a = ct.grad(f)(x)
    k[0] = 5.0
    b = ct.grad(f)(x)
    return a + b


@program
def rebound_between(x: Any) -> Any:
    k = x * 1

    def f(v):
        return (v * v * k).sum()

    a = ct.grad(f)(x)
    k = x * 2
    return a + ct.grad(f)(x)


@program
def rebound_float(x: Any) -> Any:
    k = 2.0

    def f(v):
        return (v * v * k).sum()

    a = ct.grad(f)(x)
    k = 3.0
    return a + ct.grad(f)(x)


@program
def write_inside(x: Any) -> Any:
    k = x * 1

    def f(v):
        k[0] = 5.0
        return (v * k).sum()

    return ct.grad(f)(x)


@program
def view_closure(x: Any) -> Any:
    a = np.outer(x, x)
    r = a[1]
    y = ct.grad(lambda v: (v * r).sum())(x)
    a[1] = 0.5
    return y + ct.grad(lambda v: (v * r).sum())(x)


@pytest.mark.parametrize("name", PROGRAMS)
def test_functions_read_what_is_around_them(name: str) -> None:
    for x in POINTS:
        check(PROGRAMS[name], x, rtol=1e-13, refuses=name in REFUSED)
