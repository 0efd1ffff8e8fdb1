"""Making arrays: they are constants, which can be written into."""

from __future__ import annotations

from typing import Any

import numpy as np

from catad import errors
from catad.traced.arrays import layout
from catad.traced.arrays.masked import Masked
from catad.traced.arrays.operators import assign, cast, common_dtype
from catad.traced.arrays.promotion import check_dtype
from catad.traced.arrays.stand_in import Axes, Traced, checked_array, computed, constant, fresh, stand_in_of
from catad.traced.control.loop_outputs import pieces
from catad.traced.inlining import any_traced, wrapped
from catad.traced.names.reductions import only_if
from catad.traced.names.shapes import as_traced, may_be_one, sizes_of
from catad.traced.recorder import Trace, Uniform
from catad.traced.table import FUNCTIONS, meaning, meaning_anywhere, method, own_order, python_meaning, scattered
from catad.values.complex_numbers import ComplexPair, is_complex, is_complex_dtype
from catad.values.formats import KNOWN
from catad.vector.shapes.shape import broadcast_to, concatenate, stack


def _filled(trace: Trace, shape: Any, value: Any, dtype: Any, axes: Axes | None = None) -> Any:
    """An array of one number, in C order or with its axes in another order."""
    if is_complex(value) or is_complex_dtype(dtype):
        from catad.traced.pairs.functions import filled  # late: few functions have complex numbers

        return filled(trace, value, dtype, lambda part, real: _filled(trace, shape, part, real, axes))
    sizes = sizes_of(shape)
    axes = layout.in_c_order(len(sizes)) if axes is None else axes
    if isinstance(value, Traced) and value.var_.constant is None:
        var = value.var_ if dtype is None else cast(trace, value.var_, np.dtype(dtype))
        made = fresh(trace, computed(trace.region, broadcast_to(sizes), var))
    elif np.ndim(value):
        made = constant(trace, np.full(sizes, value, dtype))
    else:
        made = constant(trace, Uniform(checked_array(np.full((), value, dtype))[()], sizes))
    made.is_new(axes)
    made.is_array = True
    return made


def _axes(shape: Any, order: str) -> Axes:
    """The order of axes of a new array, by the parameter `order`."""
    if order not in ("C", "F"):
        raise ValueError("only 'C' or 'F' order is permitted")
    return layout.in_c_order(len(sizes_of(shape)))[:: -1 if order == "F" else 1]


def _maker(number: Any, function: Any) -> None:
    def made(trace: Trace, shape: Any, dtype: Any = None, order: str = "C", *, device: Any = None, like: Any = None) -> Any:
        return _filled(trace, shape, number, float if dtype is None else dtype, _axes(shape, order))

    meaning_anywhere(function)(made)


def _pattern(a: Any, dtype: Any) -> tuple[Any, Any]:
    """The array like which another one is made, and the dtype of that."""
    if not isinstance(a, Traced):
        a = np.asarray(a)
    elif dtype is None:
        check_dtype(a)
    return a, a.dtype if dtype is None else dtype


def _filled_like(trace: Trace, a: Any, number: Any, dtype: Any, shape: Any, order: str) -> Any:
    """An array of one number like another array."""
    if is_complex(a) or is_complex_dtype(dtype) or is_complex(number):
        from catad.traced.pairs.functions import filled_like  # late, as above

        return filled_like(trace, a, number, dtype, shape, order)
    source, dtype = _pattern(a, dtype)
    made = _filled(trace, source.shape if shape is None else shape, number, dtype)
    made.is_new(layout.axes_in(order, source, made.ndim))
    return made


def _liker(number: Any, function: Any) -> None:
    def made(
        trace: Trace,
        a: Any,
        dtype: Any = None,
        order: str = "K",
        subok: bool = True,
        shape: Any = None,
        *,
        device: Any = None,
    ) -> Any:
        return _filled_like(trace, a, number, dtype, shape, order)

    meaning_anywhere(function)(made)


for _number, _function, _like in (
    (0, np.zeros, np.zeros_like), (0, np.empty, np.empty_like), (1, np.ones, np.ones_like), (0, np.ndarray, None),
):  # fmt: skip
    _maker(_number, _function)
    if _like is not None:
        _liker(_number, _like)


