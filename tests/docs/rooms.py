"""The picture of the rooms in docs/design.md, drawn from the imports: `python -m tests.docs.rooms` writes it again.

A room stands above all rooms from which it imports. A line joins it to each of them, except where a way through other rooms says
so already. The words in a room are the first sentence of its `__init__.py`.
"""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path

from catad.drawing.style import CHAR, escaped, svg
from tests.docs.test_layers import PACKAGE, imports, modules, room, rooms

PICTURE = Path(__file__).parents[2] / "docs" / "rooms.svg"
WIDTH, FLOOR, HEIGHT, GAP, MARGIN = 1000, 104, 84, 12, 10


def arrows() -> dict[str, set[str]]:
    """The rooms from which each room imports when it runs; what is called by `upward.py` is not among it."""
    found: dict[str, set[str]] = {name: set() for name in rooms() if name}
    for file in modules():
        others = {room(other) for one in imports(file) if not one.late for other in one.files}
        if room(file):
            found[room(file)] |= others - {room(file), ""}
    return found


def floors(needs: dict[str, set[str]]) -> dict[str, int]:
    """How many rooms lie below each room on the longest way down."""
    found: dict[str, int] = {}
    for name in sorted(needs, key=lambda name: -rooms()[name]):
        found[name] = max([found[other] + 1 for other in needs[name]], default=0)
    return found


def without_detours(needs: dict[str, set[str]]) -> dict[str, set[str]]:
    """The arrows that no other arrows imply (the transitive reduction)."""
    below: dict[str, set[str]] = {}
    for name in sorted(needs, key=lambda name: -rooms()[name]):
        below[name] = needs[name].union(*[below[other] for other in needs[name]])
    return {name: {one for one in others if not any(one in below[other] for other in others)} for name, others in needs.items()}


def words(name: str) -> str:
    """The first sentence about a room, without its end."""
    text = ast.get_docstring(ast.parse((PACKAGE / name / "__init__.py").read_text(encoding="utf-8"))) or ""
    return " ".join(text.split("\n\n")[0].split()).partition(". ")[0].rstrip(".").replace("`", "")


def picture() -> str:
    """The rooms as SVG text, from the ground floor at the bottom to the public names at the top."""
    needs = arrows()
    floor = floors(needs)
    top = max(floor.values())
    place: dict[str, tuple[float, float, float]] = {}  # the left edge, the upper edge, the width
    for level in range(top + 1):
        own = [name for name in rooms() if name and floor[name] == level]
        width = (WIDTH - 2 * MARGIN - GAP * (len(own) - 1)) / len(own)
        for k, name in enumerate(own):
            place[name] = MARGIN + k * (width + GAP), MARGIN + (top - level) * FLOOR, width
    height = (top + 1) * FLOOR + MARGIN
    lines = ['<g class="catad-wires">']
    for name, others in sorted(without_detours(needs).items()):
        for other in sorted(others):
            (x, y, width), (x2, y2, width2) = place[name], place[other]
            first, last = max(x, x2), min(x + width, x2 + width2)  # straight down where the two overlap
            start, end = ((first + last) / 2,) * 2 if first < last else (x + width / 2, x2 + width2 / 2)
            lines.append(f'<line x1="{start:.0f}" y1="{y + HEIGHT:.0f}" x2="{end:.0f}" y2="{y2:.0f}"/>')
    lines.append('</g>\n<g class="catad-box catad-ink catad-text">')
    for name, (x, y, width) in sorted(place.items()):
        said = textwrap.wrap(words(name), int((width - 20) / CHAR))
        assert len(said) <= 4, f"too many words for the room {name}"
        lines += [
            f'<g class="catad-end"><rect x="{x:.0f}" y="{y:.0f}" width="{width:.0f}" height="{HEIGHT}" rx="5"/></g>',
            f'<text x="{x + 10:.0f}" y="{y + 16:.0f}" font-weight="bold">{name}/</text>',
        ]
        for k, line in enumerate(said):
            lines.append(f'<text x="{x + 10:.0f}" y="{y + 31 + 15 * k:.0f}">{escaped(line)}</text>')
    return svg("The rooms of catad: each imports only from rooms below it", WIDTH, height, [*lines, "</g>"]) + "\n"


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
