"""Pictures of sparsity: which entries of a linear map's matrix may differ from zero, by structure alone.

The matrix acts on flattened vectors. It is looked at through a coarse grid: a cell is dark where some entry in it may differ
from zero. Cells are found by the structure (labels, progressions, the grid of a block), never by writing the matrix out, so
a picture of a map with 10^12 entries costs as much as that of a small one. Where the indices of a gather are known (a
`LinearMap`), they are used; without them any entry that the indexed axis allows counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from catad.linear.block import Block, Chain, Sum, Zero
from catad.linear.delta import Delta
from catad.linear.gather import Gather, ScatterAdd, _Indexed
from catad.linear.map import LinearMap
from catad.linear.matrix_free import Batched
from catad.linear.network import Network
from catad.linear.recurrence import ZERO, Recurrence
from catad.linear.reindex import Reindex, Reshape
from catad.linear.structure import Structure

CELLS = 48  # the most cells along a side
PROBES = 256  # positions looked at along a side; larger matrices are sampled
_FINE = 4  # at least so many probes for each cell
Entries = Any  # a boolean array over (row positions, column positions)
Mask = Callable[[Any, Any], Entries]


def pattern(source: LinearMap | Structure, size: int = 120) -> str:
    """The sparsity pattern as a small SVG picture, at most `size` pixels wide and high.

    Cells are exact up to 256 rows and columns; beyond, evenly spread rows and columns are looked at together with those
    that a diagonal meets. Chains show an upper bound: what the product of the patterns reaches.

    >>> import catad as ct, numpy as np
    >>> from catad.drawing.pattern import pattern
    >>> pattern(ct.scale(np.ones(3))).count("<rect")
    4
    """
    structure, slots = (source.structure, source.slots) if isinstance(source, LinearMap) else (source, None)
    cells = cells_of(structure, slots)
    rows, columns = cells.shape
    longest = max(rows, columns, 1)
    # a matrix that is much wider than high still shows its rows
    width = max(size * _aspect(structure.columns, structure.rows), size / 8) if columns else size / 8
    height = max(size * _aspect(structure.rows, structure.columns), size / 8) if rows else size / 8
    what = f"{structure.kind}, {structure.rows:,} x {structure.columns:,}"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {max(columns, 1)} {max(rows, 1)}" preserveAspectRatio="none" role="img">',
        f"<title>{what}</title>".replace(">>", "&gt;&gt;"),
        f'<rect class="ground" width="{max(columns, 1)}" height="{max(rows, 1)}" fill="#8a97a6" fill-opacity="0.16"/>',
        f'<g fill="#3f7fc4" shape-rendering="{"crispEdges" if longest > 24 else "auto"}">',
        *[f'<rect x="{x}" y="{y}" width="{n}" height="1"/>' for y, x, n in _runs(cells)],
        "</g>",
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _aspect(own: int, other: int) -> float:
    return min(1.0, own / other) if other else 1.0


def _runs(cells: Entries) -> list[tuple[int, int, int]]:
    """The dark cells as (row, first column, how many beside each other)."""
    out = []
    for y, line in enumerate(cells):
        edges = np.flatnonzero(np.diff(np.concatenate([[False], line, [False]]).astype(np.int8)))
        out += [(y, int(start), int(stop - start)) for start, stop in zip(edges[::2], edges[1::2], strict=True)]
    return out


def cells_of(structure: Structure, slots: Sequence[Any] | None = None, cells: int = CELLS) -> Entries:
    """A boolean array, at most `cells` by `cells`: whether some entry looked at in the cell may differ from zero."""
    rows, columns = structure.rows, structure.columns
    high, wide = min(rows, cells), min(columns, cells)
    out = np.zeros((high, wide), dtype=bool)
    if not out.size:
        return out
    i, j = _probes(rows, columns), _probes(columns, rows)
    entries = mask(structure, slots)(i, j)
    where = np.nonzero(entries)
    out[i[where[0]] * high // rows, j[where[1]] * wide // columns] = True
    return out


def _probes(n: int, other: int) -> Any:
    """Positions along an axis of length n: all, or evenly spread ones that a diagonal of the other axis meets too."""
    if n <= PROBES:
        return np.arange(n)
    count = CELLS * _FINE
    spread = np.arange(count, dtype=np.float64) * n / count
    near = spread.astype(np.int64)
    if other > PROBES:  # short runs of neighbours, so that shifts and small blocks are met
        near = np.unique(np.concatenate([near, near + 1]).clip(0, n - 1))
    return near


# -- the patterns of the families, on any rows i and columns j


def mask(structure: Structure, slots: Sequence[Any] | None) -> Mask:
    """The function from row and column positions to whether an entry may differ from zero."""
    for family, make in _MASKS:
        if isinstance(structure, family):
            return make(structure, slots)
    return lambda i, j: np.ones((len(i), len(j)), dtype=bool)


def _own(part: Any, slots: Sequence[Any] | None) -> list[Any] | None:
    return None if slots is None else [slots[k] for k in part[1]]


def _zero(structure: Structure, slots: Any) -> Mask:
    return lambda i, j: np.zeros((len(i), len(j)), dtype=bool)


def _positions(labels: Sequence[int], sizes: Sequence[int], flat: Any) -> list[tuple[int, Any]]:
    """The index along each axis of flattened positions, with the label of the axis."""
    out = []
    for label in reversed(labels):
        out.append((label, flat % sizes[label]))
        flat = flat // sizes[label]
    return out[::-1]


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


def _indexed(structure: _Indexed, slots: Any) -> Mask:
    """`v[dst] = x[src with one axis at index]`; without the index, whatever it may be."""
    how = structure.how
    index = None if slots is None else np.asarray(slots[0].get() if hasattr(slots[0], "get") else slots[0])

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

    return gathered if isinstance(structure, Gather) else lambda i, j: gathered(j, i).T


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


def _block(structure: Block, slots: Any) -> Mask:
    """Each place of the grid by its own pattern."""
    rows = _bounds([leaf.size for leaf in structure.cod], structure.widths and structure.widths[1])
    columns = _bounds([leaf.size for leaf in structure.dom], structure.widths and structure.widths[0])

    def entries(i: Any, j: Any) -> Entries:
        found = np.zeros((len(i), len(j)), dtype=bool)
        for line, (top, bottom) in zip(structure.grid, rows, strict=True):
            mine = np.flatnonzero((i >= top) & (i < bottom))
            for part, (left, right) in zip(line, columns, strict=True):
                theirs = np.flatnonzero((j >= left) & (j < right))
                if part is not None and len(mine) and len(theirs):
                    inner = mask(part[0], _own(part, slots))(i[mine] - top, j[theirs] - left)
                    found[np.ix_(mine, theirs)] |= inner
        return found

    return entries


def _bounds(sizes: Sequence[int], widths: Sequence[int] | None) -> list[tuple[int, int]]:
    """Where each group of leaves begins and ends in the flattened vector."""
    out, leaf, start = [], 0, 0
    for width in widths or [1] * len(sizes):
        end = start + sum(sizes[leaf : leaf + width])
        out.append((start, end))
        leaf, start = leaf + width, end
    return out


def _chain(structure: Chain, slots: Any) -> Mask:
    """The product of the patterns, where the spaces between are small enough; else dense."""
    parts = [mask(part[0], _own(part, slots)) for part in structure.parts]
    between = [part[0].rows for part in structure.parts[:-1]]
    if any(size > 2048 for size in between):
        return lambda i, j: np.ones((len(i), len(j)), dtype=bool)

    def entries(i: Any, j: Any) -> Entries:
        found = None
        for k, part in enumerate(parts):
            rows = i if k == len(parts) - 1 else np.arange(between[k])
            own = part(rows, j if k == 0 else np.arange(between[k - 1]))
            found = own if found is None else (own.astype(np.float32) @ found.astype(np.float32)) > 0
        return found

    return entries


def _sum(structure: Sum, slots: Any) -> Mask:
    parts = [mask(part[0], _own(part, slots)) for part in structure.parts]
    return lambda i, j: np.logical_or.reduce([part(i, j) for part in parts])


def _batched(structure: Batched, slots: Any) -> Mask:
    """One leaf on each side: a block for each index; several leaves are not told apart."""
    inner = mask(structure.part, None)
    rows, columns = structure.part.rows, structure.part.columns
    if len(structure.dom) > 1 or len(structure.cod) > 1:
        return lambda i, j: np.ones((len(i), len(j)), dtype=bool)
    return lambda i, j: ((i // rows)[:, None] == (j // columns)[None, :]) & inner(i % rows, j % columns)


_MASKS: list[tuple[type[Any], Callable[[Any, Any], Mask]]] = [
    (Zero, _zero),
    (Delta, _delta),
    (Reindex, _reindex),
    (Reshape, lambda structure, slots: lambda i, j: i[:, None] == j[None, :]),
    (Gather, _indexed),
    (ScatterAdd, _indexed),
    (Recurrence, _recurrence),
    (Block, _block),
    (Chain, _chain),
    (Sum, _sum),
    (Batched, _batched),
    (Network, lambda structure, slots: mask(structure.stages, slots)),
]
