"""The CPU engine beside NumPy and JAX: primals, scans of matrices, compiling, small calls, peak memory.

What the engine should reach and the other experiments do not measure, each ratio taken side by side in one process (float32):
sums, prefix sums and histograms of 10^7 numbers against NumPy's; a scan of 10^6 products of 2x2 matrices and its pullback against
`lax.scan` and `lax.associative_scan`; seconds of compiling in a process that finds nothing on disk, and in a second one; a warm
call on 8 elements over the same ufunc; the peak memory of a gradient through 10 maps against its inputs and outputs. Prints a
table with the bounds, draws the ratios, and writes them as JSON too:

    python examples/experiments/cpu_engine.py [--n N] [--steps N] [--only primal scan compile call memory] [--no-peers]
                                              [--no-associative] [--json FILE] [--out DIR] [--rounds N]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import arity
import futhark_tables
import hm_lstm
import measuring
import numpy as np

import catad as ct

Bound = measuring.Bound
BINS = 1023
COMPILED = ("HM-LSTM with gradients", "scan of 2x2 products and pullback", "fold of 5x5 products and pullback",
            "20-ary map and its partials", "histogram of saturating addition and pullback")  # fmt: skip

# -- against NumPy


def primals(n: int, rounds: int) -> list[Bound]:
    """Times of NumPy over catad's: 1 is as fast."""
    rng = np.random.default_rng(0)
    x, index = rng.uniform(0.0, 1.0, n).astype(np.float32), rng.integers(0, BINS, n)
    add = ct.add, 0.0
    pairs: dict[str, tuple[ct.D, Any, str, Callable[[], Any], float]] = {
        "fold +": (ct.fold(*add), x, "np.sum", lambda: np.sum(x), 1.0),
        "scan +": (ct.scan(*add), x, "np.cumsum", lambda: np.cumsum(x), 1.0),
        f"histogram +, {BINS} bins": (
            ct.histogram(*add, bins=BINS), (index, x), "np.bincount, weights", lambda: np.bincount(index, x, BINS), 1.5,
        ),
    }  # fmt: skip
    out = []
    for name, (f, argument, peer, theirs, bound) in pairs.items():
        taken = measuring.side_by_side({"catad": lambda f=f, a=argument: f(a), "numpy": theirs}, rounds, settled=True)
        moved = sum(a.nbytes for a in measuring.leaves((argument, f(argument))))
        why = f"{1e3 * taken['catad']:.2f} ms, {moved / taken['catad'] / 1e9:.1f} GB/s; NumPy {1e3 * taken['numpy']:.2f} ms"
        out.append(Bound(f"primal {name}, {n}", peer, taken["numpy"] / taken["catad"], bound, True, why))
    return out


# -- a scan of matrices against JAX


def scans(n: int, rounds: int, peers: bool, associative: bool) -> tuple[list[Bound], list[str]]:
    """The scan of 2x2 products and its pullback, against the faster of JAX's forms; and notes on what was measured."""
    f = ct.scan(*futhark_tables.matrices(2))
    x = futhark_tables.matrix(2)(n)
    w = tuple([np.ones(n, np.float32)] * 4)
    both = measuring.value_and_pullback(f)
    runs: dict[str, dict[str, Callable[[], Any]]] = {"primal": {"catad": lambda: f(x)}, "vjp": {"catad": lambda: both(x, w)}}
    notes = []
    if peers:
        try:
            notes = _add_jax(runs, x, w, associative)
        except ImportError as error:
            notes = [f"JAX is not here: {error}"]
    out = []
    for what, own in runs.items():
        taken = measuring.side_by_side(own, rounds, settled=True)
        notes.append(f"scan of 2x2 products, {what}: " + ", ".join(f"{name} {1e3 * s:.2f} ms" for name, s in taken.items()))
        theirs = {name: s for name, s in taken.items() if name != "catad"}
        if theirs:
            name = min(theirs, key=lambda name: theirs[name])
            why = f"catad {1e3 * taken['catad']:.2f} ms, {name} {1e3 * theirs[name]:.2f} ms"
            out.append(Bound(f"scan of 2x2 products, {n}: {what}", name, theirs[name] / taken["catad"], 3.0, True, why))
    return out, notes


