"""Products of matrices and vectors: `np.dot`, `np.einsum` and their like."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from catad import errors
from catad import linalg as words
from catad.category.cartesian import cross
from catad.category.terms import identity
from catad.traced.arrays.operators import cast, matmul, pointwise
from catad.traced.arrays.protocols import put_in
from catad.traced.arrays.stand_in import Traced, View, computed, fresh, var_of
from catad.traced.names.sums import axes_of, one_line, strong
from catad.traced.names.universal import lines
from catad.traced.recorder import Trace
from catad.traced.table import COMPLEX_TOO, meaning, method, scattered
from catad.values.complex_numbers import is_complex
from catad.vector.folds.contract import einsum
from catad.vector.folds.norm import norm as norm_word
from catad.vector.indexing.keys import arg
from catad.vector.indexing.subscript import index
from catad.vector.shapes.shape import reshape


@meaning(np.dot)
@method("dot")
def dot(trace: Trace, a: Any, b: Any, out: Any = None) -> Any:
    made = _dot(trace, a, b)
    if out is None:
        return made
    if out.dtype != made.dtype or out.shape != made.shape:
        raise ValueError(
            "output array is not acceptable (must have the right datatype, number of dimensions, and be a C-Array)"
        )
    np.copyto(out, made)
    return out


def _dot(trace: Trace, a: Any, b: Any) -> Any:
    x, y = strong(trace, a), strong(trace, b)
    if not x.ndim or not y.ndim:
        return pointwise(trace, np.multiply, x, y)
    if y.ndim <= 2:
        return matmul(trace, x, y)
    return _contracted(trace, x, y, [x.ndim - 1], [y.ndim - 2])


@meaning(np.vdot)
def vdot(trace: Trace, a: Any, b: Any) -> Any:
    return matmul(trace, np.ravel(strong(trace, a)), np.ravel(strong(trace, b)))


@meaning(np.inner)
def inner(trace: Trace, a: Any, b: Any) -> Any:
    x, y = strong(trace, a), strong(trace, b)
    if not x.ndim or not y.ndim:
        return pointwise(trace, np.multiply, x, y)
    return _contracted(trace, x, y, [x.ndim - 1], [y.ndim - 1])


@meaning(np.outer)
def outer(trace: Trace, a: Any, b: Any) -> Any:
    x, y = np.ravel(strong(trace, a)), np.ravel(strong(trace, b))
    return pointwise(trace, np.multiply, x[:, None], y[None, :])


@meaning(np.tensordot)
def tensordot(trace: Trace, a: Any, b: Any, axes: Any = 2) -> Traced:
    x, y = strong(trace, a), strong(trace, b)
    if isinstance(axes, int):
        return _contracted(trace, x, y, list(range(x.ndim - axes, x.ndim)), list(range(axes)))
    first, second = [[one] if isinstance(one, int) else list(one) for one in axes]
    return _contracted(trace, x, y, [k % x.ndim for k in first], [k % y.ndim for k in second])


def _contracted(trace: Trace, x: Traced, y: Traced, first: list[int], second: list[int]) -> Traced:
    """The sum over pairs of axes."""
    left = [_letter(k) for k in range(x.ndim)]
    right = [_letter(x.ndim + k) for k in range(y.ndim)]
    for i, j in zip(first, second, strict=True):
        if x.shape[i] != y.shape[j]:
            raise ValueError("shape-mismatch for sum")
        right[j] = left[i]
    out = [c for k, c in enumerate(left) if k not in first] + [c for k, c in enumerate(right) if k not in second]
    return _einsum(trace, f"{''.join(left)},{''.join(right)}->{''.join(out)}", [x, y])


def _letter(k: int) -> str:
    return "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"[k]


def _einsum(trace: Trace, spec: str, arrays: list[Traced], dtype: Any = None, casting: Any = "safe") -> Traced:
    dtype = np.result_type(*[x.dtype for x in arrays]) if dtype is None else np.dtype(dtype)
    for x in arrays:
        if not np.can_cast(x.dtype, dtype, casting):
            raise errors.SpaceError(errors.cannot_cast(x.dtype, dtype, casting))
    args = tuple([cast(trace, x.var_, dtype) for x in arrays])
    return fresh(trace, computed(trace.region, einsum(spec), args[0] if len(args) == 1 else args))


@meaning(np.einsum)
@scattered
def einsum_(
    trace: Trace, *operands: Any, out: Any = None, optimize: Any = False, dtype: Any = None, order: str = "K",
    casting: Any = "safe",
) -> Any:  # fmt: skip
    spec, *arrays = operands
    if not isinstance(spec, str):
        letters = [tuple(one) for one in operands[1::2]]
        result = tuple(operands[-1]) if len(operands) % 2 else None
        arrays = list(operands[: 2 * (len(operands) // 2) : 2])
        spec = ",".join("".join(_letter(k) for k in one) for one in letters)
        spec += "" if result is None else "->" + "".join(_letter(k) for k in result)
    arrays = [strong(trace, x) for x in arrays]
    if out is not None and dtype is None:
        dtype = np.result_type(out.dtype, *[x.dtype for x in arrays])
    made = _einsum(trace, _explicit(spec, [x.ndim for x in arrays]), arrays, dtype, casting)
    return made if out is None else put_in(made, out, casting)


def _explicit(spec: str, ranks: list[int]) -> str:
    """The specification with its result, and with letters in the place of an ellipsis."""
    spec = spec.replace(" ", "")
    left, arrow, result = spec.partition("->")
    parts = left.split(",")
    free = [c for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" if c not in spec]
    most = max([rank - len(part) + 3 for part, rank in zip(parts, ranks, strict=True) if "..." in part], default=0)
    dots = "".join(free[:most])
    parts = [
        part.replace("...", dots[most - (rank - len(part) + 3) :]) if "..." in part else part
        for part, rank in zip(parts, ranks, strict=True)
    ]
    if arrow:
        return ",".join(parts) + "->" + result.replace("...", dots)
    letters = sorted(set("".join(parts)) - set(dots))
    return ",".join(parts) + "->" + dots + "".join([c for c in letters if "".join(parts).count(c) == 1])


@meaning(np.kron)
def kron(trace: Trace, a: Any, b: Any) -> Any:
    x, y = strong(trace, a), strong(trace, b)
    rank = max(x.ndim, y.ndim)
    x, y = (z.reshape((1,) * (rank - z.ndim) + z.shape) for z in (x, y))
    wide = x.reshape([n for size in x.shape for n in (size, 1)]) * y.reshape([n for size in y.shape for n in (1, size)])
    return wide.reshape([n * m for n, m in zip(x.shape, y.shape, strict=True)])


@meaning(np.trace)
@method("trace")
def trace_(trace: Trace, a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Any:
    return np.sum(diagonal(trace, a, offset, axis1, axis2), axis=-1, dtype=dtype)


@meaning(np.diagonal)
@method("diagonal")
def diagonal(trace: Trace, a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    x = strong(trace, a)
    positions = np.diagonal(np.arange(x.size).reshape(x.shape), offset, axis1, axis2)
    read = cross(reshape(-1), identity) >> index[arg]
    why = "np.diagonal, whose result is read-only"
    like = partial(np.diagonal, offset=offset, axis1=axis1, axis2=axis2)
    return Traced(trace, None, View(x, read, None, like, False, (var_of(trace, positions),), why))


@meaning(np.diag)
def diag(trace: Trace, v: Any, k: int = 0) -> Any:
    x = strong(trace, v)
    if x.ndim not in (1, 2):
        raise ValueError("Input must be 1- or 2-d.")
    if x.ndim == 2:
        return diagonal(trace, x, k)
    n = len(x) + abs(k)
    positions = np.full(n * n, len(x))
    positions[np.flatnonzero(np.diag(np.ones(len(x)), k).reshape(-1))] = np.arange(len(x))
    padded = np.concatenate([x, np.zeros(1, x.dtype)])
    return padded[positions].reshape(n, n)


meaning(np.diagflat)(lambda trace, v, k=0: diag(trace, np.ravel(strong(trace, v)), k))
meaning(np.linalg.diagonal)(lambda trace, x, /, *, offset=0: diagonal(trace, x, offset, -2, -1))
meaning(np.linalg.trace)(lambda trace, x, /, *, offset=0, dtype=None: trace_(trace, x, offset, -2, -1, dtype))


@meaning(np.cross)
@scattered
def cross_(trace: Trace, a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: Any = None) -> Any:
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = (np.moveaxis(strong(trace, one), at, -1) for one, at in ((a, axisa), (b, axisb)))
    if x.shape[-1] not in (2, 3) or y.shape[-1] not in (2, 3):
        raise ValueError("incompatible dimensions for cross product\n(dimension must be 2 or 3)")
    first, second = ([z[..., k] if k < z.shape[-1] else None for k in range(3)] for z in (x, y))

    def product(a: Any, b: Any) -> Any:
        return None if a is None or b is None else a * b

    def minor(i: int, j: int) -> Any:
        left, right = product(first[i], second[j]), product(first[j], second[i])
        return left - right if left is not None and right is not None else left if right is None else -right

    if x.shape[-1] == y.shape[-1] == 2:
        return minor(0, 1)
    parts = np.broadcast_arrays(*[minor(1, 2), minor(2, 0), minor(0, 1)])
    return np.moveaxis(np.stack(parts, -1), -1, axisc)


@meaning(np.vecdot)
def vecdot(trace: Trace, x1: Any, x2: Any, /, *, axis: int = -1, keepdims: bool = False) -> Any:
    x, y = (np.moveaxis(strong(trace, one), axis, -1) for one in (x1, x2))
    if x.shape[-1] != y.shape[-1]:
        raise ValueError(
            f"vecdot: Input operand 1 has a mismatch in its core dimension 0 (size {y.shape[-1]} is different from {x.shape[-1]})"
        )
    made = matmul(trace, x[..., None, :], y[..., :, None])[..., 0, 0]
    return np.expand_dims(made, axis) if keepdims else made


meaning(np.linalg.vecdot)(vecdot)


def _of_vectors(name: str, left: bool) -> None:
    def made(trace: Trace, x1: Any, x2: Any, /) -> Any:
        x, y = strong(trace, x1), strong(trace, x2)
        return matmul(trace, x[..., None, :], y)[..., 0, :] if left else matmul(trace, x, y[..., :, None])[..., 0]

    meaning(getattr(np, name, None))(made)


_of_vectors("matvec", False)
_of_vectors("vecmat", True)


matmul_ = meaning(np.linalg.matmul)(lambda trace, x1, x2, /: matmul(trace, strong(trace, x1), strong(trace, x2)))
meaning(np.linalg.tensordot)(lambda trace, x1, x2, /, *, axes=2: tensordot(trace, x1, x2, axes))


@meaning(np.linalg.outer)
def outer_of_vectors(trace: Trace, x1: Any, x2: Any, /) -> Any:
    x, y = strong(trace, x1), strong(trace, x2)
    if x.ndim != 1 or y.ndim != 1:
        raise ValueError(f"Input arrays must be one-dimensional, but they are x1.ndim={x.ndim} and x2.ndim={y.ndim}.")
    return outer(trace, x, y)


@meaning(np.linalg.cross)
def crosses(trace: Trace, x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    x, y = strong(trace, x1), strong(trace, x2)
    if x.shape[axis] != 3 or y.shape[axis] != 3:
        raise ValueError("Both input arrays must be (arrays of) 3-dimensional vectors")
    return cross_(trace, x, y, axis=axis)


@meaning(np.linalg.matrix_power)
def matrix_power(trace: Trace, a: Any, n: Any) -> Any:
    if not hasattr(n, "__index__"):
        raise TypeError("exponent must be an integer")
    x, n = a if is_complex(a) else strong(trace, a), n.__index__()
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")
    if n < 0:
        x, n = np.linalg.inv(x), -n
    if not n:
        return np.broadcast_to(np.eye(x.shape[-1], dtype=x.dtype), x.shape).copy()
    made, square = None, x
    while n:
        if n % 2:
            made = square if made is None else matmul(trace, made, square)
        n //= 2
        square = matmul(trace, square, square) if n else square
    return made.copy() if made is x else made


COMPLEX_TOO.add(matrix_power)


def _norm(trace: Trace, x: Any, order: Any, axis: Any, keepdims: bool) -> Any:
    array = strong(trace, x)
    axes = axes_of(array, axis)
    known = axes if axes is None else axes[0] if len(axes) == 1 else axes
    if order in ("nuc", 2, -2) and len(axes or range(array.ndim)) == 2:
        if order == -2 and 0 in [array.shape[k] for k in axes or (0, 1)]:
            raise ValueError("zero-size array to reduction operation minimum which has no identity")
        return one_line(trace, words.norm(order, known, keepdims), array)
    try:
        return one_line(trace, norm_word(order, known, keepdims), array)
    except errors.CatadError as error:
        raise _numpys(array, order, known, error) from None


def _numpys(x: Any, order: Any, axis: Any, error: Exception) -> Exception:
    """The error that NumPy raises, where it does."""
    try:
        np.linalg.norm(np.zeros(x.shape), order, axis)
    except (ValueError, TypeError) as own:
        return own
    return error


@meaning(np.linalg.norm)
def norm(trace: Trace, x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    array = strong(trace, x)
    if axis is None and ord is not None and array.ndim not in (1, 2):
        raise ValueError("Improper number of dimensions to norm.")
    return _norm(trace, array, ord, axis, keepdims)


@meaning(np.linalg.vector_norm)
def vector_norm(trace: Trace, x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    array = strong(trace, x)
    axes = axes_of(array, axis)
    axes = tuple(range(array.ndim)) if axes is None else axes
    line, kept = lines(array, axes)
    made = _norm(trace, line, ord, -1, False)
    return made.reshape(kept) if keepdims else made


@meaning(np.linalg.matrix_norm)
def matrix_norm(trace: Trace, x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    return _norm(trace, x, ord, (-2, -1), keepdims)


@meaning(np.linalg.multi_dot)
def multi_dot(trace: Trace, arrays: Any) -> Any:
    """In the order of the fewest multiplications, as NumPy."""
    given = [one if is_complex(one) else strong(trace, one) for one in arrays]
    if len(given) < 2:
        raise ValueError("Expecting at least two arrays.")
    if len(given) == 2:
        return np.dot(*given)
    for k, one in enumerate(given):
        if one.ndim != 2 and (one.ndim != 1 or 0 < k < len(given) - 1):
            raise np.linalg.LinAlgError(f"{one.ndim}-dimensional array given. Array must be two-dimensional")
    rows, columns = given[0].ndim == 1, given[-1].ndim == 1
    given[0], given[-1] = given[0][None] if rows else given[0], given[-1][:, None] if columns else given[-1]
    made = _in_best_order(given)
    return made[0, 0] if rows and columns else made[0] if rows else made[:, 0] if columns else made


COMPLEX_TOO.add(multi_dot)


def _in_best_order(matrices: list[Any]) -> Any:
    """The product of a chain; `best[i, j]` has the cost of the matrices from i to j, and the last one of the first half."""
    sizes = [one.shape[0] for one in matrices] + [matrices[-1].shape[1]]
    best = {(i, i): (0, i) for i in range(len(matrices))}
    for width in range(1, len(matrices)):
        for i in range(len(matrices) - width):
            j = i + width
            best[i, j] = min(
                (best[i, k][0] + best[k + 1, j][0] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)
            )

    def product(i: int, j: int) -> Any:
        k = best[i, j][1]
        return matrices[i] if i == j else product(i, k) @ product(k + 1, j)

    return product(0, len(matrices) - 1)
