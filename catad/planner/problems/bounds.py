"""A lower bound on the cost of all orders, by minimum vertex cuts for each vertex.

When v is eliminated, its predecessors separate it from the inputs and outputs before it, which all stay. So their sizes add
up to at least a minimum cut by vertices, and likewise after it; by Menger's theorem the cut is a maximum flow through
vertices whose capacity is their size. size(v) * cut before * cut after is what v costs at least.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from catad.planner.graph import members
from catad.planner.heuristics import Work
from catad.planner.problems.parts import Part

STEP, WIDE = 0.3, 3e-4  # work for one step of a search for a path, and more for each vertex that a set has room for


def bounds(part: Part, work: Work) -> list[int]:
    """The least cost of each inner vertex of a part; once the work is spent, no cut is looked for any more."""
    before = [members(x) for x in part.preds]
    after = [members(x) for x in part.succs]
    found = []
    for v in range(part.m):
        least = part.sizes[v]
        for adjacent, sets in ((before, part.preds), (after, part.succs)):
            if not work.spent:
                least *= Cut(adjacent, sets, v, part, work).value()
        found.append(least)
    return found


State = tuple[int, bool]  # a vertex, and whether the flow has passed through it


class Cut:
    """The minimum vertex cut between v and the ends on one side, as a maximum flow."""

    def __init__(self, adjacent: list[list[int]], sets: Sequence[int], v: int, part: Part, work: Work) -> None:
        self.adjacent, self.sets, self.v, self.sizes, self.m, self.work = adjacent, sets, v, part.sizes, part.m, work
        self.through: dict[int, int] = {}  # the flow through a vertex
        self.along: dict[int, dict[int, int]] = {}  # the flow into u, by the vertex it comes from on the side of v

    def value(self) -> int:
        """The size of the cut: what flows when no more can."""
        near = [self.sizes[u] for u in self.adjacent[self.v]]
        most, value = sum(near), 0
        if most == 1:
            return 1
        while value < most:
            path = self._augmenting()
            if path is None:
                break
            value += self._augment(path)
        return value

    def _augmenting(self) -> list[State] | None:
        """A shortest path from v to an end on which more can flow."""
        sizes, through, m, sets = self.sizes, self.through, self.m, self.sets
        step = STEP + WIDE * m
        start: State = (self.v, True)
        came: dict[State, State] = {start: start}
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
