"""NumPy's functions and methods of complex stand-ins.

Most are one of three kinds: those that move or add entries act on both parts alike (`_LIKE`), products are real products of the
parts (`_PRODUCTS`), and a few have a meaning of their own (`OWN`). Others are an error that names them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from catad import errors
from catad.traced.arrays import layout, protocols
from catad.traced.arrays.masked import Masked
from catad.traced.arrays.operators import matmul
from catad.traced.arrays.stand_in import Traced, computed, fresh
from catad.traced.names.making import from_nested
from catad.traced.pairs import ordering
from catad.traced.pairs.stand_in import Complex, as_pair, astype, pair_of_array, zeros_like
from catad.traced.pairs.universal import universal
from catad.traced.recorder import Trace
from catad.traced.table import COMPLEX_TOO, FUNCTIONS, METHODS
from catad.values.complex_numbers import complex_dtype, is_complex, is_complex_dtype, real_dtype
from catad.vector.scans.scan import scan

_FIRST = """reshape ravel flatten transpose permute_dims matrix_transpose swapaxes moveaxis rollaxis squeeze expand_dims
    broadcast_to flip fliplr flipud roll rot90 repeat tile resize tril triu take take_along_axis concatenate concat stack
    hstack vstack dstack column_stack block split array_split hsplit vsplit dsplit unstack delete diag diagflat diagonal
    trace sum cumsum cumulative_sum diff ediff1d copy sliding_window_view pad gradient trapezoid nan_to_num"""
_EACH = ("broadcast_arrays", "atleast_1d", "atleast_2d", "atleast_3d", "meshgrid")  # a result for each argument
_LIKE: dict[str, tuple[int, ...]] = {  # which arguments are data; the others say what is done with them
    **dict.fromkeys(_FIRST.split(), (0,)),
    **dict.fromkeys(["append", "linspace", "fill_diagonal"], (0, 1)),
    **dict.fromkeys(["insert", "put_along_axis", "put", "place", "putmask"], (0, 2)),
    "where": (1, 2), "extract": (1,), "select": (1, 2), "choose": (1,),
    **dict.fromkeys(_EACH, tuple(range(64))), "add.at": (1, 3), "subtract.at": (1, 3), "add.reduceat": (1,),
}  # fmt: skip
_NAMED = {"a", "arr", "x", "array", "m", "v", "A", "ary", "tup", "arrays", "values", "prepend", "append", "start", "stop", "y",
          "f", "choicelist", "default", "indices_or_sections", "constant_values", "end_values", "vals"}  # fmt: skip
_PRODUCTS = {"dot": "", "inner": "", "outer": "", "tensordot": "", "kron": "", "matvec": "", "convolve": "", "cross": "",
             "vdot": "first", "vecdot": "first", "vecmat": "first", "correlate": "second"}  # fmt: skip
_KNOW = {"zeros_like", "ones_like", "empty_like", "full_like"}  # complex numbers themselves
_METHODS = {"add.reduce": "sum", "add.accumulate": "cumsum", "multiply.reduce": "prod", "multiply.accumulate": "cumprod",
            "maximum.reduce": "max", "minimum.reduce": "min"}  # fmt: skip


def called(found: Callable[..., Any], trace: Trace, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A function of NumPy on arguments of which one is complex, or which is asked for a complex dtype."""
    kwargs = dict(kwargs)
    target = kwargs.pop("out", None)
    target = target[0] if isinstance(target, tuple) else target
    if found in COMPLEX_TOO:
        made = found(trace, *args, **kwargs)
    elif name in _METHODS:
        ufunc_args = (args[1], *((0,) if len(args) < 3 and "axis" not in kwargs else args[2:]))
        made = getattr(np, _METHODS[name])(*ufunc_args, **kwargs)
    elif name.endswith(".outer"):
        x, y = (as_pair(trace, one) for one in args[1:])
        made = universal(trace, args[0], (x.reshape(x.shape + (1,) * y.ndim), y), **kwargs)
    elif name in _KNOW:
        made = found(trace, *args, **kwargs)
    elif name in OWN:
        made = OWN[name](trace, *args, **kwargs)
    elif name in _PRODUCTS:
        made = _product(found, trace, name, args, kwargs)
    elif name == "einsum":
        made = _einsum(found, trace, args, kwargs)
    elif name in _LIKE:
        made = _alike(found, trace, name, args, kwargs)
    else:
        raise errors.TraceError(errors.not_for_complex(f"np.{name}"))
    return made if target is None else written(target, made)


