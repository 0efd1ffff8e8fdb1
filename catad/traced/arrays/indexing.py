"""Reading and writing by index: `x[key]` and `x[key] = v` for stand-ins.

A key of integers, slices, `None` and `...` is basic: the result is a view, also where an integer is itself a stand-in. Arrays of
integers give copies. A mask of constants is its positions; a mask of data gives a `Masked`, and can be written under.
"""

from __future__ import annotations

from types import EllipsisType
from typing import Any, NamedTuple

import numpy as np

from catad import errors
from catad.category.spaces import Tensor
from catad.category.terms import D
from catad.traced.arrays.masked import Masked, same_mask
from catad.traced.arrays.operators import assign, fitted, operand
from catad.traced.arrays.promotion import check_write
from catad.traced.arrays.ragged import Ragged
from catad.traced.arrays.ragged_ops import entry_of, filled, selected
from catad.traced.arrays.slicing import getitem as slice_of
from catad.traced.arrays.slicing import has_traced_bounds
from catad.traced.arrays.slicing import setitem as write_slice
from catad.traced.arrays.stand_in import Traced, View, checked_array, computed, fresh, var_of
from catad.traced.control.decisions import unroll_for
from catad.traced.inlining import any_traced
from catad.traced.names.making import from_nested
from catad.traced.recorder import Var
from catad.values.arrays import refuse_blocks
from catad.vector.indexing.at import at
from catad.vector.indexing.keys import arg
from catad.vector.indexing.subscript import index
from catad.vector.pointwise.logic import where
from catad.vector.shapes.shape import reshape


class Key(NamedTuple):
    """A key: what is known of it, `ct.arg` in the places of indices that are values, these, and whether it is basic."""

    parts: tuple[Any, ...]
    indices: tuple[Var, ...]
    is_basic: bool
    is_number: bool  # it leaves no axis

    @property
    def read(self) -> D:
        term: D = index[self.parts]
        return term

    @property
    def write(self) -> D:
        term: D = at[self.parts].set
        return term

    def like(self, array: Any) -> Any:
        """The same entries of an array of the same shape, but for where they start."""
        return array[tuple([0 if part is arg else part for part in self.parts])]


def parsed(x: Traced, key: Any) -> Key:
    """A key, with static masks as positions."""
    parts: list[Any] = []
    indices: list[Var] = []
    basic = True
    for part in key if isinstance(key, tuple) else (key,):
        if isinstance(part, Masked):
            raise errors.TraceError(errors.shape_depends_on_data("x[...] by a masked read"))
        if isinstance(part, (list, tuple)) and any_traced(part):
            part = from_nested(x.trace_, part)
        if isinstance(part, Traced):
            constant = part.constant
            if constant is not None:
                part = constant if constant.ndim else constant[()]
        if part is None or isinstance(part, EllipsisType):
            parts.append(part)
        elif isinstance(part, slice):
            parts.append(slice(*[_bound(end) for end in (part.start, part.stop, part.step)]))
        elif isinstance(part, (int, np.integer)) and not isinstance(part, (bool, np.bool_)):
            parts.append(int(part))
        elif isinstance(part, Traced):
            if part.dtype.kind == "b":
                unroll_for(x.trace_, part.var_)
                raise errors.TraceError(errors.shape_depends_on_data("x[mask] beside other indices"))
            if part.dtype.kind not in "iu":
                raise IndexError(
                    "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean arrays "
                    "are valid indices"
                )
            parts.append(arg)
            indices.append(part.var_)
            basic = basic and not part.ndim
        else:
            basic = False
            for positions in _positions(part):
                parts.append(arg)
                indices.append(var_of(x.trace_, positions))
    used = sum(not (part is None or isinstance(part, EllipsisType)) for part in parts)
    if used > x.ndim:
        raise IndexError(f"too many indices for array: array is {x.ndim}-dimensional, but {used} were indexed")
    _check_bounds(x, parts)
    whole = not any(part is None or isinstance(part, (slice, EllipsisType)) for part in parts)
    return Key(tuple(parts), tuple(indices), basic, basic and whole and used == x.ndim)


def _check_bounds(x: Traced, parts: list[Any]) -> None:
    """Integers beyond an axis are NumPy's IndexError."""
    axis = 0
    used = sum(not (part is None or isinstance(part, EllipsisType)) for part in parts)
    for part in parts:
        if part is None:
            continue
        if isinstance(part, EllipsisType):
            axis += x.ndim - used
            continue
        if isinstance(part, int) and not -x.shape[axis] <= part < x.shape[axis]:
            raise IndexError(f"index {part} is out of bounds for axis {axis} with size {x.shape[axis]}")
        axis += 1


def _bound(end: Any) -> Any:
    """A bound of a slice: a number, since the shape of the result depends on it."""
    return end.__index__() if isinstance(end, (Traced, bool)) else end


