"""`Recurrence`: the linear map `s_i = A_i s_{i-1} + b_i` from `b` to `s`, the Jacobian of scans.

Its matrix is `(I - A S)^-1` with S the shift by one step; it is never written out. The state has d components, each an array
whose axis `axis` counts the steps and whose other axes are carried along; the links `A_i` form a d x d grid whose entries
are 0, 1 or a slot, so that structural zeros, identities and repeated entries cost nothing. Link i joins steps i - 1 and i in
both directions; backwards, `s_{i-1} = A_i s_i + b_{i-1}`. Hence the transpose has the same slots, the grid transposed and
the direction reversed.

A recurrence may have resets: one more slot of truth values tells at which steps the state does not depend on the one before, nor
backwards. There no link is multiplied at all, so that NaN and infinity stop as well, as they would not at a link of zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from catad.category.boxes import AlongAxis, box
from catad.category.spaces import Tensor
from catad.linear.families.block import assemble, chain, placed, total
from catad.linear.families.contract import zeros
from catad.linear.families.delta import diagonal, identity
from catad.linear.families.prefixes import prefixes
from catad.linear.families.previous_state import Origin, PreviousState, without_resets
from catad.linear.families.reindex import Reindex, along, axis, moved_along
from catad.linear.matrix.columns import common_dtype
from catad.linear.matrix.patterns import Grid as Patterns
from catad.linear.matrix.patterns import Pattern, Range
from catad.linear.solving.solver import Leaves, Solver
from catad.linear.structure import Placed, Rule, Structure, apart, family
from catad.support.lru import remembered

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire

ZERO, ONE = -1, -2  # entries of a grid that need no slot
Grid = tuple[tuple[int, ...], ...]


@box
class Recurred(AlongAxis):
    """The primitive that applies a `Recurrence`: (link arrays..., resets if it is reset, b components...) to the components of s.

    Work O(n d^3) and depth O(log n): see `prefixes`. Where a product of links overflows although the states do not, the states
    are right.
    """

    grid: Grid
    axis: int = 0
    reverse: bool = False
    copies: int = 1  # how many states run on the same links, one after the other among the components
    reset: bool = False

    @property
    def links(self) -> int:
        return links_of(self.grid)

    @property
    def slots(self) -> int:
        """The number of arrays before the components of b."""
        return self.links + self.reset

    @property
    def arity(self) -> int:
        return self.slots + len(self.grid) * self.copies

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        dtype = np.result_type(*[space.dtype for space in ins])
        return tuple([Tensor(space.shape, dtype) for space in ins[self.slots :]])

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        moved = [xp.moveaxis(a, self.axis, 0) for a in arrays]
        if self.reverse:
            moved = [xp.flip(a, 0) for a in moved]
        slots, b = moved[: self.slots], moved[self.slots :]
        dtype = np.result_type(*[a.dtype for a in arrays])
        b = [a.astype(dtype, copy=False) for a in b]
        if self.reverse:  # link i stands at step i, seen from behind at the step before
            slots = [xp.concatenate([a[:1], a[:-1]]) for a in slots]
        if self.copies > 1:  # links are composed once for all copies, which lie along an axis after that of the steps
            d = len(self.grid)
            slots = [a[:, None] for a in slots]
            b = [xp.stack([b[k * d + r] for k in range(self.copies)], axis=1) for r in range(d)]
        grid = [[slots[e] if e >= 0 else int(e == ONE) for e in row] for row in self.grid]
        s = solve(xp, grid, slots[-1] if self.reset else None, b)
        if self.copies > 1:
            s = [a[:, k] for k in range(self.copies) for a in s]
        if self.reverse:
            s = [xp.flip(a, 0) for a in s]
        out = tuple([xp.moveaxis(a, 0, self.axis) for a in s])
        return out[0] if len(out) == 1 else out

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule | None:
        """`ds = A S ds + dA (S s) + db`: the same recurrence, after a block of diagonals of the shifted states.

        Resets are in both: where there is one, neither dA nor s is read.
        """
        after = self._repeated(ins, outs)
        d, n = len(after.grid), outs[0].shape[self.axis]
        used = [c for c in range(d) if any(row[c] >= 0 for row in after.grid)]
        into = (*ins[: self.links], *ins[self.slots :])  # resets have no tangents
        rows: list[list[Placed | None]] = [[None] * len(into) for _ in range(d)]
        for r in range(d):
            for k in range(self.links):
                at = [used.index(c) for c in range(d) if after.grid[r][c] == k]
                if at:
                    rows[r][k] = placed(total, [self._through(ins[k], outs[r], outs[used[c]], c, len(used)) for c in at])
            rows[r][self.links + r] = (identity(outs[r]), ())
        positions = [Tensor(outs[0].shape, np.int64)] if self.reset and used else []
        before = assemble(rows, into, outs, (*[outs[c] for c in used], *positions))
        product = chain(apart(before, after))

        def coefficients(wires: tuple[Wire, ...], results: tuple[Wire, ...]) -> list[Wire]:
            b = wires[0].builder
            back = 0 if self.reverse else 1
            own: list[Wire] = []
            if positions:
                resets = wires[self.links]
                states = [b.add(PreviousState(self.axis, back), resets, results[c])[0] for c in used]
                own = [b.add(Origin(self.axis, 0), resets)[0]]
            else:
                later = axis(n, n, 0, 1, 1, 1, n - 1)
                states = [moved_along(b, results[c], self.axis, later) if back else results[c] for c in used]
            return [*states, *own, *wires[: self.slots]]

        return Rule(product, coefficients)

    def _through(self, link: Tensor, out: Tensor, state: Tensor, slot: int, positions: int) -> Placed:
        """The action of a link on a component, through the component of the neighbouring step that stands in a slot."""
        n = out.shape[self.axis]
        parts: list[Placed] = [(diagonal(link, state.dtype, out), (slot,))]
        if self.reset:
            parts.append((without_resets(out, self.axis), (positions,)))
        if self.reverse:
            parts.append((Reindex(along(out.shape, self.axis, axis(n, n, 1, 1, 0, 1, n - 1)), out.dtype), ()))
        return placed(chain, parts)

    def _repeated(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Recurrence:
        """The map that this applies, one for each copy."""
        reset = ins[self.links] if self.reset else None
        return Recurrence(repeated(self.grid, self.copies), self.axis, self.reverse, outs, tuple(ins[: self.links]), reset)

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        return outs[0].size * self.copies * sum(entry != ZERO for row in self.grid for entry in row)


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


@remembered
def independent(grid: Grid) -> tuple[tuple[Grid, tuple[int, ...], tuple[tuple[int, ...], ...]], ...]:
    """The independent blocks of a grid: each with its own grid, its slots, and the components of its copies.

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
    """The number of slots that the entries of a grid use."""
    return 1 + max((entry for row in grid for entry in row if entry >= 0), default=-1)


