"""`Recurrence`: the linear map `s_i = A_i s_{i-1} + b_i` from `b` to `s`, the Jacobian of scans.

As a matrix it is `(I - A S)^-1` with S the shift by one step; it is never written out. The state has d components, each an
array whose axis `axis` counts the steps and whose other axes are carried along; the links `A_i` form a d x d grid whose
entries are 0, 1 or a slot, so that structural zeros, identities and repeated entries cost nothing. Link i joins steps i - 1
and i in both directions; backwards, `s_{i-1} = A_i s_i + b_{i-1}`. Hence the transpose has the same slots, the grid transposed
and the direction reversed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from catad.linear.contract import contract
from catad.linear.structure import Placed, Rule, Structure, family
from catad.primitive import Primitive, box
from catad.spaces import Tensor
from catad.terms import D

if TYPE_CHECKING:
    from catad.wiring import Builder, Wire

ZERO, ONE = -1, -2  # entries of a grid that need no slot
Grid = tuple[tuple[int, ...], ...]
SEQUENTIAL = 16  # below this many steps one after the other beats pairing


@box
class Recur(Primitive):
    """The primitive that applies a `Recurrence`: (link arrays..., b components...) to the components of s.

    Work O(n d^3) and depth O(log n): links are composed in pairs (R. Blelloch, Prefix sums and their applications, 1990).
    Where a product of links overflows although the states do not, the steps are redone one after the other.
    """

    grid: Grid
    axis: int = 0
    reverse: bool = False
    copies: int = 1  # how many states run on the same links, one after the other among the components

    @property
    def links(self) -> int:
        return links_of(self.grid)

    @property
    def arity(self) -> int:
        return self.links + len(self.grid) * self.copies

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        dtype = np.result_type(*[space.dtype for space in ins])
        return tuple([Tensor(space.shape, dtype) for space in ins[self.links :]])

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        moved = [xp.moveaxis(a, self.axis, 0) for a in arrays]
        if self.reverse:
            moved = [xp.flip(a, 0) for a in moved]
        links, b = moved[: self.links], moved[self.links :]
        dtype = np.result_type(*[a.dtype for a in arrays])
        b = [a.astype(dtype, copy=False) for a in b]
        if self.reverse:  # link i stands at step i, seen from behind at the step before
            links = [xp.concatenate([a[:1], a[:-1]]) for a in links]
        if self.copies > 1:  # links are composed once for all copies, which lie along an axis after that of the steps
            d = len(self.grid)
            links = [a[:, None] for a in links]
            b = [xp.stack([b[k * d + r] for k in range(self.copies)], axis=1) for r in range(d)]
        grid: Any = [[e if e < 0 else links[e] for e in row] for row in self.grid]
        s = solve(xp, grid, b)
        if self.copies > 1:
            s = [a[:, k] for k in range(self.copies) for a in s]
        if self.reverse:
            s = [xp.flip(a, 0) for a in s]
        out = tuple([xp.moveaxis(a, 0, self.axis) for a in s])
        return out[0] if len(out) == 1 else out

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule | None:
        """`ds = A S ds + dA (S s) + db`: the same recurrence, after a block of diagonals of the shifted states."""
        from catad.linear.block import assemble, chain, total
        from catad.linear.delta import diagonal, identity
        from catad.linear.reindex import Move, axis, moved_rows, whole

        whole_grid = repeated(self.grid, self.copies)
        d, n = len(whole_grid), outs[0].shape[self.axis]
        used = [c for c in range(d) if any(row[c] >= 0 for row in whole_grid)]
        back, forth = axis(n, n, 1, 1, 0, 1, n - 1), axis(n, n, 0, 1, 1, 1, n - 1)

        def through(k: int, r: int, c: int) -> Placed:
            """How link slot k changes component r, through state component c of the neighbouring step."""
            times = (diagonal(ins[k], outs[c].dtype, outs[r]), (0,))
            if self.reverse:
                return chain([times, (moved_rows(outs[r], self.axis, back), ())]), (used.index(c),)
            return times[0], (used.index(c),)

        rows: list[list[Placed | None]] = [[None] * len(ins) for _ in range(d)]
        for r in range(d):
            for k in range(self.links):
                parts = [through(k, r, c) for c in range(d) if whole_grid[r][c] == k]
                if parts:
                    local = {number: at for at, number in enumerate(dict.fromkeys(p[1][0] for p in parts))}
                    rows[r][k] = (total([(p, (local[own[0]],)) for p, own in parts]), tuple(local))
            rows[r][self.links + r] = (identity(outs[r]), ())
        before = assemble(rows, ins, outs, tuple([outs[c] for c in used]))
        m = len(used)
        after = Recurrence(whole_grid, self.axis, self.reverse, outs, tuple(ins[: self.links]))
        product = chain([(before, tuple(range(m))), (after, tuple(range(m, m + self.links)))])

        def coefficients(wires: tuple[Wire, ...], results: tuple[Wire, ...]) -> list[Wire]:
            if self.reverse:
                states = [results[c] for c in used]
            else:
                axes = [whole(size) for size in outs[0].shape]
                axes[self.axis] = forth
                b = wires[0].builder
                states = [b.add(Move(tuple(axes)), results[c])[0] for c in used]
            return [*states, *wires[: self.links]]

        return Rule(product, coefficients)

    def structure(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Recurrence:
        return Recurrence(self.grid, self.axis, self.reverse, outs, tuple(ins[: self.links]))

    def batched(self, b: Builder, ins: tuple[Wire, ...], flags: tuple[bool, ...], size: int) -> tuple[Wire, ...]:
        from catad.linear.gather import spread_over

        carried = [wire if flag else spread_over(b, wire, size) for wire, flag in zip(ins, flags, strict=True)]
        return b.add(Recur(self.grid, self.axis + 1, self.reverse, self.copies), *carried)

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        return outs[0].size * self.copies * sum(entry != ZERO for row in self.grid for entry in row)

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        return f"ct.linear.Recur({self.grid!r}, {self.axis!r}, {self.reverse!r}, {self.copies!r})"


def repeated(grid: Grid, copies: int) -> Grid:
    """The grid of several states that run on the same links: I⊗A."""
    d = len(grid)
    return tuple(
        [
            tuple([grid[r][c % d] if c // d == k else ZERO for c in range(d * copies)])
            for k in range(copies)
            for r in range(d)
        ]
    )


@lru_cache(maxsize=4096)
def independent(grid: Grid) -> tuple[tuple[Grid, tuple[int, ...], tuple[tuple[int, ...], ...]], ...]:
    """The blocks that a grid falls apart into: each with its own grid, its slots, and the components of its copies.

    Blocks of any sizes and in any order of the components are found; equal ones, on the same slots, are copies of one, also
    where their components stand in other orders
    (the patterns ZeroQuad and MatrixMul of Bruun and Larsen 2022, section 7.4, and mixtures of the two).
    """
    d = len(grid)
    group = list(range(d))
    for r in range(d):
        for c in range(d):
            if grid[r][c] != ZERO and group[r] != group[c]:
                old, new = group[c], group[r]
                group = [new if g == old else g for g in group]
    found: dict[Grid, list[tuple[int, ...]]] = {}
    for g in dict.fromkeys(group):
        own = tuple([k for k in range(d) if group[k] == g])
        known = ((block, order) for block in found if (order := _ordered_as(block, grid, own)) is not None)
        block, order = next(known, (tuple([tuple([grid[r][c] for c in own]) for r in own]), own))
        found.setdefault(block, []).append(order)
    blocks = []
    for block, copies in found.items():
        slots = tuple(sorted({entry for row in block for entry in row if entry >= 0}))
        local = {slot: k for k, slot in enumerate(slots)}
        small = tuple([tuple([local.get(entry, entry) for entry in row]) for row in block])
        blocks.append((small, slots, tuple(copies)))
    return tuple(blocks)


def _ordered_as(block: Grid, grid: Grid, own: tuple[int, ...]) -> tuple[int, ...] | None:
    """Some components of a grid in an order in which their part of it is a given block; None where there is no such order."""
    if len(own) != len(block):
        return None
    tried: list[tuple[int, ...]] = [()]
    while tried:
        order = tried.pop()
        m = len(order)
        if m == len(own):
            return order
        for k in reversed(own):
            longer = (*order, k)
            if k not in order and all(
                grid[k][longer[c]] == block[m][c] and grid[longer[c]][k] == block[c][m] for c in range(m + 1)
            ):
                tried.append(longer)
    return None


def links_of(grid: Grid) -> int:
    """How many slots the entries of a grid use."""
    return 1 + max((entry for row in grid for entry in row if entry >= 0), default=-1)


def solve(xp: Any, grid: Any, b: list[Any]) -> list[Any]:
    """All states, axis 0 counting the steps; entries of the grid are ZERO, ONE or arrays."""
    if len(b) == 1 and _entry(grid[0][0]) == ONE:
        return [xp.cumsum(b[0], axis=0, dtype=b[0].dtype)]
    if len(b[0]) <= SEQUENTIAL or stepping_pays(*_work(grid), b[0].size // len(b[0])):
        return _one_by_one(xp, grid, b)
    s = _in_pairs(xp, grid, b)
    finite = all(bool(xp.isfinite(xp.sum(a)).all()) for a in s)
    return s if finite else _one_by_one(xp, grid, b)


def stepping_pays(joining: int, stepping: int, calls: int, carried: int) -> bool:
    """Whether steps one after the other cost less than joining neighbours, which takes fewer but larger array operations.

    Joining does `joining` scalar operations for each step and carried number, composing links included (d^3 of them where
    nothing is zero); stepping does `stepping`, but also `calls` array operations for each step. The constants are nanoseconds,
    measured with NumPy on a 2-core x86-64 machine; only their ratio matters.
    """
    return 3.0 * joining * carried > 1.5 * stepping * carried + 1300.0 * calls


def _work(grid: Any) -> tuple[int, int, int]:
    """For `stepping_pays`: composing two links and applying them twice, applying once, and the array operations of that."""
    d = len(grid)
    there = [[_entry(e) != ZERO for e in row] for row in grid]
    entries = sum(map(sum, there))
    composing = sum(there[r][k] and there[k][c] for r in range(d) for k in range(d) for c in range(d))
    return composing + 2 * entries, entries, entries + d


def _entry(entry: Any) -> int:
    return entry if isinstance(entry, int) else 0


def _each(entry: Any, at: slice | int) -> Any:
    return entry if isinstance(entry, int) else entry[at]


def _times(a: Any, x: Any) -> Any:
    """The product of an entry with a number array; None for zero."""
    if isinstance(a, int):
        return x if a == ONE else None
    return a * x


def _plus(x: Any, y: Any) -> Any:
    return y if x is None else (x if y is None else x + y)


def _apply(row: Any, s: list[Any], b: Any) -> Any:
    out = None
    for entry, x in zip(row, s, strict=True):
        out = _plus(out, _times(entry, x))
    return _plus(out, b)


def _one_by_one(xp: Any, grid: Any, b: list[Any]) -> list[Any]:
    out = [xp.empty_like(a) for a in b]
    n = len(b[0])
    for i in range(n):
        row = [a[i] for a in b]
        if i:
            before = [a[i - 1] for a in out]
            row = [_apply([_each(e, i) for e in grid[r]], before, row[r]) for r in range(len(b))]
        for a, value in zip(out, row, strict=True):
            a[i] = value
    return out


def _in_pairs(xp: Any, grid: Any, b: list[Any]) -> list[Any]:
    """Recursive doubling with O(n) work: join neighbours, solve for every other state, fill in the rest."""
    n = len(b[0])
    if n <= SEQUENTIAL:
        return _one_by_one(xp, grid, b)
    d, m = len(b), n // 2
    even, odd = slice(0, 2 * m, 2), slice(1, 2 * m, 2)
    first = [[_each(e, even) for e in row] for row in grid]
    second = [[_each(e, odd) for e in row] for row in grid]
    pair = [[_joined(second[r], [first[k][c] for k in range(d)]) for c in range(d)] for r in range(d)]
    pair_b = [_apply(second[r], [a[even] for a in b], b[r][odd]) for r in range(d)]
    half = _in_pairs(xp, pair, pair_b)
    out = [xp.empty_like(a) for a in b]
    rest = slice(2, None, 2)
    for r in range(d):
        out[r][odd] = half[r]
        out[r][:1] = b[r][:1]
        before = [a[: len(b[0][rest])] for a in half]
        out[r][rest] = _apply([_each(e, rest) for e in grid[r]], before, b[r][rest])
    return out


def _number(entry: Any) -> Any:
    return 1.0 if isinstance(entry, int) else entry


def _joined(row: Any, column: Any) -> Any:
    """One entry of a product of two links, exact about zeros and ones."""
    total: Any = None
    for a, c in zip(row, column, strict=True):
        if (isinstance(a, int) and a == ZERO) or (isinstance(c, int) and c == ZERO):
            continue
        term = c if isinstance(a, int) else (a if isinstance(c, int) else a * c)
        total = term if total is None else _number(total) + _number(term)
    return ZERO if total is None else total


@family
class Recurrence(Structure):
    """See the module. `links` are the spaces of the slots, `states` those of the components."""

    grid: Grid
    axis: int
    reverse: bool
    states: tuple[Tensor, ...]
    links: tuple[Tensor, ...]

    @property
    def dom(self) -> tuple[Tensor, ...]:
        return self.states

    @property
    def cod(self) -> tuple[Tensor, ...]:
        return self.states

    @property
    def slots(self) -> tuple[Tensor, ...]:
        return self.links

    @property
    def T(self) -> Recurrence:
        grid = tuple(zip(*self.grid, strict=True))
        return Recurrence(grid, self.axis, not self.reverse, self.states, self.links)

    def apply(self, b: Builder, slots: Sequence[Wire], xs: Sequence[Wire | None]) -> list[Wire | None]:
        if all(x is None for x in xs):
            return list(xs)
        out: list[Wire | None] = [None] * len(xs)
        for grid, numbers, copies in independent(self.grid):
            live = [own for own in copies if any(xs[k] is not None for k in own)]
            if not live:
                continue
            order = [k for own in live for k in own]
            states = [zeros(b, self.states[k]) if (x := xs[k]) is None else x for k in order]
            recur = Recur(grid, self.axis, self.reverse, len(live))
            made = b.add(recur, *[slots[k] for k in numbers], *states)
            for k, wire in zip(order, made, strict=True):
                out[k] = wire
        return out

    @property
    def kind(self) -> str:
        return "recurrence"

    @cached_property
    def nnz(self) -> int:
        """All entries that the links can reach: pairs of steps (i >= j) for each reachable pair of components."""
        d, n = len(self.grid), self.states[0].shape[self.axis]
        reach = [[r == c for c in range(d)] for r in range(d)]
        once = [[entry != ZERO for entry in row] for row in self.grid]
        total, level = 0, reach
        carried = self.states[0].size // n if n else 0
        for step in range(n):
            total += (n - step) * sum(map(sum, level))
            following = [[any(once[r][k] and level[k][c] for k in range(d)) for c in range(d)] for r in range(d)]
            if following == level:
                remaining = n - step - 1
                total += remaining * (remaining + 1) // 2 * sum(map(sum, level))
                break
            level = following
        return total * carried


def zeros(b: Builder, space: Tensor) -> Wire:
    """A wire of zeros."""
    from catad.terms import above

    zero = b.apply(above().const(np.zeros((), space.dtype)), ())
    return contract(b, [()], [zero], tuple(range(space.ndim)), space.shape)
