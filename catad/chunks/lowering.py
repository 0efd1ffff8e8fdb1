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
from catad.chunks.parts import Piece, Ranges, numblocks, pieces
from catad.chunks.regions import Node, Region, made_by
from catad.chunks.tasks import Ref, Tasks
from catad.chunks.wires import Argument, At, Chunked, Joined, Local, Read, seen_from
from catad.chunks.worker import Gathered, RegionProgram, run_region

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


class Shown(NamedTuple):
    """What a read shows: pieces of blocks for each coordinate along each axis, and of which kind; `one`: always a whole block."""

    read: Read
    pieces: tuple[list[tuple[Piece, ...]], ...]
    one: bool
    kind: str


def _shown(read: Read, known: dict[Hashable, list[tuple[Piece, ...]]]) -> Shown:
    found = []
    for n, sizes, window in zip(read.array.shape, read.array.parts, read.windows, strict=True):
        ranges = Ranges((0,), (n,)) if window is None else window.ranges
        own = known.get((sizes, ranges))
        if own is None:
            own = known[sizes, ranges] = pieces(sizes, ranges)
        found.append(own)
    one = all(len(own) == 1 and own[0].whole for axis in found for own in axis)
    return Shown(read, tuple(found), one, exchange(read).kind)


class Lowered(NamedTuple):
    """What a region reads at each coordinate along each dimension of its grid, looked up once."""

    region: Region
    reads: tuple[Read, ...]
    shown: tuple[Shown, ...]
    offsets: tuple[tuple[int, tuple[int, ...]], ...]
    classes: tuple[tuple[int, ...], ...]  # for each dimension, a number for each coordinate: equal ones have equal layouts
    layout: int  # regions with equal numbers have equal layouts in equal classes: those of the steps of a loop


def lowered(region: Region, layouts: dict[Hashable, int], known: dict[Hashable, list[tuple[Piece, ...]]]) -> Lowered:
    """A region with the classes of its coordinates; `layouts` numbers what is laid out alike, `known` has pieces found before."""
    pack(region)
    reads = tuple(region.reads)
    shown = tuple([_shown(read, known) for read in reads])
    offsets = tuple([(node.dims[d], each) for node in region.nodes for d, each in node.box.offsets])
    classes = tuple([_classes(region, reads, d) for d in range(len(region.counts))])
    layout = layouts.setdefault(_layout(region, reads), len(layouts))
    return Lowered(region, reads, shown, offsets, classes, layout)


def _layout(region: Region, reads: Sequence[Read]) -> Hashable:
    """What the wirings of a region follow from, and nothing by which steps of a loop differ."""
    number = {read: k for k, read in enumerate(reads)}
    at = {node: k for k, node in enumerate(region.nodes)}
    nodes = []
    for node in at:
        box = node.box
        ins = [number.get(read, read.array.place) for read in node.reads()]
        made = [None if read in number else at[_made_by(read)] for read in node.reads()]
        nodes.append((box.lay, box.grid, box.notes, node.dims, tuple([d for d, _ in box.offsets]), tuple(ins), tuple(made)))
    dims = tuple(range(len(region.counts)))
    results = tuple([(at[Node(box, dims)], place) for box, place in region.results])
    return tuple([_seen(read) for read in reads]), tuple(nodes), results, region.together, region.name


def _seen(read: Read) -> Hashable:
    windows = [None if w is None else (w.dim, w.ranges.sizes) for w in read.windows]
    return read.array.shape, read.array.space.dtype, tuple(windows)


def _made_by(read: Read) -> Node:
    """The box that has made what is read in the same task."""
    source, dims = read.array.source, seen_from(read)
    assert isinstance(source, Local) and dims is not None
    return Node(source, dims)


def _classes(region: Region, reads: Sequence[Read], d: int) -> tuple[int, ...]:
    facts: list[Any] = []
    for read in reads:
        for window in read.windows:
            if window is not None and window.dim == d:
                facts.append(window.ranges.sizes)
    for box, dims in region.nodes:
        for own, sizes, notes in zip(dims, box.grid, box.notes, strict=True):
            if own == d:
                facts += [sizes] if notes is None else [sizes, notes]
    numbers: dict[tuple[Hashable, ...], int] = {}
    return tuple([numbers.setdefault(fact, len(numbers)) for fact in zip(*facts, strict=True)])


def wiring_at(one: Lowered, at: tuple[int, ...]) -> Wiring:
    """The wiring of a region at a coordinate."""
    region = one.region
    b = Builder()
    spaces = [Tensor(read.shape(at), read.array.space.dtype) for read in one.reads]
    inputs = [b.wire(space) for space in spaces]
    known = dict(zip(one.reads, inputs, strict=True))
    offsets = iter([b.wire(Tensor((), np.int64)) for _ in one.offsets])
    made: dict[tuple[Node, int], Any] = {}
    numbers: list[Any] = []
    for node in region.nodes:
        box = node.box
        own_at = [at[d] for d in node.dims]
        sizes = tuple([grid[c] for grid, c in zip(box.grid, own_at, strict=True)])
        notes = tuple([None if notes is None else notes[c] for notes, c in zip(box.notes, own_at, strict=True)])
        own = [next(offsets) for _ in box.offsets]
        numbers += own
        wires = []
        for read in node.reads():
            wire = known.get(read)
            if wire is None:
                wire = made[_made_by(read), read.array.place]
            wires.append(wire)
        for place, wire in enumerate(box.lay(b, wires, At(sizes, notes, tuple(own)))):
            made[node, place] = wire
    dims = tuple(range(len(region.counts)))
    outputs = tuple([made[Node(box, dims), place] for box, place in region.results])
    args = (*inputs, *numbers)
    return b.finish(Product(tuple([w.space for w in args])), args, outputs)


