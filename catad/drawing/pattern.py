"""Pictures of sparsity: which entries of a linear map's matrix may differ from zero, by structure alone.

The matrix acts on flattened vectors. It is looked at through a coarse grid: a cell is dark where some entry in it may differ
from zero. Up to 256 rows and columns every entry is looked at; of a larger matrix a grid of entries, and some of the entries
that are not zero, so that thin patterns are not missed. The matrix is never written out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from catad.drawing.cells import rectangles
from catad.drawing.sparsity import mask, samples
from catad.drawing.style import SMALL, escaped, sheet, svg
from catad.linear.map import LinearMap
from catad.linear.structure import Structure

CELLS = 48  # the most cells along a side
PROBES = 256  # positions looked at along a side; larger matrices are sampled
ENTRIES = 4 * CELLS  # entries sampled of each part of a larger matrix: few, so that a permutation does not look dense


def pattern(source: LinearMap | Structure, size: int = 120, caption: bool = False) -> str:
    """The sparsity pattern as a small picture, SVG text, at most `size` pixels wide and high; `caption` adds the map's `repr`.

    For a chain it shows the product of the patterns: an upper bound. The indices of a gather are read where `source` is a
    `LinearMap`; of a structure alone any entry that the indexed axis allows counts.

    >>> import catad as ct, numpy as np
    >>> from catad.drawing.pattern import pattern
    >>> pattern(ct.scale(np.ones(3))).count("<rect")
    4
    """
    structure, slots = (source.structure, source.slots) if isinstance(source, LinearMap) else (source, None)
    inner, width, height = _matrix(structure, cells_of(structure, slots), size)
    title = f"{structure.kind}, {structure.rows:,} x {structure.columns:,}"
    if not caption:
        return inner.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg" class="catad" role="img"', 1).replace(
            ">", f"><title>{escaped(title)}</title><style>{sheet([inner])}</style>", 1
        )
    text = repr(source)
    wide = max(width, round(SMALL * len(text)) + 8)
    label = f'<text class="catad-quiet catad-small" x="0" y="{height + 14}">{escaped(text)}</text>'
    return svg(title, wide, height + 20, [inner, label])


def _matrix(structure: Structure, cells: Any, size: int) -> tuple[str, int, int]:
    """The cells as an SVG element, with its width and its height; however thin the matrix is, its short side can be seen."""
    rows, columns = max(cells.shape[0], 1), max(cells.shape[1], 1)
    longest = max(structure.rows, structure.columns, 1)
    width = round(size * max(structure.columns / longest, 1 / 8))
    height = round(size * max(structure.rows / longest, 1 / 8))
    lines = [
        f'<svg width="{width}" height="{height}" viewBox="0 0 {columns} {rows}" preserveAspectRatio="none">',
        f'<rect class="catad-ground" width="{columns}" height="{rows}"/>',
        '<g class="catad-data" shape-rendering="crispEdges">',
        *[f'<rect x="{x}" y="{y}" width="{w}" height="{h}"/>' for x, y, w, h in rectangles(cells)],
        "</g>",
        "</svg>",
    ]
    return "\n".join(lines), width, height


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
