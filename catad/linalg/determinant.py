"""`det` and `slogdet`: from the factors of one LU factorisation.

    d log |det A| = tr(A^-1 dA)        d det A = sum of C * dA, C the cofactors, det A A^-T        (M. Giles 2008, section 2.2.4)

The cofactors of a singular matrix follow from its singular values: det(U) det(V) U diag(products of the others) V'.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from catad.category.boxes import Primitive, box
from catad.category.spaces import Tensor
from catad.linalg.matrices import of_one, swapped
from catad.linalg.pairs import Pair
from catad.linalg.solve import inverted
from catad.linear.families.block import chain, placed, total
from catad.linear.families.delta import delta
from catad.linear.families.inverse import Factor
from catad.linear.solving.factors import KINDS, pivots_of
from catad.linear.structure import Rule, Structure
from catad.values.stream_capture import check_not_captured

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire

_LU = Factor("general")


class OfFactors(Primitive):
    """What follows from matrices, their LU factors and pivots, of which only the matrices are differentiated."""

    __slots__ = ()
    arity = 3
    vectorized = True
    borrows = True
    of_matrices = True

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        return math.prod(ins[2].shape)

    def carried(self, size: int) -> Primitive:
        return self


def summed_with(a: Tensor, factor: float = 1.0) -> Structure:
    """dA (..., n, n) to the sums of its entries times those of a slot."""
    axes = tuple(range(a.ndim))
    return delta(axes[:-2], axes, axes, a.shape, a.dtype, a.dtype, a.dtype, factor)


def interchanges(xp: Any, lu: Any, pivots: Any) -> Any:
    """The signs of the interchanges of rows."""
    moved = (pivots != xp.arange(pivots.shape[-1])).sum(axis=-1) % 2
    return (1 - 2 * moved).astype(lu.dtype)


@box
class LogDet(OfFactors):
    """The signs of determinants, and the logarithms of their absolute values."""

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        out = Tensor(ins[0].shape[:-2], ins[0].dtype)
        return out, out

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        _, lu, pivots = arrays
        with np.errstate(divide="ignore"):
            logs = xp.log(xp.abs(pivots_of(xp, lu)))
        signs = xp.prod(xp.sign(pivots_of(xp, lu)), axis=-1) * interchanges(xp, lu, pivots)
        return signs, xp.sum(logs, axis=-1, dtype=lu.dtype)

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule:
        def coefficients(wires: tuple[Wire, ...], results: tuple[Wire, ...]) -> list[Wire]:
            b = wires[0].builder
            return [swapped(b, inverted(b, wires[0]))]

        return Rule(summed_with(ins[0]), coefficients, (True, False), (False, True))


@box
class Det(OfFactors):
    """Determinants."""

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return (Tensor(ins[0].shape[:-2], ins[0].dtype),)

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        _, lu, pivots = arrays
        return xp.prod(pivots_of(xp, lu), axis=-1) * interchanges(xp, lu, pivots)

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule:
        def coefficients(wires: tuple[Wire, ...], results: tuple[Wire, ...]) -> list[Wire]:
            return list(wires[0].builder.add(Cofactors(), *wires))

        return Rule(summed_with(ins[0]), coefficients, (True, False))


@box
class Cofactors(OfFactors):
    """The derivatives of determinants by the entries."""

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return (ins[0],)

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        a, lu, pivots = arrays
        check_not_captured(xp, "whether a matrix is singular")
        n = a.shape[-1]
        if not a.size:
            return a.copy()
        det = Det().evaluate(xp, a, lu, pivots).reshape(-1)
        singular = (pivots_of(xp, lu) == 0).any(axis=-1).reshape(-1)
        made = xp.empty_like(a).reshape(-1, n, n)
        stack = a.reshape(-1, n, n)
        for which, found in ((~singular, self._regular), (singular, self._singular)):
            (at,) = xp.nonzero(which)
            if len(at):
                made[at] = found(xp, stack[at], lu.reshape(-1, n, n)[at], pivots.reshape(-1, n)[at], det[at])
        return made.reshape(a.shape)

    @staticmethod
    def _regular(xp: Any, a: Any, lu: Any, pivots: Any, det: Any) -> Any:
        eye = xp.broadcast_to(xp.eye(a.shape[-1], dtype=a.dtype), a.shape)
        return det[:, None, None] * KINDS["general"].solve(xp, a, (lu, pivots), eye, True)

    @staticmethod
    def _singular(xp: Any, a: Any, lu: Any, pivots: Any, det: Any) -> Any:
        u, s, vh = xp.linalg.svd(a)
        others = xp.stack([xp.prod(xp.delete(s, k, axis=-1), axis=-1) for k in range(a.shape[-1])], axis=-1)
        signs = xp.linalg.det(u) * xp.linalg.det(vh)
        return (xp.rint(signs)[:, None, None] * xp.matmul(u * others[:, None], vh)).astype(a.dtype)

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule:
        """dC = C tr(A^-1 dA) - A^-T dA' C, where A is not singular."""
        a = ins[0]
        *axes, i, j, p = range(a.ndim + 1)
        batch, sizes, dtype = tuple(axes), (*a.shape, a.shape[-1]), a.dtype
        spread = delta((*batch, i, j), batch, (*batch, i, j), sizes, dtype, dtype, dtype)
        by = placed(chain, [(summed_with(a), (0,)), (spread, (1,))])
        first = delta((*batch, i, p), (*batch, i, j), (*batch, p, j), sizes, dtype, dtype, dtype, -1.0)  # inverse transposed
        second = delta((*batch, p, j), (*batch, i, p), (*batch, i, j), sizes, dtype, dtype, dtype)
        structure = total([by, placed(chain, [(first, (0,)), (second, (1,))])])

        def coefficients(wires: tuple[Wire, ...], results: tuple[Wire, ...]) -> list[Wire]:
            b = wires[0].builder
            return [swapped(b, inverted(b, wires[0])), results[0]]

        return Rule(structure, coefficients, (True, False))

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        return ins[0].size * ins[0].shape[-1]


