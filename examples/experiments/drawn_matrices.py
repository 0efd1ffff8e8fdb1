"""First Jacobians of drawn programs of small matrices, beside linearizing and writing the map out by a basis.

A seed draws a program of products of 2x2 to 5x5 matrices, of up to 60 boxes: a chain, a tree, a fan, rotations, or matrices
that are gathered. For each the seconds of the first and of a later `ct.jacobian` with `todense`, over those of `ct.linearize`
with `todense`. First calls run in a process of their own, a copy of one that has started up and measured its profile, so they
find nothing that an earlier program left, compiled code neither. Prints the ratios by family, and writes them as JSON too:

    python examples/experiments/drawn_matrices.py [--programs N] [--first SEED] [--rounds N] [--growth] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from measuring import apart, table
from small_matrices import prefixes

import catad as ct

BOXES = 60


class Drawn(NamedTuple):
    """A drawn program and its point."""

    family: str
    f: Any
    x: Any


def chain(rng: np.random.Generator, k: int, n: int) -> tuple[Any, int]:
    """A product of n matrices, with all products on the way or the last alone; pointwise functions between some."""
    every, bent = bool(rng.integers(2)), rng.integers(0, 3, n)

    def f(x: Any) -> Any:
        parts = x.reshape((n, k, k))
        made = [parts[0]]
        for i in range(1, n):
            product = made[-1] @ parts[i]
            made.append(np.tanh(product) if bent[i] == 0 else product)
        return np.stack(made) if every else made[-1]

    return f, n * k * k


def tree(rng: np.random.Generator, k: int, n: int) -> tuple[Any, int]:
    """Neighbours multiplied in drawn pairs until one is left."""
    places = [int(rng.integers(0, left - 1)) for left in range(n, 1, -1)]

    def f(x: Any) -> Any:
        parts = x.reshape((n, k, k))
        made = [np.sin(parts[i]) for i in range(n)]
        for at in places:
            made[at : at + 2] = [made[at] @ made[at + 1]]
        return made[0]

    return f, n * k * k


def fan(rng: np.random.Generator, k: int, n: int) -> tuple[Any, int]:
    """One matrix times n others that hang on a few parameters, on drawn sides; stacked or added."""
    left, added = rng.integers(0, 2, n), bool(rng.integers(2))
    fixed = rng.standard_normal((n, k, k)) / k

    def f(x: Any) -> Any:
        root = x[: k * k].reshape((k, k))
        root = np.tanh(root @ root)
        made = [
            (root @ (fixed[i] * x[k * k + i])) if left[i] else ((fixed[i] * x[k * k + i]) @ root) @ root for i in range(n)
        ]
        return np.sum(np.stack(made), axis=0) if added else np.stack(made)

    return f, k * k + n


def rotations(rng: np.random.Generator, k: int, n: int) -> tuple[Any, int]:
    """Turns in drawn planes, one after the other, and what they do to a vector."""
    planes = [sorted(rng.choice(k, 2, replace=False).tolist()) for _ in range(n)]
    every = bool(rng.integers(2))
    unit, vector = np.eye(k), rng.standard_normal(k)

    def f(x: Any) -> Any:
        turn = None
        made = []
        for i, (p, q) in enumerate(planes):
            here, cross = np.zeros((k, k)), np.zeros((k, k))
            here[p, p] = here[q, q] = 1.0
            cross[p, q], cross[q, p] = -1.0, 1.0
            one = (unit - here) + np.cos(x[i]) * here + np.sin(x[i]) * cross
            turn = one if turn is None else turn @ one
            made.append(turn @ vector)
        return np.stack(made) if every else turn

    return f, n


def gathers(rng: np.random.Generator, k: int, n: int) -> tuple[Any, int]:
    """Many products at once of matrices that are gathered from a few, again and again."""
    few, many = int(rng.integers(2, 5)), int(rng.integers(2, 7))
    indices = [rng.integers(0, few, many) for _ in range(n)]

    def f(x: Any) -> Any:
        pool = x.reshape((few, k, k))
        made = pool[indices[0]]
        for index in indices[1:]:
            made = made @ np.cos(pool[index])
        return made

    return f, few * k * k


FAMILIES: dict[str, tuple[Callable[[np.random.Generator, int, int], tuple[Any, int]], int]] = {
    "chain": (chain, 16),
    "tree": (tree, 12),
    "fan": (fan, 10),
    "rotations": (rotations, 7),
    "gathers": (gathers, 10),
}  # with the most matrices


def drawn(seed: int) -> Drawn:
    """The program of a seed: of `BOXES` boxes at most."""
    rng = np.random.default_rng(seed)
    family = list(FAMILIES)[seed % len(FAMILIES)]
    make, most = FAMILIES[family]
    k, n = int(rng.integers(2, 6)), int(rng.integers(2, most + 1))
    while True:
        f, size = make(np.random.default_rng(seed), k, n)
        x = np.random.default_rng(seed + 1).standard_normal(size) / 2
        if n == 2 or boxes_of(ct.function(f), x) <= BOXES:
            return Drawn(family, ct.function(f), x)  # one that has not been traced
        n -= 1


def boxes_of(f: Any, x: Any) -> int:
    """The boxes of a program at a point."""
    return len(f.at(ct.space_of(x)).lines)


# -- measured


def first(program: Callable[[], Drawn], call: Callable[[Drawn], Any]) -> float:
    """The processor seconds of a first call."""

    def seconds() -> float:
        made = program()
        start = time.process_time()
        call(made)
        return time.process_time() - start

    found: float = apart(seconds)
    return found


def planned(program: Drawn) -> Any:
    return ct.jacobian(program.f)(program.x).todense()


def by_basis(program: Drawn) -> Any:
    return ct.linearize(program.f, program.x)[1].todense()


def later(call: Callable[[], Any], rounds: int) -> float:
    """The least processor seconds of a call that is compiled, of some times five."""
    for _ in range(60):
        call()
    taken = []
    for _ in range(rounds):
        start = time.process_time()
        for _ in range(5):
            call()
        taken.append((time.process_time() - start) / 5)
    return min(taken)


def measured(seed: int, rounds: int) -> dict[str, Any]:
    """One program: its cold and warm ratios, what its Jacobian stores over dense, and how far it is from the basis'."""
    cold = {call: min([first(lambda: drawn(seed), call) for _ in range(2)]) for call in (planned, by_basis)}
    row = {"seed": seed, "cold": cold[planned] / cold[by_basis], "cold ms": cold[planned] * 1e3}
    return row | apart(lambda: compared(drawn(seed), rounds))


