"""Rooms of loops: how many states each loop of a program may keep for its derivative.

The loops of a program are numbered in the order of its boxes, each before those within its step. A loop without a room keeps
the coefficients of all its steps; one with room for k states keeps at most k, in segments (`segments.py`) or by Revolve's
schedule (`revolve.py`), and takes steps again. Of a while loop nothing but the room is asked for beforehand: its number of steps
is found while it runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from catad.category.boxes import Primitive, of_fields
from catad.category.cache import cached
from catad.category.spaces import Product, Space, flatten, rebuild
from catad.category.terms import D
from catad.category.wiring import share, wire
from catad.vector.loops.checkpoint import Call
from catad.vector.loops.either import Choose
from catad.vector.loops.revolve import BoundedLoop
from catad.vector.loops.segments import Segment, in_segments, segments, share_of
from catad.vector.loops.sweep_map import Sweep

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire

Rooms = tuple[int | None, ...]  # of the loops of a program: how many states each may keep; None: no limit


class Found(NamedTuple):
    """A loop of a program, and within how many others it stands."""

    sweep: Sweep
    depth: int


def loops_of(term: D, dom: Space) -> tuple[Found, ...]:
    """The loops of a program, each before those within its step.

    >>> import catad as ct
    >>> [loop.sweep.n for loop in loops_of(ct.iterate(ct.iterate(ct.sin, 3) >> ct.cos, 5) >> ct.sum(), ct.f64[2])]
    [5, 3]
    """
    return cached(term, ("loops", dom), lambda: tuple(_loops_of(term, dom)))


def _loops_of(term: D, dom: Space) -> Iterator[Found]:
    for box in wire(term, dom).boxes:
        own = is_loop(box.primitive)
        if own:
            yield Found(box.primitive, 0)  # type: ignore[arg-type]
        for _, inner, space in _within(box.primitive):
            yield from [Found(sweep, depth + own) for sweep, depth in loops_of(inner, space)]


def is_loop(primitive: Primitive) -> bool:
    """True for a loop that may have a room; a while loop with results of each step needs their number."""
    if not isinstance(primitive, Sweep) or isinstance(primitive.body, Segment):
        return False
    return not (primitive.output.leaves or primitive.sums.leaves) if primitive.counts else primitive.n > 1


def _within(primitive: Primitive) -> list[tuple[str, D, Space]]:
    """The programs within a box that may have loops: the fields that have them, and their spaces."""
    if isinstance(primitive, Sweep):
        return [] if isinstance(primitive.body, Segment) else [("body", primitive.body, primitive.dom)]
    if isinstance(primitive, Choose):
        return [("f", primitive.f, primitive.dom), ("g", primitive.g, primitive.dom)]
    return [("f", primitive.f, primitive.dom)] if type(primitive) is Call else []


@share
@of_fields
class Roomed(D):
    """A program whose loops have rooms."""

    f: D
    rooms: Rooms

    def lay_out(self, b: Builder, x: Any) -> Any:
        f, dom, rooms = self.f, b.space(x), iter(self.rooms)
        with b.at(x):
            wiring = wire(f, dom)
        at: dict[int, Wire] = dict(zip(wiring.inputs, flatten(x), strict=True))
        fixed = set[int]()  # what follows from constants
        for box in wiring.boxes:
            own = next(rooms) if is_loop(box.primitive) else None
            primitive: Any = box.primitive
            for name, term, space in _within(primitive):
                inner = tuple([next(rooms) for _ in loops_of(term, space)])
                if any(room is not None for room in inner):
                    primitive = replace(primitive, **{name: Roomed(term, inner)})
            ins = [at[k] for k in box.ins]
            if fixed.issuperset(box.ins):
                fixed.update(box.outs)
            outs = b.add(primitive, *ins) if own is None else _bounded(b, primitive, ins, own, [k not in fixed for k in box.ins])
            at.update(zip(box.outs, outs, strict=True))
        return rebuild(wiring.cod, [at[k] for k in wiring.outputs])


def _bounded(b: Builder, sweep: Sweep, wires: Sequence[Wire], room: int, wanted: Sequence[bool]) -> tuple[Wire, ...]:
    """A loop in its room: in segments, or as one box."""
    k = len(sweep.state.leaves)
    flags = (*[True] * k, *wanted[k:])
    share = None if sweep.counts else share_of(sweep)
    found = None if share is None else segments(sweep.n, room, share)
    if share is not None and found is not None:
        return in_segments(b, sweep, wires, found, share, flags)
    return b.add(BoundedLoop(sweep.opened(), Product([w.space for w in wires]), room, flags), *wires)


def alone(f: D, b: Builder, x: Any, room: int) -> D:
    """A loop with a room; those within its step, and what is the same at each step, have none."""
    with b.at(x):
        wiring, found = wire(f, b.space(x)), loops_of(f, b.space(x))
    last = [box.primitive for box in wiring.boxes if is_loop(box.primitive) and not {*box.outs}.isdisjoint(wiring.outputs)]
    return Roomed(f, tuple([room if one.depth == 0 and one.sweep in last else None for one in found]))
