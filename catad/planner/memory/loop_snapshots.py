"""Which rooms the loops of a program may have, within a limit of memory: ways to tape a stage, priced by Revolve's counts.

A loop with a room keeps some of its states only, and takes steps again (`catad.vector.loops.snapshots`). Each stage with loops
has several ways to be taped, from the fastest to the one that takes the least memory; the schedule chooses one for each stage.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence

from catad.category.spaces import Space
from catad.category.terms import D
from catad.category.wiring import wire
from catad.planner.memory.schedule import Stage
from catad.vector.loops.revolve import revolve
from catad.vector.loops.segments import BESIDE, segments, share_of, taken_again
from catad.vector.loops.snapshots import Found, Roomed, Rooms, loops_of
from catad.vector.loops.sweep_map import Sweep

RATIO = 1.5  # between rooms that are looked at
RUNGS = 16  # rooms of the loops of one stage that are measured


def loops_in(parts: Iterable[D], dom: Space) -> list[Found]:
    """The loops of a chain, part by part."""
    return [found for part, space in _at_spaces(parts, dom) for found in loops_of(part, space)]


def _at_spaces(parts: Iterable[D], dom: Space) -> Iterator[tuple[D, Space]]:
    """The parts of a chain with the spaces of their arguments."""
    for part in parts:
        yield part, dom
        dom = wire(part, dom).cod


def with_rooms(parts: Sequence[D], dom: Space, rooms: Rooms) -> list[D]:
    """The parts of a chain with rooms for their loops; with no rooms, as they are."""
    if not rooms:
        return [*parts]
    rest, made = iter(rooms), []
    for part, space in _at_spaces(parts, dom):
        own = tuple([next(rest) for _ in loops_of(part, space)])
        made.append(part if own.count(None) == len(own) else Roomed(part, own))
    return made


def steps_of(sweep: Sweep) -> int:
    """The steps of a loop; a guess for a while loop."""
    return sweep.opened().programs()[0][0]


def again(sweep: Sweep, room: int | None) -> int:
    """The steps that a loop takes again beside those of its value, and beside those whose coefficients its pullback computes."""
    share = None if sweep.counts else share_of(sweep)
    found = None if share is None or room is None else segments(sweep.n, room, share)
    if room is None or (share is not None and found is not None):
        return 0 if room is None or share is None or found is None else taken_again(found, share)
    return revolve(steps_of(sweep), room)[0]


def ladder(sweep: Sweep, rungs: int) -> list[int | None]:
    """Rooms of a loop, from the largest to the smallest, each with more steps that are taken again.

    >>> import catad as ct
    >>> ladder(loops_of(ct.iterate(ct.sin, 1000), ct.f64[5])[0].sweep, 6)
    [None, 66, 23, 8, 3, 1]
    """
    most = steps_of(sweep) + BESIDE
    low, high = 1, most  # the smallest room in which no step is taken again
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if again(sweep, middle) == 0 else (middle + 1, high)
    found: list[int | None] = [] if sweep.counts else [None]
    if sweep.counts or again(sweep, low) == 0:
        found.append(low)
    count = max(rungs - len(found), 1)
    ratio = max(RATIO, low ** (1 / count))
    room, known = float(low), 0
    while room > 1:
        room /= ratio
        steps = again(sweep, max(1, round(room)))
        if steps > known:
            found.append(max(1, round(room)))
            known = steps
    return found


def fastest(loops: Sequence[Found]) -> Rooms:
    """The rooms in which the fewest steps are taken again: none, where the number of steps is known."""
    return tuple([None if not found.sweep.counts else ladder(found.sweep, 1)[0] for found in loops])


def menu(loops: Sequence[Found], measure: Callable[[Rooms], Stage]) -> list[tuple[Rooms, Stage]]:
    """Rooms for the loops of a stage with its sizes, the fastest first, each with less memory than those before.

    From the fastest on, that loop has the next smaller room where the most bytes are saved for the seconds.
    """
    ladders = [ladder(found.sweep, max(3, RUNGS // len(loops))) for found in loops]
    at = [0] * len(loops)

    def tried(at: Sequence[int]) -> tuple[Rooms, Stage]:
        rooms = tuple([own[k] for own, k in zip(ladders, at, strict=True)])
        return rooms, measure(rooms)

    found = [tried(at)]
    while True:
        here, steps = found[-1][1], list[tuple[float, list[int], tuple[Rooms, Stage]]]()
        for k, own in enumerate(ladders):
            if at[k] + 1 < len(own):
                below = [*at[:k], at[k] + 1, *at[k + 1 :]]
                rooms, stage = tried(below)
                saved, more = _size(here) - _size(stage), stage.reversing - here.reversing
                steps.append((saved / more if more > 0 else math.inf, below, (rooms, stage)))
        if not steps:
            break
        _, at, one = max(steps, key=lambda step: step[0])
        found.append(one)
    return list(_better(found))


def _size(stage: Stage) -> int:
    """What a stage keeps, and what it takes where that is most."""
    return stage.tape + max(stage.taped, stage.backward, stage.alone)


def _better(found: Sequence[tuple[Rooms, Stage]]) -> Iterator[tuple[Rooms, Stage]]:
    """Those of which no other one takes neither more seconds nor more memory at any time, the fastest first."""
    order = sorted(found, key=lambda one: (one[1].reversing, *one[1].sizes))
    kept = list[Stage]()
    for rooms, stage in order:
        if not any(all(a <= b for a, b in zip(other.sizes, stage.sizes, strict=True)) for other in kept):
            kept.append(stage)
            yield rooms, stage


def roomier(loops: Sequence[Found], rooms: Rooms, fits: Callable[[Rooms], bool]) -> Rooms:
    """Rooms as large as fit, loop by loop, the one with the most steps to take again first; what is between rungs is found."""
    order = sorted(range(len(rooms)), key=lambda k: -again(loops[k].sweep, rooms[k]))
    for k in order:
        low, sweep = rooms[k], loops[k].sweep
        if low is None or again(sweep, low) == 0:
            continue
        high = math.ceil(low * max(RATIO, 4.0)) + 1
        while high - low > 1:
            middle = (low + high) // 2
            tried = (*rooms[:k], middle, *rooms[k + 1 :])
            if again(sweep, middle) <= again(sweep, low) and fits(tried):
                low, rooms = middle, tried
            else:
                high = middle
    return rooms


def records(loops: Sequence[Found], rooms: Rooms) -> list[dict[str, int | None]]:
    """Loops with their rooms as data: their steps (None: a while loop), the bytes of a state, and how many states they keep."""
    pairs = zip(loops, rooms, strict=False)
    return [{"steps": _steps(found), "bytes": _bytes(found), "states": room} for found, room in pairs]


def _steps(found: Found) -> int | None:
    return None if found.sweep.counts else found.sweep.n


def _bytes(found: Found) -> int:
    return sum([leaf.nbytes for leaf in found.sweep.state.leaves])


def lines(loops: Sequence[Found], rooms: Rooms) -> list[str]:
    """One line for each loop: its steps, how many states it keeps, and how many steps it takes again."""
    return [_line(k, found, room) for k, (found, room) in enumerate(zip(loops, rooms, strict=True))]


def _line(k: int, found: Found, room: int | None) -> str:
    sweep = found.sweep
    steps = f"{steps_of(sweep):,} steps, as a guess" if sweep.counts else f"{sweep.n:,} steps"
    here = f"loop {k}, {steps}" + (f", within {found.depth} loop{'s' * (found.depth > 1)}" if found.depth else "")
    if room is None:
        return f"{here}: keeps what each step needs"
    taken = steps_of(sweep) + again(sweep, room)
    kept = "keeps one state" if room == 1 else f"keeps at most {room:,} states"
    return f"{here}: {kept} of {_bytes(found):,} bytes, takes {taken:,} steps again"
