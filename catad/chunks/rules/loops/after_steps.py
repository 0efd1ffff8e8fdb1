"""What follows from the steps of a loop, and is computed after it: for all steps at once, or from sums over all steps."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from catad.category.boxes import Primitive
from catad.category.spaces import Product, Tensor, flatten
from catad.category.wiring import Builder, Wiring
from catad.chunks.laid import laid
from catad.chunks.plan import Plan
from catad.chunks.rules.loops.bodies import Body, Copy, Inner, grid_of
from catad.chunks.wires import At, Chunked, Joined, Local, Read
from catad.linear.families.contract import Contract
from catad.linear.families.gather import spread_over
from catad.linear.families.reindex import Reshaped, StridedCopy
from catad.vector.loops.batching import Lanes
from catad.vector.pointwise.map import Map

if TYPE_CHECKING:
    from catad.category.wiring import Wire
    from catad.scalar import Function, Node


class Frontier:
    """Which arrays of a step tasks compute without each other, such that a result follows from these."""

    def __init__(self, body: Body, states: int, given: int) -> None:
        self.body, self.k, self.first = body, states, states + given
        self._known: dict[Chunked, bool | None] = {}

    def of_output(self, x: Chunked) -> list[Chunked] | None:
        """What a result follows from at each step; None where it follows from more."""
        found = self._split(x)
        return None if found is None else found[0]

    def of_sum(self, x: Chunked) -> list[Chunked] | None:
        """The same, where the result is linear in that, so that its sum follows from sums."""
        found = self._split(x)
        if found is None or not found[0]:
            return None
        ends, order = found
        varying = set(ends)
        for box, arrays in order:
            flags = [read.array in varying for read in box.reads]
            if any(flags):
                made = _linear(box, flags)
                if made is None:
                    return None
                varying |= {arrays[place] for place, flag in enumerate(made) if flag and place in arrays}
        return ends if x in varying else None

    def _split(self, x: Chunked) -> tuple[list[Chunked], list[tuple[Local, dict[int, Chunked]]]] | None:
        """The arrays that vary and are made without an exchange, and the boxes after these, each after those that it reads."""
        ends: dict[Chunked, None] = {}
        after: dict[Local, dict[int, Chunked]] = {}
        stack = [(x, False)]
        while stack:
            x, is_ready = stack.pop()
            if is_ready:
                assert isinstance(x.source, Local)
                after.setdefault(x.source, {})[x.place] = x
                continue
            number = self.body.number.get(x)
            if number is not None and not self.k <= number < self.first:
                return None
            if self.body.outside(x):
                continue
            varies = self._varies(x)
            if varies:
                ends[x] = None
            elif varies is None:
                if not isinstance(x.source, Local):
                    return None
                stack.append((x, True))
                stack += [(read.array, False) for read in x.source.reads]
        return list(ends), list(after.items())

    def _varies(self, x: Chunked) -> bool | None:
        """Whether what is made without an exchange depends on the step; None for what is not."""
        if x not in self._known:
            self._known[x] = self._found(x)
        return self._known[x]

    def _found(self, x: Chunked) -> bool | None:
        grid = grid_of(x)
        if grid is None:
            return None
        inner = Inner(self.body, grid, self.k)
        if not inner.add(x, tuple(range(len(grid)))):
            return None
        return bool(inner.states) or any(number is not None and number >= self.first for number in inner.reads.values())


def _linear(box: Local, flags: Sequence[bool]) -> list[bool] | None:
    """Which results of a box are linear in the flagged arguments and depend on them; None where one is not linear."""
    at = (0,) * len(box.grid)
    b = Builder()
    inputs = [b.wire(Tensor(read.shape(at), read.array.space.dtype)) for read in box.reads]
    offsets = [b.wire(Tensor((), "int64")) for _ in box.offsets]
    notes = tuple([None if notes is None else notes[0] for notes in box.notes])
    outs = box.lay(b, inputs, At(tuple([sizes[0] for sizes in box.grid]), notes, tuple(offsets)))
    ins = (*inputs, *offsets)
    wiring = b.finish(Product([w.space for w in ins]), ins, tuple(outs))
    return _linear_in(wiring, [*flags, *[False] * len(offsets)])


def _linear_in(wiring: Wiring, flags: Sequence[bool]) -> list[bool] | None:
    varying = {k for k, flag in zip(wiring.inputs, flags, strict=True) if flag}
    for box in wiring.boxes:
        own = [k in varying for k in box.ins]
        if any(own):
            if not _is_linear(box.primitive, own):
                return None
            varying.update(box.outs)
    return [k in varying for k in wiring.outputs]


def _is_linear(primitive: Primitive, flags: Sequence[bool]) -> bool:
    if isinstance(primitive, Map):
        return _is_linear_function(primitive.function, flags)
    if isinstance(primitive, StridedCopy):
        return not primitive.fill
    return isinstance(primitive, Reshaped) or (isinstance(primitive, Contract) and sum(flags) == 1)


def _is_linear_function(function: Function, flags: Sequence[bool]) -> bool:
    """Whether all results of a scalar function are linear in the flagged arguments, and depend on these."""
    known: dict[Node, bool | None] = {}  # whether a node is linear, does not depend on them, or (None) neither
    stack = list(function.outputs)
    while stack:
        node = stack[-1]
        missing = [arg for arg in node.args if arg not in known]
        if missing:
            stack += missing
            continue
        stack.pop()
        known[node] = _degree(node, [known[arg] for arg in node.args], flags)
    return all(known[node] for node in function.outputs)


def _degree(node: Node, args: Sequence[bool | None], flags: Sequence[bool]) -> bool | None:
    if node.op == "param":
        return bool(flags[node.value])
    if not any(arg or arg is None for arg in args):
        return False
    if node.op in ("add", "sub", "neg") and all(args):
        return True
    if (node.op == "mul" and args in ([True, False], [False, True])) or (node.op == "div" and args == [True, False]):
        return True
    return True if node.op == "cast" and all(args) and node.kind == "f" else None


class ForAllSteps(Copy):
    """Boxes that follow a step, for all steps at once: what is `varying` has a leading axis for these."""

    def __init__(
        self, plan: Plan, body: Body, arguments: Mapping[Chunked, Chunked], varying: Collection[Chunked], size: int
    ) -> None:
        super().__init__(plan, body, arguments)
        self.varying, self.size = set(varying), size

    def of_all(self, x: Chunked) -> Chunked:
        """An output of all steps; what is the same at each step is spread."""
        made = self.of(x)
        if x in self.varying:
            return made
        space = Tensor((self.size, *x.shape), x.space.dtype)
        labels = range(1, 1 + x.ndim)
        return self.plan.labelled("copy", [(made, labels)], [(space, range(1 + x.ndim))], self._spread, light=True)[0][0]

    def _spread(self, b: Builder, wires: list[Wire], sizes: Mapping[int, int]) -> Sequence[Wire]:
        return [spread_over(b, w, self.size) for w in wires]

    def copied(self, x: Chunked) -> Chunked:
        assert isinstance(x.source, Local) and not isinstance(x.source, Joined)
        if not any(read.array in self.varying for read in x.source.reads):
            return super().copied(x)
        self.varying.add(x)
        box = self.box(x.source)
        space = Tensor((self.size, *x.shape), x.space.dtype)
        return Chunked(space, ((self.size,), *x.parts), box, x.place)

    def boxed(self, box: Local) -> Local:
        flags = [read.array in self.varying for read in box.reads]
        if not any(flags):
            return super().boxed(box)
        reads = [self._read(read, flag) for read, flag in zip(box.reads, flags, strict=True)]
        size = self.size

        def lay(b: Builder, wires: list[Wire], at: At) -> Sequence[Wire]:
            inner = Builder()
            own = [inner.wire(Tensor(w.shape[flag:], w.dtype)) for w, flag in zip(wires, flags, strict=True)]
            offsets = [inner.wire(w.space) for w in at.offsets]
            ins = (*own, *offsets)
            outs = tuple(box.lay(inner, own, At(at.sizes, at.notes, tuple(offsets))))
            term = laid(inner.finish(Product([w.space for w in ins]), ins, outs))
            lanes = Lanes(term, (*flags, *[False] * len(offsets)), size)
            return flatten(b.apply(lanes, (*wires, *at.offsets)))

        made = box.again(reads, lay)
        made.writes = [(None, *dims) for dims in box.writes]
        made.spaces = [Tensor((size, *space.shape), space.dtype) for space in box.spaces]
        return made

    def _read(self, read: Read, flag: bool) -> Read:
        array = self.made.get(read.array, read.array)
        return self.plan.read(array, (None, *read.windows)) if flag else self.plan.read(array, read.windows)
