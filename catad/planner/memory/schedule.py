"""Which stages of a chain are computed again when it is reversed within a limit of memory, by sizes and seconds alone.

A schedule for stages s to t either *tapes* s, and keeps what its pullback reads until then; or it keeps the argument of s only,
runs the stages before some k without a tape, reverses k to t, and then s to k - 1 from the argument. What is kept stays until
it is used (a persistent schedule). Dynamic programming over (s, t, free memory) finds the fastest one. A stage may have several
ways to be taped, of other sizes and seconds: each loop in it may keep more or fewer states (`loop_snapshots.py`).

Source: O. Beaumont, J. Herrmann, G. Pallez, A. Shilova, Optimal memory-aware backpropagation of deep join networks, 2019; J.
Feng and D. Huang, Optimal gradient checkpoint search for arbitrary computation graphs, 2021, for what a segment keeps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import product, zip_longest
from typing import NamedTuple

import numpy as np

from catad import errors
from catad.planner.costs.cost import short_of_memory

FEW = 12  # stages, for which more parts of the memory take no time
SLOTS = 400  # into which the memory is divided
NEAR = 0.7  # of the memory: where the least that any schedule takes is more, there are
FINE = 1600  # slots
FINEST = 2400  # slots where each size is a whole number of them
SPARE = (0.0, 0.01, 0.03)  # of the memory: sizes are rounded up, so what needs a little more may fit

Runs = tuple[tuple[int, int], ...]  # of stages that are computed again: the first of each, and the one after its last; nested


class Stage(NamedTuple):
    """The sizes of a stage in bytes, and its seconds (or operations).

    `input` is its argument; `tape` what its pullback reads, the argument among it where that is read; `forward`, `taped`,
    `backward` and `alone` are the peaks of running it, of running it with its tape, of its pullback from the tape, and of value
    and pullback at once. Each counts all arrays that are alive: argument and result, both cotangents (in the last two), the
    tape. `cotangent` is that of its result.
    """

    input: int
    cotangent: int
    tape: int
    forward: int
    taped: int
    backward: int
    alone: int
    seconds: float = 1.0  # of running it
    reversing: float = 1.0  # of running it with its tape, and of its pullback
    others: tuple[Stage, ...] = ()  # other ways to tape it, which take less memory and more seconds, the least memory last

    @property
    def sizes(self) -> tuple[int, ...]:
        """What are bytes."""
        return self[:7]

    @property
    def ways(self) -> tuple[Stage, ...]:
        """All ways to tape it."""
        return (self, *self.others)


class Schedule(NamedTuple):
    """The runs of stages that are computed again, the seconds of reversing the chain, the peak in bytes, the ways of stages.

    A way is the number of one of `Stage.ways`; those of stages at the end that are 0 are left out.
    """

    runs: Runs
    seconds: float
    peak: int
    ways: tuple[int, ...] = ()


def schedule(stages: Sequence[Stage], memory: float, slots: int | None = None) -> Schedule:
    """The fastest persistent schedule within some bytes of memory.

    Raises `PlanError` for a stage whose sizes are no numbers at least 0, and where no schedule fits, with the least that does.

    >>> same = [Stage(8, 8, 8, 16, 16, 24, 32)] * 4
    >>> schedule(same, 100).runs, schedule(same, 40).runs
    ((), ((0, 3), (0, 2)))
    """
    _check(stages)
    if not stages:
        return Schedule((), 0.0, 0)
    lowest = least(stages)
    needed = lowest.peak
    if not needed <= memory:
        raise short_of_memory(memory, needed, True)
    free = _priced(stages, ())
    if free.peak <= memory:
        return free
    found = [lowest]
    near = needed > NEAR * memory or len(stages) <= FEW
    exact = math.gcd(*[int(size) for stage in stages for way in stage.ways for size in way.sizes]) or 1
    if slots is None and memory // exact <= FINEST:  # then no size is rounded
        tried = [_by_slots(stages, memory // exact * exact, int(memory // exact))]
    else:
        spares = SPARE if near and slots is None else SPARE[:1]
        tried = [_by_slots(stages, memory * (1 + spare), slots or (FINE if near else SLOTS)) for spare in spares]
    found += [_priced(stages, *one) for one in tried if one is not None]
    return min([one for one in found if one.peak <= memory], key=lambda one: (one.seconds, one.peak))


def _check(stages: Sequence[Stage]) -> None:
    for k, way in [(k, way) for k, stage in enumerate(stages) for way in stage.ways]:
        for name, value in zip(Stage._fields, way[:-1], strict=False):
            if not (value >= 0 and math.isfinite(value)):
                raise errors.PlanError(errors.bad_stage(k, name, value))


def price(stages: Sequence[Stage], runs: Runs, ways: Sequence[int] = ()) -> Schedule:
    """What a schedule costs: its seconds and its peak.

    >>> price([Stage(8, 8, 8, 16, 16, 24, 32, 1.0, 3.0)] * 2, ((0, 1),))
    Schedule(runs=((0, 1),), seconds=7.0, peak=40, ways=())
    """
    _check(stages)
    return _priced(stages, runs, ways)


def _priced(stages: Sequence[Stage], runs: Runs, ways: Sequence[int] = ()) -> Schedule:
    made = [*ways]
    while made and not made[-1]:
        made.pop()
    chosen = [stage.ways[way] for stage, way in zip_longest(stages, made, fillvalue=0)]  # type: ignore[union-attr]
    return Schedule(runs, *_part(chosen, list(runs), 0, len(stages)), tuple(made))


def _part(stages: Sequence[Stage], runs: list[tuple[int, int]], first: int, end: int) -> tuple[float, int]:
    """Seconds and peak of stages from `first` to before `end`, the argument and the cotangent of the result included.

    The runs inside are in order, each before those within it.
    """
    here = stages[end - 1].cotangent
    starts: dict[int, int] = {}
    for a, z in runs:
        if first <= a and z <= end:
            starts.setdefault(a, z)
    seconds, peak, kept = 0.0, 0, 0
    done: list[tuple[int, int, int, list[tuple[int, int]] | None]] = []
    k = first
    while k < end:
        z = starts.get(k, k)
        if z > k:
            inside = [run for run in runs if k <= run[0] and run[1] <= z and run != (k, z)]
            running = [stages[i].forward + (stages[k].input if i > k else 0) for i in range(k, z)]
            peak = max(peak, kept + here + max(running))
            seconds += sum([stages[i].seconds for i in range(k, z)])
            done.append((k, z, kept, inside))
            kept += stages[k].input
            k = z
            continue
        peak = max(peak, kept + (here + stages[k].taped if k + 1 < end else stages[k].alone))
        done.append((k, k + 1, kept, None))
        kept += stages[k].tape
        k += 1
    for a, z, before, within in reversed(done):
        if within is None:
            peak = max(peak, before + stages[a].backward if z < end else 0)
            seconds += stages[a].reversing
        else:
            more, most = _part(stages, within, a, z)
            peak, seconds = max(peak, before + most), seconds + more
    return seconds, peak


def _nested(one: tuple[int, int], other: tuple[int, int]) -> bool:
    """True where one run is within the other, or they have no stage in common."""
    (a, z), (b, y) = one, other
    return z <= b or y <= a or (b <= a and z <= y) or (a <= b and y <= z)


def every(first: int, last: int) -> Iterator[Runs]:
    """All persistent schedules of some stages; their number grows as 6 to the power of that of the stages."""
    if first > last:
        yield ()
        return
    yield from every(first + 1, last)
    for k in range(first + 1, last + 1):
        for right, left in product(list(every(k, last)), list(every(first, k - 1))):
            yield tuple(sorted({(first, k), *left, *right}, key=lambda run: (run[0], -run[1])))


def shorter(stages: Sequence[Stage], runs: Runs, ways: tuple[int, ...] = ()) -> list[Schedule]:
    """The schedules that are one step away and take fewer seconds, the fastest first.

    They are without one of the runs, or have one that is a stage shorter, or a stage that is taped in a faster way.
    """
    found = [(tuple([run for run in runs if run != one]), ways) for one in runs]
    found += [(runs, (*ways[:k], way - 1, *ways[k + 1 :])) for k, way in enumerate(ways) if way]
    for k, (a, z) in enumerate(runs):
        for one in ((a + 1, z), (a, z - 1)) if z - a > 1 else ():
            others = {*runs[:k], *runs[k + 1 :]}
            if all(_nested(one, other) for other in others):
                found.append((tuple(sorted({*others, one}, key=lambda run: (run[0], -run[1]))), ways))
    now = _priced(stages, runs, ways).seconds
    return sorted([one for one in [_priced(stages, *some) for some in found] if one.seconds < now], key=lambda one: one.seconds)


def _running(stages: Sequence[Stage]) -> list[list[int]]:
    """The peaks of running stages s to k without a tape, the argument of s kept."""
    n = len(stages)
    table = [[0] * n for _ in range(n)]
    for s in range(n):
        peak = 0
        for k in range(s, n):
            peak = max(peak, stages[k].forward + (stages[s].input if k > s else 0))
            table[s][k] = peak
    return table


def least(stages: Sequence[Stage], again: bool = False) -> Schedule:
    """The schedule that takes the least memory, whatever its seconds; `again`: of such, one that computes much again."""
    n, running = len(stages), _running(stages)
    peaks = [[0] * n for _ in range(n)]
    choice = [[-1] * n for _ in range(n)]
    for length in range(1, n + 1):
        for s in range(n - length + 1):
            t = s + length - 1
            end, after = stages[t].cotangent, 0 if length == 1 else peaks[s + 1][t]
            sizes = [own.alone if length == 1 else max(end + own.taped, own.backward, own.tape + after) for own in stages[s].ways]
            best = min(sizes)
            choice[s][t] = -1 - sizes.index(best)
            for k in range(s + 1, t + 1):
                peak = max(end + running[s][k - 1], stages[s].input + peaks[k][t], peaks[s][k - 1])
                if peak < best or (again and peak == best):
                    best, choice[s][t] = peak, k
            peaks[s][t] = best
    return _priced(stages, *_chosen(stages, lambda s, t, _: choice[s][t], 0, lambda _: 0))


def _by_slots(stages: Sequence[Stage], memory: float, slots: int) -> tuple[Runs, tuple[int, ...]] | None:
    """The fastest schedule where all sizes are rounded up to parts of the memory; None where none fits so."""
    n, running = len(stages), _running(stages)
    unit = memory / slots
    parts = np.arange(slots + 1)
    table = np.full((n, n, slots + 1), np.inf)  # seconds by first stage, last stage and free parts
    choice = np.full((n, n, slots + 1), -1, np.int16)

    def up(nbytes: int) -> int:
        return min(math.ceil(nbytes / unit), slots + 1)

    times = np.cumsum([0.0, *[stage.seconds for stage in stages]])
    for length in range(1, n + 1):
        for s in range(n - length + 1):
            t = s + length - 1
            end, row, held = stages[t].cotangent, table[s, t], up(stages[s].input)
            for way, own in enumerate(stages[s].ways):
                needed, kept = up(own.alone if length == 1 else max(end + own.taped, own.backward)), up(own.tape)
                taking = np.full(slots + 1, np.inf)
                taking[needed:] = own.reversing
                if length > 1:
                    taking[:kept] = np.inf
                    taking[kept:] += table[s + 1, t, : slots + 1 - kept]
                faster = taking < row
                row[faster], choice[s, t][faster] = taking[faster], -1 - way
            if length == 1:
                continue
            running_up = np.array([up(end + most) for most in running[s][s:t]])
            again = table[s + 1 : t + 1, t, : slots + 1 - held] + table[s, s:t, held:]
            again += (times[s + 1 : t + 1] - times[s])[:, None]
            again[parts[held:] < running_up[:, None]] = np.inf
            best = again.argmin(0)
            values = again[best, np.arange(len(best))]
            better = values < row[held:]
            row[held:][better] = values[better]
            choice[s, t, held:][better] = best[better] + s + 1
    if not math.isfinite(table[0, n - 1, slots]):
        return None
    return _chosen(stages, lambda s, t, free: int(choice[s, t, free]), slots, up)


def _chosen(
    stages: Sequence[Stage], choice: Callable[[int, int, int], int], slots: int, up: Callable[[int], int]
) -> tuple[Runs, tuple[int, ...]]:
    """The runs of a table of choices by first stage, last stage and free memory, each before those within it; the ways of stages.

    A choice is -1 - way where the first stage is taped in this way, else k where those before k are computed again.
    """
    found, ways = list[tuple[int, int]](), [0] * len(stages)
    stack = [(0, len(stages) - 1, slots)]
    while stack:
        s, t, free = stack.pop()
        k = choice(s, t, free)
        if k >= 0:
            found.append((s, k))
            stack += [(k, t, free - up(stages[s].input)), (s, k - 1, free)]
            continue
        ways[s] = -1 - k
        if s < t:
            stack.append((s + 1, t, free - up(stages[s].ways[ways[s]].tape)))
    return tuple(sorted(found, key=lambda run: (run[0], -run[1]))), tuple(ways)
