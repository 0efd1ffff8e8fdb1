"""Arithmetic on stand-ins: NumPy's universal functions, operators and matrix products, with NumPy's dtypes.

`pointwise` is the one way in: it asks NumPy itself for the dtypes (`ufunc.resolve_dtypes`), lets Python numbers be weak (NEP 50),
and records the word of catad, with numbers put in.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from catad import errors, scalar
from catad.category.spaces import Tensor
from catad.category.terms import D
from catad.scalar.operators import OF_OP, OPERATORS
from catad.scalar.reading.callables import handler_of
from catad.support.lru import Recent, remembered
from catad.traced.arrays import layout
from catad.traced.arrays.affine import note
from catad.traced.arrays.masked import Masked, common_mask
from catad.traced.arrays.promotion import check_write
from catad.traced.arrays.ragged import Ragged
from catad.traced.arrays.stand_in import Traced, computed, constant, fresh, var_of
from catad.traced.recorder import Trace, Uniform, Var
from catad.traced.table import SPECIAL
from catad.values.arrays import is_weak
from catad.values.complex_numbers import is_complex, is_complex_dtype
from catad.values.formats import is_known
from catad.vector.folds import contract
from catad.vector.pointwise import operators as words
from catad.vector.pointwise.map import MapOf
from catad.vector.pointwise.operators import astype, times, with_numbers
from catad.vector.shapes.shape import broadcast_to, reshape

_RENAMED = {one.numpy: one.op for one in OPERATORS} | {"negative": "neg", "absolute": "abs", "arctan2": "atan2"}
_ON_TRUTH = {"add": np.logical_or, "multiply": np.logical_and, "absolute": np.positive, "maximum": np.logical_or,
             "minimum": np.logical_and, "fmax": np.logical_or, "fmin": np.logical_and, "less": None}  # fmt: skip
_LEAFWISE = {"add": words.add, "sub": words.sub, "neg": words.neg, "div": words.div, "pow": words.pow}


def _word(ufunc: np.ufunc) -> str | None:
    """The word of catad for a universal function of NumPy, if there is one."""
    name = ufunc.__name__
    word = _RENAMED.get(name, name)
    return word if word in words.WORDS and hasattr(np, name) else None


def _by_number(word: str, number: Any, after: bool) -> D:
    """The word for arithmetic with one number: `ct.times(2.0)`, `ct.id + 1`."""
    if word == "mul":
        return times(number)
    made = words.WithNumber(word, OF_OP[word].symbol, number, after)
    public = MapOf(made.function)
    return public if repr(public).startswith("ct.") and "map" not in repr(public) else made


@remembered
def _term(ufunc: np.ufunc, numbers: tuple[Any, ...]) -> D:
    """The word for a universal function, of variables (None) and of numbers, each given with its type."""
    word = _word(ufunc)
    if all(number is None for number in numbers):
        if word is not None:
            found: D = _LEAFWISE.get(word) or words.WORDS[word]
            return found
        return MapOf(scalar.read(ufunc))
    args = [object() if number is None else number[1] for number in numbers]
    after = numbers[0] is None
    if word in ("add", "sub", "mul", "div", "pow") and type(args[after]) is not bool:
        return _by_number(word, args[after], after)
    term, _ = with_numbers(word if word in scalar.OPS else ufunc, args)
    return term


def supported(ufunc: np.ufunc) -> bool:
    """True for universal functions that catad knows."""
    return ufunc in SPECIAL or _word(ufunc) is not None or handler_of(ufunc) is not None


@lru_cache(4096)
def _dtypes(ufunc: np.ufunc, types: tuple[Any, ...], asked: Any, casting: Any) -> tuple[np.dtype[Any], ...]:
    """NumPy's dtypes of operands and results; Python's types stand for weak numbers."""
    if all(isinstance(one, type) for one in types):
        types = tuple([np.dtype(one) for one in types])
    asks: Any = {} if asked is None else {"signature": (None,) * ufunc.nin + (np.dtype(asked),) * ufunc.nout}
    found = ufunc.resolve_dtypes((*types, *(None,) * ufunc.nout), casting=casting, **asks)
    for dtype in found:
        if not is_known(dtype):
            raise errors.TraceError(errors.unsupported_dtype(dtype))
    return tuple(found)


def pointwise(trace: Trace, ufunc: np.ufunc, *args: Any, dtype: Any = None, casting: Any = "same_kind") -> Any:
    """A universal function of stand-ins, arrays and numbers."""
    if dtype is None and casting == "same_kind":
        made = direct(trace, ufunc, args)
        if made is not None:
            return made
    if any(map(is_complex, args)) or is_complex_dtype(dtype):
        from catad.traced.pairs.universal import universal  # late: few functions have complex numbers

        return universal(trace, ufunc, args, dtype, casting)
    if not supported(ufunc):
        raise errors.TraceError(errors.unknown_function(f"np.{ufunc.__name__}"))
    for arg in args:
        if type(arg) is Ragged:
            return arg.pointwise_(trace, ufunc, args, dtype)
    mask = common_mask(args)
    plain = [arg.full if isinstance(arg, Masked) else arg for arg in args]
    special = SPECIAL.get(ufunc)
    made = NotImplemented if special is None else special(trace, *plain)
    if made is NotImplemented:
        made = _recorded(trace, ufunc, plain, dtype, casting)
    elif dtype is not None or casting != "same_kind":
        _dtypes_of(ufunc, _types(trace, plain), dtype, casting)
        made = made if dtype is None else made.astype(dtype)
    _lay_out(made, plain)
    return made if mask is None else Masked(mask, made)


def _lay_out(made: Any, args: Sequence[Any]) -> None:
    """Note the order of axes that new arrays have in memory."""
    for one in made if isinstance(made, tuple) else (made,):
        if one.ndim > 1 and one.buffer is not None:
            one.buffer.axes = layout.axes_of_result(args, one.ndim)


def resolved(trace: Trace, ufunc: np.ufunc, *args: Any) -> tuple[np.dtype[Any], ...]:
    """NumPy's dtypes of the operands and results of a universal function; Python numbers are weak."""
    return _dtypes_of(ufunc, _types(trace, args), None, "same_kind")


