"""Kernels beside the same work in catad's combinators: ratios of the times of values and of pullbacks, on the CPU engine.

One thread, float64, processor time, the least of several runs of both in turn. Prints a table; the Black-Scholes price stands
beside numba's `njit(parallel=True)` of the same body where numba is installed, both with as many threads as there are cores:

    python examples/experiments/kernels.py [--lanes N] [--rounds N] [--checks] [--json FILE]

With `--checks` it prints instead what looking for races at every call costs: ratios of medians of wall time.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import os
import pathlib
import tempfile
import time
from collections.abc import Callable
from typing import Any, NamedTuple

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

import measuring  # noqa: E402  after the threads are set
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


@ct.kernel
def scaled(x, c, y):
    i = grid(1)
    if i < len(x):
        y[i] = c * x[i]


def call_price(s, k, t):
    """The price of a call option at a rate of 2 % and a volatility of 30 % a year, after F. Black and M. Scholes, 1973."""
    root = 0.3 * math.sqrt(t)
    d = (math.log(s / k) + 0.065 * t) / root
    high, low = 0.5 * math.erfc(-d / math.sqrt(2.0)), 0.5 * math.erfc((root - d) / math.sqrt(2.0))
    return s * high - k * math.exp(-0.02 * t) * low


@ct.kernel
def priced(spot, strike, years, call):
    i = grid(1)
    if i < len(spot):
        call[i] = call_price(spot[i], strike[i], years[i])


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


def least(runs: list[Callable[[], Any]], rounds: int, clock: Callable[[], float] = time.process_time) -> list[float]:
    """The least time of each on a clock, taken in turn."""
    best = [math.inf] * len(runs)
    for run in runs:
        run()
    for _ in range(rounds):
        for k, run in enumerate(runs):
            start = clock()
            run()
            best[k] = min(best[k], clock() - start)
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


def of_a_number(n: int, rounds: int) -> tuple[float, float]:
    """Seconds of the gradient of a number that is passed by value, and of a sum of as many bytes as it reads."""
    x = np.random.default_rng(1).normal(size=n)
    f = scaled.forall(n).returning("y", like="x")
    value, pull = ct.vjp(ct.function(lambda c: f(x, c)), 2.0)
    bar, both = np.ones_like(value), np.concatenate([x, x])
    gradient, plain = least([lambda: pull(bar), lambda: ct.sum()(both)], rounds)
    return gradient, plain


def options(n: int) -> tuple[np.ndarray, ...]:
    """Spot prices, strike prices and years of some options."""
    rng = np.random.default_rng(2)
    return rng.uniform(50, 150, n), rng.uniform(50, 150, n), rng.uniform(0.1, 2.0, n)


def greeks(n: int, rounds: int) -> tuple[float, float, float]:
    """Seconds of the prices of options, of prices with three Greeks, and of numba's prices (NaN without numba), on all cores."""
    args = options(n)
    f = priced.forall(n).returning("call", like="spot")
    one = np.ones(n)
    runs = [lambda: f(*args), lambda: ct.vjp(f, *args)[1](one)]
    try:
        import numba
    except ImportError:
        return *least(runs, rounds, time.perf_counter), math.nan
    price = numba.njit(call_price)

    @numba.njit(parallel=True)
    def prices(spot, strike, years):
        call = np.empty_like(spot)
        for i in numba.prange(len(spot)):
            call[i] = price(spot[i], strike[i], years[i])
        return call

    np.testing.assert_allclose(prices(*args), f(*args), rtol=1e-10, atol=1e-12)
    value, both, theirs = least([*runs, lambda: prices(*args)], rounds, time.perf_counter)
    return value, both, theirs


@ct.kernel
def permuted(x, at, y):
    i = grid(1)
    if i < len(x):
        y[at[i]] = x[i]


@ct.kernel
def updated(x, at, y):
    i = grid(1)
    if i < len(x):
        y[at[i]] += x[i]


@ct.kernel
def read_before(x, at, y, z):
    i = grid(1)
    if i < len(x):
        z[i] = y[i]
        y[at[i]] = x[i]


