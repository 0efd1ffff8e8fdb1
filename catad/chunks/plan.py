"""Boxes of a program as local boxes and exchanges: what the rules of `rules/` are written with.

A rule gives labels to the axes of its arguments and results. Equal labels are one index. Along a label that all results have,
a box runs block by block. Along one that it sums, each block gives a partial result, and `combined` folds these in a tree of
fixed arity. `before_each` folds what stands before each block (G. Blelloch, Prefix sums and their applications, 1990). So results
depend on the numbers and the blocks alone, and not on who computes which block when.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from catad import errors
from catad.category.boxes import Primitive
from catad.category.constant import Constant
from catad.category.spaces import Tensor
from catad.chunks import options
from catad.chunks.parts import Ranges, Sizes, Window, blocks_of, cut_axes, cut_like, in_order, ranges_of, uncut
from catad.chunks.wires import ANY, COMPUTED, FREE, STORED, At, Chunked, Local, Read
from catad.linear.families.reindex import StridedCopy, reshaped
from catad.vector.shapes.split import piece

if TYPE_CHECKING:
    from catad.category.wiring import Builder
    from catad.category.wiring import Wire as LocalWire

ARITY = 16  # partial results that one task combines
FLAT = 64  # totals that one task scans
KINDS = 4  # of parts of blocks, each of which needs a program
Labels = Sequence["int | None"]
"""A label for each axis; None for an axis that is never cut."""
LayLabelled = Callable[["Builder", "list[LocalWire]", Mapping[int, int]], "Sequence[LocalWire]"]
"""What lays a box out on wires, with the local sizes of labels."""
LayList = Callable[["Builder", "Sequence[LocalWire]"], "Sequence[LocalWire]"]


class Whole(NamedTuple):
    """A box that one task runs on whole arrays: why, and the bytes that it reads and writes."""

    name: str
    because: str
    nbytes: int


class Gathered(NamedTuple):
    """A box that reads all of an axis that is cut, at each coordinate of others: the bytes that the largest task reads so."""

    name: str
    nbytes: int


def seen_by(array: Chunked, windows: Sequence[Window | None]) -> Read:
    """A read of an array whose blocks are what windows have shown."""
    seen = [None if w is None or w.dim is None else blocks_of(w.dim, n) for w, n in zip(windows, array.parts, strict=True)]
    return Read(array, tuple(seen))


def part_of_blocks(array: Chunked, windows: Sequence[Window | None], salt: int) -> Chunked | None:
    """What windows show, where that is at each coordinate a part of its own block, which the task that makes it may take.

    None where they show blocks, or parts of others, or parts so different that each would need a program.
    """
    source = array.source
    if not isinstance(source, Local) or source.salt != salt or not source.grid:
        return None
    dims = source.writes[array.place]
    seen = tuple([None if d is None else blocks_of(d, sizes) for d, sizes in zip(dims, array.parts, strict=True)])
    if sorted([d for d in dims if d is not None]) != list(range(len(source.grid))):
        return None
    grid, notes = list(source.grid), list[Any]([None] * len(source.grid))
    for d, sizes, window in zip(dims, array.parts, windows, strict=True):
        if d is None or window is None or window.dim is None:
            if d is not None or window is not None:
                return None
        elif window.ranges != ranges_of(sizes):
            found = parts_within(ranges_of(sizes), window.ranges)
            if found is None:
                return None
            grid[d], notes[d] = window.ranges.sizes, found
    if not any(notes):
        return None

    def lay(b: Builder, wires: list[LocalWire], at: At) -> Sequence[LocalWire]:
        (x,) = wires
        for k, d in enumerate(dims):
            note: Any = None if d is None else at.notes[d]
            if note is not None:
                x = piece(b, x, k, note[0], x.shape[k] - note[1])
        return [x]

    box = Local("part", tuple(grid), [Read(array, seen)], lay, notes, light=True, salt=salt, moves=True)
    parts = tuple([sizes if d is None else grid[d] for d, sizes in zip(dims, array.parts, strict=True)])
    return box.result(Tensor([sum(sizes) for sizes in parts], array.space.dtype), dims, parts)


def parts_within(blocks: Ranges, shown: Ranges) -> list[tuple[int, int]] | None:
    """How many entries of each block come before what is shown of it, and after; None where more than blocks are shown."""
    if len(shown.starts) != len(blocks.starts):
        return None
    found = []
    for start, stop, a, b in zip(*blocks, *shown, strict=True):
        if b > a and not start <= a <= b <= stop:
            return None
        found.append((a - start, stop - b) if b > a else (stop - start, 0))
    return found if len(set(found)) <= KINDS else None


class Plan:
    """Arrays in blocks under construction.

    `whole` are the boxes that run on whole arrays, `gathered` those on whole axes, `unrolled` the loops that are laid out step by
    step: the numbers of steps, and of the boxes of a step.
    """

    def __init__(self) -> None:
        self.moved: dict[Chunked, Callable[[StridedCopy], Chunked | None]] = {}  # what makes moves of arrays in a better way
        self.flips: dict[tuple[Chunked, int], Chunked] = {}  # of what an array is the flipped one, along an axis
        self.flipped: dict[tuple[Chunked, int, int], Chunked] = {}  # flipped arrays, by axis and salt
        self.whole: list[Whole] = []
        self.gathered: list[Gathered] = []
        self.unrolled: list[tuple[int, int]] = []
        self.outermost = True
        self.counts: list[tuple[Any, Chunked]] = []  # while loops, and the numbers of steps that a call waits for
        self.steps: dict[Chunked, Chunked] = {}  # arrays with an axis of length 1 for a step, and what they are without it
        self.salt = 0  # not 0 inside what is computed again on purpose
        self.salts = 0  # that were given
        self._again: dict[tuple[int, int, Any], tuple[Local, Chunked | None]] = {}
        self._parts: dict[tuple[Chunked, Any, int], Chunked | None] = {}

    def within(self) -> Plan:
        """A plan for what is a part of this one, until `takes` says that it is."""
        made = Plan()
        made.salt, made.salts, made.outermost = self.salt, self.salts, False
        return made

    def takes(self, part: Plan) -> None:
        """Note what stands in the plan of a part."""
        self.whole += part.whole
        self.gathered += part.gathered
        self.unrolled += part.unrolled
        self.salts = max(self.salts, part.salts)

    @contextmanager
    def computing_again(self) -> Iterator[None]:
        """Within it, boxes are for tasks of their own, even where equal ones have been computed before."""
        before = self.salt
        self.salts += 1
        self.salt = self.salts
        try:
            yield
        finally:
            self.salt = before

    # -- reading

    def read(self, array: Chunked, windows: Sequence[Window | None]) -> Read:
        """A read of windows; where they show no blocks of the array, and it can be made again as they show it, of that."""
        own = tuple(windows)
        make = array.recut if array.sole else array.again
        if make is not None and any(
            len(sizes) > 1 if w is None else w.dim is None or w.ranges != ranges_of(sizes)
            for w, sizes in zip(own, array.parts, strict=True)
        ):
            again = make(tuple([None if w is None else w.ranges for w in own]))
            if again is not None:
                return seen_by(again, own)
        key = array, tuple([None if w is None else w.ranges for w in own]), self.salt
        if key not in self._parts:
            self._parts[key] = part_of_blocks(array, own, self.salt)
        part = self._parts[key]
        return Read(array, own) if part is None else seen_by(part, own)

    # -- boxes with labels

    def labelled(
        self,
        name: str,
        ins: Sequence[tuple[Chunked, Labels]],
        outs: Sequence[tuple[Tensor, Labels]],
        lay: LayLabelled,
        whole: Sequence[int] = (),
        wanted: Mapping[int, Ranges | None] | None = None,
        light: bool = False,
        cheap: int = FREE,
        starts: Sequence[int] = (),
    ) -> tuple[list[Chunked], int]:
        """A box that is local along its labels, but for those that are `whole`.

        Cut labels that a result lacks give it leading axes, with one entry for each block: the partial results. The second
        result is how many such axes there are. What is `cheap` is rather made again, of other ranges of what is STORED or
        MOVED, than stored itself and read in these. `lay` is given the wires that are read, and then for each label of
        `starts` where the block begins along it.
        """
        cuts = self.cuts(ins, whole, wanted or {})
        sizes = {k: n for x, labels in ins for n, k in zip(x.shape, labels, strict=True) if k is not None}
        sizes |= {k: n for space, labels in outs for n, k in zip(space.shape, labels, strict=True) if k is not None}
        fixed = {label: Window(None, ranges) for label, ranges in cuts.items() if len(ranges.starts) == 1}
        sizes |= {label: window.ranges.sizes[0] for label, window in fixed.items()}
        order = in_order({k: ranges for k, ranges in cuts.items() if k not in fixed})
        dim = {label: d for d, label in enumerate(order)}
        grid = tuple([cuts[label].sizes for label in order])
        windows = fixed | {label: Window(dim[label], cuts[label]) for label in order}
        reads = [self.read(x, [windows.get(k) for k in labels]) for x, labels in ins]  # type: ignore[arg-type]
        self.note_gathered(name, reads)
        summed = [label for label in order if all(label not in labels for _, labels in outs)]
        assert all(label in summed or label in labels for _, labels in outs for label in order), f"{name}: results cut alike"

        moving = [label for label in starts if label in dim]
        begins = {label: window.ranges.starts[0] for label, window in fixed.items()}

        def lay_local(b: Builder, wires: list[LocalWire], at: At) -> Sequence[LocalWire]:
            local = sizes | {label: at.sizes[d] for label, d in dim.items()}
            known = dict(zip(moving, at.offsets, strict=True))
            begin = [known[k] if k in known else b.add(Constant(np.asarray(begins.get(k, 0), np.int64)))[0] for k in starts]
            made = lay(b, [*wires, *begin], local)
            return [reshaped(b, w, ((1,) * len(summed)) + w.shape) for w in made] if summed else made

        offsets = [(dim[label], cuts[label].starts) for label in moving]
        box = Local(name, grid, reads, lay_local, offsets=offsets, light=light, salt=self.salt)
        what = name, ins, outs, lay, whole, light, cheap, starts
        return self._results(box, what, cuts, sizes, dim, summed), len(summed)

    def _results(
        self, box: Local, what: Any, cuts: dict[int, Ranges], sizes: dict[int, int], dim: dict[int, int], summed: Sequence[int]
    ) -> list[Chunked]:
        """The results of a box that is local along labels, which are made again in other ranges where `labelled` says so."""
        _, ins, outs, *_, cheap, _ = what
        need = max([x.reach for x, _ in ins if x.is_cut], default=FREE)
        reach = FREE if need == FREE else COMPUTED if cheap >= need else STORED
        made = []
        for place, (space, labels) in enumerate(outs):
            own = [None if k is None else dim.get(k) for k in labels]
            lengths = [n if k is None else sizes[k] for n, k in zip(space.shape, labels, strict=True)]
            rest = [(n,) if d is None else box.grid[d] for n, d in zip(lengths, own, strict=True)]
            parts = (*[(1,) * len(box.grid[dim[k]]) for k in summed], *rest)
            wide = Tensor([sum(sizes) for sizes in parts], space.dtype)

            def again(ranges: tuple[Ranges | None, ...], place: int = place, labels: Labels = labels) -> Chunked | None:
                return self._labelled_again(box, what, place, labels, cuts, ranges, cheap)

            def recut(ranges: tuple[Ranges | None, ...], place: int = place, labels: Labels = labels) -> Chunked | None:
                return self._labelled_again(box, what, place, labels, cuts, ranges, ANY)

            made.append(box.result(wide, [*[dim[label] for label in summed], *own], parts, None if summed else again))
            made[-1].recut = None if summed else recut
            made[-1].reach = reach
        return made

    def note_gathered(self, name: str, reads: Sequence[Read]) -> None:
        """Note what tasks read of cut axes as a whole; raises `EngineError` where that is more than the limit of whole arrays."""
        nbytes = 0
        for array, windows in reads:
            if any(len(own) > 1 and self._is_gathered(own, w) for own, w in zip(array.parts, windows, strict=True)):
                sizes = [n if w is None else max(w.ranges.sizes) for n, w in zip(array.shape, windows, strict=True)]
                nbytes += math.prod(sizes) * array.space.dtype.itemsize
        if nbytes:
            self.gathered.append(Gathered(name, nbytes))
            if nbytes > options.whole_limit():
                raise errors.EngineError(errors.gathers(name, nbytes, options.whole_limit()))

    @staticmethod
    def _is_gathered(sizes: Sizes, window: Window | None) -> bool:
        """Whether every task reads the same blocks, of which there are several."""
        return window is None or (window.dim is None and window.ranges.sizes[0] > max(sizes))

    def cuts(
        self, ins: Sequence[tuple[Chunked, Labels]], whole: Sequence[int], wanted: Mapping[int, Ranges | None]
    ) -> dict[int, Ranges]:
        """How labels are cut: as those wish who read the results, else so that the fewest bytes move.

        Of several such ways it is that of the largest array, a stored one first; of arrays that are made in any blocks, such as
        slices beside each other, that of the one in the middle.
        """
        found: dict[int, list[tuple[tuple[int, bool], Ranges]]] = {}
        for x, labels in ins:
            for sizes, label in zip(x.parts, labels, strict=True):
                if label is not None and label not in whole and label not in wanted and len(sizes) > 1:
                    found.setdefault(label, []).append(((-x.nbytes, x.again is not None), ranges_of(sizes)))
        cuts = dict(wanted)
        for label, each in found.items():
            first = min([rank for rank, _ in each])
            own = [ranges for rank, ranges in each if rank == first]
            best = sorted(own)[(len(own) - 1) // 2] if first[1] else own[0]
            ways = dict.fromkeys([best, *[ranges for _, ranges in sorted(each, key=lambda one: one[0])]])
            cuts[label] = min(ways, key=lambda ranges: self._moved(ins, label, ranges)) if len(ways) > 1 else best
        return {label: ranges for label, ranges in cuts.items() if ranges is not None}

    @staticmethod
    def _moved(ins: Sequence[tuple[Chunked, Labels]], label: int, ranges: Ranges) -> int:
        """The bytes of arrays that are cut in another way along a label, and cannot be made in this one."""
        moved = 0
        for x, labels in ins:
            axes = list(zip(cut_like(x.parts), labels, strict=True))
            if any(k == label and here is not None and here != ranges for here, k in axes):
                own = [ranges if k == label else here for here, k in axes]
                moved += x.nbytes if x.again is None or x.again(tuple(own)) is None else 0
        return moved

    def _labelled_again(
        self,
        box: Local,
        what: Any,
        place: int,
        labels: Labels,
        cuts: Mapping[int, Ranges],
        ranges: tuple[Ranges | None, ...],
        most: int,
    ) -> Chunked | None:
        """Ranges of a result, where the arguments that are cut along the labels in question may be read in these."""
        key = id(box), place, (ranges, most)
        if key in self._again:
            return self._again[key][1]
        name, ins, outs, lay, whole, light, cheap, starts = what
        found = None
        wanted = self._wanted(labels, ranges, whole)
        if wanted is not None and box.salt == self.salt:
            changed = {k: r for k, r in wanted.items() if r != cuts.get(k)}
            if all(self._gives(x, own, changed, cuts, most) for x, own in ins):
                found = self.labelled(name, ins, outs, lay, whole, {**cuts, **changed}, light, cheap, starts)[0][place]
        self._again[key] = (box, found)
        return found

    @staticmethod
    def _wanted(labels: Labels, ranges: Sequence[Ranges | None], whole: Sequence[int]) -> dict[int, Ranges | None] | None:
        """The ranges of each label; None where two axes contradict each other, or one cannot be cut."""
        wanted: dict[int, Ranges | None] = {}
        for label, own in zip(labels, ranges, strict=True):
            if label is None or label in whole:
                if own is not None:
                    return None
            elif wanted.setdefault(label, own) != own:
                return None
        return wanted

    @staticmethod
    def _gives(
        x: Chunked, labels: Labels, changed: Mapping[int, Ranges | None], cuts: Mapping[int, Ranges], most: int
    ) -> bool:
        """Whether an argument may be read in other ranges: of what is free, or of `most`."""
        if not any(k in changed and len(sizes) > 1 for sizes, k in zip(x.parts, labels, strict=True)):
            return True
        ranges = [None if k is None else changed[k] if k in changed else cuts.get(k) for k in labels]
        make = x.recut if x.sole else x.again
        if make is not None and (x.sole or x.reach <= max(STORED, most)) and make(tuple(ranges)) is not None:
            return True
        return (x.reach <= most and x.reach <= STORED) or most == ANY

    # -- exchanges

    def combined(self, name: str, partials: Sequence[Chunked], fold: LayList, axes: int = 1) -> list[Chunked]:
        """The folds of partial results along their first axes, in a tree; `fold` folds axis 0 away."""
        found = list(partials)
        for _ in range(axes):
            found = self._combined(name, found, fold)
        return found

    def _combined(self, name: str, xs: list[Chunked], fold: LayList) -> list[Chunked]:
        while True:
            k = xs[0].shape[0]
            groups = 1 if k <= ARITY else -(-k // ARITY)
            edges = [min(i * ARITY, k) for i in range(groups)] + [k]
            ends = Window(0, Ranges(tuple(edges[:-1]), tuple(edges[1:])))
            _, grid = self._rest(xs[0], int(groups > 1))
            grid = ((1,) * groups, *grid) if groups > 1 else grid

            def lay(b: Builder, wires: list[LocalWire], at: At, groups: int = groups) -> Sequence[LocalWire]:
                made = fold(b, wires)
                return [reshaped(b, w, (1, *w.shape)) for w in made] if groups > 1 else made

            reads = []
            for x in xs:
                own = self._rest(x, int(groups > 1))[0]
                first = ends if groups > 1 else None
                reads.append(Read(x, (first, *[None if d is None else blocks_of(d, grid[d]) for d in own])))
            box = Local(name, grid, reads, lay, salt=self.salt)
            if groups == 1:
                return [box.result(Tensor(x.shape[1:], x.space.dtype), self._rest(x, 0)[0], x.parts[1:]) for x in xs]
            xs = [
                box.result(Tensor((groups, *x.shape[1:]), x.space.dtype), (0, *self._rest(x, 1)[0]), (grid[0], *x.parts[1:]))
                for x in xs
            ]

    def _rest(self, x: Chunked, start: int) -> tuple[list[int | None], tuple[Sizes, ...]]:
        """Dimensions from a number on for the cut axes of an array but the first one, and their sizes."""
        dims, grid = cut_axes(x.parts[1:])
        return [None if d is None else start + d for d in dims], grid

    def before_each(
        self, name: str, totals: Sequence[Chunked], fold: LayList, scan: LayList, join: LayList, reverse: bool = False
    ) -> list[Chunked]:
        """The folds of the totals (axis 0 counts them) before each one, or after each if `reverse`.

        `fold` folds axis 0 away, `scan` gives the exclusive prefixes along it, and `join` what `fold` makes of two arrays of
        totals, those that stand first before the others. Beyond a number of totals the scan has two levels.
        """
        k = totals[0].shape[0]
        if k <= FLAT:
            return self._scanned(name, totals, scan)
        size = math.isqrt(k - 1) + 1
        sizes: Sizes = tuple([min(size, k - at) for at in range(0, k, size)])
        groups = [self._of_group(x, sizes) for x in totals]
        n = len(totals)
        own = self._grouped(name, groups, n, sizes, fold, True)
        carried = self._scanned(name, own, scan)
        both = [*groups, *[self._of_group(x, (1,) * len(sizes)) for x in carried]]

        def lay(b: Builder, wires: Sequence[LocalWire]) -> Sequence[LocalWire]:
            within = list(scan(b, wires[:n]))
            return join(b, [*within, *wires[n:]]) if reverse else join(b, [*wires[n:], *within])

        return self._grouped(name, both, n, sizes, lay, False)

    def _scanned(self, name: str, xs: Sequence[Chunked], scan: LayList) -> list[Chunked]:
        """The exclusive prefixes along axis 0, in one task for each block of the other axes."""
        grid = self._rest(xs[0], 0)[1]
        reads = [Read(x, (None, *[None if d is None else blocks_of(d, grid[d]) for d in self._rest(x, 0)[0]])) for x in xs]
        box = Local(name, grid, reads, lambda b, wires, at: scan(b, wires), salt=self.salt)
        return [box.result(x.space, (None, *self._rest(x, 0)[0]), ((x.shape[0],), *x.parts[1:])) for x in xs]

    def _of_group(self, x: Chunked, sizes: Sizes) -> Read:
        """A read of some totals after the others, in groups of some sizes."""
        dims, rest = self._rest(x, 1)
        grid = (sizes, *rest)
        return Read(x, (blocks_of(0, sizes), *[None if d is None else blocks_of(d, grid[d]) for d in dims]))

    def _grouped(self, name: str, reads: Sequence[Read], count: int, sizes: Sizes, lay: LayList, one: bool) -> list[Chunked]:
        """A box for each group of totals, of which each result has one entry for each group, or one for each total."""
        first = reads[0].array
        grid = (sizes, *self._rest(first, 1)[1])

        def lay_local(b: Builder, wires: list[LocalWire], at: At) -> Sequence[LocalWire]:
            made = lay(b, wires)
            return [reshaped(b, w, (1, *w.shape)) for w in made] if one else made

        box = Local(name, grid, reads, lay_local, salt=self.salt)
        own: Sizes = (1,) * len(sizes) if one else sizes
        made = []
        for x in [read.array for read in reads[:count]]:
            space = Tensor((sum(own), *x.shape[1:]), x.space.dtype)
            made.append(box.result(space, (0, *self._rest(x, 1)[0]), (own, *x.parts[1:])))
        return made

    # -- whole arrays

    def on_whole(self, primitive: Primitive, ins: Sequence[Chunked], outs: Sequence[Tensor], because: str) -> list[Chunked]:
        """A box that one task runs; raises `EngineError` where what it reads and writes is larger than the limit."""
        name = type(primitive).__name__
        if any(x.is_cut for x in ins):
            nbytes = sum(x.nbytes for x in ins) + sum(space.size * space.dtype.itemsize for space in outs)
            self.whole.append(Whole(name, because, nbytes))
            if nbytes > options.whole_limit():
                raise errors.EngineError(errors.runs_whole(name, because, nbytes, options.whole_limit()))
        reads = [Read(x, (None,) * x.ndim) for x in ins]
        box = Local(name, (), reads, lambda b, wires, at: b.add(primitive, *wires), salt=self.salt)
        return [box.result(space, (None,) * space.ndim, uncut(space.shape)) for space in outs]
