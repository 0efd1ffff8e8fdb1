"""Complex numbers as pairs of real ones: `z = re + i im` is a container with two entries, `real` and `imag`.

catad computes with real arrays alone. Trees (`trees.py`) take a complex array apart where it enters, into two strided views of
its memory, and put it together where it leaves. So derivatives are those of real-linear maps on pairs: the gradient of a real
loss L is `dL/dre + i dL/dim`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from catad.values.arrays import array_module, common_module, in_blocks, is_stand_in

KEYS = ("real", "imag")
_REAL: dict[Any, Any] = {np.dtype(np.complex64): np.dtype(np.float32), np.dtype(np.complex128): np.dtype(np.float64)}
_COMPLEX: dict[Any, Any] = {real: both for both, real in _REAL.items()}


class ComplexPair:
    """The kind of complex values in trees, and the base class of the stand-ins for them, which have attributes `re` and `im`."""

    __slots__ = ()
    re: Any
    im: Any

    if TYPE_CHECKING:  # what stand-ins have

        def __getattr__(self, name: str) -> Any: ...
        def __add__(self, other: Any) -> Any: ...
        def __sub__(self, other: Any) -> Any: ...
        def __mul__(self, other: Any) -> Any: ...
        def __matmul__(self, other: Any) -> Any: ...


class Parts(NamedTuple):
    """What stands for a complex value where its parts are no real arrays of one shape, such as blocks of a Jacobian."""

    real: Any
    imag: Any


def is_complex(value: Any) -> bool:
    """True for complex numbers, for complex arrays, and for stand-ins of these.

    >>> is_complex(1j), is_complex(np.zeros(2, np.complex64)), is_complex(1.0)
    (True, True, False)
    """
    if isinstance(value, (np.ndarray, np.generic)):
        return bool(value.dtype.kind == "c")
    if isinstance(value, (complex, ComplexPair)):
        return True
    if is_stand_in(value) or not hasattr(type(value), "dtype"):  # to ask a real stand-in for anything is to use it
        return False
    return getattr(value.dtype, "kind", None) == "c" and array_module(value) is not None


def is_complex_dtype(thing: Any) -> bool:
    """True for what names a complex dtype: `complex`, `np.complex64`, a dtype."""
    if isinstance(thing, np.dtype):
        return thing.kind == "c"
    if isinstance(thing, str):
        return thing.lstrip("<>=|") in ("complex", "complex64", "complex128", "c8", "c16")
    return isinstance(thing, type) and issubclass(thing, (complex, np.complexfloating))


def real_dtype(dtype: Any) -> np.dtype[Any]:
    """The dtype of the parts of complex numbers; raises `KeyError` for other dtypes.

    >>> real_dtype(complex), real_dtype("complex64")
    (dtype('float64'), dtype('float32'))
    """
    found: np.dtype[Any] = _REAL[np.dtype(dtype).newbyteorder("=")]
    return found


def complex_dtype(dtype: Any) -> np.dtype[Any]:
    """The dtype of complex numbers with parts of a dtype of floats."""
    found: np.dtype[Any] = _COMPLEX[np.dtype(dtype)]
    return found


def parts_of(value: Any) -> list[Any]:
    """Real and imaginary part: of an array, views of its memory."""
    return [value.re, value.im] if isinstance(value, ComplexPair) else [value.real, value.imag]


def complex_of(xp: Any, re: Any, im: Any) -> Any:
    """A new array of complex numbers with these parts, arrays of one dtype of floats."""
    both = xp.empty(re.shape, dtype=_COMPLEX[re.dtype])
    both.real, both.imag = re, im
    return both


def paired(re: Any, im: Any) -> Any:
    """The complex value with these parts: an array, a number, or a stand-in; `Parts` of what has no complex value.

    >>> paired(np.ones(1), np.zeros(1)), paired(1.0, 2.0)
    (array([1.+0.j]), (1+2j))
    """
    for part in (re, im):
        made = getattr(type(part), "paired_", None)
        if made is not None:
            return made(re, im)
    if isinstance(re, float) and isinstance(im, float) and not isinstance(re, np.generic):
        return complex(re, im)
    if array_module(re) is None or array_module(im) is None or re.shape != im.shape or re.dtype != im.dtype:
        return Parts(re, im)
    if re.dtype not in _COMPLEX:
        return Parts(re, im)
    xp = common_module([re, im])
    if in_blocks(xp):
        return xp.paired(re, im)
    both = complex_of(xp, re, im)
    return both if both.ndim or xp is not np else both[()]