def solve(xp: Any, grid: Any, resets: Any, b: list[Any]) -> list[Any]:
    """All states, axis 0 counting the steps; entries of the grid are 0, 1 or arrays, `resets` an array or None."""
    d = len(b)
    if d == 1 and resets is None and _is(grid[0][0], 1):
        return [xp.cumsum(b[0], axis=0, dtype=b[0].dtype)]

    def links(x: list[Any]) -> list[list[Any]]:
        return [x[r * d : (r + 1) * d] for r in range(d)]

    def step(s: list[Any], x: list[Any]) -> list[Any]:
        made = [_plus(_dot(row, s), own) for row, own in zip(links(x), x[-d:], strict=True)]
        return made if resets is None else [xp.where(x[d * d], own, y) for own, y in zip(x[-d:], made, strict=True)]

    def join(first: list[Any], second: list[Any]) -> list[Any]:
        columns = list(zip(*links(first), strict=True))
        made = [0 if (entry := _dot(row, column)) is None else entry for row in links(second) for column in columns]
        return [*made, *([] if resets is None else [first[d * d] | second[d * d]]), *step(first[-d:], second)]

    x = [*[entry for row in grid for entry in row], *([] if resets is None else [resets]), *b]
    return prefixes(xp, x, d, step, join, stepping_pays(*_work(grid), b[0].size // max(len(b[0]), 1)))


def stepping_pays(joining: int, stepping: int, calls: int, carried: int) -> bool:
    """True where steps one after the other cost less than joining neighbours, which takes fewer but larger array operations.

    Joining does `joining` scalar operations for each step and carried number, composing links included (d^3 of them where
    nothing is zero); stepping does `stepping`, but also `calls` array operations for each step. The constants are nanoseconds,
    measured with NumPy on a 2-core x86-64 machine; only their ratio matters.
    """
    return 3.0 * joining * carried > 1.5 * stepping * carried + 1300.0 * calls


def _work(grid: Any) -> tuple[int, int, int]:
    """Work for `stepping_pays`: composing two links and applying them twice, applying once, and the array operations of that."""
    d = len(grid)
    there = [[not _is(e, 0) for e in row] for row in grid]
    entries = sum(map(sum, there))
    composing = sum(there[r][k] and there[k][c] for r in range(d) for k in range(d) for c in range(d))
    return composing + 2 * entries, entries, entries + d


def _is(entry: Any, number: int) -> bool:
    return type(entry) is int and entry == number


def _dot(row: Any, column: Any) -> Any:
    """The sum of products, exact about the integers 0 and 1; None for zero."""
    total: Any = None
    for a, x in zip(row, column, strict=True):
        if not _is(a, 0) and not _is(x, 0):
            total = _plus(total, x if _is(a, 1) else a if _is(x, 1) else a * x)
    return total


def _plus(x: Any, y: Any) -> Any:
    if x is None:
        return y
    return float(x) + float(y) if type(x) in (int, float) and type(y) in (int, float) else x + y


@family
class Recurrence(Structure):
    """See the module. `links` and `reset` are the spaces of the slots, `states` those of the components."""

    grid: Grid
    axis: int
    reverse: bool
    states: tuple[Tensor, ...]
    links: tuple[Tensor, ...]
    reset: Tensor | None = None

    @property
    def dom(self) -> tuple[Tensor, ...]:
        return self.states

    @property
    def cod(self) -> tuple[Tensor, ...]:
        return self.states

    @property
    def slots(self) -> tuple[Tensor, ...]:
        return self.links if self.reset is None else (*self.links, self.reset)

    @property
    def T(self) -> Recurrence:
        grid = tuple(zip(*self.grid, strict=True))
        return Recurrence(grid, self.axis, not self.reverse, self.states, self.links, self.reset)

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
            recur = Recurred(grid, self.axis, self.reverse, len(live), self.reset is not None)
            made = b.add(recur, *[slots[k] for k in numbers], *slots[len(self.links) :], *states)
            for k, wire in zip(order, made, strict=True):
                out[k] = wire
        return out

    def patterns(self) -> Patterns:
        """All earlier steps (all later ones, backwards), of the components that are coupled; carried axes are not mixed."""
        axes = [Range(n, n, 0, 0) for n in self.states[0].shape]
        n = axes[self.axis].n_in
        axes[self.axis] = Range(n, n, 1 - n, 0) if self.reverse else Range(n, n, 0, n - 1)
        reached = Pattern(tuple(axes))
        group: dict[int, int] = {}
        for number, (_, _, copies) in enumerate(independent(self.grid)):
            for k, own in enumerate(copies):
                group.update(dict.fromkeys(own, number * len(self.states) + k))
        d = range(len(self.states))
        return tuple([tuple([reached if group[row] == group[c] else None for c in d]) for row in d])

    kind = "recurrence"

    @property
    def bandwidths(self) -> tuple[int, int]:
        """A state depends on earlier ones only, or on later ones."""
        full = super().bandwidths[0]
        if len(self.states) != 1 or any(size != 1 for size in self.states[0].shape[: self.axis]):
            return full, full
        return (0, full) if self.reverse else (full, 0)

    def diagonal(self, xp: Any, slots: Sequence[Any], k: int = 0) -> Any:
        """`s_i` has `b_i` as it is."""
        if k == 0:
            return xp.ones(self.rows, dtype=common_dtype(self.states))
        return super().diagonal(xp, slots, k)

    def solver(self, xp: Any, slots: Sequence[Any], rtol: float | None = None) -> Solver:
        """`b_i = s_i - A_i s_{i-1}`, at a reset `b_i = s_i`: no step waits for another."""
        here, there = (slice(None, -1), slice(1, None)) if self.reverse else (slice(1, None), slice(None, -1))
        links = [xp.moveaxis(xp.asarray(a), self.axis, 0)[1:, None] for a in slots]

        def inputs(states: Leaves, row: tuple[int, ...], own: Any) -> Any:
            made = own[here]
            for entry, state in zip(row, states, strict=True):
                if entry != ZERO:
                    made = made - (state[there] if entry == ONE else links[entry] * state[there])
            made = made if self.reset is None else xp.where(links[-1], own[here], made)
            return xp.concatenate([made, own[-1:]] if self.reverse else [own[:1], made])

        def run(ys: Leaves) -> Leaves:
            states = [xp.moveaxis(y, self.axis + 1, 0) for y in ys]  # axis 0 counts the steps, axis 1 the right-hand sides
            made = [inputs(states, row, own) for row, own in zip(self.grid, states, strict=True)]
            return [xp.moveaxis(x, 0, self.axis + 1) for x in made]

        return Solver("recurrence", "O(n)" if len(self.grid) == 1 else f"O(n d), d = {len(self.grid)}", run)

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
