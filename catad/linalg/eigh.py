"""`eigh` and `eigvalsh`: A = V diag(w) V' of symmetric matrices.

    X = V' dA V        dw = diag X        dV = V (F * X), F_ij = 1 / (w_j - w_i), 0 on the diagonal

(M. Giles 2008, section 3.1.) Only one half of A is read; the derivative is that by symmetric matrices: dA counts as
(dA + dA') / 2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from catad import errors
from catad.category.boxes import box
from catad.category.constructors import constructor
from catad.category.spaces import Tensor
from catad.category.terms import D
from catad.linalg.cholesky import symmetrised
from catad.linalg.divided import Divided, gaps
from catad.linalg.matrices import square
from catad.linalg.pairs import decomposed, decomposed_forms
from catad.linalg.parts import Decomposition, adjoint, by_lane, diagonals, timed, times
from catad.linear.families.block import assemble, chain, placed
from catad.linear.structure import Placed, Rule
from catad.vector.deferred import Shaped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from catad.category.wiring import Builder, Wire


def _read(xp: Any, a: Any, half: str) -> Any:
    return xp.tril(a) if half == "L" else xp.triu(a)


def _in_basis(a: Tensor) -> list[Placed]:
    """dA to V' dA V, V in slot 0."""
    return [symmetrised(a), (times(a, a, turned=True), (0,)), (timed(a, a), (0,))]


@box
class Eigvalsh(Decomposition):
    """The eigenvalues of symmetric matrices, of which one half is read."""

    half: str = "L"
    pair: bool = False
    gives = "r"

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return (Tensor(ins[0].shape[:-1], ins[0].dtype),)

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        (a,) = arrays
        return by_lane(xp, lambda a: (xp.linalg.eigvalsh(a, self.half),), a, _read(xp, a, self.half))[0]

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule:
        (a,) = ins

        def coefficients(wires: tuple[Wire, ...], results: tuple[Wire, ...]) -> list[Wire]:
            return [decomposed_forms(wires[0].builder, Eigh(self.half, pair=self.pair), wires[0])[1]]

        return Rule(chain([*_in_basis(a), (diagonals(a), ())]), coefficients)

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        return 2 * ins[0].size * ins[0].shape[-1]


@box
class Eigh(Decomposition):
    """The eigenvalues and eigenvectors of symmetric matrices, of which one half is read.

    With `drop`, the derivative leaves out what is divided by differences of equal eigenvalues. `driver` is SciPy's.
    """

    half: str = "L"
    drop: bool = False
    driver: str | None = None
    pair: bool = False
    gives = "rm"

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return Tensor(ins[0].shape[:-1], ins[0].dtype), ins[0]

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        (a,) = arrays
        return by_lane(xp, lambda a: self._found(xp, a), a, _read(xp, a, self.half))

    def _found(self, xp: Any, a: Any) -> tuple[Any, ...]:
        if self.driver is None or xp is not np:
            return tuple(xp.linalg.eigh(a, self.half))
        from scipy.linalg import eigh

        w, v = np.empty(a.shape[:-1], a.real.dtype), np.empty(a.shape, a.dtype)
        for k in np.ndindex(a.shape[:-2] if a.size else (0,)):
            w[k], v[k] = eigh(a[k], lower=self.half == "L", driver=self.driver, check_finite=False)
        return w, v

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule:
        v = outs[1]
        turning = placed(chain, [(Divided(v), (1,)), (times(v, v), (0,))])
        both = assemble([[(diagonals(v), ())], [turning]], [v], outs, (v, v))
        structure = chain([*_in_basis(v), (both, (0, 1))])

        def coefficients(wires: tuple[Wire, ...], results: tuple[Wire, ...]) -> list[Wire]:
            return [results[1], gaps(wires[0].builder, results[0], False, self.drop, self.pair)]

        return Rule(structure, coefficients)

    def needs(self, read: Sequence[bool]) -> Sequence[bool] | None:
        return None if read[1] else (True,)

    def narrowed(self, b: Builder, ins: Sequence[Wire], read: Sequence[bool]) -> Sequence[Wire | None]:
        return *b.add(Eigvalsh(self.half), *ins), None

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        return 9 * ins[0].size * ins[0].shape[-1]


