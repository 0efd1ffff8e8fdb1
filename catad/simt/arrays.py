"""What a kernel that has been read consists of: arrays, sites, and statements in their order.

The expressions are nodes of the scalar language over parameters: the coordinates of a thread (`T`, `B`, `LINEAR`, for x, y, z),
numbers that are passed by value, and what the statements before have read. A statement is done by all threads, then the next one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from catad.scalar import Node, param
from catad.scalar.simplify import replace as replaced

T = tuple([param(k) for k in range(3)])
"""threadIdx.x, .y and .z."""
B = tuple([param(3 + k) for k in range(3)])
"""blockIdx.x, .y and .z."""
LINEAR = tuple([param(6 + k) for k in range(3)])
"""blockIdx * blockDim + threadIdx, in x, y and z."""
FIRST = 9
"""The first parameter behind the coordinates."""


@dataclass(frozen=True)
class Array:
    """An array of a kernel; one in shared memory is there for each block, a local one for each thread."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    place: str = "global"


@dataclass(frozen=True)
class Site:
    """One place in the source where an array is read or written: the cell, the condition to come there, line and column.

    `said` is the index as it is written, `where` the place for messages.
    """

    array: Array
    index: tuple[Node, ...]
    path: Node
    line: int = field(compare=False, default=0)
    column: int = field(compare=False, default=0)
    said: str = field(compare=False, default="")
    where: str = field(compare=False, default="")


@dataclass(frozen=True)
class Declare:
    """A new array that nobody has written."""

    array: Array


@dataclass(frozen=True)
class Load:
    """What stands in a cell, as a new parameter."""

    site: Site
    out: int


@dataclass(frozen=True)
class Store:
    """A number into a cell; of several threads the last one wins."""

    site: Site
    value: Node


@dataclass(frozen=True)
class Atomic:
    """`add`, `min` or `max` of a cell and a number, thread after thread; `out` is the number before, where it is used."""

    site: Site
    op: str
    value: Node
    out: int | None


@dataclass(frozen=True)
class Barrier:
    """`syncthreads`; one of a warp is `syncwarp`, or a shuffle."""

    path: Node
    warp: bool = False
    where: str = field(compare=False, default="")


@dataclass(frozen=True)
class Bounded:
    """The trips of a loop of numbers only, as a new parameter; an error where a thread on the path makes more than `most`."""

    count: Node
    path: Node
    most: int
    out: int
    where: str = field(compare=False, default="")


@dataclass(frozen=True)
class State:
    """A number that a loop carries: its parameter in the body, its first value, the next one, its parameter after the loop."""

    inside: int
    init: Node
    step: Node
    after: int


@dataclass(frozen=True)
class Repeat:
    """A loop with memory. `counter` is the number of the trip; `trips` the most trips that a thread makes, None in a `while`.

    In a `while`, `alive` is the state that says whether a thread may still go on. A loop whose trips data decide ends with
    an error after `most` trips. `item` is the entry of the range, where the loop has one.
    """

    body: tuple[Any, ...]
    states: tuple[State, ...]
    counter: int
    trips: Node | None
    alive: int | None
    most: int
    item: Node | None = None
    where: str = field(compare=False, default="")


Step = Declare | Load | Store | Atomic | Barrier | Bounded | Repeat


@dataclass(frozen=True)
class Body:
    """A kernel as it was read for arrays of given shapes: its statements, its arrays, and the numbers passed by value."""

    steps: tuple[Step, ...]
    arrays: tuple[Array, ...]
    numbers: tuple[tuple[str, int], ...]
    written: tuple[str, ...]


def every(steps: Iterable[Step]) -> Iterator[Step]:
    """All statements, those inside loops included."""
    for step in steps:
        yield step
        if isinstance(step, Repeat):
            yield from every(step.body)


def nodes_of(step: Step) -> list[Node]:
    """The expressions of a statement, those inside included."""
    match step:
        case Load(site=site):
            return [*site.index, site.path]
        case Store(site=site, value=value) | Atomic(site=site, value=value):
            return [*site.index, site.path, value]
        case Barrier(path=path):
            return [path]
        case Bounded(count=count, path=path):
            return [count, path]
        case Repeat():
            found = [node for part in step.body for node in nodes_of(part)]
            found += [node for state in step.states for node in (state.init, state.step)]
            return found if step.trips is None else [*found, step.trips]
    return []


def made_in(steps: tuple[Step, ...]) -> set[int]:
    """The parameters that statements give a value to."""
    found: set[int] = set()
    for step in every(steps):
        if isinstance(step, Load | Atomic | Bounded) and step.out is not None:
            found.add(step.out)
        elif isinstance(step, Repeat):
            found |= {step.counter, *[k for state in step.states for k in (state.inside, state.after)]}
    return found


def has_barriers(steps: tuple[Step, ...]) -> bool:
    """Whether there are barriers among statements, those of loops included."""
    return any(isinstance(step, Barrier) for step in every(steps))


def touched(steps: tuple[Step, ...], written: bool) -> dict[Array, None]:
    """The arrays that statements write into, or all that they touch; those that they declare are left out."""
    kinds = Store | Atomic if written else Store | Atomic | Load
    own = {step.array for step in every(steps) if isinstance(step, Declare)}
    found = [step.site.array for step in every(steps) if isinstance(step, kinds)]
    return {array: None for array in found if array not in own}


def rewritten(step: Step, mapping: Mapping[Node, Node]) -> Step:
    """A statement with some expressions replaced by others."""

    def of(*nodes: Node) -> tuple[Node, ...]:
        return replaced(nodes, mapping)

    match step:
        case Load(site=site):
            return replace(step, site=_moved(site, mapping))
        case Store(site=site, value=value) | Atomic(site=site, value=value):
            return replace(step, site=_moved(site, mapping), value=of(value)[0])
        case Barrier(path=path):
            return replace(step, path=of(path)[0])
        case Bounded(count=count, path=path):
            return replace(step, count=of(count)[0], path=of(path)[0])
        case Repeat(body=body, states=states, trips=trips):
            states = tuple([replace(state, init=of(state.init)[0], step=of(state.step)[0]) for state in states])
            inner = tuple([rewritten(one, mapping) for one in body])
            return replace(step, body=inner, states=states, trips=None if trips is None else of(trips)[0])
    return step


def _moved(site: Site, mapping: Mapping[Node, Node]) -> Site:
    *index, path = replaced((*site.index, site.path), mapping)
    return replace(site, index=tuple(index), path=path)
