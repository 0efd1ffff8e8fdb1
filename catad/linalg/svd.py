"""`svd` and `svdvals`: A = U diag(s) V'.

    P = U' dA V    ds = diag P    F_ij = 1 / (s_j^2 - s_i^2), 0 on the diagonal
    dU = U (F * (P S + S P')) + (I - U U') dA V S^-1
    dV = V (F * (S P + P' S)) + (I - V V') dA' U S^-1

Of complex matrices, where ' is the conjugate transpose, dU has U diag(i Im P / s) as well: the phases of V stay.

Source: J. Townsend, *Differentiating the singular value decomposition*, 2016.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from catad import scalar
from catad.category.boxes import box
from catad.category.constant import const
from catad.category.constructors import constructor
from catad.category.spaces import Tensor
from catad.category.terms import D
from catad.linalg.cholesky import masked
from catad.linalg.complement import completed
from catad.linalg.divided import Divided, gaps
from catad.linalg.eigh import dropping
from catad.linalg.matrices import matrices, swapped
from catad.linalg.pairs import decomposed, decomposed_forms
from catad.linalg.parts import Decomposition, by_lane, diagonals, flipped, in_blocks, less, of_shape, scaled, timed, times
from catad.linear.families.block import assemble, chain, placed, total
from catad.linear.families.contract import repeated
from catad.linear.families.delta import identity
from catad.linear.structure import Placed, Rule
from catad.scalar import apply, param
from catad.support.help import documented
from catad.support.options import truth_value
from catad.vector.deferred import Named, Shaped
from catad.vector.folds.moments import of_wires
from catad.vector.shapes.shape import summed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from catad.category.wiring import Builder, Wire


def _sizes(a: Tensor) -> tuple[int, int, int]:
    m, n = a.shape[-2:]
    return m, n, min(m, n)


def _in_bases(a: Tensor, u: Tensor, vh: Tensor) -> list[Placed]:
    """dA to U' dA V, U in slot 0, V' in slot 1."""
    left = times(u, a, turned=True)
    return [(left, (0,)), (timed(vh, left.cod[0], turned=True), (1,))]


@box
class SvdVals(Decomposition):
    """The singular values of a stack of matrices (..., m, n)."""

    pair: bool = False
    gives = "r"

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return (of_shape(ins[0], _sizes(ins[0])[2]),)

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        return by_lane(xp, lambda a: (xp.linalg.svd(a, compute_uv=False),), arrays[0])[0]

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule:
        (a,) = ins
        u, _, vh = Svd().typed(ins)

        def coefficients(wires: tuple[Wire, ...], results: tuple[Wire, ...]) -> list[Wire]:
            made = decomposed_forms(wires[0].builder, Svd(pair=self.pair), wires[0])
            return [made[0], made[2]]

        core = of_shape(a, u.shape[-1], u.shape[-1])
        return Rule(chain([*_in_bases(a, u, vh), (diagonals(core), ())]), coefficients)

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        return 3 * ins[0].size * _sizes(ins[0])[2]


@box
class Svd(Decomposition):
    """The thin U, s and V' of a stack of matrices (..., m, n).

    With `drop`, the derivative leaves out what is divided by differences of equal singular values, or by zeros.
    """

    drop: bool = False
    pair: bool = False
    gives = "mrm"

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        m, n, k = _sizes(ins[0])
        return of_shape(ins[0], m, k), of_shape(ins[0], k), of_shape(ins[0], k, n)

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        return by_lane(xp, lambda a: tuple(xp.linalg.svd(a, full_matrices=False)), arrays[0])

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule:
        """Slots: U, V', s, the differences of squares, and s along the rows and the columns of what is divided by it."""
        (a,), (u, s, vh), (m, n, k) = ins, outs, _sizes(ins[0])
        core = of_shape(a, k, k)
        turned = flipped(core)
        by_left: Placed = placed(total, [(scaled(core, -1), (2,)), placed(chain, [(turned, ()), (scaled(core, -2), (2,))])])
        by_right = placed(total, [(scaled(core, -2), (2,)), placed(chain, [(turned, ()), (scaled(core, -1), (2,))])])
        of_left: list[Placed] = [by_left, (Divided(core), (3,)), (times(u, core), (0,))]
        of_right: list[Placed] = [by_right, (Divided(core), (3,)), (timed(vh, core, factor=-1.0), (1,))]
        bases = _in_bases(a, u, vh)
        values: list[Placed] = [*bases, (diagonals(core), ())]
        left, right, slots = [placed(chain, [*bases, *of_left])], [placed(chain, [*bases, *of_right])], [u, vh, s, core]
        if self.pair:
            skew: Placed = total([(identity(core), ()), (flipped(core, -1.0), ())]), ()
            left.append(placed(chain, [*bases, (masked(core), (4,)), skew, (Divided(core), (5,)), (times(u, core), (0,))]))
            slots += [Tensor((k, k), s.dtype), core]
        if m > k:
            inner = times(u, u, turned=True)
            beside = less(u, [(inner, (0,)), (times(u, inner.cod[0], factor=-1.0), (0,))])
            left.append(placed(chain, [(timed(vh, a, turned=True), (1,)), (Divided(u), (len(slots),)), beside]))
            slots.append(u)
        if n > k:
            inner = timed(vh, vh, turned=True)
            beside = less(vh, [(inner, (1,)), (timed(vh, inner.cod[0], factor=-1.0), (1,))])
            right.append(placed(chain, [(times(u, a, turned=True), (0,)), (Divided(vh), (len(slots),)), beside]))
            slots.append(vh)
        rows = [[placed(total, left)], [placed(chain, values)], [placed(total, right)]]

        def coefficients(wires: tuple[Wire, ...], results: tuple[Wire, ...]) -> list[Wire]:
            b, (u, s, vh) = wires[0].builder, results
            made = [u, vh, s, gaps(b, s, True, self.drop, self.pair)]
            batch, column = tuple(range(s.ndim - 1)), s.ndim - 1
            divisor = _nonzero(b, s, self.pair) if self.drop else s
            if self.pair:
                made += _phases(b, divisor, core.shape)
            if m > k:
                made.append(repeated(b, divisor, (*batch, column + 1), u.shape))
            if n > k:
                made.append(repeated(b, divisor, (*batch, column), vh.shape))
            return made

        return Rule(assemble(rows, [a], outs, slots), coefficients)

    def needs(self, read: Sequence[bool]) -> Sequence[bool] | None:
        return None if read[0] or read[2] else (True,)

    def narrowed(self, b: Builder, ins: Sequence[Wire], read: Sequence[bool]) -> Sequence[Wire | None]:
        return None, *b.add(SvdVals(), *ins), None

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        return 14 * ins[0].size * _sizes(ins[0])[2]


