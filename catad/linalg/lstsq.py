"""`pinv` and `lstsq`: the pseudo-inverse P, and the x of least norm among those that minimise |A x - b|.

    dP = -P dA P + P P' dA' (I - A P) + (I - P A) dA' P' P                            at constant rank
    dx = P (db - dA x) + P P' dA' (b - A x) + (I - P A) dA' P' x                      at full rank

Source: G. Golub & V. Pereyra, *The differentiation of pseudo-inverses and nonlinear least squares problems whose variables
separate*, 1973.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from catad import errors
from catad.category.boxes import box
from catad.category.cartesian import in_pattern
from catad.category.constant import const
from catad.category.constructors import constructor
from catad.category.spaces import Tensor
from catad.category.terms import D
from catad.linalg.eigh import Symmetric
from catad.linalg.matrices import matrices, product, square, tolerance
from catad.linalg.pairs import Pair, as_pair, decomposed, decomposed_forms, on_parts
from catad.linalg.parts import Decomposition, adjoint, by_lane, flipped, less, nan_of, of_shape, timed, times
from catad.linalg.svd import svdvals
from catad.linear.families.block import assemble, chain, placed, total
from catad.linear.families.contract import contract
from catad.linear.families.delta import identity
from catad.linear.families.reindex import reshaped
from catad.linear.structure import Placed, Rule, cast, widest
from catad.support.options import truth_value
from catad.vector.deferred import Shaped
from catad.vector.folds.moments import floating, square_sum
from catad.vector.shapes.shape import broadcast_to

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire


def _singular(xp: Any, a: Any, rtol: Any) -> tuple[Any, Any, Any, Any]:
    """A thin decomposition, and which singular values are more than rtol times the greatest."""
    u, s, vh = xp.linalg.svd(a, full_matrices=False)
    return u, s, vh, s > rtol[..., None] * s[..., :1]


@box
class Pinv(Decomposition):
    """(A, rtol) to the pseudo-inverses of A (..., m, n), without singular values of at most rtol times the greatest.

    With `full`, all others must be there: else it raises a `SolveError`.
    """

    full: bool = False
    pair: bool = False
    arity = 2
    takes = "mx"

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return (of_shape(ins[0], *ins[0].shape[:-3:-1]),)

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        a, rtol = arrays
        if not a.size:
            return xp.zeros((*a.shape[:-2], a.shape[-1], a.shape[-2]), dtype=a.dtype)
        strange = ~xp.isfinite(a).all(axis=(-2, -1))

        def found(a: Any) -> tuple[Any]:
            u, s, vh, large = _singular(xp, a, rtol)
            if self.full:
                _require_full(xp, s, large, strange)
            inverse = xp.where(large, 1 / xp.where(large, s, 1), 0)
            return (xp.matmul(adjoint(xp, vh), inverse[..., None] * adjoint(xp, u)).astype(a.dtype),)

        return by_lane(xp, found, a)[0]

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule:
        """Slots: P, A."""
        a, (p,) = ins[0], outs
        inner = times(p, a)
        both: Placed = placed(chain, [(inner, (0,)), (timed(p, inner.cod[0], factor=-1.0), (0,))])
        structure = total([both, _by_rows(a, p), _by_columns(a, p)])
        return Rule(structure, lambda wires, results: [results[0], wires[0]], (True, False))

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        return 15 * ins[0].size * min(ins[0].shape[-2:])


def _require_full(xp: Any, s: Any, large: Any, strange: Any) -> None:
    lost = ~large.all(axis=-1) & ~strange
    if bool(lost.any()):
        k = int(xp.argmax(lost.reshape(-1)))
        values, place = s.reshape(-1, s.shape[-1])[k], errors.in_stack(k, lost.shape)
        raise errors.SolveError(errors.rank_lost([float(x) for x in values], place))


def _by_rows(a: Tensor, p: Tensor) -> Placed:
    """dA to P P' dA' (I - A P), P in slot 0, A in slot 1."""
    turned = flipped(a)
    inner = times(p, turned.cod[0], turned=True)
    product = timed(a, p)
    rest = less(p, [(product, (1,)), (timed(p, product.cod[0], factor=-1.0), (0,))])
    return placed(chain, [(turned, ()), (inner, (0,)), (times(p, inner.cod[0]), (0,)), rest])


def _by_columns(a: Tensor, p: Tensor) -> Placed:
    """dA to (I - P A) dA' P' P, P in slot 0, A in slot 1."""
    turned = flipped(a)
    inner = timed(p, turned.cod[0], turned=True)
    return placed(chain, [(turned, ()), (inner, (0,)), (timed(p, inner.cod[0]), (0,)), _beside(a, p, 1)])


def _beside(a: Tensor, x: Tensor, slot: int) -> Placed:
    """X to (I - P A) X, P in slot 0, A in another."""
    product = times(a, x)
    p = flipped(a).cod[0]
    return less(x, [(product, (slot,)), (times(p, product.cod[0], factor=-1.0), (0,))])


@box
class Lstsq(Decomposition):
    """(A, B, rtol) to the solutions X (..., n, k) of A (..., m, n) and B (..., m, k), and the ranks of A."""

    pair: bool = False
    arity = 3
    takes, gives = "mmx", "mx"

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        a, b = ins[:2]
        return of_shape(a, a.shape[-1], b.shape[-1]), Tensor(a.shape[:-2], np.int32)

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        a, b, rtol = arrays
        if xp is not np:
            return xp.matmul(Pinv().evaluate(xp, a, rtol), b), _singular(xp, a, rtol)[3].sum(axis=-1).astype(np.int32)
        good = np.isfinite(a).all((-2, -1))
        x = np.full((*a.shape[:-2], a.shape[-1], b.shape[-1]), nan_of(a.dtype), a.dtype)
        ranks = np.zeros(a.shape[:-2], np.int32)
        for k in np.ndindex(a.shape[:-2]):
            if good[k]:
                fine = np.isfinite(b[k]).all(axis=0)
                x[k][:, fine], _, ranks[k], _ = np.linalg.lstsq(a[k], b[k][:, fine], float(rtol[k]))
        return x, ranks

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule:
        """Slots: P, X, and where they are needed B - A X, or P' X and A."""
        a, right, x = *ins[:2], outs[0]
        m, n = a.shape[-2:]
        p = flipped(a).cod[0]
        moved = timed(x, a)
        by_a: list[Placed] = [placed(chain, [(moved, (1,)), (times(p, moved.cod[0], factor=-1.0), (0,))])]
        slots, turned = [p, x], (flipped(a), ())
        if m > n:  # P A = I
            inner = timed(right, p)
            weighed = times(p, inner.cod[0], turned=True)
            by_a.append(placed(chain, [turned, (inner, (2,)), (weighed, (0,)), (times(p, weighed.cod[0]), (0,))]))
            slots = [p, x, right]
        if m < n:  # A X = B
            by_a.append(placed(chain, [turned, (timed(right, p), (2,)), _beside(a, x, 3)]))
            slots = [p, x, right, a]
        structure = assemble([[placed(total, by_a), (times(p, right), (0,))]], [a, right], [x], slots)

        def coefficients(wires: tuple[Wire, ...], results: tuple[Wire, ...]) -> list[Wire]:
            b, (a, right, rtol), x = wires[0].builder, wires, results[0]
            (p,) = decomposed_forms(b, Pinv(full=True, pair=self.pair), a, rtol)
            if m > n:
                return [p, x, right - _times(b, a, x)]
            return [p, x] if m == n else [p, x, _times(b, p, x, True), a]

        return Rule(structure, coefficients, (True, True, False))

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        return 15 * ins[0].size * min(ins[0].shape[-2:])


