"""Under a memory limit: parts of a program that recompute their coefficients instead of keeping them.

Linearising keeps the coefficients of every box until its map is multiplied. Where they do not fit, runs of boxes become
checkpoints, which keep their argument only and compute the rest again each time they are applied (A. Griewank, A. Walther,
Evaluating Derivatives, 2008, chapter 12). The planner tries runs of equal numbers of boxes and keeps the coefficients of the
last run, since a scalar program is multiplied from its end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Protocol, TypeVar

from catad import errors
from catad.linear.products import cost_of_wiring
from catad.planner.cost import Cost, least_of, short_of_memory
from catad.planner.request import Request
from catad.spaces import Space
from catad.terms import D, compose
from catad.vector.checkpoint import Checkpoint, checkpoint
from catad.wiring import wire

MOST_KEPT = 4  # runs at the end that may be kept as they are


class Planned(Protocol):
    """What is known of a plan here."""

    @property
    def cost(self) -> Cost: ...


P = TypeVar("P", bound=Planned)


def recomputing(f: D) -> Iterator[tuple[D, list[D]]]:
    """The program with some runs of boxes as checkpoints, and these runs; fewer runs first, and more of them kept first."""
    n = len(f)
    count = 1
    while count <= max(n, 1):
        ends = [n * k // count for k in range(count + 1)]
        runs = [f[a:z] for a, z in pairwise(ends)] if n > 1 else [f]
        for kept in range(min(MOST_KEPT, count - 1), -1, -1):
            again = runs[: count - kept]
            yield compose(*[checkpoint(run) for run in again], *runs[count - kept :]), again
        count *= 2


def without_checkpoints(term: D) -> D:
    """A chain with the factors inside its checkpoints in place of these."""
    parts = [term[k : k + 1] for k in range(len(term))] if len(term) > 1 else [term]
    return compose(*[part.children[0] if isinstance(part, Checkpoint) else part for part in parts])


def fitting(f: D, dom: Space, request: Request, plan_of: Callable[[D], P], error: errors.PlanError) -> P:
    """The best plan that fits among those of a program that recomputes; raises the error where none does, with the least.

    Where the result is explicit the cheapest is best, recomputing included. Where maps may stay unmultiplied a plan does not
    pay for applying them; then that one is best that has the least to compute again.
    """
    found: list[tuple[float, float, int, P]] = []
    least = least_of(error)
    for k, (term, again) in enumerate(recomputing(f)):
        try:
            plan = plan_of(term)
        except errors.PlanError as other:
            needed = least_of(other)
            if needed is None or least is None:
                raise
            least = min(least, needed)
            continue
        amounts = plan.cost.value, _repeated(again, dom)
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
