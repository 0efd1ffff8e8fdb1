"""Programs within boxes, planned on their own: which blocks a step reads and makes, and what it exchanges.

A `Body` is planned on arguments that stand for what each step is given. Where its boxes pass blocks in place only, a task can run
all steps on its blocks (`Inner`). Otherwise its boxes are laid out for each step by themselves (`Copy`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from catad.category.spaces import Product, Tensor
from catad.category.wiring import Builder, Wiring
from catad.chunks.laid import Laid, laid
from catad.chunks.parts import Parts, cut_like, ranges_of
from catad.chunks.plan import Plan
from catad.chunks.regions import Node, facts_along, made_by, node_of, reached
from catad.chunks.rules.table import plan_of
from catad.chunks.wires import Again, Argument, Chunked, Joined, Local, Read, seen_from

if TYPE_CHECKING:
    from catad.category.wiring import Wire

Dims = tuple[int, ...]


class Body:
    """A program on arguments that are cut in some way: the first results are as the first arguments, the states of a loop.

    A local box makes each of the results. `plain` are the same, but arguments as they stand. `natural` are the parts in which
    steps make the states, and `outer` the boxes of the plan around.
    """

    def __init__(
        self,
        plan: Plan,
        arguments: list[Chunked],
        results: list[Chunked],
        plain: list[Chunked],
        natural: list[Parts],
        outer: set[Local],
    ) -> None:
        self.plan, self.arguments, self.results, self.plain = plan, arguments, results, plain
        self.natural, self.outer = natural, outer
        self.number = {array: k for k, array in enumerate(arguments)}

    def outside(self, array: Chunked) -> bool:
        """Whether no box of the body makes an array."""
        if array in self.number or isinstance(array.source, Argument):
            return True
        if isinstance(array.source, Joined):
            return all(self.outside(one) for one in array.source.arrays)
        return array.source in self.outer


def body_of(
    plan: Plan, wiring: Wiring, parts: Sequence[Parts], again: Sequence[Again | None], outer: set[Local], states: int
) -> Body:
    """The plan of a wiring; states are cut along axes, too, along which steps cut them.

    `again` makes arguments again, and `outer` are the boxes of the plan around.
    """
    own, spaces = list(parts), wiring.spaces(wiring.inputs)
    while True:
        sub = plan.within()
        arguments = [Chunked(s, p, Argument(k), 0, a) for k, (s, p, a) in enumerate(zip(spaces, own, again, strict=True))]
        results = plan_of(sub, wiring, arguments)
        finer = [_finer(p, x.parts) for p, x in zip(own[:states], results, strict=False)]
        if finer == own[:states]:
            made = [pinned(sub, x, own[k] if k < states else x.parts) for k, x in enumerate(results)]
            plain = [x if x.parts == one.parts else one for x, one in zip(results, made, strict=True)]
            return Body(sub, arguments, made, plain, [x.parts for x in results[:states]], outer)
        own[:states] = finer


def boxes_of(ins: Iterable[Chunked]) -> set[Local]:
    """The boxes on which arrays depend."""
    return set(reached([box for x in ins for box, _ in made_by(x)]))


def _finer(parts: Parts, made: Parts) -> Parts:
    """The parts of a state, cut along those axes, too, along which a step cuts it."""
    return tuple([b if len(a) == 1 else a for a, b in zip(parts, made, strict=True)])


def pinned(plan: Plan, x: Chunked, parts: Parts) -> Chunked:
    """An array in some parts, which a local box has made."""
    if isinstance(x.source, Local) and x.parts == parts:
        return x
    return in_parts(plan, x, parts)


def in_parts(plan: Plan, x: Chunked, parts: Parts) -> Chunked:
    """A copy of an array, in some parts."""
    labels = range(x.ndim)
    wanted = dict(enumerate(cut_like(parts)))
    return plan.labelled("copy", [(x, labels)], [(x.space, labels)], _same, wanted=wanted, light=True)[0][0]


def _same(b: Builder, wires: list[Wire], sizes: Mapping[int, int]) -> Sequence[Wire]:
    return wires


class Inner:
    """Boxes of a body that one task runs at a coordinate of a grid, without anything that other tasks make meanwhile.

    `states` are the states that they read, and for each of these the dimensions along which it is cut.
    """

    def __init__(self, body: Body, grid: tuple[Any, ...], states: int) -> None:
        self.body, self.grid, self.count = body, grid, states
        self.nodes: dict[Node, None] = {}
        self.reads: dict[Read, int | None] = {}  # of the arguments, by their numbers, and of arrays from outside
        self.states: dict[int, tuple[int | None, ...]] = {}

    def add(self, array: Chunked, dims: Dims) -> bool:
        """Take in what makes an array, whose box has these dimensions; False where that is more than a task can do."""
        assert isinstance(array.source, Local)
        stack: list[tuple[Node, bool]] = [(Node(array.source, dims), False)]
        while stack:
            node, is_ready = stack.pop()
            if is_ready:
                self.nodes[node] = None
            elif node not in self.nodes:
                stack.append((node, True))
                for read in node.reads():
                    source = read.array.source
                    if self.body.outside(read.array):
                        if not self._reads(read):
                            return False
                    else:
                        own = seen_from(read)
                        if own is None or not isinstance(source, Local):
                            return False
                        stack.append((Node(source, own), False))
        return True

    def _reads(self, read: Read) -> bool:
        k = self.body.number.get(read.array)
        self.reads[read] = k
        return k is None or k >= self.count or self._reads_state(k, read)

    def _reads_state(self, k: int, read: Read) -> bool:
        """Whether the step that makes a state makes what is read of it at the same coordinate."""
        dims: list[int | None] = []
        for sizes, window in zip(read.array.parts, read.windows, strict=True):
            if len(sizes) == 1:
                if window is not None:
                    return False
                dims.append(None)
            elif window is None or window.dim is None or window.ranges != ranges_of(sizes):
                return False
            else:
                dims.append(window.dim)
        if k in self.states:
            return self.states[k] == tuple(dims)
        made = self.body.results[k]
        assert isinstance(made.source, Local)
        own = made.source.writes[made.place]
        cut = {d: dim for d, dim in zip(own, dims, strict=True) if d is not None}
        if len(cut) != len(made.source.grid) or any((d is None) != (dim is None) for d, dim in zip(own, dims, strict=True)):
            return False
        self.states[k] = tuple(dims)
        return self.add(made, tuple([cut[d] for d in range(len(cut))]))  # type: ignore[misc]

    def seed(self, k: int) -> bool:
        """Take in a state, whose grid this is."""
        made = self.body.results[k]
        assert isinstance(made.source, Local)
        dims = made.source.writes[made.place]
        if self.states.setdefault(k, dims) != dims:
            return False
        return self.add(made, tuple(range(len(self.grid))))

    # -- laying out

    def layout(self) -> Layout:
        """How the boxes are laid out at each coordinate."""
        numbers: list[tuple[int, ...]] = []
        first: list[tuple[int, ...]] = []
        for d in range(len(self.grid)):
            along = facts_along(self.nodes, d)
            facts: list[Hashable] = [tuple([own[c] for own in along]) for c in range(len(self.grid[d]))]
            seen: dict[Hashable, int] = {}
            numbers.append(tuple([seen.setdefault(fact, len(seen)) for fact in facts]))
            first.append(tuple([facts.index(fact) for fact in seen]))
        offsets = [(node.dims[d], each) for node in self.nodes for d, each in node.box.offsets]
        return Layout(self, tuple(numbers), tuple(first), tuple(offsets))


class Layout(NamedTuple):
    """For each dimension of a grid a number for each coordinate: equal ones have equal layouts, as the `first` of them has."""

    inner: Inner
    numbers: tuple[tuple[int, ...], ...]
    first: tuple[tuple[int, ...], ...]
    offsets: tuple[tuple[int, tuple[int, ...]], ...]

    def term(
        self,
        classes: Sequence[Any],
        spaces: Sequence[Tensor],
        reads: Mapping[Read, int],
        offsets: Sequence[int],
        results: Sequence[tuple[Node, int]],
        ends: Sequence[int] = (),
    ) -> Laid:
        """A program at coordinates of some classes, of what it is given in these spaces.

        `reads` and `offsets` say what of that it reads, and `results` are boxes, each with the number of one of its results.
        """
        at = [first[number] for first, number in zip(self.first, classes, strict=True)]
        b = Builder()
        inputs = [b.wire(space) for space in spaces]
        known = {read: inputs[k] for read, k in reads.items()}
        rest = iter([inputs[k] for k in offsets])
        made: dict[tuple[Node, int], Wire] = {}
        for node in self.inner.nodes:
            numbers = tuple([next(rest) for _ in node.box.offsets])
            wires = [known[read] if read in known else made[node_of(read), read.array.place] for read in node.reads()]
            outs = node.box.lay(b, wires, node.at(at, numbers))
            made.update({(node, k): wire for k, wire in enumerate(outs)})
        outputs = tuple([made[one] for one in results])
        return laid(b.finish(Product(tuple(spaces)), tuple(inputs), outputs), tuple(ends))


def dims_of(x: Chunked) -> tuple[int | None, ...]:
    """The dimensions along which the axes of an array are cut."""
    assert isinstance(x.source, Local)
    return x.source.writes[x.place]


def result_node(x: Chunked, cut: Sequence[int | None] | None = None) -> tuple[Node, int]:
    """The box that makes an array, with its number among the results; `cut` are the dimensions along which its axes are cut."""
    assert isinstance(x.source, Local)
    own = x.source.writes[x.place]
    dims = {d: dim for d, dim in zip(own, own if cut is None else cut, strict=True) if d is not None}
    return Node(x.source, tuple([dims[d] for d in range(len(dims))])), x.place  # type: ignore[misc]


class Copy:
    """The boxes of a body, once more, on other arguments."""

    def __init__(self, plan: Plan, body: Body, arguments: Mapping[Chunked, Chunked], stored: Sequence[Chunked] = ()) -> None:
        self.plan, self.body = plan, body
        self.made: dict[Chunked, Chunked] = dict(arguments)
        self._boxes: dict[Local, Local] = {}
        self._stored = {x.source for x in stored if isinstance(x.source, Local)}

    def of(self, array: Chunked) -> Chunked:
        """What an array of the body is there."""
        stack = [array]
        while stack:
            x = stack[-1]
            if x in self.made or self.body.outside(x):
                stack.pop()
                continue
            needed = x.source.arrays if isinstance(x.source, Joined) else [read.array for read in x.source.reads]  # type: ignore[union-attr]
            missing = [one for one in needed if one not in self.made and not self.body.outside(one)]
            if missing:
                stack += missing
                continue
            self.made[x] = self.copied(x)
            stack.pop()
        return self.made.get(array, array)

    def copied(self, x: Chunked) -> Chunked:
        if isinstance(x.source, Joined):
            return Chunked(x.space, x.parts, Joined(x.source.axis, tuple([self.made.get(one, one) for one in x.source.arrays])))
        assert isinstance(x.source, Local)
        return Chunked(x.space, x.parts, self.box(x.source), x.place)

    def box(self, box: Local) -> Local:
        """A box on the arrays that stand for what it reads, made once."""
        found = self._boxes.get(box)
        if found is None:
            found = self._boxes[box] = self.boxed(box)
        return found

    def boxed(self, box: Local) -> Local:
        """The box that stands for another one."""
        reads = [self.plan.read(self.made[read.array], read.windows) if read.array in self.made else read for read in box.reads]
        made = box.again(reads, box.lay, box in self._stored)
        made.writes, made.spaces = box.writes, box.spaces
        return made


def grid_of(array: Chunked) -> tuple[Any, ...] | None:
    """The grid of the box that makes an array, each of whose dimensions cuts one axis; None where there is no such grid."""
    source = array.source
    if not isinstance(source, Local):
        return None
    dims = [d for d in source.writes[array.place] if d is not None]
    return source.grid if sorted(dims) == list(range(len(source.grid))) else None


