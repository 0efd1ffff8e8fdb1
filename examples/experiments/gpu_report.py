"""A report of one GPU: whether programs on CuPy arrays are right there, and what they take beside a copy, CuPy, PyTorch and JAX.

Correctness comes first: small results are compared with those on NumPy arrays. Then times: maps of many arguments, the HM-LSTM
cell with its cotangents, the same with gates in runs of equal pairs, scans, folds and histograms. A time is that of a call in a
row of calls after which the host waits, the least of several rows. Peers run where they find the GPU. What no time is left for is
named and not measured. Without CuPy or a GPU nothing runs, and the program says so. It prints a table, and writes JSON too:

    python examples/experiments/gpu_report.py [--sizes N ...] [--length N] [--seconds S] [--json FILE] [--rounds N]
"""

from __future__ import annotations

import argparse
import importlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import divergence
import hm_lstm
import measuring
import numpy as np

import catad as ct

SMALL = ([40], 3000)  # sizes and a length at which results are compared
CALLS = 10  # in a row


class Case(NamedTuple):
    """A program with arguments of NumPy, and other programs of the same work, by their names."""

    part: str
    name: str
    f: ct.D
    args: tuple[Any, ...]
    peers: dict[str, Callable[..., Any]]


def cupy_on_a_gpu() -> tuple[Any, str]:
    """CuPy, or None and why nothing can run."""
    try:
        cupy = importlib.import_module("cupy")
        if not cupy.is_available():
            return None, "CuPy finds no GPU"
        cupy.zeros(1)
    except Exception as error:  # a broken CuPy raises anything
        return None, f"{type(error).__name__}: {' '.join(str(error).split())}"
    return cupy, ""


def cases(sizes: Sequence[int], length: int) -> Iterator[Case]:
    """All programs, part by part."""
    rng = np.random.default_rng(0)
    for arity in (1, 2, 4, 8):
        args = tuple(rng.normal(size=(arity, length)).astype(np.float32))
        yield Case("arity", f"{arity} arguments", ct.function(lambda *xs: sum(np.exp(x) for x in xs)), args, {})
    for n in sizes:
        for gates in ("random", "uniform"):
            yield Case("HM-LSTM", f"{n} x {n}, {gates}", hm_lstm.fused(), hm_lstm.arguments(n, gates), {})
    x, w = hm_lstm.arguments(sizes[0], "random")
    for run in (1, 32, sizes[0]):
        gates = divergence.gates_in_runs(sizes[0], run)
        yield Case("divergence", f"runs of {run}", hm_lstm.fused(), ((*gates, *x[2:]), w), {})
    v = rng.normal(size=length).astype(np.float32)
    yield Case("scan", "sums", ct.cumsum(), (v,), by_cupy("cumsum"))
    yield Case("scan", "gradient of sums", ct.grad(ct.cumsum() >> ct.square >> ct.sum()), (v,), {})
    yield Case("fold", "sum", ct.sum(), (v,), by_cupy("sum"))
    yield Case("fold", "gradient of squares", ct.grad(ct.square >> ct.sum()), (v,), {})
    for bins in (31, 1023, 65535):
        index = rng.integers(0, bins, length)
        args = index, v.astype(np.float64)
        yield Case("histogram", f"{bins} bins", ct.histogram(ct.add, 0.0, bins), args, by_cupy("bincount", bins))


def by_cupy(name: str, *more: Any) -> dict[str, Callable[..., Any]]:
    """A function of CuPy as the only peer."""
    return {"cupy": lambda *args: getattr(importlib.import_module("cupy"), name)(*args, *more)}


def leaves(value: Any) -> list[Any]:
    """The arrays of a value, where they are."""
    return [leaf for part in value for leaf in leaves(part)] if isinstance(value, tuple) else [value]


def on_gpu(cupy: Any, value: Any) -> Any:
    """A value of NumPy arrays as one of CuPy arrays."""
    return tuple([on_gpu(cupy, part) for part in value]) if isinstance(value, tuple) else cupy.asarray(value)


def check(cupy: Any, case: Case) -> dict[str, Any]:
    """The greatest difference from the results on NumPy arrays, over the greatest number of them."""
    want = [np.asarray(leaf, np.float64) for leaf in leaves(case.f(*case.args))]
    got = [np.asarray(cupy.asnumpy(leaf), np.float64) for leaf in leaves(case.f(*on_gpu(cupy, case.args)))]
    apart = max(float(np.max(np.abs(a - b))) / max(1.0, float(np.max(np.abs(b)))) for a, b in zip(got, want, strict=True))
    return {"part": case.part, "name": case.name, "difference": apart, "right": apart < 1e-4}


def seconds_of(cupy: Any, run: Callable[[], Any], rounds: int) -> float:
    """Seconds of one of several calls in a row, after which the host waits."""
    device, best = cupy.cuda.Device(), float("inf")
    for k in range(rounds + 1):  # the first row warms up
        device.synchronize()
        begun = time.perf_counter()
        for _ in range(CALLS):
            run()
        device.synchronize()
        if k:
            best = min(best, (time.perf_counter() - begun) / CALLS)
    return best


