"""In which order the unknowns of a map are eliminated, and what the factors are made of: known from its structure alone.

    many small groups of unknowns that nothing connects    a stack of small dense matrices
    few diagonals                                          a band
    few diagonals in another order                         a band, rows and columns in the order of E. Cuthill and J. McKee,
                                                           *Reducing the bandwidth of sparse symmetric matrices*, 1969, reversed
    few unknowns, or as many numbers as the array has      a dense matrix

The places of entries are those of `static_places`. The entries are read from the images of few vectors: columns of one colour
are pushed through the map together, as in `linear/matrix/compressed.py`. All arrays follow from the structure, and are kept.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from catad.linear.matrix.entries import Crowded
from catad.linear.matrix.sparsity import Places, colours_of, most_in_a_row, static_places
from catad.linear.solving.general import SMALL, is_narrow
from catad.linear.structure import Structure
from catad.support.lru import Recent
from catad.values.arrays import Array

MOST = 1 << 21  # places that are looked at
HELD = 1 << 25  # numbers of factors beyond which no band is made
AS_IT_IS = 16  # diagonals of a band up to which no other order is looked for
COLOURED = 1 << 16  # places up to which columns are coloured one after the other
FILLED = 2  # a stack has at most so many times as many rows as there are unknowns


class Order(NamedTuple):
    """How the array that is factorised follows from the images of the colours.

    `at`, of shape (*stack, m), has the unknown at each place and as many as there are unknowns where there is none; `place` has
    the place of each unknown in the flattened `at`; both are None where the unknowns stay as they are. `colours` has the colour
    of each unknown, of `vectors` colours; `read` has the position in the flattened images (vectors, n) of each number of the
    array, and their size where there is none. Where the map is a diagonal, `kind` is "diagonal" and nothing else is said.
    """

    kind: str
    at: Array | None = None
    place: Array | None = None
    colours: Array | None = None
    vectors: int = 0
    read: Array | None = None

    @property
    def nbytes(self) -> int:
        """The memory of the arrays."""
        return sum([array.nbytes for array in self if isinstance(array, np.ndarray)])


_UNORDERED = Order("")
_kept: Recent[Structure, Order] = Recent(64)


def order_of(structure: Structure) -> Order | None:
    """The order of a square map that is not empty; None where its factors are not made of its entries."""
    found = _kept.get(structure)
    if found is None:
        found = _kept[structure] = _order(structure) or _UNORDERED
        _kept.hold(found.nbytes)
    return found if found.kind else None


def _order(structure: Structure) -> Order | None:
    n = structure.rows
    try:
        places = static_places(structure, min(MOST, n * n))
    except Crowded:
        return _band_of_bounds(structure) or _dense(structure, None)
    if not len(places):
        return None
    widths = _widths(places)
    if widths == (0, 0):
        return Order("diagonal")
    natural = widths if is_narrow(structure, *widths) else None
    if natural is not None and sum(widths) < AS_IT_IS:
        return _stack(n, places, sum(widths) + 1) or _band(n, places, widths, None)
    turned, found = _reordered(n, places)
    other = found if is_narrow(structure, *found) and (natural is None or 2 * sum(found) < sum(natural)) else None
    best = other or natural
    made = _stack(n, places, n if best is None else sum(best) + 1)
    if made is None and best is not None:
        made = _band(n, places, best, None if other is None else turned)
    return made or _dense(structure, places)


def _widths(places: Places) -> tuple[int, int]:
    """The numbers of diagonals below and above the main one."""
    apart = places.rows.astype(np.int64) - places.columns
    return max(0, int(apart.max(initial=0))), max(0, int(-apart.min(initial=0)))


def _band_of_bounds(structure: Structure) -> Order | None:
    """The band that the structure bounds, of a map whose places are not written out."""
    n = structure.rows
    lower, upper = [max(0, width) for width in structure.bandwidths]
    if not structure.slots or not is_narrow(structure, lower, upper) or (2 * lower + upper + 1) * n > HELD:
        return None
    colours = np.arange(n) % (lower + upper + 1)
    return _read_band(n, lower, upper, colours, None, None)


# -- orders


def _graph(n: int, places: Places) -> object:
    """What connects two unknowns, as a symmetric sparse matrix."""
    from scipy.sparse import csr_matrix

    rows, columns = np.concatenate([places.rows, places.columns]), np.concatenate([places.columns, places.rows])
    return csr_matrix((np.ones(len(rows), np.int8), (rows, columns)), shape=(n, n))


def _reordered(n: int, places: Places) -> tuple[Array, tuple[int, int]]:
    """The unknowns in the order of Cuthill and McKee, reversed, and the diagonals in that order."""
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    at = np.asarray(reverse_cuthill_mckee(_graph(n, places), symmetric_mode=True)).astype(np.int64)
    place = _inverse(at)
    return at, _widths(Places(place[places.rows], place[places.columns]))


def _inverse(at: Array) -> Array:
    place = np.empty_like(at)
    place[at] = np.arange(len(at))
    return place


def _stack(n: int, places: Places, width: int) -> Order | None:
    """Groups that nothing connects, where they have no more unknowns than a band has diagonals, padded to the largest."""
    if most_in_a_row(places.rows) > width or n < 2:
        return None
    from scipy.sparse.csgraph import connected_components

    count, group = connected_components(_graph(n, places), directed=False)
    sizes = np.bincount(group)
    m = int(sizes.max())
    if count < 2 or m > width or m * count > FILLED * n:
        return None
    members = np.argsort(group, kind="stable")
    within = np.arange(n) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    place = np.empty(n, np.int64)
    place[members] = group[members] * m + within
    at = np.full(count * m, n)
    at[place] = np.arange(n)
    read = np.full(count * m * m, -1)
    number = place % m
    colours = number
    read[place[places.rows] * m + number[places.columns]] = number[places.columns] * n + places.rows
    return _order_of("general", at.reshape(count, m), place, colours, m, read.reshape(count, m, m), n)


def _order_of(
    kind: str, at: Array | None, place: Array | None, colours: Array, count: int, read: Array, n: int
) -> Order:
    """An order with arrays as narrow as its numbers allow."""
    size = count * n
    small = np.dtype(np.int32 if max(size, read.size) < 1 << 31 else np.int64)
    read = np.where(read < 0, size, read).astype(small)
    first, second = [None if one is None else one.astype(small) for one in (at, place)]
    return Order(kind, first, second, colours.astype(np.int32), count, read)


# -- bands


def _band(n: int, places: Places, widths: tuple[int, int], at: Array | None) -> Order | None:
    """A band with so many diagonals in an order of the unknowns."""
    lower, upper = widths
    if (2 * lower + upper + 1) * n > HELD:
        return None
    place = np.arange(n) if at is None else _inverse(at)
    moved = Places(place[places.rows], place[places.columns])
    return _read_band(n, lower, upper, _colours(n, moved, lower + upper + 1), moved, at)


def _colours(n: int, places: Places, width: int) -> Array:
    """The colours of the columns at their places: as few as the fullest row allows, else as many as there are diagonals."""
    if most_in_a_row(places.rows) < width and len(places) <= COLOURED:
        found = colours_of(places.rows, places.columns, n)
        if found is not None and int(found.max()) + 1 < width:
            return found
    return np.arange(n) % width


def _read_band(n: int, lower: int, upper: int, colours: Array, places: Places | None, at: Array | None) -> Order:
    """Entry [i, j] of the band stands in row i of the image of the colour of j; without places, all of the band is read."""
    width = lower + upper + 1
    read = np.full((width, n), -1)
    if places is None:
        j = np.arange(n)
        i = j + np.arange(-upper, lower + 1)[:, None]
        read = np.where((i >= 0) & (i < n), colours * n + i, -1)
    else:
        i, j = places.rows, places.columns
        read[upper + i - j, j] = colours[j] * n + (i if at is None else at[i])
    place = None if at is None else _inverse(at)
    own = colours if place is None else colours[place]
    kind = "tridiagonal" if lower == upper == 1 and n >= 3 else f"band {lower} {upper}"
    return _order_of(kind, at, place, own, int(colours.max()) + 1, read, n)


# -- dense matrices


def _dense(structure: Structure, places: Places | None) -> Order | None:
    """All entries; those of columns of one colour are read together where places are known and colours are few."""
    n = structure.rows
    if n > SMALL and 2 * structure.stored < n * n:
        return None
    own = type(structure).solver is not Structure.solver and structure.pieces is None and structure.graph is None
    if own:  # the family has a better way
        return None
    if places is None or 2 * most_in_a_row(places.rows) > n or len(places) > COLOURED:
        return Order("general")
    colours = colours_of(places.rows, places.columns, n)
    if colours is None or 2 * int(colours.max()) > n:
        return Order("general")
    read = np.full((n, n), -1)
    read[places.rows, places.columns] = colours[places.columns] * n + places.rows
    return _order_of("general", None, None, colours, int(colours.max()) + 1, read, n)


def stacked_size(order: Order, n: int) -> tuple[int, ...]:
    """The shape of the unknowns at their places."""
    return (n,) if order.at is None else order.at.shape


def has_gaps(order: Order, n: int) -> bool:
    """True where some places have no unknown."""
    return order.at is not None and math.prod(order.at.shape) > n
