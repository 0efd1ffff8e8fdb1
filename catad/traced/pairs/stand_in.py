"""`Complex`: the stand-in for a complex array while a function is traced. It holds two real stand-ins.

What an operation means is a formula on the two, so programs, rules and engines have real arrays alone. Views show both parts:
`z.real` is the real stand-in itself, and writing into it writes into `z`. Universal functions are in
`universal.py`, other functions in `functions.py`.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from catad import errors
from catad.scalar.operators import OPERATORS
from catad.traced.arrays.masked import Masked
from catad.traced.arrays.operators import assign, cast, matmul, pointwise
from catad.traced.arrays.protocols import array_function, array_ufunc
from catad.traced.arrays.ragged import Ragged
from catad.traced.arrays.stand_in import Traced, constant, fresh
from catad.traced.recorder import Trace, Uniform, the_trace
from catad.values.arrays import is_weak, refuse_blocks
from catad.values.complex_numbers import ComplexPair, complex_dtype, is_complex, is_complex_dtype, real_dtype


class Complex(ComplexPair):
    """A complex array of two real stand-ins of one shape and one dtype of floats; a Python number where both are such."""

    __slots__ = ("__weakref__", "im", "re")
    __array_priority__ = 2000.0
    __array_ufunc__, __array_function__ = array_ufunc, array_function

    def __init__(self, re: Any, im: Any) -> None:
        self.re, self.im = re, im

    def __getattr__(self, name: str) -> Any:
        from catad.traced.pairs.functions import attribute  # late: that module makes pairs

        return attribute(self, name)

    @property
    def trace_(self) -> Trace:
        return self.re.trace_  # type: ignore[no-any-return]

    @property
    def owner_(self) -> Trace:
        return self.re.owner_  # type: ignore[no-any-return]

    @property
    def dtype(self) -> np.dtype[Any]:
        return complex_dtype(self.re.dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.re.shape  # type: ignore[no-any-return]

    @property
    def ndim(self) -> int:
        return self.re.ndim  # type: ignore[no-any-return]

    @property
    def size(self) -> int:
        return self.re.size  # type: ignore[no-any-return]

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize

    @property
    def python_type(self) -> type | None:
        """`complex` for what stands for a number of Python; None for arrays and numbers of NumPy."""
        return complex if not isinstance(self.re, Masked) and self.re.python_type and self.im.python_type else None

    @property
    def is_mutable(self) -> bool:
        return self.re.is_mutable  # type: ignore[no-any-return]

    @property
    def is_view(self) -> bool:
        return not isinstance(self.re, Masked) and self.re.is_view

    @property
    def constant(self) -> Any:
        """The array, where it depends on no argument; else None."""
        parts = self.re.constant, self.im.constant
        if parts[0] is None or parts[1] is None:
            return None
        return _array(parts, self.dtype)

    @property
    def real(self) -> Any:
        return self.re

    @real.setter
    def real(self, value: Any) -> None:
        _write_part(self, self.re, value, "real")

    @property
    def imag(self) -> Any:
        return self.im

    @imag.setter
    def imag(self, value: Any) -> None:
        _write_part(self, self.im, value, "imag")

    # -- entries

    def __len__(self) -> int:
        return len(self.re)

    def __iter__(self) -> Iterator[Any]:
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        return (self[k] for k in range(self.shape[0]))

    def __getitem__(self, key: Any) -> Any:
        return Complex(self.re[key], self.im[key])

    def __setitem__(self, key: Any, value: Any) -> None:
        pair = as_pair(self.trace_, value)
        re, im = pair.re, settled(pair.im)
        self.re[key] = re
        self.im[key] = im

    def assign_(self, value: Any, casting: Any = "unsafe") -> None:
        """Write a value into the whole of the array."""
        pair = as_pair(self.trace_, value)
        im = settled(pair.im)
        assign(self.re, pair.re, casting)
        assign(self.im, im, casting)

    # -- where numbers would be needed

    def __bool__(self) -> bool:
        return bool(pointwise(self.trace_, np.not_equal, self, 0))

    def __complex__(self) -> complex:
        return complex(float(self.re), float(self.im))

    def __float__(self) -> float:
        raise TypeError("float() argument must be a string or a real number, not 'complex'")

    def __int__(self) -> int:
        raise TypeError("int() argument must be a string, a bytes-like object or a real number, not 'complex'")

    def __hash__(self) -> int:
        return hash(complex(self))

    def item(self, *args: Any) -> Any:
        return complex(self.re.item(*args), self.im.item(*args))

    def tolist(self) -> Any:
        return _array([np.asarray(self.re), np.asarray(self.im)], self.dtype).tolist()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(_array([np.asarray(self.re), np.asarray(self.im)], self.dtype), dtype=dtype)

    def __reduce__(self) -> Any:
        raise errors.TraceError(errors.needs_a_number(self.re, "pickle"))

    def __repr__(self) -> str:
        if not self.owner_.open:
            return "<stand-in of a trace that is over>"
        name = "" if isinstance(self.re, Masked) else (self.re.var_.name or "").removesuffix(".real").removesuffix("_re")
        name = f"{name}: " if name else ""
        return f"<{name}ct.c{8 * self.itemsize}[{', '.join(map(str, self.shape))}]>"

    def named_(self, name: str) -> None:
        for part, said in ((self.re, "re"), (self.im, "im")):
            if isinstance(part, Traced):
                part.named_(name if name.startswith("__catad") else f"{name}_{said}")


def _array(parts: Any, dtype: Any) -> Any:
    made = np.empty(parts[0].shape, dtype)
    made.real, made.imag = parts
    return made


def _write_part(z: Complex, part: Any, value: Any, name: str) -> None:
    if not z.is_mutable:
        raise AttributeError(f"attribute '{name}' of 'numpy.{z.dtype}' objects is not writable")
    part[...] = value


# -- making pairs


def pair(re: Any, im: Any) -> Complex:
    """The complex stand-in of two parts, of which one may be a number or an array."""
    trace = the_trace()
    made = [part if isinstance(part, (Traced, Masked)) else _constant(trace, part, None) for part in (re, im)]
    return Complex(*made)


def _constant(trace: Trace, part: Any, origin: str | None) -> Any:
    return constant(trace, np.asarray(refuse_blocks(part)), float if is_weak(part) else None, origin)


def pair_of_array(trace: Trace, array: Any, origin: str | None = None) -> Complex:
    """The stand-in for a complex array or a number that depends on no argument."""
    if type(array) is complex:
        return Complex(_constant(trace, array.real, None), _constant(trace, array.imag, None))
    made = Complex(_constant(trace, array.real, origin), _constant(trace, array.imag, origin))
    if isinstance(array, np.ndarray):
        made.re.is_array = made.im.is_array = True
    return made


def as_pair(trace: Trace, x: Any) -> Complex:
    """Any number or array as a complex stand-in; of a real one the imaginary part is zero."""
    if isinstance(x, Complex):
        return x
    if is_complex(x):
        return pair_of_array(trace, x, "a captured array")
    if isinstance(x, (list, tuple)):
        from catad.traced.pairs.functions import nested  # late, as above

        return as_pair(trace, nested(trace, x))
    if is_weak(x):
        return Complex(constant(trace, np.asarray(float(x)), float), constant(trace, np.asarray(0.0), float))
    if isinstance(x, Ragged):
        x.unknown_("the length of a slice")
    if isinstance(x, Masked):
        both = as_pair(trace, x.full)
        return Complex(Masked(x.mask, both.re), Masked(x.mask, both.im))
    x = x if isinstance(x, Traced) else constant(trace, np.asarray(refuse_blocks(x)), origin="a captured array")
    var = x.var_
    if var.weak is not None:
        re = x if var.weak is float else x * 1.0
        return Complex(re, constant(trace, np.asarray(0.0), float))
    dtype = real_dtype(np.result_type(x.dtype, np.complex64))
    re = x if x.dtype == dtype else fresh(trace, cast(trace, var, dtype))
    return Complex(re, zeros_like(re))


def zeros_like(x: Any) -> Any:
    """Zeros in the shape and dtype of a stand-in."""
    made = constant(x.trace_, Uniform(x.dtype.type(0), x.shape))
    made.is_array = x.is_array
    return made


def settled(x: Any) -> Any:
    """The array as it is now: a view would show what is written into its base later."""
    return fresh(x.trace_, x.var_) if isinstance(x, Traced) and x.is_view else x


def astype(z: Complex, dtype: Any, copy: bool = True, **more: Any) -> Any:
    """NumPy's `astype` of a complex array: a real dtype drops the imaginary part, with NumPy's warning."""
    if is_complex_dtype(dtype):
        real = real_dtype(dtype)
        if real == z.re.dtype and not copy:
            return z
        return Complex(z.re.astype(real), z.im.astype(real))
    if np.dtype(dtype).kind == "b":
        return pointwise(z.trace_, np.not_equal, z, 0)
    if more.get("casting", "unsafe") != "unsafe":
        wanted, rule = np.dtype(dtype), more["casting"]
        raise TypeError(f"Cannot cast array data from {z.dtype!r} to {wanted!r} according to the rule {rule!r}")
    warnings.warn(
        "Casting complex values to real discards the imaginary part", np.exceptions.ComplexWarning, stacklevel=2
    )
    return z.re.astype(dtype)


# -- operators


def _binary(ufunc: np.ufunc, swapped: bool) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        if not hasattr(other, "dtype") and not isinstance(other, (bool, int, float, complex, list, tuple)):
            return NotImplemented
        return pointwise(self.trace_, ufunc, *((other, self) if swapped else (self, other)))

    return method


def _in_place(op: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        made = op(self, other)
        if isinstance(self.re, Masked):
            assign(self.re.full, made.re.full, "same_kind")
            assign(self.im.full, made.im.full, "same_kind")
            return self
        if self.re.is_array is None:
            raise errors.TraceError(errors.array_or_number(self.re))
        if not self.is_mutable:
            return made
        self.assign_(made, "same_kind")
        return self

    return method


_COMPARED = ("lt", "le", "gt", "ge", "eq", "ne")
for _one in OPERATORS:
    _name = _one.function.rstrip("_")
    if not _one.op:  # the matrix product
        continue
    _ufunc = getattr(np, _one.numpy)
    setattr(Complex, f"__{_name}__", _binary(_ufunc, False))
    if _name not in _COMPARED:
        setattr(Complex, f"__r{_name}__", _binary(_ufunc, True))
        setattr(Complex, f"__i{_name}__", _in_place(getattr(operator, _one.function)))
for _name, _unary in [("neg", np.negative), ("pos", np.positive), ("abs", np.absolute), ("invert", np.invert)]:
    setattr(Complex, f"__{_name}__", lambda self, ufunc=_unary: pointwise(self.trace_, ufunc, self))
for _name, _method in [
    ("matmul", lambda self, other: matmul(self.trace_, self, other)),
    ("rmatmul", lambda self, other: matmul(self.trace_, other, self)),
    ("imatmul", _in_place(operator.matmul)),
]:
    setattr(Complex, f"__{_name}__", _method)
