"""`eig` and `eigvals`: A V = V diag(w) of any square matrices, with complex w and V.

    X = V^-1 dA V    dw = diag X    dV = V (F * X) - V diag(c), F_ij = 1 / (w_j - w_i), 0 on the diagonal

The numbers c keep what LAPACK chooses: columns of V have length 1, and the phase in which one component, the greatest, is real.
Sources: M. Giles, *Collected matrix derivative results*, 2008, section 3.1; C. Boeddeker et al., *On the computation of
complex-valued gradients with application to statistically optimum beamforming*, 2017, has complex matrices and the length.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from catad import errors
from catad.category.boxes import box
from catad.category.constant import const
from catad.category.spaces import Tensor
from catad.linalg.divided import Divided
from catad.linalg.matrices import of_one
from catad.linalg.pairs import Pair, from_real_form, real_form, to_real_form
from catad.linalg.parts import Decomposition, by_lane, diagonals, timed, times
from catad.linear.families.block import assemble, chain, diagonal_block, placed, total
from catad.linear.families.contract import repeated
from catad.linear.families.delta import delta, identity
from catad.linear.families.inverse import Factor, Inverse, stacked
from catad.linear.solving.complex_factors import of_complex, of_stored
from catad.linear.solving.factors import pivots_of
from catad.linear.structure import Placed, Rule
from catad.scalar import apply, param
from catad.scalar import const as number
from catad.values.complex_numbers import complex_of
from catad.values.stream_capture import check_not_captured
from catad.vector.folds.moments import of_wires
from catad.vector.shapes.shape import summed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from catad.category.wiring import Builder, Wire
    from catad.linear.structure import Structure

_GENERAL = of_complex("general")


class OfSquare(Decomposition):
    """Array code on a stack of square matrices: real ones, or both parts of complex ones."""

    __slots__ = ()
    arity = None

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        return 25 * len(ins) ** 2 * ins[0].size * ins[0].shape[-1]


def _by_numpy(xp: Any, arrays: Sequence[Any], found: Callable[[Any], tuple[Any, ...]]) -> list[Any]:
    """Both parts of the results for a stack, which are complex; on the host, where other libraries have no such function."""
    a = arrays[0] if len(arrays) == 1 else complex_of(xp, *arrays)
    check_not_captured(xp, "whether matrices are finite")
    host = a if xp is np else a.get()
    made = by_lane(np, lambda a: tuple([x.astype(np.result_type(a.dtype, np.complex64), copy=False) for x in found(a)]), host)
    return [xp.asarray(part.copy()) for x in made for part in (x.real, x.imag)]


@box
class Eigvals(OfSquare):
    """Both parts of the eigenvalues."""

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return (Tensor(ins[0].shape[:-1], ins[0].dtype),) * 2

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        return tuple(_by_numpy(xp, arrays, lambda a: (np.linalg.eigvals(a),)))

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule:
        a = ins[0]
        structure = chain([*_in_basis(ins), (diagonal_block([diagonals(a)] * 2), ())])

        def coefficients(wires: tuple[Wire, ...], results: tuple[Wire, ...]) -> list[Wire]:
            b = wires[0].builder
            return _basis(b, Pair(*b.add(Eig(len(wires) == 2), *wires)[2:]))

        return Rule(structure, coefficients)


@box
class Eig(OfSquare):
    """Both parts of the eigenvalues and of the eigenvectors of real matrices, of complex ones if `pair`."""

    pair: bool = False

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        values = Tensor(ins[0].shape[:-1], ins[0].dtype)
        return values, values, ins[0], ins[0]

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        return tuple(_by_numpy(xp, arrays, lambda a: tuple(np.linalg.eig(a))))

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule:
        """Slots: those of the basis, then the phases and the sizes of w_j - w_i, V, and what keeps phases: see `_kept`."""
        a = ins[0]
        first = len(_inverse(a).slots)
        turn, size, v, kept = (first, first + 1), first + 2, (first + 3, first + 4), (first + 5, first + 6)
        divided = diagonal_block([Divided(a)] * 2)
        moved: list[Placed] = [
            (_complex(a, lambda factor: _entrywise(a, factor)), turn),
            (divided, (size, size)),
            (_complex(a, lambda factor: times(a, a, factor=factor)), v),
            (_normalised(a), (*v, *kept)),
        ]
        values = diagonal_block([diagonals(a)] * 2)
        slots = [*_inverse(a).slots, *[a] * 7]
        local = assemble([[(values, ())], [placed(chain, moved)]], [a, a], outs, slots, ((2,), (2, 2)))
        structure = chain([*_in_basis(ins), (local, tuple(range(len(slots))))])

        def coefficients(wires: tuple[Wire, ...], results: tuple[Wire, ...]) -> list[Wire]:
            b, w, v = wires[0].builder, Pair(*results[:2]), Pair(*results[2:])
            return [*_basis(b, v), *_gaps(b, w, v), *v, *_kept(b, v)]

        return Rule(structure, coefficients)

    def needs(self, read: Sequence[bool]) -> Sequence[bool] | None:
        return None if read[2] or read[3] else (True,) * (1 + self.pair)

    def narrowed(self, b: Builder, ins: Sequence[Wire], read: Sequence[bool]) -> Sequence[Wire | None]:
        return *b.add(Eigvals(), *ins), None, None


# -- the derivative


def _inverse(a: Tensor) -> Inverse:
    """The inverse of the real form of V, applied to real forms."""
    form = Tensor((*a.shape[:-2], 2 * a.shape[-1], 2 * a.shape[-1]), a.dtype)
    return Inverse(stacked(form, form.shape[-1:]), _GENERAL)


def _in_basis(ins: tuple[Tensor, ...]) -> list[Placed]:
    """dA, real or by its parts, to both parts of V^-1 dA V."""
    a, inverse = ins[0], _inverse(ins[0])
    form = inverse.dom[0]
    into = assemble([to_real_form(a)[: len(ins)]], ins, [form], ())
    out = assemble([[part] for part in from_real_form(a)], [form], [a, a], ())
    return [(into, ()), (inverse, tuple(range(len(inverse.slots)))), (timed(form, form), (0,)), (out, ())]


@box
class OfBasis(Decomposition):
    """The stored factors of matrices of eigenvectors; raises `SolveError` where these are dependent but for rounding."""

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return ins

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        (stored,) = arrays
        check_not_captured(xp, "whether eigenvectors are independent")
        pivots = xp.abs(pivots_of(xp, of_stored(xp, stored)))
        if pivots.size:
            lost = pivots.min(axis=-1) <= pivots.shape[-1] * np.finfo(pivots.dtype).eps * pivots.max(axis=-1)
            if bool(lost.any()):
                place = errors.in_stack(int(xp.argmax(lost.reshape(-1))), lost.shape)
                raise errors.SolveError(errors.no_basis(pivots.shape[-1], place))
        return stored

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> None:
        return None

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        return ins[0].shape[-1]


def _basis(b: Builder, v: Pair) -> list[Wire]:
    form = real_form(b, v)
    stored, pivots = b.add(Factor(_GENERAL), form)
    return [form, *b.add(OfBasis(), stored), pivots]


def _complex(a: Tensor, made: Callable[[float], Structure]) -> Structure:
    """A product with complex numbers, of which slots have both parts."""
    rows = [[(made(1.0), (0,)), (made(-1.0), (1,))], [(made(1.0), (1,)), (made(1.0), (0,))]]
    return assemble(rows, [a, a], [a, a], (a, a))


def _entrywise(a: Tensor, factor: float) -> Structure:
    axes = tuple(range(a.ndim))
    return delta(axes, axes, axes, a.shape, a.dtype, a.dtype, a.dtype, factor)


def _normalised(a: Tensor) -> Structure:
    """dV to dV - V diag(c); slots: both parts of V, and those of `_kept`."""
    *batch, _, j = axes = tuple(range(a.ndim))
    column = Tensor((*a.shape[:-2], a.shape[-1]), a.dtype)

    def along(factor: float = 1.0) -> Structure:
        return delta((*batch, j), axes, axes, a.shape, a.dtype, a.dtype, a.dtype, factor)

    def spread(factor: float) -> Structure:
        return delta(axes, (*batch, j), axes, a.shape, a.dtype, a.dtype, a.dtype, factor)

    of_c = assemble([[(along(), (0,)), (along(), (1,))], [(along(-1.0), (3,)), (along(), (2,))]], [a, a], [column] * 2, [a] * 4)
    less = assemble([[(spread(-1.0), (0,)), (spread(1.0), (1,))], [(spread(-1.0), (1,)), (spread(-1.0), (0,))]],
                    [column] * 2, [a, a], (a, a))  # fmt: skip
    same = diagonal_block([identity(a), identity(a)])
    return total([(same, ()), placed(chain, [(of_c, (0, 1, 2, 3)), (less, (0, 1))])])


def _gaps(b: Builder, w: Pair, v: Pair) -> list[Wire]:
    """Both parts of conj(d) / |d|, which is 1 of 0, and |d|, infinity on the diagonal, for d = w_j - w_i."""
    k, n = w.ndim - 1, w.shape[-1]
    batch, shape = tuple(range(k)), v.shape
    eye, infinite = np.eye(n, dtype=w.dtype), np.zeros((n, n), w.dtype)
    np.fill_diagonal(infinite, np.inf)
    difference = apply("sub", param(1), param(0))
    parts = [of_wires(b, difference, *[repeated(b, part, (*batch, k + at), shape) for at in range(2)]) for part in w]
    diagonal = [repeated(b, b.apply(const(one), ()), (k, k + 1), shape) for one in (eye, infinite)]
    parts[0] = parts[0] + diagonal[0]
    size = of_wires(b, apply("hypot", param(0), param(1)), *parts)
    none = apply("eq", param(1), number(0.0))
    re = of_wires(b, apply("select", none, number(1.0), apply("div", param(0), param(1))), parts[0], size)
    im = of_wires(b, apply("select", none, number(0.0), apply("div", param(0), param(1))), -parts[1], size)
    return [re, im, size + diagonal[1]]


@box
class RealComponent(Decomposition):
    """(re, im) of eigenvectors to 1 at one component of each that LAPACK has made real, the greatest; 0 elsewhere."""

    arity = 2

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return (ins[0],)

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        re, im = arrays
        if not re.size:
            return re.copy()
        sizes = xp.hypot(re, im)
        real = im == 0
        some = real.any(axis=-2, keepdims=True)
        place = xp.argmax(xp.where(real | ~some, sizes, -1), axis=-2)
        return (xp.arange(re.shape[-2])[:, None] == place[..., None, :]).astype(re.dtype)

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> None:
        return None

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        return 4 * ins[0].size


def _kept(b: Builder, v: Pair) -> list[Wire]:
    """Both parts of the component whose phase stays, over its square, in its place; zeros elsewhere."""
    (one,) = b.add(RealComponent(), *v)
    rows = v.ndim - 2
    square = summed(b, one * (v.re * v.re + v.im * v.im), (rows,))
    below = repeated(b, square, (*range(rows), rows + 1), v.shape)
    return [one * part / below for part in v]


def _eig(b: Builder, a: Any, term: Any) -> Any:
    w_re, w_im, v_re, v_im = b.add(Eig(True), *a) if isinstance(a, Pair) else b.add(Eig(), a)
    return Pair(w_re, w_im), Pair(v_re, v_im)


eig = of_one("eig", _eig, """`ct.linalg.eig(a)` has the eigenvalues w and the eigenvectors V of matrices, a V = V diag(w).

