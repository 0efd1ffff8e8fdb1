"""A profile on a page: its timeline and its table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from catad.drawing.page import line, opening, page, picture, table
from catad.drawing.timeline import Run, timeline

SHOWN = 40  # rows of the table; of more, the first


def runs_over_time(events: Sequence[Any], left_out: int, styled: bool = True) -> str:
    """The runs of a profile as SVG text; a row names the thread where several ran a stage."""
    several = len({event.thread for event in events}) > 1
    runs = [Run(f"{event.thread}: {event.name}" if several else event.name, event.start, event.seconds) for event in events]
    notes = [f"{left_out:,} more runs are left out"] if left_out else []
    return timeline(f"{len(runs):,} runs over time", runs, notes, styled)


def profile_page(
    headline: str, head: Sequence[str], rows: Sequence[Sequence[str]], events: Sequence[Any], left_out: int
) -> str:
    """A profile for notebooks."""
    more = line(f"{len(rows) - SHOWN:,} more stages are left out", quiet=True) if len(rows) > SHOWN else ""
    drawn = picture(runs_over_time(events, left_out, styled=False)) if events else ""
    return page(line(headline), opening("when each stage ran", drawn, opened=True), table(head, rows[:SHOWN]), more)
