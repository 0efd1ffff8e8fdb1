"""`expm`: the exponentials of matrices, by Pade approximants and squaring.

    L(A, E) = d expm(A) E is a block of an exponential:  expm [[A, E], [0, A]] = [[expm A, L(A, E)], [0, expm A]]

The transpose of L(A, .) is L(A', .). So the derivative is as exact as the value, for any norm, and is differentiated like it.
Sources: A. Al-Mohy & N. Higham, *A new scaling and squaring algorithm for the matrix exponential*, 2009; R. Mathias, *A chain
rule for matrix functions and applications*, 1996.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from catad.category.boxes import box
from catad.category.spaces import Tensor
from catad.linalg.matrices import of_one, swapped
from catad.linalg.pairs import Pair, of_real_form, real_form
from catad.linalg.parts import Decomposition, by_lane
from catad.linear.structure import Rule, Structure, family
from catad.vector.shapes.shape import concatenate, pad
from catad.vector.shapes.split import piece

if TYPE_CHECKING:
    from collections.abc import Sequence

    from catad.category.wiring import Builder, Wire


_PADE = [math.factorial(26 - k) * math.comb(13, k) // math.factorial(13) for k in range(14)]
_REACH = {4: 3.9, 8: 5.37}  # the norm up to which the approximant is exact, by the size of a number


def _exponentials(xp: Any, a: Any) -> Any:
    """The exponentials of a stack, of which each matrix has its own number of squarings."""
    if xp is np:
        from scipy.linalg import expm

        return expm(a).astype(a.dtype, copy=False)
    a, shape = a.reshape(-1, *a.shape[-2:]), a.shape
    norms = xp.abs(a).sum(axis=-2).max(axis=-1)
    halvings = xp.maximum(xp.ceil(xp.log2(xp.maximum(norms, 1e-30) / _REACH[a.dtype.itemsize])), 0)
    x = a * xp.exp2(-halvings)[..., None, None]
    square, power = xp.matmul(x, x), xp.broadcast_to(xp.eye(a.shape[-1], dtype=a.dtype), a.shape)
    even, odd = 0, 0
    for k in range(7):
        even, odd = even + power * (_PADE[2 * k] / _PADE[0]), odd + power * (_PADE[2 * k + 1] / _PADE[0])
        power = xp.matmul(power, square)
    odd = xp.matmul(x, odd)
    made = xp.linalg.solve(even - odd, even + odd)
    for k in range(int(halvings.max())):
        made = xp.where((halvings > k)[..., None, None], xp.matmul(made, made), made)
    return made.astype(a.dtype).reshape(shape)


@box
class Expm(Decomposition):
    """The exponentials of a stack of matrices (..., n, n)."""

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return ins

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        (a,) = arrays
        if not a.size:
            return a.copy()
        return by_lane(xp, lambda a: (_exponentials(xp, a),), a)[0]

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule:
        return Rule(Frechet(ins[0]), lambda wires, results: [wires[0]])

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        return 15 * ins[0].size * ins[0].shape[-1]


@family
class Frechet(Structure):
    """E to L(A, E), A in the slot; of the transposes of A where `turned`."""

    space: Tensor
    turned: bool = False

    dom = cod = slots = property(lambda self: (self.space,))
    T = property(lambda self: Frechet(self.space, not self.turned))
    kind = "derivative of expm"
    nnz = property(lambda self: self.space.size * self.space.shape[-1] ** 2)

    def apply(self, b: Builder, slots: Sequence[Wire], xs: Sequence[Wire | None]) -> list[Wire | None]:
        (e,) = xs
        if e is None:
            return [None]
        a = swapped(b, slots[0]) if self.turned else slots[0]
        n, down, along = a.shape[-1], a.ndim - 2, a.ndim - 1
        rows = (b.apply(concatenate(along), (a, e)), b.apply(pad(n, 0, axis=along), a))
        (made,) = b.add(Expm(), b.apply(concatenate(down), rows))
        return [piece(b, piece(b, made, down, 0, n), along, n, 2 * n)]


def _expm(b: Builder, a: Any, term: Any) -> Any:
    """Of complex matrices the real form has that of the exponential."""
    return of_real_form(b, b.add(Expm(), real_form(b, a))[0]) if isinstance(a, Pair) else b.add(Expm(), a)[0]


expm = of_one("expm", _expm, """`ct.linalg.expm(a)` has the exponentials of matrices.

Shapes: (..., n, n) to (..., n, n). Dtype: that of a, float64 for integers. Matrices with NaN or infinity have NaN.
Derivative: Frechet's, a block of the exponential of a matrix of twice the size, to any order and for any norm.
Errors: `SpaceError` for matrices that are not square.
Sources: SciPy's `expm`: A. Al-Mohy & N. Higham, A new scaling and squaring algorithm for the matrix exponential, 2009;
R. Mathias, A chain rule for matrix functions and applications, 1996.

>>> import catad as ct, numpy as np
>>> ct.linalg.expm(np.array([[0.0, 1.0], [0.0, 0.0]]))
array([[1., 1.],
       [0., 1.]])
""")  # fmt: skip
