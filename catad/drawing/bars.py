"""Bars: named quantities beside each other, with their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from catad.drawing.labels import shortened
from catad.drawing.style import CHAR, escaped, number, svg

ROW, BAR, GAP, MARGIN = 24.0, 14.0, 10.0, 12.0
LENGTH = 170.0  # pixels: the longest bar
LONGEST = 30  # characters of a name


class Panel(NamedTuple):
    """One quantity: what it is, and for each name its value and the text of that; at `bound` stands a dashed line.

    A note stands below the bars.
    """

    name: str
    values: Sequence[float]
    texts: Sequence[str]
    bound: float = 0.0
    note: str = ""


def bars(title: str, names: Sequence[str], panels: Sequence[Panel], styled: bool = True) -> str:
    """Panels beside each other, a row for each name, as SVG text. The longest bar of a panel has the same length in each."""
    shown = [shortened(name, LONGEST) for name in names]
    left = MARGIN + CHAR * max([len(name) for name in shown], default=0) + GAP
    bottom = MARGIN + ROW * (len(names) + 1)
    parts = []
    for k, (short, name) in enumerate(zip(shown, names, strict=True)):
        y = _row(k) + 4
        words = f"<title>{escaped(name)}</title>{escaped(short)}"
        parts.append(f'<text class="catad-ink catad-text" x="{number(MARGIN)}" y="{number(y)}">{words}</text>')
    for k, panel in enumerate(panels):
        parts += _panel(panel, left, bottom, "catad-data" if k % 2 == 0 else "catad-second")
        left += LENGTH + CHAR * max([len(text) for text in (*panel.texts, "")]) + 3 * GAP
    notes = [panel.note for panel in panels if panel.note]
    for note in notes:
        bottom += 16
        parts.append(f'<text class="catad-quiet catad-small" x="{number(MARGIN)}" y="{number(bottom)}">{escaped(note)}</text>')
    return svg(title, max(left, 340.0), bottom + MARGIN, parts, styled)


def _row(k: int) -> float:
    """The height of the middle of row k; row -1 has the names of the panels."""
    return MARGIN + ROW * (k + 1.5)


def _panel(panel: Panel, x: float, bottom: float, kind: str) -> list[str]:
    most = max([*panel.values, panel.bound, 1e-300])
    head = f'<text class="catad-ink catad-text" x="{number(x)}" y="{number(_row(-1) + 4)}">{escaped(panel.name)}</text>'
    found = [head]
    for k, (value, text) in enumerate(zip(panel.values, panel.texts, strict=True)):
        length, y = max(LENGTH * value / most, 1.0 if value else 0.0), _row(k)
        size = f'width="{number(length)}" height="{number(BAR)}"'
        found.append(f'<rect class="{kind}" x="{number(x)}" y="{number(y - BAR / 2)}" {size} rx="2"/>')
        at = f'x="{number(x + length + 6)}" y="{number(y + 4)}"'
        found.append(f'<text class="catad-ink catad-text" {at}>{escaped(text)}</text>')
    if panel.bound:
        at = number(x + LENGTH * panel.bound / most)
        tip = f"<title>{escaped(panel.note)}</title>"
        found.append(f'<path class="catad-bound" d="M{at} {number(_row(0) - BAR)}V{number(bottom)}">{tip}</path>')
    return found
