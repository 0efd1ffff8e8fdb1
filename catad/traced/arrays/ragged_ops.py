"""Arithmetic of slices of traced length (`ragged.py`): pointwise, products of matrices, and writes.

Slices are moved to the places of one of them first. An operand is 1 (or another number that an operation takes) where an entry is
outside, so that neither the value nor a derivative there is infinite; by the selection, the derivative does not reach what stands
outside, either.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from catad import errors
from catad.category.cartesian import exl, exr
from catad.category.constant import const
from catad.linear.families.clear import ClearedWhere
from catad.linear.families.dot_within import DotWithin
from catad.traced.arrays.operators import cast, fitted, matmul, pointwise, resolved
from catad.traced.arrays.promotion import check_write
from catad.traced.arrays.ragged import Extent, Ragged
from catad.traced.arrays.slice_bounds import along, common, mask_of, moved, value_of
from catad.traced.arrays.stand_in import Traced, computed, constant, fresh, var_of
from catad.traced.names.making import from_nested
from catad.traced.names.sums import strong
from catad.traced.recorder import Trace
from catad.vector.loops.choose import choose
from catad.vector.pointwise.logic import where
from catad.vector.shapes.shape import broadcast_to

_INNER = dict.fromkeys(("arcsin", "arccos", "arctanh", "logit", "ndtri", "erfinv", "betaln"), 0.5) | {"arccosh": 2.0}


def ragged_of(args: Sequence[Any]) -> list[Ragged]:
    """The slices of traced length among some operands."""
    return [arg for arg in args if isinstance(arg, Ragged)]


def selected(trace: Trace, mask: Traced | None, x: Any, number: float) -> Any:
    """An array where a mask is true, else a number."""
    if mask is None:
        return x
    other = constant(trace, np.asarray(number, x.dtype))
    return fresh(trace, computed(trace.region, where, (mask.var_, strong(trace, x).var_, other.var_)))


def kept(trace: Trace, mask: Traced | None, x: Any) -> Any:
    """An array with zeros where a mask is false, through which no derivative passes there, not even NaN: the derivative of a
    sum reaches all entries."""
    if mask is None or x.dtype.kind != "f":
        return selected(trace, mask, x, 0)
    over = (1,) * (x.ndim - mask.ndim) + mask.shape
    term = ClearedWhere()
    return fresh(trace, computed(trace.region, term, (mask.reshape(over).var_, strong(trace, x).var_)))


def filled(x: Ragged, number: float) -> Any:
    """The full array, with a number outside of the slice."""
    mask = mask_of(x.trace_, x.axes, x.full.shape)
    made = kept(x.trace_, mask, x.full)
    return selected(x.trace_, mask, made, number) if number else made


def laid_out(trace: Trace, args: Sequence[Any], target: tuple[Mapping[int, Extent], Sequence[int]] | None = None) -> Any:
    """Operands that broadcast together, with slices moved to common places: these operands, and the extents and the sizes
    of the axes of what is computed of them, counted from the last (-1)."""
    axes: dict[int, tuple[Extent, int]] = {}
    for back in range(1, 1 + max(arg.ndim for arg in ragged_of(args))):
        wanted, static = [], []
        for arg in args:
            if isinstance(arg, Ragged) and arg.ndim - back in arg.axes:
                wanted.append((arg.axes[arg.ndim - back], arg.full.shape[arg.ndim - back]))
            elif (shape := _shape(arg)) and len(shape) >= back:
                static.append(shape[-back])
        if target is not None and back <= len(target[1]) and len(target[1]) - back in target[0]:
            own = target[0][len(target[1]) - back], target[1][-back]
            if any(extent.length != own[0].length for extent, _ in wanted):
                ragged_of(args)[0].unknown_("the length of a slice")
            axes[-back] = own
        elif wanted:
            found = common(wanted) if target is None else None
            if found is None:
                ragged_of(args)[0].unknown_("the length of a slice")
            axes[-back] = found
        if wanted and any(n != 1 for n in static):
            ragged_of(args)[0].unknown_("the length of a slice")
    made = []
    for arg in args:
        if isinstance(arg, Ragged):
            full = arg.full
            for axis, extent in arg.axes.items():
                full = moved(trace, full, axis, extent, *axes[axis - arg.ndim])
            made.append(full)
        else:
            made.append(arg)
    return made, axes


def _shape(arg: Any) -> tuple[int, ...]:
    return arg.full.shape if isinstance(arg, Ragged) else np.shape(arg) if not isinstance(arg, Traced) else arg.shape


def elementwise(trace: Trace, fn: Callable[..., Any], args: Sequence[Any], dtypes: Sequence[Any] = (), number: float = 1) -> Any:
    """A function of entries, of operands that broadcast together; what it gives has the extents of the operands.

    Operands get a dtype where one is named."""
    operands, axes = laid_out(trace, args)
    safe = []
    for k, (arg, operand) in enumerate(zip(args, operands, strict=True)):
        if not isinstance(operand, Traced) or operand.constant is not None or (
            not isinstance(arg, Ragged) and (operand.dtype.kind != "f" or (operand.var_.weak and not dtypes))
        ):  # fmt: skip
            safe.append(operand)
            continue
        if operand.var_.weak:
            operand = fresh(trace, cast(trace, operand.var_, dtypes[k]))
        own = {-back: extent for back, (extent, _) in axes.items()}
        safe.append(selected(trace, _mask(trace, axes, operand, isinstance(arg, Ragged), own), operand, number))
    made = fn(*safe)
    if isinstance(made, tuple):
        return tuple([_made(one, axes) for one in made])
    shown = _made(made, axes)
    parts = [entry_of(trace, arg) if isinstance(arg, Ragged) else _stretched(trace, arg, shown) for arg in args]
    known = [part for part in parts if part is not None]
    if len(shown.axes) == 1 and len(known) == len(parts):
        shown.entry_ = lambda k: fn(*[part(k) for part in known])
    return shown


def entry_of(trace: Trace, x: Ragged) -> Callable[[Any], Any] | None:
    """The function that gives an entry of a slice, as it is now, by its number; None where several axes are slices."""
    if x.entry_ is not None or len(x.axes) != 1:
        return x.entry_
    ((axis, extent),) = x.axes.items()
    whole = fresh(trace, x.full.var_)
    return lambda k: whole[along(axis, k * extent.step + value_of(trace, extent.start))]


def _stretched(trace: Trace, x: Any, shown: Ragged) -> Callable[[Any], Any] | None:
    """The same for an operand that is stretched along a slice; None for one of which that is not known."""
    rank = len(_shape(x))
    if rank and (rank >= shown.ndim or 0 not in shown.axes):
        return None
    as_it_is = fresh(trace, x.var_) if isinstance(x, Traced) and rank else x
    return lambda k: as_it_is


def _mask(trace: Trace, axes: Mapping[int, tuple[Extent, int]], operand: Traced, is_slice: bool, own: Any) -> Traced | None:
    """The mask for an operand: of its own axes for a slice, of all for a number or a row that is stretched."""
    rank = operand.ndim if is_slice else max(operand.ndim, max(-back for back in axes))
    shape = [1] * rank
    for back, (_, size) in axes.items():
        if -back <= rank:
            shape[back] = size
    return mask_of(trace, {rank + back: extent for back, (extent, _) in axes.items() if -back <= rank}, shape)


def _made(made: Traced, axes: Mapping[int, tuple[Extent, int]]) -> Ragged:
    return Ragged(made, {made.ndim + back: extent for back, (extent, _) in axes.items()})


def _pointwise(self: Ragged, trace: Trace, ufunc: np.ufunc, args: Sequence[Any], dtype: Any) -> Any:
    dtypes = resolved(trace, ufunc, *[arg.full if isinstance(arg, Ragged) else arg for arg in args])
    number = _INNER.get(ufunc.__name__, 1)
    return elementwise(trace, lambda *operands: pointwise(trace, ufunc, *operands, dtype=dtype), args, dtypes, number)


def _matmul(self: Ragged, trace: Trace, a: Any, b: Any) -> Any:
    """A product of matrices or vectors: entries outside are zeros in both factors."""
    a, b = (x if isinstance(x, Ragged) else strong(trace, x) for x in (a, b))
    if not a.ndim or not b.ndim:
        raise errors.SpaceError(errors.matmul_of_numbers(*[getattr(x, "full", x).space for x in (a, b)]))
    if a.ndim > 2 or b.ndim > 2:
        self.unknown_("the length of a slice")
    row, column = a.ndim - 1, max(0, b.ndim - 2)
    extents = [x.axes.get(k) if isinstance(x, Ragged) else None for x, k in ((a, row), (b, column))]
    if extents[0] is not None or extents[1] is not None:
        if extents[0] is None or extents[1] is None:
            self.unknown_("the length of a slice")
        found = common([(extents[0], a.full.shape[row]), (extents[1], b.full.shape[column])])
        if found is None:
            self.unknown_("the length of a slice")
        a, b = (_at(trace, x, k, *found) for x, k in ((a, row), (b, column)))
        if a.ndim == b.ndim == 1 and a.dtype == b.dtype and a.dtype.kind == "f":
            return _dot(trace, a, b, found[0])
    axes = {}
    if isinstance(a, Ragged) and a.ndim == 2 and 0 in a.axes:
        axes[0] = a.axes[0]
    if isinstance(b, Ragged) and b.ndim == 2 and 1 in b.axes:
        axes[a.ndim - 1] = b.axes[1]
    made = _by_parts(trace, a, b) if len(axes) == 1 and extents == [None, None] else None
    if made is None:
        made = matmul(trace, *[filled(x, 0) if isinstance(x, Ragged) else x for x in (a, b)])
    return Ragged(made, axes) if axes else made


def _dot(trace: Trace, a: Ragged, b: Ragged, extent: Extent) -> Traced:
    """The product of two vectors in one place: the sum over their own length, in NumPy's order."""
    ends = [cast(trace, var_of(trace, value_of(trace, end)), np.dtype(np.int64)) for end in (extent.low, extent.high)]
    term = DotWithin(a.full.shape[0])
    return fresh(trace, computed(trace.region, term, (*ends, filled(a, 0).var_, filled(b, 0).var_)))


