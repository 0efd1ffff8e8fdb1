"""Value and gradient of ordinary NumPy programs: catad's engine "auto" beside JAX.

The programs are those of `ordinary_programs.py`, most of them in two or three sizes, so that the largest array goes from a
hundred numbers to some millions. One thread, float64, one process. Both libraries get parameters and data as arguments.

- `--engines` names other engines of catad that are timed, too.
- Every result is compared with JAX's, or those of the engines with each other where JAX is missing. A program that differs or
  raises makes the exit status 1.
- First calls are those of "auto" and of JAX, compiling included. Kernels are kept in a temporary folder, so that none is found
  on disk; a kernel that an earlier program compiled in this process is found.
- Before it is timed, everything is called until calls get no faster, with pauses in which a thread in the background can
  compile. An engine that takes much longer than "auto" leaves the race.
- "auto" and JAX take turns of some milliseconds of calls; then all engines do. Medians count. The regret is the time of "auto"
  over the best time of all engines.

With `--threads N` it compares N threads with one instead, for programs of a million numbers and more: same bits, and times.

    python examples/experiments/engines.py [WORD ...] [--quick] [--json FILE] [--threads N] [--no-jax] [--closed]
                                           [--engines NAME ...]
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import itertools
import math
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

THREADS = any(word.startswith("--threads") for word in sys.argv)
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
_cache = tempfile.TemporaryDirectory()
os.environ["CATAD_CACHE_DIR"] = _cache.name
os.environ.pop("CATAD_ENGINE", None)  # which would be in force where "auto" is meant
if hasattr(os, "sched_setaffinity") and not THREADS:
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # before threads are made

import measuring  # noqa: E402  after the threads are set
import numpy as np  # noqa: E402
import ordinary_programs as ordinary  # noqa: E402

import catad as ct  # noqa: E402
from catad.engine import background  # noqa: E402

Run = Callable[[], Any]
PAUSE = 0.05  # seconds in which a thread in the background can compile
PAUSES = 6  # that bring no faster call, and end the wait
ABSURD = 20.0  # times "auto": what takes longer leaves the race
LARGE = 1_000_000  # numbers from which on threads are compared

# -- programs and data


class Draw:
    """Random arrays by the lengths of their axes; a call draws from the normal distribution."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)

    def __call__(self, *shape: int) -> Any:
        return self.rng.standard_normal(shape)

    def uniform(self, low: float, high: float, *shape: int) -> Any:
        return self.rng.uniform(low, high, shape)

    def whole(self, below: int, *shape: int) -> Any:
        return self.rng.integers(0, below, shape)

    def dense(self, n: int, m: int) -> Any:
        """A matrix that keeps the size of numbers."""
        return self(n, m) / math.sqrt(n)


class Case(NamedTuple):
    """A program with its arguments: parameters, data, and `fixed`, plain Python that is no array."""

    name: str
    program: Callable[..., Any]
    jax: Callable[..., Any]
    parameters: Any
    data: tuple[Any, ...]
    fixed: Mapping[str, Any]


class Family(NamedTuple):
    """A program in several sizes; `make` takes a `Draw` and the numbers of a size. It gives parameters, data, what is fixed."""

    name: str
    program: Callable[..., Any]
    make: Callable[..., tuple[Any, ...]]
    sizes: Sequence[tuple[int, ...]]
    jax: Callable[..., Any] | None = None  # where JAX has a version of its own

    def called(self, size: tuple[int, ...]) -> str:
        return f"{self.name} {'x'.join(map(str, size))}".strip()

    def case(self, size: tuple[int, ...]) -> Case:
        parameters, data, *fixed = self.make(Draw(), *size)
        return Case(self.called(size), self.program, self.jax or self.program, parameters, data, fixed[0] if fixed else {})


def mlp(r: Draw, n: int, *widths: int) -> tuple[Any, ...]:
    layers = tuple([(r.dense(a, b), np.zeros(b)) for a, b in itertools.pairwise(widths)])
    return layers, (r(n, widths[0]), r(n, widths[-1]))


