"""Python's builtins, where they would ask a stand-in for a number."""

from __future__ import annotations

import bisect
import functools
import heapq
import operator
from typing import Any

import numpy as np

from catad import errors
from catad.traced.arrays.masked import Masked
from catad.traced.arrays.operators import pointwise
from catad.traced.arrays.ragged import Ragged
from catad.traced.arrays.stand_in import Traced
from catad.traced.control.branch import choose_values
from catad.traced.control.loop_items import TracedRange, backwards, enumerated, paired
from catad.traced.names.mathematics import number, plain
from catad.traced.table import python_meaning
from catad.values.complex_numbers import ComplexPair


def _is_data(*values: Any) -> bool:
    return any(isinstance(value, Traced) and value.var_.constant is None for value in values)


@python_meaning(float)
def float_(driver: Any, x: Any = 0.0) -> Any:
    return _python_number(driver, x, float) if _is_data(x) else float(x)


@python_meaning(int)
def int_(driver: Any, x: Any = 0, *base: Any) -> Any:
    """A float is cut towards zero. One that int64 cannot hold becomes the nearest number, NaN the least, as in `ct.astype`."""
    if base or not _is_data(x):
        return int(x, *base)
    if x.dtype == np.uint64:
        raise errors.TraceError(errors.unsigned_number())
    return _python_number(driver, x, int)


@python_meaning(operator.index)
def index_(driver: Any, x: Any) -> Any:
    if not _is_data(x):
        return operator.index(x)
    if x.ndim or (x.dtype.kind not in "iu" and x.var_.weak is not bool):
        raise TypeError("only integer scalar arrays can be converted to a scalar index")
    return int_(driver, x)


@python_meaning(bool)
def bool_(driver: Any, x: Any = False) -> Any:
    if _is_data(x) and x.size == 1:
        x = pointwise(driver.trace, np.not_equal, x, 0) if x.dtype.kind != "b" else x
        return _python_number(driver, x.reshape(()) if x.ndim else x, bool)
    return bool(x)


def _python_number(driver: Any, x: Traced, kind: type) -> Any:
    return plain(driver.trace, number(driver.trace, x, kind))


python_meaning(len)(lambda driver, thing: thing.shape[0] if isinstance(thing, Ragged) else len(thing))
python_meaning(abs)(lambda driver, x: abs(x))


def _extremum(plain: Any, better: Any) -> None:
    """Python's choice: the first of the best, by comparisons."""

    def meaning(driver: Any, *args: Any, **kwargs: Any) -> Any:
        things = list(args[0]) if len(args) == 1 else list(args)
        key = kwargs.get("key")
        key = kwargs["key"] = (lambda x: x) if key is None else _caller(driver, key)
        if not things or not any(_is_data(key(x)) for x in things):
            return plain(things, **kwargs)
        best = things[0]
        for other in things[1:]:
            test = better(key(best), key(other))
            if not _is_data(test):
                best = other if test else best
            else:
                best = choose_values(driver, test, lambda other=other: other, lambda best=best: best)  # type: ignore[misc]
        return best

    python_meaning(plain)(meaning)


_extremum(max, lambda a, b: b > a)
_extremum(min, lambda a, b: b < a)


@python_meaning(sum)
def sum_(driver: Any, items: Any, start: Any = 0) -> Any:
    total = start
    for item in driver.used(items):
        total = total + item
    return total


@python_meaning(round)
def round_(driver: Any, x: Any, ndigits: Any = None) -> Any:
    if not _is_data(x):
        return round(x, ndigits)
    if ndigits is None:
        return int_(driver, x if x.dtype.kind in "iu" else np.rint(x))
    return np.round(x, ndigits)


@python_meaning(range)
def range_(driver: Any, *args: Any) -> Any:
    if any(_is_data(arg) and arg.dtype.kind in "iu" and not arg.ndim for arg in args):
        start, stop, step = (0, args[0], 1) if len(args) == 1 else (*args, 1)[:3]
        if isinstance(step, int) and step:
            return TracedRange(start, stop, step)
    return range(*[arg.__index__() if isinstance(arg, Traced) else arg for arg in args])


