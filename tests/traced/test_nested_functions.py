"""Functions and generators inside a traced function: they mean what they mean in Python.

Nested functions stay as they are written, so that they can be read as scalar functions, and are rewritten when they are called.
"""

# ruff: noqa: E731, C414, SIM108, RET504, B023, B905, C417, B007

from __future__ import annotations

import contextlib
import functools
import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import catad as ct
from tests.traced.harness import check

PROGRAMS: dict[str, Callable[..., Any]] = {}
POINTS = (np.array([1.5137, 0.7071, -0.2236]), np.array([-0.5142, 0.3419, 0.9437]))


def program(fn: Callable[..., Any]) -> Callable[..., Any]:
    PROGRAMS[fn.__name__] = fn
    return fn


@program
def map_plain(x):
    return ct.map(lambda a: a * a + 1.0)(x)


@program
def map_if(x):
    return ct.map(lambda a: a * a if a > 0 else -a)(x)


@program
def map_closure_py(x: Any) -> Any:
    c = 3.0
    return ct.map(lambda a: a * c)(x)


@program
def map_two(x):
    return ct.map(lambda a, b: a * b)(x, x + 1)


@program
def map_def(x: Any) -> Any:
    def g(a):
        if a > 0:
            return a
        return np.sin(a)

    return ct.map(g)(x)


@program
def fold(x):
    return ct.fold(lambda a, b: a + b, 0.0)(x)


@program
def scan(x):
    return ct.scan(lambda a, b: a * b, 1.0)(x)


@program
def iterate(x):
    return ct.iterate(lambda s: np.sin(s) + 0.1, 5)(x)


@program
def while_loop(x):
    return ct.while_loop(lambda s: s.sum() > 1.0, lambda s: s / 2)(x)


@program
def grad(x):
    return ct.grad(lambda v: (v * v).sum())(x)


@program
def grad_def(x: Any) -> Any:
    def g(v):
        s = 0.0
        for t in v:
            if t > 0:
                s = s + t * t
            else:
                s = s - t
        return s

    return ct.grad(g)(x)


@program
def vmap(x):
    return ct.vmap(lambda a: np.sin(a) * a)(x)


@program
def checkpoint(x):
    return ct.checkpoint(lambda v: np.sin(v) * 2)(x)


@program
def partial(x: Any) -> Any:
    f = functools.partial(lambda a, b: a * b, x)
    return f(x + 1)


@program
def partial_map(x: Any) -> Any:
    f = functools.partial(lambda a, b: a * b, 2.0)
    return ct.map(f)(x)


@program
def pymap(x):
    return sum(map(lambda v: v * v if v > 0 else -v, x))


@program
def pyfilter(x):
    return sum(filter(lambda v: v is not None, list(x)))


@program
def pysorted(x):
    return sorted([3, 1, 2], key=lambda v: -v)[0] * x


@program
def pysorted_traced(x):
    return sorted(list(x), key=lambda v: v)[0]


@program
def reduce(x):
    return functools.reduce(lambda a, b: a + b * 2 if b > 0 else a, list(x))


@program
def reduce_math(x):
    return functools.reduce(lambda a, b: a + math.sin(b), list(x), 0.0)


@program
def gen(x: Any) -> Any:
    def g():
        for v in x:
            yield v * 2

    return sum(g())


@program
def gen_math(x: Any) -> Any:
    def g():
        for v in x:
            yield math.sin(v)

    return sum(g())


@program
def rec(x: Any) -> Any:
    def g(n):
        return x[0] if n == 0 else g(n - 1) * x[1]

    return g(3)


@program
def fnested(x: Any) -> Any:
    @ct.function
    def g(v):
        return v * v

    return g(x)


@program
def choose(x):
    return ct.choose(lambda v: v[0] > 0, lambda v: v * 2, lambda v: v)(x)


@program
def sortkey(x: Any) -> Any:
    items = [3, 1, 2]
    items.sort(key=lambda v: -v)
    return items[0] * x


@program
def defaults(x: Any) -> Any:
    fs = [(lambda v, k=k: v * k) for k in range(3)]
    return sum(f(x) for f in fs)


@program
def late(x: Any) -> Any:
    fs = [lambda v: v * k for k in range(3)]
    return sum(f(x) for f in fs)


