"""Programs without variables: compiling to a cartesian category.

    a variable        its projection from the domain
    f(a, b)           fork(a, b) >> f
    a shared value    one term, in several places

(C. Elliott, Compiling to Categories, 2017, of which loops and branches, being closed programs, need the cartesian part only.)
The programs in loops and branches lose their variables, too.

Where all that a value reads comes through one other value, it is written relative to that: `h - max(h)` is
`h >> fork(id, max) >> sub`. So `fork(a >> f, a >> g)` becomes `a >> fork(f, g)`. The values between the two may be read by nobody
else, so that each line is written once and the term grows with the number of lines. In the graph of lines the first value is then
the immediate dominator of the second (T. Lengauer, R. Tarjan, A fast algorithm for finding dominators in a flowgraph, 1979); in a
graph without cycles, that is the lowest common ancestor of what is read.
"""

from __future__ import annotations

from typing import Any

from catad.category.cartesian import Proj, dup, exl, exr, it, swap
from catad.category.constant import Const
from catad.category.spaces import flatten, rebuild
from catad.category.terms import D, Fork, Id, identity, then
from catad.category.text import with_scopes
from catad.traced.programs.program import Program

SOURCE = 0  # the node of the whole argument


def point_free(program: Program) -> D:
    """The program as a term without variables, with the same boxes at its domain."""
    graph = _Graph(program)
    context, entry = _regions(graph)
    made: dict[int, D] = {}

    def term(reads: Any, here: int) -> D:
        if not isinstance(reads, tuple):
            return identity if reads == here else made[reads]
        return _forked([term(part, here) for part in reads])

    for node in sorted(context):
        before = identity if entry[node] == context[node] else made[entry[node]]
        read = identity if graph.reads[node] == () else term(graph.reads[node], entry[node])
        made[node] = then(then(before, read), graph.step[node])
    return made[graph.end]


def _forked(parts: list[D]) -> D:
    """The fork of some terms; copies, exchanges and the empty tuple have names."""
    if not parts:
        return it
    if len(parts) == 2 and all(isinstance(part, Id) for part in parts):
        return dup
    return swap if parts == [exr, exl] else Fork(tuple(parts))


def _projection(k: int, n: int) -> D:
    return (exl, exr)[k] if n == 2 else Proj(k)


class _Graph:
    """The values of a program as nodes, each after what it reads: the argument, results of lines, parts of tuples, the result.

    `reads` has the nodes that a node reads, nested; `step` its term after these: that of its line, or a projection.
    """

    def __init__(self, program: Program) -> None:
        self.reads: list[Any] = []
        self.step: list[D] = []
        self.at: dict[Any, int] = {}  # by variable, or nested tuple of variables
        self.add(rebuild(program.dom, list(range(program.inputs))), (), identity)
        for term, args, outs in zip(program.children, program.args, program.outs, strict=True):
            own = with_scopes(term, point_free)  # type: ignore[arg-type]
            self.add(outs, self.resolved(args), it >> own if args == () and not isinstance(own, Const) else own)
        self.end = self.node(self.resolved(program.result), it if program.result == () else identity)

    def node(self, reads: Any, step: D) -> int:
        self.reads.append(reads)
        self.step.append(step)
        return len(self.step) - 1

    def add(self, value: Any, reads: Any, step: D) -> None:
        """Nodes for a value and its parts."""
        self.at[value] = node = self.node(reads, step)
        if isinstance(value, tuple):
            for k, part in enumerate(value):
                self.add(part, node, _projection(k, len(value)))

    def resolved(self, nested: Any) -> Any:
        """The nodes of a nested tuple of variables; a tuple that is a value as it stands is one node."""
        if nested != () and nested in self.at:
            return self.at[nested]
        return tuple([self.resolved(part) for part in nested])


class _Tree:
    """A tree that grows from its root; of the nodes that are in it, the lowest common ancestor."""

    def __init__(self, root: int) -> None:
        self.parent, self.depth = {root: root}, {root: 0}

    def below(self, node: int, parents: list[int]) -> None:
        """Add a node below the lowest common ancestor of some nodes."""
        at = parents[0]
        for other in parents[1:]:
            while at != other:
                if self.depth[at] < self.depth[other]:
                    at, other = other, at
                at = self.parent[at]
        self.parent[node], self.depth[node] = at, self.depth[at] + 1

    def spans(self) -> dict[int, tuple[int, int]]:
        """For each node the interval of numbers that its descendants have, its own number first."""
        below: dict[int, list[int]] = {}
        for node, parent in self.parent.items():
            if node != parent:
                below.setdefault(parent, []).append(node)
        first: dict[int, int] = {}
        spans = {}
        stack = [(node, False) for node, parent in self.parent.items() if node == parent]
        while stack:
            node, ready = stack.pop()
            if ready:
                spans[node] = first[node], len(first)
            else:
                first[node] = len(first)
                stack += [(node, True), *[(child, False) for child in below.get(node, ())]]
        return spans


def _regions(graph: _Graph) -> tuple[dict[int, int], dict[int, int]]:
    """For each node that is needed the node relative to which its term is written, and that relative to which it reads."""
    needed, constant = _needed(graph)
    varying = [node for node in needed if node not in constant]
    reads = {node: [k for k in flatten(graph.reads[node]) if k not in constant] for node in varying}
    reads[graph.end] = reads[graph.end] or [SOURCE]  # of a constant
    users: dict[int, list[int]] = {node: [] for node in varying}
    for node in varying:
        for k in reads[node]:
            users[k].append(node)
    dominators, after = _Tree(SOURCE), _Tree(graph.end)
    for node in varying:
        if node != SOURCE:
            dominators.below(node, reads[node])
    for node in reversed(varying):
        if node != graph.end:
            after.below(node, users[node])
    spans = after.spans()
    context = dict.fromkeys(needed, SOURCE)
    entry = dict.fromkeys(needed, SOURCE)
    for node in reversed(varying):
        if node == SOURCE:
            continue
        nearest = dominators.parent[node]
        if nearest != context[node] and _is_private(nearest, node, reads, spans):
            entry[node] = nearest
            context[nearest] = context[node]
        else:
            entry[node] = context[node]
        for k in reads[node]:
            if k != entry[node]:
                context[k] = entry[node]
    return context, entry


def _needed(graph: _Graph) -> tuple[list[int], set[int]]:
    """The nodes on which the result depends, in order, and those of them that depend on no argument."""
    found = {SOURCE, graph.end}
    for node in range(graph.end, SOURCE, -1):
        if node in found:
            found.update(flatten(graph.reads[node]))
    order = sorted(found)
    constant: set[int] = set()
    for node in order:
        if node != SOURCE and node != graph.end and constant.issuperset(flatten(graph.reads[node])):
            constant.add(node)
    return order, constant


def _is_private(first: int, last: int, reads: dict[int, list[int]], spans: dict[int, tuple[int, int]]) -> bool:
    """True where what lies between two nodes is read between them only: all ways from it to the result go through the last."""
    start, stop = spans[last]
    stack, seen = list(reads[last]), {first}
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        if not start <= spans[node][0] < stop:
            return False
        seen.add(node)
        stack += reads[node]
    return True
