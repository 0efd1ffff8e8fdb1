"""The driver: what a rewritten function asks (`traced/rewriting/rewrite.py`)."""

from __future__ import annotations

import builtins
import operator
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from catad import errors, traced
from catad.traced.arrays.masked import Masked
from catad.traced.arrays.naming import named
from catad.traced.arrays.operators import in_place, pointwise
from catad.traced.arrays.ragged import Ragged
from catad.traced.arrays.stand_in import Traced, is_condition, stand_in_of
from catad.traced.control import iterators
from catad.traced.control.context_managers import managed
from catad.traced.control.decisions import give_up_merging
from catad.traced.inlining import any_traced, call, follows
from catad.traced.recorder import Region, Restart, Trace, the_trace
from catad.traced.rewriting.unbound_locals import UNBOUND
from catad.traced.table import ITEMS
from catad.values.complex_numbers import ComplexPair

Later = Callable[[], Any]


class Driver:
    """See the module."""

    unbound = UNBOUND
    slice = builtins.slice
    named = staticmethod(named)
    managed = staticmethod(managed)

    def __init__(self, package: str, outside: dict[int, Any] | None = None, followed: set[Any] | None = None) -> None:
        self.package = package
        self.outside = outside or {}  # what stands in place of cells and globals, by their identity
        self.followed = set() if followed is None else followed  # the functions that are run

    @property
    def trace(self) -> Trace:
        """The trace that runs: functions that are written inside a traced one may be traced on their own."""
        return the_trace()

    # -- calls, items, attributes

    def call(self, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        if (trace := the_trace()).region is not trace.root:
            for arg in args:
                if hasattr(type(arg), "__next__"):
                    iterators.used(trace, arg)
        made = call(self, function, args, kwargs)
        return self.iterator(made) if hasattr(type(made), "__next__") else made

    def iterator(self, made: Any) -> Any:
        """An iterator that was made here."""
        return iterators.made(self.trace, made)

    def used(self, items: Any) -> Any:
        """What Python takes items of."""
        method = getattr(type(items), "__iter__", None)
        if isinstance(method, FunctionType) and follows(method, self.package):
            items = self.call(method, items)
        return iterators.used(self.trace, items) if hasattr(type(items), "__next__") else items

    def getitem(self, thing: Any, key: Any) -> Any:
        if type(thing) is np.ndarray and _has_stand_in(key):
            return stand_in_of(self.trace, thing)[key]
        if type(thing) in ITEMS and (any_traced(key) or _has_stand_in(key)):
            return ITEMS[type(thing)](self.trace, key)
        if isinstance(thing, dict) and isinstance(key, Traced):
            key = key.item()
        if type(thing) in (list, tuple) and isinstance(key, Traced) and key.var_.constant is None and key.dtype.kind in "iu":
            found = traced.whole(self.trace, thing)
            if found is not None and not key.ndim:
                return traced.item(self.trace, found, key, thing)
        return thing[key]

    def setitem(self, thing: Any, key: Any, value: Any) -> None:
        if isinstance(thing, np.ndarray):
            raise errors.TraceError(errors.write_to_captured(_name_of(thing)))
        if not isinstance(thing, (Traced, Ragged, ComplexPair)):
            self.changes_python(thing)
        elif isinstance(value, (list, tuple)):
            value = call(self, np.array, (value,), {})
        thing[key] = value

    def setattr_(self, thing: Any, name: str, value: Any) -> None:
        if not isinstance(thing, (Traced, ComplexPair)):
            self.changes_python(thing)
        setattr(thing, name, value)

    def aug(self, op: str, thing: Any, value: Any) -> Any:
        """`thing op= value`."""
        if isinstance(thing, (Traced, Ragged, Masked)):
            return in_place(getattr(operator, op), thing, value)
        if isinstance(thing, np.ndarray) and thing.ndim:
            raise errors.TraceError(errors.write_to_captured(_name_of(thing)))
        if isinstance(thing, (list, set, dict)):
            self.changes_python(thing)
        return getattr(operator, "i" + op.rstrip("_"))(thing, value)

    def aug_item(self, op: str, thing: Any, key: Any, value: Any) -> None:
        """`thing[key] op= value`."""
        old = self.getitem(thing, key)
        made = self.aug(op, old, value) if not isinstance(thing, np.ndarray) else None
        shows = isinstance(old, Ragged) or (isinstance(old, (Traced, ComplexPair)) and old.is_view)
        if made is old and (shows or not isinstance(thing, (Traced, Ragged, ComplexPair))):
            return  # the array has been written into
        self.setitem(thing, key, made)

    def aug_attr(self, op: str, thing: Any, name: str, value: Any) -> None:
        """`thing.name op= value`."""
        old = getattr(thing, name)
        made = self.aug(op, old, value)
        if made is not old:
            self.setattr_(thing, name, made)

    def new(self, thing: Any) -> Any:
        """A list, a dict, a set or an object that is made here."""
        region = self.trace.region
        if region.parent is not None:
            region.things[id(thing)] = thing
        return thing

    def changes_python(self, thing: Any = None) -> None:
        """A list or an object is changed: that happens once, so no branch may be merged and no loop rolled around it, unless
        the thing itself is made inside."""
        region, known = self.trace.region, self.trace.suspects.get(id(thing))
        if known is not None:
            known[1]()
        if id(thing) not in region.things:
            give_up_merging(region)

    def region(self) -> Region:
        """The region that is recorded before a `try`."""
        return self.trace.region

    def caught(self, region: Region) -> None:
        """An exception that left a merged branch or a rolled loop is caught behind it: each path and each step is run alone."""
        error = sys.exception()
        if isinstance(error, (Restart, errors.TraceError)):
            raise error  # NumPy does not raise it
        if self.trace.region is not region:
            give_up_merging(self.trace.region)

    # -- conditions

    def not_(self, value: Any) -> Any:
        return pointwise(self.trace, np.logical_not, value) if is_condition(value) else not value

    def and_(self, *parts: Later) -> Any:
        """`a and b and ...`: the first that is false, or the last."""
        value = parts[0]()
        if len(parts) == 1:
            return value
        if not is_condition(value):
            return self.and_(*parts[1:]) if value else value
        return traced.choose_values(self, value, lambda: self.and_(*parts[1:]), lambda: value)

    def or_(self, *parts: Later) -> Any:
        value = parts[0]()
        if len(parts) == 1:
            return value
        if not is_condition(value):
            return value if value else self.or_(*parts[1:])
        return traced.choose_values(self, value, lambda: value, lambda: self.or_(*parts[1:]))

    def either(self, test: Any, first: Later, second: Later) -> Any:
        """`first if test else second`."""
        if not is_condition(test):
            return first() if test else second()
        return traced.choose_values(self, test, first, second)

    def chain(self, left: Any, *pairs: Any) -> Any:
        """`left < a < b`, with each operand computed once, and only where it is needed."""
        op, later = pairs[0], pairs[1]
        right = later()
        value = getattr(operator, op)(left, right)
        if len(pairs) == 2:
            return value

        def rest() -> Any:
            return self.chain(right, *pairs[2:])

        if not is_condition(value):
            return rest() if value else value
        return traced.choose_values(self, value, rest, lambda: value)

    def checked(self, test: Later) -> Any:
        """The condition of an assert: one that depends on data is not checked."""
        value = test()
        return True if is_condition(value) else value

    # -- statements

    def branch(self, test: Any, *names: tuple[str, ...]) -> traced.Branch:
        return traced.Branch(self, test, traced.Bound(*names), _site(sys._getframe(1)))

    def for_(self, items: Any, kept: bool, *names: Any) -> traced.ForLoop | traced.CountedLoop:
        items = self.used(items)
        if isinstance(items, traced.TracedRange):
            return traced.CountedLoop(self, items, traced.Names(*names), _site(sys._getframe(1)))
        kept = kept and hasattr(type(items), "__next__")
        return traced.ForLoop(self, items, traced.Names(*names), _site(sys._getframe(1)), kept)

    def comprehended(self, items: Any, made: Callable[[Any], list[Any]]) -> list[Any]:
        """A list comprehension: `made` gives the list of some items."""
        return traced.comprehended(self, items, made, _site(sys._getframe(1)))

    def while_(self, *names: Any) -> traced.WhileLoop:
        return traced.WhileLoop(self, traced.Names(*names), _site(sys._getframe(1)))


def _site(frame: Any) -> Any:
    """Where a statement stands."""
    return (frame.f_code.co_filename, frame.f_lineno, frame.f_lasti)


def _has_stand_in(key: Any) -> bool:
    if isinstance(key, tuple):
        return any(_has_stand_in(part) for part in key)
    return isinstance(key, Traced) or traced.has_traced_bounds(key)


def _name_of(array: Any) -> str:
    """The name of a captured array, where a frame of the user has one for it."""
    frame: Any = sys._getframe(2)
    while frame is not None and frame.f_globals.get("__name__", "").startswith("catad."):
        frame = frame.f_back
    scopes = () if frame is None else (frame.f_locals, frame.f_globals)
    for scope in scopes:
        for name, value in list(scope.items()):
            if value is array and not name.startswith("__catad"):
                return str(name)
    return "a captured array"
