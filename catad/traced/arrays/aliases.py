"""Arrays that may be one array.

A branch or a loop leaves arrays in names, and which of them are the same array may depend on data, or is no longer known once
the loop is recorded. That makes no difference until somebody writes into one of them and reads another one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

from catad import errors
from catad.traced.arrays.stand_in import Buffer, Traced
from catad.traced.recorder import Region, Restart, Trace, Var
from catad.values.trees import tree_leaves

GiveUp = Callable[[], NoReturn]


class Aliases:
    """Arrays of which some may be the same memory. Where one is read after another one was written into, `give_up` makes the
    trace start again in a way in which it is known which are the same, or raises; `at_once` where one is written into."""

    __slots__ = ("at_once", "give_up", "known")

    def __init__(self, give_up: GiveUp, known: Iterable[Buffer], region: Region, at_once: bool = False) -> None:
        self.give_up, self.at_once = give_up, at_once
        self.known: dict[Buffer, Var] = {buffer: buffer.holds(region) for buffer in known}

    def check(self, buffer: Buffer, region: Region) -> None:
        """One of the arrays is read; what may be one with another one of them may be one with it, too."""
        seen, stack = {buffer}, [self]
        while stack:
            one = stack.pop()
            for other, var in one.known.items():
                if other not in seen:
                    if other.has_changed(var, region):
                        one.give_up()
                    seen.add(other)
                    stack += other.aliases


def note(give_up: GiveUp, members: Iterable[Buffer], region: Region) -> None:
    """Note that some arrays may be one."""
    aliases = Aliases(give_up, members, region)
    for buffer in aliases.known:
        buffer.aliases = (*buffer.aliases, aliases)


def _starting_again(found: set[Any], site: Any) -> GiveUp:
    def give_up() -> NoReturn:
        found.add(site)
        raise Restart()

    return give_up


def exploring(trace: Trace, site: Any) -> GiveUp:
    """Start again with the branch explored."""
    return _starting_again(trace.findings.explored, site)


def unrolling(trace: Trace, site: Any) -> GiveUp:
    """Start again with the loop unrolled."""
    return _starting_again(trace.findings.unrolled, site)


def refusing(message: str) -> GiveUp:
    """An error: there is no other way to record it."""

    def give_up() -> NoReturn:
        raise errors.TraceError(message)

    return give_up


def possible(value: Any) -> set[Buffer]:
    """The memory that an array shows, and all that may be the same."""
    if not isinstance(value, Traced) or not value.is_mutable:
        return set()
    stack, found = [value.root], set[Buffer]()
    while stack:
        buffer = stack.pop()
        if buffer not in found:
            found.add(buffer)
            stack += [other for aliases in buffer.aliases for other in aliases.known]
    return found


def reaches(region: Region, buffer: Buffer) -> bool:
    """True for an array that was made in a region or outside of it."""
    return any(at is buffer.region for at in region.outward)


def link(region: Region, give_up: GiveUp, arrays: Sequence[tuple[Traced, set[Buffer]]]) -> None:
    """Note which of some arrays may be one array, or one of outside, by the memory that each may be."""
    for made, memory in arrays:
        shared = [other.root for other, one in arrays if other is not made and not memory.isdisjoint(one)]
        note_others(region, give_up, made, {*shared, *[buffer for buffer in memory if reaches(region, buffer)]})


def note_others(region: Region, give_up: GiveUp, made: Traced, others: set[Buffer]) -> None:
    if others - {made.root}:
        note(give_up, {made.root, *others}, region)


def show_state(items: Iterable[Any], state: Iterable[tuple[Any, Any]], region: Region) -> None:
    """Rows of an array show what is written into a part of the state of a loop that is this array in the first step; the state
    comes as what stood in each name before the loop, and what stands for it in the body."""
    rows = [one for item in items if isinstance(item, Traced) and item.buffer is not None for one in item.buffer.aliases]
    if not rows:
        return
    for before, inside in state:
        for start, stand in zip(tree_leaves(before), tree_leaves(inside), strict=True):
            for one in rows:
                if not possible(start).isdisjoint(one.known):
                    one.known[stand.root] = stand.root.holds(region)


class Containers:
    """The lists, dicts and objects that two regions leave in one name. What is put together of them is another object; that makes
    no difference until one is changed that was made elsewhere, or that has other names."""

    def __init__(self, *regions: Region) -> None:
        self.regions = regions
        self.built: dict[tuple[int, ...], tuple[tuple[Any, ...], Callable[[Any], Any]]] = {}
        self.made: dict[tuple[int, ...], Any] = {}

    def __contains__(self, parts: tuple[Any, ...]) -> bool:
        return tuple(map(id, parts)) in self.built

    def __getitem__(self, parts: tuple[Any, ...]) -> Callable[[Any], Any]:
        return self.built[tuple(map(id, parts))][1]

    def add(self, a: Any, b: Any, build: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """How a container is put together: once for all its names."""
        key = id(a), id(b)

        def built(outs: Any) -> Any:
            if key not in self.made:
                self.made[key] = build(outs)
            return self.made[key]

        if not isinstance(a, tuple):
            self.built[key] = (a, b), built
            return built
        return build

    def link(self, trace: Trace, give_up: GiveUp) -> None:
        """Note what may be one thing."""
        count = [Counter(key[k] for key in self.built) for k in range(len(self.regions))]
        for key, (parts, _) in self.built.items():
            made = self.made.get(key)
            pairs = list(zip(parts, self.regions, count, strict=True))
            if made is None:
                continue
            if all(id(part) in region.things and counted[id(part)] == 1 for part, region, counted in pairs):
                if trace.region.parent is not None:
                    trace.region.things[id(made)] = made  # it is new
                continue
            for thing in (made, *parts):
                trace.suspects[id(thing)] = thing, give_up
