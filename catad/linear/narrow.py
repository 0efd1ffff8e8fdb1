"""What a program within a box leaves out, where nobody reads some results of the box.

    for i in range(n): a = a / 2; b = b * b            of which only a is read: b is no state

A state of a loop is needed where somebody reads it after the loop, or where a step makes something of it that is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import compress

from catad.linear.cut import cut
from catad.spaces import Product, Space
from catad.term_cache import cached
from catad.terms import D
from catad.wiring import Wiring, needed_for, wire

Flags = tuple[bool, ...]
Leaves = tuple[int, ...] | None  # of a space, by their positions; None is all of them


def reads(term: D, dom: Space, outs: Sequence[bool]) -> Flags:
    """Which leaves of its argument some results of a term depend on, and what in it must run."""

    def found() -> Flags:
        wiring = wire(term, dom)
        must = [box.outs[-1] for box in wiring.boxes if box.primitive.must_run] if wiring.must_run else []
        needed = needed_for(wiring.boxes, [*compress(wiring.outputs, outs), *must])
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


def narrow(term: D, dom: Space, ins: Sequence[bool], outs: Sequence[Sequence[bool]]) -> D:
    """A term without some leaves of its argument, and of the groups of its results."""
    wiring = wire(term, dom)
    first = cut(term, dom, wiring.inputs, _picked(wiring, outs))
    if all(ins):
        return first
    inner = wire(first, dom)  # of which what runs programs is narrower, too
    return cut(first, dom, compress(inner.inputs, ins), _picked(inner, [[True] * sum(group) for group in outs]))


def _picked(wiring: Wiring, groups: Sequence[Sequence[bool]]) -> tuple[tuple[int, ...], ...]:
    ends = iter(wiring.outputs)
    return tuple([tuple([k for k, flag in [(next(ends), flag) for flag in group] if flag]) for group in groups])


def narrow_spaces(spaces: Sequence[Space], flags: Sequence[Sequence[bool]]) -> list[Product]:
    """Flat products of the leaves of some spaces that are flagged."""
    return [Product(tuple(compress(space.leaves, own))) for space, own in zip(spaces, flags, strict=True)]


def at_flags(space: Space, flags: Flags) -> Leaves:
    """The positions of the flagged floating leaves of a space; None where all are."""
    floats = [i for i, leaf in enumerate(space.leaves) if leaf.is_float]
    return None if all(flags) else tuple(compress(floats, flags))
