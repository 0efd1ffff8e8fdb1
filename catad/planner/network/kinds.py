"""Edges as numbers of kinds: partial products that differ in nothing but which arrays they hold are one kind.

So the product of two kinds is looked at once, however many orders are compared. An array that stands in several edges of the
program is known by its number in all of them; that two products compute the same is not seen, and only counted when a plan is
laid out. `Priced` adds up what an order costs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import count
from typing import NamedTuple

from catad.planner.chains.factors import Joined, Part, State, held, join, lazy, weight, write_out
from catad.planner.costs.cost import Model, value_of
from catad.planner.heuristics import Work
from catad.planner.network.eliminate import Side, gathered
from catad.planner.network.linear_graph import LinearGraph
from catad.planner.network.sums import plus

NEW = 40.0  # work for a product of kinds that were not met before, one of kinds that were being 1
TERMS = 8.0  # and for each pair of the plain maps that they are made of
MOST_TERMS = 400  # plain maps in one edge; an order that makes more is no use


class Made(NamedTuple):
    """The result of kinds that are multiplied or added: a kind (below zero: zero), its cost, and the bytes needed meanwhile."""

    kind: int
    cost: float
    extra: int


class Kinds:
    """The kinds of edges of a graph, their products and sums, looked at when they are asked for."""

    def __init__(self, graph: LinearGraph, model: Model, work: Work) -> None:
        self.graph, self.model, self.work = graph, model, work
        met: dict[int, int] = {}
        for edge in graph.edges:
            for k in {k for part in edge.state for k in part.ids}:
                met[k] = met.get(k, 0) + 1
        self.shared = {k for k, times in met.items() if times > 1}
        self.base = len(graph.slots)  # numbers from here on are arrays of one edge
        self.states: list[State] = []
        self.held: list[int] = []
        self.lazy: list[bool] = []
        self.weight: list[int] = []
        self.stored: list[int] = []
        self.number: dict[State, int] = {}
        self.products: dict[tuple[int, int], Made] = {}
        self.sums: dict[tuple[int, int], Made] = {}
        self.written: dict[tuple[int, str], Made] = {}
        self.edges = [(edge.source, edge.target, self.kind(edge.state)) for edge in graph.edges]
        self.plain = not self.shared and not any(self.lazy)  # whether the costs of products add up: no two compute the same

    def kind(self, state: State) -> int:
        """The number of the kind of a partial product."""
        names: dict[int, int] = {}
        canonical = tuple([Part(s, tuple([self._name(names, k) for k in ids])) for s, ids in state])
        found = self.number.get(canonical)
        if found is None:
            found = self.number[canonical] = len(self.states)
            self.states.append(canonical)
            self.held.append(held(canonical))
            self.lazy.append(lazy(canonical))
            self.weight.append(weight(canonical))
            self.stored.append(sum([part.structure.stored for part in canonical]))
        return found

    def _name(self, names: dict[int, int], k: int) -> int:
        """Slots of several edges keep their numbers; other arrays get numbers by first use: computed ones below zero."""
        if 0 <= k < self.base and k in self.shared:
            return k
        if k not in names:
            used = sum([(other < 0) == (k < 0) for other in names])
            names[k] = -1 - used if k < 0 else self.base + used
        return names[k]

    def _operands(self, first: int, second: int) -> tuple[State, State, Iterator[int]]:
        """Two kinds as states, the second with other numbers than the first, and numbers for what is computed of them."""
        self.work.spend(NEW + TERMS * self.weight[first] * self.weight[second])
        one = self.states[first]
        low = min([k for part in one for k in part.ids if k < 0], default=0)
        high = 1 + max([k for part in one for k in part.ids if k >= self.base], default=self.base - 1) - self.base
        two = tuple(
            [
                Part(s, tuple([k + low if k < 0 else k + high if k >= self.base else k for k in ids]))
                for s, ids in self.states[second]
            ]
        )
        return one, two, count(min([low, *[k for part in two for k in part.ids if k < 0]]) - 1, -1)

    def product(self, first: int, second: int) -> Made:
        """The product of two kinds."""
        found = self.products.get((first, second))
        if found is None:
            one, two, fresh = self._operands(first, second)
            joined = join(one, two, fresh)
            passes = any(action.found.results and max(action.found.results) >= 0 for action in joined.actions)
            if not joined.actions or (passes and any(part.ids for part in one) and any(part.ids for part in two)):
                self.plain = False  # an array of a factor goes on as it is: it may meet the same array again
            found = self.products[first, second] = self._made(joined, self.held[first] + self.held[second])
        return found

    def sum(self, first: int, second: int) -> Made:
        """The sum of two kinds."""
        found = self.sums.get((first, second))
        if found is None:
            joined = plus(*self._operands(first, second))
            found = self.sums[first, second] = self._made(joined, self.held[first] + self.held[second])
        return found

    def write(self, edge: int, how: str) -> Made:
        """A kind written out."""
        found = self.written.get((edge, how))
        if found is None:
            one, _, fresh = self._operands(edge, edge)
            joined = write_out(one, how == "pull", fresh)
            found = self.written[edge, how] = self._made(joined, self.held[edge])
        return found

    def cheaper_way(self, edge: int) -> str:
        """The way to write a kind out that costs less: "push" or "pull"."""
        return "push" if self.write(edge, "push").cost <= self.write(edge, "pull").cost else "pull"

    def _made(self, joined: Joined, operands: int) -> Made:
        cost = value_of(joined.actions, self.model)
        if any(part.structure.is_zero for part in joined.state):
            return Made(-1, cost, joined.peak - operands)
        kind = self.kind(joined.state)
        return Made(kind, cost if self.weight[kind] <= MOST_TERMS else math.inf, joined.peak - operands)

    def stored_by(self, edges: Iterable[int]) -> int:
        """The numbers that some edges hold, arrays of several edges counted once."""
        total, shared = 0, set[int]()
        for edge in edges:
            own = {k: slot.size for part in self.states[edge] for k, slot in zip(part.ids, part.structure.slots, strict=True)}
            total += sum([size for k, size in own.items() if k not in shared])
            shared |= own.keys() & self.shared
        return total

    def begun(self) -> tuple[Side[int], Side[int], Priced]:
        """The edges of the graph, parallel ones added, and what that costs."""
        priced = Priced(self)
        return *gathered(len(self.graph.spaces), self.edges, priced), priced


class Priced:
    """Edges are kinds: what is multiplied and added costs, and how many bytes are alive at most, no array being in two edges."""

    def __init__(self, kinds: Kinds, value: float = 0.0, alive: int = 0, peak: int = 0) -> None:
        self.kinds, self.value, self.alive, self.peak = kinds, value, alive, peak

    def copy(self) -> Priced:
        return Priced(self.kinds, self.value, self.alive, self.peak)

    def multiply(self, first: int, second: int) -> int | None:
        kinds = self.kinds
        kinds.work.left -= 1
        made = kinds.products.get((first, second)) or kinds.product(first, second)
        return self._gathered(made)

    def add(self, first: int, second: int) -> int | None:
        found = self._gathered(self.kinds.sum(first, second))
        self.alive -= self.kinds.held[first] + self.kinds.held[second]
        return found

    def write(self, edge: int, how: str) -> int | None:
        if not self.kinds.lazy[edge]:
            return edge
        found = self._gathered(self.kinds.write(edge, how))
        self.alive -= self.kinds.held[edge]
        return found

    def release(self, edge: int) -> None:
        self.alive -= self.kinds.held[edge]

    def _gathered(self, made: Made) -> int | None:
        """The result so far; None where it is zero."""
        self.value += made.cost
        self.peak = max(self.peak, self.alive + made.extra)
        if made.kind < 0:
            return None
        self.alive += self.kinds.held[made.kind]
        return made.kind