def classifier(r: Draw, n: int, a: int, b: int, c: int) -> tuple[Any, ...]:
    p = {"w1": r.dense(a, b), "b1": r(b), "w2": r.dense(b, b), "b2": r(b), "w3": r.dense(b, c), "b3": r(c)}
    return p, (r(n, a), r.whole(c, n))


def block(r: Draw, d: int) -> dict[str, Any]:
    norms = {name: (1 + 0.1 * r(d), 0.1 * r(d)) for name in ("norm1", "norm2")}
    return {**norms, "into": r.dense(d, 3 * d), "out": r.dense(d, d), "up": r.dense(d, 4 * d), "down": r.dense(4 * d, d)}


def language_model(r: Draw, n: int, length: int, d: int) -> tuple[Any, ...]:
    p = {"words": r.dense(4 * d, d), "places": 0.1 * r(length, d), "norm": (1 + 0.1 * r(d), r(d))}
    return {**p, "layers": (block(r, d), block(r, d))}, (r.whole(4 * d, n, length + 1),)


def recurrent(cell: Callable[..., Any], gates: int, parts: int) -> Callable[..., tuple[Any, ...]]:
    def make(r: Draw, steps: int, n: int, d: int) -> tuple[Any, ...]:
        p = {"w": r.dense(d, gates * d), "u": r.dense(d, gates * d), "b": 0.1 * r(gates * d), "last": r.dense(d, 2)}
        return p, (r(steps, n, d), r(n, 2)), {"cell": cell, "parts": parts}

    return make


def linear(r: Draw, n: int, d: int) -> tuple[Any, ...]:
    return {"w": r(d), "b": 0.5, "log_scale": 0.1}, (r(n, d), 3 * r(n))


