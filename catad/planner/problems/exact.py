"""Exact elimination of a few vertices: dynamic programming over connected sets.

The least cost f of eliminating a connected set C, everything else staying: some v in C goes last, and costs what is reached
from it through the rest of C; before that, the parts that C without v falls into do not influence each other. So

    f(C) = min over v in C of cost(v, C without v) + the sum of f over the parts of C without v

and only connected sets are ever looked at: of a path of n vertices n^2 / 2, not 2^n. Branches are cut by a bound below what
each vertex costs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from catad.planner.heuristics import Work
from catad.planner.problems.parts import connected

Sets = Sequence[int] | Mapping[int, int]


class Exact:
    """The search for one graph; sets that are solved once stay solved.

    `floor` has what each vertex costs at least; with `late`, of two choices that cost the same the later one is taken.
    """

    def __init__(
        self,
        preds: Sets,
        succs: Sets,
        sizes: Sequence[int],
        total: Callable[[int], int],
        floor: Sequence[int],
        work: Work,
        late: bool = False,
    ) -> None:
        self.preds, self.succs, self.sizes, self.total, self.floor, self.work = preds, succs, sizes, total, floor, work
        self.late = late
        self.solved: dict[int, tuple[int, int, list[int]]] = {}  # a set -> its cost, its last vertex, the parts before
        self.least: dict[int, int] = {}  # a set -> a bound below its cost
        self.around = {v: preds[v] | succs[v] for v in (preds if isinstance(preds, Mapping) else range(len(preds)))}

    def bound(self, inside: int) -> int:
        """A bound below the cost of a set."""
        known = self.least.get(inside)
        if known is None:
            known = self.least[inside] = self._floors(inside)
        return known

    def _floors(self, inside: int) -> int:
        floor, total = self.floor, 0
        while inside:
            low = inside & -inside
            total += floor[low.bit_length() - 1]
            inside ^= low
        return total

    def cost(self, inside: int, most: int) -> int:
        """The least cost of a connected set where that is below `most`; else some bound, at least `most`."""
        known = self.solved.get(inside)
        if known is not None:
            return known[0]
        if inside & (inside - 1) == 0:
            v = inside.bit_length() - 1
            value = self.sizes[v] * self.total(self.preds[v]) * self.total(self.succs[v])
            self.solved[inside] = value, v, []
            return value
        if self.bound(inside) >= most:
            return self.least[inside]
        best, chosen = most, None
        for value, v, rest in self._lasts(inside, most):
            if value >= best:
                break
            parts = connected(self.around, rest)
            for part in parts:
                value += self.bound(part) - self._floors(part)
            for part in parts:
                if value >= best:
                    break
                low = self.least[part]
                value += self.cost(part, best - value + low) - low
            if value < best:
                best, chosen = value, (v, parts)
        if chosen is None:
            self.least[inside] = most
            return most
        self.solved[inside] = (best, *chosen)
        return best

    def _lasts(self, inside: int, most: int) -> list[tuple[int, int, int]]:
        """The vertices that may go last, with a bound below the cost of the set then, cheapest first."""
        preds, succs, total, floor = self.preds, self.succs, self.total, self.floor
        least = self._floors(inside)
        found = []
        x = inside
        while x:
            low = x & -x
            x ^= low
            v = low.bit_length() - 1
            rest = inside ^ low
            before, done = preds[v], 0
            todo = before & rest
            while todo:
                low = todo & -todo
                done |= low
                before |= preds[low.bit_length() - 1]
                todo = before & rest & ~done
            after, done = succs[v], 0
            todo = after & rest
            while todo:
                low = todo & -todo
                done |= low
                after |= succs[low.bit_length() - 1]
                todo = after & rest & ~done
            value = least - floor[v] + self.sizes[v] * total(before & ~rest) * total(after & ~rest)
            if value < most:
                found.append((value, -v if self.late else v, rest))
        self.work.spend(1.5 * inside.bit_count())
        found.sort()
        return [(value, abs(v), rest) for value, v, rest in found]

    def order(self, inside: int) -> dict[int, int]:
        """The cheapest order of a connected set that is solved: its vertices with what each costs."""
        found: list[tuple[int, int]] = []
        stack = [inside]
        while stack:
            value, v, parts = self.solved[stack.pop()]
            found.append((v, value - sum([self.solved[part][0] for part in parts])))
            stack += parts
        return dict(reversed(found))
