"""Loops: counted, over a list, while a condition holds, over a state that is an array, and checkpointed ones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import catad as ct

from .programs import Data, Program, Rng, block, by, normal, pulled_ones, tangent, value


def power(y, x):
    acc = 1.0
    for _ in range(y):
        acc = acc * x
    return acc


def power_while(y, x):
    i, acc = 0, 1.0
    while i < y:
        i, acc = i + 1, acc * x
    return acc


def multiply(acc, x):
    return acc * x, x


def nest(step: ct.D, counts: tuple[int, ...]) -> ct.D:
    """The step taken product(counts) times, as one loop inside another for each count."""
    for n in counts:
        step = ct.iterate(step, n)
    return step


def from_one(loop: ct.D) -> ct.D:
    """x to the first part of the state that a loop makes of (1, x)."""
    return ct.fork(ct.const(1.0), ct.id) >> loop >> ct.exl


def counted(d: Data, **more: Any) -> ct.D:
    return from_one(ct.iterate(ct.map(multiply), int(d["y"]), **more))


def divided(d: Data) -> ct.D:
    """The counted loop, strip-mined into a nest of three."""
    y, root = int(d["y"]), round(int(d["y"]) ** (1 / 3))
    counts = (root, root, root) if root**3 == y else (y, 1, 1)
    return from_one(nest(ct.map(multiply), counts))


def while_less(d: Data) -> ct.D:
    """The state is (i, acc, x, y); i and y are integers, so no derivative goes through the condition."""
    step = ct.map(lambda i, acc, x, y: (i + 1, acc * x, x, y))
    loop = ct.while_loop(ct.map(lambda i, acc, x, y: i < y), step)
    return ct.fork(ct.const(0), ct.const(1.0), ct.exr, ct.exl) >> loop >> ct.proj(1)


def small(rng: Rng) -> Data:
    return {"y": rng.integers(2, 7), "x": rng.normal()}


def alone(d: Data) -> tuple[Any, ...]:
    return (d["x"],)


primal_then = {"0": value, "1": by(1)}
primal_then_alone = {"0": value, "1": tangent}

COUNTED = (
    Program(lambda d: ct.map(power), "y x", primal_then, small, whole="y"),
    Program(counted, alone, primal_then_alone, small, whole="y"),
    Program(
        lambda d: ct.replicate(int(d["y"])) >> ct.fold(lambda a, b: a * b, 1.0), alone, primal_then_alone, small, whole="y"
    ),
)
WHILE = (
    Program(lambda d: ct.map(power_while), "y x", primal_then, small, whole="y"),
    Program(while_less, "y x", primal_then, small, whole="y"),
)


def over_list(d: Data) -> ct.D:
    """(y, x): the factors of the loop are y and y squared, read one a step."""
    factors = ct.exl >> ct.fork(ct.id, ct.square) >> ct.stack()
    start = ct.fork(ct.const(1.0), ct.exr)
    step = ct.map(lambda state, i: (state[0] * state[1] * i, state[1]))
    return ct.fork(start, factors) >> ct.iterate(step, 2, inputs=True) >> ct.exl


def one_at(index: ct.D) -> ct.D:
    """A morphism to one index, as an array of one."""
    return index >> ct.reshape((1,))


def overwritten(d: Data, **more: Any) -> ct.D:
    """Each step writes 1 at its place, maps the state by the identity, and writes that place back from the result."""
    n = len(d["xs"])
    write = ct.fork(ct.exl, one_at(ct.exr), ct.const(np.ones(1))) >> ct.scatter
    mapped = ct.fork(write, write >> ct.map(lambda x: x), one_at(ct.exr))
    back = mapped >> ct.fork(ct.proj(0), ct.proj(2), ct.fork(ct.proj(1), ct.proj(2)) >> ct.gather) >> ct.scatter
    return ct.fork(ct.id, ct.iota(n)) >> ct.iterate(back, n, inputs=True, **more)


def squares_forward(d: Data) -> ct.D:
    """Each step writes the square of a place at the next one."""
    n = len(d["xs"])
    at = one_at(ct.exr)
    following = at >> ct.map(lambda i: i + 1)
    square = ct.fork(ct.exl, at) >> ct.gather >> ct.square
    step = ct.fork(ct.exl, following, square) >> ct.scatter
    return ct.fork(ct.id, ct.iota(n - 1)) >> ct.iterate(step, n - 1, inputs=True)


# -- the neural mass


def rates(r, v, c):
    dr = 0.7 / (math.pi * 1.0) + 2.0 * v * r
    dv = v * v - math.pi * math.pi * r * r - 4.6 + 14.5 * r + 0.0 + c
    return dr, dv


def not_negative(r):
    return r if r >= 0 else 0.0


def heun(r, v, c):
    """One step of 0.01 by a guess and its correction."""
    dr, dv = rates(r, v, c)
    guess_r, guess_v = not_negative(r + 0.01 * dr), v + 0.01 * dv
    dr, dv = rates(guess_r, guess_v, c)
    return not_negative(r + 0.01 * dr), v + 0.01 * dv


def simulated(nh: int, nt: int, nn: int) -> ct.D:
    """The coupling, a number, to the loss. The state is (history of r, history of v, coupling), the input of a step its time."""
    rows = nt + nh
    delays = np.fromfunction(lambda i, j: (i * j) % nh, (nn, nn), dtype=np.int64)
    nodes = np.arange(nn).reshape(nn, 1)
    history_r, history_v, coupling, now = ct.exl >> ct.proj(0), ct.exl >> ct.proj(1), ct.exl >> ct.proj(2), ct.exr
    where = ct.fork(now, ct.const(delays), ct.const(nodes)) >> ct.map(lambda t, delay, i: (t - delay) * nn + i)
    inflow = ct.fork(history_r >> ct.reshape(-1), where) >> ct.gather >> ct.map(lambda r: 0.1 * r) >> ct.sum(axis=1)
    last = ct.slice(rows - 1, rows)
    coupled = ct.fork(coupling, inflow) >> ct.mul
    stepped = ct.fork(history_r >> last, history_v >> last, coupled >> ct.reshape((1, nn))) >> ct.map(heun)
    following = one_at(now) >> ct.map(lambda t: t + 1)
    write_r = ct.fork(history_r, following, stepped >> ct.proj(0)) >> ct.scatter
    write_v = ct.fork(history_v, following, stepped >> ct.proj(1)) >> ct.scatter
    start = ct.fork(ct.const(np.full((rows, nn), 0.1)), ct.const(np.full((rows, nn), -2.0)), ct.id)
    times = ct.const(np.arange(nh, nh + nt - 1))
    loop = ct.iterate(ct.fork(write_r, write_v, coupling), nt - 1, inputs=True)
    return ct.fork(start, times) >> loop >> ct.proj(0) >> ct.slice(-10, None) >> ct.sum()


def couplings(d: Data) -> tuple[Any, ...]:
    return (0.1 * np.arange(int(d["ng"])),)


LOOP = Program(overwritten, "xs", {"0": value, "1": pulled_ones(0)}, normal(xs=(4,)))

PROGRAMS = {
    "for0": COUNTED,
    "fwd/for0": COUNTED,
    "while0": WHILE,
    "while1": WHILE,
    "fwd/while0": WHILE,
    "stripmine0": (
        Program(lambda d: counted(d, memory=8) if d["y"] < 100 else counted(d), alone, tangent, small, whole="y"),
        Program(divided, alone, tangent, lambda rng: {"y": np.asarray(27), "x": rng.normal()}, whole="y"),
    ),
    "fwd/for1": Program(over_list, "y x", primal_then, normal(y=(), x=())),
    "consume6": LOOP,
    "stripmine3": Program(lambda d: overwritten(d, memory=2), "xs", LOOP.read, normal(xs=(4,))),
    "truedep0": Program(squares_forward, "xs", {"0": value, "1": block()}, normal(xs=(4,))),
    "issue1473": Program(
        lambda d: ct.map(simulated(*[int(d[k]) for k in ("nh", "nt", "nn")])), couplings, pulled_ones(0),
        lambda rng: {"ng": 2, "nh": 3, "nt": 12, "nn": 4}, whole="ng nh nt nn", rounded=5e-7, tolerance=1e-6,
    ),
}  # fmt: skip
