"""Loops: `iterate`, `while_loop`, `checkpoint`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.testing import LAWS, check_laws
from catad.vector.loop import revolve

X = np.array([0.3, 0.5])
STEP = ct.map(lambda s: np.sin(s) * 1.1 + 0.2)


def unrolled(f: ct.D, n: int) -> ct.D:
    return ct.compose(*[f] * n)


def weighted(f: ct.D) -> ct.D:
    return ct.fork(ct.grad(f), ct.const(X)) >> ct.einsum("i,i->")


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


def test_inputs_per_step() -> None:
    n = 5
    f = ct.map(lambda s, u: np.tanh(s * u + 0.1))
    loop = ct.iterate(f, n, inputs=True)
    u = np.linspace(0.5, 1.5, n)

    def plain(s: Any, u: Any) -> Any:
        for k in range(n):
            s = np.tanh(s * u[k] + 0.1)
        return s

    assert loop(0.5, u) == plain(0.5, u)
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
    check_laws(loop, np.array([3.0, -0.5]), exact=True, only=[name for name in LAWS if name != "batching"])


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
        (lambda: ct.map(HALVE)(X), "cannot be mapped"),
        (lambda: ct.iterate(HALVE >> ct.map(lambda x: x * x * 9.0), 3)(0.9), "not the same number of steps each time"),
        (lambda: ct.iterate("f", 3), "takes morphisms"),
        (lambda: ct.checkpoint(3), "takes morphisms"),
    ],
)
def test_mistakes(call: Any, words: str) -> None:
    with pytest.raises(ct.CatadError) as caught:
        call()
    assert words in str(caught.value)