def _positions(part: Any) -> list[Any]:
    """A static array of indices: itself, or the positions of a mask, one array for each of its axes."""
    array = np.asarray(refuse_blocks(part))
    if array.dtype.kind == "b" and not array.ndim:
        raise errors.TraceError(errors.unknown_function("x[True] and x[False]", "x[None] adds an axis; x[:0] is empty"))
    if array.dtype.kind == "b":
        return list(np.nonzero(array))
    if array.size == 0 and isinstance(part, (list, tuple)):
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    return [checked_array(array)]


def is_mask(x: Traced, key: Any) -> bool:
    """True for a key that is one mask of data."""
    if isinstance(key, tuple) and len(key) == 1:
        key = key[0]
    return isinstance(key, Traced) and key.dtype.kind == "b" and key.constant is None


def getitem(x: Any, key: Any) -> Any:
    """`x[key]`."""
    if is_mask(x, key):
        return _masked(x, key[0] if isinstance(key, tuple) else key)
    if has_traced_bounds(key):
        return slice_of(x, key)
    parts = key if isinstance(key, tuple) else (key,)
    slices = [part for part in parts if isinstance(part, Ragged)]
    if len(slices) == 1 and all(part is slices[0] or _is_number(part) for part in parts):
        rest = tuple([slice(None) if part is slices[0] else part for part in parts])
        return _by_slice(x[rest] if len(rest) > 1 else x, slices[0])
    key = parsed(x, key)
    if key.is_basic and not key.is_number:
        return Traced(x.trace_, None, View(x, key.read, key.write, key.like, True, key.indices))
    args = (x.var_, *key.indices)
    return fresh(x.trace_, computed(x.trace_.region, key.read, args if key.indices else args[0]))


def _is_number(part: Any) -> bool:
    """True for an integer."""
    if isinstance(part, (np.integer, Traced)):
        return not part.ndim and part.dtype.kind in "iu"
    return type(part) is int


def _by_slice(x: Traced, key: Ragged) -> Any:
    """`x[k[:i]]`: the entries at indices of which the number is not known. Outside of the slice the index is 0."""
    if key.dtype.kind not in "iu" or not x.ndim or not x.shape[0] or len(key.axes) != 1 or key.ndim != 1:
        key.unknown_("an index")
    trace, at = x.trace_, entry_of(x.trace_, key)
    whole = fresh(trace, x.var_)
    return Ragged(whole[filled(key, 0)], key.axes, lambda k: whole[at(k)] if at else None)


def _masked(x: Traced, mask: Traced) -> Masked:
    """A masked read: where the mask is false the number 1."""
    if x.trace_.region is x.trace_.root:  # a mask that a loop has made of its steps alone
        unroll_for(x.trace_, mask.var_)
    return Masked(mask, selected(x.trace_, _over(mask, x), x, 1))


def _over(mask: Traced, x: Traced) -> Traced:
    """A mask of the leading axes, with axes of size 1 for the others."""
    if mask.shape != x.shape[: mask.ndim]:
        raise IndexError(f"boolean index did not match indexed array: the shapes are {mask.shape} and {x.shape}")
    var = mask.var_
    if mask.ndim < x.ndim:
        shape = (*mask.shape, *[1] * (x.ndim - mask.ndim))
        var = computed(x.trace_.region, reshape(shape), var)
    return fresh(x.trace_, var)


def setitem(x: Any, key: Any, value: Any) -> None:
    """`x[key] = value`."""
    trace = x.trace_
    if is_mask(x, key):
        _set_under(x, key[0] if isinstance(key, tuple) else key, value)
        return
    if has_traced_bounds(key):
        write_slice(x, key, value)
        return
    if isinstance(value, Masked):
        raise errors.TraceError(errors.shape_depends_on_data("a masked read"))
    if isinstance(value, (list, tuple)):
        value = from_nested(trace, value)
    if key is Ellipsis or (isinstance(key, slice) and key == slice(None)) or (isinstance(key, tuple) and not key):
        assign(x, value)
        return
    found = parsed(x, key)
    var = var_of(trace, value)
    check_write(x, var)
    if var.weak is not None:
        var = operand(trace, var, x.dtype)
    region = trace.region
    x.write(computed(region, found.write, (x.var_, *found.indices, var)))


def _set_under(x: Traced, mask: Traced, value: Any) -> None:
    """`x[mask] = value` for a number, a row, or what was computed of `x[mask]`."""
    trace = x.trace_
    over = _over(mask, x)
    if isinstance(value, Masked):
        if not same_mask(value.mask, mask):
            raise errors.TraceError(errors.shape_depends_on_data("x[mask] = v with another mask in v"))
        check_write(x, value.full.var_)
        new = fitted(trace, value.full.var_, x.space)
    else:
        var = var_of(trace, value)
        check_write(x, var)
        row = Tensor(x.shape[mask.ndim :], x.dtype)
        if var.space.ndim > row.ndim and var.space.shape[0] != 1:
            raise errors.TraceError(errors.shape_depends_on_data("x[mask] = v with an array v"))
        new = fitted(trace, fitted(trace, var, row), x.space)
    x.write(computed(trace.region, where, (over.var_, new, x.var_)))
