"""Sums of one array moved to tile after tile of a larger one, as that array repeated.

    y = pad(x, (0, n)) + pad(x, (n, 0)),  so  y[j n + k] = x[k]

This is what the derivative of `x[:n] + x[n:]` is, of which tree reductions consist. Repeating is a view, which costs no pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from catad import scalar
from catad.category.spaces import Tensor
from catad.category.wiring import Box, Wiring, replaced
from catad.linear.families.contract import Contract
from catad.linear.families.reindex import Axis, Reshaped, StridedCopy, whole
from catad.scalar import Function, Node
from catad.vector.pointwise.map import Map

_ADDED = Function.make(1, [scalar.apply("add", scalar.param(0), scalar.const(0.0))])  # -0.0 becomes 0.0, as added to it


class Tiles(NamedTuple):
    """The array that is repeated, the axis along which it is, and how often."""

    wire: int
    axis: int
    times: int


def tiled(wiring: Wiring) -> Wiring:
    """The wiring with such sums written as views."""
    moves = {box.outs[0]: box for box in wiring.boxes if isinstance(box.primitive, StridedCopy)}
    written = set[int]()

    def repeated(wires: list[Tensor], box: Box, _: Map) -> list[Box]:
        found = _tiles(moves, box) if len(box.ins) > 1 else None
        if found is None or not wires[found.wire].is_float:
            return [box]
        wire, made = found.wire, list[Box]()
        if wire not in written:
            wire = len(wires)
            wires.append(wires[found.wire])
            made.append(Box(Map(_ADDED), (found.wire,), (wire,)))
        written.update(box.outs)
        return [*made, *_repeated(wires, wire, found, box.outs)]

    return replaced(wiring, {Map: repeated})


def _tiles(moves: Mapping[int, Box], box: Box) -> Tiles | None:
    """What a map repeats, where it is the sum of its arguments, and these are one array moved to all tiles."""
    if not all(k in moves for k in box.ins) or len({moves[k].ins for k in box.ins}) > 1:
        return None
    assert isinstance(box.primitive, Map)
    function = box.primitive.function
    if len(function.outputs) != 1 or sorted(_added(function.outputs[0])) != list(range(function.arity)):
        return None
    axes = [_axes(moves[k]) for k in box.ins]
    along = {k for own in axes for k, axis in enumerate(own) if axis != whole(axis.n_in)}
    if len(along) != 1 or not all(axes):
        return None
    (k,) = along
    own = [one[k] for one in axes]
    n, count = own[0].n_in, len(own)
    at = sorted([one.c for one in own])
    plain = all(one == Axis(n, n * count, 0, 1, one.c, 1, n) for one in own)
    return Tiles(moves[box.ins[0]].ins[0], k, count) if plain and at == [j * n for j in range(count)] else None


def _axes(box: Box) -> Sequence[Axis]:
    """The moves of a box along its axes; none where it puts other numbers than 0.0 between."""
    assert isinstance(box.primitive, StridedCopy)
    return box.primitive.axes if repr(box.primitive.fill) == "0.0" else ()


def _added(node: Node) -> list[int]:
    """The arguments whose sum a node is, -1 for what is none."""
    if node.op == "add":
        return [k for arg in node.args for k in _added(arg)]
    return [node.value] if node.op == "param" else [-1]


def _repeated(wires: list[Tensor], wire: int, found: Tiles, outs: tuple[int, ...]) -> list[Box]:
    """An array repeated; `wires` grows."""
    space, k = wires[wire], found.axis
    labels = tuple(range(space.ndim))
    out = (*labels[:k], space.ndim, *labels[k:])
    sizes = (*space.shape, found.times)
    wires.append(Tensor([sizes[label] for label in out], space.dtype))
    spread = len(wires) - 1
    return [Box(Contract((labels,), out, sizes), (wire,), (spread,)), Box(Reshaped(wires[outs[0]].shape), (spread,), outs)]
