"""The colours, the fonts and the words of all pictures: one style sheet, of which each picture carries what it uses.

Each colour is a pair, for light and for dark. A picture paints its own ground, so its text can be read on any page. It is dark
where the page is, by the theme of JupyterLab, of VS Code or of pydata-sphinx-theme, else where the reader prefers that. Programs
that know no `light-dark()` show the light colours. Every class has the prefix `catad-` and means the same in every picture, so
any number of pictures can stand on one page. No picture has an id or a script.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

FONT = "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
CHAR, SMALL = 7.3, 6.1  # the widths of a character of 12 and of 10 pixels
GROUND, INK, QUIET = ("#ffffff", "#15191f"), ("#16202b", "#e6edf3"), ("#55616e", "#a3afbc")
WIRE, DATA, SECOND, ACCENT = ("#7d8a99", "#8794a3"), ("#3f7fc4", "#5697df"), ("#b9772a", "#d9994b"), ("#b4530a", "#f0913f")
LINE, SHADE = ("#d5dae0", "#3a434e"), ("#e4e7eb", "#2c343e")
BOXES = {  # kind of box -> fill and edge
    "pointwise": (("#cfe3fb", "#1f3a5c"), ("#4f86c6", "#6aa3e6")),
    "linear": (("#d3eed6", "#1f4a2b"), ("#4c9a5b", "#63b974")),
    "constant": (("#e6e8eb", "#343b44"), ("#868e99", "#8b95a1")),
    "combinator": (("#fde2c4", "#573a17"), ("#cc8a3c", "#d9994b")),
    "functor": (("#e6dafa", "#41305f"), ("#8a68c4", "#a88be0")),
    "group": (("#fff3b8", "#4d4413"), ("#b8a12e", "#cdb740")),
    "more": (("#f4f5f7", "#232a33"), ("#9aa4b0", "#77828f")),
    "end": (("#e0e9f4", "#2b3b4e"), ("#6b7f96", "#8a9bb0")),
}

_NOT_XML = re.compile("[\x00-\x08\x0b-\x1f\ud800-\udfff\ufffe\uffff]")


def escaped(text: str) -> str:
    """Text as content of XML or HTML; what XML cannot hold is replaced."""
    return html.escape(_NOT_XML.sub("�", text), quote=False)


def number(value: float) -> str:
    """A coordinate: at most one decimal."""
    return f"{value:.1f}".removesuffix(".0")


def svg(title: str, width: float, height: float, parts: Sequence[str], styled: bool = True, more: str = "") -> str:
    """A picture as SVG text; on a page that has the styles of its classes it needs none of its own. `more` are other rules."""
    size = f'width="{number(width)}" height="{number(height)}" viewBox="0 0 {number(width)} {number(height)}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" class="catad" {size} role="img">'
    body = [f"<title>{escaped(title)}</title>", *[part for part in parts if part]]
    styles = [f"<style>{sheet(body)}{more}</style>"] if styled else []
    return "\n".join([head, *styles, *body, "</svg>"])


def sheet(parts: Sequence[str]) -> str:
    """The rules for the classes that stand in some parts of a text."""
    used = {name for part in parts for found in re.findall(r'class="([^"]*)"', part) for name in found.split()}
    return "".join([rule for name, rules in _RULES.items() if name in used or name == "catad" for rule in rules])


def _pair(what: str, colours: tuple[str, str]) -> str:
    return f"{what}:{colours[0]};{what}:light-dark({colours[0]},{colours[1]});"


def _schemes() -> list[str]:
    light = "[data-jp-theme-light=true] .catad,[data-theme=light] .catad,.vscode-light .catad"
    dark = "[data-jp-theme-light=false] .catad,[data-theme=dark] .catad,.vscode-dark .catad"
    colours = _pair("background", GROUND) + _pair("color", INK)
    return [
        f".catad{{color-scheme:light dark;{colours}font-family:{FONT}}}",
        f"{light}{{color-scheme:light}}{dark}{{color-scheme:dark}}",
        "svg.catad{max-width:100%;height:auto}",
    ]


def _table_rules() -> list[str]:
    cell = _pair("background", GROUND) + _pair("color", INK) + "border:1px solid;" + _pair("border-color", LINE)
    return [
        ".catad-table{border-collapse:collapse;font-size:12px;margin:6px 0}",
        f".catad-table td,.catad-table th{{{cell}padding:2px 10px;text-align:right;white-space:nowrap}}",
        ".catad-table .catad-words{text-align:left}",
    ]


_RULES: dict[str, list[str]] = {
    "catad": _schemes(),
    "catad-ink": [f".catad-ink{{{_pair('fill', INK)}}}"],
    "catad-quiet": [f".catad-quiet{{{_pair('fill', QUIET)}}}"],
    "catad-small": [".catad-small{font-size:10px}"],
    "catad-text": [".catad-text{font-size:12px}"],
    "catad-middle": [".catad-middle{text-anchor:middle}"],
    "catad-wires": [f".catad-wires{{fill:none;{_pair('stroke', WIRE)}stroke-width:1.5;stroke-linecap:round}}"],
    "catad-dots": [f".catad-dots{{{_pair('fill', WIRE)}{_pair('stroke', WIRE)}}}"],
    "catad-unread": [f".catad-unread{{{_pair('fill', GROUND)}stroke-width:1.5}}"],
    "catad-box": [".catad-box{stroke-width:1.2}"],
    **{
        f"catad-{kind}": [f".catad-{kind}>rect,.catad-{kind}>circle{{{_pair('fill', fill)}{_pair('stroke', edge)}}}"]
        for kind, (fill, edge) in BOXES.items()
    },
    "catad-data": [f".catad-data{{{_pair('fill', DATA)}}}"],
    "catad-second": [f".catad-second{{{_pair('fill', SECOND)}}}"],
    "catad-ground": [f".catad-ground{{{_pair('fill', SHADE)}}}"],
    "catad-fill": [f".catad-fill{{fill:none;{_pair('stroke', ACCENT)}stroke-dasharray:4 3}}"],
    "catad-ring": [f".catad-box>.catad-ring{{fill:none;{_pair('stroke', ACCENT)}stroke-width:3;opacity:0}}"],
    "catad-said": [".catad-said{opacity:0}"],
    "catad-bound": [f".catad-bound{{fill:none;{_pair('stroke', ACCENT)}stroke-width:1.5;stroke-dasharray:4 3}}"],
    "catad-page": [".catad-page{padding:8px;font-size:12px;line-height:1.5;overflow-wrap:anywhere}"],
    "catad-row": [".catad-row{display:flex;flex-wrap:wrap;gap:16px;align-items:flex-start}.catad-row>div{max-width:100%}"],
    "catad-scroll": [".catad-scroll{overflow-x:auto;margin:6px 0}"],
    "catad-note": [f".catad-note{{{_pair('color', QUIET)}}}"],
    "catad-open": [".catad-open{margin:4px 0}.catad-open>.catad-open{margin-left:18px}.catad-open>summary{cursor:pointer}"],
    "catad-code": [".catad-code{font:inherit;white-space:pre-wrap;margin:6px 0;background:none;color:inherit}"],
    "catad-table": _table_rules(),
}
