"""Pictures of sparsity: which entries of a linear map's matrix may differ from zero, by structure alone.

The matrix acts on flattened vectors. It is looked at through a coarse grid: a cell is dark where some entry in it may differ
from zero. Up to 256 rows and columns every entry is looked at; of a larger matrix a grid of entries, and some of the entries
that are not zero, so that thin patterns are not missed. The matrix is never written out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from catad.drawing.diagram import FONT, LABEL, escaped
from catad.drawing.sparsity import mask, samples
from catad.linear.map import LinearMap
from catad.linear.structure import Structure

CELLS = 48  # the most cells along a side
PROBES = 256  # positions looked at along a side; larger matrices are sampled
ENTRIES = 4 * CELLS  # entries sampled of each part of a larger matrix: few, so that a permutation does not look dense
DARK, GROUND = "#3f7fc4", "#8a97a6"


def pattern(source: LinearMap | Structure, size: int = 120, caption: bool = False) -> str:
    """The sparsity pattern as a small SVG picture, at most `size` pixels wide and high; `caption` adds the map's `repr`.

    For a chain it shows the product of the patterns: an upper bound. The indices of a gather are read where `source` is a
    `LinearMap`; of a structure alone any entry that the indexed axis allows counts.

    >>> import catad as ct, numpy as np
    >>> from catad.drawing.pattern import pattern
    >>> pattern(ct.scale(np.ones(3))).count("<rect")
    4
    """
    structure, slots = (source.structure, source.slots) if isinstance(source, LinearMap) else (source, None)
    cells = cells_of(structure, slots)
    rows, columns = max(cells.shape[0], 1), max(cells.shape[1], 1)
    longest = max(structure.rows, structure.columns, 1)
    # however thin the matrix is, its short side can be seen
    width = round(size * max(structure.columns / longest, 1 / 8))
    height = round(size * max(structure.rows / longest, 1 / 8))
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
    lines = [
        f'{opening} viewBox="0 0 {columns} {rows}" preserveAspectRatio="none" role="img">',
        f"<title>{escaped(f'{structure.kind}, {structure.rows:,} x {structure.columns:,}')}</title>",
        f'<rect class="ground" width="{columns}" height="{rows}" fill="{GROUND}" fill-opacity="0.16"/>',
        f'<g class="entries" fill="{DARK}" shape-rendering="crispEdges">',
        *[f'<rect x="{x}" y="{y}" width="{w}" height="{h}"/>' for x, y, w, h in _rectangles(cells)],
        "</g>",
        "</svg>",
    ]
    if caption:
        lines = _captioned(lines, repr(source), width, height)
    return "\n".join(lines) + "\n"


def _captioned(lines: list[str], text: str, width: int, height: int) -> list[str]:
    wide, high = max(width, round(6.8 * len(text)) + 4), height + 20
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}" viewBox="0 0 {wide} {high}">'
    label = f'<text x="0" y="{high - 6}" font-family="{FONT}" font-size="11" fill="{LABEL}">{escaped(text)}</text>'
    return [opening, *lines, label, "</svg>"]


def _rectangles(cells: Any) -> list[tuple[int, int, int, int]]:
    """The dark cells as rectangles (x, y, width, height): runs within a row, joined with equal ones below."""
    out: list[tuple[int, int, int, int]] = []
    open_: dict[tuple[int, int], int] = {}  # a run of columns -> the row in which it begins
    for y in range(cells.shape[0] + 1):
        line = cells[y] if y < cells.shape[0] else np.zeros(cells.shape[1], dtype=bool)
        edges = np.flatnonzero(np.diff(np.concatenate([[False], line, [False]]).astype(np.int8)))
        runs = {(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)}
        for run in sorted(set(open_) - runs):
            top = open_.pop(run)
            out.append((run[0], top, run[1] - run[0], y - top))
        open_ |= {run: y for run in runs if run not in open_}
    return sorted(out, key=lambda rectangle: (rectangle[1], rectangle[0]))


def cells_of(structure: Structure, slots: Sequence[Any] | None = None, cells: int = CELLS) -> Any:
    """A boolean array, at most `cells` by `cells`: whether some entry looked at in the cell may differ from zero."""
    rows, columns = structure.rows, structure.columns
    high, wide = min(rows, cells), min(columns, cells)
    out = np.zeros((high, wide), dtype=bool)
    if not out.size:
        return out
    i, j = _probes(rows), _probes(columns)
    found = np.nonzero(mask(structure, slots)(i, j))
    out[i[found[0]] * high // rows, j[found[1]] * wide // columns] = True
    if max(rows, columns) > PROBES:
        i, j = samples(structure, slots, ENTRIES)
        out[i * high // rows, j * wide // columns] = True
    return out


def _probes(n: int) -> Any:
    """Positions along an axis of length n: all, or evenly spread ones."""
    return np.arange(n) if n <= PROBES else np.arange(PROBES, dtype=np.int64) * n // PROBES
