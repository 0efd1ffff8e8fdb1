"""Linear maps on a page: where entries are, what is stored, how equations are solved; and their parts as a diagram."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count

import numpy as np

from catad.category.spaces import Tensor
from catad.drawing.graph import Graph, Node, trimmed
from catad.drawing.labels import shortened, space_label
from catad.drawing.page import line, opening, page, row, table
from catad.drawing.pattern import cells_of, pattern
from catad.drawing.render import render
from catad.errors import CatadError
from catad.linear.families.inverses import inverse_of
from catad.linear.map import LinearMap
from catad.linear.structure import Structure

SIZE = 150  # pixels of the picture of a map
LISTED = 16  # parts, leaves or arrays in a table; of more, the first
CELLS, PICTURED = 12, 40  # cells along a small picture, and how many small pictures are made
SEARCHED = 4096  # unknowns up to which the way to solve is looked for

_WORDS = {"general": "LU factors", "pos": "Cholesky factors", "tridiagonal": "factors of three diagonals"}


def map_page(linear: LinearMap) -> str:
    """A linear map for notebooks. Nothing is multiplied, factorised or written out."""
    structure = linear.structure
    rows, columns = linear.shape
    dense = rows * columns
    facts = [
        ("kind", structure.kind),
        ("domain", shortened(space_label(linear.dom), 80)),
        ("codomain", shortened(space_label(linear.cod), 80)),
        ("matrix", f"{rows:,} x {columns:,}"),
        ("stored numbers", f"{structure.stored:,}"),
        ("of a dense matrix", f"{structure.stored / dense:.3%} of {dense:,}" if dense else "0"),
        ("bytes", f"{sum([space.nbytes for space in structure.slots]):,}"),
        ("solved by", solution_of(structure)),
    ]
    parts = [table(["linear map", ""], facts, 2)]
    own = _parts(structure)
    if own:
        shown = [[p.kind, f"{p.rows:,} x {p.columns:,}", f"{p.stored:,}"] for p in own[:LISTED]]
        parts.append(opening(f"{len(own):,} parts", table(["part", "size", "stored"], shown), left_out(len(own), "part")))
    source: LinearMap | Structure = linear if _on_host(linear) else structure
    return page(row(pattern(source, SIZE), "".join(parts)))


def _on_host(linear: LinearMap) -> bool:
    """True where the map is filled with arrays whose numbers can be read at once."""
    return all(isinstance(slot, np.ndarray) or hasattr(slot, "get") for slot in linear.slots)


def left_out(n: int, word: str) -> str:
    return line(f"{n - LISTED:,} more {word}s are left out", quiet=True) if n > LISTED else ""


def _parts(structure: Structure) -> list[Structure]:
    """The maps of which a map is made, in the order in which they are applied."""
    graph = structure.graph
    if graph is not None and graph.nodes:
        nodes = reversed(graph.nodes) if graph.backward else graph.nodes
        return [node.part[0].T if graph.backward else node.part[0] for node in nodes]
    if structure.summands:
        return list(structure.summands)
    if structure.is_grid:
        return list(structure.pieces or ())
    return [part for part, _ in structure.series] if len(structure.series) > 1 else []


def solution_of(structure: Structure) -> str:
    """How equations with a map are solved, as far as its structure decides it; nothing is computed."""
    if structure.rows != structure.columns:
        return "nothing: it is not square"
    if structure.rows > SEARCHED:
        if structure.is_composite or type(structure).solver is Structure.solver:
            return f"what L.solver says: the way to solve more than {SEARCHED:,} unknowns is not looked for here"
        return f"the solver of its family, {structure.kind}"
    try:
        found = inverse_of(structure).structure
    except CatadError as error:
        return f"nothing: {str(error).splitlines()[0]}"
    used = list(dict.fromkeys([_said(*one) for one in _inverses(found)]))
    if not used:
        return f"its inverse, {found.kind}, without factors"
    return shortened("; ".join(used), 120)


def _inverses(structure: Structure) -> Iterator[tuple[Structure, str]]:
    """The inverses that are part of a map: what each solves, and by which factors."""
    if structure.solved is not None:
        yield structure.solved
    else:
        for part in _parts(structure):
            yield from _inverses(part)


def _said(of: Structure, kind: str) -> str:
    if not kind:
        return f"the solver of its structure, {of.kind}"
    if kind.startswith("band"):
        below, above = kind.split()[1:]
        return f"LU factors of a band, {below} below the diagonal and {above} above"
    return _WORDS.get(kind, f"factors, {kind}")


# -- as a diagram


def drawn_maps(structure: Structure, styled: bool = False) -> str:
    """The maps of a chain or of a network as a diagram, with the places of their entries, as SVG text."""
    graph = structure.graph
    if graph is None or not graph.nodes:
        maps = _parts(structure) if len(structure.series) > 1 else [structure]
        nodes = [_box(part, [k], [k + 1], k < PICTURED) for k, part in enumerate(maps)]
        ends = {0: _label(structure.dom), len(maps): _label(structure.cod)}
        return render(trimmed(Graph([0], nodes, [len(maps)], ends)), structure.kind, styled=styled)
    back = graph.backward
    order = list(reversed(graph.nodes)) if back else list(graph.nodes)
    nodes = []
    for k, node in enumerate(order):
        part = node.part[0].T if back else node.part[0]
        ins, outs = (node.outs, node.ins) if back else (node.ins, node.outs)
        nodes.append(_box(part, list(ins), list(outs), k < PICTURED))
    starts, goals = (graph.outputs, graph.inputs) if back else (graph.inputs, graph.outputs)
    return render(trimmed(_with_sums(starts, nodes, goals, graph.wires)), structure.kind, styled=styled)


def _with_sums(starts: Sequence[int], nodes: Sequence[Node], ends: Sequence[int], wires: Sequence[Tensor]) -> Graph:
    """A graph in which each wire has one source: what several maps write is added by a box."""
    fresh, names = count(), dict[int, list[int]]()
    out: list[Node] = []
    labels: dict[int, str] = {}

    def read(k: int) -> list[int]:
        own = names.get(k, [])
        if len(own) > 1:
            names[k] = [next(fresh)]
            out.append(Node("+", "the sum of what meets here", "pointwise", own, names[k]))
        return names.get(k, [])

    def written(k: int) -> int:
        name = next(fresh)
        names.setdefault(k, []).append(name)
        return name

    inputs = [written(k) for k in starts]
    labels |= {name: space_label(wires[k]) for name, k in zip(inputs, starts, strict=True) if k >= 0}
    for node in nodes:
        node.ins = [name for k in node.ins for name in read(k)]
        node.outs = [written(k) for k in node.outs]
        out.append(node)
    results = [(name, k) for k in ends for name in read(k)]
    labels |= {name: space_label(wires[k]) for name, k in results}
    return Graph(inputs, out, [name for name, _ in results], labels)


def _label(leaves: Sequence[Tensor]) -> str:
    return ", ".join([space_label(leaf) for leaf in leaves[:3]]) + (f" and {len(leaves) - 3} more" if len(leaves) > 3 else "")


def _box(part: Structure, ins: list[int], outs: list[int], pictured: bool) -> Node:
    size = f"{part.rows:,} x {part.columns:,}"
    node = Node(shortened(part.kind), f"{part.kind}, {size}, stored {part.stored:,}", "linear", ins, outs, detail=size)
    if pictured:
        node.cells, node.shape = cells_of(part, None, CELLS), (part.rows, part.columns)
    return node