class Runner:
    """Makes the tasks of regions."""

    def __init__(self, tasks: Tasks, blocks: Blocks, engine: str, programs: dict[Any, RegionProgram]) -> None:
        self.tasks, self.blocks, self.engine, self.programs = tasks, blocks, engine, programs

    def run(self, one: Lowered) -> None:
        """All tasks of a region; their results are known to `blocks` then."""
        region = one.region
        along = [_Along(shown, self.blocks, region.level) for shown in one.shown]
        name = region.name
        given: list[list[Block]] = [[] for _ in region.results]
        items, counts = _items(region), [range(n) for n in region.counts]
        (box, result), *others = region.results
        axes = None if others else box.writes[result]  # of the array whose blocks are the results
        for at in itertools.product(*counts):
            program = self._program(one, at)
            args: list[Any] = []
            places: dict[Any, int] = {}
            leaves = [reader.leaf(at, args, places) for reader in along]
            plain = all(type(leaf) is int for leaf in leaves) and leaves == list(range(len(args)))
            numbers = [offsets[at[d]] for d, offsets in one.offsets]
            spec = None if plain else tuple(leaves)
            number = at if axes is None else tuple([0 if d is None else at[d] for d in axes])
            ref = self.tasks.task(name, number, run_region, [program, spec, at, *args, *numbers])
            for item, own in zip(items, given, strict=True):
                own.append((ref, item))
        for (box, place), k in region.results.items():
            self.blocks.give(region, box, place, _in_order(given[k], region.counts, box.writes[place]))

    def _program(self, one: Lowered, at: tuple[int, ...]) -> RegionProgram:
        key = one.layout, tuple([classes[c] for classes, c in zip(one.classes, at, strict=True)])
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


def _axes(region: Region) -> tuple[int | None, ...]:
    """The dimensions along which the first array is cut that the tasks of a region make and that is cut in all of its ways."""
    dims = tuple(range(len(region.counts)))
    for node in region.nodes:
        axes = tuple([None if d is None else node.dims[d] for d in node.box.writes[0]])
        if set(dims) <= set(axes):
            return axes
    return dims


def _in_order(blocks: list[Block], counts: Sequence[int], dims: Sequence[int | None]) -> Sequence[Block]:
    """Blocks in the C order of the coordinates of a grid, as those of an array whose axes are cut along some dimensions."""
    order = [d for d in dims if d is not None]
    if order == sorted(order):
        return blocks
    numbers = np.arange(len(blocks)).reshape(counts).transpose(order).reshape(-1)
    return [blocks[k] for k in numbers]


class _Along:
    """The blocks that a read shows at each coordinate."""

    def __init__(self, shown: Shown, blocks: Blocks, level: int) -> None:
        read, self.pieces, self.simple, kind = shown
        again = kind == "block" or (kind == "edges" and isinstance(read.array.source, Argument))
        self.blocks = blocks.at_level(read.array, level) if again else blocks.apart(read.array)
        counts = numblocks(read.array.parts)
        self.strides = [math.prod(counts[k + 1 :]) for k in range(len(counts))]
        self.dims = [None if window is None else window.dim for window in read.windows]
        self.specs: dict[Any, Any] = {}

    def leaf(self, at: tuple[int, ...], args: list[Any], places: dict[Any, int]) -> Any:
        """How the task finds what is read among its arguments, which are added where they are not there yet."""
        if self.simple:
            k = 0
            for dim, stride, axis in zip(self.dims, self.strides, self.pieces, strict=True):
                k += stride * axis[0 if dim is None else at[dim]][0].block
            return _place(self.blocks[k], args, places)
        own = [axis[0 if dim is None else at[dim]] for dim, axis in zip(self.dims, self.pieces, strict=True)]
        slices = tuple([tuple([None if p.whole else (p.start, p.stop) for p in axis]) for axis in own])
        found = []
        for each in itertools.product(*own):
            k = sum([stride * p.block for stride, p in zip(self.strides, each, strict=True)])
            found.append(_place(self.blocks[k], args, places))
        spec = Gathered(tuple([len(axis) for axis in own]), slices, tuple(found))
        return self.specs.setdefault(spec, spec)


def _place(block: Block, args: list[Any], places: dict[Any, int]) -> Any:
    ref, item = block
    key = id(ref)
    k = places.get(key)
    if k is None:
        k = places[key] = len(args)
        args.append(ref)
    return k if item is None else (k, item)
