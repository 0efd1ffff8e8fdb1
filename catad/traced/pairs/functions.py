"""NumPy's functions and methods of complex stand-ins.

Most are one of three kinds: those that move or add entries act on both parts alike (`_LIKE`), products are real products of the
parts (`_PRODUCTS`), and a few have a meaning of their own (`own_meanings.py`). Others are an error that names them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from catad import errors
from catad.traced.arrays import layout, protocols
from catad.traced.arrays.masked import Masked
from catad.traced.arrays.operators import matmul
from catad.traced.arrays.stand_in import Traced
from catad.traced.names.making import from_nested
from catad.traced.pairs import ordering
from catad.traced.pairs.own_meanings import OWN, conj, written
from catad.traced.pairs.stand_in import Complex, as_pair, pair_of_array, zeros_like
from catad.traced.pairs.universal import universal
from catad.traced.recorder import Trace
from catad.traced.table import COMPLEX_TOO, FUNCTIONS, METHODS
from catad.values.complex_numbers import complex_dtype, is_complex, is_complex_dtype, real_dtype

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
