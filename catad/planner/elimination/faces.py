"""Matrix-free elimination of a small vector graph: face elimination, exactly, by best-first search.

Every edge (i, j) has a program for one tangent (cost t) and one adjoint (cost a), and no Jacobian. Work goes on in the line graph, whose
nodes are the edges and whose faces are pairs of edges that meet. A step accumulates a node (size_i t by tangents, size_j a by
adjoints), or eliminates a face between nodes (i, j) and (j, k), adding its product to the node (i, k) with the same faces:

    both accumulated: size_i size_j size_k      first accumulated: size_i t of the second      second accumulated: size_k a of the first

A node whose faces are all gone on one side drops out, and the work is done when no face is left and every node is accumulated.
Eliminating faces contains eliminating edges and vertices. (U. Naumann, Optimal accumulation of Jacobian matrices by elimination
methods on the dual computational graph, 2004; the same for matrix-free vector graphs: ADMission, 2021.)
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from catad.planner.elimination.bounds import Work


class Edge(NamedTuple):
    """An edge and what one tangent and one adjoint through it cost; without a program it has its Jacobian from the start."""

    source: int
    target: int
    tangent: int
    adjoint: int
    program: bool = True


Paths = frozenset[tuple[int, ...]]  # the paths, in edges, that a node of the line graph stands for
Node = tuple[Paths, bool]  # and whether it is accumulated
State = tuple[frozenset[Node], frozenset[tuple[Paths, Paths]]]


@dataclass(frozen=True)
class MatrixFreeResult:
    """The least cost that was found, whether it is known to be the least, and its steps."""

    cost: int
    optimal: bool
    steps: tuple[str, ...]


class Faces:
    """Face elimination on one graph."""

    def __init__(self, sizes: Sequence[int], edges: Sequence[Edge], inputs: set[int], outputs: set[int]) -> None:
        self.sizes, self.edges, self.inputs, self.outputs = sizes, edges, inputs, outputs
        nodes = [frozenset([(k,)]) for k in range(len(edges))]
        self.programs = {node: edge for node, edge in zip(nodes, edges, strict=True) if edge.program}
        faces = frozenset(
            (a, c)
            for a, first in zip(nodes, edges, strict=True)
            for c, second in zip(nodes, edges, strict=True)
            if first.target == second.source and first.target not in inputs | outputs
        )
        self.least = self._leasts()
        self.start = self._normal(frozenset((node, node not in self.programs) for node in nodes), faces)

    def ends(self, node: Paths) -> tuple[int, int]:
        path = next(iter(node))
        return self.edges[path[0]].source, self.edges[path[-1]].target

    def _normal(self, nodes: frozenset[Node], faces: frozenset[tuple[Paths, Paths]]) -> State:
        """Without the nodes that lead nowhere or come from nowhere; accumulated nodes with the same ends and faces are one."""
        stay = self.inputs | self.outputs
        while True:
            before: dict[Paths, set[Paths]] = {}
            after: dict[Paths, set[Paths]] = {}
            for x, y in faces:
                after.setdefault(x, set()).add(y)
                before.setdefault(y, set()).add(x)
            names: dict[Paths, Paths | None] = {}
            same: dict[object, Paths] = {}
            for node, done in sorted(nodes, key=lambda node: sorted(node[0])):
                (i, k), above, below = self.ends(node), before.get(node), after.get(node)
                if not (above or i in stay) or not (below or k in stay):
                    names[node] = None
                elif done:
                    key = (i, k, frozenset(above or ()), frozenset(below or ()))
                    same[key] = same[key] | node if key in same else node
            for node, done in nodes:
                if done and node not in names:
                    key = (*self.ends(node), frozenset(before.get(node, ())), frozenset(after.get(node, ())))
                    if same[key] != node:
                        names[node] = same[key]
            if not names:
                return nodes, faces
            nodes = frozenset((new, done) for node, done in nodes if (new := names.get(node, node)) is not None)
            renamed = ((names.get(x, x), names.get(y, y)) for x, y in faces)
            faces = frozenset((x, y) for x, y in renamed if x is not None and y is not None)

    def _leasts(self) -> dict[Paths, int]:
        """What using each program costs at least: one sweep for each component of the smallest vertex there is on its side."""
        before, after = self._smallest(False), self._smallest(True)
        return {
            node: min(before[edge.source] * edge.tangent, after[edge.target] * edge.adjoint)
            for node, edge in self.programs.items()
        }

    def _smallest(self, down: bool) -> list[int]:
        """The smallest size of each vertex and all before it (or after it)."""
        found = list(self.sizes)
        for _ in self.sizes:
            for edge in self.edges:
                u, v = (edge.source, edge.target) if down else (edge.target, edge.source)
                found[u] = min(found[u], found[v])
        return found

    def bound(self, state: State) -> int:
        """What is still to be paid at least: every program that is left is used, or its Jacobian accumulated."""
        return sum([self.least[node] for node, done in state[0] if not done])

    def accumulation(self, edge: Edge) -> tuple[int, str]:
        tangent, adjoint = self.sizes[edge.source] * edge.tangent, self.sizes[edge.target] * edge.adjoint
        return (tangent, "tangents") if tangent <= adjoint else (adjoint, "adjoints")

    def steps(self, state: State) -> list[tuple[int, str, State]]:
        """What can be done next: its cost, in words, and the state after it."""
        nodes, faces = state
        done = dict(nodes)
        found = []
        for node, accumulated in nodes:
            edge = self.programs.get(node)
            if not accumulated and edge is not None:
                cost, how = self.accumulation(edge)
                after = self._normal(nodes - {(node, False)} | {(node, True)}, faces)
                found.append((cost, f"accumulate {edge.source} -> {edge.target} by {how}", after))
        for a, c in faces:
            way = self._way(a, c, done)
            if way is not None:
                found.append((*way, self._eliminated(state, a, c)))
        return found

    def _way(self, a: Paths, c: Paths, done: dict[Paths, bool]) -> tuple[int, str] | None:
        """The cheapest way to the product at a face, if there is one."""
        (i, j), (_, k) = self.ends(a), self.ends(c)
        first, second = self.programs.get(a), self.programs.get(c)
        ways = []
        if done[a] and done[c]:
            ways.append((self.sizes[i] * self.sizes[j] * self.sizes[k], "products"))
        if done[a] and second is not None:
            ways.append((self.sizes[i] * second.tangent, "tangents"))
        if done[c] and first is not None:
            ways.append((self.sizes[k] * first.adjoint, "adjoints"))
        if not ways:
            return None
        cost, how = min(ways)
        return cost, f"{i} -> {j} -> {k} by {how}"

    def _eliminated(self, state: State, a: Paths, c: Paths) -> State:
        nodes, faces = state
        before = frozenset(x for x, y in faces if y == a)
        after = frozenset(y for x, y in faces if x == c)
        product: Paths = frozenset(p + q for p in a for q in c)
        faces = faces - {(a, c)} | {(x, product) for x in before} | {(product, y) for y in after}
        return self._normal(nodes | {(product, True)}, faces)


def matrix_free(faces: Faces, work: Work, most: int) -> MatrixFreeResult:
    """The cheapest accumulation without elemental Jacobians; `most` is what some known way costs, kept where nothing is found."""
    start = faces.start
    reached: dict[State, int] = {start: 0}
    came: dict[State, tuple[State, str]] = {}
    count = 0
    heap: list[tuple[int, int, State]] = [(faces.bound(start), count, start)]
    while heap:
        estimate, _, state = heapq.heappop(heap)
        if estimate >= most:
            return MatrixFreeResult(most, True, ())
        spent = reached[state]
        if estimate > spent + faces.bound(state):
            continue
        if not state[1] and all(done for _, done in state[0]):
            return MatrixFreeResult(spent, True, _back(came, state))
        for cost, words, after in faces.steps(state):
            work.left -= 1
            if spent + cost < reached.get(after, most + 1):
                reached[after] = spent + cost
                came[after] = (state, words)
                count += 1
                heapq.heappush(heap, (spent + cost + faces.bound(after), count, after))
        if work.spent:
            return MatrixFreeResult(most, False, ())
    return MatrixFreeResult(most, False, ())


def _back(came: dict[State, tuple[State, str]], state: State) -> tuple[str, ...]:
    steps = []
    while state in came:
        state, words = came[state]
        steps.append(words)
    return tuple(reversed(steps))