def checks(rounds: int) -> list[dict[str, Any]]:
    """Medians of launches that look for races at every call, and of the same ones that do not, in turn; printed as ratios."""
    rows = []
    for kernel in (permuted, updated, read_before):
        for engine in ("auto", "cpu"):
            for n in (1_000, 100_000, 1_000_000):
                x = np.random.default_rng(3).normal(size=n)
                at = np.arange(n) if kernel is read_before else np.random.default_rng(4).permutation(n)
                args = (x, at, np.zeros(n), np.zeros(n))[: len(kernel.names)]
                f, times = kernel.forall(n), {"late": list[float](), "off": list[float]()}
                for k in range(2 + rounds * max(1, min(40, 1_000_000 // n))):
                    for word, own in times.items():
                        with ct.use_engine(engine, checks=word):
                            begun = time.perf_counter()
                            f(*args)
                            own += [time.perf_counter() - begun] if k > 1 else []
                checked, plain = (float(np.median(own)) for own in times.values())
                rows.append({"kernel": kernel.__name__, "engine": engine, "n": n, "ratio": checked / plain})
                print(f"{kernel.__name__:<12} {engine:<6} {n:>9,} threads: {1e6 * plain:9.1f} us, checked {checked / plain:5.2f}")
    return rows


def laid_out() -> float:
    """Seconds of reading a kernel of 50 lines and of laying out its value and its pullback."""
    lines = ["def long(x, w, y):", "    i = grid(1)", "    if i < len(x):", "        p = x[i]"]
    for k in range(44):
        lines.append(f"        p = p * w[{k}] + (x[i - {k % 7}] if i >= {k % 7} else 0.5) * {1.0 + k}")
    lines += ["        y[i] = p", ""]
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder, "long_kernel.py")
        place.write_text("from catad.simt import grid\n\n\n" + "\n".join(lines), encoding="utf-8")
        found = importlib.util.spec_from_file_location("long_kernel", place)
        assert found is not None and found.loader is not None
        module = importlib.util.module_from_spec(found)
        found.loader.exec_module(module)
        x = np.linspace(0.0, 1.0, 1000)
        begun = time.process_time()
        f = ct.kernel(module.long).forall(1000)
        space = ct.space_of((x, x[:44], x))
        ct.wire(f, space)
        ct.wire(ct.reverse_differential(f), ct.space_of(((x, x[:44], x), x)))
        return time.process_time() - begun


def main(argv: list[str] | None = None) -> list[dict[str, Any]]:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--lanes", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", type=pathlib.Path, help="write the figures as JSON too")
    parser.add_argument("--checks", action="store_true", help="only the cost of looking for races at every call")
    given = parser.parse_args(argv)
    if given.checks:
        return checks(given.rounds)
    rows, races = [], []
    print(f"reading and laying out a kernel of 50 lines, its value and its pullback: {laid_out():.2f} s")
    with ct.num_threads(1):
        gradient, plain = of_a_number(given.lanes, given.rounds)
        name = "gradient of a number, beside a sum of the same bytes"
        print(f"{name:<55} {1e3 * gradient:8.2f} ms, ratio {gradient / plain:6.2f}")
        for work in works(given.lanes):
            row = measured(work, given.rounds)
            rows.append({"work": work.name, **row})
            value, back = row["value"] / row["other value"], row["pullback"] / row["other pullback"]
            print(f"{work.name:<55} value {1e3 * row['value']:8.2f} ms, ratio {value:6.2f};"
                  f" pullback {1e3 * row['pullback']:8.2f} ms, ratio {back:6.2f}, to its value"
                  f" {row['pullback'] / row['value']:5.2f}")  # fmt: skip
            races += [
                measuring.Race(f"{work.name}, value", "catad's combinators", value),
                measuring.Race(f"{work.name}, pullback", "catad's combinators", back),
            ]
    value, both, theirs = greeks(4 * given.lanes, given.rounds)
    print(f"Black-Scholes, {4 * given.lanes:,} options: prices {1e3 * value:.1f} ms, ratio to numba {value / theirs:.2f};"
          f" prices and three Greeks {1e3 * both:.1f} ms, ratio to prices {both / value:.2f}")  # fmt: skip
    if given.json is not None:
        if not math.isnan(theirs):
            races.append(measuring.Race("Black-Scholes prices", "numba", value / theirs))
        measuring.written(given.json, races, {"rows": rows})
    return rows


if __name__ == "__main__":
    main()
