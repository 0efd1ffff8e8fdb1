"""The places where the entries of a map can be, in closed form, and the number of colours that they take.

A `Pattern` says, axis by axis, how far the positions of result and argument may lie apart: entry (r, c) can differ from zero
only where `low <= r - c <= high` on each axis. An axis with `low = high = 0` is tied (a diagonal), one with a narrow range is a
band, one whose range takes in everything is full. Columns that no row sees together have one colour and are pushed together:
on an axis `high - low + 1` colours suffice, one for each remainder of the position (A. Curtis, M. Powell, J. Reid, On the
estimation of sparse Jacobian matrices, 1974); the colours of several axes multiply. So a diagonal takes 1, a band l + u + 1, a
block-diagonal map with blocks of b columns takes b. Patterns multiply by adding ranges and add by their hull, so those of
products are known before anything is multiplied. Each family says its own (`Structure.patterns`); this file has their algebra.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from catad.support.lru import remembered

if TYPE_CHECKING:
    from catad.linear.structure import Structure


class Range(NamedTuple):
    """The pattern on one axis: the sizes of argument and result, and the least and the largest `r - c` of an entry."""

    n_in: int
    n_out: int
    low: int
    high: int

    @property
    def colours(self) -> int:
        """The number of columns of one row that can differ from zero."""
        return min(self.n_in, max(0, self.high - self.low + 1))

    @property
    def is_full(self) -> bool:
        return self.colours == self.n_in

    @property
    def T(self) -> Range:
        return Range(self.n_out, self.n_in, -self.high, -self.low)


class Pattern(NamedTuple):
    """A range for each axis; argument and result have equally many."""

    axes: tuple[Range, ...]

    @property
    def colours(self) -> int:
        """The number of vectors that determine the map when they are pushed through it."""
        return math.prod(axis.colours for axis in self.axes)

    @property
    def T(self) -> Pattern:
        return Pattern(tuple([axis.T for axis in self.axes]))

    @property
    def is_full(self) -> bool:
        return all(axis.is_full for axis in self.axes)


def full(n_in: int, n_out: int) -> Range:
    """An axis of which nothing is known."""
    return Range(n_in, n_out, 1 - n_in, n_out - 1)


def _clipped(n_in: int, n_out: int, low: int, high: int) -> Range:
    least, most = 1 - n_in, n_out - 1
    return Range(n_in, n_out, min(max(low, least), most), max(min(high, most), least))


def _then(first: Range, second: Range) -> Range:
    """First one, then the other: what one column reaches, or what one row sees, all of where either is full."""
    if first.is_full or second.is_full or first.T.is_full or second.T.is_full:
        return full(first.n_in, second.n_out)
    return _clipped(first.n_in, second.n_out, first.low + second.low, first.high + second.high)


def _hull(a: Range, c: Range) -> Range:
    return Range(a.n_in, a.n_out, min(a.low, c.low), max(a.high, c.high))


class Unknown:
    """Stands where no closed form is known."""


UNKNOWN = Unknown()
Entry = Pattern | Unknown | None  # None: zero
Grid = tuple[tuple[Entry, ...], ...]  # a row for each leaf of the result, a column for each of the argument


def pattern_of(structure: Structure) -> Pattern | None:
    """The pattern of a map between two tensors of one rank; None where no closed form is known.

    >>> import catad as ct, numpy as np
    >>> pattern_of(ct.jacobian(ct.stencil(lambda a, b: a * b, (-1, 1)))(np.zeros(9)).structure).colours
    3
    """
    grid = grid_of(structure)
    if len(grid) != 1 or len(grid[0]) != 1:
        return None
    found = grid[0][0]
    return found if isinstance(found, Pattern) else None


@remembered
def grid_of(structure: Structure) -> Grid:
    """The patterns of a map, leaf by leaf."""
    return structure.patterns()


def chained(structures: Sequence[Structure]) -> Grid:
    """The patterns of a product, the first factor applied first."""
    whole = grid_of(structures[0])
    for structure in structures[1:]:
        whole = product(whole, grid_of(structure))
    return whole


def product(first: Grid, second: Grid) -> Grid:
    columns = range(len(first[0]) if first else 0)
    return tuple([tuple([union(_through(first[k][c], e) for k, e in enumerate(line)) for c in columns]) for line in second])


def _through(first: Entry, second: Entry) -> Entry:
    if first is None or second is None:
        return None
    if isinstance(first, Unknown) or isinstance(second, Unknown) or len(first.axes) != len(second.axes):
        return UNKNOWN
    return Pattern(tuple([_then(a, c) for a, c in zip(first.axes, second.axes, strict=True)]))


def union(entries: Iterable[Entry]) -> Entry:
    whole: Entry = None
    for entry in entries:
        if entry is None or whole is None:
            whole = entry if whole is None else whole
        elif isinstance(entry, Unknown) or isinstance(whole, Unknown):
            return UNKNOWN
        else:
            whole = Pattern(tuple([_hull(a, c) for a, c in zip(whole.axes, entry.axes, strict=True)]))
    return whole
