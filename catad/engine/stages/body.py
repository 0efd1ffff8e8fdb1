"""The work of a stage as a kernel has it: what is loaded, computed and stored at an index, and the dtypes of the values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from catad import scalar
from catad.engine.stages.stage import FoldResult, Op
from catad.support.lru import remembered


class Source(NamedTuple):
    """A load of a kernel: its value, its dtype, whether it is a loop index, which guard it has (-1: none) and what is read
    where that fails; the value that gives its position along an indexed axis; and whether -0.0 is read, which is equal to 0.0,
    as kernels are found by their bodies."""

    value: int
    dtype: str
    is_index: bool
    guard: int
    fill: float | None
    by: int = -1
    minus_zero: bool = False


class Sink(NamedTuple):
    """A store of a kernel: a value at each index, or a number of a fold for each line."""

    value: int | FoldResult
    dtype: str


class Body(NamedTuple):
    """The static part of a stage."""

    sources: tuple[Source, ...]
    ops: tuple[Op, ...]
    sinks: tuple[Sink, ...]

    @property
    def guards(self) -> int:
        """The number of guards of the sources."""
        return 1 + max([source.guard for source in self.sources], default=-1)


@remembered
def value_dtypes(body: Body) -> tuple[np.dtype[Any], ...]:
    """The dtype of each value of a body."""
    found = [np.dtype(source.dtype) for source in body.sources]
    for op in body.ops:
        given = [found[k] for k in op.args]
        if op.kind == "map":
            found += scalar.result_types(op.data, tuple(given))
        elif op.kind == "before":
            found.append(given[0])
        elif op.kind == "scan":
            found += given[: op.results]
        elif op.kind == "recurrence":
            found += [np.result_type(*given)] * op.results
    return tuple(found)


def state_dtypes(body: Body, op: Op) -> list[np.dtype[Any]]:
    """The dtypes of the states that a scan, recurrence or fold carries."""
    if op.kind not in ("scan", "recurrence", "fold"):
        return []
    dtypes = value_dtypes(body)
    if op.kind == "fold":
        return [dtypes[k] for k in op.args]
    return [dtypes[op.first + k] for k in range(op.results)]


@remembered
def needed_first(body: Body) -> frozenset[int]:
    """The values that the first step of a line needs: all but those that only links and resets need.

    Nothing is before the first step, so arrays may end where these would be read.
    """
    needed: set[int] = set()

    def need(values: Iterable[int]) -> None:
        for k in values:
            while k >= 0 and k not in needed:
                needed.add(k)
                k = body.sources[k].by if k < len(body.sources) else -1  # the index at which it is read

    need([sink.value for sink in body.sinks if not isinstance(sink.value, FoldResult)])
    for op in reversed(body.ops):
        if op.kind == "recurrence":
            grid, copies, _ = op.data
            need(op.args[len(op.args) - len(grid) * copies :])
        elif op.kind in ("scan", "fold") or not needed.isdisjoint(range(op.first, op.first + op.results)):
            need(op.args)
    return frozenset(needed)