def _types(trace: Trace, args: Sequence[Any]) -> tuple[Any, ...]:
    return tuple([_type_of(arg, None if is_weak(arg) else var_of(trace, arg)) for arg in args])


def _dtypes_of(ufunc: np.ufunc, types: tuple[Any, ...], asked: Any, casting: Any) -> tuple[np.dtype[Any], ...]:
    try:
        return _dtypes(ufunc, types, asked, casting)
    except TypeError as error:
        if isinstance(error, errors.CatadError):
            raise
        raise errors.SpaceError(errors.numpy_refuses(ufunc, error)) from None


def common_dtype(trace: Trace, *args: Any) -> np.dtype[Any]:
    """The dtype to which NumPy promotes values; Python numbers are weak."""
    vars_ = [var_of(trace, arg) for arg in args]
    return np.result_type(*[var.weak(0) if var.weak else var.space.dtype for var in vars_])


def _type_of(arg: Any, var: Var | None) -> Any:
    found = type(arg) if var is None else var.weak or var.space.dtype
    return np.dtype(bool) if found is bool else found


_plain: Recent[Any, D] = Recent(512)  # words that take their operands as they are, by the dtypes of these


def direct(trace: Trace, ufunc: np.ufunc, args: tuple[Any, ...]) -> Traced | None:
    """One line, where the same operation was recorded before on the same dtypes, and needed no conversion."""
    key: list[Any] = [ufunc]
    at = []
    for arg in args:
        if type(arg) is Traced:
            var = arg.var_
            if var.weak is not None or var.constant is not None:
                return None
            key.append(var.space.dtype)
            at.append(var)
        elif type(arg) is float:
            key.append(arg if arg else str(arg))
        else:
            return None
    term = _plain.get(tuple(key))
    if term is None:
        return None
    made = fresh(trace, trace.region.record(term, at[0] if len(at) == 1 else tuple(at)))
    _lay_out(made, args)
    return made


