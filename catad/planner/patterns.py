"""Where the entries of a map can be, in closed form, and how many colours that takes.

A `Pattern` says, axis by axis, how far the positions of result and argument may lie apart: entry (r, c) can differ from zero
only where `low <= r - c <= high` on each axis. An axis with `low = high = 0` is tied (a diagonal), one with a narrow range is a
band, one whose range takes in everything is full. Columns that no row sees together have one colour and are pushed together:
on an axis `high - low + 1` colours suffice, one for each remainder of the position (A. Curtis, M. Powell, J. Reid, On the
estimation of sparse Jacobian matrices, 1974); the colours of several axes multiply. So a diagonal takes 1, a band l + u + 1, a
block-diagonal map with blocks of b columns takes b. Patterns multiply by adding ranges and add by their hull, so those of
products are known before anything is multiplied.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from catad.linear.block import Block, Chain, Sum, Zero
from catad.linear.delta import Delta
from catad.linear.matrix_free import Batched
from catad.linear.network import Network
from catad.linear.recurrence import Recurrence, independent
from catad.linear.reindex import Axis, Reindex
from catad.linear.structure import Structure
from catad.linear.sweep import SweepMap


class Range(NamedTuple):
    """On one axis: the sizes of argument and result, and the least and the largest `r - c` of an entry."""

    n_in: int
    n_out: int
    low: int
    high: int

    @property
    def colours(self) -> int:
        """How many columns of one row can differ from zero."""
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
        """How many columns, pushed together, determine the map."""
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


@lru_cache(maxsize=65536)
def grid_of(structure: Structure) -> Grid:
    """The patterns of a map, leaf by leaf."""
    if isinstance(structure, Zero):
        return tuple([(None,) * len(structure.dom)] * len(structure.cod))
    if isinstance(structure, Chain):
        return chained([part for part, _ in structure.parts])
    if isinstance(structure, Sum):
        grids = [grid_of(part) for part, _ in structure.parts]
        lines = [zip(*rows, strict=True) for rows in zip(*grids, strict=True)]
        return tuple([tuple([_union(entries) for entries in line]) for line in lines])
    if isinstance(structure, Block):
        return _of_block(structure)
    if isinstance(structure, Network):
        return grid_of(structure.stages)
    if isinstance(structure, SweepMap):
        return _of_loop(structure)
    if isinstance(structure, Recurrence):
        return _of_recurrence(structure)
    if len(structure.dom) != 1 or len(structure.cod) != 1 or structure.dom[0].ndim != structure.cod[0].ndim:
        return tuple([(UNKNOWN,) * len(structure.dom)] * len(structure.cod))
    if isinstance(structure, Delta):
        return ((_of_delta(structure),),)
    if isinstance(structure, Reindex):
        return ((Pattern(tuple([_of_move(axis) for axis in structure.axes])),),)
    if isinstance(structure, Batched):
        return ((_of_batched(structure),),)
    return ((UNKNOWN,),)


def chained(structures: Sequence[Structure]) -> Grid:
    """The patterns of a product, the first factor applied first."""
    whole = grid_of(structures[0])
    for structure in structures[1:]:
        whole = _product(whole, grid_of(structure))
    return whole


def _product(first: Grid, second: Grid) -> Grid:
    columns = range(len(first[0]) if first else 0)
    return tuple([tuple([_union(_through(first[k][c], e) for k, e in enumerate(line)) for c in columns]) for line in second])


def _through(first: Entry, second: Entry) -> Entry:
    if first is None or second is None:
        return None
    if isinstance(first, Unknown) or isinstance(second, Unknown) or len(first.axes) != len(second.axes):
        return UNKNOWN
    return Pattern(tuple([_then(a, c) for a, c in zip(first.axes, second.axes, strict=True)]))


def _union(entries: Iterable[Entry]) -> Entry:
    whole: Entry = None
    for entry in entries:
        if entry is None or whole is None:
            whole = entry if whole is None else whole
        elif isinstance(entry, Unknown) or isinstance(whole, Unknown):
            return UNKNOWN
        else:
            whole = Pattern(tuple([_hull(a, c) for a, c in zip(whole.axes, entry.axes, strict=True)]))
    return whole


def _of_block(block: Block) -> Grid:
    columns, rows = block.widths or ((1,) * len(block.dom), (1,) * len(block.cod))
    out: list[tuple[Entry, ...]] = []
    for line, height in zip(block.grid, rows, strict=True):
        cells = [grid_of(part[0]) if part else ((None,) * w,) * height for part, w in zip(line, columns, strict=True)]
        out += [tuple([entry for cell in cells for entry in cell[r]]) for r in range(height)]
    return tuple(out)


LONGEST = 64  # steps of a loop whose pattern is followed


def _of_loop(loop: SweepMap) -> Grid:
    """A loop that only hands a state on: a power of its step. With inputs or outputs at each step nothing is said."""
    unknown: Grid = tuple([(UNKNOWN,) * len(loop.dom)] * len(loop.cod))
    if len(loop.dom) > loop.states or len(loop.cod) > loop.states:
        return unknown
    step = grid_of(loop.step)
    whole = step
    for _ in range(min(loop.n, LONGEST) - 1):
        whole = _product(whole, step)
    return whole if 0 < loop.n <= LONGEST else unknown


def _of_delta(d: Delta) -> Pattern:
    """An axis is tied where the same label stands at its place on both sides."""
    axes = []
    for out, ins in zip(d.out, d.ins, strict=True):
        n_in, n_out = d.sizes[ins], d.sizes[out]
        axes.append(Range(n_in, n_out, 0, 0) if out == ins else full(n_in, n_out))
    return Pattern(tuple(axes))


def _of_move(ax: Axis) -> Range:
    """Positions `c + t k` of the result and `a + s k` of the argument."""
    if ax.m == 0:
        return Range(ax.n_in, ax.n_out, 0, 0)
    first, last = ax.c - ax.a, ax.c - ax.a + (ax.t - ax.s) * (ax.m - 1)
    return Range(ax.n_in, ax.n_out, min(first, last), max(first, last))


def _of_recurrence(r: Recurrence) -> Grid:
    """All earlier steps (all later ones, backwards), of the components that are coupled; carried axes stay apart."""
    axes = [Range(n, n, 0, 0) for n in r.states[0].shape]
    n = axes[r.axis].n_in
    axes[r.axis] = Range(n, n, 1 - n, 0) if r.reverse else Range(n, n, 0, n - 1)
    reached = Pattern(tuple(axes))
    group: dict[int, int] = {}
    for number, (_, _, copies) in enumerate(independent(r.grid)):
        for k, own in enumerate(copies):
            group.update(dict.fromkeys(own, number * len(r.states) + k))
    d = range(len(r.states))
    return tuple([tuple([reached if group[row] == group[c] else None for c in d]) for row in d])


def _of_batched(d: Batched) -> Entry:
    """A block for each index of the new axis."""
    (part,) = grid_of(d.part)[0]
    if not isinstance(part, Pattern):
        sizes = zip(d.part.dom[0].shape, d.part.cod[0].shape, strict=True)
        part = Pattern(tuple([full(n_in, n_out) for n_in, n_out in sizes]))
    return Pattern((Range(d.count, d.count, 0, 0), *part.axes))
