"""NumPy's functions of complex stand-ins that have a meaning of their own, neither alike on both parts nor products of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from catad import errors
from catad.traced.arrays.stand_in import Traced, computed, fresh
from catad.traced.pairs import ordering
from catad.traced.pairs.stand_in import Complex, as_pair, astype
from catad.traced.pairs.universal import universal
from catad.traced.recorder import Trace
from catad.values.complex_numbers import is_complex
from catad.vector.scans.scan import scan


def written(target: Any, made: Any, casting: Any = "same_kind") -> Any:
    """A result, put into the array given by `out=`."""
    if not isinstance(target, Complex):
        raise errors.SpaceError(errors.cannot_cast(made.dtype, getattr(target, "dtype", "real numbers"), casting))
    if isinstance(made, (Complex, Traced)) and made.shape != target.shape:
        raise errors.SpaceError(errors.unequal_spaces([made, target], "out="))
    target.assign_(made, casting)
    return target


def conj(trace: Trace, z: Any) -> Any:
    return universal(trace, np.conjugate, (z,))


def _axes(z: Complex, axis: Any) -> tuple[int, ...]:
    return tuple(range(z.ndim)) if axis is None else normalize_axis_tuple(axis, z.ndim)


def _prod(
    trace: Trace, a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False, initial: Any = None, where: Any = True
) -> Any:
    """The product, of halves: so it takes few lines."""
    z: Any = as_pair(trace, a) if dtype is None else astype(as_pair(trace, a), dtype)
    if where is not True:
        z = np.where(where, z, z.dtype.type(1))
    axes = _axes(z, axis)
    shape = tuple([1 if k in axes else n for k, n in enumerate(z.shape)])
    rest = [k for k in range(z.ndim) if k not in axes]
    n = math.prod([z.shape[k] for k in axes])
    line: Any = np.transpose(z, [*rest, *axes]).reshape([*[z.shape[k] for k in rest], n])
    if n == 0:
        n, line = 1, as_pair(trace, np.ones((*line.shape[:-1], 1), z.dtype))
    while n > 1:
        both = line[..., : n // 2] * line[..., n // 2 : 2 * (n // 2)]
        line = np.concatenate([both, line[..., n - 1 :]], -1) if n % 2 else both
        n = line.shape[-1]
    made = line[..., 0] * 1.0 if initial is None else line[..., 0] * initial
    return made.reshape(shape) if keepdims else made


def _cumprod(trace: Trace, a: Any, axis: Any = None, dtype: Any = None) -> Any:
    z: Any = as_pair(trace, a) if dtype is None else astype(as_pair(trace, a), dtype)
    z = z.reshape(-1) if axis is None or not z.ndim else z
    at = 0 if axis is None else normalize_axis_index(axis, z.ndim)
    line = np.moveaxis(z, at, 0)
    if not line.shape[0]:
        return z.copy()
    term = scan(_times, (1.0, 0.0))
    made: Any = _of_term(trace, term, line)
    return np.moveaxis(made, 0, at)


def _times(s: tuple[float, float], u: tuple[float, float]) -> tuple[float, float]:
    return s[0] * u[0] - s[1] * u[1], s[0] * u[1] + s[1] * u[0]


def _of_term(trace: Trace, term: Any, z: Complex) -> Complex:
    made = computed(trace.region, term, (z.re.var_, z.im.var_))
    return Complex(*[fresh(trace, var) for var in made])


def _angle(trace: Trace, z: Any, deg: bool = False) -> Any:
    both = as_pair(trace, z)
    made = np.arctan2(both.im, both.re)
    return made * (180 / np.pi) if deg else made


def _var(trace: Trace, a: Any, axis: Any = None, dtype: Any = None, **more: Any) -> Any:
    z = as_pair(trace, a) if dtype is None else astype(as_pair(trace, a), dtype)
    made = z.re.var(axis=axis, **more) + z.im.var(axis=axis, **more)
    return made if dtype is None else made.astype(dtype)


def _norm(trace: Trace, x: Any, *args: Any, **kwargs: Any) -> Any:
    both = as_pair(trace, x)
    order = args[0] if args else kwargs.get("ord")
    axis = args[1] if len(args) > 1 else kwargs.get("axis")
    matrix = (both.ndim if axis is None else np.size(axis)) == 2
    if order in (None, "fro") or (order == 2 and not matrix):
        kwargs = {key: value for key, value in kwargs.items() if key != "ord"}
        together = np.stack([both.re, both.im])
        axes = tuple([k + 1 for k in _axes(both, axis)])
        squares = np.sum(together * together, axis=(0, *axes), keepdims=bool(kwargs.get("keepdims")))
        return np.sqrt(squares[0] if kwargs.get("keepdims") else squares)
    if matrix and order in (2, -2, "nuc"):
        return _norm_by_singular_values(both, order, axis, bool(kwargs.get("keepdims")))
    return np.linalg.norm(np.abs(both), *args, **kwargs)


def _norm_by_singular_values(z: Complex, order: Any, axis: Any, keepdims: bool) -> Any:
    axes = _axes(z, axis)
    last: Any = np.moveaxis(z, axes, (-2, -1))  # type: ignore[type-var]
    s = np.linalg.svdvals(last)
    made = np.sum(s, axis=-1) if order == "nuc" else np.max(s, axis=-1, initial=0) if order == 2 else np.min(s, axis=-1)
    return np.expand_dims(made, tuple(sorted(axes))) if keepdims else made


def _matrix_norm(trace: Trace, x: Any, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    return np.linalg.norm(x, ord, (-2, -1), keepdims)


def _reduced(function: Any) -> Callable[..., Any]:
    return lambda trace, a, *args, **kwargs: function(universal(trace, np.not_equal, (a, 0)), *args, **kwargs)


def _isclose(trace: Trace, a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Any:
    x: Any = as_pair(trace, a)
    y: Any = as_pair(trace, b)
    near = (abs(x - y) <= atol + rtol * abs(y)) & np.isfinite(y) | (x == y)
    return near | (np.isnan(x) & np.isnan(y)) if equal_nan else near


def _array_equal(trace: Trace, a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    x, y = as_pair(trace, a1), as_pair(trace, a2)
    if x.shape != y.shape:
        return False
    same = x == y
    return np.all(same | (np.isnan(x) & np.isnan(y)) if equal_nan else same)


def _round(trace: Trace, a: Any, decimals: int = 0) -> Any:
    z = as_pair(trace, a)
    return Complex(np.round(z.re, decimals), np.round(z.im, decimals))


def _astype(trace: Trace, x: Any, dtype: Any, *args: Any, **more: Any) -> Any:
    if isinstance(x, Complex):
        return astype(x, dtype, more.pop("copy", True), **more)
    return astype(as_pair(trace, x), dtype)


def _average(trace: Trace, a: Any, axis: Any = None, weights: Any = None, returned: bool = False, **more: Any) -> Any:
    z = as_pair(trace, a)
    if not is_complex(weights):
        if returned:
            raise errors.TraceError(errors.not_for_complex("np.average with returned=True"))
        return Complex(np.average(z.re, axis, weights, **more), np.average(z.im, axis, weights, **more))
    w = as_pair(trace, weights)
    if returned or w.shape != z.shape:
        raise errors.TraceError(errors.not_for_complex("np.average with complex weights of another shape, or returned=True"))
    return np.sum(z * w, axis=axis, **more) / np.sum(w, axis=axis, **more)


def _without_nan(function: Any, number: float) -> Callable[..., Any]:
    """Sums and products that leave out numbers of which a part is NaN."""

    def made(trace: Trace, a: Any, *args: Any, **kwargs: Any) -> Any:
        z = as_pair(trace, a)
        return function(np.where(np.isnan(z), z.dtype.type(number), z), *args, **kwargs)

    return made


def _mean(trace: Trace, a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False, where: Any = True) -> Any:
    """NumPy divides by a complex number: of an infinite part, the other one is NaN."""
    z: Any = as_pair(trace, a)
    total = z.sum(axis=axis, dtype=dtype, keepdims=keepdims, where=where)
    count = math.prod([z.shape[k] for k in _axes(z, axis)])
    if where is not True:
        count = np.sum(np.broadcast_to(where, z.shape), axis=axis, keepdims=keepdims)
    return (total / count).astype(total.dtype, copy=False)


def _nanmean(trace: Trace, a: Any, axis: Any = None, dtype: Any = None, **more: Any) -> Any:
    there = ~np.isnan(as_pair(trace, a))
    made = np.nansum(a, axis=axis, dtype=dtype, **more) / np.sum(there, axis=axis, **more)
    return made if dtype is not None else made.astype(a.dtype, copy=False)


def _sinc(trace: Trace, x: Any) -> Any:
    z = as_pair(trace, x)
    y = np.pi * np.where(universal(trace, np.equal, (z, 0)), z.dtype.type(1e-20), z)
    return np.sin(y) / y


def _isin(trace: Trace, element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, **_: Any) -> Any:
    z, tests = as_pair(trace, element), as_pair(trace, test_elements).reshape(-1)
    made = np.any(z[..., None] == tests, axis=-1)
    return ~made if invert else made


def _compress(trace: Trace, x: Any, y: Any, axis: Any = None) -> Any:
    """The function has the condition first, the method the array."""
    condition, z = (y, x) if is_complex(x) else (x, y)
    return Complex(*[np.compress(condition, part, axis) for part in (z.re, z.im)])


def _without(said: str, instead: str) -> Callable[..., Any]:
    """What has no meaning here, with what to write instead."""

    def made(trace: Trace, *args: Any, **kwargs: Any) -> Any:
        raise errors.TraceError(errors.not_for_complex(said, instead))

    return made


def _polyval(trace: Trace, p: Any, x: Any) -> Any:
    made: Any = as_pair(trace, x) * 0.0
    coefficients = as_pair(trace, p)
    for k in range(len(coefficients)):
        made = made * x + coefficients[k]
    return made


def _fill(trace: Trace, z: Any, value: Any) -> None:
    z[...] = value


def _copyto(trace: Trace, dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    written(dst, np.where(where, src, dst) if where is not True else np.broadcast_to(as_pair(trace, src), dst.shape), casting)


def _weakly(thing: Any) -> Any:
    if isinstance(thing, Complex):
        return thing.dtype if thing.python_type is None else 0j
    if isinstance(thing, Traced):
        return thing.dtype if thing.var_.weak is None else thing.var_.weak(0)
    return thing


OWN: dict[str, Callable[..., Any]] = {
    "conj": conj, "conjugate": conj, "prod": _prod, "cumprod": _cumprod, "angle": _angle, "var": _var, "norm": _norm,
    "matrix_norm": _matrix_norm, "vector_norm": lambda trace, x, **more: np.linalg.vector_norm(np.abs(as_pair(trace, x)), **more),
    "std": lambda trace, *args, **kwargs: np.sqrt(_var(trace, *args, **kwargs)),
    "real": lambda trace, val: as_pair(trace, val).re, "imag": lambda trace, val: as_pair(trace, val).im,
    "iscomplexobj": lambda trace, x: True, "isrealobj": lambda trace, x: False,
    "iscomplex": lambda trace, x: as_pair(trace, x).im != 0, "isreal": lambda trace, x: as_pair(trace, x).im == 0,
    "shape": lambda trace, a: a.shape, "ndim": lambda trace, a: a.ndim,
    "size": lambda trace, a, axis=None: a.size if axis is None else a.shape[axis],
    "any": _reduced(np.any), "all": _reduced(np.all), "count_nonzero": _reduced(np.count_nonzero), "isclose": _isclose,
    "allclose": lambda trace, *args, **kwargs: np.all(_isclose(trace, *args, **kwargs)), "array_equal": _array_equal,
    "round": _round, "around": _round, "astype": _astype, "average": _average, "polyval": _polyval, "fill": _fill,
    "copyto": _copyto, "nansum": _without_nan(np.sum, 0.0), "nancumsum": _without_nan(np.cumsum, 0.0),
    "nanprod": _without_nan(np.prod, 1.0), "nancumprod": _without_nan(np.cumprod, 1.0), "mean": _mean, "nanmean": _nanmean,
    "sinc": _sinc, "isin": _isin, "compress": _compress, "nonzero": _reduced(np.nonzero), "argwhere": _reduced(np.argwhere),
    "flatnonzero": _reduced(np.flatnonzero),
    "real_if_close": _without("np.real_if_close, whose dtype depends on the numbers,", "take z.real where it is real"),
    "view": _without("x.view", "take z.real and z.imag, views of the same memory, or np.stack([z.real, z.imag], -1)"),
    "unique": _without("np.unique, whose shape depends on the numbers,", "np.sort(z), and compare neighbours"),
    "multiply.at": _without("np.multiply.at", "write a loop, z[i] *= w, or compute the factors of each entry first"),
    **ordering.OWN,
    "result_type": lambda trace, *things: np.result_type(*map(_weakly, things)),
    "can_cast": lambda trace, from_, to, casting="safe": np.can_cast(_weakly(from_), to, casting),
    "common_type": lambda trace, *arrays: np.result_type(*[one.dtype for one in arrays], np.float16),
}  # fmt: skip