def _phases(b: Builder, s: Wire, shape: tuple[int, ...]) -> list[Wire]:
    """The mask of the imaginary diagonal of a real form, and what it is divided by: s, and infinity elsewhere."""
    k, rows, batch = s.shape[-1] // 2, s.ndim - 1, tuple(range(s.ndim - 1))
    mask, other = np.zeros((2 * k, 2 * k), s.dtype), np.zeros((k, k), s.dtype)
    mask[k:, :k] = np.eye(k)
    other[~np.eye(k, dtype=bool)] = np.inf
    infinite = repeated(b, b.apply(const(in_blocks(other, True)), ()), (rows, rows + 1), shape)
    return [b.apply(const(mask), ()), repeated(b, s, (*batch, rows), shape) + infinite]


def _nonzero(b: Builder, s: Wire, pair: bool) -> Wire:
    """Singular values, infinity in the place of those that are 0 but for rounding."""
    axes = tuple(range(s.ndim))
    size = repeated(b, summed(b, s, axes[-1:]), axes[:-1], s.shape)
    least = apply("mul", scalar.const((2 if pair else 4) * float(np.finfo(s.dtype).eps)), param(1))
    return of_wires(b, apply("select", apply("le", param(0), least), scalar.const(np.inf), param(0)), s, size)


def _svd(b: Builder, x: Any, term: Any) -> Any:
    a = matrices(b, x, term)
    u, s, vh = decomposed(b, Svd(term.parameters["degenerate"] == "zero"), a)
    if term.parameters["full_matrices"]:
        u = completed(b, a, u, "left")
        vh = swapped(b, completed(b, a, swapped(b, vh), "right"))
    return u, s, vh


@constructor()
def svd(full_matrices: bool = True, degenerate: str | None = None) -> D:
    """The singular value decomposition (U, s, V') of matrices, `A = U @ diag(s) @ V'`, as `numpy.linalg.svd`.

    Singular values descend. With `full_matrices`, U and V' are square, else they have k = min(m, n) columns and rows. Matrices
    with NaN or infinity have NaN as results, others of the stack nothing of it.

    Shapes: (..., m, n) to (..., m, m or k), (..., k), (..., n or k, n). Dtype: that of A, float64 for integers. Derivative: to
    any order, by Townsend's formulas. Of complex matrices, pairs (re, im), U and V' are pairs; the phases of V stay, which is
    right for what no common phase of columns of U and V changes. Where two singular values are equal, or one of a matrix that
    is not square, or is complex, is 0, that of U and V is infinite, and 0 where its numerator is 0; `degenerate="zero"` drops
    what belongs to values that differ, or are not 0, by rounding errors. Columns beyond k are determined up to a rotation; they
    get the derivative that turns them least. Raises `SpaceError` for what is no matrix, `SolveError` where LAPACK does not
    converge, `ArgumentError` for another `degenerate`. Source: J. Townsend, Differentiating the singular value decomposition,
    2016.

    >>> import catad as ct, numpy as np
    >>> U, s, Vh = ct.linalg.svd(full_matrices=False)(np.array([[0.0, 2.0], [1.0, 0.0], [0.0, 0.0]]))
    >>> U.shape, s, Vh.shape
    ((3, 2), array([2., 1.]), (2, 2))
    """
    dropping(degenerate)
    return Shaped(svd, _svd, full_matrices=truth_value(full_matrices, "full_matrices"), degenerate=degenerate)


def _svdvals(b: Builder, x: Any, term: Any) -> Any:
    return decomposed(b, SvdVals(), matrices(b, x, term))[0]


svdvals = documented(Named("linalg.svdvals", _svdvals), """`ct.linalg.svdvals(a)` has the singular values, in descending order.

Shapes: (..., m, n) to (..., min(m, n)). Dtype: that of a, float64 for integers. Matrices with NaN or infinity have NaN.
Derivative: to any order, `diag(U' da V)`; of equal ones, and of 0, it is one of several.
Errors: `SpaceError` for what is no matrix, `SolveError` where LAPACK does not converge.

>>> import catad as ct, numpy as np
>>> ct.linalg.svdvals(np.array([[0.0, 2.0], [1.0, 0.0], [0.0, 0.0]]))
array([2., 1.])
""")  # fmt: skip
