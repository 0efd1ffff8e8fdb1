"""Reading a flattened array at `row * n + index`, as reading each row at the index, where the row is that of the reader.

    x.reshape(r * n)[k * n + i[.., k, ..]] = x[k, i[.., k, ..]]   for 0 <= i < n

So it is known that stages exchange such numbers within a row: those that the threads of a block read in shared memory, say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from catad import scalar
from catad.category.spaces import Tensor
from catad.category.wiring import Box, Wiring, replaced
from catad.linear.families.gather import Gathered, Indexing
from catad.linear.families.reindex import Reshaped
from catad.scalar import Function, Node
from catad.vector.pointwise.generate import Iota
from catad.vector.pointwise.map import Map

_ZERO, _NOWHERE = scalar.const(0), scalar.const(-1)


def within_rows(wiring: Wiring) -> Wiring:
    """The wiring with such reads along the last axis of the array itself."""
    makers = {k: box for box in wiring.boxes for k in box.outs}
    return replaced(wiring, {Gathered: partial(_within, makers)})


def _within(makers: Mapping[int, Box], wires: list[Tensor], box: Box, take: Gathered) -> list[Box]:
    """The index within rows, and the read at it; the box itself where it is another. `wires` grows."""
    (at, line), how = box.ins, take.how
    index, flat = makers.get(at), makers.get(line)
    if index is None or flat is None or not isinstance(index.primitive, Map) or not isinstance(flat.primitive, Reshaped):
        return [box]
    lanes, shape = wires[at].shape, wires[flat.ins[0]].shape
    if how.src != (0,) or how.by != how.dst or len(how.by) != len(lanes) or len(shape) < 2:
        return [box]
    node = index.primitive.function.outputs[index.outs.index(at)]
    found = _position(node, shape)
    rows = [_axis(wires, makers, index.ins, own, lanes, n) for own, n in zip(found[1], shape, strict=False)] if found else [None]
    own_axes = [k for k in rows if k is not None]
    if found is None or len(set(own_axes)) != len(shape) - 1:
        return [box]
    arity, rank = index.primitive.function.arity, len(lanes)
    own = Function.make(arity, [scalar.apply("select", found[0], scalar.cast("int64", found[2]), _NOWHERE)])
    wires.append(Tensor(lanes, "int64"))
    within = Indexing((*own_axes, rank), len(own_axes), tuple(range(rank)), tuple(range(rank)), (*lanes, shape[-1]))
    made = len(wires) - 1
    return [Box(Map(own), index.ins, (made,)), Box(Gathered(within), (made, flat.ins[0]), box.outs)]


def _position(node: Node, shape: Sequence[int]) -> tuple[Node, list[Node], Node] | None:
    """The condition of a position in an array of this shape, -1 where it fails, its places along all axes but the last, and its
    place along that, which is in range by the condition; None where it is none."""
    if node.op != "select" or node.args[2] is not _NOWHERE:
        return None
    condition, rest, places = node.args[0], _plain(node.args[1]), list[Node]()
    for n in reversed(shape[1:]):
        if rest.op != "add" or rest.args[0].op != "mul" or rest.args[0].args[1] is not scalar.const(n):
            return None
        places.insert(0, rest.args[1])
        rest = _plain(rest.args[0].args[0])
    last, known = places.pop(), set(_conditions(condition))
    if not {scalar.apply("ge", last, _ZERO), scalar.apply("lt", last, scalar.const(shape[-1]))} <= known:
        return None
    return condition, [rest, *places], last


def _plain(node: Node) -> Node:
    """A number without a conversion to 64 bits, and without a zero before it."""
    while (node.op == "cast" and node.value == "int64") or (node.op == "add" and node.args[0] is _ZERO):
        node = node.args[-1]
    return node


def _conditions(node: Node) -> Iterator[Node]:
    """What must hold for a conjunction to hold."""
    stack = [node]
    while stack:
        one = stack.pop()
        if one.op == "and":
            stack += one.args
        else:
            yield one


def _axis(
    wires: Sequence[Tensor], makers: Mapping[int, Box], ins: Sequence[int], node: Node, lanes: Sequence[int], n: int
) -> int | None:
    """The axis of so many readers whose own position a number is; None where it is another."""
    if node.op != "param":
        return None
    k = ins[node.value]
    shape = (1,) * (len(lanes) - len(wires[k].shape)) + wires[k].shape
    axes = [axis for axis, size in enumerate(shape) if size > 1]
    box = makers.get(k)
    while box is not None and isinstance(box.primitive, Reshaped):
        box = makers.get(box.ins[0])
    if box is None or box.primitive != Iota(n) or len(axes) != 1 or lanes[axes[0]] != n or shape[axes[0]] != n:
        return None
    return axes[0]
