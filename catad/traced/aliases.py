"""Arrays that may be one array.

A branch or a loop leaves arrays in names, and which of them are the same array may depend on data, or is no longer known once
the loop is recorded. That makes no difference until somebody writes into one of them and reads another one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from typing import Any, NamedTuple, NoReturn

from catad import errors
from catad.traced.recorder import Region, Restart, Trace, Var
from catad.traced.stand_in import Buffer, Traced
from catad.trees import entries_of

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
    start = [{buffer for buffer in possible(one.start) if reaches(region, buffer)} for one in arrays]
    stood = {one.inside.root: k for k, one in enumerate(arrays) if isinstance(one.inside, Traced)}
    previous = [[stood[buffer] for buffer in memory if buffer in stood] for memory in direct]
    outer = [{b for b in direct[k] if reaches(region, b)} | (start[k] if may_not_run else set()) for k in n]
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


def link_trees(region: Region, give_up: GiveUp, pairs: Sequence[tuple[Any, Any]], starts: Sequence[Any]) -> None:
    """Note which of the lists, dicts and objects that the body of a loop leaves in names may be others: what is put together in
    place of them is new, as they are, only where each is new and has one name."""
    both = [one for left, made in pairs for one in zip(_containers(left), _containers(made), strict=True)]
    count = Counter(id(left) for left, _ in both)
    others = [thing for start in starts for thing in _containers(start)]
    trace, outer = region.trace, region.parent
    for left, made in both:
        if id(left) in region.things and count[id(left)] == 1 and not others:
            if outer is not None and outer.parent is not None:
                outer.things[id(made)] = made
            continue
        for thing in (left, made, *others):
            trace.suspects[id(thing)] = thing, give_up


def _containers(value: Any) -> list[Any]:
    """The lists, dicts and objects in a tree; tuples are never changed."""
    entries = None if isinstance(value, Traced) else entries_of(value)
    if entries is None:
        return []
    return [*([] if isinstance(value, tuple) else [value]), *[one for part in entries[1] for one in _containers(part)]]
