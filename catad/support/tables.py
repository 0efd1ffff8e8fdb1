"""Tables of text."""

from __future__ import annotations

from collections.abc import Sequence


def aligned(rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """The rows of a table as lines: the first columns flush left, the others flush right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    sides = ["<" if k < left else ">" for k in range(len(widths))]
    padded = [[f"{x:{side}{w}}" for x, side, w in zip(row, sides, widths, strict=True)] for row in rows]
    return ["  ".join(row).rstrip() for row in padded]