def _add_jax(runs: dict[str, dict[str, Callable[[], Any]]], x: Any, w: Any, associative: bool) -> list[str]:
    """Adds JAX's scans beside catad's, each compiled once, on JAX's arrays; returns the times of the first calls as text."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    def product(a: Any, b: Any) -> Any:
        return (
            a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3],
        )  # fmt: skip

    def by_scan(a: Any) -> Any:
        one, zero = jnp.float32(1), jnp.float32(0)
        return lax.scan(lambda s, e: (product(s, e),) * 2, (one, zero, zero, one), a)[1]

    def pulled(form: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
        def whole(a: Any, w: Any) -> Any:
            value, pullback = jax.vjp(form, a)
            return value, pullback(w)

        return whole

    forms = {"lax.scan": by_scan}
    if associative:
        forms["associative_scan"] = lambda a: lax.associative_scan(product, a)
    args, cotangent = jax.device_put(x), jax.device_put(w)
    notes = [f"jax {jax.__version__}"]
    for name, form in forms.items():
        primal, vjp = jax.jit(form), jax.jit(pulled(form))
        runs["primal"][name] = lambda primal=primal: jax.block_until_ready(primal(args))
        runs["vjp"][name] = lambda vjp=vjp: jax.block_until_ready(vjp(args, cotangent))
        for what in runs:
            notes.append(f"{name}, {what}: first call {measuring.first_call(runs[what][name]):.2f} s")
    return notes


# -- compiling


def program(name: str) -> tuple[ct.D, Any]:
    """The term of a name and its argument: arrays just large enough that the engine compiles for them."""
    n = 8192
    ones = np.ones(n, np.float32)
    if name == COMPILED[0]:
        return hm_lstm.fused(), hm_lstm.arguments(128, "random rows")
    if name.startswith("20-ary"):
        f, point, cotangent = arity.chain(20), tuple([futhark_tables.numbers(n, 1.0, k) for k in range(20)]), ones
    elif name.startswith("histogram"):
        f, cotangent = ct.histogram(futhark_tables.saturating, 0.0, 31), np.ones(31, np.float32)
        point = np.arange(n) % 31, futhark_tables.numbers(n)
    else:
        d = 2 if "2x2" in name else 5
        f = (ct.scan if name.startswith("scan") else ct.fold)(*futhark_tables.matrices(d))
        point = futhark_tables.matrix(d)(n)
        cotangent = measuring.like(point, np.ones_like if name.startswith("scan") else lambda _: np.float32(1.0))
    return measuring.value_and_pullback(f), (point, cotangent)


def child(name: str) -> dict[str, float]:
    """In a process of its own: what compiling cost in the first call, and how long that call was over a warm one."""
    f, x = program(name)
    with ct.profile() as p:
        first = measuring.first_call(lambda: f(x))
    return {
        "compile": sum(stage.compile_seconds for stage in p.stages),
        "first": first - measuring.first_call(lambda: f(x)),
    }


def compiling(rounds: int) -> tuple[list[Bound], list[str]]:
    """Each program in fresh processes, with an empty folder for compiled code and then with what the first one left."""
    cold: dict[str, list[dict[str, float]]] = {name: [] for name in COMPILED}
    warm: dict[str, list[dict[str, float]]] = {name: [] for name in COMPILED}
    for name in COMPILED:
        for _ in range(rounds):
            with tempfile.TemporaryDirectory() as folder:
                for found in (cold, warm):
                    found[name].append(_in_a_process(name, folder))
    notes = []
    for name in COMPILED:
        figures = [
            f"{1e3 * median([r[what] for r in found[name]]):.0f}" for found in (cold, warm) for what in ("compile", "first")
        ]
        notes.append(
            f"{name}: compile {figures[0]} ms (first call {figures[1]} ms), second process {figures[2]} ms ({figures[3]} ms)"
        )

    def least(found: dict[str, list[dict[str, float]]], name: str) -> float:
        return median([r["compile"] for r in found[name]])

    worst = max(COMPILED, key=lambda name: least(cold, name))
    slow = max(COMPILED, key=lambda name: least(warm, name))
    lstm = COMPILED[0]
    return [
        Bound(f"compile: {lstm}", "seconds", least(cold, lstm), 0.2, False, "with loading LLVM"),
        Bound(f"compile: slowest of {len(COMPILED)} programs", "seconds", least(cold, worst), 0.6, False, worst),
        Bound("compile: slowest in a second process", "seconds", least(warm, slow), 0.02, False, slow),
    ], notes


def _in_a_process(name: str, folder: str | None = None, n: int = 0) -> dict[str, float]:
    command = [sys.executable, str(Path(__file__).resolve()), "--child", name, "--n", str(n)]
    environment = {**os.environ, **({"CATAD_CACHE_DIR": folder} if folder else {})}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


# -- small calls, and memory


def small_call(rounds: int, calls: int = 2000) -> list[Bound]:
    """Microseconds of `ct.sin` on 8 numbers over those of `np.sin`."""
    x = np.linspace(0.1, 1.0, 8).astype(np.float32)
    run: dict[str, Callable[[], Any]] = {"catad": lambda: ct.sin(x), "numpy": lambda: np.sin(x)}
    taken: dict[str, list[float]] = {name: [] for name in run}
    for _ in range(rounds + 1):  # the first round warms up
        for name, one in run.items():
            start = time.perf_counter()
            for _ in range(calls):
                one()
            taken[name].append((time.perf_counter() - start) / calls)
    over = median(taken["catad"][1:]) - median(taken["numpy"][1:])
    return [Bound("warm call of a map on 8 elements", "microseconds over np.sin", 1e6 * over, 15.0)]


def memory(n: int) -> list[Bound]:
    """The peak of a gradient through 10 maps and a sum. All are one pass with their partials: nothing is kept between."""
    found = _in_a_process("memory", n=n)
    why = f"{found['peak'] / 1e6:.1f} MB for {found['needed'] / 1e6:.1f} MB of input and output, {found['steps']:.0f} steps"
    work, ratio = f"peak memory of a gradient through 10 fused maps, {n}", found["peak"] / found["needed"]
    return [Bound(work, "inputs + outputs", ratio, 1.1, False, why)]


def peak(n: int) -> dict[str, float]:
    """In a process of its own, where no memory of earlier results lies ready: the most bytes of arrays in the gradient."""
    f = ct.grad(ct.compose(*[ct.sin, ct.tanh] * 5, ct.sum()))
    f(np.ones(8192, np.float32))  # compiled
    tracemalloc.start()
    x = np.linspace(0.0, 1.0, n, dtype=np.float32)
    tracemalloc.reset_peak()
    gradient = f(x)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    steps = len(f.source("steps", ct.space_of(x)).splitlines())
    return {"peak": most, "needed": x.nbytes + gradient.nbytes, "steps": steps}


def main() -> None:
    parts = ["primal", "scan", "compile", "call", "memory"]
    found = measuring.options(
        __doc__,
        n={"type": int, "default": 10_000_000, "help": "numbers of primals and of the gradient"},
        steps={"type": int, "default": 1_000_000, "help": "steps of the scan of matrices"},
        only={"nargs": "+", "default": parts, "choices": parts, "help": "which rows"},
        no_peers={"action": "store_true", "help": "without JAX"},
        no_associative={"action": "store_true", "help": "without lax.associative_scan, which takes a minute to compile"},
        processes={"type": int, "default": 3, "help": "fresh processes for each compiled program"},
        child={"help": "compile this program and print what that cost"},
    )
    if found.child:
        print(json.dumps(peak(found.n) if found.child == "memory" else child(found.child)))
        return
    bounds, notes = [], []
    if "primal" in found.only:
        bounds += primals(found.n, found.rounds)
    if "scan" in found.only:
        more, said = scans(found.steps, found.rounds, not found.no_peers, not found.no_associative)
        bounds, notes = bounds + more, notes + said
    if "compile" in found.only:
        more, said = compiling(found.processes)
        bounds, notes = bounds + more, notes + said
    if "call" in found.only:
        bounds += small_call(found.rounds)
    if "memory" in found.only:
        bounds += memory(found.n)
    print("\n".join(notes))
    at = list(range(1, len(bounds) + 1))
    reached = [row.measured / row.bound if row.least else row.bound / max(row.measured, 1e-9) for row in bounds]
    series = {"reached / asked": (at, reached), "1": (at, [1.0] * len(at))}
    measuring.chart(
        found.out, "cpu_engine", [measuring.Panel("the CPU engine", "row of the table", "reached / asked", series)]
    )
    measuring.report(found, notes, bounds)


if __name__ == "__main__":
    main()