def cnn(r: Draw, n: int, side: int) -> tuple[Any, ...]:
    left = ((side - 2) // 2 - 2) // 2
    kernels = {"first": (0.3 * r(3, 3, 1, 4), 0.1 * r(4)), "second": (0.3 * r(3, 3, 4, 8), 0.1 * r(8))}
    p = {**kernels, "w": r.dense(left * left * 8, 10), "b": r(10)}
    return p, (r(n, side, side, 1), np.eye(10)[r.whole(10, n)])


def kalman(r: Draw, steps: int) -> tuple[Any, ...]:
    return {"A": 0.8 * np.eye(4) + 0.1 * r.dense(4, 4), "q": 0.1 * r(4), "r": 0.1}, (r(steps),)


def graph(r: Draw, nodes: int, edges: int, d: int) -> tuple[Any, ...]:
    p = {"layers": tuple([(r.dense(d, d), 0.3 * r.dense(d, d)) for _ in range(3)]), "last": r.dense(d, 1)}
    return p, (r(nodes, d), r.whole(nodes, edges), r.whole(nodes, edges), r(nodes, 1))


def programs() -> list[Family]:
    """All programs with their sizes."""
    o = ordinary
    prices = np.array([100.0, 0.3, 0.05])
    return [
        Family("MLP", o.mlp, mlp, [(10, 10, 10, 1), (64, 64, 64, 64), (256, 128, 128, 128)]),
        Family("MLP of a dict", o.classifier, classifier, [(32, 16, 32, 4), (512, 64, 128, 10)]),
        Family("transformer block", o.transformer_block,
               lambda r, n, t, d: (block(r, d), (r(n, t, d), r(n, t, d))), [(2, 16, 32), (4, 64, 128)]),
        Family("language model", o.language_model, language_model, [(2, 16, 16), (4, 32, 64)]),
        Family("RNN", o.recurrent, recurrent(o.rnn_cell, 1, 1), [(20, 4, 16), (100, 16, 64)], o.recurrent_jax),
        Family("LSTM", o.recurrent, recurrent(o.lstm_cell, 4, 2), [(20, 4, 16), (100, 16, 64)], o.recurrent_jax),
        Family("GRU", o.recurrent, recurrent(o.gru_cell, 3, 1), [(20, 4, 16), (100, 16, 64)], o.recurrent_jax),
        Family("softmax rows", o.softmax_rows, lambda r, n, m: (r(n, m), (r(n, m),)), [(10, 10), (1000, 1000)]),
        Family("layer norm", o.layer_norm, lambda r, n, m: ((r(n, m), r(m), r(m)), (r(n, m),)), [(32, 64), (2000, 512)]),
        Family("Gaussian mixture", o.gmm,
               lambda r, n, k, d: ((r(k), r(k, d), 0.1 * r(k, d), 0.1 * r(k, d, d)), (r(n, d),)), [(100, 5, 4), (1000, 25, 16)]),
        Family("k-means", o.k_means, lambda r, n, k, d: (r(k, d), (r(n, d),)), [(200, 5, 3), (10_000, 30, 8)]),
        Family("Huber", o.huber, linear, [(300, 10), (30_000, 30)]),
        Family("Cauchy", o.cauchy, linear, [(300, 10), (30_000, 30)]),
        Family("logistic", o.logistic, lambda r, n, d: ((r(d), 0.1), (r(n, d), np.sign(r(n)))), [(300, 10), (30_000, 30)]),
        Family("softmax regression", o.softmax_regression,
               lambda r, n, d, k: ({"w": r.dense(d, k), "b": r(k)}, (r(n, d), np.eye(k)[r.whole(k, n)])),
               [(200, 20, 5), (5000, 50, 10)]),
        Family("factors with a mask", o.factors,
               lambda r, n, m, k: ((r(n, k), r(m, k)), (r(n, m), 1.0 * (r(n, m) > 1.0))), [(60, 40, 5), (1000, 800, 10)]),
        Family("sorted quantiles", o.sorted_loss, lambda r, n: (r(n), (np.sort(r(n)),)), [(1000,), (100_000,)]),
        Family("histogram", o.histogram,
               lambda r, n, k: (r(n), (np.ones(k) / k,)), [(1000, 32), (1_000_000, 64)], o.histogram_jax),
        Family("ridge, conjugate gradients", o.ridge,
               lambda r, n, d: (r(d), (r(n, d), r(n), r(n, d), r(n))), [(200, 10), (5000, 100)]),
        Family("cosine similarity", o.cosine, lambda r, n, d: ((r(n, d), r(n, d)), (r(n, n),)), [(30, 8), (500, 64)]),
        Family("Kalman filter", o.kalman, kalman, [(50,), (500,)], o.kalman_jax),
        Family("HMM", o.hmm, lambda r, k, t: ({"start": r(k), "moves": r(k, k), "emits": r(k, 6)}, (r.whole(6, t),)),
               [(4, 50), (20, 300)], o.hmm_jax),
        Family("Black-Scholes", o.black_scholes,
               lambda r, n: ((100 + 9 * r(n), r.uniform(0.1, 0.5, n), 0.03), (100 + 9 * r(n), r.uniform(0.2, 2, n))),
               [(100,), (3000,), (300_000,)]),
        Family("binomial tree", o.binomial,
               lambda r, n: (prices, (np.array(105.0),), {"steps": n}), [(16,), (100,)], o.binomial_jax),
        Family("Monte Carlo paths", o.asian, lambda r, n, t: (prices, (r(n, t),)), [(100, 20), (10_000, 100)]),
        Family("drawdown", o.drawdown, lambda r, n: (np.full(4, 0.25), (0.01 * r(n, 4),)), [(250,), (250_000,)], o.drawdown_jax),
        Family("heat", o.heat, lambda r, n: ((r(n), 0.2), (r(n),)), [(1000,), (10_000,), (100_000,)]),
        Family("heat in 2-D", o.heat_2d, lambda r, n: (r(n, n), (r(n, n),)), [(64,), (512,)]),
        Family("wave", o.wave, lambda r, n: ((r(n), r.uniform(0.1, 0.5, n)), (r(n),)), [(500,), (20_000,)], o.wave_jax),
        Family("hand", o.hand,
               lambda r, n: ((0.3 * r(16, 3), r(3)), (r(15, 3), r(n, 3), r.uniform(0, 1, 15, n), r(n, 3))), [(1600,), (12_800,)]),
        Family("prey", o.prey,
               lambda r, *n: (r.uniform(0.5, 1, 4), (r.uniform(0.5, 2, 2, *n), r(2, *n))), [(), (1000,)], o.prey_jax),
        Family("bodies", o.bodies, lambda r, n: ((3 * r(n, 3), r(n, 3)), (r.uniform(0.5, 1.5, n),)), [(10,), (100,), (400,)]),
        Family("spins", o.spins, lambda r, n: (r(n, n), (r(n, n),)), [(32,), (1000,)]),
        Family("Rosenbrock", o.rosenbrock, lambda r, n: (r(n), ()), [(100,), (10_000,), (1_000_000,)]),
        Family("convolution", o.convolution, lambda r, n: ((r(3, 3), r(n, n)), (r(n - 2, n - 2),)), [(32,), (512,)]),
        Family("Sobel, total variation", o.edges, lambda r, n: (r(n, n), (r(n, n),)), [(32,), (512,), (1000,)]),
        Family("CNN", o.cnn, cnn, [(4, 14), (32, 30)]),
        Family("bilinear", o.bilinear,
               lambda r, n, m: ((r(n, n), r.uniform(0, n - 1, m, 2)), (r(m),)), [(32, 100), (256, 100_000)]),
        Family("sparse product", o.sparse,
               lambda r, n, m: ((r(m), r(n)), (np.sort(r.whole(n, m)), r.whole(n, m), r(n))), [(100, 1000), (100_000, 1_000_000)],
               o.sparse_jax),
        Family("graph network", o.graph, graph, [(50, 200, 16), (2000, 10_000, 16)], o.graph_jax),
    ]  # fmt: skip


def cases(words: Sequence[str]) -> Iterator[Case]:
    """The cases whose names contain one of the words; data of one case at a time are in memory."""
    for family in programs():
        if family.program is ordinary.black_scholes and importlib.util.find_spec("scipy") is None:
            print(f"SciPy is not installed: {family.name} is left out")
            continue
        for size in family.sizes:
            name = family.called(size).lower()
            if not words or any(word.lower() in name for word in words):
                yield family.case(size)


# -- both libraries


def by_catad(case: Case, closed: bool) -> Run:
    """Value and gradient, by the engine that is in force at the call."""
    program, fixed, data, parameters = case.program, case.fixed, case.data, case.parameters
    for a in data:
        a.flags.writeable = not closed  # what nobody can change needs no comparison at each call
    if closed:
        alone = ct.value_and_grad(lambda p: program(np, p, *data, **fixed))
        return lambda: alone(parameters)
    step = ct.value_and_grad(lambda p, *given: program(np, p, *given, **fixed))
    return lambda: step(parameters, *data)


def by_jax(case: Case, closed: bool) -> Run:
    """The same by JAX, on arrays that are its own."""
    import jax
    import jax.numpy as jnp

    parameters, own = jax.tree.map(jnp.asarray, (case.parameters, case.data))
    data = () if closed else own
    step = jax.jit(jax.value_and_grad(lambda p, *given: case.jax(jnp, p, *(given or own), **case.fixed)))
    return lambda: jax.block_until_ready(step(parameters, *data))


def in_force(name: str) -> contextlib.AbstractContextManager[Any]:
    """The engine of this name; JAX has none."""
    return contextlib.nullcontext() if name == "JAX" else ct.use_engine(name)


def flat(value: Any) -> list[np.ndarray]:
    """The arrays of a tree, in one order for both libraries."""
    if isinstance(value, dict):
        return [leaf for key in sorted(value) for leaf in flat(value[key])]
    if isinstance(value, tuple | list):
        return [leaf for part in value for leaf in flat(part)]
    return [np.asarray(value)]


def differ(got: Any, want: Any) -> str:
    """What is wrong with a result; nothing where it agrees up to rounding."""
    mine, theirs = flat(got), flat(want)
    if [a.shape for a in mine] != [b.shape for b in theirs]:
        return f"shapes {[a.shape for a in mine]} and {[b.shape for b in theirs]}"
    for k, (a, b) in enumerate(zip(mine, theirs, strict=True)):
        size = np.max(np.abs(b), initial=0.0)
        if not (np.isfinite(b).all() and np.allclose(a, b, rtol=1e-8, atol=1e-8 * size)):
            return f"{'gradient' if k else 'value'}: off by {np.max(np.abs(a - b)):.2g} where numbers go to {size:.2g}"
    return ""


def largest(case: Case) -> int:
    """The number of numbers in the largest array that NumPy would make or get; steps of loops are not looked into."""
    f = ct.function(lambda p, *data: case.program(np, p, *data, **case.fixed))
    spaces = f.at(case.parameters, *case.data).spaces_of_variables()
    return max(int(leaf.size) for space in spaces for leaf in ([space] if hasattr(space, "size") else space.leaves))


# -- the race


def turn(name: str, run: Run, count: int) -> float:
    """Seconds of a call, by some calls after one that is not timed."""
    with in_force(name):
        run()
        begun = time.perf_counter()
        for _ in range(count):
            run()
        return (time.perf_counter() - begun) / count


def settled(name: str, run: Run, calls: int, seconds: float) -> None:
    """Call until calls get no faster, and at least half of the seconds.

    Half of the time is calls, since some programs are compiled only when they have run often, and half of it pauses.
    """
    begun = time.perf_counter()
    with in_force(name):
        for _ in range(calls):
            run()
            if time.perf_counter() - begun > 2 * seconds:
                break
    background.wait(60)
    best, still = turn(name, run, 1), 0
    while (passed := time.perf_counter() - begun) < seconds and (still < PAUSES or passed < 0.5 * seconds):
        time.sleep(PAUSE)
        now = turn(name, run, as_many(best, PAUSE))
        still = still + 1 if now > 0.95 * best else 0
        best = min(best, now)


def as_many(call: float, seconds: float) -> int:
    """The number of calls that take some seconds together."""
    return max(1, min(1000, int(seconds / max(call, 1e-7))))


def race(runs: Mapping[str, Run], found: argparse.Namespace) -> dict[str, list[float]]:
    """Seconds of a call of each in every round; a turn takes some milliseconds, and each round begins with another."""
    counts = {name: as_many(turn(name, run, 1), 1e-3 if found.quick else 5e-3) for name, run in runs.items()}
    taken: dict[str, list[float]] = {name: [] for name in runs}
    names = list(runs)
    for k in range(found.rounds):
        for name in names[k % len(names) :] + names[: k % len(names)]:
            taken[name].append(turn(name, runs[name], counts[name]))
    return taken


def ratio(taken: Mapping[str, list[float]], other: str) -> float:
    """The time of "auto" over that of another: the median over rounds, since the speed of a machine changes between rounds."""
    return median([mine / theirs for mine, theirs in zip(taken["auto"], taken[other], strict=True)])


def measure(case: Case, found: argparse.Namespace, peers: bool) -> dict[str, Any]:
    """One row: first calls, whether results agree, and the times of all that stay in the race."""
    mine, seconds = by_catad(case, found.closed), 0.8 if found.quick else 2.0
    first = {"auto": measuring.first_call(mine)}
    result = want = mine()
    theirs = {}
    if peers:
        theirs = {"JAX": by_jax(case, found.closed)}
        first["JAX"] = measuring.first_call(theirs["JAX"])
        want = theirs["JAX"]()
        settled("JAX", theirs["JAX"], 5, 0.25 * seconds)
    settled("auto", mine, 20, seconds)
    taken = race({"auto": mine, **theirs}, found)
    times = {name: median(seconds) for name, seconds in taken.items()}
    wrong = {"auto": differ(result, want), "auto, settled": differ(mine(), want)}
    engines = {}
    for name in found.engines:  # after the race, since "auto" uses kernels that others have compiled
        engine = by_catad(case, found.closed)
        with ct.use_engine(name):
            wrong[name] = differ(engine(), want)
        if turn(name, engine, 1) < ABSURD * times["auto"]:
            settled(name, engine, 3, 0.25 * seconds)
            engines[name] = engine
    again = race({"auto": mine, **engines}, found)
    regrets = {name: ratio(again, name) for name in engines}
    best = max(regrets, key=lambda name: regrets[name], default="auto")
    return {
        "case": case.name, "largest": largest(case), "first": first, "best": best, "regret": max(1.0, regrets.get(best, 1.0)),
        "seconds": times | {name: median(again[name]) for name in engines}, "auto_again": median(again["auto"]),
        "ratio": ratio(taken, "JAX") if peers else None,
        "differs": {name: text for name, text in wrong.items() if text},
    }  # fmt: skip


def compare_threads(case: Case, found: argparse.Namespace) -> dict[str, Any] | None:
    """One thread and many: the same bits, and the times of both; None for a small program."""
    numbers = largest(case)
    if numbers < LARGE:
        return None
    mine = by_catad(case, found.closed)

    def by(n: int) -> Run:
        def run() -> Any:
            with ct.num_threads(n):
                return mine()

        return run

    runs = {"one": by(1), "many": by(found.threads)}
    settled("auto", runs["one"], 20, 0.8 if found.quick else 2.0)
    pairs = zip(flat(runs["one"]()), flat(runs["many"]()), strict=True)
    same = all(a.tobytes() == b.tobytes() for a, b in pairs)
    taken: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(found.rounds):
        for name, run in runs.items():
            taken[name].append(turn("auto", run, 1))
    return {
        "case": case.name, "largest": numbers, "seconds": {name: median(times) for name, times in taken.items()},
        "differs": {} if same else {"threads": "not the same bits"},
    }  # fmt: skip


# -- showing

HEAD = ("program", "largest", "JAX ms", "auto ms", "auto/JAX", "first s", "JAX's first", "best other, ms", "regret")
WIDTHS = (34, 10, 10, 10, 9, 8, 11, 20, 7)


def line(cells: Sequence[str]) -> str:
    return f"{cells[0]:<{WIDTHS[0]}}" + "".join([f" {cell:>{w}}" for cell, w in zip(cells[1:], WIDTHS[1:], strict=False)])


def shown(row: Mapping[str, Any], threads: bool) -> str:
    s, ms = row["seconds"], {name: f"{1e3 * t:.3f}" for name, t in row["seconds"].items()}
    if threads:
        return line((row["case"], f"{row['largest']:,}", ms["one"], ms["many"], f"{s['one'] / s['many']:.2f}"))
    other = "-" if row["best"] == "auto" else f"{row['best']} {ms[row['best']]}"
    first = [f"{row['first'][name]:.3f}" if name in row["first"] else "-" for name in ("auto", "JAX")]
    beside = (ms.get("JAX", "-"), ms["auto"], "-" if row["ratio"] is None else f"{row['ratio']:.2f}")
    return line((row["case"], f"{row['largest']:,}", *beside, *first, other, f"{row['regret']:.2f}"))


def summary(rows: Sequence[dict[str, Any]]) -> list[str]:
    """What the rows say together."""
    ratios = {row["case"]: row["ratio"] for row in rows if row["ratio"] is not None}
    out = []
    if ratios:
        mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
        slow = sorted([name for name in ratios if ratios[name] > 1.0], key=lambda name: -ratios[name])
        out.append(f"{len(ratios)} cases, auto/JAX: geometric mean {mean:.3f}; {len(slow)} above 1.0")
        out += [f"  {ratios[name]:.2f}  {name}" for name in slow]
    if rows:
        worst = max(rows, key=lambda row: row["regret"])
        out.append(f"largest regret: {worst['regret']:.2f}, {worst['case']}, where {worst['best']} is the best engine")
    return out


def races(rows: Sequence[Mapping[str, Any]]) -> list[measuring.Race]:
    """Each case beside JAX, and beside the engines that were measured."""
    found = []
    for row in rows:
        ratios = {"JAX": row["ratio"]} if row.get("ratio") is not None else {}
        engines = {name: seconds for name, seconds in row["seconds"].items() if name not in ("auto", "JAX")}
        ratios |= {f"catad's engine {name}": row["auto_again"] / seconds for name, seconds in engines.items()}
        work = f"{row['case']}, {row['largest']:,} numbers"
        found += [measuring.Race(work, against, ratio) for against, ratio in ratios.items()]
    return found


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("words", nargs="*", metavar="WORD", help="cases whose names contain one of these words")
    parser.add_argument("--quick", action="store_true", help="short waits and rounds")
    parser.add_argument("--json", metavar="FILE", help="write the figures as JSON too")
    parser.add_argument("--threads", type=int, metavar="N", help="compare N threads with one instead")
    parser.add_argument("--no-jax", action="store_true", help="without JAX")
    parser.add_argument("--closed", action="store_true", help="the programs hold their data as constants")
    parser.add_argument("--engines", nargs="*", default=["reference", "cpu"], metavar="NAME", help='beside "auto"')
    parser.add_argument("--rounds", type=int, default=11, help="times that each has its turn")
    return parser.parse_args()


def prepared(peers: bool) -> dict[str, str]:
    """Both compilers have compiled something, so that no first call pays for their own start; the versions of both."""
    with ct.use_engine("cpu"):
        ct.value_and_grad(lambda x: np.sum(np.exp(np.sin(x))))(np.ones(8))
    if not peers:
        return {}
    import jax

    jax.config.update("jax_enable_x64", True)
    jax.block_until_ready(jax.jit(jax.value_and_grad(lambda x: jax.numpy.sum(jax.numpy.exp(jax.numpy.sin(x)))))(np.ones(8)))
    return {"jax": jax.__version__}


def main() -> int:
    found = options()
    ct.set_num_threads(1)
    asked = not found.no_jax and not found.threads
    peers = asked and importlib.util.find_spec("jax") is not None
    if asked and not peers:
        print("JAX is not installed: the engines are compared with each other, and no row shows a ratio")
    where = {**measuring.machine(), **prepared(peers)}
    heads = ("program", "largest", "1 thread", f"{found.threads} ms", "speed-up") if found.threads else HEAD
    print(line(heads), flush=True)
    rows, failed = [], []
    for case in cases(found.words):
        try:
            row = compare_threads(case, found) if found.threads else measure(case, found, peers)
        except Exception as error:  # one program that fails ends no race
            failed.append(f"{case.name}: {type(error).__name__}: {error}")
            print(f"{case.name}: FAILED: {type(error).__name__}", flush=True)
            continue
        if row is not None:
            rows.append(row)
            notes = [f"  DIFFERS, {name}: {text}" for name, text in row["differs"].items()]
            print(shown(row, bool(found.threads)), *notes, sep="\n", flush=True)
    print("", *([] if found.threads else summary(rows)), *failed, sep="\n")
    print(", ".join(f"{name} {value}" for name, value in where.items()))
    if found.json:
        measuring.written(Path(found.json), races(rows), {"rows": rows, "failed": failed})
    return 1 if failed or any(row["differs"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
