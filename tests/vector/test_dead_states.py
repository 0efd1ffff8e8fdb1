"""Parts of a loop that no result needs: value, derivatives and what is kept are those of the program without them.

The oracle is the same program without the part, written by hand: its bits are compared. The part, left in, would overflow, so a
derivative that multiplies it by a zero is not a number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.engine.rewrites.merge import merged
from catad.vector.loops.either import Choose
from catad.vector.loops.sweep_map import Sweep

HUGE = 1e30
X = np.array([1.0, 2.0, 3.0])
Function = Callable[[Any], Any]
Pair = tuple[Function, Function]


def pair(make: Callable[[bool], Function]) -> Pair:
    """A function with the part, and the one without it."""
    return ct.function(make(True)), ct.function(make(False))


def one(dead: bool) -> Function:
    def f(x: Any) -> Any:
        a, b = x.copy(), x.copy()
        for _ in range(20):
            a = a * 0.5
            if dead:
                b = b * b * HUGE
        return np.sum(a * a)

    return f


def chain(dead: bool) -> Function:
    def f(x: Any) -> Any:
        a, b, c = x.copy(), x.copy(), x.copy()
        for _ in range(20):
            if dead:
                c = c * b * a * HUGE
                b = b * b * HUGE * a
            a = np.sin(a)
        return np.sum(a * a)

    return f


def at_once(dead: bool) -> Function:
    def f(x: Any) -> Any:
        y, b = np.zeros(20), x.copy()
        for i in range(20):
            y[i] = np.sin(x[0] * i) * x[1]
            if dead:
                b = b * b * HUGE
        return np.sum(y * y)

    return f


def written(dead: bool) -> Function:
    def f(x: Any) -> Any:
        y, a = np.zeros(20), x.copy()
        for i in range(20):
            a = a * 0.5
            if dead:
                y[i] = np.sqrt(a[0] - a[0]) * HUGE
        return np.sum(a * a)

    return f


def appended(dead: bool) -> Function:
    def f(x: Any) -> Any:
        a, b, left, more = x.copy(), x.copy(), [], []
        for _ in range(20):
            a = np.sin(a)
            left.append(a)
            if dead:
                b = b * b * HUGE
                more.append(b)
        return np.sum(np.stack(left) ** 2)

    return f


def inner(dead: bool) -> Function:
    def f(x: Any) -> Any:
        a, b = x.copy(), x.copy()
        for _ in range(20):
            for j in range(11):
                a = a * 0.99 + 0.01 * j
                if dead:
                    b = b * b * HUGE * a
        return np.sum(a * a)

    return f


def whole_inner_loop(dead: bool) -> Function:
    def f(x: Any) -> Any:
        a, b = x.copy(), x.copy()
        for _ in range(30):
            a = np.sin(a) * x
            if dead:
                for _ in range(11):
                    b = b * b * HUGE * a
        return np.sum(a * a)

    return f


def whiles(dead: bool) -> Function:
    def f(x: Any) -> Any:
        a, b, c = x.copy(), x.copy(), x[0]
        while c < 100.0:
            c = c * 1.5 + x[1]
            a = np.sin(a) * c
            if dead:
                b = b * b * HUGE * a
        return np.sum(a)

    return f


def while_in_for(dead: bool) -> Function:
    def f(x: Any) -> Any:
        a, b = x.copy(), x.copy()
        for _ in range(11):
            c = a[0] + 1.0
            while c < 50.0:
                c = c * 2.0
                if dead:
                    b = b * b * HUGE * a
            a = np.sin(a) * c / 64.0
        return np.sum(a * a)

    return f


def for_in_while(dead: bool) -> Function:
    def f(x: Any) -> Any:
        a, b = x.copy(), x.copy()
        while np.sum(a) > 0.01:
            for _ in range(11):
                a = a * 0.9
                if dead:
                    b = b * b * HUGE * a
        return np.sum(a * a)

    return f


def sides(dead: bool) -> Function:
    def f(x: Any) -> Any:
        a, b = x.copy(), x.copy()
        for _ in range(20):
            if np.sum(a) > 3.0:
                a = a * 0.5
                if dead:
                    b = b * b * HUGE
            else:
                a = a * 1.5
                if dead:
                    b = b + a
        return np.sum(a * a)

    return f


def integers(dead: bool) -> Function:
    def f(x: Any) -> Any:
        a, b, k, m = x.copy(), x.copy(), 0, 1
        for _ in range(20):
            k = (k + 3) % 7
            a = a * (0.1 * k) + 0.1
            if dead:
                m = m * 3 % 11
                b = b * b * HUGE * m
        return np.sum(a * a)

    return f


def layers(dead: bool) -> Function:
    def f(x: Any) -> Any:
        w = np.outer(x, x) * 0.1
        a, b = x.copy(), x.copy()
        for _ in range(20):
            if dead:
                b = (w @ b) * b * HUGE
            a = np.tanh(w @ a + x)
        return np.sum(a * a)

    return f


def two(a: Any, b: Any) -> Any:
    return np.sin(a), b * b * HUGE


def iterated(memory: int | None) -> Callable[[], Pair]:
    def made() -> Pair:
        f, g = ct.iterate(two, 20, memory=memory), ct.iterate(ct.sin, 20, memory=memory)
        return ct.function(lambda x: np.sum(f((x, x))[0] ** 2)), ct.function(lambda x: np.sum(g(x) ** 2))

    return made


def looped_while() -> Pair:
    f = ct.while_loop(lambda a, b: np.sum(a) > 1.0, two)
    g = ct.while_loop(lambda a: np.sum(a) > 1.0, ct.sin)
    return ct.function(lambda x: np.sum(f((x, x))[0] ** 2)), ct.function(lambda x: np.sum(g(x) ** 2))


def given_and_outputs() -> Pair:
    def wide(s: Any, g: Any, u: Any) -> Any:
        return (np.sin(s[0]) * g[0] + u[0], s[1] * s[1] * g[1] * HUGE + u[1]), (s[0] * u[0], s[1] * s[1] * g[1])

    f, g = ct.sweep(wide, 20), ct.sweep(lambda s, g, u: (np.sin(s) * g + u, s * u), 20)
    u = np.linspace(0.0, 1.0, 20)

    def first(x: Any) -> Any:
        s, o = f((x, x), (x[0], x[1]), (u * x[1], u * x[2]))
        return np.sum(s[0] ** 2) + np.sum(o[0])

    def second(x: Any) -> Any:
        s, o = g(x, x[0], u * x[1])
        return np.sum(s**2) + np.sum(o)

    return ct.function(first), ct.function(second)


def checkpointed() -> Pair:
    f, g = ct.checkpoint(lambda x: (np.sin(x), np.sqrt(x - x) * HUGE)), ct.checkpoint(ct.sin)
    return ct.function(lambda x: np.sum(f(x)[0])), ct.function(lambda x: np.sum(g(x)))


def chosen() -> Pair:
    f = ct.choose(lambda x: np.sum(x) > 0.0, lambda x: (np.sin(x), np.sqrt(x - x)), lambda x: (x, x))
    g = ct.choose(lambda x: np.sum(x) > 0.0, ct.sin, ct.id)
    return ct.function(lambda x: np.sum(f(x)[0])), ct.function(lambda x: np.sum(g(x)))


def folded() -> Pair:
    start: Any = np.eye(3)
    f = ct.fold(ct.function(lambda s, t: (s[0] @ t[0], (s[1] @ t[1]) * HUGE)), (start, start))
    g = ct.fold(ct.function(lambda s, t: s @ t), start)

    def matrices(x: Any) -> Any:
        return np.sin(np.arange(12.0)[:, None, None] * np.outer(x, x))

    return ct.function(lambda x: np.sum(f((matrices(x), matrices(x)))[0])), ct.function(lambda x: np.sum(g(matrices(x))))


MAKERS = [one, chain, at_once, written, appended, inner, whole_inner_loop]
MAKERS += [whiles, while_in_for, for_in_while, sides, integers, layers]
PAIRS: dict[str, Callable[[], Pair]] = {make.__name__: lambda make=make: pair(make) for make in MAKERS}  # type: ignore[misc]
PAIRS |= {f"iterate, memory={k}": iterated(k) for k in (None, 1, 4, 9, 19)}
PAIRS |= {made.__name__: made for made in (looped_while, given_and_outputs, checkpointed, chosen, folded)}


ENGINES = ["reference", pytest.param("cpu", marks=pytest.mark.slow)]
QUICK = ("one", "inner", "sides", "for_in_while", "checkpointed")  # the others are compiled where there is time
EACH = [
    pytest.param(name, engine, marks=[] if engine == "reference" or (engine == "cpu" and name in QUICK) else pytest.mark.slow)
    for name in PAIRS
    for engine in ("reference", "cpu")
]


def bits(value: Any) -> Any:
    array = np.asarray(value)
    return array.shape, array.dtype, array.tobytes()


@pytest.mark.parametrize(("name", "engine"), EACH)
def test_values_and_gradients_are_those_without_the_part(name: str, engine: Any) -> None:
    f, g = PAIRS[name]()
    with ct.use_engine(engine):
        found, expected = ct.value_and_grad(f)(X), ct.value_and_grad(g)(X)
        assert np.all(np.isfinite(found[1]))
        assert all(bits(p) == bits(q) for p, q in zip(found, expected, strict=True))
        assert bits(ct.vjp(f, X)[1](1.0)[0]) == bits(ct.vjp(g, X)[1](1.0)[0])
        assert bits(ct.jvp(f, (X,), (X,))[1]) == bits(ct.jvp(g, (X,), (X,))[1])


@pytest.mark.parametrize("name", PAIRS)
def test_nothing_is_kept_for_the_part(name: str) -> None:
    f, g = PAIRS[name]()
    assert ct.linearize(f, X)[1].stored == ct.linearize(g, X)[1].stored
    assert sum(a.nbytes for a in ct.vjp(f, X)[1].arrays) == sum(a.nbytes for a in ct.vjp(g, X)[1].arrays)


@pytest.mark.parametrize("name", ["one", "chain", "inner", "whiles", "sides", "iterate, memory=9", "looped_while"])
def test_other_derivatives_are_those_without_the_part(name: str) -> None:
    f, g = PAIRS[name]()
    for of in (
        lambda h: ct.jacobian(h)(X).todense(),
        lambda h: ct.hessian(h)(X).todense(),
        lambda h: ct.grad(ct.function(lambda x: np.sum(ct.grad(h)(x) ** 2)))(X),
        lambda h: ct.jvp(ct.grad(h), (X,), (X,))[1],
        lambda h: ct.grad(ct.checkpoint(h))(X),
        lambda h: ct.map(ct.grad(h))(np.stack([X, X + 1.0])),
    ):
        assert bits(of(f)) == bits(of(g))


def test_by_one_of_several_arguments() -> None:
    def f(x: Any, p: Any) -> Any:
        a, b = x.copy(), p.copy()
        for _ in range(20):
            b = np.sqrt(b - b) + p  # whose derivative by p is not a number, and by x zero
            a = np.sin(a) * b
        return np.sum(a * a)

    def g(x: Any, p: Any) -> Any:
        a = x.copy()
        for _ in range(20):
            a = np.sin(a) * p
        return np.sum(a * a)

    found, expected = [ct.grad(ct.function(h), argnums=0)(X, X) for h in (f, g)]
    assert bits(found) == bits(expected)
    found, expected = [ct.jvp(ct.function(lambda x, h=h: h(x, X)), (X,), (X,))[1] for h in (f, g)]
    assert bits(found) == bits(expected)


@pytest.mark.parametrize("jacobian", [ct.jacfwd, ct.jacrev])
def test_one_block_of_a_jacobian_is_not_a_number(jacobian: Any) -> None:
    def f(x: Any, p: Any) -> Any:
        a, c = x.copy(), p.copy()
        for _ in range(20):
            c = np.sqrt(c - c) + p
            a = np.sin(a)
        return a, c

    (by_x, _), (other, by_p) = jacobian(ct.function(f), argnums=(0, 1))(X, X)
    expected = np.diag(ct.grad(ct.function(lambda x: np.sum(f(x, X)[0])))(X))
    assert np.allclose(by_x, expected, rtol=1e-12) and not np.any(other) and not np.all(np.isfinite(by_p))


# -- a state that the value needs, and no derivative


def compared(a: Any, b: Any) -> Any:
    return np.where(b > 0.0, np.sin(a), a), b * b * HUGE


def by_comparison(x: Any) -> Any:
    a, b = x.copy(), x.copy()
    for _ in range(20):
        a, b = compared(a, b)
    return np.sum(a * a)


def by_branch(x: Any) -> Any:
    a, b = x.copy(), x[0]
    for _ in range(20):
        b = b * b * HUGE
        if b > 0.0:
            a = np.sin(a)
    return np.sum(a * a)


def by_condition(x: Any) -> Any:
    a, b = x.copy(), x[0]
    while b < 1e300:
        b = (b + 1.0) * (b + 1.0) * 1e10
        a = np.sin(a)
    return np.sum(a * a)


def stopped(x: Any) -> Any:
    a, b = x.copy(), x.copy()
    for _ in range(20):
        b = np.sqrt(b - b) + 1.0
        a = np.sin(a) * ct.stop_gradient(b)
    return np.sum(a * a)


def constant(x: Any) -> Any:
    a, b = x.copy(), np.ones(3)
    for _ in range(20):
        b = np.sqrt(b * 0.0) + 1.0
        a = np.sin(a) * b
    return np.sum(a * a)


def sines(x: Any, n: int = 20) -> Any:
    for _ in range(n):
        x = np.sin(x)
    return np.sum(x * x)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("f", [by_comparison, by_branch, by_condition, stopped, constant])
def test_a_state_without_derivative(f: Function, engine: Any) -> None:
    n = 5 if f is by_condition else 20
    with ct.use_engine(engine):
        expected = ct.grad(ct.function(lambda x: sines(x, n)))(X)
        with np.errstate(over="ignore"):
            differences = [(f(X + e) - f(X - e)) / 2e-6 for e in 1e-6 * np.eye(3)]
        for found in (ct.grad(ct.function(f))(X), ct.vjp(ct.function(f), X)[1](1.0)[0]):
            assert np.allclose(found, expected, rtol=1e-12) and np.allclose(found, differences, rtol=1e-6)
        assert np.isclose(ct.jvp(ct.function(f), (X,), (X,))[1], expected @ X)
    first, second = [ct.grad(ct.function(lambda x, h=h: np.sum(ct.grad(h)(x) ** 2)))(X) for h in (f, lambda x: sines(x, n))]
    assert np.allclose(first, second, rtol=1e-10)


@pytest.mark.parametrize("memory", [1, 3, 9, 19])
def test_a_state_without_derivative_in_bounded_memory(memory: int) -> None:
    loop = ct.iterate(compared, 20, memory=memory)

    def f(x: Any) -> Any:
        return np.sum(loop((x, x))[0] ** 2)

    assert np.allclose(ct.grad(f)(X), ct.grad(sines)(X), rtol=1e-12)
    first, second = [ct.grad(lambda x, h=h: np.sum(ct.grad(h)(x) ** 2))(X) for h in (f, sines)]
    assert np.allclose(first, second, rtol=1e-10)


def test_a_result_of_a_checkpoint_without_derivative() -> None:
    f = ct.checkpoint(lambda x: (np.sin(x), np.sqrt(x - x)))

    def where(x: Any) -> Any:
        y, z = f(x)
        return np.sum(np.where(z < 1.0, y, 0.0))

    assert np.array_equal(ct.grad(where)(X), np.cos(X))
    assert np.isclose(ct.jvp(where, (X,), (X,))[1], np.cos(X) @ X)
    assert np.allclose(ct.grad(lambda x: np.sum(ct.grad(where)(x) ** 2))(X), -2 * np.cos(X) * np.sin(X))


# -- drawn loops


def drawn(seed: int) -> tuple[ct.D, ct.D, int]:
    """A sweep whose states and outputs read drawn states, of which a drawn part is read; the same without what that does not
    need; and the number of steps."""
    rng = np.random.default_rng(seed)
    k, n = int(rng.integers(2, 6)), int(rng.integers(2, 7))
    reads = [[j for j in range(k) if rng.random() < 0.35] for _ in range(k)]
    outputs = [[j for j in range(k) if rng.random() < 0.3] for _ in range(3)]
    read = sorted({int(rng.integers(k)), *[j for j in range(k) if rng.random() < 0.2]})
    shown = [j for j in range(3) if rng.random() < 0.4]
    needed = {*read, *[i for j in shown for i in outputs[j]]}
    while not needed.issuperset(more := {i for j in needed for i in reads[j]}):
        needed |= more

    def program(states: list[int], outs: list[int]) -> ct.D:
        def step(s: Any, g: Any, u: Any) -> Any:
            at = dict(zip(states, s, strict=True))

            def new(i: int) -> Any:
                total = u * 0.1 + g[i % 2]
                for j in reads[i]:
                    total = total + at[j]
                return np.sin(total) if i in needed else total * at[i] * HUGE

            def shows(j: int) -> Any:
                total = u * 1.0
                for i in outputs[j]:
                    total = total * at[i]
                return total

            return tuple([new(i) for i in states]), tuple([shows(j) for j in outs])

        loop = ct.sweep(step, n, reverse=seed % 2 == 1)

        def f(x: Any, g: Any, h: Any, u: Any) -> Any:
            s, o = loop(tuple([x * (1.0 + i) for i in states]), (g, h), u)
            parts = [s[states.index(i)] for i in read] + [o[outs.index(j)] for j in shown]
            total = np.sum(parts[0] ** 2)
            for part in parts[1:]:
                total = total + np.sum(part)
            return total

        made: ct.D = ct.function(f)
        return made

    return program(list(range(k)), [0, 1, 2]), program(sorted(needed), shown), n


@pytest.mark.parametrize("seed", range(12))
def test_drawn_loops(seed: int) -> None:
    f, g, n = drawn(seed)
    rng = np.random.default_rng(seed)
    point = rng.random(3), rng.random(3), rng.random(3), rng.random((n, 3))
    for engine in ("reference", "cpu"):
        with ct.use_engine(engine):
            found, expected = [ct.value_and_grad(h, argnums=(0, 1, 2, 3))(*point) for h in (f, g)]
            assert bits(found[0]) == bits(expected[0])
            assert [bits(a) for a in found[1]] == [bits(a) for a in expected[1]]
    assert ct.linearize(f, *point)[1].stored == ct.linearize(g, *point)[1].stored


# -- kernels


@ct.kernel
def carried(x: Any, y: Any) -> Any:
    i = ct.simt.grid(1)
    if i < len(x):
        a, b = x[i], x[i]
        for _ in range(20):
            a = np.sin(a)
            b = b * b * HUGE
        y[i] = a


@ct.kernel
def stored(x: Any, y: Any, z: Any) -> Any:
    i = ct.simt.grid(1)
    if i < len(x):
        y[i], z[i] = x[i], x[i]
        for _ in range(20):
            y[i] = np.sin(y[i])
            z[i] = z[i] * z[i] * HUGE


def test_kernels() -> None:
    zeros = np.zeros(3)
    first, second = carried[1, 4], stored[1, 4]
    for f in (lambda x: np.sum(first(x, zeros) ** 2), lambda x: np.sum(second(x, zeros, zeros)[0] ** 2)):
        assert np.allclose(ct.grad(f)(X), ct.grad(sines)(X), rtol=1e-12)


# -- what the boxes are


def loops(term: Any, dom: ct.Space) -> list[Any]:
    return [box.primitive for box in ct.wire(term, dom).boxes if isinstance(box.primitive, Sweep | Choose)]


def test_boxes_have_no_other_states() -> None:
    f, g = PAIRS["sides"]()
    ((wide,), (narrow,)) = [loops(h, ct.f64[3]) for h in (f, g)]
    assert len(wide.state.leaves) == len(narrow.state.leaves) == 1
    (reverse,) = [p for p in loops(ct.grad(f), ct.f64[3]) if p.reverse]
    assert len(reverse.state.leaves) == 1


def test_all_results_stay_where_all_are_read() -> None:
    loop = ct.iterate(two, 20)
    assert len(loops(loop, ct.f64[3] * ct.f64[3])[0].state.leaves) == 2
    assert len(loops(loop >> ct.exl, ct.f64[3] * ct.f64[3])[0].state.leaves) == 1


def test_a_gradient_is_a_part_of_the_loop_of_a_value_that_needs_more_states() -> None:
    def f(x: Any) -> Any:
        a, b = x.copy(), x.copy()
        for _ in range(20):
            b = b * a
            a = np.sin(a)
        return np.sum(a * a), b

    term = ct.value_and_grad(ct.function(f), has_aux=True)
    made = [box.primitive for box in merged(ct.wire(term, ct.f64[3])).boxes if isinstance(box.primitive, Sweep)]
    assert [len(sweep.state.leaves) for sweep in made if not sweep.reverse] == [2]
    for engine in ("reference", "cpu"):
        with ct.use_engine(engine):
            (value, b), gradient = term(X)
        assert np.allclose(value, f(X)[0], rtol=1e-12) and np.allclose(b, f(X)[1], rtol=1e-12)
        assert np.allclose(gradient, ct.grad(ct.function(sines))(X), rtol=1e-12)


@pytest.mark.parametrize("engine", ["reference", "auto"])
def test_while_loops_in_lanes_leave_out_states_too(engine: str) -> None:
    """In lanes, a while loop is laid out in another way than alone."""

    def f(s: Any, t: Any, c: Any) -> Any:
        for _ in range(30):
            while c > 1.0:
                t, s, c = t * 0.5, s * s * 1e30, c * 0.5
        return t

    s, t, c = np.array([1.0, 2.0, 9.0]), np.array([1.0, 2.0, 5.0]), np.array([1.0, 2.0, 9.5])
    traced, ones = ct.function(f), (np.ones(3), np.ones(3), np.ones(3))
    factor = np.array([1.0, 0.5, 0.0625])
    with ct.use_engine(engine):
        np.testing.assert_array_equal(ct.vmap(traced)(s, t, c), factor * t)
        np.testing.assert_array_equal(ct.jvp(ct.vmap(traced), (s, t, c), ones)[1], factor)
        gradient = ct.grad(lambda *x: ct.vmap(traced)(*x).sum(), argnums=(0, 1, 2))(s, t, c)
    np.testing.assert_array_equal(gradient, [np.zeros(3), factor, np.zeros(3)])
