"""Loops: `iterate`, `while_loop`, `checkpoint`."""

from __future__ import annotations

from itertools import count
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.testing import check_laws
from catad.vector.loops.revolve import revolve

X = np.array([0.3, 0.5])
STEP = ct.map(lambda s: np.sin(s) * 1.1 + 0.2)


def unrolled(f: ct.D, n: int) -> ct.D:
    return ct.compose(*[f] * n)


def weighted(f: ct.D) -> ct.D:
    return ct.fork(ct.grad(f), ct.const(X)) >> ct.einsum("i,i->")


@pytest.mark.quick(8)
@pytest.mark.parametrize("memory", [None, 1, 2, 3, 7, 20])
@pytest.mark.parametrize("n", [0, 1, 2, 7])
def test_an_iteration_is_the_chain_of_its_steps(n: int, memory: int | None) -> None:
    loop = ct.iterate(STEP, n, memory=memory) >> ct.sum()
    chain = unrolled(STEP, n) >> ct.sum()
    assert np.array_equal(loop(X), chain(X))
    pairs = [
        (ct.jvp(loop, (X,), (X,))[1], ct.jvp(chain, (X,), (X,))[1]),
        (ct.grad(loop)(X), ct.grad(chain)(X)),
        (ct.hessian(loop)(X).todense(), ct.hessian(chain)(X).todense()),
        (ct.grad(weighted(weighted(loop)))(X), ct.grad(weighted(weighted(chain)))(X)),
    ]
    for got, want in pairs:
        assert np.allclose(got, want, rtol=1e-12, atol=1e-14)


@pytest.mark.numpy_only
def test_inputs_per_step() -> None:
    n = 5
    f = ct.map(lambda s, u: np.tanh(s * u + 0.1))
    loop = ct.iterate(f, n, inputs=True)
    u = np.linspace(0.5, 1.5, n)

    def plain(s: Any, u: Any) -> Any:
        for k in range(n):
            s = np.tanh(s * u[k] + 0.1)
        return s

    with ct.use_engine("reference"):  # whose tanh is NumPy's; that of compiled code is within 2 ulp
        assert loop(0.5, u) == plain(0.5, u)
    assert np.isclose(loop(0.5, u), plain(0.5, u), rtol=1e-15, atol=0.0)
    for memory in (None, 2):
        ds, du = ct.grad(ct.iterate(f, n, inputs=True, memory=memory))(0.5, u)
        h = 1e-6
        assert np.isclose(ds, (plain(0.5 + h, u) - plain(0.5 - h, u)) / (2 * h), rtol=1e-8)
        differences = [(plain(0.5, u + h * e) - plain(0.5, u - h * e)) / (2 * h) for e in np.eye(n)]
        assert np.allclose(du, differences, rtol=1e-7)


def test_a_state_of_several_parts_with_integers() -> None:
    """Fibonacci on floats, with a counter that has no derivative."""
    f = ct.map(lambda a, b, k: (b, a + b * (k % 2 + 1), k + 1))
    loop = ct.iterate(f, 6)
    state = (1.0, 2.0, np.int64(0))
    a, b, k = 1.0, 2.0, 0
    for _ in range(6):
        a, b, k = b, a + b * (k % 2 + 1), k + 1
    got = loop(state)
    assert (got[0], got[1], got[2]) == (a, b, k)
    ((da, db, dk),) = ct.vjp(loop, state)[1]((1.0, 0.0, ()))
    assert (da, db) == (13.0, 18.0) or np.isclose(da * 1.0 + db * 2.0, a)  # linear in its floats
    assert dk == ()


def test_it_maps_over_a_batch() -> None:
    batch = np.stack([X, 2 * X, -X])
    loop = ct.iterate(STEP, 4)
    assert np.array_equal(ct.map(loop)(batch), np.stack([loop(x) for x in batch]))
    (dx,) = ct.vjp(ct.map(loop), batch)[1](np.ones((3, 2)))
    assert np.allclose(dx, np.stack([ct.vjp(loop, x)[1](np.ones(2))[0] for x in batch]), rtol=1e-14)


