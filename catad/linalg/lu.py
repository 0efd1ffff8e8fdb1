"""`lu`, `lu_factor` and `lu_solve`: P A = L U with row interchanges; SciPy packs U, and L below its diagonal, in one array.

    X = L^-1 P dA U^-1        d(L + U) = L tril(X, -1) + triu(X) U

Source: F. de Hoog, R. Anderssen & M. Lukas, *Differentiation of matrix functionals using triangular factorization*, 2011.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from catad.category.boxes import box
from catad.category.cartesian import in_pattern
from catad.category.constant import const
from catad.category.constructors import constructor
from catad.category.spaces import Tensor
from catad.category.terms import D
from catad.linalg.cholesky import masked
from catad.linalg.matrices import check_sides, identity_like, in_columns, matrices, of_one, spread, square, swapped, triangle
from catad.linalg.pairs import (
    Array,
    Pair,
    as_pair,
    columns,
    conjugate,
    decomposed,
    joined,
    of_columns,
    of_real_form,
    on_parts,
    real_form,
)
from catad.linalg.parts import Decomposition, halves, in_blocks, kind_of, over, timed, times
from catad.linear.families import inverse
from catad.linear.families.block import chain, placed, total
from catad.linear.families.contract import zeros
from catad.linear.families.inverse import Inverse, stacked
from catad.linear.families.reindex import reshaped
from catad.linear.solving.complex_factors import of_complex
from catad.linear.solving.factors import KINDS
from catad.linear.structure import Rule, cast, widest
from catad.support.options import truth_value
from catad.vector.deferred import Shaped
from catad.vector.folds.moments import floating
from catad.vector.shapes.split import piece

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire


@box
class LuFactor(Decomposition):
    """The packed factors and the interchanges of rows, counted from 0, of a stack of matrices (..., n, n)."""

    pair: bool = False
    gives = "mx"

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return ins[0], Tensor(ins[0].shape[:-1], np.int32)

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        packed, pivots = KINDS["general"].factor(xp, xp.swapaxes(arrays[0], -1, -2))
        return xp.swapaxes(packed, -1, -2).copy(), pivots

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule:
        """Slots: P, L, U, and the masks of the lower triangle without its diagonal, and of the upper one with it."""
        (a,) = ins
        n, pair = a.shape[-1], self.pair
        inner = [(times(a, a), (0,)), (Inverse(stacked(a, (n,)), kind_of("lower", pair)), (1,)), *over(a, a, 2, pair)]
        below = placed(chain, [*inner, (masked(a), (3,)), (times(a, a), (1,))])
        above = placed(chain, [*inner, (masked(a), (4,)), (timed(a, a), (2,))])
        lower = np.tril(np.ones((halves(n, pair),) * 2, a.dtype), -1)

        def coefficients(wires: tuple[Wire, ...], results: tuple[Wire, ...]) -> list[Wire]:
            b, (packed, pivots) = wires[0].builder, results
            (permuted,) = b.add(Permuted(a.dtype.name), pivots)
            masks = [b.apply(const(in_blocks(mask, pair)), ()) for mask in (lower, 1 - lower)]
            if pair:
                z = of_real_form(b, packed)
                both = Pair(permuted, zeros(b, permuted.space))
                return [*[real_form(b, one) for one in (both, _unit_lower(b, z), triangle(b, z, False))], *masks]
            return [permuted, _unit_lower(b, packed), triangle(b, packed, False), *masks]

        return Rule(total([below, above]), coefficients)

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        return ins[0].size * ins[0].shape[-1] // 3


@box
class Permuted(Decomposition):
    """Interchanges of rows (..., n) as matrices of zeros and ones."""

    dtype: str
    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return (Tensor((*ins[0].shape, ins[0].shape[-1]), np.dtype(self.dtype)),)

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        (pivots,) = arrays
        n = pivots.shape[-1]
        flat = pivots.reshape(math.prod(pivots.shape[:-1]), n)
        rows = xp.broadcast_to(xp.arange(n), flat.shape).copy()
        every = xp.arange(len(flat))
        for k in range(n):
            row = rows[every, flat[:, k]]
            rows[every, flat[:, k]] = rows[:, k]
            rows[:, k] = row
        return (rows[..., None] == xp.arange(n)).astype(self.dtype).reshape(*pivots.shape, n)

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> None:
        return None


def _unit_lower(b: Builder, packed: Array) -> Array:
    made = triangle(b, packed, True, strict=True)
    if isinstance(made, Pair):
        return Pair(made.re + identity_like(b, made.re), made.im)
    return made + identity_like(b, packed)


def _lu_factor(b: Builder, a: Any, term: Any) -> Any:
    return tuple(decomposed(b, LuFactor(), a))


lu_factor = of_one("lu_factor", _lu_factor, """`ct.linalg.lu_factor(a)` has (lu, piv), as `scipy.linalg.lu_factor`.

