"""`inverse_of`: the inverse of a structure, as a structure, and how its slots follow from those of the map.

    identity, permutation, scale      of the same family, without numbers
    diagonal                          a diagonal of reciprocals
    block-diagonal, dense             moves around `Inverse` of a stack, LU
    tridiagonal, banded               `Inverse` by factors of the band
    chain, diagonal grid              the inverses of the parts
    A + U V, U and V through few      A^-1 - A^-1 U (1 + V A^-1 U)^-1 V A^-1
    nothing off the diagonal          a diagonal of reciprocals
    few diagonals, in some order,     moves around `Inverse` by factors of the entries: see `linear/solving/ordering.py`
    groups of few unknowns, few
    all others                        `Inverse` by the solver of the structure, without factors

That of A + U V is in M. Woodbury, *Inverting modified matrices*, 1950, for maps through fewer than a quarter of the
numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import singledispatch
from typing import TYPE_CHECKING, Any

import numpy as np

from catad.category.boxes import Primitive, box
from catad.category.constant import const
from catad.category.spaces import Tensor
from catad.linear.families.block import Block, Chain, Sum, chain, diagonal_block, grid, total
from catad.linear.families.contract import contract, zeros
from catad.linear.families.delta import Delta, delta, diagonal
from catad.linear.families.inverse import Factor, Inverse, array_of_factors, stacked
from catad.linear.families.ordered_inverse import Inverted, Slots, inverse_by_order
from catad.linear.families.patterned import Bands, Patterned
from catad.linear.families.reindex import Reshape, reshaped
from catad.linear.products import multiply
from catad.linear.solving.factors import KINDS
from catad.linear.solving.ordering import order_of
from catad.linear.solving.solver import without_zeros
from catad.linear.structure import Placed, Rule, Structure, apart, cast, of_part, scale_by

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire

THIN = 4  # a map goes through few numbers where so many times as many are fewer than its unknowns


@box
class Reciprocals(Primitive):
    """1 / d for the numbers of a diagonal, none of which is 0, unless `lenient`; `of` is the map, which messages name."""

    of: Structure
    lenient: bool = False
    arity = 1
    vectorized = True
    of_matrices = True

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return ins

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        with np.errstate(all="ignore"):
            if self.lenient:
                return 1 / xp.where(arrays[0] == 0, arrays[0].dtype.type(np.nan), arrays[0])
            return 1 / without_zeros(xp, arrays[0], self.of)

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule:
        axes, space = tuple(range(outs[0].ndim)), outs[0]
        structure = delta(axes, axes, axes, space.shape, space.dtype, space.dtype, space.dtype, -1.0)
        return Rule(structure, lambda wires, made: [made[0] * made[0]])

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        return ins[0].size

    def carried(self, size: int) -> Reciprocals:
        return self


def inverse_of(of: Structure, rtol: float | None = None) -> Inverted:
    """The inverse of a square map; what is not invertible raises `SolveError` when it runs. With `rtol` by the map's solver."""
    if rtol is not None:
        return Inverted(Inverse(of, rtol=rtol), lambda b, slots: slots)
    found = (_by_family(of) or _moved(of) or _by_entries(of)) if of.rows else None
    return found or Inverted(Inverse(of), lambda b, slots: slots)


@singledispatch
def _by_family(of: Structure) -> Inverted | None:
    """What the family of a map says of its inverse."""
    return None


def _none(b: Builder, slots: Sequence[Wire]) -> Sequence[Wire]:
    return ()


def _one_dtype(of: Structure) -> bool:
    return len({space.dtype for space in (*of.dom, *of.cod, *of.slots)}) == 1


def _moved(of: Structure) -> Inverted | None:
    """What moves each number to one place."""
    moves = of.only_moves and not of.slots and of.nnz == of.rows == of.columns
    return Inverted(of.T, _none) if moves and of.is_monomial and of.dom[0].dtype == of.cod[0].dtype else None


@_by_family.register
def _delta(of: Delta) -> Inverted | None:
    """Also a diagonal that moves its axes stays a `Delta`."""
    if not _one_dtype(of) or not of.factor:
        return None
    if not of.is_monomial or not set(of.slot or ()) <= set(of.out):
        return _stack(of)
    made = delta(of.ins, of.out, of.slot, of.sizes, of.cod_dtype, of.dom_dtype, of.slot_dtype, 1.0 / of.factor)
    return Inverted(made, _none if of.slot is None else lambda b, slots: b.add(Reciprocals(of), slots[0]))


