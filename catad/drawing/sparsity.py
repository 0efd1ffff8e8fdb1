"""Places where the matrix of a structure may differ from zero: a test for any rows and columns, and a sample of the entries.

Both follow the families (labels, progressions, the grid of a block) and never write a matrix out, so they cost the same for
10^12 entries as for ten. Rows and columns are positions in the flattened result and argument.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import singledispatch
from typing import Any

import numpy as np

from catad.linear.families.block import Block, Chain, Sum, Zero
from catad.linear.families.clear import Clear, ClearAt, ClearWhere
from catad.linear.families.delta import Delta
from catad.linear.families.gather import Gather, ScatterAdd
from catad.linear.families.matrix_free import Batched
from catad.linear.families.recurrence import ZERO, Recurrence
from catad.linear.families.reindex import Reindex, Reshape
from catad.linear.network import Network
from catad.linear.structure import Placed, Structure

Entries = Any  # a boolean array over (rows, columns)
Positions = tuple[Any, Any]  # the rows and the columns of some entries
Mask = Callable[[Any, Any], Entries]
BETWEEN = 2048  # the patterns of a chain are multiplied where the spaces between are at most this large
_GOLDEN = (math.sqrt(5) - 1) / 2


@singledispatch
def mask(structure: Structure, slots: Sequence[Any] | None) -> Mask:
    """The function from row and column positions to whether an entry may differ from zero; a table by family, open to others."""
    return lambda i, j: np.ones((len(i), len(j)), dtype=bool)


def _own(part: Any, slots: Sequence[Any] | None) -> list[Any] | None:
    return None if slots is None else [slots[k] for k in part[1]]


@mask.register
def _zero(structure: Zero, slots: Any) -> Mask:
    return lambda i, j: np.zeros((len(i), len(j)), dtype=bool)


def _positions(labels: Sequence[int], sizes: Sequence[int], flat: Any) -> list[tuple[int, Any]]:
    """The index along each axis of flattened positions, with the label of the axis."""
    out = []
    for label in reversed(labels):
        out.append((label, flat % sizes[label]))
        flat = flat // sizes[label]
    return out[::-1]


@mask.register
def _delta(structure: Delta, slots: Any) -> Mask:
    """Entries where indices with the same label agree."""

    def entries(i: Any, j: Any) -> Entries:
        found = np.ones((len(i), len(j)), dtype=bool)
        at: dict[int, Any] = {}
        axes = [(label, index[:, None]) for label, index in _positions(structure.out, structure.sizes, i)]
        axes += [(label, index[None, :]) for label, index in _positions(structure.ins, structure.sizes, j)]
        for label, index in axes:
            if label in at:
                found &= at[label] == index
            at[label] = index
        return found

    return entries


@mask.register
def _reindex(structure: Reindex, slots: Any) -> Mask:
    """`y[c + t k] = x[a + s k]` along each axis."""

    def entries(i: Any, j: Any) -> Entries:
        found = np.ones((len(i), len(j)), dtype=bool)
        for ax in reversed(structure.axes):
            step, rest = np.divmod(i % ax.n_out - ax.c, ax.t)
            inside = (rest == 0) & (step >= 0) & (step < ax.m)
            found &= inside[:, None] & ((ax.a + ax.s * step)[:, None] == (j % ax.n_in)[None, :])
            i, j = i // ax.n_out, j // ax.n_in
        return found

    return entries


@mask.register
def _gather(structure: Gather, slots: Any) -> Mask:
    """`v[dst] = x[src with one axis at index]`; without the index, whatever it may be."""
    how = structure.how
    index = None if slots is None else _on_host(slots[0])

    def gathered(v: Any, x: Any) -> Entries:
        found = np.ones((len(v), len(x)), dtype=bool)
        at = dict(_positions(how.dst, how.sizes, v))
        for k, (label, position) in enumerate(_positions(how.src, how.sizes, x)):
            if k != how.axis:
                found &= at[label][:, None] == position[None, :]
            elif index is not None:
                read = index[tuple(at[label] for label in how.by)]
                found &= read.reshape(-1, 1) == position[None, :]
        return found

    return gathered


@mask.register
def _scatter(structure: ScatterAdd, slots: Any) -> Mask:
    transposed = _gather(structure.T, slots)
    return lambda i, j: transposed(j, i).T


@mask.register
def _clear(structure: Clear, slots: Any) -> Mask:
    """The diagonal, without the region."""

    def entries(i: Any, j: Any) -> Entries:
        inside, flat = np.ones(len(i), dtype=bool), i
        for axis in reversed(structure.region):
            step, rest = np.divmod(flat % axis.size - axis.start, axis.step)
            inside &= (rest == 0) & (step >= 0) & (step < axis.length)
            flat = flat // axis.size
        return (i[:, None] == j[None, :]) & ~inside[:, None]

    return entries


@mask.register
def _one_by_one(structure: Reshape | ClearAt | ClearWhere, slots: Any) -> Mask:
    return lambda i, j: i[:, None] == j[None, :]


@mask.register
def _network(structure: Network, slots: Any) -> Mask:
    return mask(structure.stages, slots)


def _on_host(array: Any) -> Any:
    """An index array as NumPy's, wherever it lies."""
    return np.asarray(array.get() if hasattr(array, "get") else array)


