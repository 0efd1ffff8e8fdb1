"""Regions as tasks: one for each coordinate, with the blocks that it reads and the program that it runs.

Coordinates whose blocks have the same sizes run the same program. What differs otherwise, such as where a block lies in its
array, is an argument of the program.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from catad.category.spaces import Product, Tensor
from catad.category.wiring import Builder, Wiring
from catad.chunks.exchanges import exchange
from catad.chunks.leaves import Edges, Leaves, Slices, edges_of
from catad.chunks.parts import numblocks, ranges_of
from catad.chunks.regions import Node, Region, facts_along, made_by, node_of
from catad.chunks.tasks import Ref, Tasks
from catad.chunks.wires import Argument, Chunked, Joined, Local, Read
from catad.chunks.worker import Assembled, CutEdges, RegionProgram, RunRegion
from catad.errors.places import users_call

LIGHT = 1 << 16  # bytes that a task may hold beside what it reads
PACKED = 1 << 12  # bytes of a result up to which a task gives it together with others
Block = tuple[Ref, "int | tuple[int, int] | None"]  # a task, and which entry of its tuple, or of the tuple there, if it gives one


class Blocks:
    """Where the blocks of arrays are: those of arguments, and what regions have given so far."""

    def __init__(self, tasks: Tasks, arguments: Sequence[Any]) -> None:
        self.tasks = tasks
        self._arguments = arguments
        self._known: dict[Chunked, Sequence[Block]] = {}
        self._apart: dict[Chunked, Sequence[Block]] = {}
        self._light: set[tuple[Local, int]] = set()  # what is a small part of the tuples that tasks give
        self._passes: dict[int, int] = {}  # the level that reads an argument first
        self._again: dict[tuple[int, int], Sequence[Block] | None] = {}
        self._of: dict[tuple[Local, int], Sequence[Block]] = {}
        self._edges: dict[Any, Ref] = {}
        self.place = users_call()

    def give(self, region: Region, box: Local, place: int, blocks: Sequence[Block]) -> None:
        """Note where the blocks of a result of a region are."""
        self._of[box, place] = blocks
        if is_small_part(region, box, place):
            self._light.add((box, place))

    def of(self, array: Chunked) -> Sequence[Block]:
        """All blocks in C order."""
        found = self._known.get(array)
        if found is None:
            found = self._known[array] = self._found(array)
        return found

    def at_level(self, array: Chunked, level: int) -> Sequence[Block]:
        """The blocks for a region of a level: those of arguments are read again, so that they need not be held until then."""
        source = array.source
        if isinstance(source, Argument) and source.constant is None and level > self._passes.setdefault(source.number, level):
            key = source.number, level
            if key not in self._again:
                given = self._arguments[source.number]
                again = None if isinstance(given, (np.ndarray, np.generic)) else self.tasks.blocks_again(given)
                self._again[key] = None if again is None else [(ref, None) for ref in again]
            return self._again[key] or self.of(array)
        return self.of(array)

    def apart(self, array: Chunked) -> Sequence[Block]:
        """The same; of tuples that are mostly other results, each as the result of a task of its own."""
        found = self._apart.get(array)
        if found is None:
            found = self.of(array)
            if any(made in self._light for made in made_by(array)):
                found = [self._entry(ref, k) for ref, k in found]
            self._apart[array] = found
        return found

    def unpacked(self, array: Chunked) -> Sequence[tuple[Ref, int | None]]:
        """All blocks, each a task or an entry of a tuple that a task gives."""
        return [self._entry(ref, k) if isinstance(k, tuple) else (ref, k) for ref, k in self.of(array)]

    def _entry(self, ref: Ref, k: int | tuple[int, int] | None) -> tuple[Ref, int | None]:
        if isinstance(k, tuple):
            return self.tasks.entry(ref, k[0]), k[1]
        return (ref if k is None else self.tasks.entry(ref, k)), None

    def edges(self, block: Block, slices: Sequence[Any], array: Chunked, k: int) -> Ref:
        """The task that cuts edges of block number k of an array."""
        key = id(block[0]), block[1], slices
        if key not in self._edges:
            at = tuple([int(c) for c in np.unravel_index(k, numblocks(array.parts))])
            args = [slices, block[1], _declared(array, k), at, block[0]]
            self._edges[key] = self.tasks.task("edges", at, CutEdges(*self.place), args)
        return self._edges[key]

    def _found(self, array: Chunked) -> Sequence[Block]:
        source = array.source
        if isinstance(source, Argument):
            if source.constant is not None:
                return [(self.tasks.value("constant", source.constant), None)]
            given = self._arguments[source.number]
            if isinstance(given, (np.ndarray, np.generic)):
                return [(self.tasks.value("argument", given), None)]
            return [(ref, None) for ref in self.tasks.blocks(given)]
        if isinstance(source, Joined):
            each = [self._grid(one) for one in source.arrays]
            return list(np.concatenate(each, axis=source.axis).reshape(-1))
        return self._of[source, array.place]

    def _grid(self, array: Chunked) -> Any:
        counts = numblocks(array.parts)
        grid = np.empty(math.prod(counts), dtype=object)
        grid[:] = self.of(array)
        return grid.reshape(counts)


def is_small_part(region: Region, box: Local, place: int) -> bool:
    """Whether a result of a region is so small beside the others that who reads it should not hold these."""
    rest = sum([other.spaces[k].nbytes for other, k in region.results if (other, k) != (box, place)])
    return rest / region.tasks > max(LIGHT, 4 * box.spaces[place].nbytes / region.tasks)


def pack(region: Region) -> None:
    """Put small results beside large ones in a tuple of their own: of a task, other chunks read that one alone."""
    most = PACKED * region.tasks
    small = [key for key in region.results if key[0].spaces[key[1]].nbytes <= most and is_small_part(region, *key)]
    large = [key for key in region.results if key not in small]
    if large and len(small) > 1:
        region.results = {key: k for k, key in enumerate([*large, *small])}
        region.together = len(small)


def is_packed(region: Region, box: Local, place: int) -> bool:
    """Whether tasks give a result in a tuple with other small ones."""
    return region.results[box, place] >= len(region.results) - region.together


class Lowered(NamedTuple):
    """What a region reads at each coordinate along each dimension of its grid, looked up once."""

    region: Region
    reads: tuple[Leaves, ...]
    offsets: tuple[tuple[int, tuple[int, ...]], ...]
    classes: tuple[tuple[int, ...], ...]  # for each dimension, a number for each coordinate: equal ones have equal layouts
    layout: int  # regions with equal numbers have equal layouts in equal classes: those of the steps of a loop


def lowered(region: Region, layouts: dict[Hashable, int]) -> Lowered:
    """A region with the classes of its coordinates; `layouts` numbers what is laid out alike."""
    pack(region)
    reads = tuple([Leaves(read) for read in region.reads])
    offsets = tuple([(node.dims[d], each) for node in region.nodes for d, each in node.box.offsets])
    classes = tuple([_classes(region, reads, d) for d in range(len(region.counts))])
    layout = layouts.setdefault(_layout(region, reads), len(layouts))
    return Lowered(region, reads, offsets, classes, layout)


def _layout(region: Region, reads: Sequence[Leaves]) -> Hashable:
    """What the wirings of a region follow from, and nothing by which steps of a loop differ."""
    number = {one.read: k for k, one in enumerate(reads)}
    at = {node: k for k, node in enumerate(region.nodes)}
    nodes = []
    for node in at:
        box = node.box
        ins = [number.get(read, read.array.place) for read in node.reads()]
        made = [None if read in number else at[node_of(read)] for read in node.reads()]
        nodes.append((box.lay, box.grid, box.notes, node.dims, tuple([d for d, _ in box.offsets]), tuple(ins), tuple(made)))
    dims = tuple(range(len(region.counts)))
    results = tuple([(at[Node(box, dims)], place) for box, place in region.results])
    return tuple([_seen(one) for one in reads]), tuple(nodes), results, region.together, region.name


def _seen(one: Leaves) -> Hashable:
    array = one.read.array
    return array.shape, array.space.dtype, tuple(one.dims), tuple([tuple(own) for own in one.facts]), one.split


def _classes(region: Region, reads: Sequence[Leaves], d: int) -> tuple[int, ...]:
    facts: list[Any] = [own for read in reads for dim, own in zip(read.dims, read.facts, strict=True) if dim == d]
    facts += facts_along(region.nodes, d)
    numbers: dict[tuple[Hashable, ...], int] = {}
    return tuple([numbers.setdefault(fact, len(numbers)) for fact in zip(*facts, strict=True)])


def wiring_at(one: Lowered, at: tuple[int, ...]) -> Wiring:
    """The wiring of a region at a coordinate."""
    region = one.region
    b = Builder()
    inputs: list[Any] = []
    known: dict[Read, Any] = {}
    for leaves in one.reads:
        own_inputs, known[leaves.read] = leaves.wire(b, at)
        inputs += own_inputs
    offsets = iter([b.wire(Tensor((), np.int64)) for _ in one.offsets])
    made: dict[tuple[Node, int], Any] = {}
    numbers: list[Any] = []
    for node in region.nodes:
        own = tuple([next(offsets) for _ in node.box.offsets])
        numbers += own
        wires = [known[read] if read in known else made[node_of(read), read.array.place] for read in node.reads()]
        made.update({(node, k): wire for k, wire in enumerate(node.box.lay(b, wires, node.at(at, own)))})
    dims = tuple(range(len(region.counts)))
    outputs = tuple([made[Node(box, dims), place] for box, place in region.results])
    args = (*inputs, *numbers)
    return b.finish(Product(tuple([w.space for w in args])), args, outputs)


class Runner:
    """Makes the tasks of regions."""

    def __init__(self, tasks: Tasks, blocks: Blocks, engine: str, programs: dict[Any, RegionProgram]) -> None:
        self.tasks, self.blocks, self.engine, self.programs = tasks, blocks, engine, programs
        self._runs = [RunRegion(*blocks.place, checks) for checks in (False, True)]

    def run(self, one: Lowered) -> None:
        """All tasks of a region; their results are known to `blocks` then."""
        region = one.region
        edges = edges_of(one.reads, region.counts)
        along = [_Along(read, self.blocks, region.level, edges.get(read.read.array, {})) for read in one.reads]
        name = region.name
        given: list[list[Block]] = [[] for _ in region.results]
        items, counts = _items(region), [range(n) for n in region.counts]
        (box, result), *others = region.results
        axes = None if others else box.writes[result]  # of the array whose blocks are the results
        checked = _with_entries(region)
        for at in itertools.product(*counts):
            program = self._program(one, at)
            args: list[Any] = []
            places: dict[Any, int] = {}
            leaves = [leaf for reader in along for leaf in reader.leaves(at, args, places)]
            plain = all(type(leaf) is int for leaf in leaves) and leaves == list(range(len(args)))
            numbers = [offsets[at[d]] for d, offsets in one.offsets]
            spec = None if plain else tuple(leaves)
            number = at if axes is None else tuple([0 if d is None else at[d] for d in axes])
            ref = self.tasks.task(name, number, self._runs[at == checked], [program, spec, at, *args, *numbers])
            for item, own in zip(items, given, strict=True):
                own.append((ref, item))
        for (box, place), k in region.results.items():
            self.blocks.give(region, box, place, _in_order(given[k], region.counts, box.writes[place]))

    def _program(self, one: Lowered, at: tuple[int, ...]) -> RegionProgram:
        key = self.engine, one.layout, tuple([classes[c] for classes, c in zip(one.classes, at, strict=True)])
        found = self.programs.get(key)
        if found is None:
            wiring, region = wiring_at(one, at), one.region
            found = self.programs[key] = RegionProgram(wiring, self.engine, region.name, _axes(region), region.together)
        return found


def _items(region: Region) -> list[int | tuple[int, int] | None]:
    """Where each result of a region is in what its tasks give."""
    count = len(region.results)
    apart = count - region.together
    return [None] if count == 1 else [k if k < apart else (apart, k - apart) for k in range(count)]


def _with_entries(region: Region) -> tuple[int, ...]:
    """The first coordinate whose blocks are not empty, on which laws are checked; the first of all where there is none."""
    found = []
    for d, n in enumerate(region.counts):
        grids = [box.grid[k] for box, dims in region.nodes for k, own in enumerate(dims) if own == d]
        found.append(next((c for c in range(n) if all(sizes[c] for sizes in grids)), 0))
    return tuple(found)


def _axes(region: Region) -> tuple[int | None, ...]:
    """The dimensions along which the axes of an array are cut: the first one with a block for each coordinate of a region."""
    dims = set(range(len(region.counts)))
    found = [_seen_along(read) for read in region.reads]
    found += [tuple([None if d is None else node.dims[d] for d in node.box.writes[0]]) for node in region.nodes]
    return next((axes for axes in found if dims <= set(axes)), tuple(sorted(dims)))


def _seen_along(read: Read) -> tuple[int | None, ...]:
    """The dimensions whose coordinates number the blocks that a read shows along each axis; None where it shows others."""
    return tuple([
        None if window is None or window.ranges != ranges_of(sizes) else window.dim
        for sizes, window in zip(read.array.parts, read.windows, strict=True)
    ])  # fmt: skip


def _in_order(blocks: list[Block], counts: Sequence[int], dims: Sequence[int | None]) -> Sequence[Block]:
    """Blocks in the C order of the coordinates of a grid, as those of an array whose axes are cut along some dimensions."""
    order = [d for d in dims if d is not None]
    if order == sorted(order):
        return blocks
    numbers = np.arange(len(blocks)).reshape(counts).transpose(order).reshape(-1)
    return [blocks[k] for k in numbers]


class _Along:
    """The blocks that a read shows at each coordinate."""

    def __init__(self, read: Leaves, blocks: Blocks, level: int, wanted: Edges) -> None:
        self.shown, array = read, read.read.array
        kind = exchange(read.read).kind
        again = kind == "block" or (kind == "edges" and isinstance(array.source, Argument))
        self.wanted, level_blocks = wanted, blocks.at_level(array, level)
        self.edges = {k: blocks.edges(level_blocks[k], tuple(own), array, k) for k, own in wanted.items()}
        self.blocks = level_blocks if again else blocks.apart(array)
        self.specs: dict[Any, Any] = {}

    def leaves(self, at: tuple[int, ...], args: list[Any], places: dict[Any, int]) -> Sequence[Any]:
        """How the task finds what is read among its arguments, which are added where they are not there yet."""
        if 0 in self.shown.read.shape(at):
            return ()
        found: list[tuple[Any, Slices, Tensor | None]] = []
        for block, slices in self.shown.shown(at):
            edge = self.wanted.get(block, {}).get(slices)
            if edge is not None:
                found.append((_place((self.edges[block], edge), args, places), (None,) * len(slices), None))
            else:
                declared = None if self.shown.simple else _declared(self.shown.read.array, block)
                found.append((_place(self.blocks[block], args, places), slices, declared))
        if self.shown.split or self.shown.simple:
            return [
                self._spec((1,) * len(own), tuple([(s,) for s in own]), (leaf,), (said,)) if any(own) else leaf
                for leaf, own, said in found
            ]
        axes = self.shown.at(at)
        each = tuple([tuple([None if p.whole else (p.start, p.stop) for p in axis]) for axis in axes])
        leaves, _, declared_each = zip(*found, strict=True)
        return [self._spec(tuple([len(axis) for axis in axes]), each, leaves, declared_each)]

    def _spec(self, counts: Any, slices: Any, leaves: Any, declared: Any) -> Any:
        spec = Assembled(counts, slices, leaves, declared)
        return self.specs.setdefault(spec, spec)


def _declared(array: Chunked, k: int) -> Tensor | None:
    """The space of block number k of an array of the user, in which it must lie before it is cut."""
    if isinstance(array.source, Local):
        return None
    sizes = []
    for own in reversed(array.parts):
        k, c = divmod(k, len(own))
        sizes.append(own[c])
    return Tensor(tuple(reversed(sizes)), array.space.dtype)


def _place(block: Block, args: list[Any], places: dict[Any, int]) -> Any:
    ref, item = block
    key = id(ref)
    k = places.get(key)
    if k is None:
        k = places[key] = len(args)
        args.append(ref)
    return k if item is None else (k, item)
