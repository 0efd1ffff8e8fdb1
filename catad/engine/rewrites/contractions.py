"""Sums of a pointwise product that nothing else reads are one contraction, where that is a product of matrices.

    sum_{k...} a[i, k] * b[k, j]        written as (a[:, :, None] * b).sum(axis=1)

A stage would go through all i, j and k, one number after the other; BLAS reads each number of a block of a and b once. So this
holds where each factor has an axis that the other has not, and the sum is over axes of both. It is done before differentiating,
too, so that the derivatives are products of matrices.
"""

from __future__ import annotations

import math
from collections import Counter

from catad import scalar
from catad.category.wiring import Box, Wiring
from catad.linear.families.contract import Contract, Labels
from catad.vector.pointwise.map import Map

WORTH = 2  # multiplications for each number that is read or written, from which on it is worth it
_MUL = scalar.apply("mul", scalar.param(0), scalar.param(1))


def contracted(wiring: Wiring) -> Wiring:
    """The wiring with such products and sums as contractions, and in its `parts` the boxes that these stand for."""
    made: dict[int, Box] = {}
    parts: dict[Box, list[Box]] = dict(wiring.__dict__.get("parts", {}))
    gone: set[int] = set()
    products = {box.outs[0]: box for box in wiring.boxes if _is_product(box)}
    if not products:
        return wiring
    readers = Counter([*wiring.outputs, *[k for box in wiring.boxes for k in box.ins]])
    for box in wiring.boxes:
        factors = products.get(box.ins[0]) if len(box.ins) == 1 and isinstance(box.primitive, Contract) else None
        found = _contraction(wiring, factors, box) if factors is not None and readers[box.ins[0]] == 1 else None
        if found is not None and factors is not None:
            one = Box(found, factors.ins, box.outs)
            made[box.outs[0]], parts[one] = one, [factors, box]
            gone.add(factors.outs[0])
    if not made:
        return wiring
    boxes = [made.get(box.outs[0], box) if box.outs else box for box in wiring.boxes if not box.outs or box.outs[0] not in gone]
    new = Wiring(wiring.dom, wiring.cod, wiring.wires, wiring.inputs, tuple(boxes), wiring.outputs)
    new.__dict__["parts"] = parts
    return new


def _is_product(box: Box) -> bool:
    return isinstance(box.primitive, Map) and box.primitive.function.outputs == (_MUL,) and len(set(box.ins)) == 2


def _contraction(wiring: Wiring, product: Box, box: Box) -> Contract | None:
    """The contraction that a sum of a product is; None where it is no product of matrices, or a small one."""
    how = box.primitive
    assert isinstance(how, Contract)
    (own,) = how.operands
    spaces = wiring.spaces((*product.ins, *product.outs, *box.outs))
    if len({space.dtype for space in spaces}) > 1 or not spaces[0].is_float or len(set(own)) < len(own):
        return None
    if not set(how.out) <= set(own) or len(set(how.out)) < len(how.out) or 0 in spaces[2].shape:
        return None
    sizes = list(how.sizes)
    operands = tuple([_labels(space.shape, spaces[2].shape, own, sizes) for space in spaces[:2]])
    first, second = [{label for label in labels if sizes[label] > 1} for labels in operands]
    out = set(how.out)
    if not (first - second) & out or not (second - first) & out or (first | second) - out != (first & second) - out:
        return None
    terms = math.prod([sizes[label] for label in first | second])
    touched = spaces[0].size + spaces[1].size + spaces[3].size
    return Contract(operands, how.out, tuple(sizes)) if (first & second) - out and terms >= WORTH * touched else None


def _labels(shape: tuple[int, ...], whole: tuple[int, ...], labels: Labels, sizes: list[int]) -> Labels:
    """The labels of the axes of a factor; an axis of size 1 that is stretched has one of its own, which is added to the sizes."""
    lead, found = len(whole) - len(shape), list[int]()
    for k, n in enumerate(shape):
        if n == whole[lead + k]:
            found.append(labels[lead + k])
        else:
            found.append(len(sizes))
            sizes.append(1)
    return tuple(found)