def _times(b: Builder, a: Wire, x: Wire, turned: bool = False) -> Wire:
    """A X, or A' X."""
    *axes, i, j, k = range(x.ndim + 1)
    first = (*axes, j, i) if turned else (*axes, i, j)
    sizes = (*x.shape[:-2], a.shape[-1 if turned else -2], x.shape[-2], x.shape[-1])
    return contract(b, [first, (*axes, j, k)], [a, x], (*axes, i, k), sizes)


@box
class OfFullRank(Decomposition):
    """(x, ranks) to x, of matrices of a rank; raises `SolveError` where one has another."""

    expected: int
    arity = 2

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return (ins[0],)

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        x, ranks = arrays
        if bool((ranks != self.expected).any()):
            raise errors.SolveError(errors.no_residuals(self.expected, int(ranks.min())))
        return x

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule:
        return Rule(identity(ins[0]), by=(True,))


def tolerances(b: Builder, a: Wire | Pair, rtol: Any) -> Wire:
    """A tolerance, a number or a wire that broadcasts with the leading axes, for each of a stack."""
    made = b.apply(const(np.asarray(rtol, np.float64)), ()) if not hasattr(rtol, "builder") else cast(rtol, np.dtype(np.float64))
    leading = a.shape[:-2]
    return made if made.shape == leading else b.apply(broadcast_to(leading), made)


def pseudo_inverse(b: Builder, a: Any, rtol: Any) -> Any:
    """The pseudo-inverses of a stack."""
    return decomposed(b, Pinv(), a, tolerances(b, a, rtol))[0]


def _pinv(b: Builder, x: Any, term: Any) -> Any:
    hermitian, rtol = term.parameters["hermitian"], term.parameters["rtol"]
    a = decomposed(b, Symmetric(), square(b, x, term))[0] if hermitian else matrices(b, x, term)
    return pseudo_inverse(b, a, default_rtol(a.space) if rtol is None else rtol)


def default_rtol(a: Tensor, dtype: Any = None) -> float:
    """Rounding errors of singular values, over the greatest one."""
    return max(a.shape[-2:]) * float(np.finfo(dtype or a.dtype).eps)


