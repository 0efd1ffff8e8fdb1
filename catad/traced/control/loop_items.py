"""What a `for` loop goes through, where it can be taken step by step by a program: ranges, rows of arrays, and pairs of these."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from catad.traced.arrays import layout
from catad.traced.arrays.affine import Affine, form_of, most, note_bounds
from catad.traced.arrays.aliases import Aliases, GiveUp
from catad.traced.arrays.stand_in import Buffer, Traced, constant, fresh, stand_in_of, var_of
from catad.traced.control.loop_outputs import Whole, element, whole
from catad.traced.recorder import Restart, Trace, Var
from catad.values.complex_numbers import is_complex
from catad.values.complex_numbers import paired as pair_of


class Steps:
    """Some steps: how many, the arrays with an axis for them, and the item of a step from its entries of these arrays."""

    n: int

    @property
    def memory(self) -> tuple[Buffer, ...]:
        """Where the arrays lie of which these are rows."""
        return ()

    def arrays(self, trace: Trace) -> list[Var]:
        raise NotImplementedError

    def item(self, trace: Trace, entries: Iterator[Var], unroll: GiveUp) -> Any:
        raise NotImplementedError

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError

    @property
    def inside(self) -> Sequence[Once]:
        """The iterators whose steps these take."""
        return ()


class Range(Steps):
    """The numbers of a range."""

    def __init__(self, of: range) -> None:
        self.of, self.n = of, len(of)

    def arrays(self, trace: Trace) -> list[Var]:
        return [var_of(trace, np.arange(self.of.start, self.of.stop, self.of.step, dtype=np.int64))]

    def item(self, trace: Trace, entries: Iterator[Var], unroll: GiveUp) -> Any:
        var = next(entries)
        var.weak = int
        if self.n:
            note_bounds(var, Affine(min(self.of)), Affine(max(self.of)))
        return fresh(trace, var)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.of)


class Rows(Steps):
    """The rows of an array."""

    def __init__(self, array: Traced) -> None:
        self.array, self.n = array, len(array)

    @property
    def memory(self) -> tuple[Buffer, ...]:
        return (self.array.root,)

    def arrays(self, trace: Trace) -> list[Var]:
        return [self.array.var_]

    def item(self, trace: Trace, entries: Iterator[Var], unroll: GiveUp) -> Any:
        made, root = fresh(trace, next(entries)), self.array.root
        if made.ndim:  # a view
            made.root.origin = root.origin
            if layout.is_contiguous(self.array, "C"):
                made.root.axes = layout.in_c_order(made.ndim)
            made.root.aliases = (Aliases(unroll, (root,), trace.region, at_once=True),)
        return made

    def __iter__(self) -> Iterator[Any]:
        return iter(self.array)


class ComplexRows(Steps):
    """The rows of a complex array."""

    def __init__(self, array: Any) -> None:
        self.array, self.n, self.parts = array, len(array), [Rows(array.re), Rows(array.im)]

    @property
    def memory(self) -> tuple[Buffer, ...]:
        return tuple([buffer for part in self.parts for buffer in part.memory])

    def arrays(self, trace: Trace) -> list[Var]:
        return [var for part in self.parts for var in part.arrays(trace)]

    def item(self, trace: Trace, entries: Iterator[Var], unroll: GiveUp) -> Any:
        return pair_of(*[part.item(trace, entries, unroll) for part in self.parts])

    def __iter__(self) -> Iterator[Any]:
        return iter(self.array)


class Elements(Rows):
    """The elements of a list that are the rows of an array."""

    def __init__(self, found: Whole, items: Sequence[Any]) -> None:
        super().__init__(found.array)
        self.found, self.items = found, items

    def item(self, trace: Trace, entries: Iterator[Var], unroll: GiveUp) -> Any:
        return element(trace, next(entries), self.found, self.items)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items)


class Pairs(Steps):
    """Several steps side by side, as `zip` takes them."""

    def __init__(self, parts: Sequence[Steps]) -> None:
        self.parts = parts
        self.n = min(part.n for part in parts)

    @property
    def memory(self) -> tuple[Buffer, ...]:
        return tuple([buffer for part in self.parts for buffer in part.memory])

    def arrays(self, trace: Trace) -> list[Var]:
        out = []
        for part in self.parts:
            for var in part.arrays(trace):
                whole = fresh(trace, var)
                out.append(var if part.n == self.n else whole[: self.n].var_)
        return out

    def item(self, trace: Trace, entries: Iterator[Var], unroll: GiveUp) -> Any:
        return tuple([part.item(trace, entries, unroll) for part in self.parts])

    def __iter__(self) -> Iterator[Any]:
        return zip(*self.parts, strict=False)

    @property
    def inside(self) -> Sequence[Once]:
        return [one for part in self.parts for one in part.inside]


class TracedRange:
    """A range whose bounds depend on data. Only a `for` loop can go through it."""

    def __init__(self, start: Any, stop: Any, step: int) -> None:
        self.start, self.stop, self.step = start, stop, step

    @property
    def plain(self) -> range:
        """The range, where its bounds are known; loops on which they depend are unrolled."""
        return range(self.start.__index__(), self.stop.__index__(), self.step)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.plain)

    def __len__(self) -> int:
        return len(self.plain)

    def __getitem__(self, key: Any) -> Any:
        return self.plain[key]

    def __contains__(self, thing: Any) -> bool:
        return thing in self.plain

    def __reversed__(self) -> Any:
        return reversed(self.plain)

    @property
    def ends(self) -> tuple[Affine, Affine]:
        """Between which numbers those of the range lie."""
        first, end = self._forms
        return (first, end - 1) if self.step > 0 else (end + 1, first)

    @property
    def _forms(self) -> list[Affine]:
        return [form_of(one.var_ if isinstance(one, Traced) else one.__index__()) for one in (self.start, self.stop)]

    @property
    def most(self) -> int | None:
        """How many numbers the range has at most, where that is known."""
        first, end = self._forms
        distance = most(end - first if self.step > 0 else first - end)
        return None if distance == math.inf else max(0, -(-int(distance) // abs(self.step)))


class Once(Steps):
    """`zip`, `enumerate` or `reversed` of what a program can go through: an iterator, as Python's are, and steps for others."""

    def __init__(self, trace: Trace, steps: Steps) -> None:
        self._trace, self._steps, self.n = trace, steps, steps.n
        self._items: Iterator[Any] | None = None
        self._rolled: Any = None  # the loop that goes through it

    @property
    def memory(self) -> tuple[Buffer, ...]:
        return self._steps.memory

    def arrays(self, trace: Trace) -> list[Var]:
        return self._steps.arrays(trace)

    def item(self, trace: Trace, entries: Iterator[Var], unroll: GiveUp) -> Any:
        return self._steps.item(trace, entries, unroll)

    @property
    def inside(self) -> Sequence[Once]:
        return (self,)

    @property
    def is_even(self) -> bool:
        """True where what is taken side by side has one length."""
        return len({part.n for part in getattr(self._steps, "parts", ())}) < 2

    @property
    def rest(self) -> Steps | None:
        """The steps, where none has been taken."""
        fresh = self._items is None and self._rolled is None and all(one.rest is not None for one in self._steps.inside)
        return self._steps if fresh else None

    def rolled(self, site: Any) -> None:
        """A loop that is recorded takes steps."""
        self._rolled = site
        for one in self._steps.inside:
            one.rolled(site)

    def __iter__(self) -> Once:
        return self

    def __next__(self) -> Any:
        if self._rolled is not None:  # how far the loop went is not known
            self._trace.findings.unrolled.add(self._rolled)
            raise Restart()
        if self._items is None:
            self._items = iter(self._steps)
        return next(self._items)


