"""First Jacobians of drawn programs of small matrices, beside linearizing and writing the map out by a basis.

A seed draws a program of products of 2x2 to 5x5 matrices, of up to 60 boxes: a chain, a tree, a fan, rotations, or matrices
that are gathered. For each the seconds of the first and of a later `ct.jacobian` with `todense`, over those of `ct.linearize`
with `todense`. First calls run in a process of their own, a copy of one that has started up and measured its profile, so they
find nothing that an earlier program left, compiled code neither. Prints the ratios by family, and writes them as JSON too:

    python examples/experiments/drawn_matrices.py [--programs N] [--first SEED] [--rounds N] [--json FILE]
"""

from __future__ import annotations

import argparse
import gc
import json
import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from measuring import table

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
    """The processor seconds of a call in a copy of this process."""
    gc.collect()
    gc.freeze()  # what is here already is not collected there, which would copy its pages
    context = multiprocessing.get_context("fork")
    receive, send = context.Pipe(False)

    def child() -> None:
        made = program()
        start = time.process_time()
        call(made)
        send.send(time.process_time() - start)

    process = context.Process(target=child)
    process.start()
    seconds: float = receive.recv()
    process.join()
    return seconds


def planned(program: Drawn) -> Any:
    return ct.jacobian(program.f)(program.x).todense()


def by_basis(program: Drawn) -> Any:
    return ct.linearize(program.f, program.x)[1].todense()
