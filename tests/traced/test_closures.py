"""Functions inside a traced one that read its variables, given to functors and combinators; objects and lists around them."""

# ruff: noqa: SIM108, RET504, B023, B007

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import catad as ct
from tests.traced.harness import check

PROGRAMS: dict[str, Callable[..., Any]] = {}
X = np.array([1.5137, 0.7071, -0.2236])
POINTS = (np.array([1.5137, 0.7071, -0.2236]), np.array([-0.5142, 0.3419, 0.9437]))
REFUSED = []


def program(fn: Callable[..., Any]) -> Callable[..., Any]:
    PROGRAMS[fn.__name__] = fn
    return fn


@program
def vmap_axes(x: Any) -> Any:
    k = x.sum()
    A = np.outer(x, x)
    return ct.vmap(lambda a, b: a * b.sum() * k, in_axes=(0, 1))(x, A)


@program
def vmap_none(x: Any) -> Any:
    k = x * 2
    return ct.vmap(lambda a, b: a * (b * k).sum(), in_axes=(0, None))(x, x)


@program
def vmap_out(x: Any) -> Any:
    k = x * 2
    return ct.vmap(lambda a: a * k, out_axes=1)(x)


@program
def vmap_grad(x: Any) -> Any:
    k = x * 2
    A = np.outer(x, x)
    return ct.vmap(ct.grad(lambda a: (a * a * k).sum()))(A)


@program
def grad_vmap(x: Any) -> Any:
    k = x * 2
    A = np.outer(x, x)
    return ct.grad(lambda B: ct.vmap(lambda a: (a * a * k).sum())(B).sum())(A)


@program
def vmap_tree(x: Any) -> Any:
    k = x.sum()
    r = ct.vmap(lambda q: {"y": q["w"] * k})({"w": x})
    return r["y"]


@program
def chain(x: Any) -> Any:
    k = x * 2
    f = ct.function(lambda v: v * k) >> ct.sin >> (lambda v: (v * k).sum())
    return ct.grad(f)(x)


@program
def fork_(x: Any) -> Any:
    k = x * 2
    a, b = ct.fork(lambda v: v * k, ct.sin)(x)
    return a * b


@program
def cross_(x: Any) -> Any:
    k = x * 2
    a, b = ct.cross(ct.function(lambda v: v * k), ct.sin)(x, x + 1)
    return a * b


@program
def choose_(x: Any) -> Any:
    k = x[0]
    return ct.choose(lambda v: v[0] > k * 0.5, lambda v: v * k, lambda v: v - k)(x)


@program
def iterate_in(x: Any) -> Any:
    k = x * 0.3
    return ct.iterate(lambda s, u: np.sin(s) + k * u, 5, inputs=True)(x, np.arange(5.0))


@program
def sweep_(x: Any) -> Any:
    k = x * 0.3
    s, o = ct.sweep(lambda s, g, u: (np.sin(s) * g + k * u, s.sum()), 5)(x, x[0], np.arange(5.0))
    return s + o.sum()


@program
def while_two(x: Any) -> Any:
    k = np.abs(x)
    a, b = ct.while_loop(lambda s, t: s.sum() > k[0] * 0.1, lambda s, t: (s * 0.5 + 0 * k, t + k))(k, x)
    return a + b


@program
def jvp_(x: Any) -> Any:
    k = x * x
    y, dy = ct.jvp(lambda v: v * v * k, (x,), (x + 1,))
    return y + dy


@program
def jvp_int(x: Any) -> Any:
    k = np.array([1, 2, 3]) * (x > 0)
    y, dy = ct.jvp(lambda v: v * v * k, (x,), (x + 1,))
    return y + dy


@program
def vjp_(x: Any) -> Any:
    k = x * x
    y, pb = ct.vjp(lambda v: v * v * k, x)
    return y + pb(x)[0]


@program
def vjp_late(x: Any) -> Any:
    k = x * x
    y, pb = ct.vjp(lambda v: v * v * k, x)
    k[0] = 100.0
    if x[0] > 0:
        z = pb(x)[0]
    else:
        z = pb(x * 2)[0]
    return y + z


@program
def hvp_(x: Any) -> Any:
    k = x * x
    return ct.hvp(lambda v: (v**3 * k).sum(), (x,), (x + 1,))


