"""Boxes that run programs merge, where they run the same ones: sweeps over the same states, and choices by the same condition.

A value, the coefficients of its derivative and those of its second derivative are sweeps whose bodies differ in what they give
at each step, and agree in the next state: the same boxes give it, on the same wires.
So a loop that is met with its derivatives runs once, in whatever order they were composed. A sweep of some states of an earlier
one, such as that of a gradient beside a value that needs more states, is a part of it. Two choices on the same wires are one
choice between all that both would run. What no box reads of the results is left out.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

from catad.category.boxes import of_fields
from catad.category.cache import cached
from catad.category.cartesian import fork, it, proj
from catad.category.spaces import Product, Space, Unit, flatten, rebuild
from catad.category.terms import D
from catad.category.wiring import Box, Wiring, wire
from catad.linear.restriction import cut
from catad.vector.loops.either import Choose
from catad.vector.loops.sweep_map import Sweep

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wires


def merged(wiring: Wiring) -> Wiring:
    """The wiring with such boxes merged, each at the place of the first, and without results that nothing reads."""
    if not any(isinstance(box.primitive, (Sweep, Choose)) for box in wiring.boxes):
        return wiring
    same: dict[int, int] = {}  # a wire, and the equal one that stays
    alike: dict[Any, list[Box]] = {}  # the boxes that merge
    groups: list[list[Box]] = []
    for box in wiring.boxes:
        box = Box(box.primitive, tuple([same.get(k, k) for k in box.ins]), box.outs)
        if not isinstance(box.primitive, (Sweep, Choose)):
            groups.append([box])
            continue
        found = _known(alike, box, same)
        if len(found) == 1:
            groups.append(found)
    outputs = tuple([same.get(k, k) for k in wiring.outputs])
    parts: dict[Box, list[Box]] = {}
    needed, boxes = set(outputs), list[Box]()
    for group in reversed(groups):
        one = _trimmed(_one(group), needed)
        if one is not group[0]:
            parts[one] = group
        needed.update(one.ins)
        boxes.append(one)
    made = Wiring(wiring.dom, wiring.cod, wiring.wires, wiring.inputs, tuple(boxes[::-1]), outputs)
    made.__dict__["parts"] = parts
    return made


def _known(alike: dict[Any, list[Box]], box: Box, same: dict[int, int]) -> list[Box]:
    """The boxes met so far that merge with this one, which is now the last of them."""
    p: Any = box.primitive
    key = (p.giving(it, Unit, Unit), _next_state(p)) if isinstance(p, Sweep) else (p.dom, p.lanes, p.shared)
    found = alike.get((box.ins, key))
    if found is None and type(p) is Sweep:
        for group in alike.values():
            part = _within(box, group[0])
            if part is not None:
                group.append(_on(box, group[0], part))
                same.update(zip(box.outs, [group[0].outs[i] for i in part[: len(p.state.leaves)]], strict=False))
                return group
    found = alike.setdefault((box.ins, key), [])
    found.append(box)
    same.update(zip(_shared(box), _shared(found[0]), strict=True))
    return found


def _next_state(sweep: Sweep) -> Hashable:
    """What gives the next state of a body: the boxes, each after those that it reads from the left to the right, and the ends."""

    def made() -> Hashable:
        wiring = wire(sweep.body >> proj(0), sweep.dom)
        number = {k: i for i, k in enumerate(wiring.inputs)}
        writer = {k: box for box in wiring.boxes for k in box.outs}
        boxes = []
        stack = [*wiring.outputs[::-1]]
        while stack:
            if stack[-1] in number:
                stack.pop()
                continue
            box = writer[stack[-1]]
            missing = [k for k in box.ins[::-1] if k not in number]
            if missing:
                stack += missing
                continue
            boxes.append((box.primitive, tuple([number[k] for k in box.ins])))
            number |= {k: len(number) + i for i, k in enumerate(box.outs)}
        return tuple(boxes), tuple([number[k] for k in wiring.outputs])

    return cached(sweep.body, ("next state", sweep.dom), made)


def _within(box: Box, wider: Box) -> list[int] | None:
    """Where a sweep reads its leaves among those of a wider sweep of which it has some of the states; None where it has others.

    Two states are equal at each step where they start alike and steps make them alike of alike states, given values and inputs.
    """
    p: Any = box.primitive
    q: Any = wider.primitive
    if type(q) is not Sweep or (p.n, p.reverse) != (q.n, q.reverse) or not {*box.ins} <= {*wider.ins}:
        return None
    numbers: dict[Hashable, int] = {}
    starts = [[(i, k) for i, own in enumerate(s.parted(ins)) for k in own] for s, ins in ((p, box.ins), (q, wider.ins))]
    kinds, count = [[numbers.setdefault(("start", *one), len(numbers)) for one in own] for own in starts], 0
    while count < len({*kinds[0], *kinds[1]}):
        count = len({*kinds[0], *kinds[1]})
        for sweep, own in zip((p, q), kinds, strict=True):
            for i, after in enumerate(_after(sweep, own, numbers)):
                own[i] = numbers.setdefault(("state", own[i], after), len(numbers))
    place = {kind: i for i, kind in enumerate(kinds[1])}
    return [place[kind] for kind in kinds[0]] if place.keys() >= {*kinds[0]} else None


def _after(sweep: Sweep, kinds: Sequence[int], numbers: dict[Hashable, int]) -> list[int]:
    """The kinds of the states after a step, from those of the leaves of its argument."""
    wiring = wire(sweep.body >> proj(0), sweep.dom)
    at = dict(zip(wiring.inputs, kinds, strict=True))
    for box in wiring.boxes:
        ins = tuple([at[k] for k in box.ins])
        at.update({k: numbers.setdefault((box.primitive, ins, i), len(numbers)) for i, k in enumerate(box.outs)})
    return [at[k] for k in wiring.outputs]


def _on(box: Box, wider: Box, part: Sequence[int]) -> Box:
    """A sweep with the states of a wider one, whose leaves at some places are its own."""
    p: Any = box.primitive
    q: Any = wider.primitive
    own = Placed(p.dom, tuple(part)) >> p.body
    primitive = q.giving(fork(q.body >> proj(0), own >> proj(1), own >> proj(2)), p.sums, p.output)
    return Box(primitive, wider.ins, (*wider.outs[: len(q.state.leaves)], *box.outs[len(p.state.leaves) :]))


@of_fields
class Placed(D):
    """The leaves at some places of a value, as a value of a space."""

    space: Space
    places: tuple[int, ...]

    def lay_out(self, b: Builder, x: Wires) -> Any:
        leaves = flatten(x)
        return rebuild(self.space, [leaves[i] for i in self.places])


def _shared(box: Box) -> list[int]:
    """What a box gives that does not depend on what it shall give: the states after a sweep, and how many steps it took."""
    if not isinstance(box.primitive, Sweep):
        return []
    sums, outputs = box.primitive.results(box.outs)
    return [k for k in box.outs if k not in sums and k not in outputs]


def _one(group: list[Box]) -> Box:
    """One box that gives the results of all."""
    if len(group) == 1:
        return group[0]
    primitives: list[Any] = [box.primitive for box in group]
    first = primitives[0]
    if isinstance(first, Choose):
        f, g = fork(*[p.f for p in primitives]), fork(*[p.g for p in primitives])
        outs = tuple([k for box in group for k in box.outs])
        return Box(Choose(f, g, first.dom, first.lanes, first.shared), group[0].ins, outs)
    kinds = [fork(*[proj(i) >> proj(j) for i in range(len(group))]) for j in (1, 2)]
    body = fork(*[sweep.body for sweep in primitives]) >> fork(proj(0) >> proj(0), *kinds)
    sums, output = [Product(spaces) for spaces in zip(*[(p.sums, p.output) for p in primitives], strict=True)]
    shared, states = _shared(group[0]), len(first.state.leaves)
    results = [p.results(box.outs) for p, box in zip(primitives, group, strict=True)]
    own = [k for j in (0, 1) for each in results for k in each[j]]
    return Box(first.giving(body, sums, output), group[0].ins, (*shared[:states], *own, *shared[states:]))


def _trimmed(box: Box, needed: set[int]) -> Box:
    """The box without results that nothing needs; a sweep keeps its states."""
    p: Any = box.primitive
    kept = {*_shared(box), *needed}
    if not isinstance(p, (Sweep, Choose)) or kept.issuperset(box.outs):
        return box
    outs = tuple([k for k in box.outs if k in kept])
    if isinstance(p, Choose):
        f, g = [_picked(side, p.dom, (box.outs,), kept) >> proj(0) for side in (p.f, p.g)]
        return Box(Choose(f, g, p.dom, p.lanes, p.shared), box.ins, outs)
    results = p.results(box.outs)
    spaces = [
        Product([leaf for leaf, k in zip(space.leaves, own, strict=True) if k in kept])
        for space, own in zip((p.sums, p.output), results, strict=True)
    ]
    states = box.outs[: len(p.state.leaves)]
    return Box(p.giving(_picked(p.body, p.dom, (states, *results), kept), *spaces), box.ins, outs)


def _picked(term: D, dom: Space, groups: Sequence[Sequence[int]], kept: set[int]) -> D:
    """A term without the results whose number, in one of the groups, is not kept."""
    wiring = wire(term, dom)
    ends = iter(wiring.outputs)
    numbered = [[(next(ends), k) for k in group] for group in groups]
    return cut(term, dom, wiring.inputs, tuple([tuple([end for end, k in group if k in kept]) for group in numbered]))