@meaning_anywhere(np.full)
def full(
    trace: Trace, shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", *, device: Any = None, like: Any = None
) -> Any:
    return _filled(trace, shape, fill_value, dtype, _axes(shape, order))


@meaning_anywhere(np.full_like)
def full_like(
    trace: Trace, a: Any, fill_value: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *,
    device: Any = None,
) -> Any:  # fmt: skip
    return _filled_like(trace, a, fill_value, dtype, shape, order)


@python_meaning(np.array)
def array(
    driver: Any, thing: Any, dtype: Any = None, *, copy: Any = True, order: str = "K", ndmin: int = 0, **more: Any
) -> Any:
    if isinstance(thing, ComplexPair) and dtype is not None and not is_complex_dtype(dtype):
        return thing.astype(dtype)
    if not any_traced(thing):
        plain = np.array(thing, dtype=dtype, order=order, ndmin=ndmin)  # type: ignore[call-overload]
        return as_array(stand_in_of(driver.trace, plain, None)) if plain.dtype.kind in "biufc" else plain
    if copy is not True and isinstance(thing, Traced):
        return _with_axes(_converted(thing, dtype, order, "np.array", may_copy=copy is None), ndmin)
    return as_array(_with_axes(from_nested(driver.trace, thing, dtype, order), ndmin))


def _with_axes(x: Any, n: int) -> Any:
    """The array with axes of size 1 in front, so that it has at least n."""
    return x if x.ndim >= n else as_array(x)[(None,) * (n - x.ndim)]


@python_meaning(np.asarray, np.asanyarray)
def asarray(driver: Any, thing: Any, dtype: Any = None, order: Any = None, **more: Any) -> Any:
    if isinstance(thing, ComplexPair) and (dtype is None or np.dtype(dtype) == thing.dtype) and not thing.python_type:
        return thing
    if isinstance(thing, Traced) and not is_complex_dtype(dtype):
        return _converted(thing, dtype, order, "np.asarray", may_copy=more.get("copy") is not False)
    if any_traced(thing):
        return from_nested(driver.trace, thing, dtype, order)
    made = np.asarray(thing, dtype=dtype, order=order)
    return wrapped(driver, made, (thing,), "np.asarray")


def _contiguous(function: Any, order: str) -> None:
    def made(driver: Any, a: Any, dtype: Any = None, *, like: Any = None) -> Any:
        return _with_axes(asarray(driver, a, dtype, order), 1)

    python_meaning(function)(made)


_contiguous(np.ascontiguousarray, "C")
_contiguous(np.asfortranarray, "F")


def _converted(x: Traced, dtype: Any, order: str | None, what: str, may_copy: bool) -> Any:
    """The array itself where it has the dtype and lies as it should; else a copy."""
    same = dtype is None or np.dtype(dtype) == x.dtype
    lies = layout.is_contiguous(x, order) if order in ("C", "F") else True
    if same and lies and x.var_.weak is None:
        return as_array(x)
    if not may_copy and x.var_.weak is None:
        raise ValueError("Unable to avoid copy while creating an array as requested.")
    made = fresh(x.trace_, cast(x.trace_, x.var_, x.dtype if same else np.dtype(dtype)), layout.axes_in(order, x))
    if same and lies is None:
        may_be_one(x, made, what)
    return as_array(made)


def as_array(x: Any) -> Any:
    """A value without axes as an array: another object, with the same memory."""
    if not isinstance(x, Traced) or x.ndim or x.is_view or x.is_array:
        return x
    made = Traced(x.owner_, x.buffer)
    made.is_array = True
    return made


