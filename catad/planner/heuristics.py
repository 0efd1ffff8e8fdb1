"""Cheap orders by heuristics: greedy ones and annealed ones, for whatever prices an order. Work is counted, not timed."""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any


class OutOfWork(Exception):
    """A search would take more work than it may."""


class Work:
    """Work that is counted, so that a budget buys the same plan on every machine."""

    def __init__(self, units: float) -> None:
        self.units = self.left = units
        self._lent: Work | None = None

    @property
    def remaining(self) -> float:
        """What is left, with what a step that goes on has of it."""
        lent = self._lent
        return max(0.0, self.left) + (0.0 if lent is None else lent.remaining)

    @property
    def done(self) -> float:
        """The share of the work that is spent."""
        return 1.0 - self.remaining / self.units if 0.0 < self.units < math.inf else 0.0

    @property
    def spent(self) -> bool:
        return self.left <= 0

    def spend(self, units: float) -> None:
        """Takes some work, or raises `OutOfWork` where less is left."""
        self.left -= units
        if self.left < 0:
            raise OutOfWork

    @contextmanager
    def lent(self, units: float) -> Iterator[Work]:
        """Some of the work, for a step that ends with it; what it leaves is taken back (or what it spent beyond is added)."""
        part = self._lent = Work(min(units, self.left))
        self.left -= part.left
        with suppress(OutOfWork):
            yield part
        self._lent = None
        self.left += part.left


def greedy_order(
    vertices: Iterable[int],
    key: Callable[[int], Any],
    take: Callable[[int], Iterable[int]],
    rng: random.Random | None = None,
    looks_far: bool = False,
) -> list[int]:
    """An order by a greedy rule: next is the vertex of the least key; `take` eliminates it and gives its neighbours.

    Ties go to the smallest number, or are drawn with `rng`. A key that looks further than its neighbours may grow unseen.
    """

    def entry(v: int) -> tuple[Any, float, int]:
        return key(v), rng.random() if rng else v, v

    heap = [entry(v) for v in vertices]
    current = {v: value for value, _, v in heap}
    heapq.heapify(heap)
    order = []
    while heap:
        value, _, v = heapq.heappop(heap)
        if current.get(v) != value:
            continue
        if looks_far and (now := key(v)) > value:
            current[v] = now
            heapq.heappush(heap, entry(v))
            continue
        del current[v]
        order.append(v)
        for u in take(v):
            if u in current and (made := entry(u))[0] != current[u]:
                current[u] = made[0]
                heapq.heappush(heap, made)
    return order


def anneal_order(
    price: Callable[[Sequence[int], float], float], order: Sequence[int], work: Work, rng: random.Random
) -> list[int]:
    """The best order found by moving one vertex at a time, accepting what is a little worse less and less often."""
    current = list(order)
    value = least = price(current, math.inf)
    best = current[:]
    start = work.left
    step = 1 + len(order) / 8
    while not work.spent and len(order) > 1:
        work.left -= step
        temperature = 0.02 * least / len(order) * max(work.left, 0) / start + 1e-9
        moved = current[:]
        moved.insert(rng.randrange(len(order)), moved.pop(rng.randrange(len(order))))
        worst = value - temperature * math.log(1 - rng.random())
        found = price(moved, worst)
        if found <= worst:
            current, value = moved, found
            if value < least:
                least, best = value, current[:]
    return best
