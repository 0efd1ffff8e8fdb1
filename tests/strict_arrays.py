"""An array library that offers only what CuPy documents, and refuses to become NumPy silently.

It stands in for CuPy where there is no GPU: any use of a function that CuPy lacks, any mixture with a NumPy array and any
implicit conversion to one fails. Zero-dimensional results are arrays, as on the GPU, not scalars.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import operator
import sys
from types import FunctionType, MethodType, ModuleType
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
import scipy.special

from catad.category.boxes import Nesting
from catad.values.arrays import asarray

DOCUMENTED = frozenset(
    [
        "abs",
        "absolute",
        "add",
        "all",
        "any",
        "arange",
        "arccos",
        "arccosh",
        "arcsin",
        "arcsinh",
        "arctan",
        "arctan2",
        "arctanh",
        "argmax",
        "argsort",
        "array",
        "asarray",
        "bincount",
        "broadcast_to",
        "cbrt",
        "ceil",
        "concatenate",
        "conjugate",
        "copysign",
        "count_nonzero",
        "cos",
        "cosh",
        "cumprod",
        "cumsum",
        "deg2rad",
        "delete",
        "diagonal",
        "divide",
        "empty",
        "empty_like",
        "equal",
        "exp",
        "exp2",
        "expm1",
        "eye",
        "fabs",
        "flatnonzero",
        "flip",
        "floor",
        "floor_divide",
        "fmax",
        "fmin",
        "fmod",
        "frexp",
        "full",
        "full_like",
        "greater",
        "greater_equal",
        "heaviside",
        "hypot",
        "indices",
        "invert",
        "isfinite",
        "isinf",
        "isnan",
        "ldexp",
        "less",
        "less_equal",
        "log",
        "log10",
        "log1p",
        "log2",
        "logaddexp",
        "logical_and",
        "logical_not",
        "logical_or",
        "logical_xor",
        "matmul",
        "max",
        "maximum",
        "min",
        "minimum",
        "mod",
        "modf",
        "moveaxis",
        "multiply",
        "nan_to_num",
        "negative",
        "nextafter",
        "nonzero",
        "not_equal",
        "ones",
        "ones_like",
        "power",
        "prod",
        "rad2deg",
        "reciprocal",
        "remainder",
        "reshape",
        "rint",
        "searchsorted",
        "sign",
        "signbit",
        "sin",
        "sinc",
        "sinh",
        "sqrt",
        "square",
        "stack",
        "subtract",
        "sum",
        "swapaxes",
        "take",
        "take_along_axis",
        "tan",
        "tanh",
        "transpose",
        "trapezoid",
        "tril",
        "triu",
        "true_divide",
        "trunc",
        "where",
        "zeros",
        "zeros_like",
    ]
)
"""Functions of NumPy that CuPy's reference lists under the same name (docs.cupy.dev, routines and ufuncs)."""

OF_ARRAYS = frozenset(
    [
        "all",
        "any",
        "argmax",
        "argsort",
        "bincount",
        "broadcast_to",
        "concatenate",
        "cumprod",
        "cumsum",
        "diagonal",
        "flip",
        "max",
        "min",
        "moveaxis",
        "nonzero",
        "reshape",
        "searchsorted",
        "stack",
        "sum",
        "swapaxes",
        "take",
        "take_along_axis",
        "transpose",
    ]
)
"""Those that take no numbers and lists in place of arrays."""

CONSTANTS = ("bool_", "e", "float32", "float64", "inf", "int32", "int64", "nan", "newaxis", "pi", "uint8")


_owners: WeakValueDictionary[int, StrictArray] = WeakValueDictionary()