def from_nested(trace: Trace, thing: Any, dtype: Any = None, order: str | None = "K") -> Any:
    """`np.array` of nested lists with stand-ins in them: a new array."""
    if is_complex_dtype(dtype) or any(map(is_complex, layout.parts_in(thing))):
        from catad.traced.pairs.functions import nested  # late, as above

        return nested(trace, thing, dtype, order)
    if isinstance(thing, Traced):
        var = cast(trace, thing.var_, thing.dtype if dtype is None else np.dtype(dtype))
        return fresh(trace, var, layout.axes_in(order, thing))
    if isinstance(thing, Masked):
        raise errors.TraceError(errors.shape_depends_on_data("np.array(x[mask])"))
    if isinstance(thing, (list, tuple)) and any_traced(thing):
        known = pieces(trace, thing)
        parts = [from_nested(trace, part) for part in (thing if known is None else known)]
        shapes = {part.shape[known is not None :] for part in parts}
        if len(shapes) > 1:
            raise ValueError(
                "setting an array element with a sequence. The requested array has an inhomogeneous shape: "
                f"{sorted(shapes)} side by side"
            )
        common = np.result_type(*[part.dtype for part in parts]) if dtype is None else np.dtype(dtype)
        vars_ = tuple([cast(trace, part.var_, common) for part in parts])
        if known is not None:
            var = vars_[0] if len(vars_) == 1 else computed(trace.region, concatenate(), vars_)
        else:
            var = computed(trace.region, stack(), vars_)
        return fresh(trace, var, layout.in_c_order(var.space.ndim)[:: -1 if order == "F" else 1])
    made = np.array(thing, order=order)  # type: ignore[arg-type]
    return constant(trace, made if dtype is None else made.astype(dtype))


@meaning(np.copy)
@own_order
def copy(trace: Trace, a: Any, order: str = "K", subok: bool = False) -> Any:
    return as_array(copied(trace, as_traced(trace, a), order))


@method("copy")
@own_order
def copied(trace: Trace, x: Traced, order: str = "C") -> Any:
    return fresh(trace, cast(trace, x.var_, x.dtype), layout.axes_in(order, x))


@method("astype")
@own_order
def astype(
    trace: Trace, x: Traced, dtype: Any, order: str = "K", casting: Any = "unsafe", subok: bool = True, copy: bool = True
) -> Any:
    wanted = checked_array(np.empty(0, dtype)).dtype
    if casting != "unsafe" and not np.can_cast(x.dtype, wanted, casting):
        raise TypeError(f"Cannot cast array data from {x.dtype!r} to {wanted!r} according to the rule {casting!r}")
    if wanted == x.dtype and not copy:
        return _converted(x, wanted, order, "x.astype", may_copy=True)
    return fresh(trace, cast(trace, x.var_, wanted), layout.axes_in(order, x))


def _scalar_type(kind: Any) -> Any:
    def made(driver: Any, x: Any = 0) -> Any:
        if isinstance(x, Traced):
            return fresh(driver.trace, cast(driver.trace, x.var_, np.dtype(kind)))
        if isinstance(x, ComplexPair):
            return x.astype(kind)
        return kind(x) if not any_traced(x) else from_nested(driver.trace, x, np.dtype(kind))

    return made


for _dtype in KNOWN:
    python_meaning(_dtype.type)(_scalar_type(_dtype.type))
meaning(getattr(np, "astype", None))(lambda trace, x, dtype, /, *, copy=True, device=None: astype(trace, x, dtype, copy=copy))


@meaning(np.arange)
def arange(trace: Trace, *args: Any, **kwargs: Any) -> Any:
    """Its size depends on its arguments, which are numbers that are known."""

    def known(x: Any) -> Any:
        return x._number("an index or a size")[()] if isinstance(x, Traced) else x

    return stand_in_of(trace, np.arange(*map(known, args), **{key: known(x) for key, x in kwargs.items()}))


@meaning(np.linspace)
@scattered
def linspace(
    trace: Trace, start: Any, stop: Any, num: int = 50, endpoint: bool = True, retstep: bool = False, dtype: Any = None,
    axis: int = 0, *, device: Any = None,
) -> Any:  # fmt: skip
    num = num.__index__()
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    parts = num - 1 if endpoint else num
    kind = common_dtype(trace, start, stop)
    kind = kind if kind.kind == "f" else np.dtype(np.float64)
    first, last = (as_traced(trace, end) for end in (start, stop))
    first, last = first.astype(kind), last.astype(kind)
    delta = last - first
    step = delta / parts if parts > 0 else np.full_like(delta, np.nan)
    steps = np.arange(num, dtype=kind).reshape((-1,) + (1,) * delta.ndim)
    made = steps * step + first if parts > 0 else steps * delta + first
    if endpoint and num > 1:
        made = np.concatenate([made[:-1], np.broadcast_to(last, (1, *delta.shape))])
    dtype = kind if dtype is None else np.dtype(dtype)
    made = np.floor(made) if dtype.kind in "iu" else made
    made = np.moveaxis(made, 0, axis).astype(dtype)
    return (made, step) if retstep else made