def _by_parts(trace: Trace, a: Any, b: Any) -> Traced | None:
    """The product of a number of whole rows or columns of a matrix from outside of a loop, which stays as it is: each step
    would keep a copy of it with zeros elsewhere. None for other matrices.

    All entries that are finite are multiplied. Where rows or columns of the slice have others, too, the matrix itself is.
    """
    left = isinstance(a, Ragged) and a.ndim == 2 and 0 in a.axes
    x, other = (a, b) if left else (b, a)
    var, region = x.full.var_, trace.region
    while (outer := var.region.outer.get(var.wire.number)) is not None:
        var, region = outer, outer.region
    if region is trace.region or x.dtype.kind != "f" or isinstance(other, Ragged) or other.ndim != 1:
        return None
    with trace.inside(region):
        whole = fresh(trace, var)
        test: Any = np.isfinite(whole)
        finite, others = selected(trace, test, whole, 0), ~np.all(test, axis=1 if left else 0)
    (extent,) = x.axes.values()
    mask = mask_of(trace, {0: extent}, others.shape)
    met: Any = np.any(others if mask is None else others & mask)
    pairs = ((whole, _if(trace, met, other)), (finite, other))
    made: Traced = np.where(met, *[matmul(trace, *(pair if left else pair[::-1])) for pair in pairs])
    return made


