"""Arrays after each other along an axis, as the sum of these arrays, each moved to its place.

    concatenate(x, y) = pad(x, (0, m)) + pad(y, (n, 0)),  where both are padded with -0.0

A number plus -0.0 is that number, also where it is a zero. Such a pad is a view with a guard, so what reads the array computes
it: a step that reads its neighbours by `np.roll` is one pass.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

from catad import scalar
from catad.category.spaces import Tensor
from catad.category.wiring import Box, Wiring, replaced
from catad.linear.families.reindex import StridedCopy, axis, whole
from catad.scalar import Function
from catad.vector.pointwise.map import Map
from catad.vector.shapes.shape import Concatenate

FEW = 4  # arrays that are read at each place


def joined(wiring: Wiring) -> Wiring:
    """The wiring with such boxes written as maps, where maps alone read them."""
    others = {*wiring.outputs, *[k for box in wiring.boxes if not isinstance(box.primitive, Map) for k in box.ins]}
    return replaced(wiring, {Concatenate: partial(_as_sum, others)})


def _as_sum(others: Collection[int], wires: list[Tensor], box: Box, joint: Concatenate) -> list[Box]:
    """The box as a map of moved arrays; itself where something else reads it. `wires` grows."""
    (out,) = box.outs
    space = wires[out]
    if out in others or not 1 < joint.count <= FEW or not space.size or space.dtype.kind not in "fiu":
        return [box]
    if any(wires[k].dtype != space.dtype or not wires[k].size for k in box.ins):
        return [box]
    moved, start, total = list[Box](), 0, space.shape[joint.axis]
    for k in box.ins:
        n = wires[k].shape[joint.axis]
        axes = [whole(size) for size in space.shape]
        axes[joint.axis] = axis(n, total, 0, 1, start, 1, n)
        moved.append(Box(StridedCopy(tuple(axes), -0.0 if space.is_float else 0.0), (k,), (len(wires),)))
        wires.append(space)
        start += n
    sum_ = scalar.param(0)
    for k in range(1, joint.count):
        sum_ = scalar.apply("add", sum_, scalar.param(k))
    return [*moved, Box(Map(Function.make(joint.count, [sum_])), tuple([one.outs[0] for one in moved]), box.outs)]
