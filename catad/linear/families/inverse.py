"""`Inverse`: the inverse of a linear map, by factors that are computed once.

    A x = b        dx = A^-1 (db - dA x)

`Factor` computes factors of a stack of matrices. They are witnesses: nobody differentiates them, and equal boxes on equal wires
are one box, so value, forward mode, reverse mode and second derivatives share them. `Solved` gives x. Its rule applies the
inverse again, so it is differentiated to any order; what dA does is the derivative of applying A by its slots, so a structured A
keeps its structure. The rule of dense matrices is in M. Giles, *Collected matrix derivative results for forward and reverse mode
algorithmic differentiation*, 2008, section 2.3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, singledispatch
from typing import TYPE_CHECKING, Any

from catad import upward
from catad.category.boxes import Primitive, box
from catad.category.spaces import Product, Tensor, flatten
from catad.linear.applied import MapApplied
from catad.linear.families.block import chain, diagonal_block, grid
from catad.linear.families.contract import zeros
from catad.linear.families.delta import Delta, delta, identity, pointwise
from catad.linear.families.gather import spread_beside
from catad.linear.families.matrix_free import Batched
from catad.linear.families.patterned import Patterned, as_columns, as_lanes, patterned
from catad.linear.solving import bands  # noqa: F401  (it registers kinds of factors)
from catad.linear.solving.factors import KINDS, work
from catad.linear.solving.lenient import leniently
from catad.linear.solving.solver import solver_of
from catad.linear.structure import Rule, Structure, apart, family, widest

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire


@box
class Factor(Primitive):
    """The factors of a stack of matrices (..., n, n) of a kind, whose derivatives are zero: nobody may ask for them."""

    kind: str
    lenient: bool = False
    arity = 1
    vectorized = True
    borrows = True
    of_matrices = True

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return KINDS[self.kind].spaces(ins[0])

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        if self.lenient:
            own = self.typed((Tensor(arrays[0].shape, arrays[0].dtype),))
            return leniently(xp, lambda: replace(self, lenient=False).evaluate(xp, *arrays), own)
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


def array_of_factors(of: Structure, kind: str) -> Tensor:
    """The space of what the factors of a map are made of: its only slot, or the matrices or diagonals of a map of (..., n)."""
    if has_array(of):
        return of.slots[0]
    *leading, n = of.dom[0].shape
    if kind == "general":
        return Tensor((*leading, n, n), widest(*of.dom, *of.cod))
    lower, upper = [int(number) for number in kind.split()[1:]] or (1, 1)
    return Tensor((*leading, lower + upper + 1, n), widest(*of.dom, *of.cod))


@singledispatch
def _like(of: Structure, a: Tensor, columns: Sequence[int]) -> Structure:
    """The map for another space of a slot, and other columns, of a family whose slot has a stack of matrices."""
    raise NotImplementedError


@_like.register
def _like_stack(of: Delta, a: Tensor, columns: Sequence[int]) -> Structure:
    return stacked(a, columns)


@_like.register
def _like_pattern(of: Patterned, a: Tensor, columns: Sequence[int]) -> Structure:
    return patterned(of.pattern, a, k=columns[0])


def _columns(of: Structure) -> tuple[int, ...]:
    """The axis of the columns of a right-hand side; none of a vector, which only a stack of matrices has."""
    space = of.cod[0]
    return () if space.ndim < of.slots[0].ndim else space.shape[-1:]


def has_array(of: Structure) -> bool:
    """True of the maps of a stack of matrices, or of coefficients, in their slot."""
    return _like.dispatch(type(of)) is not _like.dispatch(object)


@box
class Solved(Primitive):
    """(slots, factors, b) to the x with A x = b, A being `of` with these slots.

    `kind` is that of the factors of a stack of matrices in the only slot, or of those of any map of arrays (..., n) of one dtype;
    or "" for the solver that the structure has, which has no factors. `turned` where `of` is the transpose of what the factors
    are of. `rtol` bounds the residual where the solver iterates. What is `lenient` gives NaN where there is no solution.
    """

    of: Structure
    kind: str = ""
    turned: bool = False
    rtol: float | None = None
    lenient: bool = False
    borrows = True
    of_matrices = True

    @property
    def _factors(self) -> int:
        return len(KINDS[self.kind].spaces(array_of_factors(self.of, self.kind))) if self.kind else 0

    @property
    def columns(self) -> tuple[int, ...]:
        """The axis of the columns of the right-hand side, where the slot has a stack of matrices; none of vectors."""
        return _columns(self.of)

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return self.of.dom

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        if self.lenient:
            return leniently(xp, lambda: replace(self, lenient=False).evaluate(xp, *arrays), self.of.dom)
        n = len(self.of.slots)
        slots, factors, ys = arrays[:n], arrays[n : n + self._factors], arrays[n + self._factors :]
        if self.kind and has_array(self.of):
            (b,) = ys
            vector = not self.columns
            x = KINDS[self.kind].solve(xp, slots[0], factors, b[..., None] if vector else b, self.turned)
            return x[..., 0] if vector else x
        made = self.solved(xp, slots, factors, [y[None] for y in ys])
        return made[0][0] if len(made) == 1 else tuple([x[0] for x in made])

    def solved(self, xp: Any, slots: Sequence[Any], factors: Sequence[Any], ys: list[Any]) -> list[Any]:
        """The solutions of several right-hand sides, which a leading axis counts, where the slots are no stack of matrices."""
        if not self.kind:
            return solver_of(self.of, xp, slots, self.rtol).run(ys)
        x = KINDS[self.kind].solve(xp, None, tuple(factors), xp.moveaxis(ys[0], 0, -1).copy(), self.turned)
        return [xp.moveaxis(x, -1, 0)]

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule:
        floats = sum([space.is_float for space in ins])
        return self.rule_within(ins, outs, (True,) * floats, (True,) * len(outs))

    def rule_within(
        self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...], by: tuple[bool, ...], of: tuple[bool, ...]
    ) -> Rule:
        return self.rule_of(ins, by, lambda part: part)

    def rule_of(
        self, ins: tuple[Tensor, ...], by: tuple[bool, ...], lanes: Callable[[Structure], Structure]
    ) -> Rule:
        """By some slots and by b; the factors follow from the slots. `lanes` is what a map is of several right-hand sides."""
        structure, n = lanes(self.of), len(self.of.slots)
        flags = iter(by)
        slots = [k for k, space in enumerate(ins[:n]) if space.is_float and next(flags)]
        inverse = lanes(Inverse(self.of, self.kind, self.turned, self.rtol))
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
        same, own = ins[: -len(self.of.cod)], ins[-len(self.of.cod) :]
        if not self.kind or not has_array(self.of):
            if any(flags[: len(same)]):
                return self._lanes(b, ins, flags, size) if self.kind else super().batched(b, ins, flags, size)
            right = spread_beside(b, own, flags[len(same) :], size)
            return b.add(SolvedForMany(self, size), *same, *right)
        first, rhs = ins[0], ins[-1]
        if not any(flags[:-1]):  # one factorisation, further right-hand sides
            wide = as_columns(b, rhs, len(self.columns))
            (x,) = b.add(self.of_space(first.space, wide.shape[-1:]), *same, wide)
            return (as_lanes(b, x, rhs.shape),)
        full = spread_beside(b, ins, flags, size)
        return b.add(self.of_space(full[0].space, self.columns), *full)

    def _lanes(self, b: Builder, ins: tuple[Wire, ...], flags: tuple[bool, ...], size: int) -> tuple[Wire, ...]:
        """A stack of factors more, where the map is not that of a stack."""
        n = len(self.of.slots)
        full = spread_beside(b, ins[n:], flags[n:], size)
        return b.add(replace(self, of=Batched(self.of, flags[:n], size)), *ins[:n], *full)

    def of_space(self, a: Tensor, columns: Sequence[int]) -> Solved:
        """The same for a slot of another space, and for other right-hand sides."""
        like = _like(self.of, a, columns)
        return Solved(like.T if self.turned else like, self.kind, self.turned, None, self.lenient)

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        if not self.kind:
            return max(self.of.stored, self.of.rows)
        return KINDS[self.kind].each(array_of_factors(self.of, self.kind)) * sum([out.size for out in outs])


@box
class SolvedForMany(Primitive):
    """`one` for several right-hand sides, which have a leading axis, at once."""

    one: Solved
    size: int
    borrows = True
    of_matrices = True

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return tuple([Tensor((self.size, *space.shape), space.dtype) for space in self.one.of.dom])

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        n, m = len(self.one.of.slots), len(self.one.of.cod)

        def run() -> Any:
            made = self.one.solved(xp, arrays[:n], arrays[n:-m], list(arrays[-m:]))
            return made[0] if len(made) == 1 else tuple(made)

        return leniently(xp, run, self.typed(())) if self.one.lenient else run()

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule | None:
        floats = sum([space.is_float for space in ins])
        return self.rule_within(ins, outs, (True,) * floats, (True,) * len(outs))

    def rule_within(
        self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...], by: tuple[bool, ...], of: tuple[bool, ...]
    ) -> Rule:
        return self.one.rule_of(ins, by, lambda part: Batched(part, (False,) * len(part.slots), self.size))

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        return self.size * self.one.cost(ins, self.one.of.dom)


def _beside(parts: Sequence[Structure]) -> Structure:
    return parts[0] if len(parts) == 1 else diagonal_block(parts)


@family
class Inverse(Structure):
    """The inverse of a square map: its slots, then its factors. See `Solved` for the fields."""

    of: Structure
    factored: str = ""
    turned: bool = False
    rtol: float | None = None

    dom = property(lambda self: self.of.cod)
    cod = property(lambda self: self.of.dom)

    @cached_property
    def slots(self) -> tuple[Tensor, ...]:
        return (*self.of.slots, *(KINDS[self.factored].spaces(array_of_factors(self.of, self.factored)) if self.factored else ()))

    @property
    def has_factors(self) -> bool:
        return bool(self.factored)

    @property
    def solved(self) -> tuple[Structure, str]:
        return self.of, self.factored

    @property
    def T(self) -> Inverse:
        return Inverse(self.of.T, self.factored, not self.turned, self.rtol)

    @property
    def kind(self) -> str:
        return f"inverse {self.of.kind}"

    @cached_property
    def nnz(self) -> int:
        return self.rows * (self.of.slots[0].shape[-1] if self.factored and has_array(self.of) else self.columns)

    def apply(self, b: Builder, slots: Sequence[Wire], xs: Sequence[Wire | None]) -> list[Wire | None]:
        if all(x is None for x in xs):
            return [None] * len(self.cod)
        given = [zeros(b, space) if x is None else x for x, space in zip(xs, self.dom, strict=True)]
        return list(b.add(Solved(self.of, self.factored, self.turned, self.rtol), *slots, *given))


def solve(b: Builder, matrices: Wire, right: Wire, kind: str = "general") -> Wire:
    """The X with A X = B; A (..., n, n) and B (..., n, k) or (..., n) have one floating dtype and the same leading axes."""
    assert widest(matrices.space, right.space) == matrices.dtype == right.dtype
    return solved(b, stacked(matrices.space, right.shape[matrices.ndim - 1 :]), matrices, right, kind)


def solved(b: Builder, of: Structure, slot: Wire, right: Wire, kind: str) -> Wire:
    """The solution with the map `of` of one slot, by the factors of its kind."""
    factors = b.add(Factor(kind), slot) if KINDS[kind].spaces(slot.space) else ()
    return b.add(Solved(of, kind), slot, *factors, right)[0]