CELL = ct.fork(ct.fork(ct.fork(ct.exl >> ct.exl, ct.exl >> ct.exr) >> ct.matmul, ct.exr) >> ct.add >> ct.tanh, ct.exl >> ct.exr)


@pytest.mark.parametrize("engine", ["reference", "cpu"])
def test_weights_that_a_loop_hands_on_are_kept_once(engine: Any) -> None:
    """Of a recurrent layer, the coefficients of each step are its state and a slope; the matrix is the same at each."""
    steps, rows, n = 4, 2, 3
    rng = np.random.default_rng(0)
    h, w, u, dh, dw, du = (0.5 * rng.standard_normal(s) for s in [(rows, n), (n, n), (steps, rows, n)] * 2)
    loop = ct.iterate(CELL, steps, inputs=True) >> ct.exl

    chain: ct.D = ct.exl >> ct.exl
    for k in range(steps):
        row = ct.exr >> ct.slice(k, k + 1) >> ct.reshape((rows, n))
        chain = ct.fork(ct.fork(chain, ct.exl >> ct.exr), row) >> CELL >> ct.exl
    x, v = ((h, w), u), ((dh, dw), du)
    with ct.use_engine(engine):
        y, L = ct.linearize(loop, x)
        assert L.stored == steps * 2 * rows * n + n * n
        for got, want in [(L(v), ct.jvp(chain, (x,), (v,))[1]), (L.T(y)[0][1], ct.linearize(chain, x)[1].T(y)[0][1])]:
            assert np.allclose(got, want, rtol=1e-12, atol=1e-14)
        f, g = (ct.hvp(each >> ct.square >> ct.sum(), (x,), (v,)) for each in (loop, chain))
        for got, want in zip((*f[0], f[1]), (*g[0], g[1]), strict=True):
            assert np.allclose(got, want, rtol=1e-11, atol=1e-13)
        many = ((np.stack([h, 2 * h]), np.stack([w, -w])), np.stack([u, u]))
        total = ct.grad(loop >> ct.square >> ct.sum())
        mapped, second = ct.map(total)(many), total(((2 * h, -w), u))
        assert np.allclose(mapped[0][1][1], second[0][1], rtol=1e-12, atol=1e-14)


# -- memory: Revolve's counts


def binomial(n: int, kept: int) -> int:
    """Steps taken again by the optimal schedule in closed form (Griewank and Walther 2000, proposition 1)."""
    from math import comb

    r = 0
    while comb(kept + r, kept) < n:
        r += 1
    return r * n - comb(kept + r, r - 1) if r else 0


@pytest.mark.parametrize("kept", [1, 2, 3, 5])
def test_the_schedule_is_revolves(kept: int) -> None:
    for n in range(1, 40):
        assert revolve(n, kept)[0] == binomial(n, kept)


@pytest.mark.numpy_only
@pytest.mark.parametrize(("n", "memory"), [(6, 1), (10, 2), (10, 3), (21, 2)])
def test_the_steps_that_are_taken_are_those_of_the_schedule(n: int, memory: int) -> None:
    taken = [0]

    def counted(x: Any) -> Any:
        taken[0] += 1
        x = np.asarray(x)
        return np.sin(x), ct.scale(np.cos(x))

    loop = ct.iterate(ct.D(counted), n, memory=memory)
    ct.vjp(loop, X)[1](X)
    taken[0] = 0
    _, pullback = ct.vjp(loop, X)
    pullback(X)
    every_step_once_more = n  # each step is taken once to be linearised
    assert taken[0] <= revolve(n, memory)[0] + 2 * every_step_once_more


def test_memory_is_what_was_asked_for() -> None:
    """The coefficients kept for the pullback: one state for each checkpoint, and one step's own."""
    x = np.ones(1000)
    for memory in (1, 3, 6):
        _, L = ct.linearize(ct.iterate(STEP, 50, memory=memory), x)
        assert L.stored <= (memory + 1) * x.size
    assert ct.linearize(ct.iterate(STEP, 50), x)[1].stored == 50 * x.size


