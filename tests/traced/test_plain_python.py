"""Plain Python in traced functions: generators, classes, decorators, caches, comprehensions, exceptions, functools."""

# ruff: noqa: E731, SIM108, RET504, B023, B905, RUF005, B007, C419

from __future__ import annotations

import functools
import itertools
import math
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
def gen_state(x: Any) -> Any:
    def g():
        s = x[0]
        for i in range(40):
            s = s * 0.5 + x[1]
            yield s

    return np.stack(list(g()))


@program
def gen_early(x: Any) -> Any:
    def g():
        for v in x:
            if v > 0.5:
                return
            yield v

    return sum(g(), 0.0) + x[0]


@program
def gen_in_branch(x: Any) -> Any:
    def g():
        yield x[0]
        yield x[1]

    it = g()
    if x[0] > 0:
        y = next(it)
    else:
        y = next(it) * 2
    return y + next(it)


@program
def lambda_default_mutable(x: Any) -> Any:
    def f(v, acc=None):
        if acc is None:
            acc = []
        acc = acc + [v]
        return acc

    return f(x[0])[0] + len(f(x[1]))


@program
def mutable_default(x: Any) -> Any:
    def f(v, acc=None):
        if acc is None:
            acc = []
        acc.append(v)
        return len(acc)

    if x[0] > 0:
        a = f(x[0])
    else:
        a = f(x[1])
    return x * a + f(x[0])


@program
def closure_list_append(x: Any) -> Any:
    out = []

    def add(v):
        out.append(v)

    if x[0] > 0:
        add(x[0])
    else:
        add(x[1])
    return out[0] * len(out)


@program
def closure_dict_counter(x: Any) -> Any:
    c = {"n": 0}

    def f(v):
        c["n"] += 1
        return v * c["n"]

    s = 0.0
    for i in range(40):
        s = s + f(x[0])
    return s


@program
def class_attr_counter(x: Any) -> Any:
    class C:
        n = 0

        @classmethod
        def inc(cls):
            cls.n += 1
            return cls.n

        @staticmethod
        def dbl(v):
            return math.sin(v) * 2 if v > 0 else v

    if x[0] > 0:
        y = C.inc() * x
    else:
        y = C.inc() * x * 2
    return y * C.n + C.dbl(x[0])


@program
def prop(x: Any) -> Any:
    class A:
        def __init__(self, v):
            self.v = v

        @property
        def w(self):
            return np.sin(self.v) if True else 0

        def __call__(self, u):
            return math.sin(u) * self.v

        def __getitem__(self, k):
            return self.v * k

        def __add__(self, o):
            return A(self.v + o.v)

        def __len__(self):
            return 3

    a = A(x[0]) + A(x[1])
    return a.w + a(x[2]) + a[2] + len(a)


@program
def iter_dunder(x: Any) -> Any:
    class R:
        def __init__(self, n):
            self.n = n

        def __iter__(self):
            for k in range(self.n):
                yield math.sin(x[k])

    return sum(R(3)) + sum(v * 2 for v in R(2))


@program
def decor_cache(x: Any) -> Any:
    calls = []

    def memo(f):
        store = {}

        def w(k):
            if k not in store:
                store[k] = f(k)
                calls.append(k)
            return store[k]

        return w

    @memo
    def f(k):
        return x[k] * 2

    s = f(0) + f(0) + f(1)
    return s * len(calls)


@program
def kwonly(x: Any) -> Any:
    def f(*a, k=1, **kw):
        return sum(a) * k + kw.get("z", 0)

    return f(*x, k=2, z=x[0])


@program
def posonly(x: Any) -> Any:
    def f(a, /, b, *, c):
        return a * b + c

    return f(x[0], b=x[1], c=x[2])


@program
def rec_lambda(x: Any) -> Any:
    fact = lambda n: 1 if n <= 1 else n * fact(n - 1)
    return x * fact(5)


@program
def ycomb(x: Any) -> Any:
    Y = lambda f: (lambda g: g(g))(lambda g: f(lambda n: g(g)(n)))
    return x * Y(lambda s: lambda n: 0 if n == 0 else n + s(n - 1))(5)


@program
def shadow(x: Any) -> Any:
    def sum(v):
        return v[0] * 2

    return sum(x)


@program
def inner_import(x: Any) -> Any:
    import math as m

    from numpy import sin as s

    def f(v):
        return m.cos(v) + s(v)

    return f(x[0])


@program
def comp_scope(x: Any) -> Any:
    v = 10.0
    a = [v * 2 for v in x]
    return v + a[0]


@program
def nested_comp(x: Any) -> Any:
    return sum([sum([a * b for b in x]) for a in x])


@program
def comp_long_nested(x: Any) -> Any:
    return np.array([sum([x[0] * i * j for j in range(20)]) for i in range(20)])


@program
def comp_long_closure(x: Any) -> Any:
    k = x[1]
    f = lambda v: v * k if v > k else v - k
    return np.array([f(x[0] * i * 0.1) for i in range(30)])


