"""`Divided`: division by the entries of a slot, in which 0 / 0 is 0.

    y = x / d        dy = dx / d - x / d^2 dd, both 0 where x = d = 0

Derivatives of eigenvectors divide by differences of eigenvalues. What is 0 there does not become NaN where two of them are
equal; what is not 0 becomes infinite, as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from catad import scalar
from catad.category.constant import const
from catad.category.spaces import Tensor
from catad.linalg.parts import halves, in_blocks
from catad.linear.families.contract import repeated
from catad.linear.structure import Structure, family
from catad.scalar import apply, param
from catad.vector.folds.moments import of_wires
from catad.vector.shapes.shape import summed

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire

_ZERO = scalar.const(0.0)
_NOTHING = apply("and", apply("eq", param(0), _ZERO), apply("eq", param(1), _ZERO))
_QUOTIENT = apply("select", _NOTHING, _ZERO, apply("div", param(0), param(1)))


@family
class Divided(Structure):
    """Each entry divided by that of the slot; 0 / 0 is 0."""

    space: Tensor

    dom = cod = slots = property(lambda self: (self.space,))
    T = property(lambda self: self)
    kind, is_diagonal, is_monomial = "quotient", True, True
    nnz = property(lambda self: self.space.size)
    bandwidths = (0, 0)

    def apply(self, b: Builder, slots: Sequence[Wire], xs: Sequence[Wire | None]) -> list[Wire | None]:
        return [None if xs[0] is None else of_wires(b, _QUOTIENT, xs[0], slots[0])]


def gaps(b: Builder, w: Wire, squares: bool, drop: bool, pair: bool = False) -> Wire:
    """The differences w_j - w_i of numbers (..., n), or of their squares, as (..., i, j); the diagonal is infinite.

    With `drop`, so are differences of the size of rounding errors: what is divided by them is dropped. With `pair`, the numbers
    are those of real forms, which have each twice.
    """
    *axes, n = w.shape
    batch, shape = tuple(range(len(axes))), (*axes, n, n)
    i, j = (repeated(b, w, (*batch, len(axes) + k), shape) for k in range(2))
    difference = apply("sub", param(1), param(0))
    given, node = [i, j], difference
    if squares:
        node = apply("mul", difference, apply("add", param(0), param(1)))
    if drop:
        size = summed(b, of_wires(b, apply("abs", param(0)), w), (len(axes),))
        given.append(repeated(b, size, batch, shape))
        within = apply("mul", scalar.const((2 if pair else 4) * float(np.finfo(w.dtype).eps)), param(2))
        node = apply("select", apply("le", apply("abs", difference), within), scalar.const(np.inf), node)
    diagonal = np.zeros((halves(n, pair),) * 2, w.dtype)
    np.fill_diagonal(diagonal, np.inf)
    infinite = b.apply(const(in_blocks(diagonal, pair)), ())
    return of_wires(b, node, *given) + repeated(b, infinite, (len(axes), len(axes) + 1), shape)