# -- while


HALVE = ct.while_loop(ct.map(lambda x: x > 1.0), ct.map(lambda x: x / 2.0))


def test_a_while_loop_counts_its_steps_on_the_data() -> None:
    for x, steps in [(10.0, 4), (100.0, 7), (0.5, 0), (10.0, 4)]:
        assert HALVE(x) == x / 2**steps
        assert ct.value_and_grad(HALVE)(x) == (x / 2**steps, 0.5**steps)
        assert ct.jvp(HALVE, (x,), (1.0,)) == (x / 2**steps, 0.5**steps)
        assert ct.vjp(HALVE, x)[1](1.0) == (0.5**steps,)
        assert ct.hessian(HALVE >> ct.square)(x).todense() == 2 * 0.25**steps


@pytest.mark.numpy_only
def test_a_while_loop_takes_each_step_once() -> None:
    """Its steps are counted as they are taken, with the coefficients of the derivative where these are asked for."""
    taken = [0]

    def halving(x: Any) -> Any:
        taken[0] += 1
        return np.float64(float(x) / 2.0), ct.scale(0.5)

    loop = ct.while_loop(ct.map(lambda x: x > 1.0), ct.D(halving))
    for call in (loop, ct.value_and_grad(loop), lambda x: ct.jvp(loop, (x,), (1.0,)), lambda x: ct.vjp(loop, x)):
        call(100.0)
        taken[0] = 0
        call(100.0)
        assert taken[0] == 7


def test_newtons_method_by_a_while_loop() -> None:
    """The derivative of a square root that is found by iterating."""
    step = ct.map(lambda y, a: ((y + a / y) / 2.0, a))
    not_yet = ct.map(lambda y, a: abs(y * y - a) > 1e-12 * a)
    root = ct.fork(ct.id, ct.id) >> ct.while_loop(not_yet, step) >> ct.exl
    for a in (2.0, 16.0, 1e6):
        assert np.isclose(root(a), np.sqrt(a), rtol=1e-12)
        assert np.isclose(ct.grad(root)(a), 0.5 / np.sqrt(a), rtol=1e-6)


def test_two_loops_in_one_program() -> None:
    f = HALVE >> ct.map(lambda x: x + 8.0) >> ct.while_loop(ct.map(lambda x: x > 2.0), ct.map(lambda x: x * 0.75))
    for x in (3.0, 30.0, 0.1):
        y = x
        slope = 1.0
        while y > 1.0:
            y, slope = y / 2.0, slope / 2.0
        y += 8.0
        while y > 2.0:
            y, slope = y * 0.75, slope * 0.75
        value, gradient = ct.value_and_grad(f)(x)
        assert (value, gradient) == (y, slope)


def test_laws_of_while_loops() -> None:
    loop = ct.while_loop(ct.sum() >> ct.map(lambda s: s * s > 1.0), 0.5 * ct.id)
    check_laws(loop, np.array([3.0, -0.5]), exact=True)


def halved(x: float) -> tuple[float, float]:
    """What `HALVE` makes of a number, and its derivative."""
    slope = 1.0
    while x > 1.0:
        x, slope = x / 2.0, slope / 2.0
    return x, slope


def test_a_derivative_that_needs_no_state_counts_the_steps_too() -> None:
    """All coefficients of this loop are constants, only their number is data."""
    loop = ct.while_loop(ct.map(lambda x: x > 1.0), ct.map(lambda x: x / 2.0), max_steps=99)
    for x in (10.0, 100.0, 0.3, 100.0):
        assert ct.grad(loop)(x) == halved(x)[1]
        assert ct.vjp(loop, x)[1](1.0) == (halved(x)[1],)
        assert ct.jacobian(loop)(x).todense() == halved(x)[1]


BATCHES = [[10.0, 0.3, 100.0, 2.0], [0.5, 0.2], [7.0], [], [3.0, 1e6, 3.0]]


