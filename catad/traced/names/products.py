"""Products of matrices and vectors: `np.dot`, `np.einsum` and their like."""

from __future__ import annotations

from typing import Any

import numpy as np

from catad.terms import cross, identity
from catad.traced.names.shapes import as_traced
from catad.traced.operators import cast, matmul, pointwise
from catad.traced.recorder import Trace
from catad.traced.stand_in import Traced, View, computed, fresh, var_of
from catad.traced.table import meaning, method, python_meaning
from catad.vector.contract import einsum
from catad.vector.keys import arg
from catad.vector.shape import reshape
from catad.vector.subscript import index


@meaning(np.dot)
@method("dot")
def dot(trace: Trace, a: Any, b: Any) -> Traced:
    x, y = as_traced(trace, a), as_traced(trace, b)
    if not x.ndim or not y.ndim:
        made: Traced = pointwise(trace, np.multiply, x, y)
        return made
    if y.ndim <= 2:
        return matmul(trace, x, y)
    return _contracted(trace, x, y, [x.ndim - 1], [y.ndim - 2])


@meaning(np.vdot)
def vdot(trace: Trace, a: Any, b: Any) -> Traced:
    return matmul(trace, np.ravel(as_traced(trace, a)), np.ravel(as_traced(trace, b)))


@meaning(np.inner)
def inner(trace: Trace, a: Any, b: Any) -> Traced:
    x, y = as_traced(trace, a), as_traced(trace, b)
    if not x.ndim or not y.ndim:
        made: Traced = pointwise(trace, np.multiply, x, y)
        return made
    return _contracted(trace, x, y, [x.ndim - 1], [y.ndim - 1])


@meaning(np.outer)
def outer(trace: Trace, a: Any, b: Any) -> Traced:
    x, y = np.ravel(as_traced(trace, a)), np.ravel(as_traced(trace, b))
    made: Traced = pointwise(trace, np.multiply, x[:, None], y[None, :])
    return made


@meaning(np.tensordot)
def tensordot(trace: Trace, a: Any, b: Any, axes: Any = 2) -> Traced:
    x, y = as_traced(trace, a), as_traced(trace, b)
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


def _einsum(trace: Trace, spec: str, arrays: list[Traced]) -> Traced:
    dtype = np.result_type(*[x.dtype for x in arrays])
    args = tuple([cast(trace, x.var_, dtype) for x in arrays])
    return fresh(trace, computed(trace.region, einsum(spec), args[0] if len(args) == 1 else args))


@meaning(np.einsum)
def einsum_(trace: Trace, *operands: Any, optimize: Any = False, **options: Any) -> Traced:
    spec, *arrays = operands
    if not isinstance(spec, str):
        letters = [tuple(one) for one in operands[1::2]]
        result = tuple(operands[-1]) if len(operands) % 2 else None
        arrays = list(operands[: 2 * (len(operands) // 2) : 2])
        spec = ",".join("".join(_letter(k) for k in one) for one in letters)
        spec += "" if result is None else "->" + "".join(_letter(k) for k in result)
    return _einsum(trace, _explicit(spec, [as_traced(trace, x).ndim for x in arrays]), [as_traced(trace, x) for x in arrays])


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
def kron(trace: Trace, a: Any, b: Any) -> Traced:
    x, y = as_traced(trace, a), as_traced(trace, b)
    rank = max(x.ndim, y.ndim)
    x, y = (z.reshape((1,) * (rank - z.ndim) + z.shape) for z in (x, y))
    wide = x.reshape([n for size in x.shape for n in (size, 1)]) * y.reshape([n for size in y.shape for n in (1, size)])
    made: Traced = wide.reshape([n * m for n, m in zip(x.shape, y.shape, strict=True)])
    return made


@meaning(np.trace)
@method("trace")
def trace_(trace: Trace, a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Any:
    return np.sum(diagonal(trace, a, offset, axis1, axis2), axis=-1, dtype=dtype)


@meaning(np.diagonal)
@method("diagonal")
def diagonal(trace: Trace, a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    x = as_traced(trace, a)
    positions = np.diagonal(np.arange(x.size).reshape(x.shape), offset, axis1, axis2)
    read = cross(reshape(-1), identity) >> index[arg]
    return Traced(trace, None, View(x, read, None, (var_of(trace, positions),), "np.diagonal, whose result is read-only"))


@meaning(np.diag)
def diag(trace: Trace, v: Any, k: int = 0) -> Any:
    x = as_traced(trace, v)
    if x.ndim not in (1, 2):
        raise ValueError("Input must be 1- or 2-d.")
    if x.ndim == 2:
        return diagonal(trace, x, k)
    n = len(x) + abs(k)
    positions = np.full(n * n, len(x))
    positions[np.flatnonzero(np.diag(np.ones(len(x)), k).reshape(-1))] = np.arange(len(x))
    padded = np.concatenate([x, np.zeros(1, x.dtype)])
    return padded[positions].reshape(n, n)


@meaning(np.diagflat)
def diagflat(trace: Trace, v: Any, k: int = 0) -> Any:
    return diag(trace, np.ravel(as_traced(trace, v)), k)


@meaning(np.linalg.diagonal)
def diagonals(trace: Trace, x: Any, /, *, offset: int = 0) -> Any:
    return diagonal(trace, x, offset, -2, -1)


@meaning(np.linalg.trace)
def traces(trace: Trace, x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    return trace_(trace, x, offset, -2, -1, dtype)


@python_meaning(np.linalg.multi_dot)
def multi_dot(driver: Any, arrays: Any) -> Any:
    made = arrays[0]
    for one in arrays[1:]:
        made = made @ one
    return made