def _slogdet(b: Builder, a: Any, term: Any) -> Any:
    if isinstance(a, Pair):
        from catad.linalg.complex_determinant import signs_and_logarithms  # late: it has the words of this module

        return signs_and_logarithms(b, a)
    return b.add(LogDet(), a, *b.add(_LU, a))


def _det(b: Builder, a: Any, term: Any) -> Any:
    if isinstance(a, Pair):
        from catad.linalg.complex_determinant import determinants  # late, as above

        return determinants(b, a)
    return b.add(Det(), a, *b.add(_LU, a))[0]


slogdet = of_one("slogdet", _slogdet, """\
`ct.linalg.slogdet(a)` has the signs of determinants, and the logarithms of their absolute values.

Shapes: (..., n, n) to a pair of (...); of complex matrices, pairs (re, im), the sign `det a / |det a|` is a pair. Dtype: that of
a, float64 for integers.
Derivative: `Re tr(a^-1 da)`, to any order; that of the sign is 0, of a complex one `i sign Im tr(a^-1 da)`. A singular matrix has
the sign 0 and -inf, and no derivative: `SolveError`.
Errors: `SpaceError` for matrices that are not square.

>>> import catad as ct, numpy as np
>>> ct.linalg.slogdet(np.array([[2.0, 0.0], [0.0, -0.5]]))
(np.float64(-1.0), np.float64(0.0))
""")  # fmt: skip

det = of_one("det", _det, """`ct.linalg.det(a)` has the determinants of matrices.

Shapes: (..., n, n) to (...), pairs (re, im) to pairs. Dtype: that of a, float64 for integers.
Derivative: the cofactors, which a singular matrix has, too, by its singular values. Second derivatives of a singular matrix are a
`SolveError`.
Errors: `SpaceError` for matrices that are not square.

>>> import catad as ct, numpy as np
>>> ct.linalg.det(np.array([[1.0, 2.0], [3.0, 4.0]])).round(12)
np.float64(-2.0)
>>> ct.grad(ct.linalg.det)(np.array([[1.0, 2.0], [2.0, 4.0]])).round(12)
array([[ 4., -2.],
       [-2.,  1.]])
""")  # fmt: skip
