"""The cache of a term: its wirings, programs and plans, by space. Equal terms share one cache.

So a morphism that is built anew for each call, `ct.grad(f)(x)` in a loop, finds the program that the last one has made. An
entry depends on the numbers of steps of while loops that were read when it was made; it is found where a call assumes the
same numbers.

The cache is bounded. A term keeps the entries of the last spaces that it met. Entries of terms that nobody refers to any
more stay a while longer only if these terms hold no large arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar
from weakref import WeakSet

from catad.category import trip_counts
from catad.category.nesting import made
from catad.category.terms import D
from catad.category.trip_counts import Loops
from catad.support.lru import Recent

T = TypeVar("T")

KEYS = 256  # of one term: for each space a wiring, a program and one more
COUNTS = 32  # what is kept under one key for several numbers of steps of its loops
TERMS = 256  # that are found by an equal one
LIGHT = 1 << 16  # bytes of arrays that a term may hold to be found by an equal one, since that keeps them alive


class Entry(NamedTuple):
    """Something kept, and the loops that it depends on."""

    value: Any
    loops: Loops


class TermCache:
    """The entries of a term, by keys. `weight` is in bytes: what keeping it keeps alive of the arrays that the term
    holds."""

    __slots__ = ("__weakref__", "_entries", "weight")

    def __init__(self, weight: int) -> None:
        self._entries: Recent[Hashable, tuple[Entry, ...]] = Recent(KEYS)
        self.weight = weight
        _places.add(self)

    def get(self, key: Hashable) -> Entry | None:
        """The entry under this key for the numbers of steps that loops are assumed to have now."""
        entries = self._entries.get(key)
        if entries is not None:
            for entry in entries:
                if not entry.loops or trip_counts.hold(entry.loops):
                    return entry
        return None

    def for_call(self, key: Hashable) -> Entry | None:
        """The entry under this key that a call which begins here would make."""
        for entry in self._entries.get(key) or ():
            if not entry.loops or trip_counts.hold_for_call(entry.loops):
                return entry
        return None

    def put(self, key: Hashable, entry: Entry) -> None:
        others = self._entries.get(key) or ()
        self._entries[key] = (entry, *[one for one in others if one.loops != entry.loops])[:COUNTS]

    def __len__(self) -> int:
        return len(self._entries)

    def clear(self) -> None:
        self._entries.clear()


_places: WeakSet[TermCache] = WeakSet()


def cached(term: D, key: Hashable, make: Callable[[], T]) -> T:
    """The entry of a term under a key; `make` makes it where it is missing."""
    cache = cache_of(term)
    entry = cache.get(key)
    if entry is None:
        entry = made((term, key), lambda: _entry(make))
        cache.put(key, entry)
    trip_counts.note(entry.loops)
    found: T = entry.value
    return found


def _entry(make: Callable[[], Any]) -> Entry:
    with trip_counts.reading() as read:
        value = make()
    return Entry(value, tuple(read.items()))


# -- equal terms

_equal: Recent[Hashable, TermCache] = Recent(TERMS)
_OWN = 1 << 62  # the weight of what no other term may use: an equal one may mean something else, since it was made another time


def cache_of(term: D) -> TermCache:
    """The cache of a term: one for all terms of the same kind, data and parts.

    A large entry belongs to a large part of the term: `ct.grad(f)` is found again for as long as somebody refers to f, and
    no longer.
    """
    try:
        return term._cache
    except AttributeError:
        pass
    stack = [term]
    while stack:
        top = stack[-1]
        held = _held(top.data()) if top.lasting else None
        missing = [part for part in (*top.children, *(held or ())) if not hasattr(part, "_cache")]
        if missing:
            stack += missing
        else:
            top._cache = _found(top, held)
            stack.pop()
    return term._cache


def _found(term: D, held: list[D] | None) -> TermCache:
    """The place of a term whose parts have theirs."""
    if held is None or any(part._cache.weight >= _OWN for part in held):
        return TermCache(_OWN)
    parts = [part._cache for part in term.children]
    weight = term.held_bytes + sum([part.weight for part in (*parts, *[part._cache for part in held])])
    if weight > LIGHT and not parts:
        return TermCache(_OWN)
    key = (type(term), term.data(), *parts)
    if weight <= LIGHT:
        found = _equal.get(key)
        if found is None:
            found = _equal[key] = TermCache(weight)
        return found
    heaviest = max(parts, key=lambda part: part.weight)
    entry = heaviest.get(key)
    if entry is None:
        entry = Entry(TermCache(weight), ())
        heaviest.put(key, entry)
    made: TermCache = entry.value
    return made


def forget() -> None:
    """Let go of all that was made of terms: what they hold themselves, and what only equal ones would find."""
    _equal.clear()
    for place in list(_places):
        place.clear()


_PLAIN = {type(None), bool, int, float, str, bytes}


def _held(data: Any) -> list[D] | None:
    """The terms in the data of a term; None where something in it is a Python function, which may come to mean other things."""
    found: list[D] = []
    stack = [data]
    while stack:
        top = stack.pop()
        kind = type(top)
        if kind in _PLAIN:
            continue
        if isinstance(top, D):
            found.append(top)
        elif isinstance(top, tuple):
            stack += top
        elif (names := _names(kind)) is not None:  # type: ignore[arg-type]
            stack += [getattr(top, name) for name in names]
        elif callable(top) and not isinstance(top, type):
            return None
    return found


@lru_cache(1024)
def _names(kind: type[Any]) -> tuple[str, ...] | None:
    """The fields of a dataclass; None for another class."""
    return tuple([each.name for each in fields(kind)]) if is_dataclass(kind) else None
