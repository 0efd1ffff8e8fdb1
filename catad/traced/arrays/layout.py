"""How NumPy lays out an array in memory: `reshape` gives a view where the layout allows it, and else a copy.

A buffer has its axes in the order of memory, where that is known; a view has NumPy's own function of strides. A *shadow* is an
array with the shape and the strides that NumPy's array would have, in bytes of one for an entry. Nothing is read from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from catad.traced.arrays.stand_in import Axes, Traced, has_one_order

_ASKS = np.lib.NumpyVersion(np.__version__) >= "2.1.0"  # np.reshape has `copy`
_ENTRY = np.empty(1, bool)


def in_c_order(n: int) -> Axes:
    """So many axes, the last one the fastest."""
    return tuple(range(n))


def shadow(x: Any) -> Any:
    """The shadow of an array; None where its layout is not known."""
    if isinstance(x, np.ndarray):
        return as_strided(_ENTRY, x.shape, [s // x.itemsize for s in x.strides])
    if not x.size:
        return np.empty(x.shape, bool)
    views = []
    while x._view is not None:
        if x._view.like is None:
            return None
        views.append(x._view.like)
        x = x._view.base
    axes = x.buffer.axes
    if axes is None:
        return None
    strides, step = [0] * x.ndim, 1
    for axis in reversed(axes):
        strides[axis] = step
        step *= max(x.shape[axis], 1)
    made = as_strided(_ENTRY, x.shape, strides)
    for like in reversed(views):
        made = like(made)
    return made


def is_known(x: Traced) -> bool:
    """True where the layout of an array is known."""
    return keeps_c_order(x) or shadow(x) is not None


def keeps_c_order(x: Any) -> bool:
    """True for an array whose later axes are surely the faster ones."""
    if not isinstance(x, Traced):
        return not isinstance(x, np.ndarray) or x.ndim < 2 or x.flags.c_contiguous
    at = x
    while at._view is not None:
        if not at._view.keeps_axes:
            return has_one_order(x.shape)
        at = at._view.base
    assert at.buffer is not None
    return at.buffer.axes == in_c_order(at.ndim) or has_one_order(x.shape)


def axes_of_result(args: Iterable[Any], ndim: int) -> Axes | None:
    """The order of axes of a new array that an entrywise function of arrays fills; None where it is not known."""
    arrays = [arg for arg in args if isinstance(arg, (Traced, np.ndarray))]
    if all(map(keeps_c_order, arrays)):
        return in_c_order(ndim)
    shadows = [shadow(one) for one in arrays if not has_one_order(one.shape)]
    if any(one is None for one in shadows):
        return None
    small = [as_strided(_ENTRY, [min(n, 2) for n in one.shape], [abs(s) for s in one.strides]) for one in shadows]
    made = np.nditer([*small, None], ["zerosize_ok", "multi_index"]).operands[-1]  # NumPy's choice; nothing is iterated
    order = sorted(range(made.ndim), key=lambda axis: -made.strides[axis])
    added = ndim - made.ndim  # axes that arrays of one axis add
    return (*range(added), *[axis + added for axis in order])


def laid_out(array: Any, x: Any) -> Any:
    """The array with its axes in memory as those of the stand-in for it, where these are known."""
    like = None if keeps_c_order(x) else shadow(x)
    if like is None:
        return array
    made = np.empty_like(like, array.dtype)
    made[...] = array
    return made


def axes_if_in_order(args: Iterable[Any], ndim: int) -> Axes | None:
    """The order of axes of a new array that is in C order where all these arrays are; None where it is not known."""
    return in_c_order(ndim) if all(map(keeps_c_order, args)) else None


def axes_in(order: str | None, x: Any, ndim: int | None = None) -> Axes | None:
    """The order of axes of a copy of an array, or of an array of other axes like it, by NumPy's parameter `order`."""
    if order not in ("C", "F", "A", "K", None):
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got '{order}')")
    n = x.ndim if ndim is None else ndim
    if order == "C" or keeps_c_order(x):
        return in_c_order(n) if order != "F" else in_c_order(n)[::-1]
    if order == "A":
        first, last = is_contiguous(x, "F"), is_contiguous(x, "C")
        order = None if first is None or last is None else "F" if first and not last else "C"
        return None if order is None else axes_in(order, x, n)
    if order == "F":
        return in_c_order(n)[::-1]
    return axes_of_result([x], n) if n == x.ndim else in_c_order(n)


def in_place(x: Traced, shape: Sequence[int]) -> bool | None:
    """Does NumPy reshape the array without a copy? None where that is not known."""
    if x.size < 2 or [n for n in shape if n != 1] == [n for n in x.shape if n != 1]:
        return True
    found = shadow(x)
    return None if found is None else reshaped_shadow(found, shape) is not None


def reshaped_shadow(found: Any, shape: Sequence[int]) -> Any:
    """The shadow in another shape; None where NumPy copies."""
    try:
        if _ASKS:
            return np.reshape(found, shape, copy=False)
        made = found[...]
        made.shape = shape
    except (ValueError, AttributeError):
        return None
    return made


def is_contiguous(x: Traced, order: str) -> bool | None:
    """Do the entries lie side by side, the last axis (C) or the first one (F) the fastest? None where that is not known."""
    if has_one_order(x.shape) and not x.is_view:
        return True
    found = shadow(x)
    return None if found is None else bool(found.flags.c_contiguous if order == "C" else found.flags.f_contiguous)


def parts_in(value: Any) -> Iterator[Any]:
    """What is in nested lists, tuples and dicts, or the value itself."""
    if isinstance(value, (list, tuple, dict)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from parts_in(part)
    else:
        yield value


def arrays_in(value: Any) -> list[Any]:
    """The arrays of nested lists, tuples and dicts."""
    return [part for part in parts_in(value) if isinstance(part, (Traced, np.ndarray))]


def note(made: Any, given: Any, scattered: bool) -> None:
    """Note how the results of a function of NumPy lie in memory. Most functions give of arrays in C order such; `scattered` is
    one that does not."""
    new = [one for one in arrays_in(made) if isinstance(one, Traced) and not has_one_order(one.shape)]
    if not new:
        return
    arrays = arrays_in(given)
    roots = {one.root for one in arrays if isinstance(one, Traced)}
    for one in new:
        if one.root not in roots:
            one.is_new(None if scattered else axes_if_in_order(arrays, one.ndim))


def forget(made: Any) -> None:
    """Note that it is not known how a new array lies in memory."""
    if isinstance(made, Traced) and not has_one_order(made.shape):
        made.is_new(None)