class StrictArray:
    """An array of the strict library; wraps a NumPy array that nobody outside gets at."""

    __array_ufunc__ = None
    __array_priority__ = 100

    def __init__(self, data: np.ndarray) -> None:
        self._data = data
        _owners.setdefault(id(data), self)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("implicit conversion to a NumPy array is not allowed; use .get()")

    def __array_namespace__(self, api_version: str | None = None) -> Any:
        return strict

    def get(self) -> np.ndarray:
        """The values as a NumPy array, as CuPy's method of this name."""
        return self._data.copy()

    shape = property(lambda self: self._data.shape)
    dtype = property(lambda self: self._data.dtype)
    ndim = property(lambda self: self._data.ndim)
    size = property(lambda self: self._data.size)
    nbytes = property(lambda self: self._data.nbytes)
    strides = property(lambda self: self._data.strides)
    @property
    def base(self) -> StrictArray | None:
        """The array whose memory a view shows, None for others."""
        data = self._data
        while isinstance(data.base, np.ndarray):
            data = data.base
        if data is self._data:
            return None
        known = _owners.get(id(data))
        return type(self)(data) if known is None else known

    T = property(lambda self: _wrap(self._data.T, type(self)))
    real = property(lambda self: _wrap(self._data.real, type(self)), lambda self, x: setattr(self._data, "real", _unwrap(x)))
    imag = property(lambda self: _wrap(self._data.imag, type(self)), lambda self, x: setattr(self._data, "imag", _unwrap(x)))

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, key: Any) -> Any:
        return _wrap(self._data[_unwrap(key)], type(self))

    def __setitem__(self, key: Any, value: Any) -> None:
        self._data[_unwrap(key)] = _unwrap(value)

    def __bool__(self) -> bool:
        return bool(self._data)

    def __int__(self) -> int:
        return int(self._data)

    def __float__(self) -> float:
        return float(self._data)

    def __index__(self) -> int:
        return operator.index(self._data[()])

    def __repr__(self) -> str:
        return f"strict.{self._data!r}"

    def __str__(self) -> str:
        return str(self._data)

    __hash__ = None  # type: ignore[assignment]


def _method(name: str) -> Any:
    def method(self: StrictArray, *args: Any, **kwargs: Any) -> Any:
        made = getattr(self._data, name)(*map(_unwrap, args), **{k: _unwrap(v) for k, v in kwargs.items()})
        return _wrap(made, type(self))

    return method


for _name in (
    "reshape",
    "astype",
    "copy",
    "sum",
    "any",
    "all",
    "min",
    "max",
    "ravel",
    "transpose",
    "item",
    "tolist",
    "take",
    "view",
):
    setattr(StrictArray, _name, _method(_name))


def _operator(name: str) -> Any:
    def method(self: StrictArray, other: Any = None) -> Any:
        mine = getattr(self._data, name)
        return _wrap(mine() if other is None else mine(_unwrap(other)), type(self))

    return method


for _name in ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "matmul", "lshift", "rshift"]:
    setattr(StrictArray, f"__{_name}__", _operator(f"__{_name}__"))
    setattr(StrictArray, f"__r{_name}__", _operator(f"__r{_name}__"))
for _name in ("neg", "abs", "invert", "pos", "lt", "le", "gt", "ge", "eq", "ne"):
    setattr(StrictArray, f"__{_name}__", _operator(f"__{_name}__"))


def _wrap(value: Any, kind: type[StrictArray] = StrictArray) -> Any:
    if isinstance(value, (np.ndarray, np.generic)):
        return kind(np.asarray(value))
    if isinstance(value, (tuple, list)) and any(isinstance(v, (np.ndarray, np.generic)) for v in value):
        return type(value)([_wrap(v, kind) for v in value])
    return value


def _unwrap(value: Any) -> Any:
    if isinstance(value, StrictArray):
        return value._data
    if isinstance(value, np.ndarray):
        raise TypeError("unsupported type numpy.ndarray: move it with strict.asarray first")
    if isinstance(value, (tuple, list)):
        return type(value)(map(_unwrap, value))
    return value


