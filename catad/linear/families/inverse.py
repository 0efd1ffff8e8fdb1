"""`Inverse`: the inverse of a linear map, by factors that are computed once.

    A x = b        dx = A^-1 (db - dA x)

`Factor` computes factors of a stack of matrices. They are witnesses: nobody differentiates them, and equal boxes on equal wires
are one box, so value, forward mode, reverse mode and second derivatives share them. `Solved` gives x. Its rule applies the
inverse again, so it is differentiated to any order; what dA does is the derivative of applying A by its slots, so a structured A
keeps its structure. The rule of dense matrices is in M. Giles, *Collected matrix derivative results for forward and reverse mode
algorithmic differentiation*, 2008, section 2.3.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from catad import upward
from catad.category.boxes import Primitive, box, of_fields
from catad.category.spaces import Product, Tensor, flatten
from catad.category.terms import D
from catad.linear.families.block import chain, diagonal_block, grid
from catad.linear.families.contract import contract, zeros
from catad.linear.families.delta import Delta, delta, identity, pointwise
from catad.linear.families.gather import spread_beside
from catad.linear.families.reindex import reshaped
from catad.linear.solving.factors import KINDS, work
from catad.linear.solving.solver import solver_of
from catad.linear.structure import Rule, Structure, apart, family, widest

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire, Wires


@box
class Factor(Primitive):
    """The factors of a stack of matrices (..., n, n) of a kind, whose derivatives are zero: nobody may ask for them."""

    kind: str
    arity = 1
    vectorized = True

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return KINDS[self.kind].spaces(ins[0])

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        made = KINDS[self.kind].factor(xp, arrays[0])
        return made[0] if len(made) == 1 else made

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> None:
        return None

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        return work(self.kind, ins[0])

    def carried(self, size: int) -> Factor:
        return self


def stacked(matrices: Tensor, columns: Sequence[int]) -> Delta:
    """The map X (..., n, k) to A X with A (..., n, n) in its slot; x (..., n) to A x where there are no columns."""
    n = matrices.ndim
    batch, i, j, column = tuple(range(n - 2)), n - 2, n - 1, tuple(range(n, n + len(columns)))
    sizes, dtype = (*matrices.shape, *columns), matrices.dtype
    return delta((*batch, i, *column), (*batch, j, *column), (*batch, i, j), sizes, dtype, dtype, dtype)


@of_fields
class MapApplied(D):
    """A linear map applied: slots and argument leaves to the result leaves."""

    of: Structure

    def lay_out(self, b: Builder, x: Wires) -> Any:
        leaves, n = flatten(x), len(self.of.slots)
        made = self.of.apply(b, leaves[:n], leaves[n:])
        return tuple([zeros(b, space) if y is None else y for y, space in zip(made, self.of.cod, strict=True)])


@box
class Solved(Primitive):
    """(slots, factors, b) to the x with A x = b, A being `of` with these slots.

    `kind` is that of the factors of a stack of matrices in the only slot, or "" for the solver that the structure has, which has
    no factors. `turned` where `of` is the transpose of what the factors are of.
    """

    of: Structure
    kind: str = ""
    turned: bool = False

    @property
    def _factors(self) -> int:
        return len(KINDS[self.kind].spaces(self.of.slots[0])) if self.kind else 0

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return self.of.dom

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        n = len(self.of.slots)
        slots, factors, ys = arrays[:n], arrays[n : n + self._factors], arrays[n + self._factors :]
        if self.kind:
            (b,) = ys
            vector = b.ndim < slots[0].ndim
            x = KINDS[self.kind].solve(xp, slots[0], factors, b[..., None] if vector else b, self.turned)
            return x[..., 0] if vector else x
        made = solver_of(self.of, xp, slots, None).run([y[None] for y in ys])
        return made[0][0] if len(made) == 1 else tuple([x[0] for x in made])

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule:
        floats = sum([space.is_float for space in ins])
        return self.rule_within(ins, outs, (True,) * floats, (True,) * len(outs))

    def rule_within(
        self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...], by: tuple[bool, ...], of: tuple[bool, ...]
    ) -> Rule:
        """By some slots and by b; the factors follow from the slots."""
        structure, n = self.of, len(self.of.slots)
        flags = iter(by)
        slots = [k for k, space in enumerate(ins[:n]) if space.is_float and next(flags)]
        inverse = Inverse(structure, self.kind, self.turned)
        factors = ins[n : n + self._factors]
        own = [k in slots for k, space in enumerate(ins[:n]) if space.is_float]
        used = (*own, *[False for space in factors if space.is_float], *[True] * len(structure.cod))
        if not slots:
            return Rule(inverse, lambda wires, _: wires[: len(inverse.slots)], used)
        point = Product((*structure.slots, *structure.dom))
        to_slots, moved = upward.linearised(MapApplied(structure), point, tuple(slots))
        less = [pointwise(space, space, None, -1.0) for space in structure.cod]
        changed = chain(apart(moved, _beside(less)))
        both = grid(
            [[changed, _beside([identity(space) for space in structure.cod])]],
            (*changed.dom, *structure.cod),
            structure.cod,
            ((len(slots), len(structure.cod)), (len(structure.cod),)),
        )

        def coefficients(wires: tuple[Wire, ...], results: tuple[Wire, ...]) -> list[Wire]:
            b = wires[0].builder
            _, made = b.apply(to_slots, (*wires[:n], *results))
            return [*flatten(made), *wires[: len(inverse.slots)]]

        return Rule(chain(apart(both, inverse)), coefficients, used)

    def batched(self, b: Builder, ins: tuple[Wire, ...], flags: tuple[bool, ...], size: int) -> tuple[Wire, ...]:
        if not self.kind:
            return super().batched(b, ins, flags, size)
        first, rhs = ins[0], ins[-1]
        if not any(flags[:-1]):  # one factorisation, further right-hand sides
            axes = tuple(range(1, rhs.ndim))
            beside = contract(b, [tuple(range(rhs.ndim))], [rhs], (*axes, 0), rhs.shape)
            wide = reshaped(b, beside, (*first.shape[:-1], math.prod(beside.shape[first.ndim - 1 :])))
            (x,) = b.add(_of_stack(first.space, wide.shape[-1:], self.kind, self.turned), *ins[:-1], wide)
            apart_ = reshaped(b, x, beside.shape)
            return (contract(b, [(*axes, 0)], [apart_], tuple(range(rhs.ndim)), rhs.shape),)
        full = spread_beside(b, ins, flags, size)
        columns = full[-1].shape[full[0].ndim - 1 :]
        return b.add(_of_stack(full[0].space, columns, self.kind, self.turned), *full)

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        n = self.of.rows if not self.kind else self.of.slots[0].shape[-1]
        return n * outs[0].size if self.kind else max(self.of.stored, n)


def _of_stack(matrices: Tensor, columns: Sequence[int], kind: str, turned: bool) -> Solved:
    of = stacked(matrices, columns)
    return Solved(of.T if turned else of, kind, turned)


def _beside(parts: Sequence[Structure]) -> Structure:
    return parts[0] if len(parts) == 1 else diagonal_block(parts)


@family
class Inverse(Structure):
    """The inverse of a square map: its slots, then its factors. See `Solved` for the fields."""

    of: Structure
    factored: str = ""
    turned: bool = False

    dom = property(lambda self: self.of.cod)
    cod = property(lambda self: self.of.dom)

    @cached_property
    def slots(self) -> tuple[Tensor, ...]:
        return (*self.of.slots, *(KINDS[self.factored].spaces(self.of.slots[0]) if self.factored else ()))

    @property
    def T(self) -> Inverse:
        return Inverse(self.of.T, self.factored, not self.turned)

    @property
    def kind(self) -> str:
        return f"inverse {self.of.kind}"

    @cached_property
    def nnz(self) -> int:
        if not self.factored:
            return self.rows * self.columns
        return math.prod(self.of.slots[0].shape[:-1]) * self.rows

    def apply(self, b: Builder, slots: Sequence[Wire], xs: Sequence[Wire | None]) -> list[Wire | None]:
        if all(x is None for x in xs):
            return [None] * len(self.cod)
        given = [zeros(b, space) if x is None else x for x, space in zip(xs, self.dom, strict=True)]
        return list(b.add(Solved(self.of, self.factored, self.turned), *slots, *given))


def solve(b: Builder, matrices: Wire, right: Wire, kind: str = "general") -> Wire:
    """The X with A X = B; A (..., n, n) and B (..., n, k) or (..., n) have one floating dtype and the same leading axes."""
    assert widest(matrices.space, right.space) == matrices.dtype == right.dtype
    factors = b.add(Factor(kind), matrices) if KINDS[kind].spaces(matrices.space) else ()
    return b.add(_of_stack(matrices.space, right.shape[matrices.ndim - 1 :], kind, False), matrices, *factors, right)[0]