@program
def checkpoint_grad(x: Any) -> Any:
    k = x * x
    return ct.grad(lambda v: ct.checkpoint(lambda u: np.sin(u * k) * v)(v).sum())(x)


@program
def returns_outer(x: Any) -> Any:
    k = x * x
    return ct.checkpoint(lambda v: k)(x)


@program
def returns_tuple(x: Any) -> Any:
    k = x * x
    a, b = ct.checkpoint(lambda v: (k, v * k))(x)
    return a + b


@program
def static_closure(x: Any) -> Any:
    n = 3
    return ct.grad(lambda v: (v**n).sum())(x)


@program
def scalar_closure(x: Any) -> Any:
    k = x[0]
    return ct.grad(lambda t: t * t * k)(x[1])


@program
def py_scalar(x: Any) -> Any:
    k = x[0]
    return ct.grad(lambda t: t * t * k)(2.0)


@program
def method_closure(x: Any) -> Any:
    class M:
        def __init__(self, w):
            self.w = w

        def loss(self, v):
            return (v * v * self.w).sum()

    m = M(x * x)
    return ct.grad(m.loss)(x)


@program
def partial_closure(x: Any) -> Any:
    return ct.grad(functools.partial(lambda a, v: (v * v * a).sum(), x * x))(x)


@program
def list_closure(x: Any) -> Any:
    ws = [x * 2, x * 3]

    def net(v):
        for w in ws:
            v = np.tanh(v * w)
        return v.sum()

    return ct.grad(net)(x)


@program
def list_closure_changed(x: Any) -> Any:
    ws = [x * 2, x * 3]

    def net(v):
        for w in ws:
            v = np.tanh(v * w)
        return v.sum()

    a = ct.grad(net)(x)
    ws.append(x)
    return a + ct.grad(net)(x)


@program
def dict_closure(x: Any) -> Any:
    d = {"w": x * 2}
    return ct.grad(lambda v: (v * v * d["w"]).sum())(x)


@program
def default_closure(x: Any) -> Any:
    return ct.grad(lambda v, k=x * 2: (v * v * k).sum())(x)


@program
def helper_closure(x: Any) -> Any:
    k = x * x

    def h(v):
        return v * k

    return ct.grad(lambda v: h(h(v)).sum())(x)


@program
def maml(x: Any) -> Any:
    def inner(w):
        return w - 0.1 * ct.grad(lambda v: ((v - x) ** 2).sum())(w)

    def outer(w):
        return (inner(inner(w)) ** 2).sum()

    return ct.grad(outer)(x * 2)


@program
def implicit(x: Any) -> Any:
    def solve(a):
        z = a
        for _ in range(30):
            z = np.cos(z * a * 0.3)
        return z.sum()

    return ct.grad(solve)(x) + ct.grad(lambda t: solve(t * x))(x)


@program
def reused_function(x: Any) -> Any:
    k = x * x

    @ct.function
    def f(v):
        return v * k

    return f(f(x)) + ct.grad(lambda v: f(v).sum())(x)


@program
def nested_function_kw(x: Any) -> Any:
    k = x * x

    @ct.function(static="n")
    def f(v, n=2):
        return v**n * k

    return f(x, n=3) + f(x)


@program
def rows_vmap_append(x: Any) -> Any:
    out = []
    k = x * 2
    for i in range(20):
        out.append(ct.grad(lambda v: (v * v * k).sum() * i)(x))
    return np.stack(out)


@program
def debug_cell(x: Any) -> Any:
    # closure over a loop variable of a rolled loop
    s = x
    for i in range(30):
        s = ct.checkpoint(lambda v: v * 0.9 + i * 0.01)(s)
    return s


@program
def nonlocal_inner(x: Any) -> Any:
    n = 0

    def f(v):
        nonlocal n
        n += 1
        return (v * v).sum()

    g = ct.grad(f)(x)
    return g


@program
def int_closure(x: Any) -> Any:
    i = np.argmax(x)
    return ct.grad(lambda v: v[i] * v[i])(x)


@program
def bool_closure(x: Any) -> Any:
    m = x > 0
    return ct.grad(lambda v: np.where(m, v * v, v).sum())(x)


@program
def ct_map_fn(x: Any) -> Any:
    c = x[0]
    return ct.map(lambda a: a * c if a > 0 else c)(x)


