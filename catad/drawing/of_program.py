"""The graph of a program: its lines as boxes, the user's names on the wires.

A program that is called inside is one box, and is opened on demand. Of a long program, the lines of a call of a helper function
are one box, too (`groups.py`). Many arguments that are parts of one tree are one thick wire.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import partial

from catad.category.spaces import Tensor, flatten
from catad.category.terms import D
from catad.drawing.graph import LAYERS, Graph, Node, box_node, labelled, renamed, trimmed
from catad.drawing.groups import Group, Step, grouped
from catad.drawing.labels import shortened, space_label
from catad.errors.places import shown, source_line
from catad.traced.programs.program import Calls, Program

SEEN = 100  # parts of a box in which programs are looked for
FEW = 12  # inputs, to which parts of trees among many become one each, where they can


def of_program(program: Program, opened: bool | str | Collection[str] = False) -> Graph:
    """The graph of a program; groups are `opened` all, or those of some functions by their names.

    A box with lines or programs in it has these as a graph of its own.
    """
    names = () if isinstance(opened, bool) else (opened,) if isinstance(opened, str) else opened
    wires = _Wires()
    inputs = [wires.add(space, program.notes.names.get(v)) for v, space in enumerate(program.dom.leaves)]
    steps: list[Step] = []
    results = wires.lines(program, inputs, True if opened is True else names, steps, ())
    unnamed = {k for step in steps for k in step.outs if not step.ins and wires.names[k] is None} - {*results}
    groups = [Group([step]) for step in steps] if opened is True else grouped(steps, names, unnamed)
    nodes = [wires.node(group, later) for group, later in zip(groups, _reads(groups, results), strict=True)]
    return labelled(trimmed(wires.bundled(Graph(inputs, nodes, results))), wires.label)


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

    def lines(
        self, program: Program, inputs: Sequence[int], opened: bool | Collection[str], steps: list[Step], outer: Calls
    ) -> list[int]:
        """Add the lines of a program, applied to wires, to the steps; the wires of its result. `outer` are calls around it."""
        notes, spaces = program.notes, program.spaces_of_variables()
        at = dict(enumerate(inputs))
        for k, (term, args, outs) in enumerate(zip(program.children, program.args, program.outs, strict=True)):
            ins = [at[v] for v in flatten(args)]
            calls = (*outer, *(notes.calls[k] if k < len(notes.calls) else ()))
            if isinstance(term, Program) and (opened is True or term.title in opened):  # type: ignore[operator]
                made = self.lines(term, ins, opened, steps, (*calls, (term.title, (len(steps), k))))
                for wire, v in zip(made, flatten(outs), strict=True):
                    self.names[wire] = self.names[wire] or notes.names.get(v)
            else:
                made = [self.add(spaces[v], notes.names.get(v)) for v in flatten(outs)]
                place = notes.places[k] if k < len(notes.places) else None
                steps.append(Step(term, ins, made, place, calls))
            at.update(zip(flatten(outs), made, strict=True))
        return [at[v] for v in flatten(program.result)]

    def node(self, group: Group, read_later: set[int]) -> Node:
        """The box of a group of lines."""
        steps = group.steps
        outs = [k for step in steps for k in step.outs]
        if len(steps) > 1 or group.name:
            outs = [k for k in outs if k in read_later]
            label, title = self.said(group, outs)
            node = Node(label, title, "group", group.ins, outs, len(steps))
            node.inside = partial(self.of_group, group, outs)
            return node
        (step,) = steps
        if isinstance(step.term, Program):
            node = Node(shortened(step.term.title), str(step.term), "group", step.ins, outs, len(step.term.children))
            node.inside = partial(of_program, step.term)
            return node
        constant = self.names[outs[0]] if not step.ins and len(outs) == 1 else None
        if constant is not None:
            return Node(constant, constant, "constant", [], outs)
        node, own = box_node(step.term, step.ins, outs), programs_in(step.term)
        node.inside = partial(beside, own) if own else None
        return node

    def of_group(self, group: Group, outs: Sequence[int]) -> Graph:
        """The graph of some lines."""
        known = {k for step in group.steps for k in step.outs}
        ins = [k for k in dict.fromkeys([k for step in group.steps for k in step.ins]) if k not in known]
        later = {*outs}
        calls = min([len(step.calls) for step in group.steps])
        inner = [step._replace(calls=step.calls[calls:]) for step in group.steps]
        groups = grouped(inner, (), set())
        nodes = [self.node(own, read) for own, read in zip(groups, _reads(groups, [*later]), strict=True)]
        return labelled(trimmed(Graph(ins, nodes, list(outs))), self.label)

    def said(self, group: Group, outs: Sequence[int]) -> tuple[str, str]:
        """The label of some lines, and what they are."""
        names = [name for name in dict.fromkeys([self.names[k] for k in outs]) if name is not None]
        first = group.steps[0].place
        where, text = shown(first), "" if first is None else source_line(first)
        label, count = group.name or ", ".join(names) or text, len(group.steps)
        lines = f"{count} line{'s' * (count > 1)}"
        return shortened(label or lines), lines if where is None else f"{lines}, {where}: {text}"

    def bundled(self, graph: Graph) -> Graph:
        """The graph with parts of one tree among many inputs as one thick wire, as few as can be read."""
        if len(graph.inputs) <= LAYERS:
            return graph
        found = [tuple(_path(self.names[k] or "")) for k in graph.inputs]
        for depth in range(max([len(path) for path in found]) - 1, 0, -1):
            if len(set(found)) <= FEW:
                break
            found = [path[:depth] for path in found]
        members: dict[tuple[str, ...], list[int]] = {}
        for path, k in zip(found, graph.inputs, strict=True):
            members.setdefault(path, []).append(k)
        several = {path: own for path, own in members.items() if len(own) > 1 and path != ("",)}
        if several:
            renamed(graph, {k: own[0] for own in several.values() for k in own})
            graph.inputs = list(dict.fromkeys([own[0] if path in several else k for path, own in members.items() for k in own]))
            graph.labels |= {own[0]: f"{shortened(''.join(path), 40)}: {len(own)} arrays" for path, own in several.items()}
        return graph


def programs_in(term: D) -> list[Program]:
    """The programs that a box runs, such as the step of a loop and the sides of a branch."""
    found, stack, seen = [], list(reversed(term.children)), 0
    while stack and seen < SEEN:
        seen += 1
        part = stack.pop()
        if isinstance(part, Program):
            found.append(part)
        else:
            stack.extend(reversed(part.children))
    return found


def beside(programs: Sequence[Program]) -> Graph:
    """The graphs of some programs as one graph, each as a box that opens."""
    if len(programs) == 1:
        return of_program(programs[0])
    first, nodes, inputs, results, labels = 0, [], list[int](), list[int](), dict[int, str]()
    for program in programs:
        ins = list(range(first, first + len(program.dom.leaves)))
        spaces = program.spaces(program.dom).leaves
        outs = list(range(first + len(ins), first + len(ins) + len(spaces)))
        first += len(ins) + len(outs)
        node = Node(shortened(program.title), str(program), "group", ins, outs, len(program.children))
        node.inside = partial(of_program, program)
        nodes.append(node)
        inputs += ins
        results += outs
        labels |= {k: space_label(space) for k, space in zip([*ins, *outs], [*program.dom.leaves, *spaces], strict=True)}
    return trimmed(Graph(inputs, nodes, results, labels))


def _path(name: str) -> list[str]:
    """A name and the steps from it into a tree: `params`, `['blocks']`, `[0]`."""
    return [part for part in re.split(r"(\[(?:'[^']*'|\"[^\"]*\"|\d+)\]|\.\w+)", name) if part] or [""]


def _reads(groups: Sequence[Group], results: Sequence[int]) -> Iterator[set[int]]:
    """For each group the wires that are read after it."""
    later = set(results)
    found = []
    for group in reversed(groups):
        found.append(set(later))
        later.update(group.ins)
    return reversed(found)
