"""Minimum vertex cuts, as maximum flows, and the bound that they give on the cost of all orders.

The flow passes through vertices, whose capacities are their sizes; edges carry any amount. By Menger's theorem the flow is the
least size of vertices that separate one vertex from the ends. When v is eliminated, its predecessors separate it from the inputs
and outputs before it, which all stay, and likewise after it: size(v) * cut before * cut after is what v costs at least.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from catad.planner.graph import members
from catad.planner.heuristics import Work
from catad.planner.problems.parts import Part

STEP, WIDE = 0.3, 3e-4  # work for one step of a search for a path, and more for each vertex that a set has room for

State = tuple[int, bool]  # a vertex, and whether the flow has passed through it


class MinCut:
    """The minimum vertex cut between v and the ends on one side, as a maximum flow (Edmonds and Karp, 1972).

    `sets` are the neighbours of each vertex on that side, as sets of bits, `sizes` the capacities, whole numbers. Vertices from m
    on are ends. Each search for a path is paid from `work`.
    """

    def __init__(self, sets: Sequence[int], v: int, sizes: Sequence[int], m: int, work: Work) -> None:
        self.sets, self.v, self.sizes, self.m, self.work = sets, v, sizes, m, work
        self.through: dict[int, int] = {}  # the flow through a vertex
        self.along: dict[int, dict[int, int]] = {}  # the flow into u, by the vertex it comes from on the side of v

    def value(self) -> int:
        """The size of the cut: what flows when no more can."""
        most, value = sum([self.sizes[u] for u in members(self.sets[self.v])]), 0
        if most == 1:
            return 1
        while value < most:
            path = self._augmenting({})
            if path is None:
                break
            value += self._augment(path)
        return value

    def vertices(self) -> list[int] | None:
        """The vertices of the minimum cut that is nearest to v; None where the work does not suffice to find it."""
        while not self.work.spent:
            came: dict[State, State] = {}
            path = self._augmenting(came)
            if path is None:
                return [u for u, passed in came if not passed and (u, True) not in came]
            self._augment(path)
        return None

    def _augmenting(self, came: dict[State, State]) -> list[State] | None:
        """A shortest path from v to an end on which more can flow. `came` gets what the search reaches, and from where."""
        sizes, through, m, sets = self.sizes, self.through, self.m, self.sets
        step = STEP + WIDE * m
        start: State = (self.v, True)
        came[start] = start
        entered = 0  # the vertices that were reached from the side of v
        queue = [start]
        for state in queue:
            self.work.left -= step
            u, passed = state
            if passed:
                new = sets[u] & ~entered
                entered |= new
                if new >> m:
                    for w in members(new >> m):
                        if through.get(w + m, 0) < sizes[w + m]:
                            return [*_back(came, state), (w + m, False), (w + m, True)]
                for w in members(new):
                    came[w, False] = state
                    queue.append((w, False))
                if through.get(u) and not entered >> u & 1:
                    entered |= 1 << u
                    came[u, False] = state
                    queue.append((u, False))
                continue
            flow = through.get(u, 0)
            if flow:
                for w, amount in self.along[u].items():
                    if amount and w != self.v and (w, True) not in came:
                        came[w, True] = state
                        queue.append((w, True))
            if flow < sizes[u] and (u, True) not in came:
                came[u, True] = state
                queue.append((u, True))
        return None

    def _augment(self, path: list[State]) -> int:
        """Send as much as fits along a path; returns the amount."""
        sizes, through, along = self.sizes, self.through, self.along
        fits = []
        for (u, _), (w, now) in pairwise(path):
            if u == w:
                fits.append(sizes[u] - through.get(u, 0) if now else through[u])
            elif now:
                fits.append(along[u][w])
        amount = min(fits)
        for (u, was), (w, now) in pairwise(path):
            if u == w:
                through[u] = through.get(u, 0) + (amount if now else -amount)
            elif was:
                into = along.setdefault(w, {})
                into[u] = into.get(u, 0) + amount
            else:
                along[u][w] -= amount
        return amount


def _back(came: dict[State, State], state: State) -> list[State]:
    path = [state]
    while came[state] != state:
        state = came[state]
        path.append(state)
    return path[::-1]


def bounds(part: Part, work: Work) -> list[int]:
    """The least cost of each inner vertex of a part; once the work is spent, no cut is looked for any more."""
    found = []
    for v in range(part.m):
        least = part.sizes[v]
        for sets in (part.preds, part.succs):
            if not work.spent:
                least *= MinCut(sets, v, part.sizes, part.m, work).value()
        found.append(least)
    return found