@program
def ct_map_two(x: Any) -> Any:
    c = x[0]
    return ct.map(lambda a, b: a * c + b)(x, x[1])


@program
def ct_fold_fn(x: Any) -> Any:
    c = x[0]
    return ct.fold(lambda a, b: a + b, 0.0)(x * c)


@program
def shape_only(x: Any) -> Any:
    k = x * 2
    return ct.grad(lambda v: v.sum() * len(k) * k.ndim)(x)


@program
def const_only(x: Any) -> Any:
    k = np.arange(3.0)
    return ct.grad(lambda v: (v * k).sum())(x) + ct.vmap(lambda v: v * k[1])(x)


@program
def inner_of_inner_unregistered(x: Any) -> Any:
    k = x * 2

    def f(v):
        m = v * k
        return ct.fold(lambda a, b: a + b, 0.0)(ct.checkpoint(lambda u: u * m)(v))

    return ct.grad(f)(x)


@program
def kwargs_call(x: Any) -> Any:
    k = x * 2

    @ct.function
    def f(v, w=None, s=1.0):
        return v * k * s if w is None else v * w * k

    return f(x) + f(v=x) + f(x, w=x + 1) + f(x, s=2.0)


@program
def unrolled_many(x: Any) -> Any:
    k = x * 2
    s = x
    with ct.unrolled():
        for i in range(20):
            s = s - 0.01 * ct.grad(lambda v: (v * v * k).sum())(s)
    return s


@program
def inner_unrolls_for_number(x: Any) -> Any:
    k = x * 2

    def f(v):
        out = [0.0] * 20
        for i in range(20):
            out[i] = v[i % 3] * k[i % 3]
        return sum(out)

    return ct.grad(f)(x)


@program
def inner_append(x: Any) -> Any:
    k = x * 2

    def f(v):
        out = []
        for i in range(20):
            v = np.sin(v) * k * 0.3
            out.append(v.sum())
        return np.stack(out).sum()

    return ct.grad(f)(x)


@program
def closure_over_rolled_state(x: Any) -> Any:
    s = x
    outs = []
    for i in range(20):
        g = ct.grad(lambda v: (v * v * s).sum() * i)(x)
        s = s * 0.5 + g * 0.001
        outs.append(g)
    return np.stack(outs)


@program
def closure_over_row(x: Any) -> Any:
    t = 0.0
    for row in np.outer(np.arange(20.0), x):
        t = t + ct.grad(lambda v: (v * row).sum())(x).sum()
    return t


@pytest.mark.parametrize("name", PROGRAMS)
def test_functions_read_what_is_around_them(name: str) -> None:
    for x in POINTS:
        check(PROGRAMS[name], x, rtol=1e-13, refuses=name in REFUSED)


def test_the_program_is_closed() -> None:
    def f(x):
        k = x * x
        return ct.grad(lambda v: (v * v * k).sum())(x)

    p = ct.function(f).at(X)
    assert eval(repr(p), {"ct": ct, **p.names}) == p == ct.function(f).at(X)
    np.testing.assert_allclose(pickle.loads(pickle.dumps(p))(X), 2 * X**3)


def test_a_function_that_reads_values_around_it_has_no_program_of_its_own() -> None:
    def f(x):
        g = ct.function(lambda v: v * x)
        return g.at(ct.f64[3])(x)

    with pytest.raises(ct.TraceError, match="around it"):
        ct.function(f)(X)


def test_a_term_that_cannot_pass_values_says_so() -> None:
    def f(x):
        return ct.jacfwd(lambda v: v * x)(x)

    with pytest.raises(ct.TraceError):
        ct.function(f)(X)


def test_a_stand_in_of_another_trace_is_refused() -> None:
    kept = []

    def f(x):
        kept.append(x * 2)
        return x

    ct.function(f)(X)
    with pytest.raises(ct.TraceError, match="after its trace"):
        ct.function(lambda x: x + kept[0])(X)


def test_an_inner_function_may_read_a_name_that_a_branch_leaves_open_where_it_does_not_use_it() -> None:
    def f(x):
        if x > 0:
            y = [x]
        else:
            y = x

        def inner(a, never=False):
            return y if never else a * 2

        return inner(x)

    assert ct.function(f)(2.0) == f(2.0) == 4.0
    assert ct.grad(f)(-1.0) == 2.0
