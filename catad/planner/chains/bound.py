"""A bound that no bracketing of a chain is below.

Where dense factors meet, at a space of size d, two partial products meet sooner or later: the left one has at least as many
columns as the least of the sizes before, the right one at least as many rows as the least of those after. So that meeting costs
at least d times both (the minimum vertex cuts of the linear graph, which here is a line). Diagonal factors change no size and are
left out.
"""

from __future__ import annotations

from itertools import accumulate

from catad.linear.structure import Structure
from catad.planner.chains.factors import Factors
from catad.planner.costs.cost import Model
from catad.planner.costs.cost_profile import CostProfile


def bound(factors: Factors, model: Model) -> float:
    """The operations, or seconds, that every bracketing takes at least; 0 where nothing is known."""
    used = [k for part in factors.parts for k in part.ids]
    if len(used) > len(set(used)):  # equal products may be computed once
        return 0
    dense = [part.structure for part in factors.parts if not part.structure.is_diagonal]
    if not dense or not all(is_dense(structure) for structure in dense):
        return 0
    sizes = [dense[0].columns, *[structure.rows for structure in dense]]
    before = list(accumulate(sizes, min))
    after = list(accumulate(reversed(sizes), min))[::-1]
    operations = sum(d * before[v] * after[v + 2] for v, d in enumerate(sizes[1:-1]) if d > 1)
    if model is None:
        return operations
    if isinstance(model, CostProfile):
        launches = sum(d > 1 for d in sizes[1:-1])
        return model.seconds([("matmul", launches, 0, operations)])
    return 0


def is_dense(structure: Structure) -> bool:
    """True where a map is one dense array, or its transpose is."""
    return structure.is_full or structure.T.is_full
