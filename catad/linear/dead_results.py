"""What a program within a box leaves out, where nobody reads some results of the box.

    for i in range(n): a = a / 2; b = b * b            of which only a is read: b is no state

A state of a loop is needed where somebody reads it after the loop, or where a step makes something of it that is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import compress
from typing import TYPE_CHECKING, Any, TypeVar

from catad.category.boxes import of_fields
from catad.category.cache import cached
from catad.category.spaces import Product, Space, flatten
from catad.category.terms import D
from catad.category.wiring import Wiring, needed_for, wire
from catad.linear.families.contract import zeros

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire, Wires

T = TypeVar("T")
Flags = tuple[bool, ...]
Leaves = tuple[int, ...] | None  # of a space, by their positions; None is all of them


def reads(term: D, dom: Space, outs: Sequence[bool]) -> Flags:
    """Which leaves of its argument some results of a term depend on, and what in it must run."""

    def found() -> Flags:
        wiring = wire(term, dom)
        needed = _needed(wiring, compress(wiring.outputs, outs))
        return tuple([k in needed for k in wiring.inputs])

    return cached(term, ("read", dom, tuple(outs)), found)


def loop_reads(
    term: D, dom: Space, states: int, read: Flags, ends: Callable[[Flags], Iterable[bool]] = tuple
) -> tuple[Flags, Flags]:
    """Which results of a loop there are where some are read, and which leaves of the argument of a step.

    The first results, and leaves, are the states. `ends` says which results of the term they need, of the flags of the loop's.
    """

    def found() -> tuple[Flags, Flags]:
        there = read
        while True:
            ins = reads(term, dom, tuple(ends(there)))
            more = (*[a or c for a, c in zip(there[:states], ins, strict=False)], *there[states:])
            if more == there:
                return there, (*there[:states], *ins[states:])
            there = more

    return cached(term, ("read in a loop", dom, states, read), found)


@of_fields
class Narrowed(D):
    """A term without some leaves of its argument, and of the groups of its results; the flagged ones are there."""

    whole: D
    dom: Space
    ins: Flags
    outs: tuple[Flags, ...]

    def lay_out(self, b: Builder, x: Wires) -> Any:
        wiring = wire(self.whole, self.dom)
        ends = compress(wiring.outputs, [flag for group in self.outs for flag in group])
        needed, given = _needed(wiring, ends), iter(flatten(x))
        at: dict[int, Wire | None] = {}
        for k, leaf, flag in zip(wiring.inputs, self.dom.leaves, self.ins, strict=True):
            if flag:
                at[k] = next(given)
            elif k in needed:  # by a box that gives more: the lanes of a while loop, say, are laid out in another way
                at[k] = zeros(b, leaf)
        b.add_needed(wiring.boxes, at, needed)
        rest = iter(wiring.outputs)
        groups = [[(next(rest), flag) for flag in group] for group in self.outs]
        return tuple([tuple([at[k] for k, flag in group if flag]) for group in groups])


def narrow(term: D, dom: Space, ins: Sequence[bool], outs: Sequence[Sequence[bool]]) -> D:
    """A term without some leaves of its argument, and of the groups of its results."""
    return Narrowed(term, dom, tuple(ins), tuple([tuple(group) for group in outs]))


def _needed(wiring: Wiring, ends: Iterable[int]) -> set[int]:
    """The wires on which some wires depend, and what must run."""
    must = [box.outs[-1] for box in wiring.boxes if box.primitive.must_run] if wiring.must_run else []
    return needed_for(wiring.boxes, [*ends, *must])


def narrow_spaces(spaces: Sequence[Space], flags: Sequence[Sequence[bool]]) -> list[Product]:
    """Flat products of the leaves of some spaces that are flagged."""
    return [Product(tuple(compress(space.leaves, own))) for space, own in zip(spaces, flags, strict=True)]


def at_places(flags: Iterable[bool], made: Iterable[T]) -> list[T | None]:
    """Those that there are, at the flagged places, and None at the others."""
    rest = iter(made)
    return [next(rest) if flag else None for flag in flags]


def at_flags(space: Space, flags: Flags) -> Leaves:
    """The positions of the flagged floating leaves of a space; None where all are."""
    floats = [i for i, leaf in enumerate(space.leaves) if leaf.is_float]
    return None if all(flags) else tuple(compress(floats, flags))
