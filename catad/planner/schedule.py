"""Which stages of a chain are computed again when it is reversed within a limit of memory, by sizes and seconds alone.

A schedule for stages s to t either *tapes* s, and keeps what its pullback reads until then; or it keeps the argument of s only,
runs the stages before some k without a tape, reverses k to t, and then s to k - 1 from the argument. What is kept stays until
it is used (a persistent schedule). Dynamic programming over (s, t, free memory) finds the fastest one.

Source: O. Beaumont, J. Herrmann, G. Pallez, A. Shilova, Optimal memory-aware backpropagation of deep join networks, 2019; J.
Feng and D. Huang, Optimal gradient checkpoint search for arbitrary computation graphs, 2021, for what a segment keeps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from catad import errors
from catad.planner.cost import short_of_memory

FEW = 12  # stages, for which more parts of the memory take no time
SLOTS = 400  # into which the memory is divided
NEAR = 0.7  # of the memory: where the least that any schedule takes is more, there are
FINE = 1600  # slots
FINEST = 2400  # slots where each size is a whole number of them
SPARE = (0.0, 0.01, 0.03)  # of the memory: sizes are rounded up, so what needs a little more may fit
SIZES = 7  # fields of a stage that are bytes

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


class Schedule(NamedTuple):
    """The runs of stages that are computed again, the seconds of reversing the chain, and the peak in bytes."""

    runs: Runs
    seconds: float
    peak: int


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
    exact = math.gcd(*[int(size) for stage in stages for size in stage[:SIZES]]) or 1
    if slots is None and memory // exact <= FINEST:  # then no size is rounded
        found += [_priced(stages, runs) for runs in [_by_slots(stages, memory // exact * exact, int(memory // exact))] if runs]
    else:
        spares = SPARE if near and slots is None else SPARE[:1]
        tried = [_by_slots(stages, memory * (1 + spare), slots or (FINE if near else SLOTS)) for spare in spares]
        found += [_priced(stages, runs) for runs in tried if runs is not None]
    return min([one for one in found if one.peak <= memory], key=lambda one: (one.seconds, one.peak))


def _check(stages: Sequence[Stage]) -> None:
    for k, stage in enumerate(stages):
        for name, value in zip(Stage._fields, stage, strict=True):
            if not (value >= 0 and math.isfinite(value)):
                raise errors.PlanError(errors.bad_stage(k, name, value))


def price(stages: Sequence[Stage], runs: Runs) -> Schedule:
    """What a schedule costs: its seconds and its peak.

    >>> price([Stage(8, 8, 8, 16, 16, 24, 32, 1.0, 3.0)] * 2, ((0, 1),))
    Schedule(runs=((0, 1),), seconds=7.0, peak=40)
    """
    _check(stages)
    return _priced(stages, runs)


def _priced(stages: Sequence[Stage], runs: Runs) -> Schedule:
    return Schedule(runs, *_part(stages, list(runs), 0, len(stages)))


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


def shorter(stages: Sequence[Stage], runs: Runs) -> list[Schedule]:
    """The schedules without one of the runs, or with one that is a stage shorter, which take fewer seconds; the fastest first."""
    found = [tuple([run for run in runs if run != one]) for one in runs]
    for k, (a, z) in enumerate(runs):
        for one in ((a + 1, z), (a, z - 1)) if z - a > 1 else ():
            others = {*runs[:k], *runs[k + 1 :]}
            if all(_nested(one, other) for other in others):
                found.append(tuple(sorted({*others, one}, key=lambda run: (run[0], -run[1]))))
    now = _priced(stages, runs).seconds
    return sorted([one for one in [_priced(stages, some) for some in found] if one.seconds < now], key=lambda one: one.seconds)


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
            own, end = stages[s], stages[t].cotangent
            best = own.alone if length == 1 else max(end + own.taped, own.backward, own.tape + peaks[s + 1][t])
            for k in range(s + 1, t + 1):
                peak = max(end + running[s][k - 1], own.input + peaks[k][t], peaks[s][k - 1])
                if peak < best or (again and peak == best):
                    best, choice[s][t] = peak, k
            peaks[s][t] = best
    return _priced(stages, _chosen(stages, lambda s, t, _: choice[s][t], 0, lambda _: 0))


def _by_slots(stages: Sequence[Stage], memory: float, slots: int) -> Runs | None:
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
            own, end, row = stages[s], stages[t].cotangent, table[s, t]
            needed, kept, held = up(own.alone if length == 1 else max(end + own.taped, own.backward)), up(own.tape), up(own.input)
            row[needed:] = own.reversing
            if length == 1:
                continue
            row[:kept] = np.inf
            row[kept:] += table[s + 1, t, : slots + 1 - kept]
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


def _chosen(stages: Sequence[Stage], choice: Callable[[int, int, int], int], slots: int, up: Callable[[int], int]) -> Runs:
    """The runs of a table of choices by first stage, last stage and free memory: each run before those within it.

    A choice is -1 where the first stage is taped, else k where those before k are computed again.
    """
    found: list[tuple[int, int]] = []
    stack = [(0, len(stages) - 1, slots)]
    while stack:
        s, t, free = stack.pop()
        k = choice(s, t, free)
        if k >= 0:
            found.append((s, k))
            stack += [(k, t, free - up(stages[s].input)), (s, k - 1, free)]
        elif s < t:
            stack.append((s + 1, t, free - up(stages[s].tape)))
    return tuple(sorted(found, key=lambda run: (run[0], -run[1])))
