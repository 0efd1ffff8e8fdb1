"""The partition of a wiring into stages, whose boxes share a pass, and boxes that run by themselves.

Boxes are taken in order; each joins the first stage that runs over its index space, in its direction, after all that it
needs from elsewhere, and with which it shares something: a value made there, or an array read there. A value made in the
stage is used at its own index, or, of a scan, at the step before; anything else goes through memory. Views are no passes at
all. A read at an index waits for its first reader, since only then it is known which pass can do it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from catad import scalar
from catad.category.wiring import Box, Wiring
from catad.engine.stages import split
from catad.engine.stages.access import Access, Affine, Guard, behind, composed, extent, moved, spread, straight
from catad.engine.stages.recompute import Again, again
from catad.engine.stages.refine import common, split_stage, split_work
from catad.engine.stages.stage import INDEX, Coordinates, FoldResult, Load, Op, Stage, Work, identity, turned
from catad.engine.stages.work import is_view, passed_on, work_of
from catad.linear.families.contract import Contract
from catad.linear.families.gather import Gathered
from catad.linear.families.reindex import Reshaped
from catad.scalar import Function, param
from catad.vector.pointwise.generate import Iota
from catad.vector.pointwise.map import Map

Item = Stage | Box
ONE_READ = 1.5  # the same where it takes more than one operation of what the stage writes: one large array
MOST_READ = 2.5  # arrays that are read at most instead of writing one and reading it back: two large ones
MOST_WORK = 64  # pieces of work in a stage: a larger one would take long to compile, and its values would not fit registers
MOST_ARRAYS = 32  # arrays that a stage reads when more work joins it, for the same reason
STATES = ("scan", "recurrence")
_INT = np.dtype(np.int64)


@dataclass(frozen=True)
class _Arg:
    """The place of an argument of a member of a stage: a value of the stage (elsewhere something else where guards do not hold),
    the state before it, an index, an array, or anew."""

    value: int = -1
    guards: tuple[Guard, ...] = ()
    fill: float | None = None
    before: tuple[Op, int, float] | None = None
    index: Affine | None = None
    load: Load | None = None
    again: Again | None = None


class Partition:
    """The items of a wiring in the order in which they run."""

    def __init__(self, wiring: Wiring) -> None:
        self.wiring = wiring
        self.items: list[Item] = []
        self.produced: dict[int, int] = {}  # wire to the item that makes it
        self.views: dict[int, Box] = {}
        self.aliases: dict[int, tuple[int, Access]] = {}
        self.indices: set[int] = set()
        self.waiting: dict[int, tuple[Work, Box]] = {}
        self._known: dict[tuple[int, Access, tuple[int, ...]], Again | None] = {}  # what was found before
        for box in wiring.boxes:
            self._gathered(box)
        for k in wiring.outputs:
            self._ensure(k)

    @cached_property
    def makers(self) -> tuple[dict[int, Box], dict[int, int]]:
        """The box that makes each wire, an alias by copying it, and its place among the boxes of the wiring."""
        maker = {k: box for box in self.wiring.boxes for k in box.outs}
        place = {k: n for n, box in enumerate(self.wiring.boxes) for k in box.outs}
        maker |= {k: copied(self.wiring, k, source) for k, (source, _) in self.aliases.items()}
        return maker, place

    def _gathered(self, box: Box) -> None:
        if isinstance(box.primitive, Iota):
            self.indices.update(box.outs)
            return
        if not box.ins:
            return
        if is_view(box):
            self.views[box.outs[0]] = box
            return
        work = work_of(self.wiring, box)
        if work is None:
            self._standalone(box)
            return
        if isinstance(box.primitive, Map) and self._passes_all(box):
            return
        if isinstance(box.primitive, Gathered):
            self._settle(box)
            self.waiting[box.outs[0]] = work, box
            return
        self._place(work, box)

    def _settle(self, box: Box) -> None:
        """Place what waits for a box, so that it does not wait for what waits."""
        for k in box.ins:
            shape = self.wiring.wires[k].shape
            source, _ = self._behind(k, straight(len(shape)), shape)
            if source in self.waiting:
                self._ensure(source)

    def _passes_all(self, box: Box) -> bool:
        """Note the results of a map that are its arguments; True where all are."""
        assert isinstance(box.primitive, Map)
        passed = passed_on(box.primitive.function, tuple([s.dtype for s in self.wiring.spaces(box.ins)]))
        for out, k in zip(box.outs, passed, strict=True):
            if k is not None:
                own, shape = self.wiring.wires[box.ins[k]].shape, self.wiring.wires[out].shape
                if own == shape[len(shape) - len(own) :]:
                    self.aliases[out] = (box.ins[k], spread(own, shape))
        return all(out in self.aliases for out in box.outs)

    def _standalone(self, box: Box) -> None:
        for k in box.ins:
            self._ensure(k)
        self.items.append(box)
        self.produced.update(dict.fromkeys(box.outs, len(self.items) - 1))

    def _ensure(self, wire: int) -> None:
        """Makes a wire an array, which is there when the items so far have run."""
        if wire in self.produced:
            return
        if wire in self.waiting:
            self._place(*self.waiting.pop(wire))
        elif wire in self.views:
            if self._kept(wire):
                return
            box = self.views[wire]
            self._ensure(box.ins[0])
            self.items.append(box)
            self.produced[wire] = len(self.items) - 1
        elif wire in self.aliases:
            source, _ = self.aliases[wire]
            self._ensure(source)
            self.items.append(copied(self.wiring, wire, source))
            self.produced[wire] = len(self.items) - 1

    def _kept(self, wire: int) -> bool:
        """True where a view of what a stage makes can be written by that stage: the same values, turned or a step later."""
        shape = self.wiring.wires[wire].shape
        source, _ = self._behind(wire, straight(len(shape)), shape)
        g = self.produced.get(source, -1)
        stage = self.items[g] if g >= 0 else None
        if not isinstance(stage, Stage) or stage.shape != shape or source not in stage.made:
            return False
        for at in [identity(len(shape)), *[turned(shape, k) for k in stage.axis]]:
            reached, access = self._behind(wire, moved(straight(len(shape)), at), shape)
            arg = self._inside(stage, source, access) if reached == source else None
            if arg is not None:
                stage.made[wire] = (self._value(stage, arg), at)
                self.produced[wire] = g
                return True
        return False

    # -- reading

    def _resolve(self, wire: int, access: Access, loops: Sequence[int]) -> tuple[int, Access]:
        """The wire behind views that is an array or a value of a stage, and where it is read."""
        wire, access = self._behind(wire, access, loops)
        self._ensure(wire)
        return wire, access

    def _behind(self, wire: int, access: Access, loops: Sequence[int]) -> tuple[int, Access]:
        """The wire behind views, as far as positions stay affine, and where it is read."""
        while wire not in self.produced:
            if wire in self.aliases:
                source, own = self.aliases[wire]
                wire, access = source, access._replace(axes=tuple([composed(at, access.axes) for at in own.axes]))
            elif wire in self.views:
                box = self.views[wire]
                found = behind(box.primitive, access, self.wiring.wires[box.ins[0]].shape, loops)
                if found is None:
                    break
                wire, access = box.ins[0], found
            else:
                break
        return wire, access

    def _place(self, work: Work, box: Box) -> None:
        if work.needs is not None:
            self._ensure(work.needs[0])
        if work.indexed >= 0:
            self._ensure(work.reads[1][0])
        work = self._refined(work)
        sources = [self._resolve(k, access, work.shape)[0] for k, access in work.reads]
        first = max([self.produced.get(k, -1) for k in sources], default=-1)
        if work.needs is not None:  # it is looked at before the stage runs
            first = max(first, self.produced.get(work.needs[0], -1) + 1)
        own = split.length(work.data) if isinstance(work.data, Function) else 0
        near = self._near(sources)
        for g in range(max(first, 0), len(self.items)):
            item = self.items[g]
            if not isinstance(item, Stage) or not _has_room(item, own):
                continue
            other = item.shape != work.shape or (work.kind not in STATES and near.isdisjoint(item.wires))
            if other and near.isdisjoint(item.made):
                continue  # they share nothing
            stage, fitted = _fitted(item, work)
            for at in self._coordinates(stage, fitted) if stage.shape == fitted.shape else ():
                args = self._args(stage, g, fitted, at)
                if args is not None and self._shares(stage, fitted, at, args):
                    self.items[g] = stage
                    self._join(stage, g, fitted, at, args)
                    stage.members.append(type(box.primitive).__name__)
                    return
        stage = Stage(work.shape)
        self.items.append(stage)
        at = identity(len(work.shape))
        args = self._args(stage, len(self.items) - 1, work, at)
        assert args is not None
        self._join(stage, len(self.items) - 1, work, at, args)
        stage.members.append(type(box.primitive).__name__)

    def _refined(self, work: Work) -> Work:
        """Work over finer loops, where it reads what a stage makes through a reshape that merges axes."""
        for j, (k, access) in enumerate(work.reads):
            wire, _ = self._behind(k, access, work.shape)
            box = self.views.get(wire)
            if box is None or wire in self.produced or not isinstance(box.primitive, Reshaped) or work.indexed >= 0:
                continue
            shape = self.wiring.wires[box.ins[0]].shape
            source, _ = self._behind(box.ins[0], straight(len(shape)), shape)
            made = source in self.produced and isinstance(self.items[self.produced[source]], Stage)
            fine = common(work.shape, shape) if made else None
            found = None if fine is None else split_work(work, fine)
            if found is not None and self._behind(k, found.reads[j][1], found.shape)[0] != wire:
                work = found
        return work

    def _near(self, sources: Sequence[int]) -> set[int]:
        """The wires that work may read, itself or to compute what it reads again."""
        near = set(sources)
        for k in sources:
            stage = self.items[self.produced[k]] if k in self.produced else None
            if isinstance(stage, Stage):
                near.update(stage.wires)
        return near

    def _coordinates(self, stage: Stage, work: Work) -> list[Coordinates]:
        straight = identity(len(work.shape))
        axis = stage.axis or work.axis
        if stage.axis and work.axis and stage.axis != work.axis:
            return []
        if len(axis) != 1:
            return [straight]
        against = turned(work.shape, axis[0])
        if not work.axis:
            return [straight, against]
        return [at for at, sign in ((straight, 1), (against, -1)) if stage.direction * work.direction * sign >= 0]

    def _args(self, stage: Stage, g: int, work: Work, at: Coordinates) -> list[_Arg] | None:
        """The places of the arguments; None where one cannot be had in this stage."""
        found = []
        for j, (k, access) in enumerate(work.reads):
            if work.indexed >= 0 and j == 1:
                if self.produced.get(k, -1) >= g:
                    return None
                found.append(_Arg(load=Load(k, moved(access, at), self.wiring.wires[k].dtype, 0, work.indexed, work.size)))
                continue
            wire, access = self._resolve(k, moved(access, at), work.shape)
            if wire in self.indices and not access.guards:
                found.append(_Arg(index=access.axes[0]))
            elif wire in stage.made:
                arg = self._inside(stage, wire, access)
                if arg is None:
                    return None
                found.append(arg)
            else:
                if self.produced.get(wire, -1) >= g:
                    return None
                anew = self._again(wire, access, work.shape)
                load = Load(wire, access, self.wiring.wires[wire].dtype) if anew is None else None
                found.append(_Arg(load=load, again=anew))
        return found

    def _again(self, wire: int, access: Access, loops: Sequence[int]) -> Again | None:
        """The work that computes a value of an earlier stage again, where that is cheaper than to write and to read it.

        Of a value that others read as an array in any case, only the reading is saved. It is computed of what the stage reads, or
        of another value that the stage writes.
        """
        g = self.produced.get(wire, -1)
        stage = self.items[g] if g >= 0 else None
        if not isinstance(stage, Stage) or stage.needs or wire not in stage.made:
            return None
        key = (wire, access, tuple(loops))
        if key not in self._known:
            value, own = stage.made[wire]
            dtype = self.wiring.wires[wire].dtype
            found = again(stage, value, own, access, loops, dtype, {})
            if found is not None and self._read(found, wire) > (1.0 if wire in self._written else MOST_READ):
                found = None
            made = [(v, k) for k, (v, at) in stage.made.items() if at == own and k != wire]
            if found is None and made and wire not in self._written:
                others = {v: Load(k, Access(own), self.wiring.wires[k].dtype) for v, k in made}
                found = again(stage, value, own, access, loops, dtype, others)
                if found is not None and self._read(found, wire) > (MOST_READ if split.length(found.function) <= 1 else ONE_READ):
                    found = None
            self._known[key] = found
        return self._known[key]

    def _read(self, found: Again, wire: int) -> float:
        """How many arrays of its size are read to compute a wire again, smaller ones as parts of one."""
        read = sum([self.wiring.wires[k].size for k in {load.wire for load in found.loads if load.wire >= 0}])
        return read / max(self.wiring.wires[wire].size, 1)

    @cached_property
    def _written(self) -> set[int]:
        """Wires that are arrays in any case: results, and what boxes read that run by themselves."""
        alone = [box for box in self.wiring.boxes if not is_view(box) and work_of(self.wiring, box) is None]
        return {*self.wiring.outputs, *[k for box in alone for k in box.ins]}

    def _inside(self, stage: Stage, wire: int, access: Access) -> _Arg | None:
        value, own = stage.made[wire]
        if access.axes == own:
            return _Arg(value=value, guards=access.guards, fill=access.fill)
        op = stage.producer.get(value)
        if op is None or op.kind not in ("scan", "recurrence") or len(stage.axis) != 1 or access.fill is None:
            return None
        if not _are_single(own):
            return None
        (axis,), n = stage.axis, stage.shape[stage.axis[0]]
        step = stage.direction
        shifted = tuple([at._replace(a=at.a - at.one[1] * step) if at.one[0] == axis else at for at in own])
        guard = (1, n) if step > 0 else (0, n - 1)
        if access.axes != shifted or access.guards != (Guard(((axis, 1),), *guard),):
            return None
        return _Arg(before=(op, value - op.first, access.fill))

    def _shares(self, stage: Stage, work: Work, at: Coordinates, args: Sequence[_Arg]) -> bool:
        """True where it saves something to run in one pass: a value, the reading of an array the same way, or waiting."""
        if any(arg.value >= 0 or arg.before for arg in args):
            return True
        if work.kind in STATES and at == identity(len(work.shape)) and any(op.kind in STATES for op in stage.ops):
            return True  # independent states hide each other's latency
        read = {(load.wire, _steps(load.access)) for _, load in stage.inputs if load.wire != INDEX}
        loads = [load for arg in args for load in ([arg.load] if arg.load else arg.again.loads if arg.again else [])]
        return any((load.wire, _steps(load.access)) in read for load in loads)

    def _join(self, stage: Stage, g: int, work: Work, at: Coordinates, args: Sequence[_Arg]) -> None:
        stage.length += split.length(work.data) if isinstance(work.data, Function) else 0
        if work.needs is not None:
            stage.needs.add(work.needs)
        if work.axis:
            sign = at[work.axis[0]].one[1]
            stage.axis = work.axis
            stage.direction = stage.direction or work.direction * sign
        values: list[int] = []
        for arg in args:
            indexed = arg.load is not None and arg.load.by >= 0
            values.append(self._value(stage, arg, values[0] if indexed else -1))
        places = at if work.places is None else tuple([composed(one, at) for one in work.places])
        if work.kind == "take":
            stage.made[work.outs[0]] = (values[1], places)
        elif work.kind == "fold":
            if work.first is not None:
                values = [stage.add("map", work.first, values, 1).first]
            place = stage.ops.index(stage.add("fold", work.data, values, 0))
            for part, (out, stores) in enumerate(zip(work.outs, work.stores, strict=True)):
                own = tuple([composed(p, at) for p in stores])
                stage.folded[out] = (FoldResult(place, part), own)
        else:
            first = stage.add(work.kind, work.data, values, len(work.outs)).first
            for part, out in enumerate(work.outs):
                if out not in self.aliases:
                    stage.made[out] = (first + part, places)
        self.produced.update({k: g for k in work.outs if k not in self.aliases})

    def _guarded(self, stage: Stage, arg: _Arg) -> int:
        """A value of the stage where guards hold, what is read instead elsewhere."""
        tests = _tested(stage.shape, arg.guards)
        holds = [scalar.apply("ge", param(k), scalar.const(least)) for k, (_, least) in enumerate(tests)]
        node = param(len(tests))
        for one in holds:
            node = scalar.apply("select", one, node, scalar.const(arg.fill))
        indices = [stage.load(Load(INDEX, Access((at,)), _INT)) for at, _ in tests]
        return stage.add("map", Function.make(len(tests) + 1, [node]), [*indices, arg.value], 1).first

    def _value(self, stage: Stage, arg: _Arg, by: int = -1) -> int:
        """The value of a stage that an argument is."""
        if arg.before is not None:
            op, part, fill = arg.before
            return stage.add("before", repr(float(fill)), (op.first + part,), 1).first
        if arg.again is not None:
            return stage.add("map", arg.again.function, [stage.load(load) for load in arg.again.loads], 1).first
        if arg.index is not None:
            return stage.load(Load(INDEX, Access((arg.index,)), _INT))
        if arg.guards:
            return self._guarded(stage, arg)
        return arg.value if arg.load is None else stage.load(arg.load._replace(by=by))


def _fitted(stage: Stage, work: Work) -> tuple[Stage, Work]:
    """A stage and work over the same loops, where those of one can be split; else as they are."""
    fine = None if stage.shape == work.shape else common(stage.shape, work.shape)
    found = None if fine is None else (split_stage(stage, fine), split_work(work, fine))
    if found is None or found[0] is None or found[1] is None:
        return stage, work
    return found[0], found[1]


def _are_single(own: Coordinates) -> bool:
    """Whether each axis goes along one loop."""
    return all(len(at.terms) == 1 for at in own)


def _has_room(stage: Stage, more: int) -> bool:
    """True where a stage has room for work of so many operations."""
    return len(stage.ops) < MOST_WORK and len(stage.inputs) < MOST_ARRAYS and (more == 0 or stage.length + more <= split.MOST)


def _tested(shape: Sequence[int], guards: Sequence[Guard]) -> list[tuple[Affine, int]]:
    """Positions, counted from either end, and the least that each must be."""
    found = []
    for terms, lo, hi in guards:
        low, high = extent(Affine(0, terms), shape)
        if lo > low:
            found.append((Affine(0, terms), lo))
        if hi <= high:
            found.append((Affine(high, tuple([(label, -s) for label, s in terms])), high - hi + 1))
    return found


def _steps(access: Access) -> tuple[tuple[tuple[int, int], ...], ...]:
    """The steps of an access along the loops, wherever it starts."""
    return tuple([at.terms for at in access.axes])


def copied(wiring: Wiring, wire: int, source: int) -> Box:
    """A box for a result that is an argument, possibly stretched."""
    own, full = wiring.wires[source].shape, wiring.wires[wire].shape
    lead = len(full) - len(own)
    assert own == full[lead:], "a map passes on only what it does not stretch along axes of size 1"
    labels = tuple(range(len(full)))
    return Box(Contract((labels[lead:],), labels, full), (source,), (wire,))
