"""Under a memory limit: parts of a program that recompute their coefficients instead of keeping them.

Linearising keeps the coefficients of every box until its map is multiplied. Where they do not fit, runs of boxes become
checkpoints, which keep their argument only and compute the rest again each time they are applied (A. Griewank, A. Walther,
Evaluating Derivatives, 2008, chapter 12). The planner tries runs of equal numbers of boxes and keeps the coefficients of the
last run, since a scalar program is multiplied from its end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from catad import errors
from catad.category.spaces import Space
from catad.category.terms import D, chain
from catad.category.wiring import wire
from catad.linear.products import cost_of_wiring
from catad.planner.costs.cost import least_of, short_of_memory
from catad.planner.memory.loop_snapshots import with_rooms
from catad.planner.memory.schedule import Runs
from catad.planner.request import Request
from catad.vector.loops.checkpoint import checkpoint
from catad.vector.loops.snapshots import Rooms

if TYPE_CHECKING:
    from catad.planner.plan import Plan

MOST_KEPT = 4  # runs at the end that may be kept as they are


def recomputing(f: D) -> Iterator[Runs]:
    """Runs of boxes that a program may compute again; fewer runs first, and more boxes at its end kept first."""
    n = boxes(f)
    count = 1
    while count <= n:
        runs = tuple(pairwise([n * k // count for k in range(count + 1)]))
        for kept in range(min(MOST_KEPT, count - 1), -1, -1):
            yield runs[: count - kept]
        count *= 2


def boxes(f: D) -> int:
    """The number of boxes that a program can recompute; a program that is no chain counts as one."""
    return max(len(f), 1)


def with_checkpoints(f: D, runs: Runs, dom: Space | None = None, rooms: Rooms = ()) -> D:
    """The program with some runs of its boxes as checkpoints; runs within runs are checkpoints within checkpoints.

    Runs are in order, each before those within it. At a space, its loops may have rooms.
    """
    parts = parts_of(f)
    return _built(parts if dom is None else with_rooms(parts, dom, rooms), list(runs), 0, boxes(f))


def _built(parts: Sequence[D], runs: Sequence[tuple[int, int]], first: int, end: int) -> D:
    made: list[D] = []
    k = first
    while k < end:
        run = next((run for run in runs if run[0] == k and run[1] <= end), None)
        if run is None:
            made.append(parts[k])
            k += 1
            continue
        inside = [other for other in runs if run[0] <= other[0] and other[1] <= run[1] and other != run]
        made.append(checkpoint(_built(parts, inside, *run)))
        k = run[1]
    return chain(made)


def parts_of(f: D) -> list[D]:
    """The boxes of a program, one by one; a program that is no chain is one."""
    return [*f.factors] or [f]


def fitting(f: D, dom: Space, request: Request, plan_of: Callable[[Runs], Plan], error: errors.PlanError) -> Plan:
    """The best plan that fits among those of a program that recomputes; raises the error where none does, with the least.

    Where the result is explicit the cheapest is best, recomputing included. Where maps may stay unmultiplied a plan does not
    pay for applying them; then that one is best that has the least to compute again.
    """
    found: list[tuple[float, float, int, Plan]] = []
    least = least_of(error)
    for k, runs in enumerate(recomputing(f)):
        try:
            plan = plan_of(runs)
        except errors.PlanError as other:
            needed = least_of(other)
            if needed is None or least is None:
                raise
            least = min(least, needed)
            continue
        amounts = plan.cost.value, _repeated([f[first:end] for first, end in runs], dom)
        first, second = amounts if request.explicit else amounts[::-1]
        found.append((first, second, k, plan))
    if not found:
        raise error if least is None else short_of_memory(request.memory, least, False)
    return min(found, key=lambda entry: entry[:3])[3]


def _repeated(runs: list[D], dom: Space) -> int:
    """The operations of computing some runs of a program, the first from its domain, once more."""
    total = 0
    for run in runs:
        wiring = wire(run, dom)
        total += cost_of_wiring(wiring)
        dom = wiring.cod
    return total