def _parts(given: Any) -> Any:
    return given if isinstance(given, (tuple, list)) else (given,)


class _Function:
    """A documented function, without the methods of ufuncs: CuPy's `reduceat` subtracts running sums, which keep the rounding
    and the infinities of all numbers before."""

    def __init__(self, name: str, kind: type[StrictArray]) -> None:
        self.name, self.kind = name, kind

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.name in ("asarray", "array"):
            made = getattr(np, self.name)(*[a._data if isinstance(a, StrictArray) else a for a in args], **kwargs)
            # CuPy clears the memory for a number that equals 0, as -0.0 does
            return self.kind(made if made.ndim or made or isinstance(args[0], StrictArray) else np.zeros_like(made))
        if self.name in OF_ARRAYS and not all(isinstance(a, StrictArray) for a in _parts(args[0])):
            raise TypeError(f"{self.name} takes arrays of the library, not {args[0]!r}")
        kwargs = {k: _unwrap(v) for k, v in kwargs.items()}
        if self.name == "power":  # NumPy takes a square root for the one exponent 0.5; other libraries do not
            x, n = map(_unwrap, args)
            many = isinstance(n, float) and n == 0.5 and np.ndim(x) and np.asarray(x).dtype.kind == "f"
            return _wrap(np.power(x, np.full(np.shape(x), n, np.asarray(x).dtype) if many else n, **kwargs), self.kind)
        return _wrap(getattr(np, self.name)(*map(_unwrap, args), **kwargs), self.kind)


class _Linalg:
    """The module `linalg`, as far as CuPy documents it and it is used; as there, a singular matrix is not noticed."""

    @staticmethod
    def solve(a: StrictArray, b: StrictArray) -> StrictArray:
        """CuPy factorises the matrices of a stack one by one."""
        made = np.full(b.shape, np.nan)
        for k, (one, right) in enumerate(zip(_unwrap(a), _unwrap(b), strict=True)):
            if np.linalg.matrix_rank(one) == len(one):
                made[k] = np.linalg.solve(one, right)
        return type(b)(made.astype(b.dtype))

    @staticmethod
    def cholesky(a: StrictArray) -> StrictArray:
        """NaN of a matrix that is not positive definite."""
        made = np.full(a.shape, np.nan)
        for k, one in enumerate(_unwrap(a)):
            with contextlib.suppress(np.linalg.LinAlgError):
                made[k] = np.linalg.cholesky(one)
        return type(a)(made.astype(a.dtype))

    @staticmethod
    def svd(a: StrictArray, full_matrices: bool = True, compute_uv: bool = True) -> Any:
        made: Any = np.linalg.svd(_unwrap(a), full_matrices, compute_uv)
        return tuple([type(a)(one) for one in made]) if compute_uv else type(a)(made)

    @staticmethod
    def eigh(a: StrictArray, UPLO: str = "L") -> tuple[StrictArray, ...]:
        return tuple([type(a)(one) for one in np.linalg.eigh(_unwrap(a), UPLO)])

    @staticmethod
    def eigvalsh(a: StrictArray, UPLO: str = "L") -> StrictArray:
        return type(a)(np.linalg.eigvalsh(_unwrap(a), UPLO))

    @staticmethod
    def qr(a: StrictArray, mode: str = "reduced") -> tuple[StrictArray, ...]:
        return tuple([type(a)(one) for one in np.linalg.qr(_unwrap(a), mode)])

    @staticmethod
    def det(a: StrictArray) -> StrictArray:
        return type(a)(np.asarray(np.linalg.det(_unwrap(a))))


class _Fourier:
    """The module `fft`, as far as it is used: transforms by axes."""

    def __getattr__(self, name: str) -> Any:
        if name not in ("fft", "rfft", "fftn", "ifftn", "rfftn", "irfftn"):
            raise AttributeError(name)
        return lambda a, *args, **kwargs: type(a)(getattr(np.fft, name)(_unwrap(a), *args, **kwargs))