def _stack(of: Delta) -> Inverted | None:
    """One matrix for each index of the axes that slot, argument and result share; axes of these two alone are columns."""
    if of.slot is None:
        return None
    out, ins = [[label for label in labels if of.sizes[label] != 1] for labels in (of.out, of.ins)]
    tied = [label for label in out if label in ins]
    rows, columns = [[label for label in labels if label not in tied] for labels in (out, ins)]
    if len({*of.out}) < len(of.out) or len({*of.ins}) < len(of.ins) or not {*rows, *columns} <= {*of.slot}:
        return None
    here = [label for label in tied if label in of.slot]
    there = [label for label in tied if label not in here]
    sizes, dtype = of.sizes, of.dom_dtype
    n, leading, k = [math.prod([sizes[label] for label in labels]) for labels in (rows, here, there)]
    matrices = Tensor((leading, n, n) if here else (n, n), dtype)
    wide = (*matrices.shape[:-1], k)

    def moves(labels: Sequence[int], order: Sequence[int]) -> list[Structure]:
        """The axes of `labels` in an order, those of size 1 at the end, as the three of a stack."""
        full = [*order, *[label for label in labels if label not in order]]
        laid = delta(full, labels, None, sizes, dtype, dtype)
        return [laid, Reshape(laid.cod[0].shape, wide, dtype)]

    first = moves(of.out, [*here, *rows, *there])
    last = [part.T for part in reversed(moves(of.ins, [*here, *columns, *there]))]
    inverse = Inverse(stacked(matrices, (k,)), "general")

    def slots(b: Builder, given: Sequence[Wire]) -> Sequence[Wire]:
        array = contract(b, [of.slot or ()], [given[0]], (*here, *rows, *columns), sizes)
        array = scale_by(cast(reshaped(b, array, matrices.shape), dtype), of.factor)
        return [array, *b.add(Factor("general"), array)]

    return Inverted(chain(apart(*first, inverse, *last)), slots)


def kind_of_bands(pattern: Bands, n: int) -> str:
    """The kind of factors: those of three diagonals are for three unknowns and more."""
    three = pattern.kind == "tridiagonal" and n >= 3
    if pattern.symmetric:
        return f"pos {'tridiagonal' if three else 'band'} {'upper' if pattern.upper else 'lower'}"
    return "tridiagonal" if three else f"band {pattern.lower} {pattern.upper}"


@_by_family.register
def _pattern(of: Patterned) -> Inverted | None:
    if of.slot != "a":
        return None
    kind = kind_of_bands(of.pattern, of.n) if isinstance(of.pattern, Bands) else "toeplitz"
    return _by_factors(of, kind, of.start == "v", lambda b, slots: slots[0])


def _by_entries(of: Structure) -> Inverted | None:
    """By factors of the entries, in the order that suits their places."""
    order = order_of(of)
    if order is None:
        return None
    return _diagonal(of) if order.kind == "diagonal" else inverse_by_order(of, order)


def _diagonal(of: Structure) -> Inverted | None:
    """What multiplies each number by one, which is its image of ones."""
    if [leaf.shape for leaf in of.dom] != [leaf.shape for leaf in of.cod]:
        return None
    parts = [diagonal(into, out.dtype, out) for into, out in zip(of.cod, of.dom, strict=True)]

    def slots(b: Builder, given: Sequence[Wire]) -> Sequence[Wire]:
        ones = [b.apply(const(np.ones(leaf.shape, leaf.dtype)), ()) for leaf in of.dom]
        images = [zeros(b, leaf) if x is None else x for x, leaf in zip(of.apply(b, given, ones), of.cod, strict=True)]
        return [b.add(Reciprocals(of), x)[0] for x in images]

    return Inverted(diagonal_block(parts), slots)


def _by_factors(of: Structure, kind: str, turned: bool, array: Callable[[Builder, Sequence[Wire]], Wire]) -> Inverted:
    def slots(b: Builder, given: Sequence[Wire]) -> Sequence[Wire]:
        made = b.add(Factor(kind), array(b, given)) if KINDS[kind].spaces(array_of_factors(of, kind)) else ()
        return [*given, *made]

    return Inverted(Inverse(of, kind, turned), slots)


# -- composites


def _all_of(parts: Sequence[Placed]) -> tuple[list[Structure], Slots] | None:
    """The inverses of square parts, and their slots, those of one after those of the other."""
    if any(part.rows != part.columns for part, _ in parts):
        return None
    found = [inverse_of(part) for part, _ in parts]

    def slots(b: Builder, given: Sequence[Wire]) -> Sequence[Wire]:
        return [wire for one, part in zip(found, parts, strict=True) for wire in one.slots(b, of_part(given, part))]

    return [one.structure for one in found], slots


