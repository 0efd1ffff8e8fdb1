"""Adding one number to each line of zeros, at an index, as a choice at each place, which shares a pass with what reads it.

    x[.., j, ..] = v where j = index, else 0

This is what the derivative of an extremum along an axis is. A short line is written as a whole in any case.
"""

from __future__ import annotations

from catad import scalar
from catad.category.spaces import Tensor
from catad.category.wiring import Box, Wiring, replaced
from catad.linear.families.contract import Contract
from catad.linear.families.gather import ScatterAdded
from catad.scalar import Function
from catad.vector.pointwise.generate import Iota
from catad.vector.pointwise.map import Map

SHORT = 32  # places of a line

_J, _INDEX, _V = map(scalar.param, range(3))
_CHOICE = Function.make(
    3,
    [scalar.apply("select", scalar.apply("eq", _J, _INDEX), scalar.apply("add", _V, scalar.const(0.0)), scalar.const(0.0))],
)  # -0.0 becomes 0.0, as added to it


def one_hot(wiring: Wiring) -> Wiring:
    """The wiring with such boxes written as maps."""
    return replaced(wiring, {ScatterAdded: _written})


def _written(wires: list[Tensor], box: Box, put: ScatterAdded) -> list[Box]:
    """The box as a map of an index, of where it is, and of the numbers; itself where it is another. `wires` grows."""
    how, (index, v) = put.how, box.ins
    at = how.src[how.axis]
    lines = set(how.src) - {at}
    distinct = all(len(set(labels)) == len(labels) for labels in (how.src, how.by, how.dst))
    if not distinct or set(how.dst) != lines or not set(how.by) <= lines or at in how.by or how.bins > SHORT:
        return [box]
    if wires[index].dtype.kind != "i" or not wires[v].is_float:
        return [box]
    shape = how.shape(how.src)
    boxes = [Box(Iota(how.bins), (), (len(wires),))]
    wires.append(Tensor((how.bins,), "int64"))
    spread = []
    for k, labels in ((len(wires) - 1, (at,)), (index, how.by), (v, how.dst)):
        boxes.append(Box(Contract((labels,), how.src, how.sizes), (k,), (len(wires),)))
        spread.append(len(wires))
        wires.append(Tensor(shape, wires[k].dtype))
    return [*boxes, Box(Map(_CHOICE), tuple(spread), box.outs)]
