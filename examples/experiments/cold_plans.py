"""Cold plans: what planning a derivative takes at first, beside a first `ct.linearize` of the same program.

Chains of maps, branches, skips, ResNet blocks, recurrent networks, attention and low-rank blocks, by time and by operations. A
program is linearized for the first time, and the map planned for the first time, each in a copy of a process that has started
up and measured its profile, so that nothing is kept of an earlier program. The least processor seconds of several runs count.
Prints the ratios as a table:

    python examples/experiments/cold_plans.py [--rounds N]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from measuring import apart, table

import catad as ct

Make = Callable[[np.random.Generator], tuple[Any, Any]]


def chain(length: int = 10, least: int = 8, most: int = 60) -> Make:
    def make(rng: np.random.Generator) -> tuple[Any, Any]:
        sizes = rng.integers(least, most, length + 1)
        matrices = [rng.standard_normal((m, n)) / n for n, m in pairwise(sizes)]

        def f(x: Any) -> Any:
            for matrix in matrices:
                x = np.tanh(matrix @ x)
            return x

        return f, rng.standard_normal(sizes[0])

    return make


def branches(count: int = 3, depth: int = 7, n: int = 40, narrow: int = 4) -> Make:
    """Each branch is narrow at another depth."""

    def make(rng: np.random.Generator) -> tuple[Any, Any]:
        ways = []
        for k in range(count):
            sizes = [n] * (depth + 1)
            sizes[1 + k * (depth - 1) // count] = narrow
            ways.append([rng.standard_normal((m, p)) / p for p, m in pairwise(sizes)])

        def f(x: Any) -> Any:
            total = 0.0
            for way in ways:
                y = x
                for matrix in way:
                    y = np.sin(matrix @ y)
                total = total + y
            return total

        return f, rng.standard_normal(n)

    return make


def skips(count: int, n: int = 12) -> Make:
    """Each value reads the last two."""

    def make(rng: np.random.Generator) -> tuple[Any, Any]:
        pairs = [rng.standard_normal((2, n, n)) / n for _ in range(count)]

        def f(x: Any) -> Any:
            before = x
            for left, right in pairs:
                before, x = x, np.tanh(left @ x) + right @ before
            return x

        return f, rng.standard_normal(n)

    return make


def blocks(count: int, n: int, inner: int, last: int | None = None) -> Make:
    """x + U tanh(V x), again and again: ResNet blocks, of low rank where `inner` is small."""

    def make(rng: np.random.Generator) -> tuple[Any, Any]:
        pairs = [(rng.standard_normal((inner, n)) / n, rng.standard_normal((n, inner)) / n) for _ in range(count)]
        end = None if last is None else rng.standard_normal((last, n))

        def f(x: Any) -> Any:
            for v, u in pairs:
                x = x + u @ np.tanh(v @ x)
            return x if end is None else end @ x

        return f, rng.standard_normal(n)

    return make


def recurrent(steps: int, n: int = 24, last: int = 3) -> Make:
    def make(rng: np.random.Generator) -> tuple[Any, Any]:
        own, given, end = rng.standard_normal((n, n)) / n, rng.standard_normal((n, 4)), rng.standard_normal((last, n))

        def f(xs: Any) -> Any:
            h = np.zeros(n)
            for k in range(steps):
                h = np.tanh(own @ h + given @ xs[k])
            return end @ h

        return f, rng.standard_normal((steps, 4))

    return make


def attention(length: int = 12, size: int = 8) -> Make:
    def make(rng: np.random.Generator) -> tuple[Any, Any]:
        queries, keys, values = [rng.standard_normal((size, size)) / size for _ in range(3)]

        def f(x: Any) -> Any:
            weights = np.exp((x @ queries) @ (x @ keys).T / np.sqrt(size))
            return (weights / np.sum(weights, axis=1, keepdims=True)) @ (x @ values)

        return f, rng.standard_normal((length, size))

    return make


PROGRAMS: dict[str, Make] = {
    "chain of 10": chain(),
    "three branches": branches(),
    "skips, 5": skips(5),
    "skips, 10": skips(10),
    "ResNet, 4 blocks": blocks(4, 32, 32, 10),
    "low rank, 4 blocks": blocks(4, 100, 3),
    "RNN, 4 steps": recurrent(4),
    "RNN, 8 steps": recurrent(8),
    "attention": attention(),
}


def seconds(make: Make, cost: str, seed: int, rounds: int) -> tuple[float, float]:
    """The least processor seconds of a first `linearize`, and of a first plan of a program that has been linearized."""

    def linearized() -> float:
        f, x = make(np.random.default_rng(seed))
        start = time.process_time()
        ct.linearize(f, x)
        return time.process_time() - start

    def planned() -> float:
        f, x = make(np.random.default_rng(seed))
        linear = ct.linearize(f, x)[1]
        start = time.process_time()
        ct.plan(linear, cost=cost)
        return time.process_time() - start

    once, again = [min([apart(call) for _ in range(rounds)]) for call in (linearized, planned)]
    return once, again


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    ct.plan(ct.sin, ct.f64[3], want="jacobian")  # measures the profile, which all processes then have
    rows = []
    for name, make in PROGRAMS.items():
        cells = [name]
        for cost in ("time", "operations"):
            linearized, planned = seconds(make, cost, 0, options.rounds)
            cells += [f"{linearized * 1e3:.1f}", f"{planned * 1e3:.1f}", f"{planned / linearized:.1f}"]
        rows.append(cells)
    print(table(["", "linearize, ms", "plan by time", "ratio", "linearize, ms", "plan by operations", "ratio"], rows))


if __name__ == "__main__":
    main()
