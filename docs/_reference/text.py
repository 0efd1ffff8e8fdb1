"""Docstrings: their parts, and how these are written as reStructuredText.

A docstring is plain text in paragraphs, with code in backticks, lists, and examples. What it says of shapes, dtypes, the
derivative, errors and sources is in sentences that begin in known ways; `parse` gathers them by these parts, and `rst` writes
text so that Sphinx shows it as it stands.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

PARTS = ("Shapes", "Dtypes", "Derivative", "Errors", "Source")
LABELS = {
    **dict.fromkeys(("Shape", "Shapes", "Space", "Spaces"), "Shapes"),
    **dict.fromkeys(("Dtype", "Dtypes", "Dtype of the parts"), "Dtypes"),
    **dict.fromkeys(("Derivative", "Derivatives"), "Derivative"),
    "Errors": "Errors",
    **dict.fromkeys(("Source", "Sources", "Source of the example"), "Source"),
}
"""The words before a colon with which a part begins; it goes on to the next part or the end of the paragraph."""
_LABEL = re.compile(rf"({'|'.join(sorted(LABELS, key=len, reverse=True))}): ")
STARTS = (
    ("Errors", r"Raises |Errors as |Errors of |A family without one"),
    ("Derivative", r"The derivatives? |Its derivative |Derivatives (of any|of every|are) |That by |Linear in |It is linear "),
    ("Derivative", r"(The|Its) (Jacobian|transpose) |Differentiates "),
    ("Shapes", r"The shapes? |Shapes |Spaces are |The result (has the (shape|axes)|does not have)"),
    ("Dtypes", r"The dtypes? |Dtypes |Floats keep "),
)
"""How a sentence begins that is a part by itself, and so is what refers to it."""
_STARTS = [(part, re.compile(begins)) for part, begins in STARTS]
_GOES_ON = re.compile(r"(It|They|This|These|That|So|Those|Their|There|Else) ")
_AS = re.compile(
    r"((?:shapes?|dtypes?|derivative|errors|parameters|scales|numbers|nan)(?:,? (?:and |for )?(?:the )?"
    r"(?:shapes?|dtypes?|derivative|errors|parameters|scales))*) (?:as (?:for |of )?|are those of |is that of )`ct\.([\w.]+)`",
    re.IGNORECASE,
)
"""Parts that a text leaves to that of another name: `Shapes, dtypes and errors as `ct.max``."""


@dataclass
class Block:
    """A paragraph, a list or an example of a docstring."""

    kind: str
    """One of "text", "list", "example"."""
    lines: list[str]


@dataclass
class Doc:
    """The parts of a docstring."""

    summary: str = ""
    """The first paragraph."""
    blocks: list[Block] = field(default_factory=list)
    """The other paragraphs and lists, without what `parts` has."""
    parts: dict[str, str] = field(default_factory=dict)
    """What is said of each of `PARTS`."""
    examples: list[str] = field(default_factory=list)


def parse(text: str) -> Doc:
    """The parts of a docstring without indentation (as `inspect.getdoc` has it)."""
    doc = Doc()
    for block in _blocks(text):
        if block.kind == "example":
            doc.examples.append("\n".join(block.lines))
        elif block.kind == "list":
            doc.blocks.append(block)
        else:
            _sorted_out(doc, " ".join(line.strip() for line in block.lines))
    return doc


def _blocks(text: str) -> list[Block]:
    """The docstring cut at empty lines; a list ends a paragraph that has no empty line before it."""
    found: list[Block] = []
    for chunk in re.split(r"\n\s*\n", text.strip("\n")):
        lines = chunk.splitlines()
        if not chunk.strip():
            continue
        if lines[0].startswith(">>>") or (found and found[-1].kind == "example" and lines[0].startswith("  ")):
            found.append(Block("example", lines))
            continue
        at = next((i for i, line in enumerate(lines) if line.startswith("- ")), len(lines))
        if lines[:at]:
            found.append(Block("text", lines[:at]))
        if lines[at:]:
            found.append(Block("list", lines[at:]))
    return found


def sentences(text: str) -> list[str]:
    """A paragraph cut after its sentences; the dots of initials, of numbers and within code or parentheses end none."""
    cuts, depth, code = [0], 0, False
    for i, letter in enumerate(text):
        if letter == "`":
            code = not code
        elif code:
            continue
        elif letter in "([":
            depth += 1
        elif letter in ")]":
            depth = max(0, depth - 1)
        elif letter == " " and depth == 0:
            before, after = text[:i], text[i + 1 :]
            ends = before.endswith((".", "!", "?"))
            initial = re.search(r"(^|[\s.&])[A-Z]\.$|\b(e\.g|i\.e|vs|Jr)\.$", before)
            begins = r"[A-Z`(\d]" if not initial else r"Raises `"
            if (ends and re.match(begins, after)) or (before.endswith((".", ":")) and _LABEL.match(after)):
                cuts.append(i + 1)
    return [text[a:b].strip() for a, b in zip(cuts, [*cuts[1:], len(text)], strict=True) if text[a:b].strip()]


def _sorted_out(doc: Doc, paragraph: str) -> None:
    """Give each sentence of a paragraph to its part."""
    first = not doc.summary
    rest: list[str] = []
    part, labelled = "", False
    for sentence in sentences(paragraph):
        if label := _LABEL.match(sentence):
            part, labelled, sentence = LABELS[label[1]], True, sentence[label.end() :]
        elif begun := None if first else next((name for name, begins in _STARTS if begins.match(sentence)), None):
            part, labelled = begun, False
        elif not (part and (labelled or _GOES_ON.match(sentence))):
            part = ""
        if part:
            doc.parts[part] = f"{doc.parts[part]} {sentence}" if part in doc.parts else sentence
        else:
            rest.append(sentence)
    if not rest:
        return
    if first:
        doc.summary = " ".join(rest)
    else:
        doc.blocks.append(Block("text", [" ".join(rest)]))


def left_to(text: str) -> dict[str, str]:
    """The parts that a docstring leaves to another name, with this name: `{"Shapes": "max"}`."""
    found: dict[str, str] = {}
    for words, name in _AS.findall(" ".join(text.split(">>>")[0].split())):
        for part in PARTS:
            if part[:-1].lower() in words.lower():
                found[part] = name
    return found


_SPECIAL = re.compile(r"([\\*_|`<>\[\]])")
_MARKS = re.compile(r"\(?(?:\w|#|\d+|[ivxlcdmIVXLCDM]+)[.)] |[-+:.>](?!py:|doc:)")
"""Beginnings that reStructuredText would take for the mark of a list or a block: `C. Elliott`."""
_GUIDE = re.compile(r"docs/([\w-]+)\.md")


def rst(text: str, linked: Callable[[str], str | None] = lambda code: None) -> str:
    """A paragraph as reStructuredText: code between backticks, emphasis between asterisks, all else as it stands.

    `linked` gives the name to which a piece of code refers, or None.
    """
    out: list[str] = []
    for i, piece in enumerate(re.split(r"`([^`]*)`", text)):
        if i % 2:
            guide, name = _GUIDE.fullmatch(piece), linked(piece)
            if guide:
                shown = f":doc:`/{guide[1]}`"
            elif name:
                shown = f":py:obj:`{piece.replace('<', chr(92) + '<')} <{name}>`"
            else:
                shown = f"``{piece}``" if piece.strip() else ""
            out.append(f"\\ {shown}\\ ")
        else:
            out.append(_plain(piece))
    joined = "".join(out).removeprefix("\\ ").removesuffix("\\ ")
    if _MARKS.match(joined):
        joined = f"\\ {joined}"
    return re.sub(r"(?<=\s)\\ (?=[:`])", "", re.sub(r"(?<=`)\\ (?=\s)", "", joined))


def _plain(text: str) -> str:
    pieces = re.split(r"(?<![\w*])\*([A-Za-z][^*]*[a-z])\*(?![\w*])", text)
    shown = [f"\\ *{piece}*\\ " if i % 2 else _escaped(piece) for i, piece in enumerate(pieces)]
    return "".join(shown)


def _escaped(text: str) -> str:
    pieces = _GUIDE.split(text)
    return "".join(f"\\ :doc:`/{piece}`\\ " if i % 2 else _SPECIAL.sub(r"\\\1", piece) for i, piece in enumerate(pieces))


def items(lines: list[str]) -> list[str]:
    """The items of a list, each on one line."""
    return [" ".join(item.split()) for item in re.split(r"^- ", "\n".join(lines), flags=re.MULTILINE)[1:]]


def words(text: str) -> list[str]:
    """The words of a text, for comparing two of them."""
    return re.findall(r"[\w.`]+", text)