def _remember(ufunc: np.ufunc, args: Sequence[Any], vars_: Sequence[Var | None], term: D) -> None:
    """What `direct` may do the next time."""
    if all(type(arg) is Traced if var is not None else type(arg) is float for arg, var in zip(args, vars_, strict=True)):
        kinds = [
            var.space.dtype if var is not None else arg if arg else str(arg) for arg, var in zip(args, vars_, strict=True)
        ]
        _plain[(ufunc, *kinds)] = term


def _recorded(trace: Trace, ufunc: np.ufunc, args: Sequence[Any], asked: Any, casting: Any) -> Traced:
    """One line, with the operands cast to what NumPy computes in."""
    numbers = [is_weak(arg) for arg in args]
    vars_ = [None if number else var_of(trace, arg) for number, arg in zip(numbers, args, strict=True)]
    if ufunc in COMPARISONS:  # with integers of any dtype they are exact
        vars_ = [cast(trace, var, np.dtype(np.int64)) if var and _is_late_int(var) else var for var in vars_]
    types = tuple([_type_of(arg, var) for arg, var in zip(args, vars_, strict=True)])
    weak = all(isinstance(one, type) for one in types) or (
        all(isinstance(one, type) or one.kind == "b" for one in types) and any(isinstance(one, type) for one in types)
        and all(var is None or var.weak for var in vars_)
    )  # fmt: skip
    dtypes = _dtypes_of(ufunc, types, asked, casting)
    if all(dtype.kind == "b" for dtype in dtypes) and ufunc.__name__ in _ON_TRUTH:
        ufunc = _ON_TRUTH[ufunc.__name__] or ufunc
    at = []
    kept: list[Any] = []
    for arg, var, dtype in zip(args, vars_, dtypes[: len(args)], strict=True):
        if var is None:
            out_of_range = _number_beside(ufunc, arg, dtype, vars_)
            if out_of_range is not None:
                return constant(trace, out_of_range)
            kept.append((type(arg).__name__, arg, str(arg)))
        else:
            if var.weak and var.space.dtype != dtype:
                var = operand(trace, var, dtype)
            kept.append(None)
            at.append(var)
    term = _term(ufunc, tuple(kept))
    out = _line(trace, term, at)
    if out.space.dtype == dtypes[-1]:
        if not weak and all(var is None or var.weak is None for var in vars_) and asked is None:
            _remember(ufunc, args, vars_, term)
    else:
        at = [cast(trace, var, dtype) for var, dtype in
              zip(at, [d for d, k in zip(dtypes, kept, strict=False) if k is None], strict=True)]  # fmt: skip
        out = cast(trace, _line(trace, _term(ufunc, tuple(kept)), at), dtypes[-1])
    if weak:
        out = weakened(trace, out)
    if not out.space.shape and out.space.dtype == np.int64:
        note(trace.region, ufunc, [arg if var is None else var for arg, var in zip(args, vars_, strict=True)], out)
    return fresh(trace, out)


def weakened(trace: Trace, var: Var) -> Var:
    """The variable as a Python number."""
    kind = {"f": float, "i": int, "u": int, "b": bool}[var.space.dtype.kind]
    made = Var(trace.region, trace.region.own(var).wire, kind, var.constant)
    made.name, made.place = var.name, var.place
    return made


def _line(trace: Trace, term: D, at: list[Var]) -> Var:
    made: Var = computed(trace.region, term, at[0] if len(at) == 1 else tuple(at))
    return made


COMPARISONS = (np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal)


