"""Terms and programs on a page: a diagram, and under it what is in its boxes, each in a group that opens."""

from __future__ import annotations

import re
from collections.abc import Iterator

from catad.category.terms import D
from catad.drawing.graph import Graph, Node
from catad.drawing.labels import shortened, space_label
from catad.drawing.of_program import of_program
from catad.drawing.page import line, opening, page, picture
from catad.drawing.render import render
from catad.drawing.untyped import of_term
from catad.traced.programs.program import Program

MOST = 70_000  # characters of a page, without what is left out then
DEEP = 6  # groups in groups


def term_page(term: D) -> str:
    """A term or a program for notebooks, at most about 100 KB; it says what it leaves out."""
    if not isinstance(term, Program):
        return page(picture(render(of_term(term), "string diagram", styled=False)))
    head = f"{term.title}: {shortened(space_label(term.dom), 100)} -> {shortened(space_label(term.spaces(term.dom)), 100)}"
    graph = of_program(term)
    drawn = picture(render(graph, head, styled=False))
    room = _Room(MOST - len(drawn))
    groups = list(_groups(graph, room, DEEP))
    count = room.left_out
    note = f"{count:,} more group{'s' * (count != 1)} left out: program.draw(open=...) opens them by name"
    return page(line(head), drawn, *groups, line(note, quiet=True) if count else "")


class _Room:
    """The characters that are left, and how many groups did not fit."""

    def __init__(self, characters: int) -> None:
        self.characters, self.left_out = characters, 0


def _groups(graph: Graph, room: _Room, deep: int) -> Iterator[str]:
    """What is in the boxes of a graph; boxes that show the same share a group."""
    alike: dict[tuple[str, ...], list[Node]] = {}
    inner: dict[tuple[str, ...], Graph] = {}
    for node in graph.nodes:
        if node.inside is None:
            continue
        if room.characters <= 0 or not deep:
            room.left_out += 1
            continue
        own = node.inside()
        key = tuple([re.sub(r"\d+", "#", one.label) for one in (node, *own.nodes)])
        alike.setdefault(key, []).append(node)
        inner.setdefault(key, own)
    for key, nodes in alike.items():
        own = inner[key]
        text = picture(render(own, nodes[0].label, styled=False))
        if len(text) > room.characters:
            room.left_out += len(nodes)
            continue
        room.characters -= len(text)
        times = f", the first of {len(nodes)} that differ in numbers at most" if len(nodes) > 1 else ""
        yield opening(f"{nodes[0].label}{times}", text, *_groups(own, room, deep - 1))
