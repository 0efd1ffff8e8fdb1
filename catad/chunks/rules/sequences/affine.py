"""Affine maps of states, s to A s + b, as elements of a monoid: what the steps of a recurrence do to the state, composed.

An element has the entries of A that are not 0 or 1 by structure in all products of links, and then b, for each copy. With
resets the first number of an element tells that the state is forgotten, and then A means nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from catad import scalar
from catad.linear.families.recurrence import ONE, ZERO, Grid
from catad.scalar import Function, Node, apply, const, param
from catad.support.lru import remembered
from catad.vector.folds.monoid import Monoid

_ADD = Monoid(Function.make(2, [apply("add", param(0), param(1))], None, (None, None)), (0.0,), None)


@remembered
def closed(grid: Grid) -> Grid:
    """Which entries of products of links, also of none, are 0 or 1 by structure; the others are numbered."""
    d = range(len(grid))
    unknown = 0
    pattern = [[(e if e == (ONE if r == c else ZERO) else unknown) for c, e in enumerate(row)] for r, row in enumerate(grid)]
    while True:
        wider = [[_entry(pattern, r, c) if pattern[r][c] < 0 else unknown for c in d] for r in d]
        if wider == pattern:
            break
        pattern = wider
    numbers = iter(range(len(grid) ** 2))
    return tuple([tuple([e if e < 0 else next(numbers) for e in row]) for row in pattern])


def _entry(pattern: Sequence[Sequence[int]], r: int, c: int) -> int:
    """What an entry of the square of a pattern is, if that is what it is in the pattern; 0 where it is not."""
    terms = [(pattern[r][k], pattern[k][c]) for k in range(len(pattern)) if ZERO not in (pattern[r][k], pattern[k][c])]
    found = ZERO if not terms else ONE if terms == [(ONE, ONE)] else 0
    return found if found == pattern[r][c] else 0


class Maps(NamedTuple):
    """The affine maps that belong to a recurrence: the entries of their links, how many states run on them, and resets."""

    grid: Grid
    copies: int
    reset: bool

    @property
    def entries(self) -> tuple[tuple[int, int], ...]:
        """Row and column of each number of A."""
        return tuple([(r, c) for r, row in enumerate(self.grid) for c, e in enumerate(row) if e >= 0])

    @property
    def first(self) -> int:
        """Where b begins."""
        return int(self.reset) + len(self.entries)

    @property
    def width(self) -> int:
        return self.first + len(self.grid) * self.copies

    def link(self, r: int, c: int, numbers: Sequence[Node]) -> Node:
        """An entry of A of an element."""
        e = self.grid[r][c]
        return numbers[int(self.reset) + e] if e >= 0 else const(1.0 if e == ONE else 0.0)

    def applied(self, numbers: Sequence[Node], states: Sequence[Node]) -> list[Node]:
        """A times some states, those of one copy after the other."""
        d = len(self.grid)
        return [
            _sum([(self.link(r, c, numbers), states[k * d + c]) for c in range(d) if self.grid[r][c] != ZERO])
            for k in range(self.copies)
            for r in range(d)
        ]

    def after(self, second: Sequence[Node], first: Sequence[Node]) -> list[Node]:
        """The map that does what one does and then what another does."""
        d = range(len(self.grid))
        made = []
        for r, c in self.entries:
            there = [k for k in d if self.grid[r][k] != ZERO and self.grid[k][c] != ZERO]
            made.append(_sum([(self.link(r, k, second), self.link(k, c, first)) for k in there]))
        moved = self.applied(second, first[self.first :])
        total = [apply("add", a, own) for a, own in zip(moved, second[self.first :], strict=True)]
        if not self.reset:
            return [*made, *total]
        forgets = second[0]
        total = [apply("select", forgets, own, a) for a, own in zip(total, second[self.first :], strict=True)]
        return [apply("or", first[0], forgets), *made, *total]


def _sum(terms: Sequence[tuple[Node, Node]]) -> Node:
    total = None
    for a, b in terms:
        term = b if scalar.constant(a) == 1 else a if scalar.constant(b) == 1 else apply("mul", a, b)
        total = term if total is None else apply("add", total, term)
    return const(0.0) if total is None else total


@remembered
def composition(maps: Maps, reverse: bool) -> Monoid:
    """The monoid of affine maps, of which the first one acts first, or the last one if `reverse`."""
    w = maps.width
    left, right = [param(k) for k in range(w)], [param(w + k) for k in range(w)]
    outputs = maps.after(left, right) if reverse else maps.after(right, left)
    neutral = [*([False] if maps.reset else []), *[float(r == c) for r, c in maps.entries], *[0.0] * (w - maps.first)]
    tree = None if w == 1 else (None,) * w
    op = Function.make(2 * w, outputs, tree, (tree, tree), "affine maps, one after the other")
    return Monoid(op, tuple(neutral), tree, None, 0, _ADD)
