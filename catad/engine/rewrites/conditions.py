"""Conditions of pointwise boxes as boxes of their own, so that what is kept can be a condition: a byte for each number.

    m = 1 if a * b > 0 else 0       as       c = a * b > 0,  m = 1 if c else 0

The partials of a choice depend on its condition, and often on nothing else. Where both boxes run, they share a pass.
"""

from __future__ import annotations

import numpy as np

from catad import scalar
from catad.category.spaces import Tensor
from catad.category.wiring import Box, Wiring, replaced
from catad.scalar import Function, Node
from catad.scalar.ir import postorder
from catad.scalar.simplify import replace
from catad.vector.pointwise.map import Map, broadcast

_BOOL = np.dtype(bool)


def with_conditions(wiring: Wiring) -> Wiring:
    """The wiring with the conditions of its maps computed by maps before them, where these make less depend on the arguments."""
    return replaced(wiring, {Map: lambda wires, box, pointwise: _parted(wires, box, pointwise.function)})


def _parted(wires: list[Tensor], box: Box, function: Function) -> list[Box]:
    """A map in two, the first of which gives conditions; as it is where the second would read as much of the arguments."""
    order = postorder(function.outputs)
    conditions = [node for node in dict.fromkeys([n.args[0] for n in order if n.op == "select"]) if node.args]
    types = tuple([wires[k].dtype for k in box.ins])
    if not conditions or any(node.op == "loop" for node in order):
        return [box]
    first = Function.make(function.arity, tuple(conditions))
    if any(dtype != _BOOL for dtype in scalar.result_types(first, types)):
        return [box]
    read = _params(conditions)
    places = {node: scalar.param(function.arity + i) for i, node in enumerate(conditions)}
    outputs = replace(list(function.outputs), places)
    rest = sorted(_params(outputs))
    ins = tuple([box.ins[i] for i in sorted(read)])
    new = tuple(range(len(wires), len(wires) + len(conditions)))
    shape = broadcast([wires[k] for k in ins])
    second_ins = tuple([box.ins[i] if i < function.arity else new[i - function.arity] for i in rest])
    spaces = [wires[k] for k in second_ins if k < len(wires)] + [Tensor(shape, _BOOL)]
    if not any(i < function.arity and i not in rest for i in read) or broadcast(spaces) != wires[box.outs[0]].shape:
        return [box]
    wires += [Tensor(shape, _BOOL)] * len(conditions)
    one = Box(Map(_of(first.outputs, sorted(read))), ins, new)
    return [one, Box(Map(_of(tuple(outputs), rest)), second_ins, box.outs)]


def _params(nodes: list[Node] | tuple[Node, ...]) -> set[int]:
    return {node.value for node in postorder(nodes) if node.op == "param"}


def _of(outputs: tuple[Node, ...], read: list[int]) -> Function:
    """The function with these results of some parameters only."""
    places = {scalar.param(old): scalar.param(i) for i, old in enumerate(read)}
    return Function.make(len(read), tuple(replace(list(outputs), places)))