@pytest.mark.parametrize("batch", BATCHES)
def test_each_lane_of_a_batch_takes_its_own_steps(batch: list[float]) -> None:
    x = np.array(batch)
    value, slope = np.array([halved(t) for t in batch]).reshape(-1, 2).T
    mapped = ct.map(HALVE)
    assert np.array_equal(mapped(x), value)
    assert np.array_equal(ct.map(ct.grad(HALVE))(x), slope)
    assert np.array_equal(ct.jvp(mapped, (x,), (np.full(len(x), 3.0),))[1], 3.0 * slope)
    assert np.array_equal(ct.vjp(mapped, x)[1](value)[0], value * slope)
    assert np.array_equal(ct.jacobian(mapped)(x).todense(), np.diag(slope))
    second = ct.hessian(mapped >> ct.square >> ct.sum())(x).todense()
    assert np.array_equal(second, np.diag(2.0 * slope**2))
    assert np.array_equal(ct.map(ct.map(HALVE))(x[:, None])[:, 0], value)
    assert [HALVE(t) for t in batch] == value.tolist()  # alone again


def test_lanes_that_are_done_do_no_harm() -> None:
    """Steps that are not defined where the loop ends, or at zero: nothing of them is read."""
    step = ct.map(lambda x, k: (np.sqrt(x - 1.0), k + 1))
    loop = ct.while_loop(ct.map(lambda x, k: x > 1.0), step)
    x, k = np.array([26.0, 0.5, 1.0, 3.0, 1e9, np.nan]), np.zeros(6, np.int64)
    (y, steps), (dy, _) = ct.jvp(ct.map(loop), ((x, k),), ((np.ones(6), ()),))
    ((dx, _),) = ct.vjp(ct.map(loop), (x, k))[1]((np.ones(6), ()))
    for i in range(6):
        alone, tangent = ct.jvp(loop, ((x[i], k[i]),), ((1.0, ()),))
        np.testing.assert_allclose([y[i], steps[i], dy[i], dx[i]], [*alone, tangent[0], tangent[0]], rtol=1e-14)
    assert steps.tolist() == [3, 0, 0, 2, 6, 0] and np.isfinite(dy).all()


@pytest.mark.parametrize("memory", [None, 1])
def test_loops_within_loops_may_be_uneven(memory: int | None) -> None:
    f = HALVE >> ct.map(lambda x: x * x * 9.0)
    for x in (0.9, 0.1, 5.0):
        value, slope = x, 1.0
        for _ in range(6):
            value, times = halved(value)
            value, slope = value * value * 9.0, slope * times * 18.0 * value
        loop = ct.iterate(f, 6, memory=memory)
        assert loop(x) == value
        assert np.isclose(ct.grad(loop)(x), slope, rtol=1e-14)
    pair = np.array([0.9, 5.0])
    assert np.array_equal(ct.map(ct.iterate(f, 3))(pair), [ct.iterate(f, 3)(x) for x in pair])


def test_one_loop_twice_in_a_program() -> None:
    f = HALVE >> ct.map(lambda x: x * 7.0) >> HALVE
    for x in (3.0, 0.1, 40.0):
        first, a = halved(x)
        second, b = halved(7.0 * first)
        assert ct.value_and_grad(f)(x) == (second, 7.0 * a * b)


def test_a_loop_whose_steps_are_loops() -> None:
    """The larger of two powers is halved until it is small, again and again."""
    outer = ct.while_loop(ct.map(lambda x: x > 0.1), HALVE >> ct.map(lambda x: x * x * 0.9))
    x = np.array([0.05, 3.0, 0.9, 70.0])
    want = []
    for t in x:
        slope = 1.0
        while t > 0.1:
            t, times = halved(t)
            t, slope = t * t * 0.9, slope * times * 1.8 * t
        want.append((t, slope))
    value, slope = np.array(want).T
    assert np.array_equal(ct.map(outer)(x), value)
    assert np.allclose(ct.map(ct.grad(outer))(x), slope, rtol=1e-14)
    assert np.allclose([ct.grad(outer)(t) for t in x], slope, rtol=1e-14)