`lu` has U, and L below its diagonal, whose own diagonal is 1; row i was interchanged with row piv[i].
Shapes: (..., n, n) to (..., n, n) and (..., n). Dtypes: that of a, float64 for integers; int32.
Derivative: to any order.
Errors: `SpaceError` for matrices that are not square; the derivative of a singular matrix raises `SolveError`.
Source: F. de Hoog, R. Anderssen & M. Lukas, Differentiation of matrix functionals using triangular factorization, 2011.

>>> import catad as ct, numpy as np
>>> ct.linalg.lu_factor(np.array([[1.0, 2.0], [4.0, 4.0]]))
(array([[4.  , 4.  ],
       [0.25, 1.  ]]), array([1, 1], dtype=int32))
""")  # fmt: skip


def _lu_solve(b: Builder, x: Any, term: Any) -> Any:
    factors, right = in_pattern(b, x, "(factors, b)", 2, term)
    packed, pivots = in_pattern(b, factors, "(lu, piv)", 1, term)
    packed, trans = square(b, packed, term), term.parameters["trans"]
    if isinstance(packed, Pair) or isinstance(right, tuple):
        return _lu_solve_pairs(b, as_pair(b, packed, term), pivots, as_pair(b, right, term), term)
    right = floating(right)
    (permuted,) = b.add(Permuted(widest(packed.space, right.space).name), pivots)
    upper = triangle(b, packed, False)

    def solved(b: Builder, a: Wire, right: Wire) -> Wire:
        u, p = spread(b, cast(upper, right.dtype), a.shape[:-2]), spread(b, permuted, a.shape[:-2])
        if trans:
            inner = inverse.solve(b, swapped(b, u), right, "lower")
            found: Wire = swapped(b, p) @ inverse.solve(b, swapped(b, a), inner, "upper")
            return found
        return inverse.solve(b, u, inverse.solve(b, a, p @ right, "lower"), "upper")

    return in_columns(b, _unit_lower(b, packed), right, term, solved)


def _lu_solve_pairs(b: Builder, packed: Pair, pivots: Wire, right: Pair, term: Any) -> Any:
    """The transpose of P' L U has U' first, then L' P; it is conjugate, and so are both sides then."""
    check_sides(packed, right, term)
    if right.ndim == 1:
        wide = on_parts(lambda part: reshaped(b, part, (*part.shape, 1)), right)
        made = _lu_solve_pairs(b, packed, pivots, wide, term)
        return on_parts(lambda part: reshaped(b, part, part.shape[:-1]), made)
    (permuted,) = b.add(Permuted(widest(packed.space, right.space).name), pivots)
    low, upper = _unit_lower(b, packed), triangle(b, packed, False)

    def solved(a: Pair, x: Any, kind: str) -> Any:
        return in_columns(b, a, x, term, lambda b, a, right: inverse.solve(b, a, right, of_complex(kind)))

    def moved(x: Any, p: Wire) -> Any:
        return on_parts(lambda part: p @ part, x)

    if not term.parameters["trans"]:
        return solved(upper, solved(low, moved(right, permuted), "lower"), "upper")
    x = solved(swapped(b, low), solved(swapped(b, upper), conjugate(right), "lower"), "upper")
    return conjugate(moved(x, swapped(b, permuted)))


