"""The cells of a matrix that may differ from zero, as one small path."""

from __future__ import annotations

from typing import Any

import numpy as np

THINNEST = 3.0  # pixels: however thin the matrix is, its short side can be seen


def rectangles(cells: Any) -> list[tuple[int, int, int, int]]:
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


def cells_path(cells: Any, shape: tuple[int, int], x: float, y: float, size: float) -> str:
    """A matrix with its left edge at x and its middle at the height y, its longer side `size` pixels, in its own shape."""
    longest = max(*shape, 1)
    height, width = (max(THINNEST, size * n / longest) for n in shape)
    high, wide = height / max(1, cells.shape[0]), width / max(1, cells.shape[1])
    top = y - height / 2
    dark = [
        f"M{x + wide * left:.1f} {top + high * above:.1f}h{wide * w:.1f}v{high * h:.1f}h-{wide * w:.1f}z"
        for left, above, w, h in rectangles(cells)
    ]
    ground = f'<path class="catad-ground" d="M{x:.1f} {top:.1f}h{width:.1f}v{height:.1f}h-{width:.1f}z"/>'
    return ground + (f'<path class="catad-data" d="{"".join(dark)}"/>' if dark else "")
