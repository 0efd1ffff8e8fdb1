"""The graph of a term without a domain: a functor from terms to graphs whose wires have no spaces yet.

A wire is taken to be one leaf until something needs it to be a tuple (`exl`, `swap`, a `cross`); then it is refined, and is
drawn as several wires from where it starts. Each occurrence of a part is drawn. A long chain keeps its ends; a part that is
too big for its share of the picture becomes one box that says how many boxes it stands for.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from types import GeneratorType
from typing import Any

from catad.category.cartesian import Proj, Structural
from catad.category.constant import Const
from catad.category.terms import Compose, Cross, D, Fork, Id
from catad.category.text import ordered
from catad.drawing.graph import BOXES, KEEP, LAYERS, Graph, box_node, more_node, narrowed
from catad.vector.pointwise.generate import Generate, Iota

_HUGE = 10**9  # counts of boxes are not followed further: shared parts make them exponential
_OPEN = (Id, Compose, Fork, Cross, Structural, Proj)  # drawn by their parts, not as a box
_CLOSED = (Const, Generate, Iota)  # boxes that read nothing
Shape = Any  # a Loose wire, or a tuple of shapes
Step = Generator[tuple[D, Shape, int], Shape, Shape]


@dataclass(eq=False)
class Loose:
    """A wire that may still turn out to be a tuple of wires; `whole` once its length is certain."""

    number: int
    parts: list[Loose] | None = None
    whole: bool = False


def of_term(term: D) -> Graph:
    """The graph of a term."""
    return _Drawing(term).graph()


class _Drawing:
    def __init__(self, term: D) -> None:
        self.term = term
        self.count = 0
        self.nodes: list[tuple[D | int, Shape, Loose]] = []  # a box (or how many it stands for), its argument and result
        self.sizes: dict[int, int] = {}
        for part in ordered(term):
            inside = [self.sizes[id(child)] for child in part.children] if isinstance(part, _OPEN) else []
            own = 0 if isinstance(part, _OPEN) else 1
            self.sizes[id(part)] = min(_HUGE, own + sum(inside))

    def wire(self) -> Loose:
        self.count += 1
        return Loose(self.count - 1)

    def graph(self) -> Graph:
        """Lay out the term, then number the wires that are left when all tuples are known."""
        x = self.wire()
        y = self.laid_out(x)
        nodes = []
        for what, ins, out in self.nodes:
            reads, writes = leaves(ins), leaves(out)
            if isinstance(what, int):
                nodes.append(more_node(what if what < _HUGE else f"over {_HUGE:,}", reads, writes))
            else:
                nodes.append(box_node(what, reads, writes).named())
        return narrowed(Graph(leaves(x), nodes, leaves(y)))

    def laid_out(self, x: Shape) -> Shape:
        """Walk the term on a stack of its own; a part asks for its parts as (term, wires, budget)."""
        stack: list[Step] = []
        request: tuple[D, Shape, int] | None = (self.term, x, BOXES)
        result: Shape = None
        while True:
            if request is not None:
                made = self.visit(*request)
                request = None
                if isinstance(made, GeneratorType):
                    stack.append(made)
                    result = None
                else:
                    result = made
            if not stack:
                return result
            try:
                request = stack[-1].send(result)
            except StopIteration as stop:
                stack.pop()
                result = stop.value

    def visit(self, term: D, x: Shape, budget: int) -> Any:
        if isinstance(term, Id):
            return x
        if isinstance(term, (Structural, Proj)):
            moved = _moved(term, x, self)
            return self.box(term, x) if moved is None else moved
        if not isinstance(term, _OPEN):
            return self.box(term, () if isinstance(term, _CLOSED) else x)
        size = self.sizes[id(term)]
        if size > budget and budget < min(len(term.children), LAYERS):
            return self.box(size, x)
        return self.along(term, x, budget) if isinstance(term, Compose) else self.beside(term, x, budget)

    def box(self, what: D | int, x: Shape) -> Loose:
        out = self.wire()
        self.nodes.append((what, x, out))
        return out

    def along(self, term: Compose, x: Shape, budget: int) -> Step:
        """A chain: its parts from left to right, without the middle of a long one."""
        head, skipped, tail = _ends(term.factors)
        shares = self.shares([*head, *tail], budget)
        for factor, share in zip(head, shares, strict=False):
            x = yield factor, x, share
        if skipped:
            x = self.box(len(skipped), x)
        for factor, share in zip(tail, shares[len(head) :], strict=True):
            x = yield factor, x, share
        return x

    def beside(self, term: D, x: Shape, budget: int) -> Step:
        """A fork or a cross: its parts above each other."""
        if isinstance(term, Cross):
            parts = split(x, len(term.children), True, self)
            if parts is None:
                return self.box(term, x)
        else:
            parts = (x,) * len(term.children)
        head, skipped, tail = _ends(term.children)
        shares = self.shares([*head, *tail], budget)
        out = []
        for child, part, share in zip(head, parts, shares, strict=False):
            out.append((yield child, part, share))
        if skipped:
            middle = parts[len(head) : len(head) + len(skipped)]
            out.append(self.box(len(skipped), middle if isinstance(term, Cross) else x))
        for child, part, share in zip(tail, parts[len(parts) - len(tail) :], shares[len(head) :], strict=True):
            out.append((yield child, part, share))
        return tuple(out)

    def shares(self, terms: Sequence[D], budget: int) -> list[int]:
        """The number of boxes for each of some parts: all that it wants, or an equal share of what the small ones leave."""
        wants = [self.sizes[id(term)] for term in terms]
        out, left = [0] * len(wants), budget
        for rank, i in enumerate(sorted(range(len(wants)), key=lambda i: wants[i])):
            out[i] = min(wants[i], left // (len(wants) - rank))
            left -= out[i]
        return out


def _ends(terms: Sequence[D]) -> tuple[Sequence[D], Sequence[D], Sequence[D]]:
    if len(terms) <= LAYERS:
        return terms, (), ()
    return terms[:KEEP], terms[KEEP:-KEEP], terms[-KEEP:]


def leaves(x: Shape) -> list[int]:
    """The numbers of the wires of a shape from left to right."""
    out: list[int] = []
    stack = [x]
    while stack:
        top = stack.pop()
        if isinstance(top, tuple):
            stack.extend(reversed(top))
        elif top.parts is not None:
            stack.extend(reversed(top.parts))
        else:
            out.append(top.number)
    return out


def split(x: Shape, count: int, whole: bool, drawing: _Drawing) -> tuple[Shape, ...] | None:
    """The factors of a product with `count` factors (at least, if not `whole`), refining a wire; None if it has others."""
    if isinstance(x, tuple):
        return x if len(x) == count or (not whole and len(x) > count) else None
    parts = x.parts or []
    if (x.whole and len(parts) < count) or (whole and len(parts) > count):
        return None
    x.parts = parts + [drawing.wire() for _ in range(count - len(parts))]
    x.whole = x.whole or whole
    return tuple(x.parts)


def _moved(term: Structural | Proj, x: Shape, drawing: _Drawing) -> Shape | None:
    """The wires after a rearrangement; None where they are not of its pattern."""
    if isinstance(term, Proj):
        parts = split(x, term.index + 1, False, drawing)
        return None if parts is None else parts[term.index]
    if not term.pattern:
        return term.move(x)
    pair = split(x, 2, True, drawing)
    if pair is not None and term.name.startswith("assoc"):
        inner = split(pair[1 if term.name == "assoc_l" else 0], 2, True, drawing)
        if inner is None:
            return None
        pair = (pair[0], inner) if term.name == "assoc_l" else (inner, pair[1])
    return None if pair is None else term.move(pair)
