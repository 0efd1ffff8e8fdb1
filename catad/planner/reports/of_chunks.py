"""A plan of chunks as a picture and on a page: its stages, and what passes between them."""

from __future__ import annotations

from collections.abc import Sequence

from catad.drawing.graph import Graph, Node, trimmed
from catad.drawing.labels import shortened
from catad.drawing.page import code, opening, page, picture
from catad.drawing.render import render

Stages = Sequence[tuple[str, str, str]]  # the name of a stage, its tasks, and what passes to it from other chunks


def stages(title: str, found: Stages, styled: bool = True) -> str:
    """A box for each stage, from left to right, and on the wires what passes between them."""
    nodes = []
    for k, (name, tasks, _) in enumerate(found):
        nodes.append(Node(shortened(name), f"{name}, {tasks}", "pointwise", [k], [k + 1], detail=tasks))
    passed = {k: text for k, (_, _, text) in enumerate(found) if k}
    return render(trimmed(Graph([0], nodes, [len(nodes)], passed)), title, styled=styled)


def chunks_page(title: str, found: Stages, text: str) -> str:
    """A plan of chunks for notebooks; `text` has all that it says."""
    return page(picture(stages(title, found, styled=False)), opening("stages", code(text), opened=True))
