"""A stage: boxes that share one pass over an index space, as straight-line work at each index.

At an index, arrays are loaded, scalar functions are applied, and results are stored. Along at most one axis a stage may carry
states from each index to the next: those of scans, recurrences and folds. All members run over the same loops in the same
direction; a member whose own coordinates run against the axis is turned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from catad.engine.stages.access import Access, Affine, along
from catad.scalar import Function

INDEX = -1  # the wire of a load that is a loop index itself
Coordinates = tuple[Affine, ...]  # the own index of a member, one entry a loop of the stage


class Load(NamedTuple):
    """Reading a wire; where `by` is a value, along one axis of the array at that value, zero outside the array."""

    wire: int
    access: Access
    dtype: np.dtype[Any]
    by: int = -1
    axis: int = -1
    size: int = 0

    @property
    def key(self) -> tuple[int, Access, int, int]:
        """What is read once."""
        return self.wire, self.access, self.by, self.axis


class Op(NamedTuple):
    """Work at each index: `kind` with its static `data`, on values; its results are the values `first`, `first + 1`, ...

    map     data: the scalar function
    scan    data: the operator (args: the element, then free numbers); results: the states after the step
    recurrence   data: the grid (args: links, then what is added); results: the states after the step
    before  data: the text of what stands before the first step (args: a state); result: the state before the step
    fold    data: the operator; no results: the last states are stored
    """

    kind: str
    data: Any
    args: tuple[int, ...]
    first: int
    results: int


class FoldResult(NamedTuple):
    """The place of a fold's result: which fold, which number of it."""

    op: int
    part: int


@dataclass
class Stage:
    """A stage while it is being built."""

    shape: tuple[int, ...]
    axis: tuple[int, ...] = ()  # the loops along which states are carried
    direction: int = 0  # 1 upwards, -1 downwards, 0 while it does not matter
    loads: dict[tuple[int, Access, int, int], int] = field(default_factory=dict)
    inputs: list[tuple[int, Load]] = field(default_factory=list)  # value and what it reads
    wires: set[int] = field(default_factory=set)  # of the inputs
    ops: list[Op] = field(default_factory=list)
    made: dict[int, tuple[int, Coordinates]] = field(default_factory=dict)  # wire to value and its coordinates
    folded: dict[int, tuple[FoldResult, Coordinates]] = field(default_factory=dict)
    values: int = 0
    length: int = 0  # operations of its scalar functions
    members: list[str] = field(default_factory=list)  # the kinds of its boxes
    needs: set[tuple[int, str]] = field(default_factory=set)  # conditions on wires; where one fails, other boxes run

    def fresh(self, count: int = 1) -> int:
        """The number of the first of some new values."""
        self.values += count
        return self.values - count

    def load(self, load: Load) -> int:
        """The value of an array read at an access, read once."""
        if load.key not in self.loads:
            self.loads[load.key] = self.fresh()
            self.inputs.append((self.loads[load.key], load))
            self.wires.add(load.wire)
        return self.loads[load.key]

    def add(self, kind: str, data: Any, args: Sequence[int], count: int) -> Op:
        """Some work on values; the same work is done once."""
        for op in self.ops:
            if (op.kind, op.data, op.args) == (kind, data, tuple(args)):
                return op
        self.ops.append(Op(kind, data, tuple(args), self.fresh(count), count))
        return self.ops[-1]

    @property
    def producer(self) -> dict[int, Op]:
        """The work that made each value."""
        return {op.first + k: op for op in self.ops for k in range(op.results)}


def identity(loops: int) -> Coordinates:
    """The coordinates of a member that runs as the stage does."""
    return tuple([along(k) for k in range(loops)])


def turned(shape: Sequence[int], axis: int) -> Coordinates:
    """The coordinates of a member that runs against the stage along one axis."""
    return tuple([along(k, n - 1, -1) if k == axis else along(k) for k, n in enumerate(shape)])


class Work(NamedTuple):
    """The work of a box at each index of its index space, in the form in which a stage takes it.

    `stores` are the positions of the results along the loops, for a fold; other results are written at every index.
    """

    kind: str
    data: Any
    shape: tuple[int, ...]
    reads: tuple[tuple[int, Access], ...]
    outs: tuple[int, ...]
    axis: tuple[int, ...] = ()
    direction: int = 0
    stores: tuple[tuple[Affine, ...], ...] = ()
    indexed: int = -1  # the axis of the second read that the first gives the position of, and its size
    size: int = 0
    needs: tuple[int, str] | None = None  # a wire whose numbers must be "normal", or "number"s and not NaN, for this to hold
    first: Function | None = None  # what is computed of the reads, for a fold of that
    places: Coordinates | None = None  # of the results along the loops, where these are split