def _number_beside(ufunc: np.ufunc, number: Any, dtype: np.dtype[Any], vars_: Sequence[Var | None]) -> Any:
    """None where the dtype holds a Python number; in a comparison its fixed result; else NumPy's error."""
    if dtype.kind not in "iu" or isinstance(number, bool):
        return None
    info = np.iinfo(dtype)
    if info.min <= number <= info.max:
        return None
    other = next((var for var in vars_ if var is not None), None)
    if ufunc in COMPARISONS and other is not None:
        sample = np.zeros((), other.space.dtype)
        first = vars_[0] is None
        return Uniform(ufunc(number, sample) if first else ufunc(sample, number), other.space.shape)
    raise OverflowError(f"Python integer {number} out of bounds for {dtype}")


@lru_cache(256)
def _astype(dtype: np.dtype[Any], casting: Literal["unsafe", "same_value"]) -> D:
    return astype(dtype, casting)


def cast(trace: Trace, var: Var, dtype: np.dtype[Any]) -> Var:
    if var.space.dtype == dtype:
        return var if var.weak is None else Var(trace.region, trace.region.own(var).wire, None, var.constant)
    if var.weak is not None and var.constant is not None and dtype.kind in "iu" and not isinstance(var.constant, Uniform):
        np.asarray(var.constant.item(), dtype)  # NumPy's own error where the dtype does not hold the number
    made: Var = computed(trace.region, _astype(dtype, "unsafe"), var)
    return made


def operand(trace: Trace, var: Var, dtype: np.dtype[Any]) -> Var:
    """The variable in the dtype in which an operation takes it, or an array that is written into.

    A Python int that narrower integers do not hold is an error where the function runs, as in NumPy.
    """
    if not _is_late_int(var) or dtype.kind not in "iu" or var.space.dtype == dtype:
        return cast(trace, var, dtype)
    made: Var = computed(trace.region, _astype(dtype, "same_value"), var)
    return made


def _is_late_int(var: Var) -> bool:
    """A Python int that is known when the function runs."""
    return var.weak is int and var.constant is None


def matmul(trace: Trace, a: Any, b: Any, dtype: Any = None, casting: Any = "same_kind") -> Any:
    """The matrix product, by NumPy's rules."""
    for one in (a, b):
        if type(one) is Ragged:
            return one.matmul_(trace, a, b)
    if is_complex(a) or is_complex(b) or is_complex_dtype(dtype):
        from catad.traced.pairs.functions import product  # late, as above

        return product(trace, a, b, dtype)
    left, right = var_of(trace, a), var_of(trace, b)
    if not left.space.ndim or not right.space.ndim:
        raise errors.SpaceError(errors.matmul_of_numbers(left.space, right.space))
    if dtype is None and casting == "same_kind":
        dtype = np.result_type(left.space.dtype, right.space.dtype)
    else:
        dtype = _dtypes_of(np.matmul, _types(trace, (a, b)), dtype, casting)[-1]
    if dtype.kind == "b":
        made = cast(trace, _matmul(trace, left, right, np.dtype(np.int64)), dtype)
    else:
        made = _matmul(trace, left, right, dtype)
    n = made.space.ndim
    return fresh(trace, made, layout.in_c_order(n) if n < 3 else layout.axes_if_in_order((a, b), n))


def _matmul(trace: Trace, left: Var, right: Var, dtype: np.dtype[Any]) -> Var:
    made: Var = computed(trace.region, contract.matmul, (cast(trace, left, dtype), cast(trace, right, dtype)))
    return made


# -- the operators of stand-ins


def _binary(ufunc: np.ufunc, swapped: bool) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        if not _operand(other) or (ufunc is np.multiply and type(other) in (list, tuple) and _repeats(self)):
            return NotImplemented
        if ufunc is np.power and not swapped and type(other) is int and other == 2 and self.dtype == bool:
            return pointwise(self.trace_, np.square, self)  # so NumPy's operator, which gives another dtype than np.power
        return pointwise(self.trace_, ufunc, *((other, self) if swapped else (self, other)))

    return method


