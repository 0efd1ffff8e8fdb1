"""Arrays that may be one array.

A branch or a loop leaves arrays in names, and which of them are the same array may depend on data, or is no longer known once
the loop is recorded. That makes no difference until somebody writes into one of them and reads another one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from typing import Any, NamedTuple, NoReturn

from catad import errors
from catad.traced.recorder import Region, Restart, Trace, Var
from catad.traced.stand_in import Buffer, Traced

GiveUp = Callable[[], NoReturn]


class Aliases:
    """Arrays of which some may be the same memory. Where one is read after another one was written into, `give_up` makes the
    trace start again in a way in which it is known which are the same, or raises."""

    __slots__ = ("give_up", "known")

    def __init__(self, give_up: GiveUp, members: Iterable[Buffer], region: Region) -> None:
        self.give_up = give_up
        self.known: dict[Buffer, Var] = {buffer: buffer.holds(region) for buffer in members}
        for buffer in self.known:
            buffer.aliases = (*buffer.aliases, self)

    def check(self, buffer: Buffer, region: Region) -> None:
        """One of the arrays is read."""
        if any(other is not buffer and other.has_changed(var, region) for other, var in self.known.items()):
            self.give_up()


def exploring(trace: Trace, site: Any) -> GiveUp:
    """Start again with the branch explored."""

    def give_up() -> NoReturn:
        trace.findings.explored.add(site)
        raise Restart()

    return give_up


def unrolling(trace: Trace, site: Any) -> GiveUp:
    """Start again with the loop unrolled."""

    def give_up() -> NoReturn:
        trace.findings.unrolled.add(site)
        raise Restart()

    return give_up


def refusing(what: str, names: Sequence[str]) -> GiveUp:
    """An error: there is no other way to record a loop on data."""

    def give_up() -> NoReturn:
        raise errors.TraceError(errors.may_be_one_array(what, names))

    return give_up


def possible(value: Any) -> set[Buffer]:
    """The memory that an array shows, and all that may be the same."""
    if not isinstance(value, Traced) or not value.ndim:
        return set()
    stack, found = [value.root], set[Buffer]()
    while stack:
        buffer = stack.pop()
        if buffer not in found:
            found.add(buffer)
            stack += [other for aliases in buffer.aliases for other in aliases.known]
    return found


def is_same(a: Any, b: Any) -> bool:
    """True for two names of one array, and for no views."""
    return isinstance(a, Traced) and isinstance(b, Traced) and a.buffer is not None and a.buffer is b.buffer and a.ndim > 0


def reaches(region: Region, buffer: Buffer) -> bool:
    """True for an array that was made in a region or outside of it."""
    at: Region | None = region
    while at is not None and at is not buffer.region:
        at = at.parent
    return at is not None


class Left(NamedTuple):
    """An array that a loop leaves: the stand-in for it afterwards, what the body left, what stood before the loop, and what stood
    for it in the body."""

    made: Traced
    value: Any
    start: Any
    inside: Any


def link(region: Region, give_up: GiveUp, arrays: Sequence[tuple[Traced, set[Buffer]]]) -> None:
    """Note which of some arrays may be one array, or one of outside, by the memory that each may be."""
    for made, memory in arrays:
        shared = [other.root for other, one in arrays if other is not made and not memory.isdisjoint(one)]
        _note(region, give_up, made, {*shared, *[buffer for buffer in memory if reaches(region, buffer)]})


def _note(region: Region, give_up: GiveUp, made: Traced, others: set[Buffer]) -> None:
    if others - {made.root}:
        Aliases(give_up, {made.root, *others}, region)


def link_loop(region: Region, give_up: GiveUp, arrays: Sequence[Left], may_not_run: bool) -> None:
    """The same for the arrays that a loop leaves; what stood for one in the body is what another one was before the step."""
    n = range(len(arrays))
    direct = [possible(one.value) for one in arrays]
    start = [possible(one.start) for one in arrays]
    stood = {one.inside.root: k for k, one in enumerate(arrays) if isinstance(one.inside, Traced)}
    previous = [[stood[buffer] for buffer in memory if buffer in stood] for memory in direct]
    outer = [{b for b in direct[k] | (start[k] if may_not_run else set()) if reaches(region, b)} for k in n]
    first = {pair for pair in combinations(n, 2) if not start[pair[0]].isdisjoint(start[pair[1]])}
    same = {pair for pair in combinations(n, 2) if not direct[pair[0]].isdisjoint(direct[pair[1]])}
    same |= first if may_not_run else set()
    for _ in range(len(arrays) ** 2 + 1):  # an array goes through the names, step by step
        before = len(same), [len(one) for one in outer]
        for k in n:
            for p in previous[k]:
                outer[k] |= outer[p] | start[p]
        for k, m in combinations(n, 2):
            if any(tuple(sorted((p, q))) in first | same for p in previous[k] for q in previous[m]):
                same.add((k, m))
        if before == (len(same), [len(one) for one in outer]):
            break
    for k in n:
        shared = [arrays[sum(pair) - k].made.root for pair in same if k in pair]
        _note(region, give_up, arrays[k].made, {*outer[k], *shared})
