"""Composite structures: `Zero`, `Block` (a grid), `Chain` (a product that is not multiplied out) and `Sum`.

A part of a composite is placed: it has the positions of its slots in the composite, so that parts may share slots. The first
part of a `Chain` is applied first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import accumulate as accumulated
from typing import TYPE_CHECKING, Any

from catad.category.spaces import Tensor
from catad.linear.apply import applying
from catad.linear.matrix import by_parts
from catad.linear.matrix import entries as matrix
from catad.linear.matrix.columns import common_dtype
from catad.linear.matrix.entries import Entries
from catad.linear.matrix.patterns import Entry, Grid, chained, grid_of, union
from catad.linear.solving.solver import Solver, singular
from catad.linear.structure import (
    Blocks,
    Cells,
    Placed,
    Structure,
    WeightedMove,
    accumulate,
    apart,
    family,
    local,
    of_part,
    renumbered,
)

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire

Widths = tuple[tuple[int, ...], tuple[int, ...]]  # how many leaves the columns take, and the rows


def _listed(parts: Sequence[Placed], between: str) -> str:
    """The kinds of a few parts; of many, how many there are."""
    if len(parts) > 4 or any(isinstance(part[0], (Chain, Sum)) for part in parts):
        return f"{len(parts)} maps"
    return between.join(part[0].kind for part in parts)


def transposed(part: Placed) -> Placed:
    """The transpose of a placed part: the slots stay."""
    return part[0].T, part[1]


@family
class Zero(Structure):
    """The map to zero."""

    dom: tuple[Tensor, ...]
    cod: tuple[Tensor, ...]
    slots = ()

    @property
    def T(self) -> Zero:
        return Zero(self.cod, self.dom)

    def apply(self, b: Builder, slots: Sequence[Wire], xs: Sequence[Wire | None]) -> list[Wire | None]:
        return [None] * len(self.cod)

    kind = "zero"
    nnz = 0
    bandwidths = (0, 0)
    entry_count = 0

    def entries(self, xp: Any, slots: Sequence[Any]) -> Entries:
        return matrix.concatenated(xp, [])

    def solver(self, xp: Any, slots: Sequence[Any], rtol: float | None = None) -> Solver:
        raise singular(self, "zero by structure")

    is_zero = True

    def patterns(self) -> Grid:
        return tuple([(None,) * len(self.dom)] * len(self.cod))


@family
class Block(Structure):
    """A grid of maps between products; None is zero. Row r makes result leaf r, or the r-th group of leaves.

    `widths` says how many leaves the columns and the rows take, where not all take one: a map that couples several leaves,
    such as a recurrence of tuples, fills a wide place.
    """

    grid: tuple[tuple[Placed | None, ...], ...]
    dom: tuple[Tensor, ...]
    cod: tuple[Tensor, ...]
    slots: tuple[Tensor, ...]
    widths: Widths | None = None

    @property
    def T(self) -> Block:
        columns = range(len(self.grid[0]) if self.grid else len(self.dom))
        flipped = tuple(
            [tuple([transposed(p) if (p := row[c]) is not None else None for row in self.grid]) for c in columns]
        )
        widths = None if self.widths is None else (self.widths[1], self.widths[0])
        return Block(flipped, self.cod, self.dom, self.slots, widths)

    def groups(self, side: int) -> list[slice]:
        """The leaves of each column (side 0) or row (side 1)."""
        count = len(self.cod if side else self.dom)
        widths = (1,) * count if self.widths is None else self.widths[side]
        ends = list(accumulated(widths))
        return [slice(end - width, end) for width, end in zip(widths, ends, strict=True)]

    def apply(self, b: Builder, slots: Sequence[Wire], xs: Sequence[Wire | None]) -> list[Wire | None]:
        out: list[Wire | None] = [None] * len(self.cod)
        columns = self.groups(0)
        for line, rows in zip(self.grid, self.groups(1), strict=True):
            for part, column in zip(line, columns, strict=True):
                if part is not None and any(x is not None for x in xs[column]):
                    terms = part[0].apply(b, of_part(slots, part), xs[column])
                    out[rows] = [accumulate(t, u) for t, u in zip(out[rows], terms, strict=True)]
        return out

    @property
    def kind(self) -> str:
        return f"block {len(self.grid)}x{len(self.grid[0]) if self.grid else 0}"

    @cached_property
    def nnz(self) -> int:
        return sum(part[0].nnz for row in self.grid for part in row if part is not None)

    def cells(self) -> list[tuple[Placed, int, int]]:
        """The maps of the grid, each with the row and the column at which its matrix stands."""
        rows, columns = matrix.starts(self.cod, self.blocks.rows), matrix.starts(self.dom, self.blocks.columns)
        return [
            (part, row, column)
            for line, row in zip(self.grid, rows, strict=True)
            for part, column in zip(line, columns, strict=True)
            if part is not None
        ]

    @cached_property
    def bandwidths(self) -> tuple[int, int]:
        bands = [matrix.offset_band(part.bandwidths, row, column) for (part, _), row, column in self.cells()]
        return (max(below for below, _ in bands), max(over for _, over in bands)) if bands else (0, 0)

    @cached_property
    def entry_count(self) -> int | None:
        return matrix.added_counts([part.entry_count for (part, _), _, _ in self.cells()])

    def entries(self, xp: Any, slots: Sequence[Any]) -> Entries:
        return matrix.concatenated(
            xp, [(part[0].entries(xp, of_part(slots, part)), row, column) for part, row, column in self.cells()]
        )

    def diagonal(self, xp: Any, slots: Sequence[Any], k: int = 0) -> Any:
        return by_parts.diagonal_of_grid(self, xp, slots, k)

    def solver(self, xp: Any, slots: Sequence[Any], rtol: float | None = None) -> Solver:
        return by_parts.substitution(self, xp, slots, rtol) or super().solver(xp, slots, rtol)

    @property
    def is_zero(self) -> bool:
        return all(part is None for row in self.grid for part in row)

    @cached_property
    def blocks(self) -> Blocks:
        columns, rows = self.widths or ((1,) * len(self.dom), (1,) * len(self.cod))
        return Blocks(self.grid, columns, rows)

    is_grid = True

    @property
    def leafwise(self) -> Cells | None:
        return self.grid if self.widths is None else None

    @cached_property
    def pieces(self) -> tuple[Structure, ...]:
        return tuple([part[0] for row in self.grid for part in row if part is not None])

    def patterns(self) -> Grid:
        grid, columns, rows = self.blocks
        out: list[tuple[Entry, ...]] = []
        for line, height in zip(grid, rows, strict=True):
            found = [grid_of(part[0]) if part else ((None,) * w,) * height for part, w in zip(line, columns, strict=True)]
            out += [tuple([entry for cell in found for entry in cell[r]]) for r in range(height)]
        return tuple(out)

    @property
    def is_identity(self) -> bool:
        return self.dom == self.cod and all(
            (part is not None and part[0].is_identity) if r == c else part is None
            for r, row in enumerate(self.grid)
            for c, part in enumerate(row)
        )


class Composite(Structure):
    """Base of families of parts, the first of which starts where the whole does, and the last of which ends there."""

    parts: tuple[Placed, ...]

    @property
    def dom(self) -> tuple[Tensor, ...]:
        return self.parts[0][0].dom

    @property
    def cod(self) -> tuple[Tensor, ...]:
        return self.parts[-1][0].cod


@family
class Chain(Composite):
    """A product that is not multiplied out; the first part is applied first."""

    parts: tuple[Placed, ...]
    slots: tuple[Tensor, ...]

    @property
    def T(self) -> Chain:
        return Chain(tuple([transposed(part) for part in reversed(self.parts)]), self.slots)

    def apply(self, b: Builder, slots: Sequence[Wire], xs: Sequence[Wire | None]) -> list[Wire | None]:
        out = list(xs)
        for part in self.parts:
            out = part[0].apply(b, of_part(slots, part), out)
        return out

    @property
    def kind(self) -> str:
        return f"chain of {_listed(self.parts, ' >> ')}"

    @cached_property
    def nnz(self) -> int:
        """An upper bound: the pattern of a product that is not multiplied out is not known, but moving entries makes none."""
        most = min([part.nnz for part, _ in self.parts if part.is_monomial], default=self.rows * self.columns)
        others = [part.nnz for part, _ in self.parts if not part.is_monomial]
        return min(
            most if not others else others[0] if len(others) == 1 else self.rows * self.columns, self.rows * self.columns
        )

    @property
    def is_monomial(self) -> bool:
        return all(part.is_monomial for part, _ in self.parts)

    @cached_property
    def bandwidths(self) -> tuple[int, int]:
        below, over = zip(*[part.bandwidths for part, _ in self.parts], strict=True)
        most = super().bandwidths
        return min(sum(below), most[0]), min(sum(over), most[1])

    @cached_property
    def entry_count(self) -> int | None:
        """About so many pairs of entries meet in each middle, if they are spread evenly."""
        made, total = self.parts[0][0].entry_count, 0
        for part, _ in self.parts[1:]:
            if made is None or part.entry_count is None:
                return None
            made = -(-made * part.entry_count // max(1, part.columns))
            total += made
        return made and max(made, total)

    def entries(self, xp: Any, slots: Sequence[Any]) -> Entries:
        made = [part[0].entries(xp, of_part(slots, part)) for part in self.parts]
        found = made[0]
        for one in made[1:]:
            found = matrix.joined(xp, found, one)
        return found

    def diagonal(self, xp: Any, slots: Sequence[Any], k: int = 0) -> Any:
        return by_parts.diagonal_of_chain(self, xp, slots, k)

    def solver(self, xp: Any, slots: Sequence[Any], rtol: float | None = None) -> Solver:
        found = by_parts.factor_by_factor(self, xp, slots, rtol) or self.parts[0][0].solver_of_chain(self, xp, slots)
        return found or super().solver(xp, slots, rtol)

    @property
    def series(self) -> tuple[Placed, ...]:
        return self.parts

    @cached_property
    def pieces(self) -> tuple[Structure, ...]:
        return tuple([part for part, _ in self.parts])

    is_light = True

    @property
    def weighted_move(self) -> WeightedMove | None:
        """The product of a move and a `Delta`, and nothing else."""
        if len(self.parts) != 2:
            return None
        (first, _), (second, own) = self.parts
        moved, weighted = first.weighted_move, second.weighted_move
        if moved is None or weighted is None or moved.move is not first or weighted.weight is not second:
            return None
        return WeightedMove(moved.move, weighted.weight, own[0] if own else None)

    def patterns(self) -> Grid:
        return chained(self.pieces)


class Parallel(Composite):
    """Base of families whose parts go between the same spaces, beside each other."""

    @cached_property
    def bandwidths(self) -> tuple[int, int]:
        below, over = zip(*[part.bandwidths for part, _ in self.parts], strict=True)
        return max(below), max(over)

    def patterns(self) -> Grid:
        grids = [grid_of(part) for part, _ in self.parts]
        lines = [zip(*rows, strict=True) for rows in zip(*grids, strict=True)]
        return tuple([tuple([union(entries) for entries in line]) for line in lines])


@family
class Sum(Parallel):
    """A sum of maps between the same spaces."""

    parts: tuple[Placed, ...]
    slots: tuple[Tensor, ...]

    @property
    def T(self) -> Sum:
        return Sum(tuple([transposed(part) for part in self.parts]), self.slots)

    @property
    def summands(self) -> tuple[Structure, ...]:
        return tuple([part for part, _ in self.parts])

    def apply(self, b: Builder, slots: Sequence[Wire], xs: Sequence[Wire | None]) -> list[Wire | None]:
        out: list[Wire | None] = [None] * len(self.cod)
        for part in self.parts:
            terms = part[0].apply(b, of_part(slots, part), xs)
            out = [accumulate(total, term) for total, term in zip(out, terms, strict=True)]
        return out

    @property
    def kind(self) -> str:
        return f"sum of {_listed(self.parts, ' + ')}"

    @cached_property
    def nnz(self) -> int:
        """An upper bound: the patterns may overlap."""
        return min(sum(part[0].nnz for part in self.parts), self.rows * self.columns)

    @cached_property
    def entry_count(self) -> int | None:
        return matrix.added_counts([part.entry_count for part, _ in self.parts])

    def entries(self, xp: Any, slots: Sequence[Any]) -> Entries:
        return matrix.concatenated(xp, [(part[0].entries(xp, of_part(slots, part)), 0, 0) for part in self.parts])

    def diagonal(self, xp: Any, slots: Sequence[Any], k: int = 0) -> Any:
        out = xp.zeros(matrix.span(self.rows, self.columns, k).length, dtype=common_dtype(self.cod))
        for part in self.parts:
            out = out + part[0].diagonal(xp, of_part(slots, part), k)
        return out

    @property
    def terms(self) -> tuple[Placed, ...]:
        return self.parts

    @cached_property
    def pieces(self) -> tuple[Structure, ...]:
        return tuple([part for part, _ in self.parts])


def reached_by(structure: Structure, flags: Sequence[bool]) -> list[bool]:
    """Flags of the leaves of the result that depend on the flagged leaves of the argument, as far as the structure says."""
    if isinstance(structure, Zero) or not any(flags):
        return [False] * len(structure.cod)
    if isinstance(structure, Chain):
        for part, _ in structure.parts:
            flags = reached_by(part, flags)
        return list(flags)
    if isinstance(structure, Sum):
        return [any(line) for line in zip(*[reached_by(part, flags) for part, _ in structure.parts], strict=True)]
    if not isinstance(structure, Block):
        return [True] if len(structure.cod) == 1 else list(applying(structure, tuple(flags))[1])
    reached: list[bool] = []
    for line, rows in zip(structure.grid, structure.groups(1), strict=True):
        own = [False] * (rows.stop - rows.start)
        for cell, column in zip(line, structure.groups(0), strict=True):
            if cell is not None:
                own = [a or c for a, c in zip(own, reached_by(cell[0], flags[column]), strict=True)]
        reached += own
    return reached


def assemble(
    rows: Sequence[Sequence[Placed | None]],
    dom: Sequence[Tensor],
    cod: Sequence[Tensor],
    slots: Sequence[Tensor],
    widths: Widths | None = None,
) -> Structure:
    """A `Block`, or the part itself where it is one by one."""
    dom, cod = tuple(dom), tuple(cod)
    if widths is not None and all(w == 1 for side in widths for w in side):
        widths = None
    if len(dom) == 1 and len(cod) == 1 and widths is None:
        part = rows[0][0]
        if part is None:
            return Zero(dom, cod)
        if part[1] == tuple(range(len(slots))):
            return part[0]
        if isinstance(part[0], (Sum, Chain)):  # two of its slots are one array
            return type(part[0])(tuple([renumbered(p, part[1]) for p in part[0].parts]), tuple(slots))
    return Block(tuple([tuple(row) for row in rows]), dom, cod, tuple(slots), widths)


def grid(
    rows: Sequence[Sequence[Structure | None]], dom: Sequence[Tensor], cod: Sequence[Tensor], widths: Widths | None = None
) -> Structure:
    """A `Block` whose parts have slots of their own, numbered along the rows."""
    there = [part for line in rows for part in line if part is not None and not part.is_zero]
    placed = iter(apart(*there))
    cells = [[None if part is None or part.is_zero else next(placed) for part in line] for line in rows]
    return assemble(cells, dom, cod, [slot for part in there for slot in part.slots], widths)


def diagonal_block(parts: Sequence[Structure]) -> Structure:
    """Maps of one leaf each side by side, with slots of their own."""
    rows = [[part if r == c else None for c, part in enumerate(parts)] for r in range(len(parts))]
    return grid(rows, [part.dom[0] for part in parts], [part.cod[0] for part in parts])


def row(parts: Sequence[Structure]) -> Structure:
    """One result leaf from several argument leaves, all maps with slots of their own."""
    return grid([parts], [part.dom[0] for part in parts], parts[0].cod)


def slots_of(parts: Sequence[Placed]) -> tuple[Tensor, ...]:
    """The spaces of all slots that some placed parts use, in order of number."""
    spaces: dict[int, Tensor] = {}
    for structure, numbers in parts:
        spaces.update(zip(numbers, structure.slots, strict=True))
    assert sorted(spaces) == list(range(len(spaces)))
    return tuple([spaces[k] for k in range(len(spaces))])


def chain(parts: Sequence[Placed]) -> Structure:
    """The product of placed parts, with nested chains flattened and identities left out."""
    flat = _flat(Chain, parts)
    if any(structure.is_zero for structure, _ in flat):
        return Zero(flat[0][0].dom, flat[-1][0].cod)
    return _composed(Chain, flat, [part for part in flat if not part[0].is_identity])


def total(parts: Sequence[Placed]) -> Structure:
    """The sum of placed parts, with nested sums flattened and zeros left out."""
    flat = _flat(Sum, parts)
    return _composed(Sum, flat, [part for part in flat if not part[0].is_zero])


def _flat(kind: type[Chain | Sum], parts: Sequence[Placed]) -> list[Placed]:
    """Placed parts, and in the place of a composite of this kind its own."""
    made = [[renumbered(inner, part[1]) for inner in part[0].parts] if isinstance(part[0], kind) else [part] for part in parts]
    return [part for group in made for part in group]


def _composed(kind: type[Chain | Sum], flat: Sequence[Placed], kept: Sequence[Placed]) -> Structure:
    """The composite of those parts that are kept, over the slots of all; the first part where none is."""
    spaces, kept = slots_of(flat), kept or flat[:1]
    if len(kept) == 1 and kept[0][1] == tuple(range(len(spaces))):
        return kept[0][0]
    return kind(tuple(kept), spaces)


def placed(combine: Callable[[Sequence[Placed]], Structure], parts: Sequence[Placed]) -> Placed:
    """A product or sum of placed parts, placed itself: its slots are those that the parts use, by their numbers."""
    found, used = local(parts)
    return combine(found), used
