"""What a `for` loop goes through, where it can be taken step by step by a program: ranges, rows of arrays, and pairs of these."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from catad.traced.aliases import Aliases, GiveUp
from catad.traced.recorder import Trace, Var
from catad.traced.stand_in import Buffer, Traced, constant, fresh, var_of


class Steps:
    """Some steps: how many, the arrays with an axis for them, and the item of a step from its entries of these arrays."""

    n: int

    @property
    def memory(self) -> tuple[Buffer, ...]:
        """Where the arrays of the user lie."""
        return ()

    def arrays(self, trace: Trace) -> list[Var]:
        raise NotImplementedError

    def item(self, trace: Trace, entries: Iterator[Var], unroll: GiveUp) -> Any:
        raise NotImplementedError

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError


class Range(Steps):
    """The numbers of a range."""

    def __init__(self, of: range) -> None:
        self.of, self.n = of, len(of)

    def arrays(self, trace: Trace) -> list[Var]:
        return [var_of(trace, np.arange(self.of.start, self.of.stop, self.of.step, dtype=np.int64))]

    def item(self, trace: Trace, entries: Iterator[Var], unroll: GiveUp) -> Any:
        var = next(entries)
        var.weak = int
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
            Aliases(unroll, (made.root, root), trace.region)
        return made

    def __iter__(self) -> Iterator[Any]:
        return iter(self.array)


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


class TracedRange:
    """A range whose bounds depend on data. Only a `for` loop can go through it."""

    def __init__(self, start: Any, stop: Any, step: int) -> None:
        self.start, self.stop, self.step = start, stop, step

    def __iter__(self) -> Iterator[Any]:
        return iter(range(*[end.__index__() for end in (self.start, self.stop)]))

    def __len__(self) -> int:
        return len(range(*[end.__index__() for end in (self.start, self.stop)]))


def steps_of(trace: Trace, items: Any) -> Steps | None:
    """The steps through some things; None where Python has to go through them."""
    if isinstance(items, Steps):
        return items
    if isinstance(items, range):
        return Range(items)
    if isinstance(items, Traced) and items.ndim:
        return Rows(items)
    if type(items) is np.ndarray and items.ndim and items.dtype.kind in "biuf":
        return Rows(constant(trace, items, origin="a captured array"))
    return None


def paired(trace: Trace, items: Sequence[Any]) -> Steps | None:
    """`zip`, where all of it can be taken by a program."""
    parts = [steps_of(trace, one) for one in items]
    return Pairs([part for part in parts if part is not None]) if parts and all(part is not None for part in parts) else None


def enumerated(trace: Trace, items: Any, start: int = 0) -> Steps | None:
    """`enumerate`, where it can be taken by a program."""
    found = steps_of(trace, items)
    return None if found is None else Pairs([Range(range(start, start + found.n)), found])


def backwards(trace: Trace, items: Any) -> Steps | None:
    """`reversed`, where it can be taken by a program."""
    found = steps_of(trace, items)
    if isinstance(found, Range):
        return Range(found.of[::-1])
    return Rows(found.array[::-1]) if isinstance(found, Rows) else None
