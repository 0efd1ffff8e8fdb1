"""A lower bound on the cost of all orders, by minimum vertex cuts for each vertex.

When v is eliminated, its predecessors separate it from the inputs and outputs before it, which all stay. So their sizes add
up to at least a minimum cut by vertices, and likewise after it; by Menger's theorem the cut is a maximum flow through
vertices whose capacity is their size. size(v) * cut before * cut after is what v costs at least.
"""

from __future__ import annotations

from catad.planner.heuristics import Work
from catad.planner.problems.min_cut import MinCut
from catad.planner.problems.parts import Part


def bounds(part: Part, work: Work) -> list[int]:
    """The least cost of each inner vertex of a part; once the work is spent, no cut is looked for any more."""
    found = []
    for v in range(part.m):
        least = part.sizes[v]
        for sets in (part.preds, part.succs):
            if not work.spent:
                least *= MinCut(sets, v, part.sizes, part.m, work).value()
        found.append(least)
    return found
