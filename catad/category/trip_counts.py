"""The numbers of steps that while loops are laid out for.

The derivative of a while loop needs a number of steps to be laid out. It is taken to be that of the last call; a program finds
out when it runs whether that was right, raises `TripCountChanged` where not, and is laid out again (`with_trip_counts`): with
room for a few more steps where calls differ. There are few such rooms (`room`), two for each factor of two, so that not each
number needs a layout of its own, in whatever order numbers come. A layout depends only on the loops whose numbers were read
meanwhile (`reading`), so it is kept, and found again, by these alone (`catad.category.cache`).

Each call has numbers of its own from its first step on, so that calls in several threads do not disturb each other. When it has
ended, they are those with which the next call begins.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import NamedTuple, TypeVar

from catad.support.lru import Recent

T = TypeVar("T")


class TripCount(NamedTuple):
    """The way in which a while loop is laid out.

    `exactness` is "free", nothing depends on the number of steps, since no derivative is taken; "exact", all its steps are taken;
    "assumed", the same where nothing runs that would find another number; "near", calls take other numbers, and there is room
    for up to twice as many steps as are taken; "lanes", a batch takes as many as its longest lane needs; or "bound", it is met
    several times with other numbers, and takes the most.
    """

    steps: int
    exactness: str


Loops = tuple[tuple[Hashable, TripCount], ...]  # loops, and what is assumed of them
_FIRST, _NONE = TripCount(0, "free"), TripCount(0, "assumed")
IN_VAIN = 8  # attempts with the same numbers, after which a change is an error
UNKNOWN = -1  # a number of steps that a program needs and that only a run can tell
_last: Recent[Hashable, TripCount] = Recent(1024)  # what the last derivative assumed of each loop


class _Thread(threading.local):
    """`own`: what the call that runs in this thread assumes; `read`: what was read for what is being laid out."""

    own: dict[Hashable, TripCount] | None = None
    read: dict[Hashable, TripCount] | None = None


_here = _Thread()


class TripCountChanged(Exception):
    """A program met a loop that has another number of steps than it was made for, or (None) one for each lane of a batch."""

    def __init__(self, loop: Hashable, steps: int | None) -> None:
        super().__init__("a while loop has another number of steps")
        self.loop, self.steps = loop, steps

    def __reduce__(self) -> tuple[type[TripCountChanged], tuple[Hashable, int | None]]:
        return TripCountChanged, (self.loop, self.steps)


def trip_count(loop: Hashable) -> TripCount:
    """The way in which a while loop is laid out now; whatever is being laid out depends on it from here on."""
    found = _trip_count(loop)
    if _here.read is not None:
        _here.read[loop] = found
    return found


def _trip_count(loop: Hashable) -> TripCount:
    own = _here.own
    if own is None:  # nothing runs, so nobody would hear that a number is needed
        found = _last.get(loop)
        return _NONE if found is None or found.exactness == "free" else found
    found = own.get(loop)
    if found is None:
        found = own[loop] = _FIRST
    return found


def hold(loops: Loops) -> bool:
    """True where loops are laid out now as they were when these were read."""
    return all(_trip_count(loop) == known for loop, known in loops)


def hold_for_call(loops: Loops) -> bool:
    """The same for a call that begins here: what runs finds out whether nothing depends on a number."""
    if _here.own is not None:
        return hold(loops)
    return all(known.exactness == "free" or known == _last.get(loop) for loop, known in loops)


def note(loops: Loops) -> None:
    """Notes that what is being laid out uses something that depends on these loops."""
    if _here.read is not None:
        _here.read.update(loops)


def own() -> dict[Hashable, TripCount] | None:
    """The numbers that the call that runs in this thread assumes."""
    return _here.own


class assuming:
    """Lets these be the numbers that the call that runs in this thread assumes."""

    __slots__ = ("numbers", "outer")

    def __init__(self, numbers: dict[Hashable, TripCount] | None) -> None:
        self.numbers = numbers

    def __enter__(self) -> None:
        self.outer, _here.own = _here.own, self.numbers

    def __exit__(self, *_: object) -> None:
        _here.own = self.outer


class _FirstMet(dict[Hashable, TripCount]):
    """What is assumed of loops that nobody has run."""

    def get(self, loop: Hashable, default: object = None) -> TripCount:
        return _NONE


def as_first_met() -> AbstractContextManager[None]:
    """Inside, loops are laid out as if they had not been run yet."""
    return assuming(_FirstMet())


@contextmanager
def reading() -> Iterator[dict[Hashable, TripCount]]:
    """Collects the loops that are read within, by themselves; `note` tells what is being laid out around of them."""
    outer, _here.read = _here.read, {}
    try:
        yield _here.read
    finally:
        _here.read = outer


def with_trip_counts(call: Callable[[], T], found: TripCountChanged | None = None) -> T:
    """The result of a call, made again with the right numbers of steps as long as loops turn out to have others.

    `found` is what an earlier attempt has raised.
    """
    outer = _here.own
    own = _here.own = {} if outer is None else outer
    seen: set[Hashable] = set()
    in_vain = 0
    try:
        while True:
            if found is not None:
                before = dict(own)
                _correct(own, found, seen)
                in_vain = in_vain + 1 if own == before else 0
                if in_vain > IN_VAIN:  # what runs was laid out once for all
                    raise found
            try:
                result = call()
                break
            except TripCountChanged as error:
                found = error
    finally:
        _here.own = outer
    if outer is None:
        for loop, known in own.items():
            if known.exactness != "free":
                _last[loop] = known
    return result


def _correct(own: dict[Hashable, TripCount], found: TripCountChanged, seen: set[Hashable]) -> None:
    """Assume what was found. There is room for half as many steps more where a loop is found again within one call.

    A loop without a derivative that runs beside it may be a search, which meets it again: then there is such room at once.
    """
    loop, taken = found.loop, found.steps
    known = _trip_count(loop)
    if known.exactness == "free":
        known = _last.get(loop) or _FIRST
    steps, exactness = known
    if taken == UNKNOWN:
        own[loop] = TripCount(0, "exact") if exactness == "free" else known
        return
    if taken is None:
        own[loop] = TripCount(steps, "lanes")
        return
    first = exactness in ("free", "exact") and not steps
    searched = first and any(other.exactness == "free" for key, other in own.items() if key != loop)
    if searched or loop in seen or exactness == "bound":
        own[loop] = TripCount(room(taken + taken // 2), "bound")
    elif first:
        own[loop] = TripCount(taken, "exact")
    elif exactness in ("exact", "near"):
        own[loop] = TripCount(room(taken), "near")
    else:
        own[loop] = TripCount(taken, exactness)
    seen.add(loop)


def room(steps: int) -> int:
    """The least of 1, 2, 3, 4, 6, 8, 12, 16, 24, ... that is not below: for how many steps a loop is laid out that takes these.

    >>> [room(n) for n in (0, 1, 3, 5, 7, 12, 13, 17, 25)]
    [1, 1, 3, 6, 8, 12, 16, 24, 32]
    """
    power = 1 << max(steps - 1, 0).bit_length()
    less = 3 * power // 4
    return less if power >= 4 and less >= steps else power
