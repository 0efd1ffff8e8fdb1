"""What is taken as an array: one rule, through which everything goes that a caller gives as one.

An array is its numbers, a shape and a dtype, and nothing more. Taken are `numpy.ndarray`, NumPy scalars and `numpy.memmap`, all
as plain arrays in the byte order of the machine, and the arrays of CuPy. What means more than its numbers is refused by a message
that says how to convert it: a mask, a product of matrices, labels that align, units, a tape of gradients, work still to be done.
Whether that may be left out is the caller's to say. No other library is imported: types are known by their names.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

from catad import errors

Array = Any  # an array of NumPy, CuPy or another library with the same API


def array_module(array: Any) -> ModuleType | None:
    """The module an array belongs to, `numpy` or `cupy`; None for all else."""
    if isinstance(array, (np.ndarray, np.generic)):
        return np
    kind = type(array)
    if kind.__module__.partition(".")[0] == "cupy":
        return sys.modules["cupy"]
    namespace = getattr(kind, "__array_namespace__", None)
    found = None if namespace is None else namespace(array)
    return found if getattr(found, "__name__", None) == "cupy" else None  # it offers what CuPy does


def common_module(arrays: Sequence[Any]) -> Any:
    """The one module that all arrays belong to (NumPy where there are only numbers); mixing two is an error."""
    found: ModuleType | None = None
    first = 0
    for i, array in enumerate(arrays):
        xp = array_module(array)
        if xp is None or xp is found:
            continue
        if found is not None:
            raise errors.DeviceError(errors.mixed_devices(found.__name__, first, xp.__name__, i))
        found, first = xp, i
    return np if found is None else found


def is_weak(thing: Any) -> bool:
    """Whether this is a Python number, which takes its dtype from what it meets."""
    return isinstance(thing, (bool, int, float)) and not isinstance(thing, np.generic)


def as_array(thing: Any) -> Array:
    """The array that is meant, as a plain one; raises `SpaceError` for what is none, or more than one.

    >>> as_array(np.arange(3, dtype=">i4")).dtype == np.int32
    True
    """
    kind = type(thing)
    if kind is np.ndarray or isinstance(thing, np.generic):
        return thing if thing.dtype.isnative else thing.astype(thing.dtype.newbyteorder("="))
    if kind is np.memmap:
        return as_array(np.asarray(thing))
    if not isinstance(thing, np.ndarray) and array_module(thing) is not None:
        return thing
    raise errors.SpaceError(errors.not_a_value(thing))


def weak_dtype(number: float, beside: Sequence[np.dtype[Any]]) -> np.dtype[Any]:
    """The dtype that a Python number takes beside arrays of these dtypes (NEP 50): that of the arrays of its kind or a wider one.

    >>> weak_dtype(1, [np.dtype("int8")]), weak_dtype(1.5, [np.dtype("int8")]), weak_dtype(1, [np.dtype("float32")])
    (dtype('int8'), dtype('float64'), dtype('float32'))
    """
    if isinstance(number, bool):
        return np.dtype(bool)
    floats = [dtype for dtype in beside if dtype.kind == "f"]
    if floats:
        return np.result_type(*floats)
    whole = [dtype for dtype in beside if dtype.kind in "iu"]
    if isinstance(number, int):
        return np.result_type(*whole) if whole else np.dtype(np.int64)
    return np.dtype(np.float64)


def as_number(xp: Any, number: float, dtype: np.dtype[Any]) -> Array:
    """A Python number as an array without axes; raises `NumberRangeError` where the dtype does not hold it."""
    try:
        return xp.asarray(number, dtype=dtype)
    except OverflowError:
        raise errors.NumberRangeError(errors.number_out_of_range(number, dtype)) from None
