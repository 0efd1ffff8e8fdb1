"""`x[key]` and `x[key] = v` where bounds of slices are no numbers, and keys of slices of traced length.

A slice whose length is a number, `x[i:i + 3]`, is a view; others are `Ragged`.
"""

from __future__ import annotations

from types import EllipsisType
from typing import Any, NamedTuple

import numpy as np

from catad.traced.arrays.affine import form_of, least, most
from catad.traced.arrays.operators import assign
from catad.traced.arrays.ragged import Extent, Ragged
from catad.traced.arrays.slice_bounds import along, extent_of, is_traced, value_of, whole
from catad.traced.arrays.stand_in import Traced, View
from catad.vector.indexing.at import at
from catad.vector.indexing.keys import arg
from catad.vector.indexing.subscript import index


def has_traced_bounds(key: Any) -> bool:
    """True for a key with a slice whose bounds depend on arguments or on the steps of loops."""
    if isinstance(key, tuple):
        return any(has_traced_bounds(part) for part in key)
    return isinstance(key, slice) and (is_traced(key.start) or is_traced(key.stop))


class _Located(NamedTuple):
    """An array, the key that takes of it all that is known, and the extents of the axes that are left."""

    full: Traced
    key: tuple[Any, ...]
    extents: dict[int, Extent]


def _located(x: Traced | Ragged, key: Any) -> _Located:
    """A key of integers, slices, None and an ellipsis."""
    full, known = (x.full, x.axes) if isinstance(x, Ragged) else (x, {})
    parts = list(key) if isinstance(key, tuple) else [key]
    if any(isinstance(part, (list, np.ndarray, Ragged, bool, np.bool_)) or getattr(part, "ndim", 0) for part in parts):
        _refuse(x, parts)
    used = sum(part is not None and not isinstance(part, EllipsisType) for part in parts)
    if used > full.ndim:
        raise IndexError(f"too many indices for array: array is {full.ndim}-dimensional, but {used} were indexed")
    if not any(isinstance(part, EllipsisType) for part in parts):
        parts.append(...)
    where = next(k for k, part in enumerate(parts) if isinstance(part, EllipsisType))
    parts[where : where + 1] = [slice(None)] * (full.ndim - used)
    made: list[Any] = []
    extents: dict[int, Extent] = {}
    axis = place = 0
    for part in parts:
        if part is None:
            made.append(None)
            place += 1
            continue
        own = known.get(axis)
        if isinstance(part, slice):
            if own is not None or has_traced_bounds(part):
                extents[place] = extent_of(full.trace_, part, own or whole(full.shape[axis]))
                part = slice(None)
            place += 1
        elif own is not None:
            part = _entry(x, own, part)
        made.append(part)
        axis += 1
    return _Located(full, tuple(made), extents)


def _refuse(x: Traced | Ragged, parts: list[Any]) -> None:
    """A key with arrays needs slices of known length."""
    if isinstance(x, Ragged):
        x.unknown_("an index into a slice")
    for part in parts:
        for end in (part.start, part.stop) if isinstance(part, slice) else ():
            if is_traced(end):
                end._number("the length of a slice")


def _entry(x: Any, extent: Extent, k: Any) -> Any:
    """The position of an entry of a slice, where it is known to be there."""
    form = form_of(k.var_) if isinstance(k, Traced) and k.dtype.kind in "iu" else form_of(k.__index__())
    if most(form) < 0:
        form = form + extent.length
    if least(form) < 0 or least(extent.length - form) < 1:
        x.unknown_("an index into a slice")
    return value_of(x.trace_, extent.start + form * extent.step)


def _shown(found: _Located) -> Any:
    """What a key selects: a view of fixed size, or a slice of traced length."""
    full, key, extents = found
    is_all = all(isinstance(part, slice) and part == slice(None) for part in key)
    made: Any = full if is_all else full[key]
    for axis, extent in list(extents.items()):
        if extent.length.number is not None:
            made = _fixed(made, axis, extent, extent.length.number)
            del extents[axis]
    return Ragged(made, extents) if extents else made


def _fixed(x: Traced, axis: int, extent: Extent, n: int) -> Traced:
    """A slice of known length: a view."""
    start, trace = value_of(x.trace_, extent.start) if n else 0, x.trace_
    if isinstance(start, int):
        stop = start + extent.step * n
        part: Any = x[along(axis, slice(start, None if stop < 0 else stop, extent.step if n else 1))]
        return part  # type: ignore[no-any-return]
    places: Traced = start + np.arange(0, extent.step * n, extent.step, dtype=np.int64)
    key = along(axis, arg)
    every, first = along(axis, slice(None, None, extent.step)), along(axis, slice(n))
    return Traced(trace, None, View(x, index[key], at[key].set, lambda s: s[every][first], True, (places.var_,)))


def getitem(x: Traced | Ragged, key: Any) -> Any:
    """`x[key]`."""
    return _shown(_located(x, key))


def setitem(x: Traced | Ragged, key: Any, value: Any) -> None:
    """`x[key] = value`."""
    found = _located(x, key)
    if not found.extents:
        found.full[found.key] = value
        return
    shown = _shown(found)
    if isinstance(shown, Ragged):
        shown.assign_(value)
    elif isinstance(value, Ragged):
        value.unknown_("the length of a slice")
    else:
        assign(shown, value)


setattr(Ragged, "__getitem__", getitem)  # noqa: B010
setattr(Ragged, "__setitem__", setitem)  # noqa: B010
