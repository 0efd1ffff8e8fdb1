"""Sums of slices whose bounds are read from arrays in a loop, `data[s[i]:s[i + 1]] @ x[cols[s[i]:s[i + 1]]]`.

Other slices are arrays of full size, of which a part counts: a step costs as much as the whole array. There may be many rows, so
these are summed by a loop over their own entries, and a step costs as much as its row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from catad.traced.affine import Affine
from catad.traced.driver import Driver
from catad.traced.extents import value_of
from catad.traced.names.reductions import total
from catad.traced.operators import pointwise
from catad.traced.ragged import Extent, Ragged
from catad.traced.ragged_ops import entry_of
from catad.traced.recorder import Region, Trace, Var
from catad.traced.rewrite import rewritten
from catad.traced.stand_in import constant
from catad.traced.steps import TracedRange
from catad.traced.table import RAGGED


class _Entries(TracedRange):
    """The numbers of the entries of a slice: a loop over them has no bound that is worth its steps."""

    most = None


def _summed(numbers: Any, entry: Any, sum_: Any) -> Any:
    """The loop, which is rewritten and recorded as one of the user is."""
    for k in numbers:
        sum_ = sum_ + entry(k)
    return sum_


def sum_of_entries(trace: Trace, extent: Extent, entry: Callable[[Any], Any], shape: tuple[int, ...], dtype: Any) -> Any:
    """The sum of what `entry` gives, of a shape and a dtype, one after the other."""
    loop = rewritten(_summed, Driver("catad"))  # type: ignore[arg-type]
    assert loop is not None, "the source of this module"
    return loop(_Entries(0, value_of(trace, extent.length), 1), entry, constant(trace, np.zeros(shape, dtype)))


def is_row(trace: Trace, x: Any) -> bool:
    """True for a slice in a loop, along one axis, whose bounds are read from arrays."""
    if not isinstance(x, Ragged) or len(x.axes) != 1 or x.dtype.kind == "b":
        return False
    region: Region | None = trace.region
    while region is not None and region.loop is None:
        region = region.parent
    (extent,) = x.axes.values()
    return region is not None and _reads_arrays(extent.length)


def _reads_arrays(form: Affine) -> bool:
    stack, seen = list(form.vars.values()), set[int]()
    while stack:
        var: Var = stack.pop()
        if var.space.shape:
            return True
        if id(var) in seen:
            continue
        seen.add(id(var))
        outer = var.region.outer.get(var.wire.number)
        stack += [outer] if outer is not None else var.region.writer.get(var.wire.number, ())
    return False


_whole_total, _whole_product = RAGGED[total], Ragged.matmul_


def _total(trace: Trace, a: Any, axis: Any = None, dtype: Any = None, **options: Any) -> Any:
    if not is_row(trace, a) or any(options.values()) or (axis is not None and (axis, *a.axes) != (0, 0)):
        return _whole_total(trace, a, axis, dtype, **options)
    entry = entry_of(trace, a)
    assert entry is not None
    ((at, extent),) = a.axes.items()
    kind = np.zeros(0, a.dtype).sum(dtype=dtype).dtype
    shape = () if axis is None else tuple([n for k, n in enumerate(a.full.shape) if k != at])
    return sum_of_entries(trace, extent, entry if axis == 0 or a.ndim == 1 else lambda k: entry(k).sum(), shape, kind)


def _product(self: Ragged, trace: Trace, a: Any, b: Any) -> Any:
    rows = is_row(trace, a) and is_row(trace, b) and max(a.ndim, b.ndim) <= 2
    if not rows or (*a.axes, *b.axes) != (a.ndim - 1, max(0, b.ndim - 2)):
        return _whole_product(self, trace, a, b)
    (x, y), (left, right) = [next(iter(one.axes.values())) for one in (a, b)], [entry_of(trace, one) for one in (a, b)]
    if x.length != y.length or left is None or right is None:
        return _whole_product(self, trace, a, b)
    shape = *a.full.shape[:-1], *b.full.shape[1:]

    def entry(k: Any) -> Any:
        u = left(k)
        return pointwise(trace, np.multiply, u[:, None] if len(shape) == 2 else u, right(k))

    return sum_of_entries(trace, x, entry, shape, np.result_type(a.dtype, b.dtype))


RAGGED[total] = _total
setattr(Ragged, "matmul_", _product)  # noqa: B010
