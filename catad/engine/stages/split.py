"""Long scalar functions are cut: a map of thousands of operations becomes several, with arrays between them.

LLVM takes more than twice the time for a loop of twice the length, and a long one is not vectorised. A piece has at most `MOST`
operations, and ends where the fewest values pass on to later ones; so a chain is cut in equal pieces, which are compiled once.
The pieces compute what the uncut function would: only values pass on that keep their type as an array.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from catad import scalar
from catad.category.spaces import Tensor
from catad.category.wiring import Box, Wiring, replaced
from catad.scalar import Function, Node, param, postorder
from catad.scalar.dtypes import FLOAT, default_real, typed
from catad.scalar.lazy_branches import demands
from catad.scalar.simplify import TRUE, replace
from catad.scalar.vector_math.composed import composed
from catad.scalar.vocabulary import FREE
from catad.vector.pointwise.map import Map

MOST = 300  # operations of a piece: a longer loop is not vectorised (see `WIDE` in engine/cpu/nests/nest.py)
INLINED = 8  # operations within exp, sin and their like that count as one more (60 sines compile in a second)


class Piece(NamedTuple):
    """A part of a function: the nodes that it is given, and those that others or the results need of it."""

    given: tuple[Node, ...]
    made: tuple[Node, ...]


def split(wiring: Wiring) -> Wiring:
    """The wiring with its long maps cut."""

    def cut(wires: list[Tensor], box: Box, _: Map) -> list[Box]:
        found = _pieces(wiring, box)
        return _laid_out(box, found, wires) if found else [box]

    return replaced(wiring, {Map: cut})


def length(function: Function) -> int:
    """The operations of a scalar function, those within exp, sin and their like included at a lower rate."""
    return sum([_weight(node) for node in postorder(function.outputs)])


def _weight(node: Node) -> int:
    if node.op == "loop":
        return scalar.operations(node.value.condition) + scalar.operations(node.value.step)
    return 0 if node.op in FREE else _weight_of(node.op, node.value)


@cache
def _weight_of(op: str, value: object) -> int:
    inlined = composed(op, FLOAT, value)
    return 1 if inlined is None else 1 + scalar.operations(inlined) // INLINED


def _laid_out(box: Box, pieces: Sequence[Piece], wires: list[Tensor]) -> list[Box]:
    """The pieces of a map as boxes, or the map where a result would change its space. `wires` grows by those between them."""
    assert isinstance(box.primitive, Map)
    own: dict[Node, list[int]] = {}
    for node, k in zip(box.primitive.function.outputs, box.outs, strict=True):
        own.setdefault(node, []).append(k)
    at = {param(i): k for i, k in enumerate(box.ins)}
    boxes, before = [], len(wires)
    for piece in pieces:
        made = [node for node in piece.made for _ in own.get(node, [-1])]
        places = {node: param(i) for i, node in enumerate(piece.given)}
        primitive = Map(Function.make(len(places), replace(made, places)))
        ins = tuple([at[node] for node in piece.given])
        spaces = primitive.typed(tuple([wires[k] for k in ins]))
        outs: list[int] = []
        for node, space in zip(piece.made, [spaces[made.index(node)] for node in piece.made], strict=True):
            if node not in own:
                wires.append(space)
            elif space != wires[own[node][0]]:
                del wires[before:]
                return [box]
            outs += own.get(node, [len(wires) - 1])
            at.setdefault(node, outs[-1])
        boxes.append(Box(primitive, ins, tuple(outs)))
    return boxes


def _pieces(wiring: Wiring, box: Box) -> tuple[Piece, ...]:
    """The pieces of a map that is too long, in order; none where it is not, or cannot be cut."""
    assert isinstance(box.primitive, Map)
    function = box.primitive.function
    if length(function) <= MOST or any(guard is not TRUE for guard in demands(function.outputs).values()):
        return ()  # a loop that a branch may not take stays with the branch
    dtypes = tuple([space.dtype for space in wiring.spaces(box.ins)])
    types, real = typed(function, dtypes)
    inside = {arg for node in types if node.op == "int" for arg in node.args}  # `int(floor(x))` is read as a whole
    stay = {
        node
        for node, kind in types.items()
        if (kind.weak and kind.dtype.kind != "b") or node.op in ("int", "loop") or node in inside
    }
    order = min([postorder(function.outputs), _by_depth(function)], key=lambda one: sum(_waiting(one, set(one))))
    pieces = tuple(_parts(function, order, _ends(order, stay)))
    for piece in pieces:  # what a weak float is kept in depends on the arguments
        given = [types[node].dtype for node in piece.given]
        if default_real(given) != real:
            return ()
    return pieces if len(pieces) > 1 else ()


def _is_given(node: Node) -> bool:
    return node.op in ("param", "const")


def _by_depth(function: Function) -> list[Node]:
    """The nodes in an order in which values are used soon after they are made, where many chains run beside each other."""
    depth: dict[Node, int] = {}
    for node in postorder(function.outputs):
        depth[node] = max([1 + depth[arg] for arg in node.args if not _is_given(arg)], default=0)
    return sorted(depth, key=lambda node: depth[node])


def _waiting(order: Sequence[Node], among: set[Node]) -> list[int]:
    """After each node, how many of those so far are still needed."""
    last = {arg: i for i, node in enumerate(order) for arg in node.args}
    change = np.zeros(len(order) + 1, np.int64)
    for i, node in enumerate(order):
        if node in last and node in among and not _is_given(node):
            change[i] += 1
            change[last[node]] -= 1
    found: list[int] = np.cumsum(change)[:-1].tolist()
    return found


def _ends(order: Sequence[Node], stay: set[Node]) -> list[int]:
    """The nodes after which pieces end."""
    waiting, held = _waiting(order, set(order)), _waiting(order, stay)
    weights = [_weight(node) for node in order]
    ends, i, total, best = list[int](), 0, 0, -1
    while i < len(order):
        total += weights[i]
        if total > MOST and best >= 0:
            ends.append(best)
            i, total, best = best + 1, 0, -1
            continue
        if 2 * total >= MOST and not held[i] and (best < 0 or waiting[i] <= waiting[best]):
            best = i
        i += 1
    return ends


def _parts(function: Function, order: Sequence[Node], ends: Sequence[int]) -> Iterator[Piece]:
    """The pieces of a function that end after some of its nodes."""
    number = {}
    spans = list(pairwise([-1, *ends, len(order) - 1]))
    for n, (before, end) in enumerate(spans):
        number.update(dict.fromkeys(order[before + 1 : end + 1], n))
    number.update({node: len(spans) - 1 for node in number if _is_given(node)})
    passed = dict.fromkeys(function.outputs)
    passed.update({arg: None for node in order for arg in node.args if not _is_given(arg) and number[arg] < number[node]})
    made: list[list[Node]] = [[] for _ in spans]
    for node in order:
        if node in passed:
            made[number[node]].append(node)
    for n, (before, end) in enumerate(spans):
        read = [arg for node in order[before + 1 : end + 1] for arg in node.args] + made[n]
        given = dict.fromkeys(arg for arg in read if arg.op == "param" or (arg.op != "const" and number[arg] < n))
        yield Piece(tuple(given), tuple(made[n]))