def _repeats(x: Any) -> bool:
    """True for an integer that repeats a list, `[0] * n`: Python asks for its number. An array without axes is multiplied."""
    if not isinstance(x, Traced) or x.is_mutable:
        return False
    return x.dtype.kind in "iu" or x.var_.weak is bool


_OPERANDS = (Traced, Masked, Ragged, bool, int, float, complex, np.ndarray, np.generic, list, tuple)


def _operand(other: Any) -> bool:
    return isinstance(other, _OPERANDS) or hasattr(other, "dtype")


def in_place(op: Callable[[Any, Any], Any], target: Any, value: Any) -> Any:
    """`target op= value`: an array is written into and keeps its dtype, also one without axes; a number is replaced."""
    made = op(target, value)
    if isinstance(target, Traced) and target.is_array is None:
        raise errors.TraceError(errors.array_or_number(target))
    if isinstance(target, Ragged):
        target.assign_(made, "same_kind")
        return target
    if isinstance(target, Masked):
        assign(target.full, made.full, "same_kind")
        return target
    if not isinstance(target, Traced) or not target.is_mutable:
        return made
    assign(target, made, "same_kind")
    return target


def assign(target: Traced, value: Any, casting: Any = "unsafe") -> None:
    """Write a value into the whole of an array: broadcast to its shape, in its dtype."""
    trace = target.trace_
    if isinstance(value, Masked):
        raise errors.TraceError(errors.shape_depends_on_data("a masked read"))
    if isinstance(value, Ragged):
        value.unknown_("the length of a slice")
    if is_complex(value):
        raise errors.SpaceError(errors.cannot_cast(getattr(value, "dtype", "complex"), target.dtype, casting))
    var = var_of(trace, value)
    own = target.space
    if var.weak is None and not np.can_cast(var.space.dtype, own.dtype, casting):
        raise errors.SpaceError(errors.cannot_cast(var.space.dtype, own.dtype, casting))
    check_write(target, var)
    target.write(fitted(trace, var, own))


def fitted(trace: Trace, var: Var, space: Tensor) -> Var:
    """The variable in a dtype, broadcast to a shape; leading axes of size 1 too many are dropped, as NumPy assigns."""
    var = cast(trace, var, space.dtype)
    shape = var.space.shape
    while len(shape) > space.ndim and shape[0] == 1:
        shape = shape[1:]
    if shape != var.space.shape:
        var = computed(trace.region, reshape(shape), var)
    if shape != space.shape:
        var = computed(trace.region, broadcast_to(space.shape), var)
    return var


for _one in OPERATORS:
    if not _one.op:  # the matrix product
        continue
    _ufunc, _name = getattr(np, _one.numpy), _one.function.rstrip("_")
    for _class in (Traced, Masked, Ragged):
        setattr(_class, f"__{_name}__", _binary(_ufunc, False))
        if _ufunc not in COMPARISONS:
            setattr(_class, f"__r{_name}__", _binary(_ufunc, True))
    for _class in () if _ufunc in COMPARISONS else (Traced, Ragged):
        _op = getattr(operator, _one.function)
        setattr(_class, f"__i{_name}__", lambda self, other, op=_op: in_place(op, self, other))
for _name, _unary in [("neg", np.negative), ("pos", np.positive), ("abs", np.absolute), ("invert", np.invert)]:
    for _class in (Traced, Masked, Ragged):
        setattr(_class, f"__{_name}__", lambda self, ufunc=_unary: pointwise(self.trace_, ufunc, self))
for _name, _method in [
    ("matmul", lambda self, other: matmul(self.trace_, self, other)),
    ("rmatmul", lambda self, other: matmul(self.trace_, other, self)),
    ("imatmul", lambda self, other: in_place(operator.matmul, self, other)),
    ("divmod", lambda self, other: (self // other, self % other)),
    ("rdivmod", lambda self, other: (other // self, other % self)),
]:
    for _class in (Traced, Ragged):
        setattr(_class, f"__{_name}__", _method)