@mask.register
def _recurrence(structure: Recurrence, slots: Any) -> Mask:
    """Triangular in the steps, diagonal in the carried axes, and between components that the links can connect."""
    d, space = len(structure.grid), structure.states[0]
    n = space.shape[structure.axis]
    inner = math.prod(space.shape[structure.axis + 1 :])
    reach = np.eye(d, dtype=bool)
    once = np.array([[entry != ZERO for entry in row] for row in structure.grid]).reshape(d, d)
    for _ in range(d):
        reach = reach | (reach.astype(int) @ once.astype(int) > 0)

    def entries(i: Any, j: Any) -> Entries:
        steps, carried, component = [], [], []
        for flat in (i, j):
            component.append(flat // space.size)
            steps.append(flat // inner % n)
            carried.append(flat % space.size // (n * inner) * inner + flat % inner)
        later = steps[0][:, None] - steps[1][None, :]
        linked = reach[component[0][:, None], component[1][None, :]]
        same = (later == 0) & (component[0][:, None] == component[1][None, :])
        found = same | (linked & (later < 0 if structure.reverse else later > 0))
        return found & (carried[0][:, None] == carried[1][None, :])

    return entries


@mask.register
def _block(structure: Block, slots: Any) -> Mask:
    """Each place of the grid by its own pattern."""

    def entries(i: Any, j: Any) -> Entries:
        found = np.zeros((len(i), len(j)), dtype=bool)
        for part, top, left in structure.cells():
            mine = np.flatnonzero((i >= top) & (i < top + part[0].rows))
            theirs = np.flatnonzero((j >= left) & (j < left + part[0].columns))
            if len(mine) and len(theirs):
                inner = mask(part[0], _own(part, slots))(i[mine] - top, j[theirs] - left)
                found[np.ix_(mine, theirs)] |= inner
        return found

    return entries


@mask.register
def _chain(structure: Chain, slots: Any) -> Mask:
    """The product of the patterns, where the spaces between are small enough; else dense."""
    parts = [mask(part[0], _own(part, slots)) for part in structure.parts]
    between = [part[0].rows for part in structure.parts[:-1]]
    if any(size > BETWEEN for size in between):
        return lambda i, j: np.ones((len(i), len(j)), dtype=bool)

    def entries(i: Any, j: Any) -> Entries:
        found = None
        for k, part in enumerate(parts):
            rows = i if k == len(parts) - 1 else np.arange(between[k])
            own = part(rows, j if k == 0 else np.arange(between[k - 1]))
            found = own if found is None else (own.astype(np.float32) @ found.astype(np.float32)) > 0
        return found

    return entries


@mask.register
def _sum(structure: Sum, slots: Any) -> Mask:
    parts = [mask(part[0], _own(part, slots)) for part in structure.parts]
    return lambda i, j: np.logical_or.reduce([part(i, j) for part in parts])


@mask.register
def _batched(structure: Batched, slots: Any) -> Mask:
    """One leaf on each side: a block for each index; several leaves are not told apart."""
    inner = mask(structure.part, None)
    rows, columns = structure.part.rows, structure.part.columns
    if len(structure.dom) > 1 or len(structure.cod) > 1:
        return lambda i, j: np.ones((len(i), len(j)), dtype=bool)
    return lambda i, j: ((i // rows)[:, None] == (j // columns)[None, :]) & inner(i % rows, j % columns)


# -- a sample of the entries


@singledispatch
def samples(structure: Structure, slots: Sequence[Any] | None, count: int) -> Positions:
    """About `count` entries that may differ from zero, spread evenly, of each part whose entries can be listed; open, too."""
    return _nothing()


def _nothing() -> Positions:
    return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)


def _spread(total: int, count: int) -> Any:
    """Positions below `total`: all, or a low-discrepancy sequence, which no period of the pattern can fool."""
    if total <= count:
        return np.arange(total)
    return (np.arange(count) * _GOLDEN % 1.0 * total).astype(np.int64)


def _flat(axes: Sequence[tuple[int, Any]]) -> Any:
    """The flattened position, from (size, index) for each axis."""
    flat: Any = 0
    for size, index in axes:
        flat = flat * size + index
    return flat


@samples.register
def _of_delta(structure: Delta, slots: Any, count: int) -> Positions:
    labels = list(dict.fromkeys((*structure.out, *structure.ins)))
    n = _spread(math.prod(structure.sizes[label] for label in labels), count)
    at = dict(_positions(labels, structure.sizes, n))
    i, j = (_flat([(structure.sizes[k], at[k]) for k in side]) for side in (structure.out, structure.ins))
    return i + 0 * n, j + 0 * n


@samples.register
def _of_reindex(structure: Reindex, slots: Any, count: int) -> Positions:
    n = _spread(math.prod(ax.m for ax in structure.axes), count)
    steps = _positions(range(len(structure.axes)), [ax.m for ax in structure.axes], n)
    pairs = [(ax, step) for ax, (_, step) in zip(structure.axes, steps, strict=True)]
    i = _flat([(ax.n_out, ax.c + ax.t * step) for ax, step in pairs])
    return i + 0 * n, _flat([(ax.n_in, ax.a + ax.s * step) for ax, step in pairs]) + 0 * n


@samples.register
def _of_projection(structure: Clear | ClearAt | ClearWhere, slots: Any, count: int) -> Positions:
    n = _spread(structure.columns, count)
    kept = np.diagonal(mask(structure, slots)(n, n)) if len(n) <= BETWEEN else np.ones(len(n), dtype=bool)
    return n[kept], n[kept]


@samples.register
def _of_gather(structure: Gather, slots: Any, count: int) -> Positions:
    if slots is None:
        return _nothing()
    how = structure.how
    v = _spread(structure.dst[0].size, count)
    at = dict(_positions(how.dst, how.sizes, v))
    read = _on_host(slots[0])[tuple(at[label] for label in how.by)] + 0 * v
    x = _flat([(how.sizes[k], read if a == how.axis else at.get(k)) for a, k in enumerate(how.src)])
    inside = (read >= 0) & (read < how.bins)
    v, x = v[inside], np.asarray(x)[inside]
    return v, x


@samples.register
def _of_scatter(structure: ScatterAdd, slots: Any, count: int) -> Positions:
    columns, rows = _of_gather(structure.T, slots, count)
    return rows, columns


@samples.register
def _of_block(structure: Block, slots: Any, count: int) -> Positions:
    return _of_parts(structure.cells(), slots, count)


@samples.register
def _of_sum(structure: Sum, slots: Any, count: int) -> Positions:
    return _of_parts([(part, 0, 0) for part in structure.parts], slots, count)


def _of_parts(places: Iterable[tuple[Placed, int, int]], slots: Any, count: int) -> Positions:
    found = [_nothing()]
    for part, top, left in places:
        i, j = samples(part[0], _own(part, slots), count)
        found.append((i + top, j + left))
    return np.concatenate([i for i, _ in found]), np.concatenate([j for _, j in found])


@samples.register
def _of_reshape(structure: Reshape, slots: Any, count: int) -> Positions:
    n = _spread(structure.rows, count)
    return n, n