@program
def comp_long_while(x: Any) -> Any:
    def g(v):
        v = abs(v)
        while v > 0.3:
            v = v * 0.5
        return v

    return np.array([g(x[0] * i) for i in range(30)])


@program
def comp_side(x: Any) -> Any:
    log = []

    def g(v):
        log.append(v)
        return v * 2

    a = np.array([g(x[0] * i) for i in range(30)])
    return a.sum() * len(log)


@program
def comp_enumerate(x: Any) -> Any:
    a = np.outer(np.arange(20.0), x)
    return np.stack([r * i for i, r in enumerate(a)])


@program
def comp_two(x: Any) -> Any:
    a = [x * i for i in range(20)]
    b = [v * 2 for v in a]
    return np.stack([u - v for u, v in zip(a, b)])


@program
def comp_mat(x: Any) -> Any:
    return np.array([[x[0] * i + x[1] * j for j in range(18)] for i in range(18)])


@program
def comp_write(x: Any) -> Any:
    a = [x * i for i in range(20)]
    a[3][0] = 7.0
    return np.stack(a)


@program
def comp_same(x: Any) -> Any:
    y = x * 1
    a = [y for i in range(20)]
    a[0][0] = 5.0
    return np.stack(a)


@program
def comp_cond_expr(x: Any) -> Any:
    return np.array([x[0] * i if i % 2 else x[1] for i in range(30)])


@program
def comp_slice(x: Any) -> Any:
    y = np.cumsum(np.outer(np.ones(30), x)[:, 0])
    return np.array([y[i : i + 5].sum() for i in range(25)])


@program
def comp_list_of_list(x: Any) -> Any:
    ws = [[x[0], i] for i in range(20)]
    return sum([w[0] * w[1] for w in ws])


@program
def comp_dicts(x: Any) -> Any:
    ws = [{"a": x[0] * i} for i in range(20)]
    ws[0]["a"] = x[1]
    return sum([w["a"] for w in ws])


@program
def comp_int_index(x: Any) -> Any:
    idx = [(i * 7) % 3 for i in range(20)]
    return sum([x[i] for i in idx])


@program
def comp_int_slice(x: Any) -> Any:
    idx = [i % 3 for i in range(20)]
    return x[: idx[5]].sum() + len(range(idx[4]))


@program
def any_all(x: Any) -> Any:
    return x if any([v > 1 for v in x]) else x * 2


@program
def set_comp(x):
    return x * len({i % 4 for i in range(30)})


@program
def late_bind(x: Any) -> Any:
    fs = []
    for i in range(3):
        fs.append(lambda v: v * i)
    return sum(f(x) for f in fs)


@program
def late_bind_long(x: Any) -> Any:
    fs = []
    for i in range(20):
        fs.append(lambda v, i=i: v * i)
    return sum(f(x) for f in fs)


@program
def while_append_static(x: Any) -> Any:
    out = []
    k = 0
    while k < 20:
        out.append(x * k)
        k += 1
    return np.stack(out)


@program
def exc_flow(x: Any) -> Any:
    def find(v):
        if v < 0:
            raise ValueError("neg")
        return v

    try:
        y = find(float(3)) * x
    except ValueError:
        y = x
    return y


@program
def exc_loop(x: Any) -> Any:
    s = 0.0
    for i in range(40):
        try:
            if i > 100:
                raise KeyError
            s = s + x[0]
        except KeyError:
            s = 0.0
    return s


@program
def finally_order(x: Any) -> Any:
    log = []

    def f():
        try:
            return x[0]
        finally:
            log.append(1)

    return f() * len(log)


@program
def with_cm_state(x: Any) -> Any:
    class CM:
        def __enter__(self):
            self.n = 1
            return self

        def __exit__(self, *a):
            self.n = 2
            return False

    c = CM()
    with c:
        y = x * c.n
    return y * c.n


@program
def map_multi(x):
    return sum(map(lambda a, b: a * b, x, [1.0, 2.0, 3.0]))


@program
def reduce_init(x):
    return functools.reduce(lambda a, b: a + b if b > 0 else a, x, 1.0)


@program
def sorted_idx(x):
    return np.stack([x * i for i in sorted(range(5), key=lambda i: -i)])


@program
def max_key(x):
    return max([1, 2, 3], key=lambda i: (i - 2) ** 2) * x


@program
def max_key_data(x):
    return max(list(x), key=lambda v: -v * v)


@program
def starmap(x: Any) -> Any:
    return sum(itertools.starmap(lambda a, b: math.sin(a) * b, [(x[0], 1.0), (x[1], 2.0)]))


@program
def partial_method(x: Any) -> Any:
    f = functools.partial(functools.partial(lambda a, b, c: a * b + c, x[0]), c=x[1])
    return f(x[2])


@pytest.mark.parametrize("name", PROGRAMS)
def test_plain_python_inside_is_pythons(name: str) -> None:
    for x in POINTS:
        check(PROGRAMS[name], x)
