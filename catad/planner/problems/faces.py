"""Matrix-free elimination of a small vector graph: face elimination, exactly, by best-first search.

Every edge (i, j) has a program for one tangent (cost t) and one adjoint (cost a), and no Jacobian. Work goes on in the line
graph, whose nodes are the edges and whose faces are pairs of edges that meet. A step eliminates a face between nodes (i, j) and
(j, k): their product is added to the node (i, k) with the same faces. It costs

    size_i size_j size_k    by a product of both,
    size_i t                by tangents of the second, the first being accumulated,
    size_k a                by adjoints of the first, the second being accumulated,

and accumulating a node costs the less of size_i t and size_j a. A node without faces on one side drops out, unless an end is
there. Eliminating faces contains eliminating edges and vertices. (U. Naumann, Optimal accumulation of Jacobian matrices by
elimination methods on the dual computational graph, 2004; the same for matrix-free vector graphs: ADMission, 2021.)
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import NamedTuple

from catad.planner.heuristics import Work


class Edge(NamedTuple):
    """An edge and what one tangent and one adjoint through it cost; without a program it has its Jacobian from the start."""

    source: int
    target: int
    tangent: int
    adjoint: int
    program: bool = True


class State(NamedTuple):
    """The nodes of the line graph that are accumulated, those that are not, and the faces; nodes by number."""

    done: frozenset[int]
    open: frozenset[int]
    faces: frozenset[tuple[int, int]]


class MatrixFreeResult(NamedTuple):
    """The least cost that was found, and whether it is known to be the least."""

    cost: int
    optimal: bool


class Faces:
    """Face elimination on one graph. A node stands for a sum over paths, and is numbered when it is first met."""

    def __init__(self, sizes: Sequence[int], edges: Sequence[Edge], ends: int) -> None:
        self.sizes, self.ends = sizes, ends
        self.paths: list[frozenset[tuple[int, ...]]] = []
        self.numbers: dict[frozenset[tuple[int, ...]], int] = {}
        self.source: list[int] = []
        self.target: list[int] = []
        for k, edge in enumerate(edges):
            self._node(frozenset([(k,)]), edge.source, edge.target)
        self.programs = {k: edge for k, edge in enumerate(edges) if edge.program}
        self.least = self._leasts(edges)
        nodes = range(len(edges))
        state = State(
            frozenset(k for k in nodes if k not in self.programs),
            frozenset(self.programs),
            frozenset(
                (a, c) for a in nodes for c in nodes if self.target[a] == self.source[c] and not ends >> self.target[a] & 1
            ),
        )
        state = self._normal(state)
        self.start, self.paid = self._finished(state)

    def _node(self, paths: frozenset[tuple[int, ...]], source: int, target: int) -> int:
        number = self.numbers.get(paths)
        if number is None:
            number = self.numbers[paths] = len(self.paths)
            self.paths.append(paths)
            self.source.append(source)
            self.target.append(target)
        return number

    def _finished(self, state: State) -> tuple[State, int]:
        """The state with every node between two ends accumulated, and the cost of that: there is no other way for them."""
        paid = 0
        for node in sorted(state.open):
            if self.ends >> self.source[node] & 1 and self.ends >> self.target[node] & 1:
                paid += self.accumulation(self.programs[node])
                state = state._replace(done=state.done | {node}, open=state.open - {node})
        return state, paid

    def _normal(self, state: State) -> State:
        """The state without nodes that lead nowhere or come from nowhere; accumulated nodes of equal ends and faces are one."""
        source, target, ends = self.source, self.target, self.ends
        while True:
            before: dict[int, set[int]] = {}
            after: dict[int, set[int]] = {}
            for a, c in state.faces:
                after.setdefault(a, set()).add(c)
                before.setdefault(c, set()).add(a)
            lost = {
                node
                for node in state.done | state.open
                if not (node in before or ends >> source[node] & 1) or not (node in after or ends >> target[node] & 1)
            }
            if lost:
                kept = frozenset((a, c) for a, c in state.faces if a not in lost and c not in lost)
                state = State(state.done - lost, state.open - lost, kept)
                continue
            same: dict[tuple[int, int], list[int]] = {}
            for node in state.done:
                same.setdefault((source[node], target[node]), []).append(node)
            pair = next(
                (
                    (x, y)
                    for nodes in same.values()
                    for k, x in enumerate(nodes)
                    for y in nodes[:k]
                    if before.get(x) == before.get(y) and after.get(x) == after.get(y)
                ),
                None,
            )
            if pair is None:
                return state
            x, y = pair
            one = self._node(self.paths[x] | self.paths[y], source[x], target[x])
            renamed = frozenset((one if a in pair else a, one if c in pair else c) for a, c in state.faces)
            state = State(state.done - set(pair) | {one}, state.open, renamed)

    def _leasts(self, edges: Sequence[Edge]) -> dict[int, int]:
        """The least cost of using each program: one sweep for each component of the smallest vertex there is on its side."""
        before, after = list(self.sizes), list(self.sizes)
        for _ in self.sizes:
            for edge in edges:
                before[edge.target] = min(before[edge.target], before[edge.source])
                after[edge.source] = min(after[edge.source], after[edge.target])
        return {
            k: min(before[edge.source] * edge.tangent, after[edge.target] * edge.adjoint)
            for k, edge in self.programs.items()
        }

    def bound(self, state: State) -> int:
        """The least cost that is left: every program that is left is used, or its Jacobian accumulated."""
        return sum([self.least[node] for node in state.open])

    def accumulation(self, edge: Edge) -> int:
        """The cost of accumulating an edge, by tangents or by adjoints."""
        return min(self.sizes[edge.source] * edge.tangent, self.sizes[edge.target] * edge.adjoint)

    def steps(self, state: State) -> list[tuple[int, State]]:
        """The steps that can be done next: for each its cost and the state after it."""
        found = []
        for a, c in sorted(state.faces):
            first, second = self.programs.get(a), self.programs.get(c)
            needs = [frozenset([a, c])]
            needs += [frozenset([a])] if second is not None else []
            needs += [frozenset([c])] if first is not None else []
            for need in {need & state.open for need in needs}:
                found.append(self._step(state, a, c, need))
        return found

    def _step(self, state: State, a: int, c: int, need: frozenset[int]) -> tuple[int, State]:
        """Accumulate some of the two nodes of a face, then eliminate it in the cheapest way there is then."""
        cost = sum([self.accumulation(self.programs[node]) for node in need])
        if need:
            state = self._normal(state._replace(done=state.done | need, open=state.open - need))
            if (a, c) not in state.faces:  # one of them is part of a sum now, which is a state of its own
                return cost, state
        i, j, k = self.source[a], self.target[a], self.target[c]
        first, second = self.programs.get(a), self.programs.get(c)
        ways = []
        if a in state.done and c in state.done:
            ways.append(self.sizes[i] * self.sizes[j] * self.sizes[k])  # by a product
        if a in state.done and second is not None:
            ways.append(self.sizes[i] * second.tangent)
        if c in state.done and first is not None:
            ways.append(self.sizes[k] * first.adjoint)
        return cost + min(ways), self._eliminated(state, a, c)

    def _eliminated(self, state: State, a: int, c: int) -> State:
        product = self._node(frozenset(p + q for p in self.paths[a] for q in self.paths[c]), self.source[a], self.target[c])
        faces = {face for face in state.faces if face != (a, c)}
        faces |= {(x, product) for x, y in state.faces if y == a} | {(product, y) for x, y in state.faces if x == c}
        return self._normal(State(state.done | {product}, state.open, frozenset(faces)))


def matrix_free(faces: Faces, work: Work, most: int) -> MatrixFreeResult:
    """The cheapest accumulation without elemental Jacobians; `most` is what some known way costs.

    Best-first search, exact if the work suffices; else what a search through the most promising states only has found.
    """
    with work.lent(work.left / 3) as beam:
        for width in WIDTHS:
            most = _through_few(faces, beam, most, width)
    start = faces.start
    reached: dict[State, int] = {start: faces.paid}
    count = 0
    heap: list[tuple[int, int, State]] = [(faces.paid + faces.bound(start), count, start)]
    while heap and not work.spent:
        estimate, _, state = heapq.heappop(heap)
        if estimate >= most:
            heap = []
            break
        spent = reached[state]
        if estimate > spent + faces.bound(state):
            continue
        if not state.faces:
            return MatrixFreeResult(spent, True)
        for cost, after in faces.steps(state):
            work.left -= 1
            now = spent + cost
            if now < reached.get(after, most) and now + faces.bound(after) < most:
                reached[after] = now
                count += 1
                heapq.heappush(heap, (now + faces.bound(after), count, after))
    return MatrixFreeResult(most, not heap)


WIDTHS = (1, 5, 25)  # states that are followed at a time


def _through_few(faces: Faces, work: Work, most: int, width: int) -> int:
    """The cost of the cheapest way through the most promising states of each step, where that is below `most`."""
    level: dict[State, int] = {faces.start: faces.paid}
    while level and not work.spent:
        below: dict[State, int] = {}
        for state, spent in level.items():
            if not state.faces:
                most = min(most, spent)
                continue
            for cost, after in faces.steps(state):
                work.left -= 1
                now = spent + cost
                if now + faces.bound(after) < most and now < below.get(after, most):
                    below[after] = now
        ranked = sorted(below.items(), key=lambda item: item[1] + faces.bound(item[0]))
        level = dict(ranked[:width])
    return most