@box
class Symmetric(Decomposition):
    """The symmetric matrices whose lower halves are given; the derivative is that by symmetric matrices."""

    pair: bool = False

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return ins

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        (a,) = arrays
        made = xp.tril(a) + adjoint(xp, xp.tril(a, -1))
        if made.dtype.kind == "c":
            places = xp.arange(a.shape[-1])
            made[..., places, places] = made[..., places, places].real
        return made

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule:
        return Rule(symmetrised(ins[0])[0])


def dropping(degenerate: Any) -> bool:
    """Whether equal eigenvalues, or singular values, are dropped by derivatives; raises `ArgumentError`."""
    if degenerate not in (None, "zero"):
        raise errors.ArgumentError(errors.no_such_degenerate(degenerate))
    return bool(degenerate == "zero")


def half_of(given: Any) -> str:
    """The half of a matrix that is read, as NumPy names it; raises `ArgumentError`."""
    if not isinstance(given, str) or given.upper() not in ("L", "U"):
        raise errors.ArgumentError(errors.no_such_half(given))
    return given.upper()


def _eigh(b: Builder, x: Any, term: Any) -> Any:
    given = term.parameters
    return tuple(decomposed(b, Eigh(given["UPLO"], given["degenerate"] == "zero", given["driver"]), square(b, x, term)))


@constructor()
def eigh(UPLO: str = "L", degenerate: str | None = None, driver: str | None = None) -> D:
    """The eigenvalues w and eigenvectors V of symmetric matrices, `A = V @ diag(w) @ V.T`, as `numpy.linalg.eigh`.

    The lower half of A is read, the upper one if UPLO is "U". Eigenvalues ascend. Matrices in whose half NaN or infinity stands
    have NaN as results, others of the stack nothing of it. `driver` names one of SciPy's methods, "ev", "evd", "evr" or "evx",
    which differ in the signs of eigenvectors; None is NumPy's, on CPUs "evd".

    Shapes: (..., n, n) to (..., n) and (..., n, n), eigenvectors in columns. Dtype: that of A, float64 for integers.
    Derivative: to any order, that by symmetric matrices: dA counts as (dA + dA') / 2. It is `dw = diag X`, `dV = V (F * X)`
    with `X = V' dA V` and `F_ij = 1 / (w_j - w_i)`. Of Hermitian matrices, pairs (re, im), so are eigenvectors; their phases
    stay: V' dV has a zero diagonal, which is right for what no phase changes. Where two eigenvalues are equal, dV is infinite,
    and 0 where X is 0; a gradient is infinite or NaN there where it comes by these eigenvectors. `degenerate="zero"` drops what
    belongs to eigenvalues that differ by rounding errors, which is right for what depends on their common space alone. Raises
    `SpaceError` for matrices that are not square, `SolveError` where LAPACK does not converge, `ArgumentError` for other
    parameters. Source: M. Giles, Collected matrix derivative results for forward and reverse mode algorithmic differentiation,
    2008, section 3.1.

    >>> import catad as ct, numpy as np
    >>> w, V = ct.linalg.eigh()(np.array([[2.0, 0.0], [0.0, 1.0]]))
    >>> w, abs(V)
    (array([1., 2.]), array([[0., 1.],
           [1., 0.]]))
    """
    dropping(degenerate)
    if driver not in (None, "ev", "evd", "evr", "evx"):
        raise errors.ArgumentError(errors.no_such_driver(driver))
    return Shaped(eigh, _eigh, UPLO=half_of(UPLO), degenerate=degenerate, driver=driver)


def _eigvalsh(b: Builder, x: Any, term: Any) -> Any:
    return decomposed(b, Eigvalsh(term.parameters["UPLO"]), square(b, x, term))[0]


@constructor()
def eigvalsh(UPLO: str = "L") -> D:
    """The eigenvalues of symmetric matrices in ascending order, as `numpy.linalg.eigvalsh`.

    The lower half of A is read, the upper one if UPLO is "U". Shapes: (..., n, n) to (..., n). Dtype: that of A, float64 for
    integers. Derivative: to any order, `dw = diag(V' dA V)` with dA counting as (dA + dA') / 2; of equal eigenvalues it is one
    of several. Raises `SpaceError` for matrices that are not square, `SolveError` where LAPACK does not converge,
    `ArgumentError` for another UPLO. Source: M. Giles 2008, section 3.1.

    >>> import catad as ct, numpy as np
    >>> ct.linalg.eigvalsh()(np.array([[2.0, 0.0], [0.0, 1.0]]))
    array([1., 2.])
    """
    return Shaped(eigvalsh, _eigvalsh, UPLO=half_of(UPLO))
