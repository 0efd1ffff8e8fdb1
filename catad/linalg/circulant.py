"""`solve_circulant`: systems whose matrix is a circulant, by its spectrum.

    C x = b        x = irfft(rfft(b) / rfft(c))        (R. Gray, *Toeplitz and circulant matrices: a review*, 2006, chapter 3)
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
from catad.linalg.matrices import tolerance
from catad.linear.families.block import diagonal_block
from catad.linear.families.contract import contract
from catad.linear.families.delta import identity
from catad.linear.families.fourier import How, Transform
from catad.linear.structure import Rule, cast, widest
from catad.values.stream_capture import check_not_captured
from catad.vector.deferred import Shaped
from catad.vector.folds.moments import floating
from catad.vector.pointwise.arithmetic import hypot
from catad.vector.shapes.shape import broadcast_to

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire


@box
class Regular(Primitive):
    """The eigenvalues (re, im) of circulants of n rows, none of which is zero to working precision."""

    n: int
    tol: float | None = None
    arity = 2

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return ins

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        sizes = xp.hypot(*arrays)
        if not sizes.size:
            return arrays
        check_not_captured(xp, "whether a matrix is singular")
        least, most = sizes.min(axis=-1), sizes.max(axis=-1)
        bound = most * (self.n * np.finfo(sizes.dtype).eps) if self.tol is None else xp.full_like(most, self.tol)
        bad = least <= bound
        if bool(bad.any()):
            k = int(xp.argmax(bad.reshape(-1)))
            found = float(least.reshape(-1)[k]), float(bound.reshape(-1)[k])
            raise errors.SolveError(errors.singular_circulant(self.n, *found))
        return arrays

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule:
        return Rule(diagonal_block([identity(space) for space in ins]))

    def carried(self, size: int) -> Regular:
        return self


def _moved(b: Builder, x: Wire, order: tuple[int, ...]) -> Wire:
    return x if order == tuple(range(x.ndim)) else contract(b, [tuple(range(x.ndim))], [x], order, x.shape)


def _solve_circulant(b: Builder, x: Any, term: Any) -> Wire:
    c, right = in_pattern(b, x, "(c, b)", 0, term)
    dtype = widest(floating(c).space, floating(right).space)
    c, right = cast(floating(c), dtype), cast(floating(right), dtype)
    if not c.ndim or not right.ndim or c.shape[-1] != right.shape[0] or not right.shape[0]:
        raise errors.SpaceError(errors.circulant_and_right_hand_side(c.space, right.space, term))
    n, axes = c.shape[-1], tuple(range(right.ndim))
    right = _moved(b, right, (*axes[1:], 0))
    try:
        leading = np.broadcast_shapes(c.shape[:-1], right.shape[:-1])
    except ValueError:
        raise errors.SpaceError(errors.circulant_and_right_hand_side(c.space, right.space, term)) from None

    def spectrum(a: Wire) -> tuple[Wire, ...]:
        return b.add(Transform(How("r2c", (a.ndim - 1,), n=n)), a)

    def spread(a: Wire) -> Wire:
        full = (*leading, a.shape[-1])
        return a if a.shape == full else b.apply(broadcast_to(full), a)

    u, v = [spread(part) for part in b.add(Regular(n, term.parameters["tol"]), *spectrum(c))]
    re, im = [spread(part) for part in spectrum(right)]
    size: Any = b.apply(hypot, (u, v))
    u, v = u / size, v / size
    (made,) = b.add(Transform(How("c2r", (len(leading),), n=n)), (re * u + im * v) / size, (im * u - re * v) / size)
    return _moved(b, made, (len(leading), *range(len(leading))))


@constructor()
def solve_circulant(tol: float | None = None) -> D:
    """Maps `(c, b)` to the x with C x = b, where C is the circulant with the first column c, as `scipy.linalg.solve_circulant`.

    C is singular where an eigenvalue is at most `tol`, by default n times the precision times the largest one.

    Shapes: c (..., n), b (n, ...), whose other axes broadcast, to (n, ...); C[i, j] = c[(i - j) mod n]. Dtype: the common
    floating one, float64 for integers. Derivative: to any order, in O(n log n), since circulants multiply by their spectra.
    Raises `SpaceError` for shapes that do not fit and n = 0, `SolveError` (a `numpy.linalg.LinAlgError`) for a singular C,
    `ArgumentError` for a `tol` that is no number. Source: R. Gray, Toeplitz and circulant matrices: a review, 2006.

    >>> import catad as ct, numpy as np
    >>> ct.linalg.solve_circulant()(np.array([2.0, 0.0, 1.0]), np.array([4.0, 5.0, 3.0])).round(12)
    array([1., 2., 1.])
    """
    return Shaped(solve_circulant, _solve_circulant, tol=tolerance(tol, "tol", 0.0))
