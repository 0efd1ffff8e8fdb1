"""What the order that is found for the sizes of a program's graph alone gives to `ct.plan`.

`ct.plan` begins its search for an order of elimination with a few orders by rules and with the one that `ct.plan_graph` finds for
the sizes of the vertices. Here each program is planned with that one and without it: random programs with forks, and those of
`planning.py`. Prints the programs whose plan costs more without it, and the seconds that planning takes with and without:

    python examples/experiments/orders_by_sizes.py [--programs N] [--rounds N]
"""

from __future__ import annotations

import argparse
import importlib.util
import random
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import catad as ct
from catad.planner.network import search
from catad.planner.plan import forget

Program = tuple[ct.D, tuple[Any, ...]]


def drawn(seed: int) -> Program:
    """A random program: each box reads one or two of the vectors that are there, and adds one."""
    rng, numbers = random.Random(seed), np.random.default_rng(seed)
    sizes, term = [rng.randint(1, 9)], ct.id

    def at(k: int, n: int | None = None) -> ct.D:
        """Vector k, made n long by a matrix."""
        own = ct.id if len(sizes) == 1 else ct.proj(k)
        if n is None:
            return own
        return own >> ct.fork(ct.const(numbers.standard_normal((n, sizes[k]))), ct.id) >> ct.einsum("ij,j->i")

    for _ in range(rng.randint(6, 20)):
        k, j, n = rng.randrange(len(sizes)), rng.randrange(len(sizes)), rng.randint(1, 9)
        kind = rng.randrange(3)
        own = at(k, n) if kind == 0 else at(k) >> ct.tanh if kind == 1 else ct.fork(at(k), at(j, sizes[k])) >> ct.mul
        term = term >> ct.fork(*[at(i) for i in range(len(sizes))], own)
        sizes.append(ct.space_of(term(np.ones(sizes[0]))[-1]).size)
    return term >> ct.fork(at(len(sizes) - 1), at(rng.randrange(len(sizes)))), (np.ones(sizes[0]),)


def families() -> dict[str, Program]:
    """The programs of the experiment on planning, at their smaller sizes."""
    spec = importlib.util.spec_from_file_location("planning", Path(__file__).with_name("planning.py"))
    assert spec is not None and spec.loader is not None
    planning = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(planning)
    made = {f"{name}, {n}": make(n) for name, (make, sizes) in planning.FAMILIES.items() for n in sizes[:2]}
    return {name: (f, x if isinstance(x, tuple) else (x,)) for name, (f, x) in made.items()}


def planned(program: Program, most: int) -> tuple[int, float]:
    """The operations of the plan, and the seconds of planning, with the order by sizes for graphs of at most so many vertices."""
    f, point = program
    _, linear = ct.linearize(f, *point)
    forget()
    search.SIZED, before = most, search.SIZED
    start = time.perf_counter()
    try:
        return ct.plan(linear, cost="operations").cost.operations, time.perf_counter() - start
    finally:
        search.SIZED = before


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=int, default=200, help="how many random ones (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="times that each is planned (default: %(default)s)")
    given = parser.parse_args()
    programs = {f"drawn {seed}": drawn(seed) for seed in range(given.programs)} | families()
    dearer, seconds = 0, {True: 0.0, False: 0.0}
    for name, program in programs.items():
        cost = {}
        for sized in (True, False):
            runs = [planned(program, search.SIZED if sized else 0) for _ in range(given.rounds)]
            cost[sized] = runs[0][0]
            seconds[sized] += median(taken for _, taken in runs)
        if cost[False] != cost[True]:
            dearer += cost[False] > cost[True]
            print(f"{name}: {cost[True]:,} operations with the order by sizes, {cost[False]:,} without")
    spent = f"planned in {seconds[True]:.2f} s with it, {seconds[False]:.2f} s without"
    print(f"{len(programs)} programs, {dearer} dearer without; {spent}")


if __name__ == "__main__":
    main()
