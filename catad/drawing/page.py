"""Pieces of HTML for notebooks: one block with its styles, tables, and groups that open without a script."""

from __future__ import annotations

import re
from collections.abc import Sequence

from catad.drawing.style import escaped, sheet

NARROW, SHRUNK = 300, 0.75  # pixels to which any picture shrinks, and the share to which a wider one does


def page(*parts: str) -> str:
    """Parts as one block, with the styles of the classes in them."""
    body = "\n".join([part for part in parts if part])
    own = '<div class="catad catad-page">'
    return f"{own}\n<style>{sheet([own, body])}</style>\n{body}\n</div>"


def line(text: str, quiet: bool = False) -> str:
    """A line of text."""
    note = ' class="catad-note"' if quiet else ""
    return f"<div{note}>{escaped(text)}</div>"


def code(text: str) -> str:
    """A text with its own lines."""
    return f'<pre class="catad-code">{escaped(text)}</pre>'


def row(*parts: str) -> str:
    """Parts beside each other, as far as there is room."""
    return f'<div class="catad-row">{"".join([f"<div>{part}</div>" for part in parts if part])}</div>'


def picture(text: str) -> str:
    """A picture that shrinks with the page, by at most a quarter; then it scrolls."""
    found = re.search(r'<svg [^>]*?width="([\d.]+)"', text)
    least = 0 if found is None else SHRUNK * float(found[1])
    wide = text.replace("<svg ", f'<svg style="min-width:{least:.0f}px" ', 1) if least > NARROW else text
    return f'<div class="catad-scroll">{wide}</div>'


def opening(summary: str, *parts: str, opened: bool = False) -> str:
    """A group that opens, of what belongs to a line."""
    body = "\n".join([part for part in parts if part])
    return f'<details class="catad-open"{" open" * opened}><summary>{escaped(summary)}</summary>\n{body}\n</details>'


def table(head: Sequence[str], rows: Sequence[Sequence[str]], words: int = 1) -> str:
    """A table: words in the first columns, numbers to the right of them."""

    def cells(tag: str, own: Sequence[str]) -> str:
        marks = [' class="catad-words"' * (k < words) for k in range(len(own))]
        found = [f"<{tag}{mark}>{escaped(cell)}</{tag}>" for mark, cell in zip(marks, own, strict=True)]
        return f"<tr>{''.join(found)}</tr>"

    body = "".join([cells("td", own) for own in rows])
    return f'<div class="catad-scroll"><table class="catad-table">{cells("th", head)}{body}</table></div>'
