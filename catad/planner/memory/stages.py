"""Programs that are no chain as chains of programs: cut where few numbers pass from what is before to what is after.

A plan within a limit of memory keeps what passes at some places and computes the rest again, so it needs such places. In a
chain of terms they lie between the terms. In any other program, one that was traced for example, they lie between two boxes,
where what is alive (made before and read after) is least among the places around. Constants are made in each part that reads
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from catad.category.cache import cached
from catad.category.constant import Const, Constant
from catad.category.spaces import Product, Space, Tensor, rebuild
from catad.category.terms import D, chain
from catad.category.wiring import Box, Wiring, wire
from catad.traced.programs.program import Line, Program

MOST = 64  # parts
FEW = 4  # boxes that make no parts


def staged(f: D, dom: Space) -> D:
    """A program as a chain of programs; as it is where it is a chain already, or has no place to cut it.

    >>> import catad as ct, numpy as np
    >>> f = ct.function(lambda x: np.sum(np.cumsum(np.sin(np.cumsum(np.cos(x) * x)))))
    >>> len(f), len(staged(f, ct.f64[100]))
    (1, 4)
    """
    return f if len(f) > 1 else cached(f, ("staged", dom), lambda: _staged(f, dom))


def _staged(f: D, dom: Space) -> D:
    wiring = wire(f, dom)
    boxes = [box for box in wiring.boxes if box.ins]
    constant = all(isinstance(box.primitive, Constant) for box in wiring.boxes if not box.ins)
    if wiring.must_run or not constant or len(boxes) <= FEW or not wiring.outputs:
        return f
    alive = _alive(wiring, boxes)
    places = _least([sum([wiring.wires[k].nbytes for k in own]) for own in alive])
    if not places:
        return f
    ends = [0, *places, len(boxes)]
    passing = [wiring.inputs, *[alive[p] for p in places], wiring.outputs]
    return chain([_part(wiring, boxes[a:z], *passing[k : k + 2]) for k, (a, z) in enumerate(pairwise(ends))])


def _alive(wiring: Wiring, boxes: Sequence[Box]) -> list[list[int]]:
    """The wires that are alive before each box, and at the end; constants are not counted."""
    made = {*wiring.inputs, *[k for box in boxes for k in box.outs]}
    needed = dict.fromkeys([k for k in wiring.outputs if k in made])
    found = [list(needed)]
    for box in reversed(boxes):
        for k in box.outs:
            needed.pop(k, None)
        needed.update(dict.fromkeys([k for k in box.ins if k in made]))
        found.append(sorted(needed))
    return found[::-1]


def _least(sizes: Sequence[int]) -> list[int]:
    """The places within a program where no more is alive than at the places beside them."""
    found = [p for p in range(1, len(sizes) - 1) if sizes[p - 1] >= sizes[p] <= sizes[p + 1]]
    while len(found) >= MOST:
        found = found[1::2]
    return found


def _part(wiring: Wiring, boxes: Sequence[Box], ins: Sequence[int], outs: Sequence[int]) -> Program:
    """The program of some boxes, from the wires alive before them to those alive after."""
    dom = wiring.dom if ins is wiring.inputs else _space(wiring, ins)
    number = {k: i for i, k in enumerate(ins)}
    read = {*outs, *[k for box in boxes for k in box.ins]}
    constants = [box for box in wiring.boxes if not box.ins and not read.isdisjoint(box.outs)]
    lines: list[Line] = []
    for box in (*constants, *boxes):
        args = _nested([number[k] for k in box.ins])
        for k in box.outs:
            number[k] = len(number)
        lines.append(Line(_term(box), args, _nested([number[k] for k in box.outs])))
    result = [number[k] for k in outs]
    return Program(dom, lines, rebuild(wiring.cod, result) if outs is wiring.outputs else _nested(result))


def _term(box: Box) -> D:
    """The term of a box; a constant is one of its dtype."""
    own = box.primitive
    return Const(own.space, (Constant(own.array),)) if isinstance(own, Constant) else own


def _space(wiring: Wiring, wires: Sequence[int]) -> Space:
    spaces: tuple[Tensor, ...] = wiring.spaces(wires)
    return spaces[0] if len(spaces) == 1 else Product(spaces)


def _nested(numbers: Sequence[int]) -> Any:
    return numbers[0] if len(numbers) == 1 else tuple(numbers)
