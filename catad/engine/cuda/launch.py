"""Stages on a GPU: their loops are laid over the arrays of a call, and run in one launch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from catad.category.spaces import Tensor
from catad.engine.cuda.folds import ROW, FoldRows, Folds, Tiled
from catad.engine.cuda.kernel import Code, Device, Launched, Part, Strides, Way, code_of
from catad.engine.cuda.lanes import Lanes
from catad.engine.cuda.maps import PIECE, Points, Wide, wide
from catad.engine.cuda.scans import GROUP, LONGEST, Again, Looking, Scans
from catad.engine.stages.body import Body, Source
from catad.engine.stages.layout import FOLDS, LANES, POINTS, Kernel, Layout, Loop, Ready, layout, strides_of
from catad.engine.stages.scan_of_tiles import joins, of_totals
from catad.engine.stages.split_reduction import in_two
from catad.engine.stages.stage import FoldResult, Op
from catad.engine.stages.table import Table
from catad.engine.text.cascade import folded
from catad.errors import NO_KERNEL, CannotPrint

SHORT = 1 << 8  # indices of a line up to which one thread goes through it
LONG = 1 << 12  # the same where no short operator joins parts of the line
MANY = 1 << 10  # lines from which on one thread goes through each, however long they are


def way_of(device: Device, stage: Ready, place: Sequence[int], strides: Strides, results: Strides) -> Way:
    """Compiled code for a stage on arrays and results with these strides; raises CannotPrint for what has no kernel."""
    if stage.needs:
        raise unprinted("a pass that holds for some numbers only")
    how = layout(stage, [*[strides[at] if at >= 0 else (1,) for at in place], *results])
    if how is None:
        return InTwo(device, stage, place, strides, results)
    if how.kernel.kind == FOLDS:
        return FoldsCall(device, how, place)
    if how.kernel.kind == POINTS:
        return PointsCall(device, how, place)
    size, joined = how.loops[-1].size, joins(how.kernel.body, LONGEST) is not None
    if how.kernel.kind == LANES or size <= (SHORT if joined else LONG) or _lines(how) >= MANY:
        return LanesCall(device, how, place)
    if not joined:
        raise unprinted("a scan or recurrence along a long line, whose operator is long")
    return ScansCall(device, how, place)


def _lines(how: Layout) -> int:
    return math.prod([loop.size for loop in how.loops[:-1]])


def unprinted(what: str) -> CannotPrint:
    """The error for what has no kernel."""
    return CannotPrint(f"{what}, on a GPU", NO_KERNEL)


class PointsCall(Launched):
    """A laid-out map: its table, and its kernel for arrays that begin at multiples of 16 bytes, and for others.

    `more` are numbers that end the table, for a printer that reads them.
    """

    def __init__(
        self,
        device: Device,
        how: Layout,
        place: Sequence[int],
        printer: type[Points] = Points,
        more: Sequence[int] = (),
    ) -> None:
        self.device, self.how, self.printer = device, how, printer
        table = Table(how, place)
        self.reads, self.writes = [k for _, k, _ in table.reads], [k for _, k, _ in table.writes]
        self.numbers = table.filled([0] * (1 + max(self.reads, default=0)), [0] * len(self.writes), more)
        self.aligned = self._wide(True)
        sources = [piece for piece, at in zip(self.aligned.pieces, place, strict=False) if at >= 0]
        self.pieces = [k for k, piece in enumerate([*sources, *self.aligned.pieces[len(place) :]]) if piece]
        self.parts: list[Part] = [self._code(self.aligned)]
        self.text  # noqa: B018  # what cannot be printed is known from here on

    def _wide(self, aligned: bool) -> Wide:
        return wide(self.how, aligned)

    def _units(self, what: Wide) -> int:
        """How many units of work threads share."""
        *outer, inner = [loop.size for loop in self.how.loops]
        return math.prod(outer) * -(-inner // what.width)

    def _code(self, what: Wide) -> Code:
        return code_of(self.printer, what, self.device.dialect)

    def run(self, arrays: Sequence[Any], outs: Sequence[Any], more: Sequence[Any] = ()) -> None:
        """Starts the kernel on arrays, and on `more`; it writes into the results."""
        address = self.device.address
        given = [*[arrays[k] for k in self.reads], *[outs[k] for k in self.writes], *more]
        places = [address(array) for array in given]
        what = self.aligned
        if any(places[k] % PIECE for k in self.pieces):
            what = self._wide(False)
        blocks = -(-self._units(what) // self.printer.threads)
        self.device.launch(self._code(what), min(blocks, self.device.most), self.numbers, places)


class LanesCall(PointsCall):
    """A laid-out stage whose lines go from their beginnings to their ends, each in a thread."""

    kernel: type[Lanes] = Lanes

    def __init__(self, device: Device, how: Layout, place: Sequence[int]) -> None:
        super().__init__(device, how, place, self.kernel)

    def _wide(self, aligned: bool) -> Wide:
        return Wide(self.how.kernel, 1, (False,) * len(self.how.kernel.classes))

    def _units(self, what: Wide) -> int:
        carried = [loop.carried for loop in self.how.loops]
        last = max(k for k, along in enumerate(carried) if along) if any(carried) else len(carried) - 1
        return math.prod([loop.size for k, loop in enumerate(self.how.loops) if k != last])


class FoldsCall(PointsCall):
    """A laid-out stage of folds in tiles; where a line has several, `rest` folds their totals."""

    def __init__(self, device: Device, how: Layout, place: Sequence[int]) -> None:
        self.tiles = -(-how.loops[-1].size // (Folds.threads * Folds.per)) if how.loops[-1].size > ROW else 1
        super().__init__(device, how, place, FoldRows if how.loops[-1].size <= ROW else Folds)
        self.rest: FoldsCall | None = None
        if self.tiles > 1:
            self.states = [dtype for _, _, dtype in folded(how.kernel.body)]
            self.folds = [j for j, sink in enumerate(how.kernel.body.sinks) if isinstance(sink.value, FoldResult)]
            self.rest = FoldsCall(device, of_tiles(how, self.tiles), range(len(self.states)))
            self.parts.append(self.rest)

    def _wide(self, aligned: bool) -> Any:
        return Tiled(*wide(self.how, aligned), self.tiles == 1)

    def _units(self, what: Wide) -> int:
        return _lines(self.how) * self.tiles * self.printer.threads  # a block takes one

    def run(self, arrays: Sequence[Any], outs: Sequence[Any], more: Sequence[Any] = ()) -> None:
        """Starts the kernels on arrays; they write into the results."""
        if self.rest is None:
            super().run(arrays, outs, more)
            return
        totals = [self.device.empty((_lines(self.how) * self.tiles,), dtype) for dtype in self.states]
        super().run(arrays, outs, totals)
        self.rest.run(totals, [outs[j] for j in self.folds])


def of_tiles(how: Layout, tiles: int) -> Layout:
    """The layout that folds the totals of tiles, which lie line after line, into the results of a layout."""
    body, sources = how.kernel.body, len(how.kernel.body.sources)
    states, kept = folded(body), [j for j, sink in enumerate(body.sinks) if isinstance(sink.value, FoldResult)]
    places = {k: at for at, k in enumerate(k for k, op in enumerate(body.ops) if op.kind == "fold")}
    ops = []
    for k in places:
        args = tuple([at for at, (op, _, _) in enumerate(states) if op == k])
        ops.append(Op("fold", body.ops[k].data, args, len(states), 0))
    sinks = [body.sinks[j] for j in kept]
    own = [sink._replace(value=FoldResult(places[sink.value.op], sink.value.part)) for sink in sinks]  # type: ignore[union-attr]
    reads = tuple([Source(at, dtype.str, False, -1, None) for at, (_, _, dtype) in enumerate(states)])
    loops, rows = [Loop(tiles, True, (*[d.itemsize for _, _, d in states], *[0] * len(own)), ())], tiles
    for loop in reversed(how.loops[:-1]):
        steps = (*[rows * d.itemsize for _, _, d in states], *[loop.strides[sources + j] for j in kept])
        loops.insert(0, Loop(loop.size, False, steps, ()))
        rows *= loop.size
    kernel = Kernel(Body(reads, tuple(ops), tuple(own)), FOLDS, how.kernel.outer, ("c",) * len(states) + ("z",) * len(own))
    return Layout(kernel, (*[0] * len(states), *[how.offsets[sources + j] for j in kept]), tuple(loops))


class ScansCall(Launched):
    """A laid-out scan along long lines: a launch that looks back, and one for lines that must be gone through again."""

    def __init__(self, device: Device, how: Layout, place: Sequence[int]) -> None:
        self.device = device
        found = joins(how.kernel.body, LONGEST)
        assert found is not None
        folds = of_totals(how, found)
        sources = [at for at in place if at >= 0]
        more = Table(folds, place).filled([0] * (1 + max(sources, default=0)), ())
        self.again = AgainCall(device, how, place)
        own = len(Table(how, place).values)
        self.code = code_of(Scans, Looking(how.kernel, folds.kernel, own), device.dialect)
        self.numbers = self.again.numbers + more
        self.states = [dtype for _, _, dtype in folded(folds.kernel.body)]
        self.lines, self.tiles = _lines(how), -(-how.loops[-1].size // (Scans.threads * Scans.per))
        self.groups = -(-self.tiles // GROUP)
        self.parts = self.code, self.again
        self.text  # noqa: B018  # what cannot be printed is known from here on

    def run(self, arrays: Sequence[Any], outs: Sequence[Any]) -> None:
        """Starts the kernels on arrays; they write into the results."""
        device, units, groups = self.device, self.lines * self.tiles, self.lines * self.groups
        words, parts, at = device.zeros(1 + units + groups + self.lines), [], 0
        for count in (1, units, groups, self.lines):
            parts.append(words[at : at + count])
            at += count
        room = [device.empty((count,), dtype) for count in (units, groups) for dtype in self.states]
        given = [*[arrays[k] for k in self.again.reads], *[outs[k] for k in self.again.writes], *parts, *room]
        device.launch(self.code, min(units, device.most), self.numbers, [device.address(a) for a in given])
        self.again.run(arrays, outs, (parts[-1],))


class AgainCall(LanesCall):
    """Lines that are gone through from their beginnings where a word says so."""

    kernel = Again


class InTwo(Launched):
    """A stage that folds over axes along which arrays do not lie as along one: two stages, one after the other."""

    def __init__(self, device: Device, stage: Ready, place: Sequence[int], strides: Strides, results: Strides) -> None:
        self.device = device
        self.found = in_two(stage, [strides[at] if at >= 0 else (1,) for at in place], results)
        between = [Tensor(shape, dtype) for shape, dtype in self.found.between]
        made = [*[results[k] for k in self.found.outs], *map(strides_of, between)]
        self.parts = self.ways = [way_of(device, self.found.first, place, strides, made)]
        for one in self.found.rest:
            read = [made[k] for k in one.reads]
            self.ways.append(way_of(device, one.stage, range(len(read)), read, [results[j] for j in one.outs]))

    def run(self, arrays: Sequence[Any], outs: Sequence[Any]) -> None:
        """Both stages."""
        first, *rest = self.ways
        made = [*[outs[k] for k in self.found.outs], *[self.device.empty(*one) for one in self.found.between]]
        first.run(arrays, made)
        for one, way in zip(self.found.rest, rest, strict=True):
            way.run([made[k] for k in one.reads], [outs[j] for j in one.outs])
