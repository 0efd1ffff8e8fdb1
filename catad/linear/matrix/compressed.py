"""The entries of a map by one kept program: columns of one colour are pushed together, or rows are pulled, part by part.

The program goes from the slots of a map to its entries in the order of a compressed sparse row matrix. A part is a block of the
map between two leaves, where it has such, else the map. From each leaf of the argument, a part is pushed through once for all
columns of one colour (or from each leaf of the result, it is pulled); a part that is nearly full is read off its array. Places
depend on integers in the slots, so a program is found by the structure and these. Where they are others at each call, and
where the places are too many, there is no program.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from catad import upward
from catad.category.constant import const
from catad.category.spaces import Product, Tensor
from catad.category.wiring import Builder, Wire
from catad.linear.families.gather import Gathered, rows_of
from catad.linear.matrix.entries import Crowded
from catad.linear.matrix.materialise import matrix_on, numbers_written, pushed_on, seeds_on, takes_rows
from catad.linear.matrix.sparsity import MOST, Places, colours_of, fixing, most_in_a_row, places_of
from catad.linear.structure import Structure, cast, widest
from catad.support.lru import Recent
from catad.values.arrays import Array

FULL = 4  # a part with a place in so many, or more, is read off its array
SMALL_PART = 1 << 10  # numbers in the array of a part up to which it is read off in any case
WRITTEN = 1 << 24  # numbers that applying a map to all colours may write; more are multiplied out first, or read from entries
TRIES = 8  # maps of one structure whose integers were others, before the places are looked for no more
KEPT = 4  # sets of integers whose programs are kept


class Compressed(NamedTuple):
    """The program of the entries, their places as `indptr` and `indices`, and their positions in the flattened array."""

    program: Any
    indptr: Array
    indices: Array
    flat: Array


def entries_by_colours(structure: Structure, slots: Sequence[Array], most: int = MOST) -> tuple[Compressed, Array] | None:
    """The entries of a map with NumPy's arrays in its slots; None where they are not found so.

    That is where places are more than `most` or others at each call, and where an entry is not finite: zeros times it would be
    NaN in other entries of its row.
    """
    kept = _kept.get(structure)
    if kept is None:
        kept = _kept[structure] = _Kept(structure)
    found = kept.at(slots, most)
    if found is None:
        return None
    values: Array = found.program(np, slots)[0]
    return (found, values) if _are_finite(values) else None


def _are_finite(values: Array) -> bool:
    with np.errstate(all="ignore"):
        return math.isfinite(values.sum()) or bool(np.isfinite(values).all())


class _Kept:
    """The programs of a structure, by the numbers of the slots that fix the places."""

    def __init__(self, structure: Structure) -> None:
        self.structure, self.fixing = structure, fixing(structure)
        self.made: list[_Made] = []
        self.tries = 0

    def at(self, slots: Sequence[Array], most: int) -> Compressed | None:
        given = [slots[k] for k in self.fixing]
        for one in self.made:
            if all(map(np.array_equal, one.numbers, given)) and (one.found is not None or most <= one.most):
                self.tries = 0
                return one.found if one.found is None or len(one.found.flat) <= most else None
        if self.tries >= TRIES:
            return None
        self.tries += 1
        try:
            found = _compressed(self.structure, slots, most)
        except Crowded:
            found = None
        made = _Made([a.copy() for a in given], most, found)
        self.made = [made, *self.made[: KEPT - 1]]
        _kept.hold(sum([a.nbytes for a in (*made.numbers, *(found or ())[1:])]))
        return found


_kept: Recent[Structure, _Kept] = Recent(16)


class _Made(NamedTuple):
    """What was found with numbers in the slots that fix the places, with at most so many places."""

    numbers: list[Array]
    most: int
    found: Compressed | None


# -- the program


class _Part(NamedTuple):
    """A part that is to be written out: where it stands, its slots, and which of all places are in it."""

    structure: Structure
    slots: tuple[int, ...]
    row: int
    column: int
    chosen: Array


def _compressed(structure: Structure, slots: Sequence[Array], most: int) -> Compressed | None:
    found = places_of(structure, slots, most)
    ways = []
    for part in _parts(structure, found):
        own = Places(found.rows[part.chosen] - part.row, found.columns[part.chosen] - part.column)
        way = _way(part.structure, own)
        if way is None:
            return None
        ways.append((part, own, way))
    if sum([way.written for _, _, way in ways]) > WRITTEN:
        return None
    b = Builder()
    wires = tuple([b.wire(space) for space in structure.slots])
    dtype = widest(*structure.dom, *structure.cod)
    made: list[Wire] = []
    index, start = np.zeros(len(found), np.int64), 0
    for part, own, way in ways:
        outs, at = _written(b, part.structure, [wires[k] for k in part.slots], own, way, dtype)
        index[part.chosen] = at + start
        made += outs
        start += sum([out.space.size for out in outs])
    values = _read(b, made, index, dtype)
    program = upward.Program(b.finish(Product(structure.slots), wires, (values,)))
    indptr = np.searchsorted(found.rows, np.arange(structure.rows + 1))
    kind = np.int32 if max(len(found), structure.columns) < 1 << 31 else np.int64
    flat = found.rows * structure.columns + found.columns
    return Compressed(program, indptr.astype(kind), found.columns.astype(kind), flat)


def _parts(structure: Structure, found: Places) -> list[_Part]:
    """The blocks between single leaves that have places, where the map has such; else the map."""
    structure = structure.stages if structure.stages.leafwise is not None else structure
    cells = structure.leafwise
    if cells is None:
        return [_Part(*structure.whole, 0, 0, np.arange(len(found)))] if len(found) else []
    across, down = _ends(structure.dom), _ends(structure.cod)
    line, column = [np.searchsorted(ends, at, side="right") - 1 for ends, at in ((down, found.rows), (across, found.columns))]
    parts = []
    for r, parts_of_line in enumerate(cells):
        for c, part in enumerate(parts_of_line):
            chosen = np.flatnonzero((line == r) & (column == c))
            if part is not None and len(chosen):
                parts.append(_Part(*part, int(down[r]), int(across[c]), chosen))
    return parts


class _Way(NamedTuple):
    """How a part is written out: None off its array; else by colours of its columns, or of its rows, leaf by leaf."""

    colours: list[Array] | None
    pull: bool
    written: int


def _way(structure: Structure, own: Places) -> _Way | None:
    """The cheaper way for one part; None where its columns and rows cannot be coloured in time."""
    size = structure.rows * structure.columns
    if size <= SMALL_PART or FULL * len(own) >= size:
        return _Way(None, False, size if structure.is_full else _by_basis(structure))
    forth, back = (structure.dom, own.rows, own.columns), (structure.cod, own.columns, own.rows)
    ways = [(numbers_written(s), pull, side) for s, pull, side in ((structure, False, forth), (structure.T, True, back))]
    ways.sort(key=lambda way: way[0] * sum(_least(*way[2])))
    best: _Way | None = None
    for cost, pull, side in ways:
        if best is None or cost * sum(_least(*side)) < best.written:
            colours = _coloured(*side)
            if colours is not None:
                written = cost * sum([_count(one) for one in colours])
                best = _Way(colours, pull, written) if best is None or written < best.written else best
    return best


def _by_basis(structure: Structure) -> int:
    """The numbers that writing a map out by a basis writes."""
    if takes_rows(structure):
        return structure.rows * numbers_written(structure.T)
    return structure.columns * numbers_written(structure)


def _count(colours: Array) -> int:
    return int(colours.max(initial=-1)) + 1


def _ends(leaves: Sequence[Tensor]) -> Array:
    """Where the leaves of a flattened vector end, behind 0, where the first one begins."""
    return np.cumsum([0, *[leaf.size for leaf in leaves]])


def _by_leaf(leaves: Sequence[Tensor], rows: Array, columns: Array) -> list[tuple[Array, Array]]:
    """The places of the columns of each leaf."""
    ends = _ends(leaves)
    chosen = [np.flatnonzero((columns >= low) & (columns < high)) for low, high in pairwise(ends)]
    return [(rows[some], columns[some] - low) for some, low in zip(chosen, ends, strict=False)]


def _least(leaves: Sequence[Tensor], rows: Array, columns: Array) -> list[int]:
    return [most_in_a_row(own) for own, _ in _by_leaf(leaves, rows, columns)]


def _coloured(leaves: Sequence[Tensor], rows: Array, columns: Array) -> list[Array] | None:
    made = [colours_of(*own, leaf.size) for own, leaf in zip(_by_leaf(leaves, rows, columns), leaves, strict=True)]
    there = [one for one in made if one is not None]
    return there if len(there) == len(made) else None


def _written(
    b: Builder, structure: Structure, slots: Sequence[Wire], own: Places, way: _Way, dtype: np.dtype[Any]
) -> tuple[list[Wire], Array]:
    """Flat wires that have the entries of a part, and where each entry is in them, end to end."""
    if way.colours is None:
        matrix = cast(matrix_on(b, structure, slots, None), dtype)
        return [b.apply(upward.reshape((matrix.space.size,)), matrix)], own.rows * structure.columns + own.columns
    taken, rows, columns = (structure.T, own.columns, own.rows) if way.pull else (structure, own.rows, own.columns)
    ins, outs = _ends(taken.dom), _ends(taken.cod)
    made: list[Wire] = []
    at, start = np.zeros(len(own), np.int64), 0
    for c, (leaf, colours) in enumerate(zip(taken.dom, way.colours, strict=True)):
        mine = (columns >= ins[c]) & (columns < ins[c + 1])
        if not mine.any():
            continue
        count = _count(colours)
        for r, image in pushed_on(b, taken, slots, c, seeds_on(b, colours, count, leaf)):
            wire = b.apply(upward.reshape((image.space.size,)), image)
            here = np.flatnonzero(mine & (rows >= outs[r]) & (rows < outs[r + 1]))
            at[here] = start + colours[columns[here] - ins[c]] * taken.cod[r].size + rows[here] - outs[r]
            made.append(cast(wire, dtype))
            start += wire.space.size
    return made, at


def _read(b: Builder, made: list[Wire], index: Array, dtype: np.dtype[Any]) -> Wire:
    if not made:
        none: Wire = b.apply(const(np.zeros(len(index), dtype)), ())
        return none
    whole: Wire = made[0] if len(made) == 1 else b.apply(upward.concatenate(0), tuple(made))
    if len(index) == whole.space.size and np.array_equal(index, np.arange(whole.space.size)):
        return whole
    at = b.apply(const(index), ())
    return b.add(Gathered(rows_of((whole.space.size,), index.shape)), at, whole)[0]
