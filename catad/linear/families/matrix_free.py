"""`MatrixFree` and `Batched`: linear maps known only by how they are applied.

`MatrixFree` is the escape hatch: two terms, one that applies the map and one that applies its transpose; both take
`(coefficients, argument)`. `Batched` is a structure mapped over a new leading axis, by batching the boxes that apply it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from catad.category.spaces import Product, Space, Tensor, flatten, rebuild
from catad.category.terms import D
from catad.linear.apply import applying
from catad.linear.batch import batch
from catad.linear.dead_results import at_places
from catad.linear.families.contract import zeros
from catad.linear.matrix.patterns import Grid, Pattern, Range, full, grid_of
from catad.linear.solving.solver import Leaves, Solver, solver_of, together
from catad.linear.structure import Structure, family

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire


@family
class MatrixFree(Structure):
    """`forward : (coefficients, x) -> y`, `backward : (coefficients, w) -> v`, both linear in the second part."""

    forward: D
    backward: D
    domain: Space
    codomain: Space
    coefficients: Space

    @property
    def dom(self) -> tuple[Tensor, ...]:
        return self.domain.leaves

    @property
    def cod(self) -> tuple[Tensor, ...]:
        return self.codomain.leaves

    @property
    def slots(self) -> tuple[Tensor, ...]:
        return self.coefficients.leaves

    @property
    def T(self) -> MatrixFree:
        return MatrixFree(self.backward, self.forward, self.codomain, self.domain, self.coefficients)

    def apply(self, b: Builder, slots: Sequence[Wire], xs: Sequence[Wire | None]) -> list[Wire | None]:
        if all(x is None for x in xs):
            return [None] * len(self.cod)
        filled = [zeros(b, space) if x is None else x for x, space in zip(xs, self.dom, strict=True)]
        argument = (rebuild(self.coefficients, list(slots)), rebuild(self.domain, filled))
        return list(flatten(b.apply(self.forward, argument)))

    kind = "matrix-free"

    @cached_property
    def nnz(self) -> int:
        """An upper bound: nothing is known of the pattern."""
        return self.rows * self.columns


@family
class Batched(Structure):
    """`part` for each index of a new leading axis of length `count`; the flagged slots have the axis too."""

    part: Structure
    flags: tuple[bool, ...]
    count: int

    @cached_property
    def dom(self) -> tuple[Tensor, ...]:
        return tuple([carried(leaf, self.count) for leaf in self.part.dom])

    @cached_property
    def cod(self) -> tuple[Tensor, ...]:
        return tuple([carried(leaf, self.count) for leaf in self.part.cod])

    @cached_property
    def slots(self) -> tuple[Tensor, ...]:
        return tuple([carried(s, self.count) if flag else s for s, flag in zip(self.part.slots, self.flags, strict=True)])

    @property
    def T(self) -> Batched:
        return Batched(self.part.T, self.flags, self.count)

    def apply(self, b: Builder, slots: Sequence[Wire], xs: Sequence[Wire | None]) -> list[Wire | None]:
        present = tuple([x is not None for x in xs])
        wiring, made = applying(self.part, present)
        flags = (*self.flags, *[True for x in xs if x is not None])
        return at_places(made, batch(b, wiring, [*slots, *[x for x in xs if x is not None]], flags, self.count))

    def patterns(self) -> Grid:
        """A block for each index of the new axis."""
        leaves = self.part.dom, self.part.cod
        if len(leaves[0]) != 1 or len(leaves[1]) != 1 or leaves[0][0].ndim != leaves[1][0].ndim:
            return super().patterns()
        (part,) = grid_of(self.part)[0]
        if not isinstance(part, Pattern):
            part = Pattern(tuple([full(n_in, n_out) for n_in, n_out in zip(*[s[0].shape for s in leaves], strict=True)]))
        return ((Pattern((Range(self.count, self.count, 0, 0), *part.axes)),),)

    @property
    def kind(self) -> str:
        return f"batched {self.part.kind}"

    @property
    def bandwidths(self) -> tuple[int, int]:
        """Blocks along the diagonal, where they are square and lie next to each other."""
        single = len(self.part.dom) == len(self.part.cod) == 1 and self.part.rows == self.part.columns
        return self.part.bandwidths if single else super().bandwidths

    def solver(self, xp: Any, slots: Sequence[Any], rtol: float | None = None) -> Solver:
        """Part by part; at once, where all parts have the same numbers."""
        if self.part.rows != self.part.columns or self.bandwidths == (0, 0):
            return super().solver(xp, slots, rtol)

        def at(i: int) -> Solver:
            own = [slot[i] if flag else slot for slot, flag in zip(slots, self.flags, strict=True)]
            return solver_of(self.part, xp, own, rtol)

        def run(ys: Leaves) -> Leaves:
            if not any(self.flags):
                k = len(ys[0])
                found = at(0).run([y.reshape((k * self.count, *y.shape[2:])) for y in ys])
                return [x.reshape((k, self.count, *x.shape[1:])) for x in found]
            parts = [at(i).run([y[:, i] for y in ys]) for i in range(self.count)]
            return [xp.stack(group, axis=1) for group in zip(*parts, strict=True)]

        return together("batch", [at(0)], run)

    @cached_property
    def nnz(self) -> int:
        return self.count * self.part.nnz


def carried(space: Tensor, count: int) -> Tensor:
    """The space with a new leading axis."""
    return Tensor((count, *space.shape), space.dtype)


def space_of_leaves(leaves: Sequence[Tensor]) -> Space:
    """The one tensor, or the flat product of several."""
    return leaves[0] if len(leaves) == 1 else Product(tuple(leaves))