w and V are complex, so each is a pair of its real and imaginary parts, also where `numpy.linalg.eig` finds real numbers and gives
real arrays; a is real, or the pair of both parts. Eigenvalues are in LAPACK's order; columns of V have length 1 and one real
component, as `numpy.linalg.eig` has them. Matrices with NaN or infinity have NaN.

Shapes: (..., n, n) to pairs of (..., n) and of (..., n, n). Dtype of the parts: that of a, float64 for integers.
Derivative: to any order, with `X = V^-1 da V`: `dw = diag X`, and `dV = V (F * X)` with `F_ij = 1 / (w_j - w_i)`, less what would
change lengths or the phase of that component. Where two eigenvalues are equal, dV is infinite, and 0 where X is 0.
Errors: `SpaceError` for matrices that are not square; `SolveError` where LAPACK does not converge, and by the derivative where
eigenvectors are dependent.
Source: M. Giles, Collected matrix derivative results for forward and reverse mode algorithmic differentiation, 2008, section 3.1.

>>> import catad as ct, numpy as np
>>> w, V = ct.linalg.eig(np.array([[0.0, -2.0], [2.0, 0.0]]))
>>> w
(array([0., 0.]), array([ 2., -2.]))
""")  # fmt: skip


def _eigvals(b: Builder, a: Any, term: Any) -> Any:
    return Pair(*b.add(Eigvals(), *(a if isinstance(a, Pair) else (a,))))


eigvals = of_one("eigvals", _eigvals, """`ct.linalg.eigvals(a)` has the eigenvalues of matrices, as a pair of both parts.

They are complex, also where `numpy.linalg.eigvals` finds real numbers; a is real, or the pair of both parts.
Shapes: (..., n, n) to a pair of (..., n). Dtype of the parts: that of a, float64 for integers.
Derivative: to any order, `dw = diag(V^-1 da V)`.
Errors: `SpaceError` for matrices that are not square; `SolveError` where LAPACK does not converge, and by the derivative where
eigenvectors are dependent.
Source: M. Giles 2008, section 3.1.

>>> import catad as ct, numpy as np
>>> ct.linalg.eigvals(np.array([[0.0, -2.0], [2.0, 0.0]]))
(array([0., 0.]), array([ 2., -2.]))
""")  # fmt: skip
