"""`cholesky`: A = L L'.

    dL = L Phi(L^-1 dA L^-T), Phi: the lower triangle with half the diagonal        (M. Giles 2008, section 3; S. Smith 1995)

Only one half of A is read. The derivative is that by symmetric matrices: dA counts as (dA + dA') / 2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from catad.category.boxes import box
from catad.category.constant import const
from catad.category.constructors import constructor
from catad.category.spaces import Tensor
from catad.category.terms import D
from catad.linalg.matrices import square, swapped
from catad.linalg.pairs import decomposed
from catad.linalg.parts import Decomposition, flipped, halves, in_blocks, kind_of
from catad.linear.families.block import chain, total
from catad.linear.families.delta import delta
from catad.linear.families.inverse import Inverse, stacked
from catad.linear.solving.factors import KINDS, work
from catad.linear.structure import Placed, Rule, Structure
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

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return ins

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        return KINDS["pos"].factor(xp, arrays[0])[0]

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule:
        (a,) = outs
        n = halves(a.shape[-1], self.pair)
        half = in_blocks(np.tril(np.ones((n, n)), -1) + 0.5 * np.eye(n), self.pair)
        left = Inverse(stacked(a, a.shape[-1:]), kind_of("lower", self.pair))
        on_both_sides: list[Placed] = [(left, (0,)), (flipped(a), ()), (left, (0,)), (flipped(a), ())]
        structure = chain([symmetrised(a), *on_both_sides, (masked(a), (1,)), (stacked(a, a.shape[-1:]), (0,))])

        def coefficients(wires: tuple[Wire, ...], results: tuple[Wire, ...]) -> list[Wire]:
            return [results[0], wires[0].builder.apply(const(half.astype(a.dtype)), ())]

        return Rule(structure, coefficients)

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        return work("pos", ins[0])


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
    definite. Source: M. Giles, Collected matrix derivative results for forward and reverse mode algorithmic differentiation,
    2008, section 3.

    >>> import catad as ct, numpy as np
    >>> ct.linalg.cholesky()(np.array([[4.0, 0.0], [2.0, 10.0]]))
    array([[2., 0.],
           [1., 3.]])
    """
    return Shaped(cholesky, _cholesky, upper=bool(upper))


