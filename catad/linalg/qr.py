"""`qr`: A = Q R with orthonormal columns Q and an upper triangle R.

    M = Q' dA R^-1    O = tril(M, -1) - tril(M, -1)'    dQ = Q O + (I - Q Q') dA R^-1    dR = (M - O) R

Of complex matrices, where ' is the conjugate transpose, O has the imaginary diagonal of M as well: R has a real one, as LAPACK's.

Source: S. Walter & L. Lehmann, *Algorithmic differentiation of linear algebra functions*, 2010. A wide A has Q of its first
columns, and R = Q' A.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from catad import errors
from catad.category.boxes import box
from catad.category.constant import const
from catad.category.constructors import constructor
from catad.category.spaces import Tensor
from catad.category.terms import D
from catad.linalg.cholesky import masked
from catad.linalg.complement import completed
from catad.linalg.matrices import matrices, product, swapped
from catad.linalg.pairs import Pair, decomposed, joined, on_parts
from catad.linalg.parts import Decomposition, flipped, halves, in_blocks, less, of_shape, over, timed, times
from catad.linear.families.block import assemble, chain, placed, total
from catad.linear.families.contract import contract
from catad.linear.families.delta import identity
from catad.linear.solving.factors import conjugate, lapack
from catad.linear.structure import Placed, Rule
from catad.support.options import truth_value
from catad.vector.deferred import Shaped
from catad.vector.shapes.shape import concatenate, pad
from catad.vector.shapes.split import piece

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire

MODES = ("reduced", "complete", "r")


@box
class Qr(Decomposition):
    """Q (..., m, n) and R (..., n, n) of a stack of matrices (..., m, n) with m >= n."""

    pair: bool = False
    gives = "mm"

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        n = ins[0].shape[-1]
        return ins[0], of_shape(ins[0], n, n)

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        return tuple(xp.linalg.qr(arrays[0]))

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule:
        """Slots: Q, R, and the masks of the lower triangle without its diagonal, and of the upper one with it."""
        q, r = outs
        n = r.shape[-1]
        turned = times(q, q, turned=True)
        m: list[Placed] = [(turned, (0,)), *over(r, r, 1, self.pair)]
        skew: Placed = total([(identity(r), ()), (flipped(r, -1.0), ())]), ()
        o: list[Placed] = [*m, (masked(r), (2,)), skew]
        of_q = [placed(chain, [*o, (times(q, r), (0,))])]
        if q.shape[-2] > n:
            beside = less(q, [(turned, (0,)), (times(q, r, factor=-1.0), (0,))])
            of_q.append(placed(chain, [*over(q, r, 1, self.pair), beside]))
        of_r = placed(total, [placed(chain, [(turned, (0,))]), placed(chain, [*o, (timed(r, r, factor=-1.0), (1,))])])
        rows = [[placed(total, of_q)], [placed(chain, [of_r, (masked(r), (3,))])]]
        lower = np.tril(np.ones((halves(n, self.pair),) * 2, r.dtype), -1)
        below, upper = in_blocks(lower, self.pair), in_blocks(1 - lower, self.pair)
        if self.pair:  # R has a real diagonal, so O has the imaginary one of M
            below[n // 2 :, : n // 2] += np.eye(n // 2, dtype=r.dtype)

        def coefficients(wires: tuple[Wire, ...], results: tuple[Wire, ...]) -> list[Wire]:
            b = wires[0].builder
            return [*results, b.apply(const(below), ()), b.apply(const(upper), ())]

        return Rule(assemble(rows, ins, outs, (q, r, *[Tensor((n, n), r.dtype)] * 2)), coefficients)

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        return 2 * ins[0].size * ins[0].shape[-1]


def _order_columns(xp: Any, rest: Any, order: Any) -> None:
    """Interchange columns so that each is the longest of what is left beside those before it."""
    every, n = xp.arange(len(rest)), rest.shape[-1]
    for k in range(min(rest.shape[-2:])):
        squares = (rest * conjugate(xp, rest)).real.sum(axis=-2)
        at = k + xp.argmax(squares[:, k:], axis=-1)
        columns = xp.broadcast_to(xp.arange(n), order.shape).copy()
        columns[every, at] = k
        columns[:, k] = at
        rest, order[...] = xp.take_along_axis(rest, columns[:, None, :], -1), xp.take_along_axis(order, columns, -1)
        length = xp.sqrt(squares[every, at])[:, None, None]
        unit = rest[:, :, k : k + 1] / xp.where(length == 0, 1, length)
        rest = rest - unit * (conjugate(xp, unit) * rest).sum(axis=-2, keepdims=True)


@box
class ColumnPivots(Decomposition):
    """Orders of columns in which the diagonal of R descends, and matrices C for which A C has that order."""

    pair: bool = False
    gives = "xm"

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        n = ins[0].shape[-1]
        return Tensor((*ins[0].shape[:-2], n), np.dtype(np.int32)), of_shape(ins[0], n, n)

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        (a,) = arrays
        n = a.shape[-1]
        stack = a.reshape(math.prod(a.shape[:-2]), *a.shape[-2:])
        stack = xp.where(xp.isfinite(stack).all(axis=(-2, -1))[:, None, None], stack, 0)
        order = xp.broadcast_to(xp.arange(n, dtype=np.int32), (len(stack), n)).copy()
        if xp is not np:
            _order_columns(xp, stack, order)
        elif a.size:
            for k, one in enumerate(stack):
                order[k] = lapack("geqp3", a.dtype)(one)[1] - 1
        order = order.reshape(*a.shape[:-2], n)
        return order, (order[..., None, :] == xp.arange(n)[:, None]).astype(a.real.dtype)

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> None:
        return None


def reduced(b: Builder, a: Any) -> tuple[Any, Any]:
    """Q (..., m, k) and R (..., k, n)."""
    m, n = a.shape[-2:]
    if m >= n:
        q, r = decomposed(b, Qr(), a)
        return q, r
    last = a.ndim - 1
    q, r = decomposed(b, Qr(), on_parts(lambda part: piece(b, part, last, 0, m), a))
    rest = on_parts(lambda part: piece(b, part, last, m, n), a)
    if isinstance(a, Pair):
        return q, joined(b, last, r, product(b, swapped(b, q), rest))
    *axes, i, j, k = range(a.ndim + 1)
    made = contract(b, [(*axes, i, j), (*axes, i, k)], [q, rest], (*axes, j, k), (*a.shape[:-2], m, m, n - m))
    return q, b.apply(concatenate(last), (r, made))


def _qr(b: Builder, x: Any, term: Any) -> Any:
    a, mode, order = matrices(b, x, term), term.parameters["mode"], list[Any]()
    if term.parameters["pivoting"]:
        found, moving = decomposed(b, ColumnPivots(), a)
        a, order = product(b, a, moving), [found]
    q, r = reduced(b, a)
    if mode == "complete" and a.shape[-2] > a.shape[-1]:
        q = completed(b, a, q, "qr")
        r = on_parts(lambda part: b.apply(pad(0, a.shape[-2] - a.shape[-1], axis=a.ndim - 2), part), r)
    if mode == "r":
        return (r, *order) if order else r
    return q, r, *order


@constructor()
def qr(mode: str = "reduced", pivoting: bool = False) -> D:
    """The QR decomposition of matrices, as `numpy.linalg.qr`.

    `mode` is "reduced" for Q (..., m, k) and R (..., k, n) with k = min(m, n), "complete" for Q (..., m, m) and R (..., m, n),
    "r" for the reduced R alone. With `pivoting`, as in SciPy, A[:, p] = Q R where the diagonal of R descends; p (..., n), int32,
    is the last result. A is (..., m, n). Dtype: that of A, float64 for integers. Derivative: to any order. Columns of Q
    beyond n are determined up to a rotation; they get the derivative that turns them least.
    Complex matrices are pairs (re, im); R has a real diagonal, also in derivatives.
    Raises `SpaceError` for what is no matrix, `ArgumentError` for another mode; the derivative raises `SolveError` where R has a
    zero on its diagonal, which is where the first k columns of a matrix do not have rank k. Source: S. Walter & L. Lehmann,
    Algorithmic differentiation of linear algebra functions with application in optimum experimental design, 2010.

    >>> import catad as ct, numpy as np
    >>> Q, R = ct.linalg.qr()(np.array([[3.0, 1.0], [4.0, 2.0]]))
    >>> abs(Q).round(12), abs(R).round(12)
    (array([[0.6, 0.8],
           [0.8, 0.6]]), array([[5. , 2.2],
           [0. , 0.4]]))
    """
    if mode not in MODES:
        raise errors.ArgumentError(errors.no_such_mode(mode, MODES))
    return Shaped(qr, _qr, mode=mode, pivoting=truth_value(pivoting, "pivoting"))
