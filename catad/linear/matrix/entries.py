"""Entries of the matrix of a linear map: rows, columns and values on flattened vectors, a diagonal, a band.

Each family answers by `Structure.entries` and `Structure.diagonal`; this module has the parts that several of them use.
Probing reads the entries of all other maps. In a matrix with `lower` diagonals below the main one and `upper` above it, one
vector of ones and zeros reads every column whose number is the same modulo `lower + upper + 1`, since no row has entries in
two of them. (A. Curtis, M. Powell and J. Reid, *On the estimation of sparse Jacobian matrices*, 1974.)
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from catad import upward
from catad.category.boxes import Primitive
from catad.category.spaces import Tensor
from catad.linear.matrix.columns import BLOCK, block_size, common_dtype, images, put_together, taken_apart
from catad.linear.matrix.segment_sums import segment_sums
from catad.linear.structure import Structure
from catad.values.arrays import Array

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire


class Entries(NamedTuple):
    """Positions and values; values of one position add up, and positions that are not named are zero."""

    rows: Array
    columns: Array
    values: Array


class Span(NamedTuple):
    """A diagonal: how many entries it has, and the row and the column of the first."""

    length: int
    row: int
    column: int


def span(rows: int, columns: int, k: int) -> Span:
    """The entries `[i, i + k]` of a matrix."""
    row, column = max(0, -k), max(0, k)
    return Span(max(0, min(rows - row, columns - column)), row, column)


# -- entries


def of_moves(structure: Structure, xp: Any, slots: Sequence[Array]) -> Entries:
    """The entries of a map that only moves numbers: one in each row that reads something."""
    source = sources(structure, xp, slots)
    rows = xp.flatnonzero(source)
    return Entries(rows, source[rows].astype(np.int64) - 1, xp.ones(len(rows), dtype=structure.cod[0].dtype))


def sources(structure: Structure, xp: Any, slots: Sequence[Array]) -> Array:
    """The entry of the argument, counted from 1, that each entry of the result is; 0 for none. Exact below 2**53."""
    wide = np.dtype(np.float64)
    named: dict[str, Any] = {f.name: getattr(structure, f.name) for f in fields(structure)}  # type: ignore[arg-type]
    types: dict[str, Any] = {name: wide for name in named if name in ("dtype", "src_dtype", "dst_dtype")}
    types |= {name: Tensor(space.shape, wide) for name, space in named.items() if isinstance(space, Tensor)}
    number = xp.arange(1, structure.columns + 1, dtype=wide).reshape(structure.dom[0].shape)
    typed: Structure = replace(structure, **types)  # type: ignore[type-var]
    found: Array = xp.asarray(upward.run_structure(typed, xp, slots, [number])[0])
    return found.reshape(-1)


class Moves(Structure):
    """Base of families between two arrays that move numbers by one box: an entry of the result is a number moved there, or 0."""

    before: tuple[int, ...]
    after: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    @abstractmethod
    def box(self) -> Primitive:
        """What applies the map to (slots..., array)."""

    @cached_property
    def dom(self) -> tuple[Tensor, ...]:
        return (Tensor(self.before, self.dtype),)

    @cached_property
    def cod(self) -> tuple[Tensor, ...]:
        return (Tensor(self.after, self.dtype),)

    def apply(self, b: Builder, slots: Sequence[Wire], xs: Sequence[Wire | None]) -> list[Wire | None]:
        (x,) = xs
        return [None if x is None else b.add(self.box, *slots, x)[0]]

    is_light = True

    @property
    def entry_count(self) -> int:
        return self.nnz

    def entries(self, xp: Any, slots: Sequence[Any]) -> Entries:
        return of_moves(self, xp, slots)


class Crowded(Exception):
    """The entries of two factors meet in more pairs than are written out."""


def joined(xp: Any, first: Entries, second: Entries) -> Entries:
    """The entries of a product, first one and then the other: all pairs that meet in the middle. Raises `Crowded`."""
    order = xp.argsort(first.rows, kind="stable")
    middle = first.rows[order]
    low = xp.searchsorted(middle, second.columns, side="left")
    counts = xp.searchsorted(middle, second.columns, side="right") - low
    ends = xp.cumsum(counts)
    pairs = int(ends[-1]) if len(ends) else 0
    if pairs > max(4 * BLOCK, 16 * (len(first.rows) + len(second.rows))):
        raise Crowded
    at = xp.arange(pairs)
    which = xp.searchsorted(ends, at, side="right")
    other = order[low[which] + at - (ends[which] - counts[which])]
    with np.errstate(all="ignore"):  # infinite partials, too, are those of the rule
        values = second.values[which] * first.values[other]
    return Entries(second.rows[which], first.columns[other], values)


def concatenated(xp: Any, parts: Sequence[tuple[Entries, int, int]]) -> Entries:
    """Entries of parts, each moved down and to the right."""
    if not parts:
        none = xp.zeros(0, dtype=np.int64)
        return Entries(none, none, xp.zeros(0, dtype=np.float64))
    columns = [(one.rows + row, one.columns + column, one.values) for one, row, column in parts]
    return Entries(*[xp.concatenate(group) for group in zip(*columns, strict=True)])


def added_counts(counts: Sequence[int | None]) -> int | None:
    """The number of entries of all parts, or None where a part does not know its number."""
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def of_array(structure: Structure, xp: Any, slots: Sequence[Array]) -> Entries:
    """The entries of a map that does not know them, from its array: those that are not zero."""
    matrix = matrix_of(structure, xp, slots, False)
    rows, columns = xp.nonzero(matrix)
    return Entries(rows, columns, matrix[rows, columns])


def matrix_of(structure: Structure, xp: Any, slots: Sequence[Array], force: bool) -> Array:
    """The matrix on flattened vectors as an array, as `todense` makes it."""
    from catad.linear.families.matrix_free import space_of_leaves
    from catad.linear.map import linear_map
    from catad.linear.matrix.as_matrix import todense

    linear = linear_map(space_of_leaves(structure.dom), space_of_leaves(structure.cod), structure, slots)
    matrix: Array = xp.asarray(todense(linear, force)).reshape(linear.shape)
    return matrix


# -- diagonals


def diagonal(structure: Structure, xp: Any, slots: Sequence[Array], k: int) -> Array:
    """A diagonal of any map: from its entries where it has few, else by probing."""
    count = structure.entry_count
    if count is not None and count <= max(BLOCK, 8 * (structure.rows + structure.columns + structure.stored)):
        try:
            return _from_entries(structure.entries(xp, slots), span(structure.rows, structure.columns, k), k, xp, structure)
        except Crowded:
            pass
    if structure.rows < structure.columns:
        return _probed(structure.T, xp, slots, -k)
    return _probed(structure, xp, slots, k)


def _from_entries(found: Entries, where: Span, k: int, xp: Any, structure: Structure) -> Array:
    at = xp.flatnonzero(found.columns - found.rows == k)
    values = found.values[at]
    dtype = common_dtype(structure.cod)
    if not len(at):
        return xp.zeros(where.length, dtype=dtype)
    order = xp.argsort(found.rows[at], kind="stable")
    rows, values = found.rows[at][order] - where.row, values[order]
    first = xp.flatnonzero(xp.concatenate([xp.ones(1, dtype=bool), rows[1:] != rows[:-1]]))
    out = xp.zeros(where.length, dtype=dtype)
    out[rows[first]] = segment_sums(xp, values, first)
    return out


def probes(structure: Structure, xp: Any, slots: Sequence[Array]) -> Iterator[tuple[int, Array]]:
    """The map applied to the sum of basis vectors c, c + width, c + 2 width, ... for each c below `width`, in blocks.

    A block is the first c and an array whose rows are flattened results; `width` is that of the band, or all columns. Blocks
    have one size, so that one program makes them all; the last begins within the one before it.
    """
    count, width = structure.columns, band_width(structure)
    size = max(1, min(block_size(structure), width))
    for at in range(0, width, size):
        first = min(at, width - size)
        chosen = xp.arange(count) % max(1, width) == (xp.arange(size) + first)[:, None]
        leaves = taken_apart(chosen.astype(common_dtype(structure.dom)), structure.dom)
        yield first, put_together(xp, images(structure, xp, slots, leaves, size), structure.cod, size)


def band_width(structure: Structure) -> int:
    """The number of diagonals of the band of a map, and no more than its columns; at least 1."""
    lower, upper = structure.bandwidths
    return max(1, min(structure.columns, lower + upper + 1))


def _probed(structure: Structure, xp: Any, slots: Sequence[Array], k: int) -> Array:
    where, width = span(structure.rows, structure.columns, k), band_width(structure)
    lower, upper = structure.bandwidths
    out = xp.zeros(where.length, dtype=common_dtype(structure.cod))
    if not -lower <= k <= upper or not where.length:
        return out
    at = xp.arange(where.length)
    color = (at + where.column) % width
    for first, block in probes(structure, xp, slots):
        own = at[(color >= first) & (color < first + len(block))]
        out[own] = block[color[own] - first, own + where.row]
    return out


# -- where the leaves of a product stand


def starts(leaves: Sequence[Tensor], widths: Sequence[int]) -> list[int]:
    """The number of the first entry of each group of leaves in a flattened vector; a group has so many leaves."""
    ends = np.cumsum([0, *[leaf.size for leaf in leaves]])
    return [int(ends[at]) for at in np.cumsum([0, *widths])[:-1]]


def offset_band(bandwidths: tuple[int, int], row: int, column: int) -> tuple[int, int]:
    """The bandwidths of a part that stands at a row and a column."""
    return bandwidths[0] + row - column, bandwidths[1] + column - row