@constructor()
def lu_solve(trans: bool = False) -> D:
    """Maps `((lu, piv), b)` to the x with a x = b, `lu, piv` being those of `ct.linalg.lu_factor(a)`, as `scipy.linalg.lu_solve`.

    With `trans`, a.T x = b. Shapes: lu (..., n, n), piv (..., n), b (n,), or (..., n, k) whose leading axes broadcast. Dtype: the
    common floating one, float64 for integers. Derivative: to any order, by lu and b. Raises `SpaceError` for shapes that do not
    fit, `SolveError` for a singular matrix, `ArgumentError` where `trans` is no truth value.

    >>> import catad as ct, numpy as np
    >>> factors = ct.linalg.lu_factor(np.array([[1.0, 2.0], [4.0, 4.0]]))
    >>> ct.linalg.lu_solve()(factors, np.array([5.0, 12.0]))
    array([1., 2.])
    """
    return Shaped(lu_solve, _lu_solve, trans=truth_value(trans, "trans"))


def _factors(b: Builder, a: Array) -> tuple[Wire, Array, Array]:
    """P with P A = L U, L (..., m, k) and U (..., k, n)."""
    m, n = a.shape[-2:]
    last = a.ndim - 1
    whole = _cut(b, a, last, 0, m) if m < n else _completed(b, a)
    packed, pivots = decomposed(b, LuFactor(), whole)
    (permuted,) = b.add(Permuted(a.dtype.name), pivots)
    lower, upper = _unit_lower(b, packed), triangle(b, packed, False)
    if m > n:
        return permuted, _cut(b, lower, last, 0, n), _cut(b, _cut(b, upper, last, 0, n), last - 1, 0, n)
    if m < n:
        rest = on_parts(lambda part: permuted @ part, _cut(b, a, last, m, n))
        upper = joined(b, last, upper, _solved_lower(b, lower, rest))
    return permuted, lower, upper


def _cut(b: Builder, a: Array, at: int, first: int, last: int) -> Array:
    return on_parts(lambda part: piece(b, part, at, first, last), a)


def _solved_lower(b: Builder, lower: Array, right: Array) -> Array:
    if not isinstance(lower, Pair):
        return inverse.solve(b, lower, right, "lower")
    down = lower.ndim - 2
    return of_columns(b, inverse.solve(b, real_form(b, lower), columns(b, right, down), of_complex("lower")), down)


def _completed(b: Builder, a: Array) -> Array:
    """Square matrices with the pivots of A: in the further columns, those rows have a 1 that are no pivots of A."""
    m, n = a.shape[-2:]
    if m == n:
        return a
    last = a.ndim - 1
    nothing = b.apply(const(np.zeros((*a.shape[:-1], m - n), a.dtype)), ())
    _, pivots = decomposed(b, LuFactor(), joined(b, last, a, nothing))
    (permuted,) = b.add(Permuted(a.dtype.name), pivots)
    return joined(b, last, a, piece(b, swapped(b, permuted), last, n, m))


def _lu(b: Builder, x: Any, term: Any) -> Any:
    permuted, lower, upper = _factors(b, matrices(b, x, term))
    turned = swapped(b, permuted)
    if term.parameters["permute_l"]:
        return on_parts(lambda part: turned @ part, lower), upper
    return turned, lower, upper


@constructor()
def lu(permute_l: bool = False) -> D:
    """The factors (P, L, U) of matrices A = P L U, as `scipy.linalg.lu`; with `permute_l`, (P L, U).

    P interchanges rows, L has ones on its diagonal and zeros above, U zeros below its diagonal.
    Shapes: (..., m, n) to (..., m, m), (..., m, k) and (..., k, n), with k = min(m, n). Dtype: that of A, float64 for integers.
    Derivative: to any order, that of L and U by the same interchanges. Raises `SpaceError` for what is no matrix; the derivative
    raises `SolveError` where the first k columns of a matrix do not have rank k. `ArgumentError` is
    raised where `permute_l` is no truth value. Source: F. de Hoog, R. Anderssen & M. Lukas, Differentiation of matrix functionals
    using triangular factorization, 2011.

    >>> import catad as ct, numpy as np
    >>> P, L, U = ct.linalg.lu()(np.array([[1.0, 2.0], [4.0, 4.0]]))
    >>> L, U
    (array([[1.  , 0.  ],
           [0.25, 1.  ]]), array([[4., 4.],
           [0., 1.]]))
    """
    return Shaped(lu, _lu, permute_l=truth_value(permute_l, "permute_l"))
