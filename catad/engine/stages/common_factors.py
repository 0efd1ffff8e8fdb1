"""Values that several results of a map are multiples of, as results of their own.

    x = t a,  y = t b,  z = -t   with numbers a and b   becomes   t, x, y, z

Nothing is written because of it: who reads x, y and z may compute them of t, which is then the only one that is written
(`recompute.py`). Cotangents of a convolution are such results.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from catad import scalar
from catad.category.spaces import Tensor
from catad.category.wiring import Box, Wiring
from catad.engine.stages.work import is_view
from catad.scalar import Function, Node, postorder
from catad.vector.pointwise.map import Map

_AFFINE = ("neg", "add", "sub", "mul", "div")


def with_common_factors(wiring: Wiring) -> Wiring:
    """The wiring whose maps also give what several of their results are such functions of."""
    wires, boxes = list(wiring.wires), list[Box]()
    sizes = [space.size for space in wires]  # of what is read where a wire is
    for box in wiring.boxes:
        if is_view(box):
            sizes[box.outs[0]] = min(sizes[box.outs[0]], sizes[box.ins[0]])
        own = _common(sizes, box, box.primitive.function) if isinstance(box.primitive, Map) and len(box.outs) > 1 else None
        if own is None:
            boxes.append(box)
            continue
        dtypes = scalar.result_types(own, tuple([space.dtype for space in wiring.spaces(box.ins)]))[len(box.outs) :]
        outs = range(len(wires), len(wires) + len(dtypes))
        wires += [Tensor(wires[box.outs[0]].shape, dtype) for dtype in dtypes]
        boxes.append(Box(Map(own), box.ins, (*box.outs, *outs)))
    if len(wires) == len(wiring.wires):
        return wiring
    return Wiring(wiring.dom, wiring.cod, tuple(wires), wiring.inputs, tuple(boxes), wiring.outputs)


def _common(sizes: Sequence[int], box: Box, function: Function) -> Function | None:
    """The function with what several results are functions of; None where there is nothing."""
    size = sizes[box.outs[0]]
    arrays = {scalar.param(i) for i, k in enumerate(box.ins) if sizes[k] >= size}  # and what depends on them
    for node in postorder(function.outputs):
        if not arrays.isdisjoint(node.args):
            arrays.add(node)
    found = Counter([_behind(node, arrays) for node in function.outputs])
    more = [node for node, n in found.items() if n > 1 and node.op not in ("param", "const") and node not in function.outputs]
    return Function.make(function.arity, (*function.outputs, *more)) if more else None


def _behind(node: Node, arrays: set[Node]) -> Node:
    """What a result is a multiple of, up to numbers that are added."""
    while node.op in _AFFINE:
        rest = [arg for arg in node.args if arg in arrays]
        if len(rest) != 1:
            break
        (node,) = rest
    return node
