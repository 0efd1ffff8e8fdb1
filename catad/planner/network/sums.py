"""Sums of partial products between the same spaces: what an eliminated vertex adds to an edge that is there.

Terms whose entries stand in the same places become one (`catad.linear.sums`), grids are added place by place, and what has no
common form stays a `Sum`, which costs nothing now. A sum is an `Action` like a product, so it is counted and carried out alike.
"""

from __future__ import annotations

from collections.abc import Iterator

from catad.linear.families.block_rules import in_places
from catad.linear.products import MapProduct, left, right
from catad.linear.structure import Structure
from catad.linear.sums import added
from catad.planner.chains.factors import (
    Action,
    Joined,
    Multiplied,
    Part,
    State,
    held,
    made,
    measured,
    parts_of,
    structure_of,
)
from catad.support.lru import remembered


def plus(first: State, second: State, fresh: Iterator[int]) -> Joined:
    """The sum of two partial products; `fresh` gives numbers below zero for the arrays it computes."""
    one, two = Part(*structure_of(first)), Part(*structure_of(second))
    names: dict[int, int] = {}
    ls = tuple([names.setdefault(k, len(names)) for k in one.ids])
    rs = tuple([names.setdefault(k, len(names)) for k in two.ids])
    found = summed(one.structure, two.structure, ls, rs)
    action: Action = made(one, two, found, tuple(names), fresh)._replace(adds=True)
    return Joined(tuple(parts_of(action.result)), (action,), held(first) + held(second) + sum(found.computed))


@remembered
def summed(first: Structure, second: Structure, ls: tuple[int, ...], rs: tuple[int, ...]) -> Multiplied:
    """The sum of two structures whose slots are the arrays `ls` and `rs`, numbered by first use, with what it costs."""
    return measured(total(first, second), first, second, ls, rs)


def total(first: Structure, second: Structure) -> MapProduct:
    """The structure of a sum, and how its slots follow from those of both terms."""
    one = MapProduct(first, tuple([left(i) for i in range(len(first.slots))]))
    two = MapProduct(second, tuple([right(j) for j in range(len(second.slots))]))
    if first.is_grid and second.is_grid and first.blocks[1:] == second.blocks[1:]:
        return _place_by_place(one, two)
    return added([one, two])


def _place_by_place(one: MapProduct, two: MapProduct) -> MapProduct:
    first, second = one.structure.blocks, two.structure.blocks
    terms = [
        [
            [MapProduct(part[0], tuple([whole.sources[k] for k in part[1]])) for whole, part in ((one, a), (two, z)) if part]
            for a, z in zip(upper, lower, strict=True)
        ]
        for upper, lower in zip(first.grid, second.grid, strict=True)
    ]
    return in_places(terms, one.structure.dom, one.structure.cod, (first.columns, first.rows))
