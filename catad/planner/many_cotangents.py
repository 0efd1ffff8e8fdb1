"""Many cotangents at once: the map with a dense factor at its end, multiplied in the order that is best for so many.

A few are pulled back through all factors; for many it can pay to multiply factors first. The plan is one of a chain, or of a
linear graph, that is one factor longer, so the same search decides, and plans are kept by the number of cotangents, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from catad.category.spaces import Tensor
from catad.engine.program import run_structure
from catad.linear.families.block import Block, chain
from catad.linear.families.delta import delta
from catad.linear.families.matrix_free import Batched, space_of_leaves
from catad.linear.map import LinearMap
from catad.linear.structure import Placed, Structure, apart, widest
from catad.planner.plan import Plan, plan_structure
from catad.planner.request import Request, checked
from catad.support.lru import remembered
from catad.values.arrays import in_blocks, read_only


def rows(leaves: Sequence[Tensor], count: int) -> Structure:
    """The dense map from some leaves to `count` numbers; its slots are `count` cotangents, leaf by leaf."""
    end = widest(*leaves)
    parts: list[Placed] = []
    for k, leaf in enumerate(leaves):
        axes = tuple(range(1, 1 + leaf.ndim))
        made = delta((0,), axes, (0, *axes), (count, *leaf.shape), leaf.dtype, end, leaf.dtype)
        parts.append((made, (k,)))
    if len(parts) == 1:
        return parts[0][0]
    slots = tuple([part.slots[0] for part, _ in parts])
    return Block((tuple(parts),), tuple(leaves), (Tensor((count,), end),), slots)


@remembered
def plan_rows(structure: Structure, count: int, request: Request) -> Plan:
    """The plan for `count` cotangents pulled back through a structure: the slots of the structure, then the cotangents."""
    last = rows(structure.cod, count)
    return plan_structure(chain(apart(structure, last)), request)


def pulled_back(structure: Structure, xp: Any, slots: Sequence[Any], cotangents: Sequence[Any], count: int) -> list[Any]:
    """The cotangents (count, ...) of the argument leaves, for those of the result leaves, as planned."""
    if count == 0 or not structure.cod or not structure.dom or structure.is_zero:
        return [xp.zeros((count, *leaf.shape), dtype=leaf.dtype) for leaf in structure.dom]
    if in_blocks(xp):  # which cotangents lie in which block says nothing about products of factors
        return run_structure(Batched(structure.T, (False,) * len(slots), count), xp, slots, cotangents)
    plan = plan_rows(structure, count, checked("auto", "time", xp=xp))
    dom, end = space_of_leaves(structure.dom), Tensor((count,), widest(*structure.cod))
    made: LinearMap = plan.run_on(dom, end, [*slots, *map(read_only, cotangents)])
    matrix = xp.asarray(made.T.todense(force=True)).reshape(structure.columns, count).T
    out, start = [], 0
    for leaf in structure.dom:
        own = matrix[:, start : start + leaf.size].reshape(count, *leaf.shape)
        out.append(xp.asarray(own.astype(leaf.dtype, copy=False), order="C"))
        start += leaf.size
    return out
