"""Shapes: reshape, transpose and their like. NumPy gives views where it can; so do these."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from catad import errors
from catad.category.cartesian import exr
from catad.category.terms import D, identity
from catad.traced.arrays import layout
from catad.traced.arrays.aliases import note, refusing
from catad.traced.arrays.operators import cast
from catad.traced.arrays.stand_in import Traced, View, computed, constant, fresh, read_through, stand_in_of
from catad.traced.recorder import Trace, Uniform
from catad.traced.table import attribute, meaning, method, own_order
from catad.values.arrays import is_weak, refuse_blocks
from catad.values.complex_numbers import ComplexPair, is_complex
from catad.vector.shapes.shape import broadcast_to, reshape, transpose


def as_traced(trace: Trace, x: Any) -> Any:
    """A stand-in for an array, a number, or nested lists."""
    if isinstance(x, (Traced, ComplexPair)):
        return x
    if is_weak(x):
        return constant(trace, np.asarray(x), type(x))
    if not isinstance(x, (list, tuple)):
        return stand_in_of(trace, x if is_complex(x) else np.asarray(refuse_blocks(x)))
    from catad.traced.names.making import from_nested

    return from_nested(trace, x)


def sizes_of(shape: Any) -> tuple[int, ...]:
    """A shape as NumPy takes it: one number, or a sequence of them."""
    several = np.iterable(shape) and not isinstance(shape, Traced)
    return tuple([n.__index__() for n in (shape if several else (shape,))])


def view(
    x: Traced, read: D, write: D | None, like: Callable[[Any], Any] | None, keeps_axes: bool = False, why: str = ""
) -> Traced:
    """A view through a term, written through by another one; a number has no views."""
    if not x.ndim and not x.is_view:
        return fresh(x.trace_, read_through(x.trace_.region, read, cast(x.trace_, x.var_, x.dtype), ()))
    return Traced(x.trace_, None, View(x, read, write, like, keeps_axes, (), why))


def same(x: Traced) -> Traced:
    """A view of all entries."""
    return view(x, identity, exr, np.asarray, keeps_axes=True)


def write_back(back: D) -> D:
    """(base, value) to the base that has been written: the value, moved back."""
    return exr >> back


def reshaped(x: Traced, shape: Any) -> Traced:
    """The entries in C order in another shape: a view where they stand side by side, else a copy."""
    sizes = sizes_of(shape)
    known = math.prod([n for n in sizes if n >= 0])
    if sizes.count(-1) > 1:
        raise ValueError("can only specify one unknown dimension")
    full = tuple([(x.size // known if known else 0) if n == -1 else n for n in sizes])
    if math.prod(full) != x.size or (-1 in sizes and not known) or any(n < -1 for n in sizes):
        raise ValueError(f"cannot reshape array of size {x.size} into shape {sizes}")
    if full == x.shape:
        return same(x)
    in_place = layout.in_place(x, full)
    if in_place:
        return _resized(x, full)
    made = fresh(x.trace_, computed(x.trace_.region, reshape(full), x.var_), layout.in_c_order(len(full)))
    made.is_array = True
    if in_place is None:
        may_be_one(x, made, "x.reshape")
    return made


def may_be_one(x: Traced, copy: Traced, what: str) -> None:
    """Note that NumPy gives a view of an array or a copy: where one of them is written into, the other one must not be read."""
    note(refusing(errors.view_or_copy(x, what)), {x.root, copy.root}, x.trace_.region)


@meaning(np.reshape, shares=True)
def reshape_(trace: Trace, a: Any, /, shape: Any = None, order: str = "C", *, newshape: Any = None, copy: Any = None) -> Any:
    x = as_traced(trace, a)
    if order in ("A", "K") and x.ndim > 1:
        raise errors.TraceError(errors.order_of_memory(order))
    if order not in ("C", "F", "A", "K") or (order == "K" and shape != -1):
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got '{order}')")
    if order == "F":
        return transposed(
            reshaped(transposed(x, None), tuple(shape)[::-1] if isinstance(shape, (tuple, list)) else shape), None
        )
    made = reshaped(x, shape if newshape is None else newshape)
    return made if not copy else made.copy()


@method("reshape")
@own_order
def reshape_method(trace: Trace, x: Traced, *shape: Any, order: str = "C", copy: Any = None) -> Any:
    return reshape_(trace, x, shape[0] if len(shape) == 1 else shape, order, copy=copy)


@meaning(np.ravel, shares=True)
@method("ravel")
def ravel(trace: Trace, a: Any, order: str = "C") -> Any:
    return reshape_(trace, a, -1, order)


@method("flatten")
def flatten(trace: Trace, x: Traced, order: str = "C") -> Traced:
    made: Traced = ravel(trace, x, order).copy()
    return made


def transposed(x: Traced, axes: Any) -> Traced:
    order = tuple(range(x.ndim))[::-1] if axes is None else tuple([a.__index__() for a in axes])
    order = tuple([a + x.ndim if a < 0 else a for a in order])
    if sorted(order) != list(range(x.ndim)):
        raise ValueError("axes don't match array")
    if order == tuple(range(x.ndim)):
        return same(x)
    back = tuple([order.index(a) for a in range(x.ndim)])
    moved = [a for a in order if x.shape[a] != 1]
    return view(x, transpose(order), write_back(transpose(back)), lambda s: s.transpose(order), moved == sorted(moved))


@meaning(np.transpose, np.permute_dims, shares=True)
def transpose_(trace: Trace, a: Any, axes: Any = None) -> Any:
    return transposed(as_traced(trace, a), axes)


@method("transpose")
def transpose_method(trace: Trace, x: Traced, *axes: Any) -> Traced:
    given = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes or None
    return transposed(x, given)


@meaning(np.swapaxes, shares=True)
@method("swapaxes")
def swapaxes(trace: Trace, a: Any, axis1: int, axis2: int) -> Traced:
    x = as_traced(trace, a)
    first, second = normalize_axis_index(axis1, x.ndim, "axis1"), normalize_axis_index(axis2, x.ndim, "axis2")
    order = list(range(x.ndim))
    order[first], order[second] = order[second], order[first]
    return transposed(x, order)


attribute("T")(lambda trace, x: transposed(x, None))
attribute("mT")(lambda trace, x: swapaxes(trace, x, -1, -2))
meaning(np.matrix_transpose, np.linalg.matrix_transpose, shares=True)(lambda trace, x, /: swapaxes(trace, x, -1, -2))


@meaning(np.moveaxis, shares=True)
def moveaxis(trace: Trace, a: Any, source: Any, destination: Any) -> Traced:
    x = as_traced(trace, a)
    shadow = np.moveaxis(np.empty(tuple(range(1, x.ndim + 1)), bool), source, destination)
    return transposed(x, [n - 1 for n in shadow.shape])


@meaning(np.squeeze, shares=True)
@method("squeeze")
def squeeze(trace: Trace, a: Any, axis: Any = None) -> Traced:
    x = as_traced(trace, a)
    return _resized(x, np.squeeze(np.empty(x.shape, bool), axis).shape)


@meaning(np.expand_dims, shares=True)
def expand_dims(trace: Trace, a: Any, axis: Any) -> Traced:
    x = as_traced(trace, a)
    return _resized(x, np.expand_dims(np.empty(x.shape, bool), axis).shape)


def _resized(x: Traced, shape: tuple[int, ...]) -> Traced:
    """A view in another shape: with axes of size 1 added or removed, or one for which the entries lie as they must."""
    return view(
        x, reshape(shape), write_back(reshape(x.shape)), lambda s: layout.reshaped_shadow(s, shape), layout.keeps_c_order(x)
    )


def _atleast(n: int) -> Any:
    function = {1: np.atleast_1d, 2: np.atleast_2d, 3: np.atleast_3d}[n]

    def made(trace: Trace, *arrays: Any) -> Any:
        out = [_resized(x, function(np.empty(x.shape, bool)).shape) for x in (as_traced(trace, a) for a in arrays)]
        return out[0] if len(out) == 1 else tuple(out)

    meaning(function, shares=True)(made)
    return made


for _n in (1, 2, 3):
    _atleast(_n)


@meaning(np.broadcast_to, shares=True)
def broadcast_to_(trace: Trace, array: Any, shape: Any, subok: bool = False) -> Traced:
    x = as_traced(trace, array)
    sizes = sizes_of(shape)
    np.broadcast_to(np.empty(x.shape, bool), sizes)  # NumPy's own error
    why = "np.broadcast_to, whose result is read-only"
    return view(x, broadcast_to(sizes), None, lambda s: np.broadcast_to(s, sizes), why=why)


@meaning(np.broadcast_arrays, shares=True)
def broadcast_arrays(trace: Trace, *args: Any, subok: bool = False) -> Any:
    arrays = [as_traced(trace, a) for a in args]
    shape = np.broadcast_shapes(*[x.shape for x in arrays])
    return tuple([broadcast_to_(trace, x, shape) for x in arrays])


class Flat:
    """`x.flat`: the entries in C order; reading gives copies, writing writes into the array."""

    def __init__(self, array: Traced) -> None:
        self.array = array

    def line(self) -> Any:
        """The entries as a view that can be written through."""
        x = self.array
        return view(x, reshape((x.size,)), write_back(reshape(x.shape)), None)

    def __getitem__(self, key: Any) -> Any:
        return self.line()[key].copy()

    def __setitem__(self, key: Any, value: Any) -> None:
        self.line()[key] = value

    def __iter__(self) -> Any:
        return iter(self.line())

    def __len__(self) -> Any:
        return self.array.size

    def copy(self) -> Any:
        return self.line().copy()


@meaning(np.imag)
@attribute("imag")
def imag(trace: Trace, val: Any) -> Traced:
    x = as_traced(trace, val)
    return constant(trace, Uniform(x.dtype.type(0), x.shape))


@meaning(np.size)
def size(trace: Trace, a: Any, axis: Any = None) -> Any:
    x = as_traced(trace, a)
    return x.size if axis is None else x.shape[axis]


meaning(np.shape)(lambda trace, a: as_traced(trace, a).shape)
meaning(np.ndim)(lambda trace, a: as_traced(trace, a).ndim)
meaning(np.real, shares=True)(lambda trace, val: as_traced(trace, val))
meaning(np.isrealobj)(lambda trace, x: True)
meaning(np.iscomplexobj)(lambda trace, x: False)
method("conj", "conjugate")(lambda trace, x: x)
method("to_device")(lambda trace, x, device, /, *, stream=None: x)
attribute("real")(lambda trace, x: x)
attribute("flat")(lambda trace, x: Flat(x))
attribute("base")(lambda trace, x: None if x._view is None else x._view.base)
attribute("device")(lambda trace, x: "cpu")
