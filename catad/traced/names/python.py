"""Python's builtins, where they would ask a stand-in for a number."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from catad.traced.branch import choose_values
from catad.traced.masked import Masked
from catad.traced.operators import cast, pointwise, weakened
from catad.traced.ragged import Ragged
from catad.traced.stand_in import Traced, fresh
from catad.traced.steps import TracedRange, backwards, enumerated, paired
from catad.traced.table import python_meaning


def _is_data(*values: Any) -> bool:
    return any(isinstance(value, Traced) and value.var_.constant is None for value in values)


@python_meaning(float)
def float_(driver: Any, x: Any = 0.0) -> Any:
    return _number(driver, x, float) if _is_data(x) else float(x)


@python_meaning(bool)
def bool_(driver: Any, x: Any = False) -> Any:
    if _is_data(x) and x.size == 1:
        return _number(driver, pointwise(driver.trace, np.not_equal, x, 0) if x.dtype.kind != "b" else x, bool)
    return bool(x)


def _number(driver: Any, x: Traced, kind: type) -> Traced:
    """A number of Python."""
    if x.size != 1:
        raise TypeError("only 0-dimensional arrays can be converted to Python scalars")
    var = x.reshape(()).var_ if x.ndim else x.var_
    return fresh(driver.trace, weakened(driver.trace, cast(driver.trace, var, np.dtype(kind))))


@python_meaning(len)
def len_(driver: Any, thing: Any) -> Any:
    return thing.shape[0] if isinstance(thing, Ragged) else len(thing)


@python_meaning(abs)
def abs_(driver: Any, x: Any) -> Any:
    return abs(x)


@python_meaning(max)
def max_(driver: Any, *args: Any, **kwargs: Any) -> Any:
    return _extremum(driver, builtins.max, lambda a, b: b > a, args, kwargs)


@python_meaning(min)
def min_(driver: Any, *args: Any, **kwargs: Any) -> Any:
    return _extremum(driver, builtins.min, lambda a, b: b < a, args, kwargs)


def _extremum(driver: Any, plain: Any, better: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
    """Python's choice: the first of the best, by comparisons."""
    things = list(args[0]) if len(args) == 1 else list(args)
    key = kwargs.get("key") or (lambda x: x)
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


@python_meaning(sum)
def sum_(driver: Any, items: Any, start: Any = 0) -> Any:
    total = start
    for item in items:
        total = total + item
    return total


@python_meaning(round)
def round_(driver: Any, x: Any, ndigits: Any = None) -> Any:
    if not _is_data(x):
        return round(x, ndigits)
    if ndigits is None:
        return driver.call(int, np.rint(x))
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
    found = None if strict else paired(driver.trace, items)
    return zip(*items, strict=strict) if found is None else found


@python_meaning(reversed)
def reversed_(driver: Any, items: Any) -> Any:
    found = backwards(driver.trace, items)
    return reversed(items) if found is None else found


@python_meaning(isinstance)
def isinstance_(driver: Any, thing: Any, kinds: Any) -> bool:
    if not isinstance(thing, (Traced, Masked, Ragged)):
        return isinstance(thing, kinds)
    weak = thing.var_.weak if isinstance(thing, Traced) else None
    if weak is not None:
        return issubclass(weak, kinds)
    if isinstance(thing, (Masked, Ragged)) or thing.ndim or (thing._view is not None):
        return issubclass(np.ndarray, kinds) or isinstance(thing, kinds)
    return issubclass(thing.dtype.type, kinds) or issubclass(np.ndarray, kinds) or isinstance(thing, kinds)


@python_meaning(hash)
def hash_(driver: Any, thing: Any) -> int:
    return hash(thing.item() if isinstance(thing, Traced) else thing)
