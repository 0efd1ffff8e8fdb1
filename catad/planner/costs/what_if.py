"""What a plan would cost at other sizes, and where another choice becomes the best.

A size is a length of axes of the arguments that has a name. Axes of equal length are one size, unless names are given: "mn,n"
names the axes of a matrix and a vector as the subscripts of `einsum` do, and "_" stands for an axis that keeps its length.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from catad import errors
from catad.linear.structure import Structure
from catad.planner.chains import cache
from catad.planner.chains.factors import Factors
from catad.planner.costs import sizes
from catad.planner.costs.cost import Cost, amount
from catad.planner.request import Request
from catad.planner.strategy import Runnable
from catad.support.tables import aligned

NAMES = "nmklpqrstuvwxyzabcdefghij"  # of sizes that nobody has named, in the order in which they are met
DEEPEST = 4  # halvings of an interval by searches; the crossing of two choices that are known takes none
Subject = Structure | Factors
TIE = 1 + 1e-9  # costs that differ by less are equal


class AtSize(NamedTuple):
    """What is known at one size: the cost of the plan's own choice there, None where it is no choice; the best plan, its cost."""

    own: Cost | None
    best: Cost
    choice: Any
    same: bool  # no other choice is cheaper than the own one


class WhatIf(dict[Any, AtSize]):
    """The costs at other sizes: from a size, or a tuple of several, to `AtSize`. Prints as a table.

    `changes` are the sizes from which on another choice is the best, in the order of the sizes: for one size, the least at
    which it is; for several, the first ones of those that were given.
    """

    def __init__(self, names: Sequence[str], rows: dict[Any, AtSize], changes: Sequence[Any], request: Request) -> None:
        super().__init__(rows)
        self.names, self.changes, self.request = tuple(names), tuple(changes), request

    def __repr__(self) -> str:
        model = self.request.model
        cells = [[", ".join(self.names), "this plan", "best"]]
        for size, row in self.items():
            own = "no such plan" if row.own is None else amount(row.own.value, model)
            cells.append([_text(size), own, amount(row.best.value, model)])
        where = [f"another order is the best from {', '.join(self.names)} = {_text(size)} on" for size in self.changes]
        return "\n".join([*aligned(cells, left=0), *(where or ["one order is the best at all of these"])])


def _text(size: Any) -> str:
    return ", ".join([f"{n:,}" for n in size]) if isinstance(size, tuple) else f"{size:,}"


class Axes(NamedTuple):
    """The lengths of all axes of what is planned, and the name of each, None for one that keeps its length."""

    lengths: tuple[int, ...]
    names: tuple[str | None, ...]

    @property
    def sizes(self) -> dict[str, int]:
        """The sizes by their names."""
        return {name: n for name, n in zip(self.names, self.lengths, strict=True) if name is not None}

    def at(self, given: dict[str, int]) -> tuple[int, ...]:
        """All lengths, some sizes being others."""
        return tuple([n if name is None else given.get(name, n) for name, n in zip(self.names, self.lengths, strict=True)])


def axes_of(shapes: Sequence[Sequence[int]], subscripts: str | None) -> Axes:
    """The axes of arguments of some shapes, named by subscripts, or, without these, by their lengths."""
    lengths = tuple([n for shape in shapes for n in shape])
    if subscripts is None:
        distinct = dict(zip(dict.fromkeys(lengths), NAMES, strict=False))
        return Axes(lengths, tuple([distinct.get(n) for n in lengths]))
    parts = subscripts.replace(" ", "").split(",") if isinstance(subscripts, str) else []
    ranks = [len(shape) for shape in shapes]
    if [len(part) for part in parts] != ranks or not all(c == "_" or c.isalpha() for part in parts for c in part):
        raise errors.PlanError(errors.bad_axes(subscripts, [tuple(shape) for shape in shapes]))
    names = tuple([None if c == "_" else c for part in parts for c in part])
    found: dict[str, int] = {}
    for name, n in zip(names, lengths, strict=True):
        if name is not None and found.setdefault(name, n) != n:
            raise errors.PlanError(errors.two_lengths(name, found[name], n))
    return Axes(lengths, names)


