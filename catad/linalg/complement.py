"""`Complement`: what completes orthonormal columns to a basis, as the full forms of SVD and QR have it.

    Q' N = 0        dN = -Q dQ' N

N is determined up to a rotation. This is the derivative of the N that turns least, right for all that does not depend on that
rotation, such as the projection N N'. (J. Townsend, *Differentiating the singular value decomposition*, 2016, has the case of Q.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from catad.category.boxes import box
from catad.category.spaces import Tensor
from catad.linalg.pairs import Array, decomposed, joined
from catad.linalg.parts import Decomposition, adjoint, by_lane, flipped, of_shape, timed, times
from catad.linear.families.block import chain
from catad.linear.structure import Rule

if TYPE_CHECKING:
    from catad.category.wiring import Builder


@box
class Complement(Decomposition):
    """(A, Q) to the other columns of U ("left"), V ("right") or Q ("qr") of A, of which Q has the first."""

    of: str
    pair: bool = False
    arity = 2
    takes = "mm"

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        rows, columns = ins[1].shape[-2:]
        return (of_shape(ins[1], rows, rows - columns),)

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        a, q = arrays
        k = q.shape[-1]
        if self.of == "qr":
            return xp.linalg.qr(a, "complete")[0][..., k:]

        def found(a: Any) -> tuple[Any]:
            u, _, vh = xp.linalg.svd(a)
            return (u[..., k:] if self.of == "left" else adjoint(xp, vh[..., k:, :]),)

        return by_lane(xp, found, a)[0]

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule:
        q, n = ins[1], outs[0]
        turned = flipped(q)
        inner = timed(n, turned.cod[0])
        structure = chain([(turned, ()), (inner, (1,)), (times(q, inner.cod[0], factor=-1.0), (0,))])
        return Rule(structure, lambda wires, results: [wires[1], results[0]], (False, True))

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        return 4 * ins[0].size * ins[1].shape[-2]


def completed(b: Builder, a: Array, q: Array, of: str) -> Array:
    """Square matrices whose first columns are given."""
    if q.shape[-1] == q.shape[-2]:
        return q
    (rest,) = decomposed(b, Complement(of), a, q)
    return joined(b, q.ndim - 1, q, rest)