@_by_family.register
def _parts(of: Chain) -> Inverted | None:
    found = _all_of(of.parts[::-1])
    return None if found is None else Inverted(chain(apart(*found[0])), found[1])


@_by_family.register
def _blocks(of: Block) -> Inverted | None:
    """A grid with one map in each row and in each column, on the diagonal."""
    places = [(r, c) for r, line in enumerate(of.grid) for c, part in enumerate(line) if part is not None]
    n = len(of.grid)
    if places != [(k, k) for k in range(n)] or len(of.groups(0)) != n:
        return None
    found = _all_of([part for k in range(n) if (part := of.grid[k][k]) is not None])
    if found is None:
        return None
    lines = [[part if r == c else None for c in range(n)] for r, part in enumerate(found[0])]
    columns, rows = of.blocks.columns, of.blocks.rows
    return Inverted(grid(lines, of.cod, of.dom, None if of.widths is None else (rows, columns)), found[1])


@_by_family.register
def _thin_change(of: Sum) -> Inverted | None:
    """A cheap map and a chain through few numbers."""
    if len(of.parts) != 2 or len(of.dom) != 1 or not _one_dtype(of):
        return None
    for cheap, thin in (of.parts, of.parts[::-1]):
        below, above = cheap[0].bandwidths
        if THIN * max(below, above) < of.rows:
            inner = [part.rows for part, _ in thin[0].series[:-1]]
            if inner and THIN * min(inner) < of.rows:
                return _woodbury(of, cheap, thin, inner.index(min(inner)) + 1)
    return None


def _woodbury(of: Structure, cheap: Placed, thin: Placed, cut: int) -> Inverted | None:
    """`thin` is first V, its parts before the cut, then U."""
    parts = thin[0].series
    (v, at_v), (u, at_u) = [_placed_chain(some) for some in (parts[:cut], parts[cut:])]
    if len(v.cod) != 1:
        return None
    base = inverse_of(cheap[0])
    one = multiply(u, base.structure)
    both = None if one is None else multiply(one.structure, v)
    inner = None if both is None else _array(both.structure)
    if one is None or both is None or inner is None:
        return None
    small = inverse_of(replace(inner, factor=1.0))
    minus = delta(*(tuple(range(of.dom[0].ndim)),) * 2, None, of.dom[0].shape, of.dom[0].dtype, of.dom[0].dtype, None, -1.0)
    b0, v0 = len(base.structure.slots), len(v.slots)
    s0 = len(small.structure.slots)
    base_at, v_at = tuple(range(b0)), tuple(range(b0, b0 + v0))
    small_at = tuple(range(b0 + v0, b0 + v0 + s0))
    u_at = tuple(range(b0 + v0 + s0, b0 + v0 + s0 + len(u.slots)))
    change: list[Placed] = [
        (base.structure, base_at), (v, v_at), (small.structure, small_at), (u, u_at), (base.structure, base_at), (minus, ())
    ]  # fmt: skip
    whole = total([(base.structure, base_at), (chain(change), tuple(range(b0 + v0 + s0 + len(u.slots))))])
    eye = np.eye(math.prod(v.cod[0].shape), dtype=of.dom[0].dtype).reshape(inner.slots[0].shape)

    def slots(b: Builder, given: Sequence[Wire]) -> Sequence[Wire]:
        own = of_part(given, thin)
        vs, us = [own[k] for k in at_v], [own[k] for k in at_u]
        bases = base.slots(b, of_part(given, cheap))
        (found,) = both.combine(b, one.combine(b, us, bases), vs)
        found = scale_by(found, inner.factor) + b.apply(const(eye), ())
        return [*bases, *vs, *small.slots(b, [found]), *us]

    return Inverted(whole, slots)


@singledispatch
def _array(of: Structure) -> Delta | None:
    """A map whose slot has the axes of its result and then those of its argument."""
    return None


@_array.register
def _array_of_delta(of: Delta) -> Delta | None:
    return of if of.slot == (*of.out, *of.ins) else None


def _placed_chain(parts: Sequence[Placed]) -> tuple[Structure, tuple[int, ...]]:
    """Some parts of a chain as one map, and the slots of the chain that are its own."""
    made = chain(apart(*[part for part, _ in parts]))
    return made, tuple([k for _, own in parts for k in own])
