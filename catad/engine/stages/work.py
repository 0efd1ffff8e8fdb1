"""The work of boxes at each index: which boxes a stage can contain, and in which form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from catad import scalar
from catad.category.wiring import Box, Wiring
from catad.engine.stages.access import FIXED, Access, across, along, spread, straight, without_sums
from catad.engine.stages.stage import Work
from catad.linear.families.clear import ClearedWhere
from catad.linear.families.contract import Contract
from catad.linear.families.gather import Gathered
from catad.linear.families.recurrence import Recurred
from catad.linear.families.reindex import Reshaped, StridedCopy
from catad.linear.families.windows import Windowed
from catad.scalar import Function
from catad.support.lru import remembered
from catad.vector.folds.fold import Fold
from catad.vector.folds.shortcut import INDEXED, Shortcut
from catad.vector.pointwise.map import Map
from catad.vector.scans.scan import Scan

_ADD = Function.make(2, [scalar.apply("add", scalar.param(0), scalar.param(1))])
_MUL = Function.make(2, [scalar.apply("mul", scalar.param(0), scalar.param(1))])
_MUL_TO_0 = Function.make(2, [scalar.apply("add", _MUL.outputs[0], scalar.const(0.0))])  # 0.0 for -0.0, as a sum from 0
_LEAST = Function.make(2, [scalar.apply("minimum", scalar.param(0), scalar.param(1))])
_FAR = scalar.const(np.iinfo(np.int64).max)
_COMMUTATIVE = ("add", "mul")


def is_view(box: Box) -> bool:
    """True where a box only says where its argument is to be read, by itself."""
    if isinstance(box.primitive, Contract):
        return len(box.primitive.operands) == 1 and without_sums(box.primitive)
    return isinstance(box.primitive, (Reshaped, StridedCopy, Windowed))


def work_of(wiring: Wiring, box: Box) -> Work | None:
    """The box as work at each index of a stage; None where it can only be run by itself."""
    if isinstance(box.primitive, Shortcut):
        return _shortcut(wiring, box, box.primitive)
    maker = _MAKERS.get(type(box.primitive))
    return None if maker is None else maker(wiring, box, box.primitive)


def _map(wiring: Wiring, box: Box, pointwise: Map) -> Work:
    shape = wiring.wires[box.outs[0]].shape
    reads = tuple([(k, spread(wiring.wires[k].shape, shape)) for k in box.ins])
    return Work("map", pointwise.function, shape, reads, box.outs)


def _cleared(wiring: Wiring, box: Box, _: ClearedWhere) -> Work:
    """A choice at each place between a number and zero."""
    space = wiring.wires[box.outs[0]]
    node = scalar.apply("select", scalar.param(0), scalar.param(1), scalar.const(space.dtype.type(0).item()))
    reads = tuple([(k, spread(wiring.wires[k].shape, space.shape)) for k in box.ins])
    return Work("map", Function.make(2, [node]), space.shape, reads, box.outs)


def _contract(wiring: Wiring, box: Box, c: Contract) -> Work | None:
    """Sums of one operand, products of two without sums, and sums of products that are none of matrices."""
    if len(c.operands) == 1:
        (own,) = c.operands
        if len(set(own)) != len(own) or len(set(c.out)) != len(c.out) or not set(c.out) < set(own):
            return None
        shape = wiring.wires[box.ins[0]].shape
        if 0 in shape:
            return None
        axis = tuple([k for k, label in enumerate(own) if label not in c.out])
        places = straight(len(shape)).axes
        stores = (tuple([places[own.index(label)] for label in c.out]),)
        return Work("fold", _ADD, shape, ((box.ins[0], straight(len(shape))),), box.outs, axis, 0, stores)
    if not without_sums(c):
        return _dots(wiring, box, c)
    plain = straight(len(c.out))
    reads = tuple([(k, across(labels, c.out, plain)) for k, labels in zip(box.ins, c.operands, strict=True)])
    return Work("map", _MUL, wiring.wires[box.outs[0]].shape, reads, box.outs)


def _dots(wiring: Wiring, box: Box, c: Contract) -> Work | None:
    """Sums of products of two operands that have the same axes."""
    first, second = c.operands
    spaces = wiring.spaces((*box.ins, *box.outs))
    if any(len(set(labels)) < len(labels) for labels in (first, second, c.out)) or not set(c.out) < set(first) == set(second):
        return None
    if 0 in spaces[0].shape or len({space.dtype for space in spaces}) > 1 or not spaces[0].is_float:
        return None
    places = straight(len(first))
    reads = ((box.ins[0], places), (box.ins[1], across(second, first, places)))
    axis = tuple([k for k, label in enumerate(first) if label not in c.out])
    stores = (tuple([places.axes[first.index(label)] for label in c.out]),)
    return Work("fold", _ADD, spaces[0].shape, reads, box.outs, axis, 0, stores, first=_MUL_TO_0)


def _shortcut(wiring: Wiring, box: Box, shortcut: Shortcut) -> Work | None:
    """The formula of a shortcut, where the result that it needs meets its condition."""
    formula = shortcut.formula(wiring.spaces(box.ins))
    if formula is None:
        return None
    plain, known = straight(len(formula.shape)), box.ins[-1]
    needs = (known, shortcut.condition) if wiring.wires[known].is_float else None

    def places(axes: tuple[int, ...]) -> Access:
        return Access(tuple([FIXED if axis == INDEXED else plain.axes[axis] for axis in axes]))

    reads = tuple([(box.ins[argument], places(axes)) for argument, axes in formula.reads])
    if formula.first is not None:
        axis, position = formula.first.axis, scalar.param(formula.first.read)
        rest = plain.axes[:axis] + plain.axes[axis + 1 :]
        node = scalar.apply("select", formula.function.outputs[0], position, _FAR)
        first = Function.make(len(reads), [node])  # the position, or one behind all others
        return Work("fold", _LEAST, formula.shape, reads, box.outs, (axis,), 0, (rest,), needs=needs, first=first)
    work = Work("map", formula.function, formula.shape, reads, box.outs, needs=needs)
    if formula.bins is None:
        return work
    return work._replace(indexed=formula.reads[1].axes.index(INDEXED), size=formula.bins)


def _scan(wiring: Wiring, box: Box, scan: Scan) -> Work:
    shape = wiring.wires[box.ins[0]].shape
    d = scan.monoid.width
    reads = [(k, straight(len(shape))) for k in box.ins[:d]]
    reads += [(k, spread(wiring.wires[k].shape, shape)) for k in box.ins[d:]]
    return Work("scan", scan.monoid.op, shape, tuple(reads), box.outs, (scan.axis,), 1)


def _recurrence(wiring: Wiring, box: Box, recurrence: Recurred) -> Work:
    """Backwards, the link of the step before (which is the next index) joins them; the first step reads none."""
    shape = wiring.wires[box.outs[0]].shape
    plain = straight(len(shape))
    links = plain
    if recurrence.reverse:
        axes = list(plain.axes)
        axes[recurrence.axis] = along(recurrence.axis, 1)
        links = Access(tuple(axes))
    reads = [(k, links if j < recurrence.slots else plain) for j, k in enumerate(box.ins)]
    direction = -1 if recurrence.reverse else 1
    data = (recurrence.grid, recurrence.copies, recurrence.reset)
    return Work("recurrence", data, shape, tuple(reads), box.outs, (recurrence.axis,), direction)


def _gathered(wiring: Wiring, box: Box, take: Gathered) -> Work | None:
    """Reading an array at an index, inside the loop."""
    how = take.how
    if (
        len(set(how.dst)) != len(how.dst)
        or not {*how.by, *how.src} <= {*how.dst, how.src[how.axis]}
        or how.src[how.axis] in how.dst
    ):
        return None

    def places(labels: tuple[int, ...]) -> Access:
        return Access(tuple([along(how.dst.index(n)) if n in how.dst else FIXED for n in labels]))

    reads = ((box.ins[0], places(how.by)), (box.ins[1], places(how.src)))
    return Work("take", None, how.shape(how.dst), reads, box.outs, indexed=how.axis, size=how.bins)


def _fold(wiring: Wiring, box: Box, fold: Fold) -> Work | None:
    shape = wiring.wires[box.ins[0]].shape
    if shape[fold.axis] == 0:
        return None
    reads = tuple([(k, straight(len(shape))) for k in box.ins])
    direction = 0 if scalar.recognise(fold.monoid.op) in _COMMUTATIVE else 1
    places = straight(len(shape)).axes
    stores = ((*places[: fold.axis], *places[fold.axis + 1 :]),) * len(box.outs)
    return Work("fold", fold.monoid.op, shape, reads, box.outs, (fold.axis,), direction, stores)


_MAKERS: dict[type, Callable[[Wiring, Box, Any], Work | None]] = {
    Map: _map,
    ClearedWhere: _cleared,
    Contract: _contract,
    Scan: _scan,
    Recurred: _recurrence,
    Gathered: _gathered,
    Fold: _fold,
}


@remembered
def passed_on(function: Function, dtypes: tuple[np.dtype, ...]) -> tuple[int | None, ...]:
    """The argument that each result of a scalar function is, and None where it is no argument."""
    types = scalar.result_types(function, dtypes)
    found: list[int | None] = []
    for node, dtype in zip(function.outputs, types, strict=True):
        found.append(node.value if node.op == "param" and dtypes[node.value] == dtype else None)
    return tuple(found)
