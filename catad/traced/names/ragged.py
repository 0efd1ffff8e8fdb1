"""What functions mean on slices whose length is not a number yet (`traced/arrays/ragged.py`). Others need the number."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from catad.traced.arrays.affine import Affine, least
from catad.traced.arrays.operators import matmul, pointwise
from catad.traced.arrays.ragged import Extent, Ragged
from catad.traced.arrays.ragged_ops import elementwise, entry_of, filled
from catad.traced.arrays.slice_bounds import moved
from catad.traced.arrays.stand_in import Traced
from catad.traced.names.products import dot, inner, matmul_, norm, outer, vdot
from catad.traced.names.reductions import all_, any_, argmax, argmin, count_nonzero, maximum, mean, minimum, product
from catad.traced.names.sums import strong, total
from catad.traced.names.universal import neutral_of
from catad.traced.recorder import Trace
from catad.traced.table import FUNCTIONS, METHODS, PYTHON, RAGGED, entering

on_slices = entering(RAGGED)  # by the meaning of a function on arrays: that on slices of traced length


# -- reductions


def _axes(a: Ragged, axis: Any) -> tuple[int, ...]:
    return tuple(range(a.ndim)) if axis is None else normalize_axis_tuple(axis, a.ndim)


def _left(made: Any, a: Ragged, axes: tuple[int, ...], keepdims: bool) -> Any:
    """What a reduction leaves: the extents of the other axes."""
    left: Iterator[int] = iter([k for k in range(a.ndim) if keepdims or k not in axes])
    extents = {place: a.axes[k] for place, k in enumerate(left) if k in a.axes and k not in axes}
    return Ragged(made, extents) if extents else made


def _not_empty(a: Ragged, axes: tuple[int, ...]) -> None:
    """Functions that have no value for no entries need to know that there is one."""
    for k in axes:
        if k in a.axes and least(a.axes[k].length) < 1:
            a.unknown_("a reduction of a slice that may be empty")


def _reduced(meaning: Callable[..., Any], neutral: Callable[[Any], Any], may_be_empty: bool = True) -> None:
    """A reduction that a neutral number does not change."""

    def made(trace: Trace, a: Any, axis: Any = None, *args: Any, where: Any = True, initial: Any = None, **options: Any) -> Any:
        if not isinstance(a, Ragged) or where is not True or isinstance(axis, (Traced, Ragged)) or isinstance(initial, Ragged):
            (a if isinstance(a, Ragged) else where if isinstance(where, Ragged) else initial).unknown_("the length of a slice")
        axes = _axes(a, axis)
        if initial is not None:
            options["initial"] = initial
        elif not may_be_empty:
            _not_empty(a, axes)
        out = meaning(trace, filled(a, neutral(a.dtype)), axis, *args, **options)
        return _left(out, a, axes, options.get("keepdims", False))

    RAGGED[meaning] = made


_least_of, _most_of = partial(neutral_of, np.maximum), partial(neutral_of, np.minimum)
_reduced(total, lambda dtype: 0)
_reduced(product, lambda dtype: 1)
_reduced(any_, lambda dtype: 0)
_reduced(all_, lambda dtype: 1)
_reduced(count_nonzero, lambda dtype: 0)
_reduced(maximum, _least_of, False)
_reduced(minimum, _most_of, False)


@on_slices(mean)
def mean_of_slice(
    trace: Trace, a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False, where: Any = True
) -> Any:
    if not isinstance(a, Ragged) or where is not True:
        (a if isinstance(a, Ragged) else where).unknown_("the length of a slice")
    axes = _axes(a, axis)
    wide = np.float64 if dtype is None and a.dtype.kind in "biu" else dtype
    made = RAGGED[total](trace, a, axis, wide, keepdims=keepdims)
    return pointwise(trace, np.divide, made, _count(a, axes)).astype(made.dtype if dtype is None else dtype, copy=False)


def _count(a: Ragged, axes: tuple[int, ...]) -> Any:
    made: Any = 1
    for k in axes:
        made = made * a.shape[k]
    return made


def _moment(root: bool) -> Callable[..., Any]:
    def made(
        trace: Trace, a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: bool = False,
        **options: Any,
    ) -> Any:  # fmt: skip
        if not isinstance(a, Ragged) or out is not None or options:
            next(x for x in (a, out, *options.values()) if isinstance(x, Ragged)).unknown_("the length of a slice")
        axes = _axes(a, axis)
        a = a.astype(np.float64 if dtype is None and a.dtype.kind in "biu" else a.dtype if dtype is None else dtype)
        deviation = a - mean_of_slice(trace, a, axis, keepdims=True)
        count = pointwise(trace, np.maximum, _count(a, axes) - ddof, 0)
        if not root:
            return (RAGGED[total](trace, np.square(deviation), axis, keepdims=keepdims) / count).astype(a.dtype, copy=False)
        if len(axes) not in (1, a.ndim):
            a.unknown_("the length of a slice")
        size = norm(trace, filled(deviation, 0), None, axes[0] if len(axes) < a.ndim else None, keepdims)  # slope 0 at 0
        return _left((size / np.sqrt(count)).astype(a.dtype, copy=False), a, axes, keepdims)

    return made


on_slices(FUNCTIONS[np.var])(_moment(False))
on_slices(FUNCTIONS[np.std])(_moment(True))


def _position(meaning: Callable[..., Any], neutral: Callable[[Any], Any]) -> None:
    """`np.argmax` and `np.argmin`: of a slice that stands at the front, entries outside come last."""

    def made(trace: Trace, a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
        axes = _axes(a, axis)
        _not_empty(a, axes)
        if len(axes) != 1:
            a.unknown_("the length of a slice")
        (k,) = axes
        if k in a.axes:
            a = at_front(a, k)
        return _left(meaning(trace, filled(a, neutral(a.dtype)), k, keepdims=keepdims), a, axes, keepdims)

    RAGGED[meaning] = made


_position(argmax, _least_of)
_position(argmin, _most_of)


def at_front(a: Ragged, axis: int) -> Ragged:
    """The slice, with its entries at the beginning of an axis."""
    old, size = a.axes[axis], a.full.shape[axis]
    new = Extent(Affine(0), 1, old.length)
    return Ragged(moved(a.trace_, a.full, axis, old, new, size), {**a.axes, axis: new})


@on_slices(norm)
def norm_of_slice(trace: Trace, x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    if ord not in (None, 1, 2, "fro") or (axis is not None and x.ndim > 1) or (x.ndim > 1 and ord is not None):
        x.unknown_("the length of a slice")
    return norm(trace, filled(x, 0), ord, axis, keepdims)


def _running(meaning: Callable[..., Any], neutral: int) -> None:
    """`np.cumsum` and `np.cumprod`: entries before a slice do not count."""

    def made(trace: Trace, a: Any, axis: Any = None, *args: Any, **options: Any) -> Any:
        if axis is None and a.ndim > 1:
            a.unknown_("the length of a slice")
        k = 0 if axis is None else normalize_axis_tuple(axis, a.ndim)[0]
        a = at_front(a, k) if k in a.axes and a.axes[k].step != 1 else a
        return Ragged(meaning(trace, filled(a, neutral), k, *args, **options), a.axes)

    RAGGED[meaning] = made


_running(FUNCTIONS[np.cumsum], 0)
_running(FUNCTIONS[np.cumprod], 1)


# -- products


@on_slices(dot, matmul_)
def product_of_slices(trace: Trace, a: Any, b: Any) -> Any:
    """The product of vectors, or of matrices and vectors; functions differ in others."""
    if not getattr(a, "ndim", 0) or not getattr(b, "ndim", 0):
        return pointwise(trace, np.multiply, a, b)
    return matmul(trace, a, b)


@on_slices(vdot, inner)
def _of_vectors(trace: Trace, a: Any, b: Any) -> Any:
    if a.ndim > 1 or b.ndim > 1:
        (a if isinstance(a, Ragged) else b).unknown_("the length of a slice")
    return product_of_slices(trace, a, b)


@on_slices(outer)
def outer_of_slices(trace: Trace, a: Any, b: Any) -> Any:
    x, y = (one if isinstance(one, Ragged) else strong(trace, one) for one in (a, b))
    if x.ndim != 1 or y.ndim != 1:
        (x if isinstance(x, Ragged) else y).unknown_("the length of a slice")
    return x[:, None] * y[None, :]


# -- entry by entry


def _entry_by_entry(meaning: Callable[..., Any], operands: int) -> None:
    """A function of the entries of its first operands; others are options."""

    def made(trace: Trace, *args: Any, **options: Any) -> Any:
        first, rest = args[:operands], args[operands:]
        return elementwise(trace, lambda *safe: meaning(trace, *safe, *rest, **options), first)

    RAGGED[meaning] = made


for _function, _operands in ((np.where, 3), (np.clip, 3), (np.round, 1), (np.nan_to_num, 1), (np.isclose, 2)):
    _entry_by_entry(FUNCTIONS[_function], _operands)
for _name in ("clip", "round"):
    _entry_by_entry(METHODS[_name], 3 if _name == "clip" else 1)


@on_slices(METHODS["astype"])
def astype(trace: Trace, a: Ragged, dtype: Any, *args: Any, **options: Any) -> Ragged:
    # what stands outside may not be a number of the other dtype
    entry = entry_of(trace, a)
    kept = None if entry is None else lambda k: entry(k).astype(dtype, *args, **options)
    return Ragged(filled(a, 1).astype(dtype, *args, **options), a.axes, kept)


@on_slices(FUNCTIONS[np.copy], METHODS["copy"])
def copy(trace: Trace, a: Ragged, *args: Any, **options: Any) -> Ragged:
    return Ragged(a.full.copy(), a.axes)


def _asks_nobody(function: Any, on_slice: Callable[..., Any]) -> None:
    """A function that Python does not hand to its arguments."""
    plain = PYTHON[function]

    def made(driver: Any, *args: Any, **options: Any) -> Any:
        if args and isinstance(args[0], Ragged):
            return on_slice(driver.trace, *args, **options)
        return plain(driver, *args, **options)

    PYTHON[function] = made
    if function in FUNCTIONS:
        RAGGED[FUNCTIONS[function]] = on_slice


def _like(function: Any) -> None:
    plain = FUNCTIONS[function]

    def made(trace: Trace, a: Ragged, *args: Any, **options: Any) -> Any:
        if options.get("shape") is not None:
            a.unknown_("the length of a slice")
        return Ragged(plain(trace, a.full, *args, **options), a.axes)

    _asks_nobody(function, made)


for _maker in (np.zeros_like, np.ones_like, np.empty_like, np.full_like):
    _like(_maker)


def _as_array(copies: bool) -> Callable[..., Any]:
    def made(trace: Trace, a: Ragged, dtype: Any = None, **options: Any) -> Ragged:
        if options or (dtype is not None and np.dtype(dtype) != a.dtype):
            a.unknown_("the length of a slice")
        return copy(trace, a) if copies else a

    return made


_asks_nobody(np.array, _as_array(True))
_asks_nobody(np.asarray, _as_array(False))


# -- other orders, and writes


def _transposed(trace: Trace, a: Any, axes: Any = None) -> Any:
    order = tuple(range(a.ndim))[::-1] if axes is None else normalize_axis_tuple(axes, a.ndim)
    return Ragged(a.full.transpose(order), {order.index(k): extent for k, extent in a.axes.items()})


on_slices(FUNCTIONS[np.transpose], METHODS["T"])(_transposed)


@on_slices(METHODS["transpose"])
def transpose(trace: Trace, a: Any, *axes: Any) -> Any:
    return _transposed(trace, a, axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes or None)


@on_slices(FUNCTIONS[np.flip])
def flip(trace: Trace, m: Ragged, axis: Any = None) -> Any:
    axes = _axes(m, axis)
    return m[tuple([slice(None, None, -1) if k in axes else slice(None) for k in range(m.ndim)])]


@on_slices(FUNCTIONS[np.copyto])
def copyto(trace: Trace, dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    if not isinstance(dst, Ragged) or where is not True:
        next(x for x in (dst, src, where) if isinstance(x, Ragged)).unknown_("the length of a slice")
    dst.assign_(src, casting)


on_slices(METHODS["fill"])(METHODS["fill"])
on_slices(FUNCTIONS[np.shape])(lambda trace, a: a.shape)
on_slices(FUNCTIONS[np.ndim])(lambda trace, a: a.ndim)
on_slices(FUNCTIONS[np.size])(lambda trace, a, axis=None: a.size if axis is None else a.shape[axis])
