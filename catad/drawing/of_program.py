"""The graph of a program: its lines as boxes, the user's names on the wires.

A program that is called inside is one box, and is opened on demand. Of a long program, neighbouring lines that come from one
helper function are one box, too, and if that is not enough, those of one line of the source. Lines stand in an order in which
they can run, so boxes of neighbours make no cycle.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from catad.drawing.graph import Graph, Node, box_node, trimmed
from catad.drawing.labels import shortened, space_label
from catad.errors.places import Place, shown, source_line
from catad.program import Program
from catad.spaces import Tensor, flatten
from catad.terms import D

MOST = 40  # boxes; of more lines, neighbours become groups


class _Step(NamedTuple):
    """One line with the numbers of wires in place of those of variables."""

    term: D
    ins: list[int]
    outs: list[int]
    place: Place | None
    within: str  # the function that it comes from


def of_program(program: Program, opened: bool | str) -> Graph:
    """The graph of a program; groups are `opened` all, or those of one function by its name."""
    wires = _Wires()
    inputs = [wires.add(space, program.notes.names.get(v)) for v, space in enumerate(program.dom.leaves)]
    steps: list[_Step] = []
    results = wires.lines(program, inputs, opened, steps)
    groups = [[step] for step in steps]
    for key in () if opened is True else (_function, _source):
        if len(groups) > MOST:
            groups = [[*found] for _, found in groupby(steps, lambda step, key=key: step if step.within == opened else key(step))]  # type: ignore[misc]
    read_later = _reads(groups, results)
    nodes = [wires.node(group, later) for group, later in zip(groups, read_later, strict=True)]
    graph = trimmed(Graph(inputs, nodes, results))
    graph.nodes = [node.named() for node in graph.nodes]
    for k in {*graph.inputs, *(k for node in graph.nodes for k in node.outs)} - graph.bundles:
        graph.labels.setdefault(k, wires.label(k))
    return graph


class _Wires:
    """The wires of a picture: their spaces and names."""

    def __init__(self) -> None:
        self.spaces: list[Tensor] = []
        self.names: list[str | None] = []

    def add(self, space: Tensor, name: str | None) -> int:
        self.spaces.append(space)
        self.names.append(name)
        return len(self.spaces) - 1

    def label(self, k: int) -> str:
        name, space = self.names[k], space_label(self.spaces[k])
        return space if name is None else f"{shortened(name)}: {space}"

    def lines(self, program: Program, inputs: Sequence[int], opened: bool | str, steps: list[_Step]) -> list[int]:
        """Add the lines of a program, applied to wires, to the steps; the wires of its result."""
        notes, spaces = program.notes, program.spaces_of_variables()
        at = dict(enumerate(inputs))
        for k, (term, args, outs) in enumerate(zip(program.children, program.args, program.outs, strict=True)):
            ins = [at[v] for v in flatten(args)]
            if isinstance(term, Program) and opened in (True, term.title):
                made = self.lines(term, ins, opened, steps)
                for wire, v in zip(made, flatten(outs), strict=True):
                    self.names[wire] = self.names[wire] or notes.names.get(v)
            else:
                made = [self.add(spaces[v], notes.names.get(v)) for v in flatten(outs)]
                place = notes.places[k] if k < len(notes.places) else None
                steps.append(_Step(term, ins, made, place, _origin(place, notes.title)))
            at.update(zip(flatten(outs), made, strict=True))
        return [at[v] for v in flatten(program.result)]

    def node(self, group: Sequence[_Step], read_later: set[int]) -> Node:
        """The box of a group of lines."""
        ins = list(dict.fromkeys([k for step in group for k in step.ins]))
        outs = [k for step in group for k in step.outs]
        if len(group) > 1:
            label, title = self.said(group, [k for k in outs if k in read_later])
            ins = [k for k in ins if k not in outs]
            return Node(label, title, "group", ins, [k for k in outs if k in read_later], len(group))
        (step,) = group
        if isinstance(step.term, Program):
            return Node(shortened(step.term.title), str(step.term), "group", step.ins, outs, len(step.term.children))
        constant = self.names[outs[0]] if not step.ins and len(outs) == 1 else None
        return box_node(step.term, step.ins, outs) if constant is None else Node(constant, constant, "constant", [], outs)

    def said(self, group: Sequence[_Step], outs: Sequence[int]) -> tuple[str, str]:
        """The label of some lines, and what they are."""
        names = [name for name in dict.fromkeys([self.names[k] for k in outs]) if name is not None]
        within = {step.within for step in group}
        first = group[0].place
        where, text = shown(first), "" if first is None else source_line(first)
        label = within.pop() if len(within) == 1 and group[0].within else ", ".join(names) or text
        return shortened(label or f"{len(group)} lines"), f"{len(group)} lines, {where}: {text}"


def _reads(groups: Sequence[Sequence[_Step]], results: Sequence[int]) -> Iterator[set[int]]:
    """For each group the wires that are read after it."""
    later = set(results)
    found = []
    for group in reversed(groups):
        found.append(set(later))
        later.update([k for step in group for k in step.ins])
    return reversed(found)


def _origin(place: Place | None, title: str) -> str:
    """The helper function from which a line comes; nothing for the function itself."""
    name = "" if place is None else place[0].co_name
    return "" if name == title or name.startswith("<") else name


def _function(step: _Step) -> Any:
    return step.within or step


def _source(step: _Step) -> Any:
    return step.within or (step if step.place is None else shown(step.place))
