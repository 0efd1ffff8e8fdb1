"""The one rule that checks every array which a caller passes.

An array is its numbers, a shape and a dtype, and nothing more. The rule accepts `numpy.ndarray`, NumPy scalars and
`numpy.memmap`, all as plain arrays in the byte order of the machine, CuPy arrays, and arrays of other libraries in the memory
of a GPU, which it shows as CuPy arrays without a copy. It rejects types that mean more than their numbers, with a message that
says how to convert them: masks, `np.matrix`, labels that align, units, tapes of gradients, deferred work. Only the caller knows
whether these may be left out. The rule imports no other library but CuPy: it knows types by their names.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from catad import errors, upward
from catad.values import buffers
from catad.values.device_views import shown

Array = Any  # an array of NumPy, CuPy or another library with the same API


def array_module(array: Any) -> Any:
    """The module an array belongs to, `numpy` or `cupy`; of an array in blocks its library; None for all else."""
    if isinstance(array, (np.ndarray, np.generic)):
        return np
    kind = type(array)
    root = kind.__module__.partition(".")[0]
    if root == "cupy":
        return sys.modules["cupy"]
    if (root == "dask" and kind.__name__ == "Array") or hasattr(kind, "in_blocks"):
        return upward.library_of(kind)
    namespace = getattr(kind, "__array_namespace__", None)
    found = None if namespace is None else namespace(array)
    return found if getattr(found, "__name__", None) == "cupy" else None  # it offers what CuPy does


def common_module(arrays: Sequence[Any]) -> Any:
    """The one module that all arrays belong to (NumPy where there are only numbers); mixing two is an error."""
    if {*map(type, arrays)} == {np.ndarray}:
        return np
    found: Any = None
    first = 0
    for i, array in enumerate(arrays):
        xp = array_module(array)
        if xp is not None and xp is found and xp is not np and _device(array) != _device(arrays[first]):
            raise errors.DeviceError(errors.two_devices(_device(arrays[first]), first, _device(array), i))
        if xp is None or xp is found:
            continue
        if xp is np and in_blocks(found):
            continue
        if found is np and in_blocks(xp):
            found, first = xp, i
            continue
        if found is not None:
            raise errors.DeviceError(errors.mixed_devices(found.__name__, first, xp.__name__, i))
        found, first = xp, i
    return np if found is None else found


def in_blocks(xp: Any) -> bool:
    """Whether arrays of a library are in blocks, which tasks make; all tasks may read those of NumPy beside them."""
    return xp is not np and getattr(xp, "in_blocks", False)


def refuse_blocks(array: Any) -> Any:
    """The argument; raises `EngineError` for an array in blocks, which a program reads as an argument alone."""
    if not isinstance(array, (np.ndarray, np.generic)) and in_blocks(array_module(array)):
        raise errors.EngineError(errors.captured_chunks(array))
    return array


def numbers_of(arrays: Sequence[Any], what: str) -> Any:
    """The one module of arrays whose numbers are read at once; raises `EngineError` for arrays in blocks."""
    xp = common_module(arrays)
    if in_blocks(xp):
        raise errors.EngineError(errors.not_of_chunks(what))
    return xp


def device_of(xp: Any) -> Any:
    """What stands for the memory where a library makes arrays now: the library, with the current device where it has several."""
    return (xp, xp.cuda.runtime.getDevice()) if hasattr(xp, "cuda") else xp


def _device(array: Array) -> Any:
    """The number of the GPU on which an array lies."""
    return getattr(getattr(array, "device", None), "id", None)


def is_weak(thing: Any) -> bool:
    """True where this is a Python number, which takes its dtype from what it meets."""
    return isinstance(thing, (bool, int, float)) and not isinstance(thing, np.generic)


def as_array(thing: Any) -> Array:
    """The argument as a plain array; raises `SpaceError` for an argument that is no array, or more than an array.

    >>> as_array(np.arange(3, dtype=">i4")).dtype == np.int32
    True
    """
    kind = type(thing)
    if kind is np.ndarray or isinstance(thing, np.generic):
        return thing if thing.dtype.isnative else thing.astype(thing.dtype.newbyteorder("="))
    if kind is np.memmap:
        return as_array(np.asarray(thing))
    if not isinstance(thing, np.ndarray):
        xp = array_module(thing)
        if in_blocks(xp):
            return xp.checked(thing)
        found = thing if xp is not None else shown(thing)
        if found is not None:
            return found
    raise errors.SpaceError(errors.not_a_value(thing))


def counted_in(array: Array, dtype: np.dtype[Any]) -> Array:
    """Integers and booleans as floats of a dtype that NumPy converts them to safely; every other array as it is.

    >>> counted_in(np.array([1, 0]), np.dtype(float)), counted_in(np.array([1, 0]), np.dtype("float32")).dtype
    (array([1., 0.]), dtype('int64'))
    """
    given = getattr(array, "dtype", dtype)
    return array.astype(dtype) if given.kind in "biu" and dtype.kind in "fc" and np.can_cast(given, dtype) else array


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


def weak_dtypes(numbers: Sequence[float], beside: Sequence[np.dtype[Any]]) -> list[np.dtype[Any]]:
    """The dtypes that Python numbers take beside each other and beside arrays of these dtypes: an int beside a float is one, too.

    >>> weak_dtypes([1, 2.0], [])
    [dtype('float64'), dtype('float64')]
    """
    if any(isinstance(number, float) for number in numbers) and not any(dtype.kind == "f" for dtype in beside):
        beside = [*beside, np.dtype(np.float64)]  # what a Python float is beside integers
    return [weak_dtype(number, beside) for number in numbers]


def asarray(xp: Any, value: Any, dtype: Any = None) -> Array:
    """A number or an array as an array of a library. CuPy itself makes 0.0 of the number -0.0, but keeps entries as they are."""
    if xp is np or np.ndim(value) or array_module(value) not in (None, np):
        return xp.asarray(value, dtype=dtype)
    return xp.asarray(np.asarray(value, dtype).reshape(1)).reshape(())


def as_number(xp: Any, number: float, dtype: np.dtype[Any]) -> Array:
    """A Python number as an array without axes; raises `NumberRangeError` where the dtype does not hold it."""
    try:
        return asarray(xp, number, dtype)
    except OverflowError:
        raise errors.NumberRangeError(errors.number_out_of_range(number, dtype)) from None


def holds(dtype: np.dtype[Any], number: Any) -> bool:
    """True where a dtype holds a number: integers and truth values only those that stay what they are; floats all."""
    if dtype.kind == "f":
        return True
    if dtype.kind == "b":
        return bool(number == 0 or number == 1)
    info = np.iinfo(dtype)
    whole = number == number and abs(number) != float("inf") and int(number) == number
    return bool(whole and info.min <= int(number) <= info.max)


# -- whose memory it is


def owner(array: Array) -> Array:
    """The array whose memory this one shows; itself, where it is no view."""
    base = getattr(array, "base", None)
    while base is not None and (isinstance(base, np.ndarray) or array_module(base) is not None):
        array, base = base, getattr(base, "base", None)
    return array


def is_frozen(array: Array) -> bool:
    """True where nobody may write into an array: a number of NumPy, a read-only array that owns its memory, one in blocks."""
    if type(array) is np.ndarray:
        return not array.flags.writeable and buffers.is_new(array)
    return isinstance(array, np.generic) or in_blocks(array_module(array))


def kept(array: Array) -> Array:
    """The same numbers where no later write changes them: a copy, unless nobody may write into the array."""
    if isinstance(array, np.ndarray):
        if is_frozen(array):
            return array
        array = buffers.copied(array, "K")
        array.flags.writeable = False
        return array
    return array if is_frozen(array) else array.copy()


def is_stand_in(thing: Any) -> bool:
    """True of what stands for an array while a function is traced."""
    return hasattr(type(thing), "trace_")


def sealed(arrays: Sequence[Array]) -> Sequence[Array]:
    """Arrays that nobody else has, made read-only. Those of CuPy cannot be."""
    for array in arrays:
        if type(array) is np.ndarray:
            array.flags.writeable = False
    return arrays


def read_only(array: Array) -> Array:
    """A view that cannot be written through, which marks every array that shows it."""
    if type(array) is np.ndarray:
        array = array.view()
        array.flags.writeable = False
    return array


def apart(results: list[Array], others: Sequence[Array]) -> list[Array]:
    """Results as callers get them: writeable, each in memory of its own that none of the others shows.

    A result that is a view of an argument, of a constant (those are read-only views) or of another result is copied. A NumPy
    array without axes becomes a NumPy scalar, as the results of ufuncs are.
    """
    for i, result in enumerate(results):
        if type(result) is np.ndarray:
            if result.base is not None:
                return _separated(results, others)
            for other in others:
                if other is result:
                    return _separated(results, others)
            if not result.ndim:
                results[i] = result[()]
        elif not isinstance(result, np.generic):
            return _separated(results, others)
    if len(results) > 1 and len({*map(id, results)}) < len(results):
        return _separated(results, others)
    return results  # new arrays and numbers, as most are


def _separated(results: list[Array], others: Sequence[Array]) -> list[Array]:
    seen = {id(a): a for a in map(owner, others)}
    for i, result in enumerate(results):
        mine = owner(result)
        plain = isinstance(result, np.ndarray)
        if plain and not result.ndim:
            results[i] = result[()]
        elif not is_frozen(result) or plain:
            if id(mine) in seen or (plain and (not result.flags.writeable or (0 in result.strides and result.size > 1))):
                results[i] = buffers.copied(result) if plain else result.copy()
            else:
                seen[id(mine)] = mine
    return results
