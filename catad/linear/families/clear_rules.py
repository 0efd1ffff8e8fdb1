"""The product rules of the projections `Clear`, `ClearAt` and `ClearWhere`."""

from __future__ import annotations

from catad.linear.families.block import Zero
from catad.linear.families.clear import Clear, ClearAt, ClearWhere, run
from catad.linear.families.delta import Delta, delta
from catad.linear.families.gather import Gather, ScatterAdd
from catad.linear.families.plain_rules import push_columns, through
from catad.linear.families.reindex import Reindex
from catad.linear.products import MapProduct, Shared, flipped, left, rule


@rule(Clear, Clear)
def _clears(first: Clear, second: Clear, shared: Shared) -> MapProduct | None:
    """The larger of two regions of which one is in the other."""
    commons = [a.common(c) for a, c in zip(first.region, second.region, strict=True)]
    for inner, outer in ((first, second), (second, first)):
        if all(n == axis.length for n, axis in zip(commons, inner.region, strict=True)):
            return MapProduct(outer, ())
    return None


@rule(Clear, Reindex)
def _clear_then_move(first: Clear, second: Reindex, shared: Shared) -> MapProduct | None:
    """Reads outside of the region are as they were, and reads inside are zero."""
    read = [run(ax.n_in, ax.a, ax.s, ax.m) for ax in second.axes]
    commons = [axis.common(own) for axis, own in zip(first.region, read, strict=True)]
    if 0 in commons:
        return MapProduct(second, ())
    if all(n == own.length for n, own in zip(commons, read, strict=True)):
        return MapProduct(Zero(first.dom, second.cod), ())
    return None


rule(Reindex, Clear)(flipped(_clear_then_move))


@rule(Delta, Clear)
@rule(Delta, ClearAt)
@rule(Delta, ClearWhere)
def _delta_then_clear(first: Delta, second: Clear | ClearAt | ClearWhere, shared: Shared) -> MapProduct | None:
    """A diagonal has the numbers of the region made zero, a dense map its columns."""
    if not first.is_diagonal or first.slot is None or set(first.slot) != set(first.out) or first.cod_dtype != first.slot_dtype:
        return push_columns(first, second, shared)
    result = delta(first.out, first.ins, first.out, first.sizes, first.dom_dtype, first.cod_dtype, first.slot_dtype, first.factor)
    return MapProduct(result, (through(first, second),))


rule(Clear, Delta)(flipped(_delta_then_clear))
rule(ClearAt, Delta)(flipped(_delta_then_clear))
rule(ClearWhere, Delta)(flipped(_delta_then_clear))


@rule(ClearAt, ClearAt)
@rule(ClearWhere, ClearWhere)
def _the_same(first: ClearAt | ClearWhere, second: ClearAt | ClearWhere, shared: Shared) -> MapProduct | None:
    """A projection twice is it once."""
    return MapProduct(first, (left(0),)) if (0, 0) in shared and first == second else None


@rule(ClearAt, Gather)
def _clear_then_read(first: ClearAt, second: Gather, shared: Shared) -> MapProduct | None:
    """Reading what has just been made zero."""
    return MapProduct(Zero(first.dom, second.cod), ()) if (0, 0) in shared and first.how == second.how else None


rule(ScatterAdd, ClearAt)(flipped(_clear_then_read))
