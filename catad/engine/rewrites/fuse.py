"""Fusion: `Map` boxes that follow each other over one index space become one scalar function.

Each box has a level: the largest level that it reads from, plus one unless both are maps over the same index space. Maps of
the same index space and level never depend on each other through another box, so they may share a pass. Fusing before
linearising keeps a branch that is not taken from poisoning the gradient across boxes, since duals select and never multiply
by zero; fusing before running saves passes over memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from catad import scalar
from catad.category.boxes import Primitive
from catad.category.wiring import Box, Wiring
from catad.engine.rewrites.contractions import contracted
from catad.scalar import Function, Node
from catad.vector.pointwise.map import Map

BESIDE = 16  # results of maps that are fused only since they read a wire in common: LLVM takes long over many arrays in one loop


def fuse(wiring: Wiring, horizontal: bool = False) -> Wiring:
    """The wiring with its maps fused along wires; with `horizontal`, also those that read a wire in common.

    Sweeps over the same states are one, too, and choices by the same condition; sums of products are products of matrices.
    """
    if any(box.primitive.merges for box in wiring.boxes):
        from catad.engine.rewrites.merge import merged  # late: few programs have loops and choices

        wiring = merged(wiring)
    wiring = contracted(wiring)
    maps = [box for box in wiring.boxes if isinstance(box.primitive, Map)]
    if len(maps) < 2:
        return wiring
    level, readers = _levels(wiring), _readers(wiring)
    groups = _groups(wiring, level, readers, horizontal)
    if all(len(group) == 1 for group in groups):
        return wiring
    boxes: list[tuple[int, int, Box]] = []
    parts: dict[Box, list[Box]] = dict(wiring.__dict__.get("parts", {}))
    for group in groups:
        rank = level[group[0].outs[0]] if group[0].outs else 0
        made = [group[0]] if len(group) == 1 else _merged(wiring, group, readers)
        boxes += [(rank, len(boxes) + i, box) for i, box in enumerate(made)]
        if len(made) < len(group):
            parts[made[0]] = group
    ordered = tuple([box for _, _, box in sorted(boxes, key=lambda entry: entry[:2])])
    fused = Wiring(wiring.dom, wiring.cod, wiring.wires, wiring.inputs, ordered, wiring.outputs)
    fused.__dict__["parts"] = parts
    return _without_copies(fused) if horizontal else fused


def _without_copies(wiring: Wiring) -> Wiring:
    """The wiring whose maps give nothing twice: results that are equal, or are arguments, are one wire.

    Boxes that read such wires may be equal then, too.
    """
    if not any(isinstance(box.primitive, Map) and _repeats(box.primitive.function) for box in wiring.boxes):
        return wiring
    same: dict[int, int] = {}  # a wire, and the equal one that stays
    known: dict[tuple[Primitive, tuple[int, ...]], tuple[int, ...]] = {}
    boxes: list[Box] = []
    for box in wiring.boxes:
        one = Box(box.primitive, tuple([same.get(k, k) for k in box.ins]), box.outs)
        if isinstance(one.primitive, Map):
            one = _distinct(wiring, one, one.primitive.function, same)
        before = known.setdefault((one.primitive, one.ins), one.outs)
        if before is not one.outs:
            same.update(zip(one.outs, before, strict=True))
        elif one.outs:
            boxes.append(box if one == box else one)
    outputs = tuple([same.get(k, k) for k in wiring.outputs])
    return Wiring(wiring.dom, wiring.cod, wiring.wires, wiring.inputs, tuple(boxes), outputs)


def _repeats(function: Function) -> bool:
    return len(set(function.outputs)) < len(function.outputs) or any(node.op == "param" for node in function.outputs)


def _distinct(wiring: Wiring, box: Box, function: Function, same: dict[int, int]) -> Box:
    """A map with each argument and each result once; what its other results are equal to is added to `same`."""
    ins = tuple(dict.fromkeys(box.ins))
    outputs = function.outputs
    if len(ins) < len(box.ins):
        outputs = scalar.substitute(function, [scalar.param(ins.index(k)) for k in box.ins])
    shape = wiring.wires[box.outs[0]].shape
    there = {scalar.param(i): k for i, k in enumerate(ins) if wiring.wires[k].shape == shape}
    outs: dict[int, Node] = {}
    for k, node in zip(box.outs, outputs, strict=True):
        if node in there:
            same[k] = there[node]
        else:
            there[node] = k
            outs[k] = node
    if len(outs) == len(box.outs) and ins == box.ins:
        return box
    return Box(Map(Function.make(len(ins), tuple(outs.values()))), ins, tuple(outs))


def parts(wiring: Wiring, box: Box) -> Sequence[Box]:
    """The boxes that one of a fused wiring stands for, in order, on the same wires."""
    found: Sequence[Box] = wiring.__dict__.get("parts", {}).get(box, (box,))
    return found


def _index_space(wiring: Wiring, box: Box) -> tuple[int, ...] | None:
    return wiring.wires[box.outs[0]].shape if isinstance(box.primitive, Map) else None


def _levels(wiring: Wiring) -> dict[int, int]:
    """The level of the box that writes each wire."""
    level: dict[int, int] = {}
    space: dict[int, tuple[int, ...] | None] = {}
    for box in wiring.boxes:
        own = _index_space(wiring, box)
        rank = 0 if box.ins else -1  # a constant is there before everything else, so it keeps no maps apart
        for k in box.ins:
            if k in level:
                rank = max(rank, level[k] + (own is None or space[k] != own))
        for k in box.outs:
            level[k], space[k] = rank, own
    return level


def _groups(
    wiring: Wiring, level: dict[int, int], readers: Mapping[int, Sequence[int]], horizontal: bool
) -> list[list[Box]]:
    """The boxes, those that fuse together, in the order of their first box; boxes within a group in order."""
    parent = list(range(len(wiring.boxes)))

    def find(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    maps = [(i, box, level[box.outs[0]]) for i, box in enumerate(wiring.boxes) if _index_space(wiring, box) is not None]
    makers = {(k, rank, wiring.wires[k].shape): i for i, box, rank in maps for k in box.outs}
    apart = set[int]() if horizontal else _multiples(wiring, maps, readers)
    beside: list[tuple[int, tuple[int, int, tuple[int, ...]]]] = []  # the maps that read a wire made elsewhere
    for i, box, rank in maps:
        for k in box.ins:
            key = (k, rank, wiring.wires[box.outs[0]].shape)
            if key in makers:
                if i not in apart:
                    parent[find(i)] = find(makers[key])
            else:
                beside.append((i, key))
    if horizontal:
        results = _results(wiring, [find(i) for i in range(len(parent))])
        last: dict[tuple[int, int, tuple[int, ...]], int] = {}
        for i, key in beside:
            one, other = find(i), find(last.setdefault(key, i))
            if one != other and results[one] + results[other] <= BESIDE:
                results[other] += results[one]
                parent[one] = other
            elif one != other:
                last[key] = i
    groups: dict[int, list[Box]] = {}
    for i, box in enumerate(wiring.boxes):
        groups.setdefault(find(i), []).append(box)
    return list(groups.values())


def _multiples(wiring: Wiring, maps: Sequence[tuple[int, Box, int]], readers: Mapping[int, Sequence[int]]) -> set[int]:
    """The maps that multiply by a number, or add one, what others read, too, and whose results no map of their level reads.

    Fused with the map before them, they would have a coefficient for each of its arguments. Alone they have one number, and
    cotangents are added before they are multiplied with the coefficients of that map.
    """
    beside = {(k, rank, wiring.wires[box.outs[0]].shape) for _, box, rank in maps for k in box.ins}
    return {
        i
        for i, box, rank in maps
        if isinstance(box.primitive, Map)
        and len(box.ins) == 1
        and len({*readers[box.ins[0]]}) > 1
        and _is_affine(box.primitive.function)
        and (box.outs[0], rank, wiring.wires[box.outs[0]].shape) not in beside
    }


def _is_affine(function: Function) -> bool:
    """Whether a function of one number is one operation on it, with a number that is constant, and affine."""
    (node, *others) = function.outputs
    constant = [arg.op == "const" for arg in node.args]
    if others or not all(arg.op in ("const", "param") for arg in node.args):
        return False
    return node.op in ("neg", "add", "sub") or (node.op == "mul" and any(constant)) or (node.op == "div" and constant[1])


def _results(wiring: Wiring, group: Sequence[int]) -> Counter[int]:
    """The number of wires that boxes of each group make and that others read."""
    maker = {k: i for i, box in enumerate(wiring.boxes) for k in box.outs}
    read = [k for i, box in enumerate(wiring.boxes) for k in box.ins if k in maker and group[maker[k]] != group[i]]
    return Counter([group[maker[k]] for k in {*read, *wiring.outputs} if k in maker])


def _readers(wiring: Wiring) -> dict[int, list[int]]:
    """The boxes that read each wire, by identity; the end of the wiring counts as a reader."""
    readers: dict[int, list[int]] = {k: [-1] for k in wiring.outputs}
    for box in wiring.boxes:
        for k in box.ins:
            readers.setdefault(k, []).append(id(box))
    return readers


def _merged(wiring: Wiring, group: Sequence[Box], readers: dict[int, list[int]]) -> list[Box]:
    """One box for a group of maps; the group as it is where fusing would change a dtype."""
    members = {id(box) for box in group}
    inside = {k for box in group for k in box.outs}
    ins = tuple(dict.fromkeys(k for box in group for k in box.ins if k not in inside))
    node = {k: scalar.param(i) for i, k in enumerate(ins)}
    for box in group:
        assert isinstance(box.primitive, Map)
        results = scalar.substitute(box.primitive.function, [node[k] for k in box.ins])
        node.update(zip(box.outs, results, strict=True))
    outs = tuple([k for box in group for k in box.outs if any(r not in members for r in readers.get(k, ()))])
    if not ins or not outs:
        return list(group)
    function = Function.make(len(ins), tuple([node[k] for k in outs]))
    types = scalar.result_types(function, tuple([wiring.wires[k].dtype for k in ins]))
    if any(dtype != wiring.wires[k].dtype for dtype, k in zip(types, outs, strict=True)):
        return list(group)
    return [Box(Map(function), ins, outs)]