# -- mistakes


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ct.iterate(ct.sum(), 3)(X), "ct.f64[2] becomes ct.f64[()]"),
        (lambda: ct.iterate(STEP, -1), "an integer of at least 0"),
        (lambda: ct.iterate(STEP, 3, memory=0), "at least 1"),
        (lambda: ct.iterate(ct.mul, 3, inputs=True)(1.0, np.ones(4)), "one leading axis of length 3"),
        (lambda: ct.while_loop(ct.id, ct.id)(1.0), "a condition gives one boolean"),
        (lambda: ct.while_loop(ct.map(lambda x: x > 0), ct.id, max_steps=10)(1.0), "has not ended after 10 steps"),
        (lambda: ct.iterate("f", 3), "takes morphisms"),
        (lambda: ct.checkpoint(3), "takes morphisms"),
    ],
)
def test_mistakes(call: Any, words: str) -> None:
    with pytest.raises(ct.CatadError) as caught:
        call()
    assert words in str(caught.value)


# -- a loop that no value needs is counted all the same before its derivative is believed


def summed(i: Any, s: Any, n: Any, w: Any) -> Any:
    return i + 1, s + np.sum(w), n, w


def powered(i: Any, s: Any, n: Any, w: Any) -> Any:
    return i + 1, s * np.sum(w * w), n, w


def fresh(step: Any, start: float) -> Any:
    """A function of (n, w) with a loop that no call has met: it is laid out for no step at first."""
    loop = ct.while_loop(lambda i, s, n, w: i < n, step, max_steps=next(LIMITS))
    return ct.function(lambda n, w: loop(0, start, n, w)[1])


LIMITS = count(1000)
TWO = np.ones(2)


@pytest.mark.parametrize("order", [(3, 0, 2), (0, 3, 1), (1, 4, 0)])
def test_a_gradient_by_what_is_given_counts_the_steps(order: tuple[int, ...]) -> None:
    f = fresh(summed, 0.0)
    g = ct.grad(f, argnums=1)
    assert [g(n, TWO).tolist() for n in order] == [[n, n] for n in order]


@pytest.mark.parametrize("order", [(3, 0, 2), (0, 3)])
def test_a_hessian_by_what_is_given_counts_the_steps(order: tuple[int, ...]) -> None:
    f = fresh(powered, 1.0)  # (w . w)^n
    for n in order:
        expected = 2 * n * 2.0 ** (n - 1) * np.eye(2) + 4 * n * (n - 1) * 2.0 ** (n - 2) * np.ones((2, 2))
        assert np.allclose(ct.hessian(f, argnums=1)(n, TWO).todense(), expected)
        assert np.allclose(ct.grad(lambda w: np.sum(ct.grad(f, argnums=1)(n, w)))(TWO), expected.sum(axis=0))  # noqa: B023


@pytest.mark.parametrize("wrap", [ct.checkpoint, lambda f: ct.iterate(f, 1), lambda f: ct.choose(lambda w: w[0] > 0, f, f)])
def test_the_steps_of_a_loop_inside_are_counted(wrap: Any) -> None:
    f = fresh(summed, 0.0)
    inner = wrap(lambda w: f(np.int64(3), w) * w)
    assert np.allclose(ct.grad(lambda w: np.sum(inner(w)))(TWO), [12.0, 12.0])  # of 3 (w0 + w1)^2


def test_lanes_count_their_steps() -> None:
    f = fresh(summed, 0.0)
    g = ct.map(ct.grad(f, argnums=1))
    assert g(np.array([0, 2, 4]), np.ones((3, 2))).tolist() == [[0, 0], [2, 2], [4, 4]]


def test_a_pullback_counts_the_steps_of_loops_that_run_again() -> None:
    def halved(x):
        while x > 1.0:
            x = x / 2.0
        return x * x

    y, pullback = ct.vjp(ct.checkpoint(halved), 10.0)
    assert y == 0.625**2 and pullback(1.0)[0] == pytest.approx(2.0 * 0.625 / 16.0)
    assert ct.linearize(ct.checkpoint(halved), 7.0)[1].todense() == pytest.approx(2.0 * 0.875 / 8.0)
