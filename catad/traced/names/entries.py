"""Sums of slices whose bounds are read from arrays in a loop, `data[s[i]:s[i + 1]] @ x[cols[s[i]:s[i + 1]]]`.

Other slices are arrays of full size, of which a part counts: a step costs as much as the whole array. There may be many rows, so
these are summed by a loop over their own entries, and a step costs as much as its row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from catad.category.spaces import Product, Tensor
from catad.traced.arrays.affine import Affine
from catad.traced.arrays.operators import cast, pointwise
from catad.traced.arrays.ragged import Extent, Ragged
from catad.traced.arrays.ragged_ops import entry_of
from catad.traced.arrays.slice_bounds import value_of
from catad.traced.arrays.stand_in import Traced, computed, fresh, var_of
from catad.traced.names import ragged as _ragged  # noqa: F401  (its meanings of sums and products are replaced here)
from catad.traced.names.sums import total
from catad.traced.programs.program import Notes
from catad.traced.recorder import Region, Trace, Var
from catad.traced.table import RAGGED
from catad.vector.folds.entry_sum import EntrySum


def sum_of_entries(trace: Trace, extent: Extent, entry: Callable[[Any], Any], dtype: Any) -> Traced:
    """The sum of what `entry` gives for all numbers of a slice, one after the other, in a dtype."""
    region = Region(trace, trace.region, "entry")
    k = region.input(Tensor((), "int64"), int, "k")
    with trace.inside(region):
        made = cast(trace, var_of(trace, entry(fresh(trace, k))), dtype)
    given = [var for var in region.inputs if var is not k]
    dom = Product((k.space, Product(tuple([var.space for var in given]))))
    term = EntrySum(region.close(made, [k, *given], dom, Notes(title="entry", arguments=("k", "f"))))
    count = cast(trace, var_of(trace, value_of(trace, extent.length)), np.dtype(np.int64))
    outer = tuple([region.outer[var.wire.number] for var in given])
    return fresh(trace, computed(trace.region, term, (count, outer)))


def is_row(trace: Trace, x: Any) -> bool:
    """True for a slice in a loop, along one axis, whose bounds are read from arrays."""
    if not isinstance(x, Ragged) or len(x.axes) != 1 or x.dtype.kind == "b":
        return False
    (extent,) = x.axes.values()
    return any(at.loop is not None for at in trace.region.outward) and _reads_arrays(extent.length)


def _reads_arrays(form: Affine) -> bool:
    """True for a number that a step reads from an array, or that it has from the step before: not for the index of a loop."""
    stack, seen = list(form.vars.values()), set[int]()
    while stack:
        var: Var = stack.pop()
        region, number = var.region, var.wire.number
        if var.space.shape:
            return True
        if id(var) in seen or var.constant is not None or (number in region.bounds and number not in region.writer):
            continue
        seen.add(id(var))
        outer = region.outer.get(number)
        if outer is None and number not in region.writer and region.loop is not None:
            return True
        stack += [outer] if outer is not None else region.writer.get(number, ())
    return False


_whole_total, _whole_product = RAGGED[total], Ragged.matmul_


def _total(trace: Trace, a: Any, axis: Any = None, dtype: Any = None, **options: Any) -> Any:
    if not is_row(trace, a) or any(options.values()) or (axis is not None and (axis, *a.axes) != (0, 0)):
        return _whole_total(trace, a, axis, dtype, **options)
    entry = entry_of(trace, a)
    assert entry is not None
    (extent,) = a.axes.values()
    kind = np.zeros(0, a.dtype).sum(dtype=dtype).dtype
    return sum_of_entries(trace, extent, entry if axis == 0 or a.ndim == 1 else lambda k: entry(k).sum(), kind)


def _product(self: Ragged, trace: Trace, a: Any, b: Any) -> Any:
    rows = is_row(trace, a) and is_row(trace, b) and max(a.ndim, b.ndim) <= 2
    if not rows or (*a.axes, *b.axes) != (a.ndim - 1, max(0, b.ndim - 2)):
        return _whole_product(self, trace, a, b)
    (x, y), (left, right) = [next(iter(one.axes.values())) for one in (a, b)], [entry_of(trace, one) for one in (a, b)]
    if x.length != y.length or left is None or right is None:
        return _whole_product(self, trace, a, b)

    def entry(k: Any) -> Any:
        u, v = left(k), right(k)
        return pointwise(trace, np.multiply, u[:, None] if getattr(u, "ndim", 0) and getattr(v, "ndim", 0) else u, v)

    return sum_of_entries(trace, x, entry, np.result_type(a.dtype, b.dtype))


RAGGED[total] = _total
setattr(Ragged, "matmul_", _product)  # noqa: B010
