"""Kernels beside the same work in catad's combinators: ratios of the times of values and of pullbacks, on the CPU engine.

One thread, float64, processor time, the least of several runs of both in turn. Prints a table:

    python examples/experiments/kernels.py [--lanes N] [--rounds N]
"""

from __future__ import annotations

import argparse
import math
import os
import time
from collections.abc import Callable
from typing import Any, NamedTuple

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

import numpy as np  # noqa: E402

import catad as ct  # noqa: E402
from catad.simt import atomic, blockIdx, grid, shared, syncthreads, threadIdx  # noqa: E402

BLOCK = 256


@ct.kernel
def mapped(x, y):
    i = grid(1)
    if i < len(x):
        y[i] = math.sin(x[i]) * x[i] + 1.0


@ct.kernel
def stencil(x, y):
    i = grid(1)
    if i < len(x):
        left = x[i - 1] if i > 0 else 0.0
        right = x[i + 1] if i + 1 < len(x) else 0.0
        y[i] = left - 2.0 * x[i] + right


@ct.kernel
def through_shared(x, y):
    s = shared.array(258, np.float64)
    i, t = grid(1), threadIdx.x
    s[t + 1] = x[i] if i < len(x) else 0.0
    if t == 0:
        s[0] = x[i - 1] if i > 0 else 0.0
    if t == 255:
        s[257] = x[i + 1] if i + 1 < len(x) else 0.0
    syncthreads()
    if i < len(x):
        y[i] = s[t] - 2.0 * s[t + 1] + s[t + 2]


@ct.kernel
def summed(x, y):
    s = shared.array(256, np.float64)
    i, t = grid(1), threadIdx.x
    s[t] = x[i] if i < len(x) else 0.0
    syncthreads()
    half = 128
    while half > 0:
        if t < half:
            s[t] += s[t + half]
        syncthreads()
        half //= 2
    if t == 0:
        y[blockIdx.x] = s[0]


@ct.kernel
def looped(x, n, w, y):
    i = grid(1)
    if i < len(x):
        p = x[i]
        for k in range(n[i]):
            p = 0.5 * p + w[k]
        y[i] = p


@ct.kernel
def counted(b, x, y):
    i = grid(1)
    if i < len(x):
        atomic.add(y, b[i], x[i])


def _scalar_loop(x: Any, n: Any) -> Any:
    p = x
    for k in range(n):
        p = 0.5 * p + 0.1 * k
    return p


class Work(NamedTuple):
    """A kernel beside what does the same."""

    name: str
    ours: ct.D
    args: tuple[Any, ...]
    other: ct.D
    other_args: tuple[Any, ...]


def works(n: int) -> list[Work]:
    """What is measured, with n threads."""
    rng = np.random.default_rng(0)
    n -= n % BLOCK
    x, b, trips, zero = rng.normal(size=n), rng.integers(0, 1000, n), rng.integers(2, 10, n), np.zeros(n)
    by_map = ct.map(lambda x: math.sin(x) * x + 1.0)
    by_stencil = ct.stencil(lambda a, b, c: a - 2.0 * b + c, (-1, 0, 1))
    folded = ct.reshape((n // BLOCK, BLOCK)) >> ct.sum(axis=1)
    plain = stencil.forall(n).returning("y", like="x")
    return [
        Work("map, beside ct.map", mapped.forall(n).returning("y", like="x"), (x,), by_map, (x,)),
        Work("3-point stencil, beside ct.stencil", plain, (x,), by_stencil, (x,)),
        Work("the same through shared memory, beside the plain one", through_shared.forall(n), (x, zero), plain, (x,)),
        Work("tree reduction, beside ct.sum of rows", summed.forall(n), (x, np.zeros(n // BLOCK)), folded, (x,)),
        Work("loop with loads, beside a scalar loop", looped.forall(n), (x, trips, rng.normal(size=10), zero),
             ct.map(_scalar_loop), (x, trips)),
        Work("histogram, beside ct.histogram", counted.forall(n), (b, x, np.zeros(1000)),
             ct.histogram(ct.add, 0.0, 1000), (b, x)),
    ]  # fmt: skip


def least(runs: list[Callable[[], Any]], rounds: int) -> list[float]:
    """The least processor time of each, taken in turn."""
    best = [math.inf] * len(runs)
    for run in runs:
        run()
    for _ in range(rounds):
        for k, run in enumerate(runs):
            start = time.process_time()
            run()
            best[k] = min(best[k], time.process_time() - start)
    return best


def measured(work: Work, rounds: int) -> dict[str, float]:
    """Seconds of value and pullback, of the kernel and of the other."""
    found: dict[str, float] = {}
    pulls = []
    for f, args in ((work.ours, work.args), (work.other, work.other_args)):
        value, pull = ct.vjp(f, *args)
        pulls.append(lambda pull=pull, value=value: pull(np.ones_like(value)))
    values = [lambda: work.ours(*work.args), lambda: work.other(*work.other_args)]
    found["value"], found["other value"] = least(values, rounds)
    found["pullback"], found["other pullback"] = least(pulls, rounds)
    return found


def main(argv: list[str] | None = None) -> list[dict[str, Any]]:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--lanes", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args(argv)
    rows = []
    with ct.num_threads(1):
        for work in works(given.lanes):
            row = measured(work, given.rounds)
            rows.append({"work": work.name, **row})
            value, back = row["value"] / row["other value"], row["pullback"] / row["other pullback"]
            print(f"{work.name:<55} value {1e3 * row['value']:8.2f} ms, ratio {value:6.2f};"
                  f" pullback {1e3 * row['pullback']:8.2f} ms, ratio {back:6.2f}")  # fmt: skip
    return rows


if __name__ == "__main__":
    main()
