"""Diagonals and solutions of composites, part by part."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from catad.linear.matrix import entries as matrix
from catad.linear.matrix.columns import common_dtype, images
from catad.linear.solving.solver import Leaves, Solver, solver_of, together
from catad.linear.structure import Placed, Structure, local, of_part
from catad.values.arrays import Array

if TYPE_CHECKING:
    from catad.linear.families.block import Block, Chain


# -- grids


def diagonal_of_grid(block: Block, xp: Any, slots: Sequence[Array], k: int) -> Array:
    """The diagonals of the parts, each where it meets the diagonal of the grid."""
    where = matrix.span(block.rows, block.columns, k)
    out = xp.zeros(where.length, dtype=common_dtype(block.cod))
    for part, row, column in block.cells():
        own = k + row - column
        length, first, _ = matrix.span(part[0].rows, part[0].columns, own)
        if length:
            at = first + row - where.row
            out[at : at + length] += part[0].diagonal(xp, of_part(slots, part), own)
    return out


def substitution(block: Block, xp: Any, slots: Sequence[Array], rtol: float | None) -> Solver | None:
    """Block by block, where the grid is triangular in some order of its rows and columns, with square maps on the diagonal."""
    order = _order(block)
    if order is None:
        return None
    rows, columns = block.groups(1), block.groups(0)
    pivots = [part for r, c in order if (part := block.grid[r][c]) is not None]
    solvers = [solver_of(part[0], xp, of_part(slots, part), rtol) for part in pivots]

    def run(ys: Leaves) -> Leaves:
        k = len(ys[0])
        xs: Leaves = [xp.zeros((k, *leaf.shape), dtype=leaf.dtype) for leaf in block.dom]
        for step, (r, c) in enumerate(order):
            right = list(ys[rows[r]])
            for done, part in enumerate(block.grid[r]):
                if part is not None and done != c:
                    known = images(part[0], xp, of_part(slots, part), xs[columns[done]], k)
                    right = [y - made for y, made in zip(right, known, strict=True)]
            xs[columns[c]] = solvers[step].run(right)
        return xs

    return together("blocks", solvers, run)


def _order(block: Block) -> list[tuple[int, int]] | None:
    """Rows and the columns that they are solved for, each when all other columns of the row are known."""
    unknown = [{c for c, part in enumerate(line) if part is not None} for line in block.grid]
    readers: dict[int, list[int]] = {}
    for r, columns in enumerate(unknown):
        for c in columns:
            readers.setdefault(c, []).append(r)
    ready = [r for r, columns in enumerate(unknown) if len(columns) == 1]
    order: list[tuple[int, int]] = []
    for r in ready:  # which grows
        part = None if len(unknown[r]) != 1 else block.grid[r][min(unknown[r])]
        if part is None or part[0].rows != part[0].columns:
            return None
        order.append((r, c := min(unknown[r])))
        for other in readers[c]:
            unknown[other].discard(c)
            if len(unknown[other]) == 1:
                ready.append(other)
    return order if len(order) == len(block.grid) == len(block.groups(0)) else None


# -- products


def diagonal_of_chain(chain: Chain, xp: Any, slots: Sequence[Array], k: int) -> Array:
    """Diagonal factors at the ends scale the rows and the columns of what is between them."""
    where = matrix.span(chain.rows, chain.columns, k)
    own, scales = list(chain.parts), []
    for end, first in ((0, where.column), (-1, where.row)):
        while len(own) > 1 and own[end][0].bandwidths == (0, 0) and own[end][0].rows == own[end][0].columns:
            part = own.pop(end)
            scales.append(part[0].diagonal(xp, of_part(slots, part))[first : first + where.length])
    rest, inner = _joined(own, slots)
    out = matrix.diagonal(rest, xp, inner, k) if len(rest.series) > 1 else rest.diagonal(xp, inner, k)
    for scale in reversed(scales):
        out = out * scale
    return out.astype(common_dtype(chain.cod), copy=False)


def factor_by_factor(chain: Chain, xp: Any, slots: Sequence[Array], rtol: float | None) -> Solver | None:
    """One factor after the other, where what is between them has as many numbers: each is invertible, or the whole is not."""
    cuts = [k for k, (part, _) in enumerate(chain.parts) if part.rows == chain.rows]
    groups = [chain.parts[a + 1 : z + 1] for a, z in pairwise([-1, *cuts])]
    if len(groups) == 1 and len(groups[0]) > 1:
        return None
    solvers = []
    for group in groups:
        part, own = _joined(group, slots)
        solvers.append(solver_of(part, xp, own, rtol))

    def run(ys: Leaves) -> Leaves:
        for solver in reversed(solvers):
            ys = solver.run(ys)
        return ys

    return together("chain", solvers, run)


def _joined(parts: Sequence[Placed], slots: Sequence[Array]) -> tuple[Structure, list[Array]]:
    """The product of some of the factors, and the slots that it reads.

    One factor is itself, though its entries share slots: a chain of it would ask for its own answer again.
    """
    from catad.linear.families.block import chain

    if len(parts) == 1:
        return parts[0][0], of_part(slots, parts[0])
    found, used = local(parts)
    return chain(found), [slots[j] for j in used]
