"""Regions: the local boxes that one task runs at a coordinate.

Boxes of one grid that pass blocks in place are of one region, unless something that must be exchanged lies between them. So
regions have levels: a box stands one level above what it reads through an exchange. Light boxes that follow from what a task
reads anyway are computed again there instead of being stored: those of smaller grids, and those of lower levels.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from catad.chunks.parts import ranges_of
from catad.chunks.wires import At, Chunked, Joined, Local, Read, seen_from

SMALL = 4096  # entries of arrays without blocks up to which each task computes them itself by light boxes
FEW = 64  # the same for other boxes
MORE = 1.25  # times the bytes of a stored result that are read for computing it again
BESIDE = 1 << 16  # bytes of an array without blocks that a task may read besides for that
READS = 4  # times the entries of a result that are read for computing it again

Counts = tuple[int, ...]  # of the blocks along each dimension of a grid


class Node(NamedTuple):
    """A box in a region: `dims` are the dimensions of the region that are those of its grid."""

    box: Local
    dims: tuple[int, ...]

    def reads(self) -> list[Read]:
        """What it reads, by the dimensions of the region."""
        return [read.through(self.dims) for read in self.box.reads]

    def at(self, coordinates: Sequence[int], offsets: tuple[Any, ...]) -> At:
        """Where it is laid out at a coordinate of the region, with the wires of its offsets."""
        own, box = [coordinates[d] for d in self.dims], self.box
        sizes = tuple([grid[c] for grid, c in zip(box.grid, own, strict=True)])
        return At(sizes, tuple([None if notes is None else notes[c] for notes, c in zip(box.notes, own, strict=True)]), offsets)


def facts_along(nodes: Iterable[Node], d: int) -> list[Sequence[Hashable]]:
    """What layouts of boxes depend on, beside what they read, at each coordinate along a dimension of a region."""
    facts: list[Sequence[Hashable]] = []
    for box, dims in nodes:
        for own, sizes, notes in zip(dims, box.grid, box.notes, strict=True):
            if own == d:
                facts += [sizes] if notes is None else [sizes, notes]
    return facts


def node_of(read: Read) -> Node:
    """The box that has made what is read, where that is at the same coordinate."""
    source, dims = read.array.source, seen_from(read)
    assert isinstance(source, Local) and dims is not None
    return Node(source, dims)


class Region:
    """Some local boxes, in the order in which they run: `reads` come from outside, `results` are read outside.

    The last results, as many as `together` says, are small ones that tasks give in one tuple beside the others.
    """

    def __init__(self, counts: Counts, level: int) -> None:
        self.counts, self.level, self.together = counts, level, 0
        self.nodes: dict[Node, None] = {}
        self.reads: dict[Read, None] = {}
        self.results: dict[tuple[Local, int], int] = {}

    @property
    def tasks(self) -> int:
        return math.prod(self.counts)

    @property
    def name(self) -> str:
        """What its tasks are called: the boxes that are not light, or else the last one."""
        heavy = list(dict.fromkeys([node.box.name for node in self.nodes if not node.box.light]))
        names = heavy or [next(reversed(self.nodes)).box.name]
        return " and ".join(names[:2]) + (" and others" if len(names) > 2 else "")

    def gives(self, box: Local, place: int) -> None:
        """Note that a result of a box is read outside."""
        self.results.setdefault((box, place), len(self.results))


def counts_of(box: Local) -> Counts:
    return tuple([len(sizes) for sizes in box.grid])


def components(x: Chunked) -> Iterator[Chunked]:
    """The arrays of which an array consists."""
    stack = [x]
    while stack:
        x = stack.pop()
        if isinstance(x.source, Joined):
            stack += reversed(x.source.arrays)
        else:
            yield x


def made_by(x: Chunked) -> list[tuple[Local, int]]:
    """The boxes that make the blocks of an array, and which of their results they are."""
    return [(one.source, one.place) for one in components(x) if isinstance(one.source, Local)]


def regions_of(results: Sequence[Chunked]) -> list[Region]:
    """The regions that make some arrays, each after those from which it reads."""
    order = reached([box for x in results for box, _ in made_by(x)])
    light = _Light(order)
    levels = _levels(order, light)
    own = _assigned(order, levels, light)
    wanted: dict[Region, dict[Local, None]] = {}

    def want(x: Chunked) -> None:
        for box, place in made_by(x):
            own[box].gives(box, place)
            wanted.setdefault(own[box], {})[box] = None

    for x in results:
        want(x)
    position = {box: k for k, box in enumerate(order)}
    regions = sorted(dict.fromkeys(own.values()), key=lambda region: -region.level)
    for region in regions:
        if region in wanted:
            _fill(region, list(wanted[region]), own, light, position)
            for read in region.reads:
                want(read.array)
    return [region for region in reversed(regions) if region.nodes]


def reached(ends: Iterable[Local]) -> list[Local]:
    """The boxes on which some boxes depend, these among them, each after those on which it depends."""
    order: dict[Local, None] = {}
    seen: set[Local] = set()
    stack = [(box, False) for box in reversed([*ends])]
    while stack:
        box, is_ready = stack.pop()
        if is_ready:
            order[box] = None
        elif box not in seen:
            seen.add(box)
            stack.append((box, True))
            stack += [(source, False) for read in reversed(box.reads) for source, _ in made_by(read.array)]
    return list(order)


class _Light:
    """Which boxes each task that reads their results may compute itself."""

    def __init__(self, order: Sequence[Local]) -> None:
        self.boxes = {box for box in order if self._pays(box)}

    @staticmethod
    def _pays(box: Local) -> bool:
        if box.stored:
            return False
        made = sum([space.size for space in box.spaces])
        read = sum([one.array.space.size for one in box.reads])
        if not box.grid:
            most = SMALL if box.light else FEW
            return made <= most and read <= most and not any(one.array.is_cut for one in box.reads)
        return box.light and read <= max(SMALL, READS * made)

    def inside(self, read: Read, salt: int, rank: int) -> Node | None:
        """The box that a task with so many dimensions runs for what it reads; None where it reads from outside."""
        source = read.array.source
        dims = seen_from(read)
        if dims is None or not isinstance(source, Local):
            return None
        if source.salt != salt and source.grid:
            return None
        in_place = dims == tuple(range(rank))
        return Node(source, dims) if in_place or source in self.boxes else None


def _levels(order: Sequence[Local], light: _Light) -> dict[Local, int]:
    """How many exchanges lie below each box."""
    levels: dict[Local, int] = {}
    elsewhere: dict[Local, int] = {}  # where regions of other grids compute a light box
    for box in order:
        level = lifted = 0
        rank = len(box.grid)
        for read in box.reads:
            inside = light.inside(read, box.salt, rank)
            for source, _ in made_by(read.array):
                outside = levels[source] + 1
                if inside is None:
                    level, lifted = max(level, outside), max(lifted, outside)
                else:
                    in_place = inside.dims == tuple(range(rank))
                    level = max(level, levels[source] if in_place else elsewhere[source])
                    lifted = max(lifted, elsewhere.get(source, outside))
        levels[box] = level
        if box in light.boxes:
            elsewhere[box] = lifted
    return levels


def _assigned(order: Sequence[Local], levels: dict[Local, int], light: _Light) -> dict[Local, Region]:
    """The region of each box: boxes of one level and grid are together where they pass or read a block in common."""
    parent: dict[Local, Local] = {box: box for box in order}

    def root(box: Local) -> Local:
        while parent[box] is not box:
            parent[box] = parent[parent[box]]
            box = parent[box]
        return box

    key = {box: (counts_of(box), levels[box], box.salt) for box in order}
    readers: dict[tuple[object, object], Local] = {}
    for box in order:
        for read in box.reads:
            inside = light.inside(read, box.salt, len(box.grid))
            if inside is not None and key[inside.box] == key[box]:
                parent[root(inside.box)] = root(box)
            if box.grid:
                first = readers.setdefault((read.array, key[box]), box)
                parent[root(first)] = root(box)
        if not box.grid:
            first = readers.setdefault((None, key[box]), box)
            parent[root(first)] = root(box)
    made: dict[Local, Region] = {}
    for box in order:
        top = root(box)
        if top not in made:
            made[top] = Region(*key[box][:2])
        made[box] = made[top]
    return made


def _fill(region: Region, asked: list[Local], own: dict[Local, Region], light: _Light, position: dict[Local, int]) -> None:
    """The boxes of a region, and what it reads from outside."""
    rank = len(region.counts)
    nodes: dict[Node, None] = {}
    outside: dict[Read, Node] = {}  # what other regions make at the same coordinate
    reads: dict[Read, None] = {}
    stack = [Node(box, tuple(range(rank))) for box in asked]
    while stack:
        node = stack.pop()
        if node in nodes:
            continue
        nodes[node] = None
        for read in node.reads():
            inside = light.inside(read, node.box.salt, rank)
            if inside is None:
                reads[read] = None
            elif own[inside.box] is region or inside.dims != tuple(range(rank)) or own[inside.box].level >= region.level:
                stack.append(inside)  # a light box that is not in place for its reader may be so here
            else:
                outside[read] = inside
    for read, inside in outside.items():
        found = _cone(inside, MORE * _shown(read), rank, reads, nodes, light)
        if found is None:
            reads[read] = None
        else:
            nodes.update(dict.fromkeys(found[0]))
            reads.update(dict.fromkeys(found[1]))
    region.nodes = dict.fromkeys(sorted(nodes, key=lambda node: position[node.box]))
    region.reads = {}
    for node in region.nodes:
        for read in node.reads():
            inside = light.inside(read, node.box.salt, rank)
            if inside is None or inside not in region.nodes:
                region.reads[read] = None


def _cone(
    node: Node, most: float, rank: int, reads: dict[Read, None], nodes: dict[Node, None], light: _Light
) -> tuple[list[Node], list[Read]] | None:
    """The boxes that compute what is read again, and what they read besides.

    None where they are not light, or a task reads more than `most` bytes of arrays that it does not read anyway, or for many.
    """
    cone: dict[Node, None] = {}
    more: dict[Read, None] = {}
    stack = [node]
    while stack:
        node = stack.pop()
        if node in cone or node in nodes:
            continue
        if node.box not in light.boxes:
            return None
        cone[node] = None
        for read in node.reads():
            inside = light.inside(read, node.box.salt, rank)
            if inside is not None and (inside.box in light.boxes or inside in nodes):
                stack.append(inside)
            elif read not in reads:
                more[read] = None
    known = {read.array for read in reads}
    new = {read.array: _shown(read) for read in more if read.array not in known}
    new = {x: nbytes for x, nbytes in new.items() if x.is_cut or x.nbytes > BESIDE}
    if not all(node.box.moves for node in cone) and not all(_shows_blocks(read) for read in more if read.array in new):
        return None
    return None if sum(new.values()) > most else (list(cone), list(more))


def _shows_blocks(read: Read) -> bool:
    """Whether a task reads nothing of other chunks."""
    return all(w is None or w.ranges == ranges_of(sizes) for w, sizes in zip(read.windows, read.array.parts, strict=True))


def _shown(read: Read) -> float:
    """The bytes that a task reads on average."""
    nbytes = float(read.array.space.dtype.itemsize)
    for n, window in zip(read.array.shape, read.windows, strict=True):
        nbytes *= n if window is None else sum(window.ranges.sizes) / len(window.ranges.starts)
    return nbytes