def _taken(items: Any, steps: Steps) -> Steps:
    """The steps; of an iterator the iterator itself, which is used up with them."""
    return items if isinstance(items, Once) else steps


def steps_of(trace: Trace, items: Any) -> Steps | None:
    """The steps through some things; None where Python has to go through them."""
    if isinstance(items, Once):
        return items.rest
    if isinstance(items, range):
        return Range(items)
    if isinstance(items, Traced) and items.ndim:
        return Rows(items)
    if is_complex(items) and np.ndim(items):
        return ComplexRows(stand_in_of(trace, items) if isinstance(items, np.ndarray) else items)
    if type(items) in (list, tuple):
        found = whole(trace, items)
        return None if found is None else Elements(found, items)
    if type(items) is np.ndarray and items.ndim and items.dtype.kind in "biuf":
        return Rows(constant(trace, items, origin="a captured array"))
    return None


def paired(trace: Trace, items: Sequence[Any]) -> Once | None:
    """`zip`, where all of it can be taken by a program."""
    parts = [steps_of(trace, one) for one in items]
    found = [part for part in parts if part is not None]
    return None if not parts or len(found) < len(parts) else Once(trace, Pairs([*map(_taken, items, found)]))


def enumerated(trace: Trace, items: Any, start: int = 0) -> Once | None:
    """`enumerate`, where it can be taken by a program."""
    found = steps_of(trace, items)
    return None if found is None else Once(trace, Pairs([Range(range(start, start + found.n)), _taken(items, found)]))


def backwards(trace: Trace, items: Any) -> Once | None:
    """`reversed`, where it can be taken by a program."""
    found = None if isinstance(items, Once) else steps_of(trace, items)
    if isinstance(found, Elements):
        return Once(trace, Elements(Whole(found.array[::-1], found.found.weak), found.items[::-1]))
    if isinstance(found, Range):
        return Once(trace, Range(found.of[::-1]))
    if isinstance(found, ComplexRows):
        return Once(trace, ComplexRows(found.array[::-1]))
    return Once(trace, Rows(found.array[::-1])) if isinstance(found, Rows) else None