@constructor()
def pinv(rtol: float | None = None, hermitian: bool = False) -> D:
    """The pseudo-inverses of matrices by Moore and Penrose, as `numpy.linalg.pinv`.

    Singular values of at most `rtol` times the greatest count as 0; None is max(m, n) times the dtype's eps. With `hermitian`,
    the lower half of symmetric matrices is read.

    Shapes: (..., m, n) to (..., n, m). Dtype: that of A, float64 for integers. Derivative: to any order, that of matrices that
    keep their rank, since the pseudo-inverse jumps where the rank changes. Complex matrices are pairs (re, im). Matrices with
    NaN or infinity have NaN. Raises `SpaceError` for what is no matrix, `SolveError` where LAPACK does not converge,
    `ArgumentError` for an `rtol` that is no number. Source: G. Golub & V. Pereyra, The differentiation of pseudo-inverses and
    nonlinear least squares problems whose variables separate, 1973.

    >>> import catad as ct, numpy as np
    >>> ct.linalg.pinv()(np.array([[2.0, 0.0], [0.0, 4.0], [0.0, 0.0]]))
    array([[0.5 , 0.  , 0.  ],
           [0.  , 0.25, 0.  ]])
    """
    return Shaped(pinv, _pinv, rtol=tolerance(rtol, "rtol"), hermitian=truth_value(hermitian, "hermitian"))


def least_squares(b: Builder, a: Any, right: Any, rtol: Any, term: D) -> tuple[Any, Any, Any, Any]:
    """Solutions, sums of squared residuals, ranks and singular values, in the shapes of NumPy, of A (m, n)."""
    dtype = widest(a.space, right.space)
    if isinstance(a, Pair) or isinstance(right, Pair):
        a, right = as_pair(b, a, term), as_pair(b, right, term)
    a, right = (on_parts(lambda part: cast(part, dtype), x) for x in (a, right))
    wide = on_parts(lambda part: reshaped(b, part, (*part.shape, 1)), right) if right.ndim == 1 else right
    if a.ndim != 2 or wide.ndim != 2 or wide.shape[0] != a.shape[0]:
        raise errors.SpaceError(errors.least_squares_sides(a.space, right.space, term))
    m, n = a.shape
    x, rank = decomposed(b, Lstsq(), a, wide, tolerances(b, a, default_rtol(a.space, np.float64) if rtol is None else rtol))
    if m > n:
        checked = on_parts(lambda part: b.add(OfFullRank(n), part, rank)[0], x)
        if isinstance(a, Pair):
            done = product(b, a, checked)
            residuals = square_sum(b, wide.re - done.re, (0,)) + square_sum(b, wide.im - done.im, (0,))
        else:
            residuals = square_sum(b, wide - _times(b, a, checked), (0,))
    else:
        residuals = b.apply(const(np.zeros(0, dtype)), ())
    solution = on_parts(lambda part: reshaped(b, part, part.shape[:1]), x) if right.ndim == 1 else x
    return solution, residuals, rank, b.apply(svdvals, a)


def _lstsq(b: Builder, x: Any, term: Any) -> Any:
    a, right = in_pattern(b, x, "(a, b)", 2, term)
    right = as_pair(b, right, term) if isinstance(right, tuple) else floating(right)
    return least_squares(b, matrices(b, a, term), right, term.parameters["rcond"], term)


@constructor()
def lstsq(rcond: float | None = None) -> D:
    """Maps `(a, b)` to (x, residuals, rank, s) with the x of least norm that minimises |a x - b|, as `numpy.linalg.lstsq`.

    Singular values of at most `rcond` times the greatest count as 0; None is max(m, n) times float64's eps. The residuals are the
    sums of squares of each column of `a x - b`, of shape (0,) if m <= n. Where a of more rows has not rank n, NumPy returns such
    an empty array, which no program can whose shapes are known before the numbers: reading the residuals is a `SolveError` then.

    Complex arrays, a or b, are pairs (re, im); x is a pair then.

    Shapes: a (m, n), b (m,) or (m, k); x (n,) or (n, k), residuals (1,) or (k,), rank (), s (min(m, n),). Dtype: the common
    floating one, float64 for integers, int32 for the rank. Derivative: to any order at full rank; it raises `SolveError` with the
    singular values where the rank is lower. Raises `SpaceError` for shapes that do not fit, `ArgumentError` for an `rcond` that
    is no number. Source: G. Golub & V. Pereyra 1973.

    >>> import catad as ct, numpy as np
    >>> x, residuals, rank, s = ct.linalg.lstsq()(np.ones((4, 1)), np.array([1.0, 2.0, 3.0, 6.0]))
    >>> x.round(12), residuals.round(12), rank, s
    (array([3.]), array([14.]), np.int32(1), array([2.]))
    """
    return Shaped(lstsq, _lstsq, rcond=tolerance(rcond, "rcond"))
