"""The places where entries of a map can differ from zero, one by one, and colours of its columns.

`linear/matrix/patterns.py` has patterns in closed form, which say little of a gather or of a map of several arrays. Here the
places are written out, from the structure and from the numbers in its slots that are no floats: indices, masks and conditions.
They are places of products and sums of matrices of ones, so no numbers cancel. Columns that no row sees together have one colour;
columns are coloured one after the other, each with the first colour that none of its rows has yet. (A. Gebremedhin, F. Manne and
A. Pothen, *What color is your Jacobian?*, 2005, section 3.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from catad.linear.matrix.entries import Crowded, starts
from catad.linear.matrix.patterns import Pattern, Range, full, pattern_of
from catad.linear.structure import Placed, Structure, of_part
from catad.values.arrays import Array

MOST = 1 << 21  # places that are written out
ONE_BY_ONE = 1 << 19  # places of a map whose columns are coloured one after the other


class Places(NamedTuple):
    """Rows and columns on flattened vectors, by rows and then by columns, each place once."""

    rows: Array
    columns: Array

    def __len__(self) -> int:
        return len(self.rows)


def places_of(structure: Structure, slots: Sequence[Array], most: int = MOST) -> Places:
    """Where entries of a map with these numbers can differ from zero; `slots` are NumPy's.

    Raises `Crowded` where the map or one of its parts has more places than `most`.

    >>> import catad as ct, numpy as np
    >>> J = ct.jacobian(ct.stencil(lambda a, b: a * b, (-1, 1)))(np.ones(3))
    >>> found = places_of(J.structure, J.slots)
    >>> [(int(r), int(c)) for r, c in zip(found.rows, found.columns)]
    [(0, 1), (1, 0), (1, 2), (2, 1)]
    """
    found = _sorted(_of(structure, slots, most), structure.columns)
    if len(found) > most:
        raise Crowded
    return found


class Unplaced(Crowded):
    """The places depend on indices in the slots."""


def static_places(structure: Structure, most: int = MOST) -> Places:
    """Where entries can differ from zero whatever the numbers of the map, its masks included.

    Raises `Unplaced` where that depends on indices, `Crowded` as `places_of` does.

    >>> import catad as ct, numpy as np
    >>> static_places(ct.jacobian(lambda x: np.where(x > 0, x, x[::-1]))(np.ones(2)).structure).rows
    array([0, 0, 1, 1])
    """
    slots = [np.ones(space.shape, space.dtype) if space.dtype == bool else None for space in structure.slots]
    found = _sorted(_of(structure, slots, most), structure.columns)
    if len(found) > most:
        raise Crowded
    return found


def fixing(structure: Structure) -> tuple[int, ...]:
    """The slots whose numbers the places depend on."""
    return tuple([k for k, space in enumerate(structure.slots) if not space.is_float])


def may_have_few(structure: Structure, most: int) -> bool:
    """True where a map has at most so many places if its indices are all different, as far as they can be."""
    slots = [np.arange(space.size).reshape(space.shape).astype(space.dtype) for space in structure.slots]
    try:
        places_of(structure, slots, most)
    except Crowded:
        return False
    return True


def _of(structure: Structure, slots: Sequence[Array | None], most: int) -> Places:
    if structure.is_zero or not structure.rows or not structure.columns:
        return _none()
    structure = structure.stages
    series, terms, (grid, columns, rows) = structure.series, structure.terms, structure.blocks
    if series[0][0] is not structure:
        found = _of_part(series[0], slots, most)
        for part in series[1:]:
            found = _product(found, _of_part(part, slots, most), structure.columns, part[0].columns, most)
        return found
    if terms[0][0] is not structure:
        return _sorted(_joined([_of_part(part, slots, most) for part in terms], most), structure.columns)
    if grid[0][0] is None or grid[0][0][0] is not structure:
        across, down = starts(structure.dom, columns), starts(structure.cod, rows)
        cells = [
            (_of_part(part, slots, most), row, column)
            for line, row in zip(grid, down, strict=True)
            for part, column in zip(line, across, strict=True)
            if part is not None
        ]
        return _joined([Places(own.rows + row, own.columns + column) for own, row, column in cells], most)
    return _of_family(structure, slots, most)


def _of_part(part: Placed, slots: Sequence[Array | None], most: int) -> Places:
    return _sorted(_of(part[0], of_part(slots, part), most), part[0].columns)


def _of_family(structure: Structure, slots: Sequence[Array | None], most: int) -> Places:
    """The entries that a family names with ones in its slots; else its pattern; else all places. No array stands for any one."""
    count = structure.entry_count
    if count is not None:
        if count > most:
            raise Crowded
        pairs = zip(structure.slots, slots, strict=True)
        ones = [np.ones(space.shape, space.dtype) if space.is_float else array for space, array in pairs]
        if any(array is None for array in ones):
            if structure.is_diagonal:
                return Places(np.arange(structure.rows), np.arange(structure.rows))
            raise Unplaced
        rows, columns, _ = structure.entries(np, ones)
        return Places(np.asarray(rows), np.asarray(columns))
    pattern = pattern_of(structure)
    return _of_pattern(pattern or Pattern((full(structure.columns, structure.rows),)), most)


def _of_pattern(pattern: Pattern, most: int) -> Places:
    """All places of a pattern: those of its axes, combined."""
    made = [_of_axis(axis, most) for axis in pattern.axes]
    if math.prod([len(one) for one in made]) > most:
        raise Crowded
    rows = columns = np.zeros(1, np.int64)
    for axis, one in zip(pattern.axes, made, strict=True):
        rows = (rows[:, None] * axis.n_out + one.rows).reshape(-1)
        columns = (columns[:, None] * axis.n_in + one.columns).reshape(-1)
    return Places(rows, columns)


def _of_axis(axis: Range, most: int) -> Places:
    at = np.arange(axis.n_in)
    first = np.maximum(0, at + axis.low)
    counts = np.maximum(0, np.minimum(axis.n_out - 1, at + axis.high) - first + 1)
    if counts.sum() > most:
        raise Crowded
    return Places(_counted(first, counts), np.repeat(at, counts))


def _counted(first: Array, counts: Array) -> Array:
    """`first[k], first[k] + 1, ...`, so many as `counts[k]`, one k after the other."""
    ends = np.cumsum(counts)
    return np.arange(int(ends[-1]) if len(ends) else 0) + np.repeat(first - (ends - counts), counts)


def _none() -> Places:
    return Places(np.zeros(0, np.int64), np.zeros(0, np.int64))


def _joined(parts: Sequence[Places], most: int) -> Places:
    if sum(map(len, parts)) > 4 * most:
        raise Crowded
    return Places(*map(np.concatenate, zip(*parts, strict=True))) if parts else _none()


def _sorted(found: Places, columns: int) -> Places:
    """The places by rows and then by columns, each once."""
    key = found.rows.astype(np.int64) * columns + found.columns
    if len(key) > 1 and not (key[1:] > key[:-1]).all():
        return Places(*np.divmod(_once(key), columns))
    return found


def _once(numbers: Array) -> Array:
    """The numbers in order, each once. (NumPy's `unique` puts them into a table first, which takes ten times as long.)"""
    ordered = np.sort(numbers)
    return ordered[np.concatenate([[True], ordered[1:] != ordered[:-1]])] if len(ordered) else ordered


def _product(first: Places, second: Places, columns: int, middle: int, most: int) -> Places:
    """First one and then the other; `middle` is the number of the rows of the first."""
    ends = np.searchsorted(first.rows, np.arange(middle + 1))
    counts = (ends[1:] - ends[:-1])[second.columns]
    if counts.sum() > 4 * most:
        raise Crowded
    read = _counted(ends[second.columns], counts)
    found = _sorted(Places(np.repeat(second.rows, counts), first.columns[read]), columns)
    if len(found) > most:
        raise Crowded
    return found


# -- colours


def most_in_a_row(rows: Array) -> int:
    """The number of places in the fullest row: no fewer colours suffice for the columns."""
    return int(np.bincount(rows).max()) if len(rows) else 0


def colours_of(rows: Array, columns: Array, count: int) -> Array | None:
    """A colour for each of `count` columns, so that no row has two places of one colour; None where that takes too long.

    >>> colours_of(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 2]), 3)
    array([0, 1, 0])
    """
    width = most_in_a_row(rows)
    if not width:
        return np.zeros(count, np.int64)
    in_turn = np.arange(count) % width  # right for a band and for blocks
    if len(_once(rows * width + in_turn[columns])) == len(rows):
        return in_turn
    return _greedy(rows, columns, count) if len(rows) <= ONE_BY_ONE else None


def _greedy(rows: Array, columns: Array, count: int) -> Array:
    """Each column takes the first colour that no column before it has in one of its rows."""
    order = np.argsort(columns, kind="stable")
    seen = rows[order].tolist()
    ends = np.searchsorted(columns[order], np.arange(count + 1)).tolist()
    taken = [0] * (max(seen) + 1)  # a bit for each colour of a row
    colours = [0] * count
    for column in range(count):
        own = seen[ends[column] : ends[column + 1]]
        union = 0
        for row in own:
            union |= taken[row]
        free = ~union & (union + 1)
        colours[column] = free.bit_length() - 1
        for row in own:
            taken[row] |= free
    return np.array(colours)