def peers_of(case: Case, args: Any) -> dict[str, Callable[[], Any]]:
    """Calls of other libraries that do the same on the same GPU."""
    found: dict[str, Callable[[], Any]] = {name: (lambda f=f: f(*args)) for name, f in case.peers.items()}
    if case.part == "HM-LSTM":
        for library, make in (("jax", by_jax), ("torch", by_torch)):
            try:
                found[library] = make(*case.args)
            except Exception as error:  # not installed, or without this GPU
                print(f"{library} is not measured: {type(error).__name__}: {' '.join(str(error).split())[:100]}")
    return found


def by_jax(x: tuple[np.ndarray, ...], w: np.ndarray) -> Callable[[], Any]:
    """JAX, where its arrays lie on a GPU."""
    if importlib.import_module("jax").default_backend() != "gpu":
        raise RuntimeError("JAX finds no GPU")
    return hm_lstm.by_jax(x, w)[1]


def by_torch(x: tuple[np.ndarray, ...], w: np.ndarray) -> Callable[[], Any]:
    """PyTorch on the GPU."""
    if not importlib.import_module("torch").cuda.is_available():
        raise RuntimeError("PyTorch finds no GPU")
    return hm_lstm.by_torch(x, w, "cuda")[1]


def measure(cupy: Any, case: Case, copy: float, rounds: int) -> dict[str, Any]:
    """One program: seconds, and bytes that it must move over those that a copy moves in that time."""
    args = on_gpu(cupy, case.args)
    results = leaves(case.f(*args))
    moved = sum(leaf.nbytes for leaf in (*leaves(args), *results))
    seconds = {"catad": seconds_of(cupy, lambda: case.f(*args), rounds)}
    seconds.update({name: seconds_of(cupy, run, rounds) for name, run in peers_of(case, args).items()})
    share = moved / seconds["catad"] / copy
    return {"part": case.part, "name": case.name, "seconds": seconds, "bytes": moved, "of copy": share}


def report(cupy: Any, found: argparse.Namespace) -> dict[str, Any]:
    """All of it, until the time is over."""
    end = time.monotonic() + found.seconds
    number = cupy.cuda.Device().id
    name = cupy.cuda.runtime.getDeviceProperties(number)["name"].decode()
    checks, rows, left = [check(cupy, case) for case in cases(*SMALL)], list[dict[str, Any]](), list[str]()
    source = cupy.zeros(found.length * 4, dtype=np.float32)
    copy = 2 * source.nbytes / seconds_of(cupy, source.copy, found.rounds)
    for case in cases(found.sizes, found.length):
        if time.monotonic() > end:
            left.append(f"{case.part}: {case.name}")
        else:
            rows.append(measure(cupy, case, copy, found.rounds))
    day = datetime.now(UTC).date().isoformat()
    about = {"device": name, "date": day, "driver": cupy.cuda.runtime.driverGetVersion(), "copy": copy}
    return {**about, "checks": checks, "rows": rows, "not measured": left}


def show(made: dict[str, Any]) -> None:
    """The tables."""
    print(f"{made['device']}, {made['date']}, a copy reads and writes {made['copy'] / 1e9:.1f} GB/s")
    wrong = [row for row in made["checks"] if not row["right"]]
    print(f"{len(made['checks']) - len(wrong)} of {len(made['checks'])} programs are right")
    for row in wrong:
        print(f"WRONG: {row['part']}, {row['name']}: {row['difference']:.1e}")
    names = list(dict.fromkeys(name for row in made["rows"] for name in row["seconds"]))
    head = ("part", "program", *[f"{name} us" for name in names], "of copy")
    times = [[f"{1e6 * row['seconds'][k]:.1f}" if k in row["seconds"] else "-" for k in names] for row in made["rows"]]
    pairs = zip(made["rows"], times, strict=True)
    print(measuring.table(head, [(row["part"], row["name"], *own, f"{row['of copy']:.0%}") for row, own in pairs]))
    for name in made["not measured"]:
        print(f"not measured, the time was over: {name}")


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[512, 1024, 2048, 4096, 8192], help="sides of the HM-LSTM cell")
    parser.add_argument("--length", type=int, default=10_000_000, help="of the other arrays")
    parser.add_argument("--seconds", type=float, default=400.0, help="after which no further program is started")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, help="a file to write")
    found = parser.parse_args(given)
    cupy, why = cupy_on_a_gpu()
    if cupy is None:
        print(f"nothing was measured: {why}")
        return 0
    made = report(cupy, found)
    show(made)
    if found.json:
        found.json.write_text(json.dumps(made, indent=2), encoding="utf-8")
    return int(not all(row["right"] for row in made["checks"]))


if __name__ == "__main__":
    raise SystemExit(main())