@meaning(np.logspace)
def logspace(
    trace: Trace, start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None, axis: int = 0
) -> Any:
    if np.ndim(base):
        raise errors.TraceError(errors.unknown_parameter("np.logspace", "base of several entries"))
    made = np.power(base, as_traced(trace, linspace(trace, start, stop, num, endpoint, axis=axis)))
    return made if dtype is None else made.astype(dtype, copy=False)


@meaning(np.geomspace)
def geomspace(
    trace: Trace, start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0
) -> Any:
    kind = np.result_type(common_dtype(trace, start, stop), np.float64, np.empty(0, dtype))
    ends = [as_traced(trace, end).astype(kind) for end in (start, stop)]
    first, last = (only_if(np.all(end != 0), end) for end in ends)  # zero is an error
    sign = np.sign(first)
    first, last = first / sign, last / sign
    made = logspace(trace, np.log10(first), np.log10(last), num, endpoint)
    if num > 0:
        made[0] = first
    if num > 1 and endpoint:
        made[-1] = last
    made = np.moveaxis(made * sign, 0, axis)
    return made if dtype is None else made.astype(dtype, copy=False)


@python_meaning(np.ndenumerate)
def ndenumerate(driver: Any, arr: Any) -> Any:
    if not any_traced(arr):
        return np.ndenumerate(arr)
    x = as_traced(driver.trace, arr)
    return iter([(at, x[at]) for at in np.ndindex(*x.shape)])


@meaning(np.meshgrid)
def meshgrid(trace: Trace, *xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    order = [1, 0, *range(2, len(xi))] if indexing == "xy" and len(xi) > 1 else list(range(len(xi)))
    arrays = [as_traced(trace, x) for x in xi]
    parts = [x.reshape([-1 if k == order[i] else 1 for k in range(len(xi))]) for i, x in enumerate(arrays)]
    shape = np.broadcast_shapes(*[x.shape for x in parts])
    parts = parts if sparse else [np.broadcast_to(x, shape) for x in parts]
    return tuple([x.copy() if copy else x for x in parts])


@python_meaning(np.fromfunction)
def fromfunction(driver: Any, function: Any, shape: Any, *, dtype: Any = float, like: Any = None, **kwargs: Any) -> Any:
    places = [constant(driver.trace, one) for one in np.indices(shape, dtype=dtype)]
    return driver.call(function, *places, **kwargs)


@method("fill")
def fill(trace: Trace, x: Any, value: Any) -> None:
    x[...] = value


@meaning(np.copyto, shares=True)
def copyto(trace: Trace, dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    if not isinstance(dst, Traced):
        raise errors.TraceError(errors.write_to_captured("the array given to np.copyto"))
    if where is True:
        assign(dst, src, casting)
    else:
        made = FUNCTIONS[np.where](trace, where, src, dst)
        if not np.can_cast(as_traced(trace, src).dtype, dst.dtype, casting) and as_traced(trace, src).var_.weak is None:
            raise errors.SpaceError(errors.cannot_cast(as_traced(trace, src).dtype, dst.dtype, casting))
        assign(dst, made)


@meaning(np.min_scalar_type)
def min_scalar_type(trace: Trace, a: Any, /) -> Any:
    if not a.ndim:
        a.item()  # the smallest dtype depends on the number
    return a.dtype


def _weakly(thing: Any) -> Any:
    """A dtype, or a weak number, of a stand-in."""
    if not isinstance(thing, Traced):
        return thing
    weak = thing.var_.weak
    return thing.dtype if weak is None else weak(0)


meaning(np.result_type)(lambda trace, *arrays_and_dtypes: np.result_type(*map(_weakly, arrays_and_dtypes)))
meaning(np.can_cast)(lambda trace, from_, to, casting="safe": np.can_cast(_weakly(from_), to, casting))
meaning(np.common_type)(lambda trace, *arrays: np.common_type(*[np.empty(0, one.dtype) for one in arrays]))