def listed(axes: Axes, given: dict[str, Any]) -> tuple[list[str], list[tuple[int, ...]]]:
    """The names of sizes that are given, and the sizes, one tuple for each row; raises `PlanError` before anything is planned."""
    known = axes.sizes
    if not given:
        raise errors.PlanError(errors.no_size_named(known))
    columns: dict[str, list[int]] = {}
    for name, value in given.items():
        if name not in known:
            raise errors.PlanError(errors.no_such_size(name, known))
        values = value.tolist() if isinstance(value, np.ndarray) else value
        several = list(values) if isinstance(values, (list, tuple, range)) else [values]
        columns[name] = [_length(name, n) for n in several]
    counts = {len(column) for column in columns.values()} - {1}
    if len(counts) > 1 or not all(columns.values()):
        raise errors.PlanError(errors.uneven_sizes({name: len(column) for name, column in columns.items()}))
    rows = max(counts, default=1)
    return list(columns), list(zip(*[column * (rows // len(column)) for column in columns.values()], strict=True))


def _length(name: str, value: Any) -> int:
    whole = isinstance(value, (int, np.integer)) or (isinstance(value, (float, np.floating)) and value == value // 1)
    if isinstance(value, (bool, np.bool_)) or not whole or value < 0:
        raise errors.PlanError(errors.bad_length(name, value))
    return int(value)


def what_if(
    own: Runnable, axes: Axes, given: dict[str, Any], request: Request, lay_out: Callable[[tuple[int, ...]], Subject]
) -> WhatIf:
    """See `ct.Plan.what_if`; `lay_out` gives what is planned for other lengths of all axes."""
    names, rows = listed(axes, given)

    def at_size(size: tuple[int, ...]) -> Subject:
        asked = dict(zip(names, size, strict=True))
        try:
            return lay_out(axes.at(asked))
        except errors.CatadError as error:
            raise errors.PlanError(errors.no_program_of_size(asked, error)) from error

    at = _Sizes(own, request, at_size)
    for size in rows:
        at.structure(size)  # all of them are there before anything is planned
    one = len(names) == 1
    changes = at.changes(sorted(set(rows))) if one else [b for a, b in pairwise(rows) if at.differ(a, b)]
    key: Callable[[tuple[int, ...]], Any] = (lambda size: size[0]) if one else (lambda size: size)
    return WhatIf(names, {key(size): at.row(size) for size in rows}, [key(size) for size in changes], request)


class _Sizes:
    """What is known at each size that was looked at."""

    def __init__(self, own: Runnable, request: Request, lay_out: Callable[[tuple[int, ...]], Subject]) -> None:
        self.own, self.request, self.lay_out = own, request, lay_out
        self.structures: dict[tuple[int, ...], Subject] = {}

    def structure(self, size: tuple[int, ...]) -> Subject:
        if size not in self.structures:
            self.structures[size] = self.lay_out(size)
        return self.structures[size]

    def best(self, size: tuple[int, ...]) -> Runnable:
        subject = self.structure(size)
        searched = replace(self.request, effort=cache.AFRESH)  # and not one for other sizes that is good enough
        return cache.of_factors(subject, searched) if isinstance(subject, Factors) else cache.of_structure(subject, searched)

    def priced(self, made: Runnable, size: tuple[int, ...]) -> sizes.Priced | None:
        """The choice of a plan for another size at this one."""
        return sizes.again(made, self.structure(size), self.request)

    def row(self, size: tuple[int, ...]) -> AtSize:
        priced, best = self.priced(self.own, size), self.best(size)
        own = None if priced is None else priced.make()
        return AtSize(None if own is None else own.cost, best.cost, best.choice, own is not None and self._as_good(own, size))

    def _as_good(self, made: Runnable, size: tuple[int, ...]) -> bool:
        """True where a choice for any size costs no more than the best one does at this size."""
        priced, best = self.priced(made, size), self.priced(self.best(size), size)
        return priced is not None and (best is None or priced.value <= TIE * best.value)

    def differ(self, first: tuple[int, ...], second: tuple[int, ...]) -> bool:
        """True where the best choice at the first size is not among the best at the second."""
        return not self._as_good(self.best(first), second)

    def changes(self, rows: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
        """The least sizes at which the choice that was best before is not the best."""
        return [size for low, high in pairwise(rows) for size in self._between(low, high, DEEPEST)]

    def _between(self, low: tuple[int, ...], high: tuple[int, ...], deep: int) -> list[tuple[int, ...]]:
        if not self.differ(low, high):
            return []
        if high[0] - low[0] <= 1 or not deep:
            return [high]
        at = self._crossing(self.best(low), self.best(high), low[0], high[0])
        if not (self._as_good(self.best(low), at) or self._as_good(self.best(high), at)):
            return [*self._between(low, at, deep - 1), *self._between(at, high, deep - 1)]
        return [at]

    def _crossing(self, first: Runnable, second: Runnable, low: int, high: int) -> tuple[int, ...]:
        """The least size at which the second of two choices costs less than the first, or as little, found by halving."""
        while high - low > 1:
            middle = (low + high) // 2
            one, two = self.priced(first, (middle,)), self.priced(second, (middle,))
            if one is not None and (two is None or one.value < two.value):
                low = middle
            else:
                high = middle
        return (high,)
