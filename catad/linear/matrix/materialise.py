"""Linear maps written out on wires: the arrays of their blocks, and the matrix on flattened vectors.

It is what `todense` does with arrays, as part of a program.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from catad import upward
from catad.category.constant import const
from catad.category.spaces import Tensor
from catad.category.wiring import Builder
from catad.linear.apply import applying
from catad.linear.batch import batch
from catad.linear.families.contract import zeros
from catad.linear.families.reindex import Reshaped
from catad.linear.structure import Placed, Structure, cast, of_part, widest
from catad.support.lru import remembered
from catad.values.arrays import Array

if TYPE_CHECKING:
    from catad.category.wiring import Wire

Blocks = dict[tuple[int, int], "Wire"]  # by the leaves of result and argument, in the shape of both; zeros are left out
MANY = 4  # times as many vectors: no cheaper
TERMS = 4  # of a sum that are written out one by one; more go through one basis


def by_columns(b: Builder, structure: Structure, slots: Sequence[Wire]) -> Blocks:
    """The blocks by pushing a basis of each argument leaf; the axis of the basis goes last."""
    found: Blocks = {}
    for c, leaf in enumerate(structure.dom):
        for r, wire in pushed_on(b, structure, slots, c, _basis(b, leaf)):
            last = b.apply(upward.transpose((*range(1, wire.ndim), 0)), wire)
            found[r, c] = b.apply(upward.reshape((*wire.shape[1:], *leaf.shape)), last)
    return found


def by_rows(b: Builder, structure: Structure, slots: Sequence[Wire]) -> Blocks:
    """The blocks by pulling back a basis of each result leaf."""
    found: Blocks = {}
    for r, leaf in enumerate(structure.cod):
        for c, wire in pushed_on(b, structure.T, slots, r, _basis(b, leaf)):
            found[r, c] = b.apply(upward.reshape((*leaf.shape, *wire.shape[1:])), wire)
    return found


def pushed_on(b: Builder, structure: Structure, slots: Sequence[Wire], c: int, vectors: Wire) -> list[tuple[int, Wire]]:
    """The images of vectors, along a leading axis, of one leaf of the argument: which results there are, and each of these."""
    wiring, there = applying(structure, tuple([k == c for k in range(len(structure.dom))]))
    outs = batch(b, wiring, [*slots, vectors], [*[False] * len(slots), True], vectors.shape[0])
    return list(zip([r for r, flag in enumerate(there) if flag], outs, strict=True))


def _basis(b: Builder, leaf: Tensor) -> Wire:
    eye = np.eye(leaf.size, dtype=leaf.dtype).reshape(leaf.size, *leaf.shape)
    made: Wire = b.apply(const(eye), ())
    return made


def seeds_on(b: Builder, colours: Array, count: int, leaf: Tensor) -> Wire:
    """The sum of the unit vectors of each colour, (count, *leaf.shape); made when the program runs, since it may be large."""
    spread: Wire = b.apply(const(colours.reshape(1, *leaf.shape).astype(np.int32)), ())
    number = b.apply(const(np.arange(count, dtype=np.int32).reshape(count, *(1,) * leaf.ndim)), ())
    one, zero = leaf.dtype.type(1), leaf.dtype.type(0)
    made: Wire = b.apply(upward.map(lambda c, k: upward.where(c == k, one, zero)), (spread, number))
    return made


def blocks_on(b: Builder, structure: Structure, slots: Sequence[Wire]) -> Blocks:
    """The blocks, read off where the map holds them, else by a basis of the side that takes less."""
    cells = structure.leafwise
    if cells is None:
        return _by_basis(b, structure, slots)
    found: Blocks = {}
    for r, line in enumerate(cells):
        for c, part in enumerate(line):
            wire = None if part is None else _cell(b, part, slots)
            if wire is not None:
                found[r, c] = wire
    return found


def _by_basis(b: Builder, structure: Structure, slots: Sequence[Wire]) -> Blocks:
    return (by_rows if takes_rows(structure) else by_columns)(b, structure, slots)


@remembered
def takes_rows(structure: Structure) -> bool:
    """True where pulling back a basis of the result writes fewer numbers than pushing one of the argument through the map.

    Where the argument has as few numbers or fewer it is pushed, and nothing depends on the transpose.
    """
    rows, columns = structure.rows, structure.columns
    if rows >= columns or MANY * rows <= columns:
        return rows < columns
    return rows * numbers_written(structure.T) < columns * numbers_written(structure)


def numbers_written(structure: Structure) -> int:
    """The numbers that the boxes of one application write, at least one."""
    wiring, _ = applying(structure)
    boxes = [box for box in wiring.boxes if box.ins and not isinstance(box.primitive, Reshaped)]
    return sum([wiring.wires[k].size for box in boxes for k in box.outs], 1)


def _cell(b: Builder, part: Placed, slots: Sequence[Wire]) -> Wire | None:
    """A map between two arrays, in the shape of both; None where it is zero."""
    structure, own = part[0], of_part(slots, part)
    if structure.is_zero or not structure.rows or not structure.columns:
        return None
    terms = structure.terms
    if len(terms) <= TERMS:
        made = [term.dense_on(b, [own[k] for k in numbers]) for term, numbers in terms]
        there = [wire for wire in made if wire is not None]
        if len(there) == len(made):
            return reduce(lambda x, y: x + y, there)
    return _by_basis(b, structure, own).get((0, 0))


def matrix_on(b: Builder, structure: Structure, slots: Sequence[Wire], shape: tuple[int, ...] | None) -> Wire:
    """The matrix on flattened vectors, or, of a map between two arrays, the array of a shape."""
    blocks = blocks_on(b, structure, slots)
    dtype = widest(*structure.dom, *structure.cod)
    if shape is not None:
        wire, dtype = blocks.get((0, 0)), structure.cod[0].dtype
        return zeros(b, Tensor(shape, dtype)) if wire is None else cast(b.apply(upward.reshape(shape), wire), dtype)
    lines = []
    for r, end in enumerate(structure.cod):
        line = []
        for c, leaf in enumerate(structure.dom):
            wire, flat = blocks.get((r, c)), (end.size, leaf.size)
            line.append(zeros(b, Tensor(flat, dtype)) if wire is None else cast(b.apply(upward.reshape(flat), wire), dtype))
        lines.append(_joined(b, line, 1))
    return _joined(b, lines, 0)


def _joined(b: Builder, parts: list[Wire], axis: int) -> Wire:
    made: Wire = parts[0] if len(parts) == 1 else b.apply(upward.concatenate(axis), tuple(parts))
    return made
