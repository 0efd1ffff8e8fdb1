"""`det` and `slogdet` of complex matrices: from the factors of one LU factorisation.

    t = tr(A^-1 dA)    d log |det A| = Re t    d sign = i sign Im t    d det A = sum of C * dA, C = det A A^-T

The sign is det A / |det A|. The cofactors C of a singular matrix follow from its singular values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from catad import upward
from catad.category.boxes import box
from catad.category.spaces import Product, Tensor
from catad.linalg.determinant import OfFactors, interchanges, summed_with
from catad.linalg.matrices import swapped
from catad.linalg.pairs import Pair, conjugate, real_form
from catad.linalg.solve import inverted
from catad.linear.families.block import assemble, chain, placed
from catad.linear.families.contract import repeated
from catad.linear.families.delta import pointwise
from catad.linear.families.inverse import Factor
from catad.linear.solving.complex_factors import of_complex, of_stored
from catad.linear.solving.factors import KINDS, pivots_of
from catad.linear.structure import Rule
from catad.values.complex_numbers import complex_of
from catad.values.stream_capture import check_not_captured
from catad.vector.deferred import Named

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire

_LU = Factor(of_complex("general"))


class OfComplexFactors(OfFactors):
    """What follows from both parts of matrices, their LU factors and pivots, of which only the matrices are differentiated."""

    __slots__ = ()
    arity = 4

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        return 4 * ins[3].size


def _parts(z: Any) -> tuple[Any, Any]:
    return z.real.copy(), z.imag.copy()


def _transposed_inverse(b: Builder, a: Pair) -> Any:
    return conjugate(swapped(b, inverted(b, a)))


@box
class ComplexLogDet(OfComplexFactors):
    """Both parts of the signs of determinants, and the logarithms of their absolute values."""

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return (Tensor(ins[0].shape[:-2], ins[0].dtype),) * 3

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        pivots = pivots_of(xp, of_stored(xp, arrays[2]))
        sizes = xp.abs(pivots)
        with np.errstate(divide="ignore"):
            logs = xp.sum(xp.log(sizes), axis=-1, dtype=sizes.dtype)
        signs = xp.prod(pivots / xp.where(sizes == 0, sizes.dtype.type(1), sizes), axis=-1)
        return (*_parts(signs * interchanges(xp, sizes, arrays[3])), logs)

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule:
        """Slots: both parts of A^-T, and of the signs."""
        a, sign = ins[0], outs[0]
        turned = [(summed_with(a), (1,)), (summed_with(a), (0,))]  # Im t, by both parts of A
        rows = [[placed(chain, [one, (pointwise(sign, sign, sign, -1.0), (3,))]) for one in turned]]
        rows.append([placed(chain, [one, (pointwise(sign, sign, sign), (2,))]) for one in turned])
        rows.append([(summed_with(a), (0,)), (summed_with(a, -1.0), (1,))])

        def coefficients(wires: tuple[Wire, ...], results: tuple[Wire, ...]) -> list[Wire]:
            return [*_transposed_inverse(wires[0].builder, Pair(*wires[:2])), *results[:2]]

        return Rule(assemble(rows, ins[:2], outs, (a, a, sign, sign)), coefficients, (True, True, False))


@box
class ComplexDet(OfComplexFactors):
    """Both parts of determinants."""

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return (Tensor(ins[0].shape[:-2], ins[0].dtype),) * 2

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        return _parts(_det(xp, of_stored(xp, arrays[2]), arrays[3]))

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule:
        a = ins[0]
        rows = [[(summed_with(a), (0,)), (summed_with(a, -1.0), (1,))], [(summed_with(a), (1,)), (summed_with(a), (0,))]]

        def coefficients(wires: tuple[Wire, ...], results: tuple[Wire, ...]) -> list[Wire]:
            return list(wires[0].builder.add(ComplexCofactors(), *wires))

        return Rule(assemble(rows, ins[:2], outs, (a, a)), coefficients, (True, True, False))


def _det(xp: Any, lu: Any, pivots: Any) -> Any:
    return xp.prod(pivots_of(xp, lu), axis=-1) * interchanges(xp, lu.real, pivots)


@box
class ComplexCofactors(OfComplexFactors):
    """Both parts of the derivatives of determinants by the entries."""

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return ins[:2]

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        check_not_captured(xp, "whether a matrix is singular")
        re, im, stored, pivots = arrays
        n = re.shape[-1]
        if not re.size:
            return re.copy(), im.copy()
        a, lu, at = complex_of(xp, re, im).reshape(-1, n, n), of_stored(xp, stored).reshape(-1, n, n), pivots.reshape(-1, n)
        singular = (pivots_of(xp, lu) == 0).any(axis=-1)
        made = xp.empty_like(a)
        for which, found in ((~singular, _regular), (singular, _singular)):
            (some,) = xp.nonzero(which)
            if len(some):
                made[some] = found(xp, a[some], lu[some], at[some])
        return _parts(made.reshape(re.shape))

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule:
        """Those of det A A^-T, where A is not singular."""
        to_slots, structure = upward.linearised(_of_regular, Product(ins[:2]), (0, 1))

        def coefficients(wires: tuple[Wire, ...], results: tuple[Wire, ...]) -> list[Wire]:
            return list(wires[0].builder.apply(to_slots, wires[:2])[1])

        return Rule(structure, coefficients, (True, True, False))


def _regular(xp: Any, a: Any, lu: Any, pivots: Any) -> Any:
    eye = xp.broadcast_to(xp.eye(a.shape[-1], dtype=a.dtype), a.shape)
    return _det(xp, lu, pivots)[:, None, None] * KINDS["general"].solve(xp, a, (lu, pivots), eye, True)


def _singular(xp: Any, a: Any, lu: Any, pivots: Any) -> Any:
    """conj(U) diag(products of the other singular values) conj(V^H), times the determinants of U and V^H."""
    u, s, vh = xp.linalg.svd(a)
    others = xp.stack([xp.prod(xp.delete(s, k, axis=-1), axis=-1) for k in range(a.shape[-1])], axis=-1)
    phases = xp.linalg.det(u) * xp.linalg.det(vh)
    return (phases[:, None, None] * xp.matmul(xp.conjugate(u) * others[:, None], xp.conjugate(vh))).astype(a.dtype)


def _lay_regular(b: Builder, x: Any, term: Any) -> tuple[Wire, Wire]:
    a = Pair(*x)
    det, inverse = determinants(b, a), _transposed_inverse(b, a)
    re, im = (repeated(b, part, range(a.ndim - 2), a.shape) for part in det)
    return inverse.re * re - inverse.im * im, inverse.re * im + inverse.im * re


_of_regular = Named("linalg.complex_determinant._of_regular", _lay_regular)


def determinants(b: Builder, a: Pair) -> Pair:
    return Pair(*b.add(ComplexDet(), *a, *b.add(_LU, real_form(b, a))))


def signs_and_logarithms(b: Builder, a: Pair) -> tuple[Pair, Wire]:
    re, im, log = b.add(ComplexLogDet(), *a, *b.add(_LU, real_form(b, a)))
    return Pair(re, im), log