class Strict:
    """The module, with arrays of a kind."""

    kind: type[StrictArray] = StrictArray
    function: type[_Function] = _Function
    __name__ = "cupy"  # code that asks by name for what only CuPy has gets the stand-ins below

    def __getattr__(self, name: str) -> Any:
        if name in CONSTANTS:
            return getattr(np, name)
        if name == "linalg":
            return _Linalg
        if name == "fft":
            return _Fourier()
        if name not in DOCUMENTED:
            raise AttributeError(f"the strict array library has no {name}: CuPy does not document it")
        function = self.function(name, self.kind)
        setattr(self, name, function)
        return function


strict: Any = Strict()


class _Special(ModuleType):
    """A stand-in for `cupyx.scipy.special`: SciPy's functions of the same names, on strict arrays."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        function = getattr(scipy.special, name)

        def call(*args: Any) -> Any:
            plain = [_unwrap(a) for a in args]
            dtype = plain[-1].dtype
            wide = [a.astype(np.float64) if getattr(a, "dtype", None) == np.float32 else a for a in plain]
            return _wrap(np.asarray(function(*wide)).astype(dtype), type(args[-1]))

        return call


class _OfSciPy(ModuleType):
    """A stand-in for a module of `cupyx.scipy`: SciPy's functions of the same names, on strict arrays."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        function = getattr(importlib.import_module(self.__name__.removeprefix("cupyx.")), name)

        def call(*args: Any, **options: Any) -> Any:
            made = function(*[tuple(map(_unwrap, a)) if isinstance(a, tuple) else _unwrap(a) for a in args], **options)
            kind = type(args[0][0] if isinstance(args[0], tuple) else args[0])
            return tuple([_wrap(one, kind) for one in made]) if isinstance(made, tuple) else _wrap(made, kind)

        return call


if importlib.util.find_spec("cupyx") is None:
    for _name in ("fft", "linalg", "signal"):
        sys.modules.setdefault(f"cupyx.scipy.{_name}", _OfSciPy(f"cupyx.scipy.{_name}"))
    for _name in ("cupyx", "cupyx.scipy"):
        sys.modules.setdefault(_name, ModuleType(_name))
    sys.modules.setdefault("cupyx.scipy.special", _Special("cupyx.scipy.special"))


def on_arrays_of(xp: Any, call: Any, wait: Any = lambda: None) -> Any:
    """Have `Program.__call__` run programs on NumPy arrays on arrays of another library instead; `wait` is called after each."""

    def wrapped(self: Any, library: Any, leaves: Any) -> Any:
        if library is not np:
            return call(self, library, leaves)
        outs = call(self, xp, [asarray(xp, leaf) for leaf in leaves])
        wait()
        return [out.get()[()] for out in outs]

    return wrapped


def with_checked_results(make: Any) -> Any:
    """Have `Program._run` make runs whose array code gives results of the dtypes and shapes that the wiring says."""

    def run(self: Any, steps: Any, outputs: Any) -> Any:
        wires = self.wiring.wires

        def checked(step: Any) -> Any:
            kernel, ins, outs = step
            if not isinstance(kernel, (FunctionType, MethodType)) or isinstance(getattr(kernel, "__self__", None), Nesting):
                return step  # compiled, or a generator, whose programs are checked themselves

            def call(xp: Any, *arrays: Any) -> Any:
                made = kernel(xp, *arrays)
                for array, k in zip((made,) if len(outs) == 1 else made, outs, strict=True):
                    if k >= len(wires):  # an engine's own, of boxes that it wrote in place of others
                        continue
                    found = (tuple(array.shape), np.dtype(array.dtype))
                    assert found == (wires[k].shape, wires[k].dtype), f"{kernel} makes {found} for {wires[k]}"
                return made

            return call, ins, outs

        return make(self, [checked(step) for step in steps], outputs)

    return run