def compared(program: Drawn, rounds: int) -> dict[str, Any]:
    """The part of `measured` that is not cold."""
    warm = None
    if rounds:
        warm = later(lambda: planned(program), rounds) / later(lambda: by_basis(program), rounds)
    made, found, expected = ct.jacobian(program.f)(program.x), planned(program), by_basis(program)
    stored = made.stored / (made.shape[0] * made.shape[1])
    difference = float(np.abs(found - expected).max() / np.abs(expected).max())
    return {"family": program.family, "warm": warm, "stored": stored, "difference": difference}


def growth(make: Callable[[int], tuple[Any, Any]], n: int) -> float:
    """How many times longer planning takes where a program is twice as large: cold, processor seconds."""
    once, twice = [min([_planning(make, m) for _ in range(3)]) for m in (n, 2 * n)]
    return twice / once


def _planning(make: Callable[[int], tuple[Any, Any]], n: int) -> float:
    def made() -> Drawn:
        f, x = make(n)
        return Drawn("", ct.linearize(f, x)[1], x)

    return first(made, lambda program: ct.plan(program.f))


def sized(family: str) -> Callable[[int], tuple[Any, Any]]:
    """The programs of a family by the number of their matrices, 3x3."""

    def make(n: int) -> tuple[Any, Any]:
        f, size = FAMILIES[family][0](np.random.default_rng(0), 3, n)
        return ct.function(f), np.random.default_rng(1).standard_normal(size) / 2

    return make


def shown(rows: list[dict[str, Any]], grown: dict[str, dict[int, float]]) -> str:
    """Tables: the ratios by family, and how planning grows."""
    lines = []
    for name in [*FAMILIES, "all"]:
        own = [row for row in rows if name in (row["family"], "all")]
        if not own:
            continue
        cold, warm = [row["cold"] for row in own], [row["warm"] for row in own if row["warm"] is not None]
        cells = [f"{len(own)}", f"{median(cold):.2f}", f"{max(cold):.2f}", f"{sum(ratio > 3 for ratio in cold)}"]
        cells += [f"{median(warm):.2f}", f"{max(warm):.2f}"] if warm else ["", ""]
        stored, difference = max(row["stored"] for row in own), max(row["difference"] for row in own)
        lines.append((name, *cells, f"{stored:.2f}", f"{difference:.0e}"))
    head = ("over linearize, todense", "programs", "cold", "most", "over 3", "warm", "most", "stored / dense", "difference")
    text = table(head, lines)
    if grown:
        ends = [
            (name, ", ".join([f"{n} to {2 * n}: {times:.1f}" for n, times in own.items()])) for name, own in grown.items()
        ]
        text += "\n\n" + table(("planning, twice the size", "times as long"), ends)
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--programs", type=int, default=200, help="how many are drawn (default: %(default)s)")
    parser.add_argument("--first", type=int, default=0, help="the first seed (default: %(default)s)")
    parser.add_argument(
        "--rounds", type=int, default=5, help="times that later calls are timed; 0: not (default: %(default)s)"
    )
    parser.add_argument("--growth", action="store_true", help="measure how planning grows, too")
    parser.add_argument("--json", type=Path, help="write the ratios as JSON too")
    given = parser.parse_args()
    ct.set_num_threads(1)
    os.environ["CATAD_CACHE_DIR"] = ""  # nothing compiled is kept, or found
    other = drawn(given.first + given.programs)
    planned(other), by_basis(other)  # starts up, and measures the profile
    rows = [measured(seed, given.rounds) for seed in range(given.first, given.first + given.programs)]
    grown: dict[str, dict[int, float]] = {}
    if given.growth:
        grown = {name: {n: growth(sized(name), n) for n in (3, 6)} for name in FAMILIES}
        grown["prefix products of rotations"] = {n: growth(prefixes, n) for n in (2, 4, 8, 12)}
    print(shown(rows, grown))
    if given.json is not None:
        given.json.write_text(json.dumps({"rows": rows, "growth": grown}, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
