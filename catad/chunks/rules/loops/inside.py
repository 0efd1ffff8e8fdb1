"""Boxes with several programs on the same arguments, which one task runs on its blocks: sides of a choice, a test and a step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from catad.category.spaces import Space
from catad.category.terms import D
from catad.chunks.laid import Laid
from catad.chunks.parts import Parts
from catad.chunks.plan import Plan
from catad.chunks.rules.loops.bodies import Body, Inner, body_of, boxes_of, result_node
from catad.chunks.wires import At, Chunked, Local, Read
from catad.engine.program import program_of

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire

Build = Callable[["Builder", "list[Wire]", "list[Laid]"], "Sequence[Wire]"]


def program(
    plan: Plan, term: D, dom: Space, ins: Sequence[Chunked], states: int = 0, parts: Sequence[Parts] | None = None
) -> Body:
    """A program within a box, planned for the arrays that the box is given, or for others, cut in some way."""
    wiring = program_of(term, dom)[0].wiring
    return body_of(plan, wiring, parts or [x.parts for x in ins], [None] * len(ins), boxes_of(ins), states)


def inner_of(body: Body, grid: tuple[Any, ...], results: Sequence[Chunked], states: int = 0) -> Inner | None:
    """What a task at a coordinate of a grid runs for some results; None where it cannot make them by itself."""
    inner = Inner(body, grid, states)
    for k, x in enumerate(results):
        assert isinstance(x.source, Local)
        if x.source.grid not in (grid, ()):
            return None
        if k < states and (x.source.grid != grid or not inner.seed(k)):
            return None
        if not inner.add(x, tuple(range(len(x.source.grid)))):
            return None
    return inner


class Inside:
    """Programs that a task runs: what they read, after what is `first`, the states among it, and how they are laid out."""

    def __init__(
        self, plan: Plan, ins: Sequence[Chunked], inners: Sequence[Inner], first: Sequence[Read] = (), states: int = 0
    ) -> None:
        self.plan, self.inners = plan, inners
        self.reads: dict[Read, int] = {read: k for k, read in enumerate(first)}
        self.places: list[dict[Read, int]] = []
        for inner in inners:
            own = {}
            for read, number in inner.reads.items():
                if number is not None and number < states:
                    own[read] = number
                    continue
                outer = plan.read(read.array if number is None else ins[number], read.windows)
                own[read] = self.reads.setdefault(outer, len(self.reads))
            self.places.append(own)

    def box(self, name: str, results: Sequence[Sequence[Chunked]], ends: Sequence[Sequence[int]], build: Build) -> Local:
        """The box; `build` lays it out on the wires of what it reads and of offsets, with the programs on these."""
        layouts = [inner.layout() for inner in self.inners]
        grid = self.inners[0].grid
        notes = [list(zip(*[layout.numbers[d] for layout in layouts], strict=True)) for d in range(len(grid))]
        made = [[result_node(x) for x in own] for own in results]

        def lay(b: Builder, wires: list[Wire], at: At) -> Sequence[Wire]:
            leaves = [*wires, *at.offsets]
            spaces = [w.space for w in leaves]
            terms, start = [], len(wires)
            for k, layout in enumerate(layouts):
                classes = [note[k] for note in at.notes]  # type: ignore[index]
                offsets = range(start, start + len(layout.offsets))
                terms.append(layout.term(classes, spaces, self.places[k], offsets, made[k], ends[k]))
                start = offsets.stop
            return build(b, leaves, terms)

        offsets = [one for layout in layouts for one in layout.offsets]
        return Local(name, grid, list(self.reads), lay, notes, offsets, salt=self.plan.salt, stored=True)
