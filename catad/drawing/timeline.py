"""A timeline: what ran when, a row for each name and thread."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from catad.drawing.labels import shortened
from catad.drawing.style import CHAR, SMALL, escaped, number, svg

ROWS = 24  # of more names, the first
SINGLE = 200  # bars up to which each has its own tooltip
WIDTH, ROW, BAR, MARGIN, GAP = 560.0, 20.0, 12.0, 12.0, 10.0
NEAR, THIN = 1.0, 1.0  # pixels: bars this near are one, and the width of the thinnest
LONGEST = 34  # characters of a name


class Run(NamedTuple):
    """One run: the row to which it belongs, its start and its length in seconds."""

    row: str
    start: float
    seconds: float


def timeline(title: str, runs: Iterable[Run], notes: Sequence[str] = (), styled: bool = True) -> str:
    """Bars over time, as SVG text; `notes` say what is left out."""
    rows: dict[str, list[Run]] = {}
    for run in sorted(runs, key=lambda run: run.start):
        rows.setdefault(run.row, []).append(run)
    shown = dict(list(rows.items())[:ROWS])
    if len(rows) > ROWS:
        notes = [*notes, f"{len(rows) - ROWS:,} more rows are left out"]
    every = [run for own in shown.values() for run in own]
    begin = min([run.start for run in every], default=0.0)
    length = max([run.start + run.seconds - begin for run in every], default=0.0) or 1e-6
    left = MARGIN + CHAR * max([len(shortened(name, LONGEST)) for name in shown], default=0) + GAP
    bottom = MARGIN + ROW * (len(shown) + 1)
    parts = _axis(left, bottom, length)
    for k, (name, own) in enumerate(shown.items()):
        parts += _row(name, own, MARGIN + ROW * (k + 1.5), left, begin, WIDTH / length, len(every) <= SINGLE)
    for note in notes:
        bottom += 16
        parts.append(f'<text class="catad-quiet catad-small" x="{number(MARGIN)}" y="{number(bottom)}">{escaped(note)}</text>')
    return svg(title, left + WIDTH + 5 * MARGIN, bottom + MARGIN, parts, styled)


def _row(name: str, runs: Sequence[Run], y: float, left: float, begin: float, scale: float, single: bool) -> list[str]:
    short = shortened(name, LONGEST)
    words = f"<title>{escaped(name)}</title>{escaped(short)}"
    found = [f'<text class="catad-ink catad-text" x="{number(MARGIN)}" y="{number(y + 4)}">{words}</text>']
    top, spans = number(y - BAR / 2), [(left + scale * (run.start - begin), scale * run.seconds, run) for run in runs]
    if single:
        for x, width, run in spans:
            tip = f"<title>{escaped(name)}: {1e3 * run.seconds:.3f} ms, at {1e3 * (run.start - begin):.3f} ms</title>"
            size = f'width="{max(width, THIN):.2f}" height="{number(BAR)}"'
            found.append(f'<rect class="catad-data" x="{x:.2f}" y="{top}" {size}>{tip}</rect>')
        return found
    joined: list[list[float]] = []
    for x, width, _ in spans:
        if joined and x - joined[-1][1] < NEAR:
            joined[-1][1] = max(joined[-1][1], x + width)
        else:
            joined.append([x, x + max(width, THIN)])
    path = "".join([f"M{a:.1f} {top}h{b - a:.1f}v{number(BAR)}h{a - b:.1f}z" for a, b in joined])
    tip = f"<title>{escaped(name)}: {len(runs):,} runs, {1e3 * sum([run.seconds for run in runs]):.3f} ms in all</title>"
    return [*found, f'<path class="catad-data" d="{path}">{tip}</path>']


def _axis(left: float, bottom: float, length: float) -> list[str]:
    """Lines and numbers at round times."""
    unit, name = (1.0, "s") if length >= 1 else (1e-3, "ms") if length >= 1e-3 else (1e-6, "us")
    step = _round(length / unit / 5)
    found = []
    for k in range(int(length / unit / step) + 1):
        x, text = left + WIDTH * k * step * unit / length, f"{k * step:g} {name}"
        line = f"M{number(x)} {number(MARGIN + ROW)}V{number(bottom)}h1V{number(MARGIN + ROW)}z"
        found.append(f'<path class="catad-ground" d="{line}"/>')
        at = f'x="{number(x)}" y="{number(MARGIN + SMALL)}"'
        found.append(f'<text class="catad-quiet catad-small" {at}>{text}</text>')
    return found


def _round(step: float) -> float:
    """The next number of 1, 2, 5, 10, ... that is as large."""
    power: float = 10.0 ** math.floor(math.log10(step))
    return next((power * k for k in (1, 2, 5) if power * k >= step), power * 10)
