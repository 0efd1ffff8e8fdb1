"""Linear maps of stacks of matrices, of which rules are made, and what decompositions share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from catad import errors
from catad.category.boxes import Primitive
from catad.category.spaces import Tensor
from catad.linear.families.block import chain, placed, total
from catad.linear.families.delta import Delta, delta, identity
from catad.linear.families.inverse import Inverse, stacked
from catad.linear.solving.complex_factors import of_complex
from catad.linear.solving.factors import conjugate
from catad.linear.structure import Placed, Structure
from catad.values.stream_capture import check_not_captured

Arrays = tuple[Any, ...]


class Decomposition(Primitive):
    """Array code on stacks of matrices, whose leading axes are any.

    Those with a field `pair` have the derivative of complex matrices in real form where it is true (see `pairs.py`): all that is
    made of products, inverses and transposes stays as it is. `takes` and `gives` say of each argument and result whether it is
    matrices ("m"), real numbers of which the real form has each twice ("r"), or what complex matrices have as well ("x").
    """

    __slots__ = ()
    arity: int | None = 1
    vectorized = True
    takes = gives = "m"
    borrows = True

    def carried(self, size: int) -> Primitive:
        return self


def of_shape(like: Tensor, *shape: int) -> Tensor:
    """A stack of arrays of a shape, as many as there are matrices in another stack."""
    return Tensor((*like.shape[:-2], *shape), like.dtype)


def times(matrices: Tensor, x: Tensor, turned: bool = False, factor: float = 1.0) -> Delta:
    """X (..., j, k) to A X with A (..., i, j) in the slot; to A' X of A (..., j, i) where `turned`."""
    return _product(matrices, x, False, turned, factor)


def timed(matrices: Tensor, x: Tensor, turned: bool = False, factor: float = 1.0) -> Delta:
    """X (..., k, j) to X A with A (..., j, i) in the slot; to X A' of A (..., i, j) where `turned`."""
    return _product(matrices, x, True, turned, factor)


def _product(matrices: Tensor, x: Tensor, right: bool, turned: bool, factor: float) -> Delta:
    *axes, kept, joined, new = range(x.ndim + 1)
    first = right == turned  # the rows of A are the axis that the product adds
    size = matrices.shape[-2 if first else -1]
    slot = (new, joined) if first else (joined, new)
    ins, out = ((kept, joined), (kept, new)) if right else ((joined, kept), (new, kept))
    sizes = [0] * (x.ndim + 1)
    for label, n in zip((*axes, *ins, new), (*x.shape, size), strict=True):
        sizes[label] = n
    return delta((*axes, *out), (*axes, *ins), (*axes, *slot), sizes, x.dtype, x.dtype, x.dtype, factor)


def scaled(x: Tensor, axis: int) -> Delta:
    """X (..., i, j) times numbers (..., i), axis -2, or (..., j), axis -1."""
    axes = tuple(range(x.ndim))
    slot = (*axes[:-2], axes[axis])
    return delta(axes, axes, slot, x.shape, x.dtype, x.dtype, x.dtype)


def flipped(x: Tensor, factor: float = 1.0) -> Delta:
    """The transposition of each of a stack, times a number."""
    *batch, i, j = range(x.ndim)
    return delta((*batch, j, i), (*batch, i, j), None, x.shape, x.dtype, x.dtype, None, factor)


def diagonals(x: Tensor) -> Delta:
    """The diagonals of square matrices."""
    *batch, i, _ = range(x.ndim)
    return delta((*batch, i), (*batch, i, i), None, x.shape, x.dtype, x.dtype)


def kind_of(kind: str, pair: bool) -> str:
    """The kind of factors, of complex matrices in real form if `pair`."""
    return of_complex(kind) if pair else kind


def in_blocks(mask: np.ndarray[Any, Any], pair: bool) -> np.ndarray[Any, Any]:
    """What is done to each entry of a matrix, for both parts of complex ones in real form if `pair`."""
    return np.tile(mask, (2, 2)) if pair else mask


def halves(n: int, pair: bool) -> int:
    """The size of a matrix by the size of its real form, if it is one."""
    return n // 2 if pair else n


def adjoint(xp: Any, a: Any) -> Any:
    """The transposes, conjugate of complex matrices."""
    return conjugate(xp, xp.swapaxes(a, -1, -2))


def less(x: Tensor, parts: Sequence[Placed]) -> Placed:
    """The identity less a chain, whose last factor has the sign."""
    return placed(total, [(identity(x), ()), placed(chain, parts)])


def over(x: Tensor, upper: Tensor, slot: int, pair: bool = False) -> list[Placed]:
    """X to X R^-1 with upper triangles R (..., n, n) in a slot."""
    turned = flipped(x)
    inverse: Structure = Inverse(stacked(upper, x.shape[-2:-1]), kind_of("upper", pair)).T
    return [(turned, ()), (inverse, (slot,)), (flipped(turned.cod[0]), ())]


def by_lane(xp: Any, found: Callable[[Any], Arrays], a: Any, read: Any = None) -> Arrays:
    """The results for a stack of matrices; NaN for those of which something that is read is not finite.

    Raises `SolveError` where LAPACK does not converge.
    """
    check_not_captured(xp, "whether matrices are finite")
    good = xp.isfinite(a if read is None else read).all(axis=(-2, -1))
    clean = bool(good.all())
    try:
        made = found(a if clean else xp.where(good[..., None, None], a, 0))
    except errors.SolveError:
        raise
    except np.linalg.LinAlgError as error:
        raise errors.SolveError(errors.no_decomposition(a.shape, str(error))) from None
    if clean:
        return tuple(made)
    return tuple([xp.where(good.reshape(good.shape + (1,) * (x.ndim - good.ndim)), x, nan_of(x.dtype)) for x in made])


def nan_of(dtype: np.dtype[Any]) -> Any:
    """NaN, in both parts of complex numbers."""
    return dtype.type(complex(np.nan, np.nan)) if dtype.kind == "c" else np.nan
