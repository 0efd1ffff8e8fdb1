"""What catad costs beyond the arithmetic: Python overhead, growth with the number of boxes, memory of a gradient.

Every figure is a ratio of two things measured side by side in this process (medians of several rounds), so that it holds on
other machines too. Prints a table; `--json FILE` writes it as well.
"""

from __future__ import annotations

import argparse
import json
import time
import tracemalloc
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

import catad as ct

Row = dict[str, Any]


def side_by_side(
    first: Callable[[], Any], second: Callable[[], Any], rounds: int = 9, calls: int = 1000
) -> tuple[float, float]:
    """Seconds of processor time per call of each, measured in turn: the medians over the rounds."""
    times: tuple[list[float], list[float]] = ([], [])
    for call in (first, second):
        call()
    for _ in range(rounds):
        for call, out in zip((first, second), times, strict=True):
            start = time.process_time()
            for _ in range(calls):
                call()
            out.append((time.process_time() - start) / calls)
    return median(times[0]), median(times[1])


def row(what: str, against: str, value: float, limit: float) -> Row:
    return {"what": what, "against": against, "ratio": round(value, 2), "at most": limit, "holds": value <= limit}


def calls() -> list[Row]:
    """A warm call and a warm vjp of three maps on eight elements, against the same three NumPy calls."""
    x, w = np.linspace(0.1, 1.0, 8), np.ones(8)
    f = ct.sin >> ct.exp >> ct.tanh

    def by_numpy() -> Any:
        return np.tanh(np.exp(np.sin(x)))

    def by_vjp() -> Any:
        _, pullback = ct.vjp(f, x)
        return pullback(w)

    rows = []
    for what, call, limit in (("warm call, 3 maps on 8 elements", lambda: f(x), 25), ("warm vjp of the same", by_vjp, 60)):
        ours, theirs = side_by_side(call, by_numpy)
        rows.append(row(what, "the same three NumPy calls", ours / theirs, limit))
    return rows


def linearising() -> list[Row]:
    """Linearising a chain of 1,000 boxes against evaluating it, once with maps that fuse and once with boxes that do not."""
    x = np.linspace(0.1, 1.0, 8)
    rows = []
    for name, boxes in (("maps", [ct.sin, ct.cos]), ("maps and flips", [ct.sin, ct.flip()])):
        chain = ct.compose(*boxes * 500)
        value, linear = side_by_side(lambda f=chain: f(x), lambda f=chain: ct.linearize(f, x), calls=20)
        rows.append(row(f"linearize, chain of 1,000 {name}", "its evaluation", linear / value, 5))
    return rows


def growth() -> list[Row]:
    """Composing, typing and wiring 10,000 boxes against 1,000: 10 is linear."""
    dom = ct.f64[8]
    boxes = [ct.sin, ct.flip(), ct.cos]

    def composed(n: int) -> ct.D:
        f: ct.D = ct.id
        for k in range(n):
            f = f >> boxes[k % 3]
        return f

    rows = []
    for what, work in (
        ("composing", composed),
        ("typing and wiring", lambda n: composed(n).spaces(dom)),
        ("composing, hashing, printing", lambda n: (hash(f := composed(n)), repr(f))),
    ):
        small, large = side_by_side(lambda w=work: w(1000), lambda w=work: w(10_000), rounds=7, calls=1)
        rows.append(row(f"{what} 10,000 boxes", "1,000 boxes", large / small, 13))
    return rows


def memory() -> list[Row]:
    """Peak memory of the gradient of map >> fold on 10^6 elements against the size of the input."""
    x = np.linspace(0.0, 1.0, 1_000_000)
    rows = []
    for name, op, neutral in (("+", lambda a, b: a + b, 0.0), ("max", lambda a, b: a if a >= b else b, -np.inf)):
        gradient = ct.grad(ct.map(lambda v: v * v * v) >> ct.fold(op, neutral))
        gradient(x)
        tracemalloc.start()
        gradient(x)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        rows.append(row(f"peak memory, gradient of map >> fold({name}), 10^6", "the input's bytes", peak / x.nbytes, 8))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", metavar="FILE", help="write the table as JSON too")
    options = parser.parse_args()
    rows = calls() + linearising() + growth() + memory()
    wide = max(len(r["what"]) for r in rows)
    print(f"{'':{wide}}  {'ratio':>8}  {'at most':>8}  against")
    for r in rows:
        print(f"{r['what']:{wide}}  {r['ratio']:8.2f}  {r['at most']:8}  {r['against']}{'' if r['holds'] else '   MISSED'}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
