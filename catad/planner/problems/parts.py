"""Independent parts of a graph, each with its own numbers of vertices.

Eliminating v costs what can be reached from v through vertices that are gone already, so only vertices that are connected
through vertices to be eliminated matter to each other: each weakly connected part of the inner vertices has its own plan,
and their costs add up. A vertex that no end reaches, or that reaches none, is eliminated first, at no cost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from catad.planner.graph import Graph, measure, members, set_of
from catad.planner.heuristics import Work

VISIT, WIDE = 0.06, 3e-5  # work for one vertex that is passed, and more for each vertex that its sets have room for


@dataclass(frozen=True)
class Part:
    """Vertices 0 to m - 1 are to be eliminated (in topological order), those from m on stay; `names` has theirs in the graph."""

    names: tuple[int, ...]
    preds: tuple[int, ...]
    succs: tuple[int, ...]
    sizes: tuple[int, ...]
    m: int

    @property
    def inner(self) -> int:
        return (1 << self.m) - 1

    @property
    def measure(self) -> Callable[[int], int]:
        return measure(self.sizes)


def reach(adjacent: Sequence[int], v: int, gone: int, work: Work) -> int:
    """The neighbours of v on one side once the vertices `gone` are eliminated."""
    seen = adjacent[v]
    done = 0
    todo = seen & gone
    while todo:
        low = todo & -todo
        done |= low
        seen |= adjacent[low.bit_length() - 1]
        todo = seen & gone & ~done
    work.left -= done.bit_count() * (VISIT + WIDE * len(adjacent))
    return seen & ~gone


def connected(around: Sequence[int] | Mapping[int, int], inside: int) -> list[int]:
    """The weakly connected parts of a set of vertices; `around` has the neighbours of each."""
    found = []
    while inside:
        low = inside & -inside
        part = todo = low
        while todo:
            low = todo & -todo
            new = around[low.bit_length() - 1] & inside & ~part
            part |= new
            todo ^= low | new
        found.append(part)
        inside &= ~part
    return found


def parts_of(graph: Graph) -> tuple[list[int], list[Part]]:
    """The vertices that cost nothing when they are eliminated in this order, and the parts of the rest."""
    order = graph.topological()
    free, useful = _free(graph, order)
    position = {v: k for k, v in enumerate(order)}
    around = [(p | s) & useful for p, s in zip(graph.preds, graph.succs, strict=True)]
    ends = graph.inputs | graph.outputs
    parts = []
    for inside in connected(around, useful):
        inner = sorted(members(inside), key=position.__getitem__)
        near = 0
        for v in inner:
            near |= graph.preds[v] | graph.succs[v]
        names = inner + members(near & ends)
        local = {v: k for k, v in enumerate(names)}
        kept = inside | ends
        near_to = [kept] * len(inner) + [inside] * (len(names) - len(inner))
        preds, succs = [
            tuple([set_of([local[u] for u in members(sets[v] & those)]) for v, those in zip(names, near_to, strict=True)])
            for sets in (graph.preds, graph.succs)
        ]
        sizes = tuple([graph.sizes[v] for v in names])
        parts.append(Part(tuple(names), preds, succs, sizes, len(inner)))
    return free, parts


def _free(graph: Graph, order: Sequence[int]) -> tuple[list[int], int]:
    """The inner vertices that no path between ends passes, in an order in which they cost nothing, and the others."""
    ends = graph.inputs | graph.outputs
    down = up = ends
    for v in order:
        if graph.preds[v] & down:
            down |= 1 << v
    for v in reversed(order):
        if graph.succs[v] & up:
            up |= 1 << v
    inner = graph.inner
    unreached = [v for v in order if inner >> v & 1 and not down >> v & 1]
    useless = [v for v in reversed(order) if inner >> v & 1 and down >> v & 1 and not up >> v & 1]
    return unreached + useless, inner & down & up
