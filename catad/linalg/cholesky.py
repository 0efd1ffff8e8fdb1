"""`cholesky`: A = L L'.

    dL = L Phi(L^-1 dA L^-T), Phi: the lower triangle with half the diagonal        (M. Giles 2008, section 3; S. Smith 1995)

Only one half of A is read. The derivative is that by symmetric matrices: dA counts as (dA + dA') / 2. Its transpose is a box of
its own, since it takes a third of the operations that the products of this formula take: `linear/solving/blocked.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from catad import upward
from catad.category.boxes import box
from catad.category.constant import const
from catad.category.constructors import constructor
from catad.category.spaces import Product, Tensor, flatten
from catad.category.terms import D
from catad.linalg.matrices import square, swapped
from catad.linalg.pairs import decomposed, decomposed_forms, nearest_real_form
from catad.linalg.parts import Decomposition, adjoint, flipped, halves, in_blocks, kind_of
from catad.linear.applied import MapApplied
from catad.linear.families.block import chain, total
from catad.linear.families.delta import delta
from catad.linear.families.inverse import Inverse, stacked
from catad.linear.solving.blocked import pulled_back
from catad.linear.solving.factors import KINDS, SMALL, conjugate, work
from catad.linear.structure import Placed, Rule, Structure, family
from catad.support.options import truth_value
from catad.vector.deferred import Shaped

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire


def masked(a: Tensor) -> Structure:
    """Multiplication of each of a stack by one matrix, entry by entry."""
    axes = tuple(range(a.ndim))
    return delta(axes, axes, axes[-2:], a.shape, a.dtype, a.dtype, a.dtype)


def symmetrised(a: Tensor) -> Placed:
    """dA to (dA + dA') / 2."""
    axes = tuple(range(a.ndim))
    same = delta(axes, axes, None, a.shape, a.dtype, a.dtype, None, 0.5)
    return total([(same, ()), (flipped(a, 0.5), ())]), ()


@box
class Cholesky(Decomposition):
    """The lower factors of a stack of matrices (..., n, n), of which the lower halves are read."""

    pair: bool = False
    of_matrices = True

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return ins

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        return KINDS["pos"].factor(xp, arrays[0])[0]

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule:
        return Rule(CholeskyMoved(outs[0], pair=self.pair), lambda wires, results: list(results))

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        return work("pos", ins[0])


def _moved(a: Tensor, pair: bool = False) -> Structure:
    """dA to dL as products, with L and `_phi` in the slots."""
    n = a.shape[-1]
    left = Inverse(stacked(a, (n,)), kind_of("lower", pair))
    on_both_sides: list[Placed] = [(left, (0,)), (flipped(a), ()), (left, (0,)), (flipped(a), ())]
    return chain([symmetrised(a), *on_both_sides, (masked(a), (1,)), (stacked(a, (n,)), (0,))])


def _phi(b: Builder, a: Tensor, pair: bool = False) -> Wire:
    n = halves(a.shape[-1], pair)
    half = in_blocks(np.tril(np.ones((n, n)), -1) + 0.5 * np.eye(n), pair)
    phi: Wire = b.apply(const(half.astype(a.dtype)), ())
    return phi


@family
class CholeskyMoved(Structure):
    """dA to dL, or back if `turned`, of a stack of matrices; its slot has the factors L.

    With `pair` of the part of dA that is a real form, in both directions.
    """

    a: Tensor
    turned: bool = False
    pair: bool = False

    dom = cod = slots = property(lambda self: (self.a,))
    kind = "cholesky"
    T = property(lambda self: CholeskyMoved(self.a, not self.turned, self.pair))
    nnz = property(lambda self: self.a.size * self.a.shape[-1] * (self.a.shape[-2] + 1) // 2)

    def apply(self, b: Builder, slots: Sequence[Wire], xs: Sequence[Wire | None]) -> list[Wire | None]:
        (x,) = xs
        if x is None:
            return [None]
        x = nearest_real_form(b, x) if self.pair else x
        if self.turned:
            return [*decomposed_forms(b, CholeskyPulled(self.pair), slots[0], x)]
        return _moved(self.a, self.pair).apply(b, (slots[0], _phi(b, self.a, self.pair)), (x,))


@box
class CholeskyPulled(Decomposition):
    """(L, dL) to dA: what `cholesky` pulls back. What stands above the diagonal of dL is not read."""

    pair: bool = False
    arity = 2
    takes = "mm"
    of_matrices = True

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return ins[:1]

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        low, g = arrays
        if xp is np and low.shape[-1] > SMALL and low.dtype.kind == "f":
            return pulled_back(low, g)
        made = xp.tril(xp.matmul(adjoint(xp, low), xp.tril(g)))
        made -= 0.5 * xp.eye(low.shape[-1], dtype=low.dtype) * made
        for _ in range(2):  # L^H x = b is L' conj(x) = conj(b)
            made = xp.swapaxes(KINDS["lower"].solve(xp, low, (), conjugate(xp, made), True), -1, -2)
        return 0.5 * (made + adjoint(xp, made))

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule:
        return self.rule_within(ins, outs, (True, True), (True,))

    def rule_within(
        self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...], by: tuple[bool, ...], of: tuple[bool, ...]
    ) -> Rule:
        """By dL the same map again; by L what the products of the formula have as derivatives."""
        (a,) = outs
        if not by[0]:
            return Rule(CholeskyMoved(a, True, self.pair), lambda wires, _: [wires[0]], by)
        structure, places = _moved(a, self.pair).T, tuple([k for k, flag in zip((0, 2), by, strict=True) if flag])
        to_slots, moved = upward.linearised(MapApplied(structure), Product((*structure.slots, a)), places)

        def coefficients(wires: tuple[Wire, ...], results: tuple[Wire, ...]) -> list[Wire]:
            b = wires[0].builder
            _, made = b.apply(to_slots, (wires[0], _phi(b, a, self.pair), wires[1]))
            return [*flatten(made)]

        return Rule(moved, coefficients, by)

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        return 2 * work("pos", ins[0])


def _cholesky(b: Builder, x: Any, term: Any) -> Any:
    a = square(b, x, term)
    if term.parameters["upper"]:
        return swapped(b, decomposed(b, Cholesky(), swapped(b, a))[0])
    return decomposed(b, Cholesky(), a)[0]


@constructor()
def cholesky(upper: bool = False) -> D:
    """The Cholesky factors of positive definite matrices, as `numpy.linalg.cholesky`: L with L L' = A, or U with U' U = A.

    The lower half of A is read, the upper one if `upper` is true. Matrices with NaN have NaN as factors, others of the stack
    nothing of it.

    Shapes: (..., n, n) to (..., n, n), zeros in the other half. Dtype: that of A, float64 for integers. Derivative: to any
    order; it is that by symmetric matrices, dA counting as (dA + dA') / 2. Hermitian matrices are pairs (re, im). Raises
    `SpaceError` for matrices that are not square, `SolveError` (a `numpy.linalg.LinAlgError`) for one that is not positive
    definite, `ArgumentError` where `upper` is no truth value. Source: M. Giles, Collected matrix derivative results for forward
    and reverse mode algorithmic differentiation, 2008, section 3.

    >>> import catad as ct, numpy as np
    >>> ct.linalg.cholesky()(np.array([[4.0, 0.0], [2.0, 10.0]]))
    array([[2., 0.],
           [1., 3.]])
    """
    return Shaped(cholesky, _cholesky, upper=truth_value(upper, "upper"))


