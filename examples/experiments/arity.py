"""Throughput of the gradient of a k-ary function over its arity k, and the width of chunks that is fastest.

The function is s_1 = tanh x_1, s_j = tanh(s_{j-1} x_j): each of its k partials depends on all of x, and more arguments are more
arithmetic, as in the experiment of J. Revels et al., Dynamic automatic differentiation of GPU broadcast kernels, 2018, section
3.4.1. Duals of k perturbations need k registers for each number, so wide ones may spill; narrow ones compute the value again for
each chunk of partials. Measured are the value, and value and k cotangents (float32) in one pass and in chunks of several widths,
each a pass of its own. Prints a table, draws it, and writes it as JSON too:

    python examples/experiments/arity.py [--n N] [--arities K ...] [--widths W ...] [--json FILE] [--out DIR] [--rounds N]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import measuring
import numpy as np

import catad as ct

WIDTHS = (1, 2, 5, 10)


def chain(k: int) -> ct.D:
    """(x_1, ..., x_k) to s_k."""
    step = ct.map(lambda s, x: ct.tanh(s * x))
    s = ct.proj(0) >> ct.tanh
    for j in range(1, k):
        s = ct.fork(s, ct.proj(j)) >> step
    return s if k > 1 else ct.tanh


def chunks(k: int, width: int) -> list[ct.D]:
    """Terms that together give the value and all cotangents, at most `width` of them each."""
    f = chain(k)
    back = ct.reverse_differential(f)
    if k == 1:
        return [ct.fork(ct.exl >> f, back)]
    parts = [back >> ct.fork(*[ct.proj(j) for j in range(a, min(a + width, k))]) for a in range(0, k, width)]
    return [ct.fork(ct.exl >> f, parts[0]), *parts[1:]]


def runner(terms: list[ct.D], point: Any) -> Callable[[], Any]:
    return lambda: [term(point) for term in terms]


def measure(k: int, n: int, widths: list[int], rounds: int) -> dict[str, Any]:
    """One arity: seconds of the value, of all in one pass, and of each width of chunks."""
    rng = np.random.default_rng(k)
    xs = tuple([rng.uniform(0.5, 1.5, n).astype(np.float32) for _ in range(k)])
    x = xs if k > 1 else xs[0]
    w = np.ones(n, np.float32)
    f = chain(k)
    compiling = {}
    runs: dict[str, Callable[[], Any]] = {"value": lambda: f(x), "one pass": runner(chunks(k, k), (x, w))}
    for width in widths:
        if width < k:
            runs[f"chunks of {width}"] = runner(chunks(k, width), (x, w))
    for name, run in runs.items():
        with ct.profile() as p:
            run()
        compiling[name] = sum(stage.compile_seconds for stage in p.stages)
    taken = measuring.side_by_side(runs, rounds)
    gradients = {name: seconds for name, seconds in taken.items() if name != "value"}
    moved = (2 * k + 2) * w.nbytes
    return {
        "k": k, "n": n, "seconds": taken, "compile seconds": compiling,
        "fastest": min(gradients, key=lambda name: gradients[name]),
        "bandwidth": moved / taken["one pass"], "partials per second": k * n / taken["one pass"],
        "over value": taken["one pass"] / taken["value"],
    }  # fmt: skip


def best_width(rows: list[dict[str, Any]]) -> str:
    """The way that is fastest summed over the arities at which all were measured."""
    names = [name for name in rows[-1]["seconds"] if name != "value"]
    common = [row for row in rows if all(name in row["seconds"] for name in names)]
    return min(names, key=lambda name: sum(row["seconds"][name] for row in common))


def main() -> None:
    found = measuring.options(
        __doc__,
        n={"type": int, "default": 1_000_000, "help": "elements of each array"},
        arities={"type": int, "nargs": "+", "default": list(range(1, 21)), "help": "k"},
        widths={"type": int, "nargs": "+", "default": list(WIDTHS), "help": "partials in a chunk"},
    )
    rows = [measure(k, found.n, found.widths, found.rounds) for k in found.arities]
    names = ["value", "one pass", *[f"chunks of {width}" for width in found.widths]]
    lines = [
        (
            f"{row['k']}",
            *[f"{1e3 * row['seconds'][name]:.2f}" if name in row["seconds"] else "-" for name in names],
            f"{row['over value']:.2f}", f"{row['bandwidth'] / 1e9:.2f}", f"{row['partials per second'] / 1e6:.0f}",
            f"{1e3 * row['compile seconds']['one pass']:.0f}",
        )
        for row in rows
    ]  # fmt: skip
    head = ("k", *[f"{name} ms" for name in names], "one pass / value", "GB/s", "M partials/s", "compile ms")
    print(measuring.table(head, lines))
    print(f"fastest over all arities at which every width was measured: {best_width(rows)}")
    series = {}
    for name in names[1:]:
        own = [row for row in rows if name in row["seconds"]]
        series[name] = ([row["k"] for row in own], [row["k"] * row["n"] / row["seconds"][name] / 1e6 for row in own])
    over = {"one pass": ([row["k"] for row in rows], [row["over value"] for row in rows])}
    measuring.chart(
        found.out,
        "arity",
        [
            measuring.Panel("value and all cotangents", "arity k", "million partials per second", series),
            measuring.Panel("against the value alone", "arity k", "time / time of the value", over),
        ],
    )
    measuring.report(found, rows, [])


if __name__ == "__main__":
    main()