def written(target: Any, made: Any, casting: Any = "same_kind") -> Any:
    """A result, put into the array given by `out=`."""
    if not isinstance(target, Complex):
        raise errors.SpaceError(errors.cannot_cast(made.dtype, getattr(target, "dtype", "real numbers"), casting))
    if isinstance(made, (Complex, Traced)) and made.shape != target.shape:
        raise errors.SpaceError(errors.unequal_spaces([made, target], "out="))
    target.assign_(made, casting)
    return target


# -- on both parts alike


def _alike(found: Callable[..., Any], trace: Trace, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    data = _LIKE[name]
    asked = kwargs.get("dtype")
    if asked is not None and not is_complex_dtype(asked):
        raise errors.TraceError(errors.not_for_complex(f"np.{name} with a real dtype"))

    def part(k: int) -> Any:
        own = [_part(trace, arg, k) if i in data else _real(name, arg) for i, arg in enumerate(args)]
        named = {key: _part(trace, arg, k) if key in _NAMED else _real(name, arg) for key, arg in kwargs.items()}
        return protocols.called(found, trace, name, tuple(own), named)

    initial = kwargs.pop("initial", None)
    re = part(0)
    made = joined(re, part(1))
    if name in _EACH and len(args) > 1:
        made = type(made)([z if is_complex(arg) else z.re for z, arg in zip(made, args, strict=True)])
    return made if initial is None else (made + initial).astype(made.dtype, copy=False)


def _part(trace: Trace, value: Any, k: int) -> Any:
    """The real (0) or imaginary part (1) of a number, an array, or a list of them."""
    if isinstance(value, (list, tuple)):
        return type(value)([_part(trace, one, k) for one in value])
    if isinstance(value, Complex):
        return (value.re, value.im)[k]
    if is_complex(value):
        both = pair_of_array(trace, value, "a captured array")
        return (both.re, both.im)[k]
    if k == 0 or value is None or isinstance(value, (str, type, np.dtype)):
        return value
    if isinstance(value, Traced):
        return zeros_like(value)
    return 0.0 if isinstance(value, (bool, int, float)) and not isinstance(value, np.generic) else np.zeros_like(value)


def _real(name: str, value: Any) -> Any:
    """An argument that says what is done; a complex dtype is that of the parts."""
    if is_complex_dtype(value):
        return real_dtype(value)
    if any(map(is_complex, layout.parts_in(value))):
        raise errors.TraceError(errors.not_for_complex(f"np.{name} with a complex number in this place"))
    return value


def joined(re: Any, im: Any) -> Any:
    """Results of both parts as complex ones."""
    if isinstance(re, (list, tuple)):
        return type(re)([joined(*both) for both in zip(re, im, strict=True)])
    return Complex(re, im) if isinstance(re, (Traced, Masked)) else re


# -- products


def _factors(xs: Sequence[Any], of: Callable[[Sequence[Any]], Any]) -> Any:
    """A product of several arrays, linear in each, of real and imaginary parts; real arrays have one part."""
    splits = [((x.re, 0), (x.im, 1)) if isinstance(x, Complex) else ((x, 0),) for x in xs]
    terms: list[list[Any]] = [[], [], [], []]
    stack: list[tuple[list[Any], int]] = [([], 0)]
    for split in splits:
        stack = [([*parts, part], power + k) for parts, power in stack for part, k in split]
    for parts, power in stack:
        terms[power % 4].append(of(parts))
    re = _difference([reduce(np.add, one) for one in terms[::2] if one], bool(terms[0]))
    im = _difference([reduce(np.add, one) for one in terms[1::2] if one], bool(terms[1]))
    return Complex(re, zeros_like(re) if im is None else im)


def _difference(found: list[Any], first: bool) -> Any:
    if not found:
        return None
    return found[0] - found[1] if len(found) == 2 else found[0] if first else -found[0]


def _operand(trace: Trace, x: Any) -> Any:
    """A complex operand as a pair; a real one as it is."""
    if isinstance(x, (list, tuple)) and any(map(is_complex, layout.parts_in(x))):
        return nested(trace, x)
    return as_pair(trace, x) if is_complex(x) else x


def _product(found: Callable[..., Any], trace: Trace, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    xs, after = list(args[:2]), args[2:]
    for key in ("a", "b", "x1", "x2", "v"):
        if key in kwargs and len(xs) < 2:
            xs.append(kwargs.pop(key))
    xs = [_operand(trace, x) for x in xs]
    conjugate = _PRODUCTS[name]
    if conjugate:
        k = 0 if conjugate == "first" else 1
        xs[k] = conj(trace, xs[k]) if isinstance(xs[k], Complex) else xs[k]
    return _factors(xs, lambda two: protocols.called(found, trace, name, (*two, *after), kwargs))


def _einsum(found: Callable[..., Any], trace: Trace, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if not args or not isinstance(args[0], str):
        raise errors.TraceError(errors.not_for_complex("np.einsum with lists of axes"))
    kwargs.pop("optimize", None)
    dtype = kwargs.pop("dtype", None)
    xs = [_operand(trace, x) for x in args[1:]]
    made = _factors(xs, lambda parts: protocols.called(found, trace, "einsum", (args[0], *parts), kwargs))
    return made if dtype is None else made.astype(dtype)


def product(trace: Trace, a: Any, b: Any, dtype: Any = None) -> Any:
    """The matrix product."""
    made = _factors([_operand(trace, a), _operand(trace, b)], lambda two: matmul(trace, *two))
    return made if dtype is None else made.astype(dtype, copy=False)


# -- nested lists


def nested(trace: Trace, thing: Any, dtype: Any = None, order: str | None = "K") -> Any:
    """`np.array` of numbers, arrays and nested lists, with complex numbers in them or a complex dtype: a new array."""
    real = None if dtype is None else real_dtype(dtype)
    made = [from_nested(trace, _nested_part(trace, thing, k), None, order) for k in (0, 1)]
    common = np.result_type(*[part.dtype for part in made], np.complex64) if real is None else complex_dtype(real)
    out = Complex(*[part.astype(real_dtype(common)) for part in made])
    out.re.is_array = out.im.is_array = True
    return out


def _nested_part(trace: Trace, thing: Any, k: int) -> Any:
    if isinstance(thing, (list, tuple)):
        return [_nested_part(trace, one, k) for one in thing]
    if isinstance(thing, complex) and not isinstance(thing, np.generic):
        return (thing.real, thing.imag)[k]
    return _part(trace, thing, k)


# -- functions with a meaning of their own


def conj(trace: Trace, z: Any) -> Any:
    return universal(trace, np.conjugate, (z,))


def filled_like(trace: Trace, a: Any, number: Any, dtype: Any, shape: Any, order: str) -> Any:
    """An array of one number like another one, where that or the dtype is complex."""
    like = a.re if isinstance(a, Complex) else a.real if is_complex(a) else a
    kind = np.dtype(a.dtype if dtype is None else dtype)
    if not is_complex_dtype(kind):
        if is_complex(number):
            raise errors.TraceError(errors.complex_in_real_place(number))
        return FUNCTIONS[np.full_like](trace, like, number, kind, order, True, shape)
    both, real = as_pair(trace, number), real_dtype(kind)
    numbers = [part if part.constant is None else part.constant for part in (both.re, both.im)]
    return Complex(*[FUNCTIONS[np.full_like](trace, like, one, real, order, True, shape) for one in numbers])


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


# -- attributes and methods


def attribute(self: Complex, name: str) -> Any:
    """A method or an attribute of a complex array."""
    if name in ("T", "mT"):
        return Complex(getattr(self.re, name), getattr(self.im, name))
    if name in ("device", "base"):
        return getattr(self.re, name)
    if name in ("sort", "partition"):
        return lambda *args, **kwargs: ordering.put_in_order(self, name, *args, **kwargs)
    found = OWN[name] if name == "view" else METHODS.get(name)
    if found is None or name == "flat":
        if name.startswith("_") or not hasattr(np.ndarray, name):
            raise AttributeError(f"'numpy.ndarray' object has no attribute {name!r}")
        raise errors.TraceError(errors.not_for_complex(f"x.{name}"))

    def method(*args: Any, **kwargs: Any) -> Any:
        return called(found, self.trace_, name, (self, *args), kwargs)

    return method


# -- making


def filled(trace: Trace, value: Any, dtype: Any, made: Callable[[Any, Any], Any]) -> Complex:
    """An array of one complex number; `made` makes a real one of a number and a dtype."""
    kind = np.result_type(value) if dtype is None and not isinstance(value, Complex) else value.dtype if dtype is None else dtype
    both = as_pair(trace, value)
    real = real_dtype(kind)
    return Complex(*[made(part if part.constant is None else part.constant, real) for part in (both.re, both.im)])
