"""Affine maps of states, s to A s + b, as elements of a monoid: what the steps of a recurrence do to the state, composed.

An element has the entries of A that are not 0 or 1 by structure in all products of links, and then b, for each copy. With
resets the first number of an element tells that the state is forgotten, and then A means nothing.

Products of links may leave the range of floats although no state does. So there are maps in a longer range, too: an integer k
stands before the entries of A, which count 2**k times as much, and the largest of these is from 1/2 to 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from catad import scalar
from catad.category.boxes import box
from catad.category.spaces import Tensor
from catad.category.terms import D
from catad.chunks.rules.table import WHOLE
from catad.linear.families.recurrence import ONE, ZERO, Grid
from catad.scalar import Function, Node, apply, const, param
from catad.support.lru import remembered
from catad.vector.folds.monoid import Monoid
from catad.vector.folds.shortcut import Formula, Read, Shortcut

_ADD = Monoid(Function.make(2, [apply("add", param(0), param(1))], None, (None, None)), (0.0,), None)
_SAME = Function.make(1, [param(0)])


@box
class OrLonger(Shortcut):
    """(the arguments of a term, a number, 0 where that is finite) to that number; or else to what the term says."""

    term: D
    own_arity: int
    helpers = 2
    condition = "number"

    @property
    def arity(self) -> int:
        return self.own_arity + 2

    @property
    def decomposition(self) -> D:
        return self.term

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return ins[-2:-1]

    def formula(self, ins: tuple[Tensor, ...]) -> Formula | None:
        shape = ins[-2].shape
        return Formula(_SAME, (Read(len(ins) - 2, tuple(range(len(shape)))),), shape)


WHOLE[OrLonger] = "it is a part of plans"


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

    def after(
        self, second: Sequence[Node], first: Sequence[Node], scaled: Callable[[Node], Node] = lambda node: node
    ) -> list[Node]:
        """The map that does what one does and then what another does; `scaled` makes its links of the numbers of the second."""
        d = range(len(self.grid))
        made = []
        for r, c in self.entries:
            there = [k for k in d if self.grid[r][k] != ZERO and self.grid[k][c] != ZERO]
            made.append(_sum([(self.link(r, k, second), self.link(k, c, first)) for k in there]))
        moved = [scaled(node) for node in self.applied(second, first[self.first :])]
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


def wider(maps: Maps) -> Maps:
    """The same maps with a number for each entry that is not 0 by structure, as they are in a longer range."""
    numbers = iter(range(len(maps.grid) ** 2))
    grid = tuple([tuple([e if e == ZERO else next(numbers) for e in row]) for row in maps.grid])
    return Maps(grid, maps.copies, maps.reset)


def normal(k: Node, links: Sequence[Node]) -> list[Node]:
    """Entries with their power of 2, such that the largest one is from 1/2 to 1."""
    most = apply("abs", links[0])
    for node in links[1:]:
        most = apply("maximum", most, apply("abs", node))
    power = apply("exponent", most)
    return [apply("add", k, power), *[apply("ldexp", node, apply("neg", power)) for node in links]]


@remembered
def long_composition(maps: Maps, reverse: bool) -> Monoid:
    """The monoid of `composition` in a longer range, of `wider` maps: k stands after the truth value of a reset."""
    at, w = int(maps.reset), maps.width + 1
    left, right = [param(k) for k in range(w)], [param(w + k) for k in range(w)]
    second, first = (left, right) if reverse else (right, left)
    powers = second[at], first[at]
    second, first = ([*x[:at], *x[at + 1 :]] for x in (second, first))
    made = maps.after(second, first, lambda node: apply("ldexp", node, powers[0]))
    links = normal(apply("add", *powers), made[at : maps.first])
    outputs = [*made[:at], *links, *made[maps.first :]]
    ones = [float(r == c) for r, c in maps.entries]
    neutral = [*([False] if maps.reset else []), 0, *ones, *[0.0] * (maps.width - maps.first)]
    tree = (None,) * w
    op = Function.make(2 * w, outputs, tree, (tree, tree), "affine maps in a longer range, one after the other")
    return Monoid(op, tuple(neutral), tree, None, 0, _ADD)
