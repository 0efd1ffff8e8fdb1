"""`solve` and `inv`: linear systems by one factorisation, which derivatives of every order share.

    A x = b        dx = A^-1 (db - dA x)        (M. Giles 2008, section 2.3.1)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from catad import errors
from catad.category.boxes import Primitive, box
from catad.category.cartesian import in_pattern
from catad.category.constructors import constructor
from catad.category.spaces import Tensor
from catad.category.terms import D
from catad.linalg.matrices import identity_like, in_columns, of_one, square, swapped, triangle
from catad.linalg.pairs import Array, Pair, as_pair, columns, of_columns, real_form
from catad.linalg.parts import kind_of, timed, times
from catad.linear.families import inverse
from catad.linear.families.block import chain
from catad.linear.solving.blocked import inverses
from catad.linear.solving.complex_factors import of_complex
from catad.linear.solving.factors import KINDS, SMALL, require_pivots
from catad.linear.structure import Rule
from catad.vector.deferred import Shaped, linear
from catad.vector.folds.moments import floating

if TYPE_CHECKING:
    from catad.category.wiring import Builder

ASSUMED = {"gen": "general", "general": "general", "pos": "pos", "positive definite": "pos", "sym": "sym", "symmetric": "sym"}
ASSUMED |= {"her": "sym", "hermitian": "sym", "upper triangular": "upper", "lower triangular": "lower"}


@linear
def _solve(b: Builder, x: Any, term: Any) -> Any:
    a, right = in_pattern(b, x, "(a, b)", 2, term)
    kind, matrices = ASSUMED[term.parameters["assume_a"]], square(b, a, term)
    if kind in ("lower", "upper"):
        matrices = triangle(b, matrices, kind == "lower")
    pair = isinstance(matrices, Pair) or isinstance(right, tuple)
    if pair and kind == "sym":  # complex matrices have LU, of the matrix whose lower half is read
        matrices, kind = _mirrored(b, as_pair(b, matrices, term), term.parameters["assume_a"][:3] == "her"), "general"
    right = as_pair(b, right, term) if isinstance(right, tuple) else floating(right)
    return in_columns(b, matrices, right, term, lambda b, a, right: inverse.solve(b, a, right, kind_of(kind, pair)))


def _mirrored(b: Builder, a: Pair, hermitian: bool) -> Pair:
    """The symmetric or Hermitian matrices whose lower halves are given."""
    lower, above = triangle(b, a, True), swapped(b, triangle(b, a, True, strict=True))
    if hermitian:
        return Pair(lower.re + above.re, triangle(b, a, True, strict=True).im + above.im)
    return Pair(lower.re + above.re, lower.im - above.im)


@constructor()
def solve(assume_a: str = "gen") -> D:
    """Maps `(a, b)` to the x with a x = b, as `numpy.linalg.solve`.

    `assume_a` is SciPy's: "gen" (LU), "sym" (of symmetric matrices the lower half is read), "pos" (positive definite,
    Cholesky), "upper triangular" and "lower triangular" (what stands in the other half is not read). Complex matrices are pairs
    (re, im); with "her" the lower half of a Hermitian one is read.

    Shapes: a (..., n, n); b (n,), or (..., n, k) whose leading axes broadcast with those of a. Dtype: the common floating one,
    float64 for integers. Derivative: `a^-1 (db - da x)`, to any order by one factorisation; by a symmetric matrix it is that of
    the function of all its entries. Raises `SpaceError` for shapes that do not fit, `SolveError` (a `numpy.linalg.LinAlgError`)
    for a singular matrix, `ArgumentError` for another `assume_a`. With linear maps that have more structure, `L.solve(b)` does
    the same: see `ct.linear.inverse`.

    >>> import catad as ct, numpy as np
    >>> a = np.array([[2.0, 0.0], [1.0, 4.0]])
    >>> ct.linalg.solve()(a, np.array([2.0, 9.0])), ct.linalg.solve("lower triangular")(a, np.array([2.0, 9.0]))
    (array([1., 2.]), array([1., 2.]))
    """
    if assume_a not in ASSUMED:
        raise errors.ArgumentError(errors.no_such_kind(assume_a, sorted(ASSUMED)))
    return Shaped(solve, _solve, assume_a=assume_a)


@box
class Inverted(Primitive):
    """The inverses of matrices (..., n, n), from their LU factors and pivots."""

    arity = 3
    vectorized = True
    borrows = True
    of_matrices = True

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return ins[:1]

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        a, lu, pivots = arrays
        if xp is np and a.size:
            require_pivots(xp, lu, "general")
            return inverses(lu, pivots)
        eye = xp.broadcast_to(xp.eye(a.shape[-1], dtype=a.dtype), a.shape)
        return KINDS["general"].solve(xp, a, (lu, pivots), eye, False)

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule:
        (x,) = outs
        structure = chain([(timed(x, x), (0,)), (times(x, x, factor=-1.0), (0,))])
        return Rule(structure, lambda wires, results: list(results), (True, False))

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        return ins[0].size * ins[0].shape[-1]

    def carried(self, size: int) -> Inverted:
        return self


def inverted(b: Builder, a: Array) -> Array:
    """The inverses of a stack."""
    if isinstance(a, Pair):
        made = inverse.solve(b, real_form(b, a), columns(b, identity_like(b, a), a.ndim - 2), of_complex("general"))
        return of_columns(b, made, a.ndim - 2)
    if a.shape[-1] <= SMALL:
        return inverse.solve(b, a, identity_like(b, a))
    return b.add(Inverted(), a, *b.add(inverse.Factor("general"), a))[0]


inv = of_one("inv", lambda b, a, term: inverted(b, a), """`ct.linalg.inv(a)` has the inverses of matrices.

Shapes: (..., n, n) to (..., n, n), a pair (re, im) of complex ones. Dtype: that of a, float64 for integers.
Derivative: `-a^-1 da a^-1`, by one factorisation.
Errors: `SpaceError` for matrices that are not square, `SolveError` for a singular one.

>>> import catad as ct, numpy as np
>>> ct.linalg.inv(np.array([[2.0, 0.0], [0.0, 4.0]]))
array([[0.5 , 0.  ],
       [0.  , 0.25]])
""")  # fmt: skip
