"""What a recorded loop leaves in names: values put together again of variables, and which of their arrays may be one array."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

from catad.traced.arrays.aliases import GiveUp, note_others, possible, reaches
from catad.traced.arrays.naming import named
from catad.traced.arrays.stand_in import Traced
from catad.traced.recorder import Region
from catad.traced.rewriting.unbound_locals import UNBOUND
from catad.values.complex_numbers import is_complex
from catad.values.trees import entries_of, tree_leaves, tree_map

if TYPE_CHECKING:
    from catad.traced.control.loop import Loop, Slot


class Left(NamedTuple):
    """An array that a loop leaves: the stand-in for it afterwards, what the body left, what stood before the loop, and what stood
    for it in the body."""

    made: Traced
    value: Any
    start: Any
    inside: Any


class Leaving:
    """The end of a loop; `made` gives the stand-in for what a part of its state holds."""

    def __init__(self, loop: Loop, made: Callable[[Slot], Traced], steady: Sequence[Slot]) -> None:
        self.loop, self.made, self.steady = loop, made, steady
        self.arrays: list[Left] = []

    def value(self, name: str) -> Any:
        """What a name holds after the loop."""
        loop = self.loop
        value, start, slots = loop.left_before[name], loop.start[name], loop.slots[name]
        leaves, inside = tree_leaves(value), tree_leaves(loop.inside[name])
        starts = [None] * len(slots) if start is UNBOUND else tree_leaves(start)
        same = zip(leaves, inside, slots, strict=True)
        stays = all(slot in self.steady and (a is b or not slot.start.space.ndim) for a, b, slot in same)
        if start is not UNBOUND and stays:
            arrays, value = starts, start
        else:
            arrays = [self.array(self.made(slot), leaf, one) for slot, leaf, one in zip(slots, leaves, starts, strict=True)]
        parts = zip(arrays, leaves, starts, inside, strict=True)
        self.arrays += [Left(*one) for one in parts if isinstance(one[0], Traced) and one[0].ndim]
        if value is start:
            return start
        it = iter(arrays)
        return named(name, tree_map(lambda _: next(it), value))

    def array(self, made: Traced, value: Any, start: Any) -> Traced:
        """The array that a loop leaves, or the one that another name has for it."""
        for one in self.arrays:
            was = is_same(one.start, start) or (one.start is None and start is None) or not self.loop.may_not_run
            if is_same(one.value, value) and was and one.made.dtype == made.dtype:
                return one.made
        return made

    def link(self) -> None:
        """Note what may be one array, or one list."""
        loop = self.loop
        link_loop(loop.outer, loop.alias, self.arrays, loop.may_not_run)
        new = {name: loop.values[name] for name in loop.slots if loop.values[name] is not loop.start[name]}
        starts = [loop.start[name] for name in new if loop.may_not_run]
        link_trees(loop.region, loop.alias, [(loop.left_before[name], value) for name, value in new.items()], starts)


def is_same(a: Any, b: Any) -> bool:
    """True for two names of one array, and for no views."""
    return isinstance(a, Traced) and isinstance(b, Traced) and a.buffer is not None and a.buffer is b.buffer and a.ndim > 0


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
        note_others(region, give_up, arrays[k].made, {*outer[k], *shared})


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
    entries = None if isinstance(value, Traced) or is_complex(value) else entries_of(value)
    if entries is None:
        return []
    return [*([] if isinstance(value, tuple) else [value]), *[one for part in entries[1] for one in _containers(part)]]