@program
def accum(x: Any) -> Any:
    return sum(itertools.accumulate(list(x), lambda a, b: a * math.sin(b) if b > 0 else a + b))


@program
def nested2(x: Any) -> Any:
    def f(v):
        def g(w):
            return w * math.sin(v) if w > v else w

        return g(x[1]) + g(x[2])

    return f(x[0])


@program
def mutual(x: Any) -> Any:
    def ev(n, v):
        return v if n == 0 else od(n - 1, v * 2)

    def od(n, v):
        return v if n == 0 else ev(n - 1, v + 1)

    return ev(5, x[0])


@program
def deco(x: Any) -> Any:
    def twice(f):
        def w(v):
            return f(f(v))

        return w

    @twice
    def g(v):
        return math.sin(v) if v > 0 else v

    return g(x[0])


@program
def wraps_(x: Any) -> Any:
    def twice(f):
        @functools.wraps(f)
        def w(*a, **k):
            return f(*a, **k) * 2

        return w

    @twice
    def g(v, *, k=3):
        return math.sin(v) * k

    return g(x[0], k=2) + g(x[1])


@program
def lru(x: Any) -> Any:
    @functools.lru_cache(None)
    def fib(n):
        return 1.0 if n < 2 else fib(n - 1) + fib(n - 2)

    return x * fib(10)


@program
def cls(x: Any) -> Any:
    class A:
        def __init__(self, v):
            self.v = v

        def get(self):
            return math.sin(self.v) if self.v > 0 else self.v

    return A(x[0]).get() + A(x[1]).get()


@program
def default_traced(x: Any) -> Any:
    def g(v, k=x[0]):
        return v * k

    return g(x[1]) + g(x[2], k=2.0)


@program
def kwdefault(x: Any) -> Any:
    g = lambda v, *, k=x[0]: v * math.sin(k)
    return g(x[1])


@program
def gen_branch(x: Any) -> Any:
    def g():
        if x[0] > 0:
            yield x[1]
        else:
            yield x[2]
        yield x[0]

    a, b = g()
    return a * 2 + b


@program
def gen_return(x: Any) -> Any:
    def g():
        yield x[0]
        return x[1]

    def h():
        r = yield from g()
        yield r * 2

    return sum(h())


@program
def ctxman(x: Any) -> Any:
    @contextlib.contextmanager
    def cm(v):
        yield v * 2

    with cm(x[0]) as y:
        z = math.sin(y)
    return z


@program
def iter_class(x: Any) -> Any:
    class It:
        def __init__(self):
            self.k = 0

        def __iter__(self):
            return self

        def __next__(self):
            self.k += 1
            if self.k > 3:
                raise StopIteration
            return self.k

    return sum(v * x[0] for v in It())


@program
def iter_class_loop(x: Any) -> Any:
    class It:
        def __init__(self):
            self.k = 0

        def __iter__(self):
            return self

        def __next__(self):
            self.k += 1
            if self.k > 300:
                raise StopIteration
            return self.k

    it = It()
    s = 0.0
    for i in range(40):
        s = s + next(it) * x[0]
    return s


@program
def rec_closure(x: Any) -> Any:
    memo = {}

    def f(n):
        if n not in memo:
            memo[n] = x[n % 3] if n < 2 else f(n - 1) * 0.5 + f(n - 2)
        return memo[n]

    return f(20)


@program
def lambda_in_cond(x: Any) -> Any:
    f = (lambda v: v * 2) if x[0] > 0 else (lambda v: v * math.sin(v))
    return f(x[1])


@program
def dict_dispatch(x: Any) -> Any:
    fs = {"a": lambda v: math.sin(v), "b": lambda v: v * v}
    return sum(fs[k](x[0]) for k in sorted(fs))


@program
def apply_list(x: Any) -> Any:
    fs = [np.sin, np.cos, lambda v: v if v > 0 else -v, math.exp]
    return sum(f(v) for f, v in zip(fs, [x[0], x[1], x[2], x[0]]))


@pytest.mark.parametrize("name", PROGRAMS)
def test_functions_inside_are_pythons(name: str) -> None:
    for x in POINTS:
        check(PROGRAMS[name], x)