def _if(trace: Trace, test: Traced, x: Traced) -> Traced:
    """The array where a test holds, else zeros, to which no derivative passes."""
    term = choose(exl, exr, const(x.dtype.type(0)) >> broadcast_to(x.shape))
    return fresh(trace, computed(trace.region, term, (test.var_, x.var_)))


def _at(trace: Trace, x: Ragged, axis: int, extent: Extent, size: int) -> Ragged:
    return Ragged(moved(trace, x.full, axis, x.axes[axis], extent, size), {**x.axes, axis: extent})


def _assign(self: Ragged, value: Any, casting: Any = "unsafe") -> None:
    """Write into the slice: what is outside stays."""
    trace, full = self.trace_, self.full
    if isinstance(value, (list, tuple)):
        value = from_nested(trace, value)
    kind = value.dtype if isinstance(value, Ragged) else var_of(trace, value).space.dtype
    if (isinstance(value, Ragged) or var_of(trace, value).weak is None) and not np.can_cast(kind, self.dtype, casting):
        raise errors.SpaceError(errors.cannot_cast(kind, self.dtype, casting))
    if len(_shape(value)) > self.ndim:
        self.unknown_("the length of a slice")
    check_write(full, value.full.var_ if isinstance(value, Ragged) else var_of(trace, value))
    (operand, _), _ = laid_out(trace, [value, self], (self.axes, full.shape))
    new = fresh(trace, fitted(trace, var_of(trace, operand), full.space))
    mask = mask_of(trace, self.axes, full.shape)
    if mask is not None:
        sides = [kept(trace, mask, new).var_, kept(trace, ~mask, full).var_]
        new = fresh(trace, computed(trace.region, where, (mask.var_, *sides)))
    full.write(new.var_)


setattr(Ragged, "pointwise_", _pointwise)  # noqa: B010
setattr(Ragged, "matmul_", _matmul)  # noqa: B010
setattr(Ragged, "assign_", _assign)  # noqa: B010