@python_meaning(enumerate)
def enumerate_(driver: Any, items: Any, start: int = 0) -> Any:
    found = enumerated(driver.trace, items, start) if isinstance(start, int) else None
    return enumerate(items, start) if found is None else found


@python_meaning(zip)
def zip_(driver: Any, *items: Any, strict: bool = False) -> Any:
    found = paired(driver.trace, items)
    if strict and found is not None and not found.is_even:
        found = None  # Python says so where the shortest ends
    return zip(*items, strict=strict) if found is None else found


@python_meaning(reversed)
def reversed_(driver: Any, items: Any) -> Any:
    found = backwards(driver.trace, items)
    return reversed(items) if found is None else found


def _caller(driver: Any, function: Any) -> Any:
    """A function that Python calls: one of the user is followed."""
    return lambda *args: driver.call(function, *args)


def _calling(function: Any) -> Any:
    """A function of Python that calls its first argument."""

    def meaning(driver: Any, called: Any, *args: Any) -> Any:
        return function(called if called is None else _caller(driver, called), *args)

    return meaning


for _caller_of in (map, filter, functools.reduce, functools.cmp_to_key):
    python_meaning(_caller_of)(_calling(_caller_of))


@python_meaning(sorted)
def sorted_(driver: Any, items: Any, *, key: Any = None, reverse: bool = False) -> Any:
    return sorted(items, key=None if key is None else _caller(driver, key), reverse=reverse)


python_meaning(setattr)(lambda driver, thing, name, value: driver.setattr_(thing, name, value))


def _changing(function: Any) -> Any:
    def meaning(driver: Any, *args: Any) -> Any:
        driver.changes_python()
        return function(*args)

    return meaning


_CHANGES = (delattr, heapq.heappush, heapq.heappop, heapq.heapify, heapq.heappushpop, heapq.heapreplace, bisect.insort,
            bisect.insort_left, operator.setitem, operator.delitem, object.__setattr__, object.__delattr__)  # fmt: skip
for _function in _CHANGES:
    python_meaning(_function)(_changing(_function))


@python_meaning(isinstance)
def isinstance_(driver: Any, thing: Any, kinds: Any) -> bool:
    if isinstance(thing, ComplexPair):
        array = thing.ndim > 0 or thing.re.is_array or thing.is_view
        return issubclass(thing.python_type or (np.ndarray if array else thing.dtype.type), kinds)
    if not isinstance(thing, (Traced, Masked, Ragged)):
        return isinstance(thing, kinds)
    weak = thing.var_.weak if isinstance(thing, Traced) else None
    if weak is not None:
        return issubclass(weak, kinds)
    array = issubclass(np.ndarray, kinds)
    if isinstance(thing, (Masked, Ragged)) or thing.ndim:
        return array or isinstance(thing, kinds)
    number = issubclass(thing.dtype.type, kinds)
    if number == array:
        return number or isinstance(thing, kinds)
    return number if _is_number(thing) else array


def _is_number(thing: Traced) -> bool:
    """Whether a value without axes is a number of NumPy, and no array; an argument may be both."""
    if thing.is_view or thing.is_array:
        return False
    var = thing.var_
    while (outer := var.region.outer.get(var.wire.number)) is not None:
        var = outer
    if any(var.wire is one.wire for one in var.region.trace.root.inputs):
        raise errors.TraceError(errors.number_or_array(thing))
    return True


@python_meaning(np.isscalar)
def isscalar(driver: Any, element: Any) -> bool:
    if not isinstance(element, Traced):
        return not isinstance(element, (Masked, Ragged)) and np.isscalar(element)
    return element.var_.weak is not None or (not element.ndim and _is_number(element))


@python_meaning(type)
def type_(driver: Any, thing: Any, *more: Any, **options: Any) -> Any:
    if more or options or not isinstance(thing, (Traced, Masked, Ragged)):
        return type(thing, *more, **options)
    if isinstance(thing, (Masked, Ragged)) or thing.ndim:
        return np.ndarray
    weak = thing.var_.weak
    return weak if weak is not None else thing.dtype.type if _is_number(thing) else np.ndarray


python_meaning(hash)(lambda driver, thing: hash(thing.item() if isinstance(thing, Traced) else thing))
