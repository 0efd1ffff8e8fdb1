"""Rooms of loops: any sweep and any while loop in bounded memory has the derivatives that it has without a limit."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad import upward
from catad.planner.memory.liveness import peak_of
from catad.testing import check_laws
from catad.vector.loops.revolve import BoundedPullback, revolve
from catad.vector.loops.snapshots import Roomed, Rooms, loops_of
from tests.vector.test_sweep import CASES, equal, scaled, squared, stacked

ENGINES = ["reference", "cpu"]
STATE, GIVEN, INPUT = ct.proj(0), ct.proj(1), ct.proj(2)
CELL = ct.fork(
    ct.fork(ct.fork(GIVEN, STATE) >> ct.matmul, INPUT) >> ct.add >> ct.tanh, ct.fork(STATE, INPUT) >> ct.mul >> ct.sum()
)
RNG = np.random.default_rng(3)
POINT = RNG.standard_normal(3), RNG.standard_normal((3, 3)), RNG.standard_normal((31, 3))


def roomed(f: ct.D, x: Any, rooms: Rooms) -> ct.D:
    found = loops_of(f, ct.space_of(x))
    return Roomed(f, (*rooms, *[None] * (len(found) - len(rooms))))


def same_derivatives(f: ct.D, x: Any, bounded: ct.D, order: int = 2) -> None:
    """Values and gradients have the same bits on the reference engine but for sums in another order, so within rounding."""
    a, c = squared(bounded, x), squared(f, x)
    equal(bounded(*x), f(*x), 1e-13)
    equal(ct.grad(a)(*x), ct.grad(c)(*x))
    if order > 1:
        v = ct.grad(c)(*x)
        equal(ct.jvp(a, x, v)[1], ct.jvp(c, x, v)[1])
        equal(ct.hvp(a, x, v), ct.hvp(c, x, v), 1e-9)


@pytest.mark.quick(10)
@pytest.mark.parametrize(("engine", "reverse", "room"), list(product(ENGINES, [False, True], [1, 2, 3])))
@pytest.mark.parametrize("name", [name for name in CASES if name != "a state of inputs"])
def test_sweeps(name: str, engine: Any, reverse: bool, room: int) -> None:
    f, x, _ = CASES[name]
    loop = ct.sweep(f, 4, reverse=reverse)
    with ct.use_engine(engine):
        same_derivatives(loop, x, roomed(loop, x, (room,)))


@pytest.mark.quick(8)
@pytest.mark.parametrize(("engine", "reverse"), list(product(ENGINES, [False, True])))
@pytest.mark.parametrize("room", [2, 6, 9, 13, 34])
def test_segments(room: int, engine: Any, reverse: bool) -> None:
    """31 steps in segments, some before them, with inputs and outputs; at 34 each step is a segment."""
    loop = ct.sweep(CELL, 31, reverse=reverse)
    with ct.use_engine(engine):
        same_derivatives(loop, POINT, roomed(loop, POINT, (room,)))


def test_side_by_side() -> None:
    loop = ct.sweep(CELL, 31)
    for room in (3, 13):
        one = squared(roomed(loop, POINT, (room,)), POINT)
        points = [POINT, scaled(POINT, 0.5), scaled(POINT, -1.5)]
        many = stacked(*points)
        equal(ct.map(ct.grad(one))(*many), stacked(*[ct.grad(one)(*point) for point in points]))
        equal(ct.grad(ct.map(one) >> ct.sum())(*many), stacked(*[ct.grad(one)(*point) for point in points]))


def test_the_laws() -> None:
    x = POINT[0], POINT[1], POINT[2][:5]
    loop = ct.sweep(CELL, 5)
    check_laws(roomed(loop, x, (2,)), x)


def test_what_follows_from_constants_has_no_cotangent() -> None:
    """Constant inputs and weights: the pullback makes none of theirs."""
    loop = ct.fork(ct.id, ct.const(POINT[1]), ct.const(POINT[2])) >> ct.sweep(CELL, 31) >> ct.exl
    gradient = ct.grad(roomed(loop, POINT[0], (3,)) >> ct.square >> ct.sum())
    (box,) = [b for b in ct.wire(gradient, ct.f64[3]).boxes if isinstance(b.primitive, BoundedPullback)]
    assert len(box.outs) == 1 and not box.primitive.back.sums.leaves and not box.primitive.back.output.leaves
    for engine in ENGINES:
        with ct.use_engine(engine):  # type: ignore[arg-type]
            equal(gradient(POINT[0]), ct.grad(loop >> ct.square >> ct.sum())(POINT[0]))


# -- while loops


HALVED = ct.while_loop(
    ct.exl >> ct.square >> ct.sum() >> ct.map(lambda s: s > 1.0), ct.fork(ct.map(lambda x, k: 0.9 * x * k), ct.exr)
)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("room", [1, 2, 5])
def test_while_loops(room: int, engine: Any) -> None:
    """One program, whatever the number of steps: it is found while the loop runs."""
    k = np.array([0.9, 0.8])
    points = [(np.array([5.0, -3.0]), k), (np.array([500.0, 30.0]), k), (np.array([0.1, 0.2]), k), (np.array([50.0, 7.0]), k)]
    bounded = roomed(HALVED, points[0], (room,))
    assert loops_of(bounded, ct.space_of(points[0])) == ()
    for x in points:
        with ct.use_engine(engine):
            same_derivatives(HALVED, x, bounded)


def test_a_pullback_of_a_while_loop_is_laid_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    k, gradient = np.array([0.9, 0.8]), ct.grad(roomed(HALVED, (np.zeros(2), np.zeros(2)), (3,)) >> ct.exl >> ct.sum())
    gradient(np.array([5.0, -3.0]), k)
    program = upward.program_of(gradient, ct.f64[2] * ct.f64[2])[0]
    gradient(np.array([5e9, -3.0]), k)
    assert upward.program_of(gradient, ct.f64[2] * ct.f64[2])[0] is program


@pytest.mark.parametrize("engine", ENGINES)
def test_while_loops_side_by_side(engine: Any) -> None:
    k = np.array([0.9, 0.8])
    many = np.array([[5.0, -3.0], [500.0, 30.0], [0.1, 0.2]]), np.stack([k, k, k])
    f = ct.map(HALVED) >> ct.exl >> ct.square >> ct.sum()
    with ct.use_engine(engine):
        expected = ct.grad(f)(*many)
        for room in (1, 3):
            equal(ct.grad(roomed(f, many, (room,)))(*many), expected)
            equal(ct.grad(ct.map(roomed(HALVED, (k, k), (room,))) >> ct.exl >> ct.square >> ct.sum())(*many), expected)


# -- loops within loops


INNER = ct.map(lambda s: s + 0.1 * np.sin(3.0 * s))
NESTED = ct.iterate(ct.iterate(INNER, 6) >> ct.map(lambda s: 0.9 * s) >> ct.iterate(INNER, 5), 7)


@pytest.mark.quick(8)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("rooms", [(2,), (None, 2), (None, 2, 3), (10, 2, None), (3, 1, 1)])
def test_nested(rooms: Rooms, engine: Any) -> None:
    x = np.array([0.3, 0.5])
    assert [(found.sweep.n, found.depth) for found in loops_of(NESTED, ct.f64[2])] == [(7, 0), (6, 1), (5, 1)]
    with ct.use_engine(engine):
        bounded = roomed(NESTED, x, rooms)
        equal(ct.grad(bounded >> ct.sum())(x), ct.grad(NESTED >> ct.sum())(x))
        equal(ct.hvp(bounded >> ct.sum(), x, x), ct.hvp(NESTED >> ct.sum(), x, x), 1e-9)


def test_loops_in_branches_and_checkpoints() -> None:
    loop = ct.iterate(INNER, 40)
    f = ct.choose(ct.sum() >> ct.map(lambda s: s > 0.0), ct.checkpoint(loop) >> ct.sin, loop >> ct.cos) >> ct.sum()
    found = loops_of(f, ct.f64[200])
    assert [one.depth for one in found] == [0, 0]
    bounded = Roomed(f, (3, 4))
    assert peak_of(ct.grad(bounded), ct.f64[200]) < peak_of(ct.grad(f), ct.f64[200]) / 2
    for sign in (-1, 1):
        x = sign * np.linspace(0.1, 1.0, 200)
        equal(ct.grad(bounded)(x), ct.grad(f)(x))


@pytest.mark.numpy_only
@pytest.mark.parametrize(("n", "room"), [(6, 1), (10, 2), (21, 3), (31, 2)])
def test_the_steps_that_are_taken_are_those_that_are_counted(n: int, room: int) -> None:
    """By calls of a step that is not traced: those of the value, those that Revolve counts, and one for each pullback."""
    taken = [0]

    def counted(x: Any) -> Any:
        taken[0] += 1
        x = np.asarray(x)
        return np.sin(x), ct.scale(np.cos(x))

    loop = ct.sweep(ct.fork(ct.proj(0) >> ct.D(counted), ct.proj(0) >> ct.sum()), n) >> ct.exl
    f = ct.fork(ct.id, ct.it, ct.it) >> loop >> ct.sum()
    x = np.array([0.3, 0.5])
    f(x)
    gradient = ct.value_and_grad(roomed(f, x, (room,)))
    with ct.use_engine("reference"):
        gradient(x)
        taken[0] = 0
        gradient(x)
    assert taken[0] == n + revolve(n, room)[0] + n
