"""Random graphs, and eliminating, cutting and choosing orders by definition, sharing no code with the planner."""

from __future__ import annotations

import json
import os
import random
from functools import cache
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import pytest

import catad as ct

Edges = set[tuple[int, int]]


class Case:
    """A graph as plain sets."""

    def __init__(self, edges: Edges, inputs: list[int], outputs: list[int], sizes: list[int]) -> None:
        self.edges, self.inputs, self.outputs, self.sizes = edges, inputs, outputs, sizes
        self.stay = {*inputs, *outputs}
        self.inner = [v for v in range(len(sizes)) if v not in self.stay]

    @property
    def graph(self) -> ct.Graph:
        return ct.Graph(sorted(self.edges), self.inputs, self.outputs, self.sizes)


def random_case(seed: int, inner: int, ends: int = 3, weighted: bool = False, density: float = 0.35) -> Case:
    """A random graph: numbers shuffled, some outputs used further, some vertices without predecessors or successors."""
    rng = random.Random(seed)
    ins, outs = rng.randint(1, ends), rng.randint(1, ends)
    n = ins + inner + outs
    names = list(range(n))
    rng.shuffle(names)
    edges = {
        (names[a], names[b])
        for a in range(n)
        for b in range(max(a + 1, ins), n)
        if (a < ins + inner or rng.random() < 0.2) and rng.random() < density
    }
    sizes = [rng.choice((1, 1, 2, 3, 7)) if weighted else 1 for _ in range(n)]
    outputs = [names[k] for k in range(ins + inner, n)]
    if inner and rng.random() < 0.2:
        outputs.append(names[ins + inner // 2])  # an output that is used further
    return Case(edges, names[:ins], outputs, sizes)


def eliminated(case: Case, order: Any) -> tuple[int, Edges]:
    """What an order costs, and the edges that it leaves."""
    edges = set(case.edges)
    total = 0
    for v in order:
        before = [a for a, b in edges if b == v]
        after = [b for a, b in edges if a == v]
        total += case.sizes[v] * sum(case.sizes[a] for a in before) * sum(case.sizes[b] for b in after)
        edges = {edge for edge in edges if v not in edge} | {(a, b) for a in before for b in after}
    return total, edges


def least(case: Case) -> int:
    """The least cost of all orders, by eliminating one vertex more of each set of vertices."""

    @cache
    def of(gone: frozenset[int]) -> int:
        if not gone:
            return 0
        return min(of(gone - {v}) + eliminated_last(case, v, gone - {v}) for v in gone)

    return of(frozenset(case.inner))


def eliminated_last(case: Case, v: int, gone: frozenset[int]) -> int:
    """What v costs after the vertices `gone`, in any order of these."""
    edges = eliminated(Case(case.edges, case.inputs, case.outputs, case.sizes), sorted(gone))[1]
    before, after = [a for a, b in edges if b == v], [b for a, b in edges if a == v]
    return case.sizes[v] * sum(case.sizes[a] for a in before) * sum(case.sizes[b] for b in after)


def least_of_all_orders(case: Case) -> int:
    return min(eliminated(case, order)[0] for order in permutations(case.inner))


def cut(case: Case, v: int, forwards: bool) -> int:
    """The least size of a set of vertices that parts v from the vertices that stay on one side, by trying all sets."""
    edges = case.edges if forwards else {(b, a) for a, b in case.edges}
    others = [u for u in range(len(case.sizes)) if u != v]
    best = sum(case.sizes)
    for count in range(len(others) + 1):
        for parted in combinations(others, count):
            size = sum(case.sizes[u] for u in parted)
            if size < best and not _reaches(edges, v, case.stay, set(parted)):
                best = size
    return best


def _reaches(edges: Edges, v: int, ends: set[int], parted: set[int]) -> bool:
    seen, todo = {v}, [v]
    while todo:
        u = todo.pop()
        for a, b in edges:
            if a == u and b not in seen and b not in parted:
                if b in ends:
                    return True
                seen.add(b)
                todo.append(b)
    return False


def problems() -> dict[str, Any]:
    """The published problems; skips where there are none."""
    path = problem_path()
    content: dict[str, Any] = json.loads(path.read_text())
    return content


def problem_path() -> Path:
    folder = os.environ.get("CATAD_OUTSIDE_DATA")
    if not folder:
        pytest.skip("CATAD_OUTSIDE_DATA names no folder with planner/problems.json")
    path = Path(folder) / "planner" / "problems.json"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    return path
