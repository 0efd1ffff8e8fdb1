"""Races: a kernel done statement by statement on NumPy arrays, with every access recorded and compared.

Two threads of one block race where both touch a cell between the same two barriers, and threads of two blocks where both touch a
cell of a global array at all, unless both read or both are atomic. The comparison is exact for the arguments at hand. Where no
index and no condition depends on data it is exact for all arguments, and it is made when the launch is laid out; else it is made
at the first call of a program, by the box `Unraced`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from catad import errors, scalar
from catad.category.boxes import box
from catad.category.constant import Constant
from catad.linear.families.gather import spread_over
from catad.scalar import Function, Node, param
from catad.scalar.simplify import replace
from catad.simt.arrays import LINEAR, Array, Atomic, B, Barrier, Body, Bounded, Declare, Load, Repeat, Site, Step, Store, T
from catad.simt.barriers import agree
from catad.simt.intrinsics import WARP
from catad.simt.read import Dims
from catad.support.current_engine import checks
from catad.values.stream_capture import check_not_captured
from catad.vector.loops.loop import After, Waiting

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire

MOST_STATEMENTS = 4096
"""So many statements of all threads are compared by the check that comes by itself; `ct.testing.check_races` has no such end."""
READ, ATOMIC, WRITE = 0, 1, 2
_CHANGES: dict[str, Callable[[Any, Any], Any]] = {"add": operator.add, "min": np.minimum, "max": np.maximum}
_SAID = {READ: "read", ATOMIC: "atomic", WRITE: "store"}


class Access(NamedTuple):
    """The accesses of all threads at one site: cells, threads, phases and phases of warps, of those whose path holds."""

    site: Site
    kind: int
    cells: Any
    threads: Any
    phases: Any
    warp_phases: Any


class _EnoughError(Exception):
    """As many statements as were asked for are done."""


class Lockstep:
    """Does the statements of a kernel, all threads at once, so many at most; `accesses` are what was touched."""

    def __init__(self, dims: Dims, body: Body, args: dict[str, Any], most: float = math.inf) -> None:
        self.dims, self.body, self.left = dims, body, most
        self.threads, self.blocks = math.prod(dims.block), math.prod(dims.grid)
        self.total = self.threads * self.blocks
        number = np.arange(self.total)
        self.block_of = number // self.threads
        self.values: dict[Node, Any] = {}
        for sizes, nodes, at in ((dims.block, T, number % self.threads), (dims.grid, B, self.block_of)):
            for d, node in enumerate(nodes):
                self.values[node] = at // math.prod(sizes[:d]) % sizes[d]
        for d in range(3):
            self.values[LINEAR[d]] = self.values[B[d]] * dims.block[d] + self.values[T[d]]
        for name, k in body.numbers:
            self.values[param(k)] = np.asarray(args[name])
        self.data: dict[Array, Any] = {a: np.array(args[a.name]).reshape(-1) for a in body.arrays}
        self.filled: dict[Array, Any] = {}
        self.phase = np.zeros(self.total, dtype=np.int64)
        self.warp_phase = np.zeros(self.total, dtype=np.int64)
        warps = -(-self.threads // WARP)
        self.warp_of = self.block_of * warps + number % self.threads // WARP
        self.accesses: list[Access] = []

    def run(self) -> None:
        """Do the statements."""
        with np.errstate(all="ignore"), suppress(_EnoughError):
            self.steps(self.body.steps)

    def of(self, node: Node) -> Any:
        """The values of an expression, for all threads."""
        used = scalar.parameters([node])[0]
        if not used:
            made = scalar.array_function(Function.make(0, [node]))(np)
        else:
            (small,) = replace([node], {param(j): param(i) for i, j in enumerate(used)})
            made = scalar.array_function(Function.make(len(used), [small]))(np, *[self.values[param(j)] for j in used])
        return np.broadcast_to(np.asarray(made[0]), (self.total,))

    def steps(self, steps: Sequence[Step]) -> None:
        for step in steps:
            self.left -= 1
            if self.left < 0:
                raise _EnoughError
            match step:
                case Declare(array=array):
                    count = self.copies(array) * math.prod(array.shape)
                    self.data[array] = np.full(count, np.nan if array.dtype.kind == "f" else 0, dtype=array.dtype)
                    self.filled[array] = np.zeros(count, dtype=bool)
                case Load(site=site, out=out):
                    cells, holds = self.touched(site, READ)
                    self.unwritten(site, cells, holds)
                    safe = np.where(holds, cells, 0)
                    data = self.data[site.array]
                    self.values[param(out)] = data[safe] if data.size else np.zeros(self.total, dtype=data.dtype)
                case Store(site=site, value=value):
                    cells, holds = self.touched(site, WRITE)
                    made = self.of(value)
                    if site.array.place == "shuffle":
                        self.data[site.array] = self.data[site.array].astype(made.dtype)
                    self.data[site.array][cells[holds]] = made[holds]
                    self.mark(site, cells[holds])
                case Atomic():
                    self.atomic(step)
                case Barrier():
                    self.barrier(step)
                case Bounded(count=count, path=path):
                    trips = np.where(self.of(path), self.of(count), 0)
                    if np.any(trips > step.most):
                        raise errors.ArgumentError(errors.while_without_end(step.most, step.where))
                    self.values[param(step.out)] = trips
                case Repeat():
                    self.repeat(step)

    def barrier(self, step: Barrier) -> None:
        """The next phase of the threads that come to a barrier, which all threads of a block, or of a warp, must do."""
        holds = self.of(step.path).astype(bool)
        if not agree(holds, self.threads, WARP if step.warp else self.threads):
            raise errors.ScalarError((errors.divergent_warp if step.warp else errors.divergent_barrier)(step.where))
        if step.warp:
            self.warp_phase = self.warp_phase + holds
        else:
            self.phase = self.phase + holds

    def mark(self, site: Site, cells: Any) -> None:
        if site.array in self.filled:
            self.filled[site.array][cells] = True

    def unwritten(self, site: Site, cells: Any, holds: Any) -> None:
        """Raise where a thread reads a cell of shared or local memory that nobody has written."""
        if site.array in self.filled and site.array.place != "shuffle":
            bad = np.flatnonzero(holds & ~self.filled[site.array][np.where(holds, cells, 0)])
            if bad.size:
                cell = self.cell(site.array, int(cells[bad[0]]))
                raise errors.ScalarError(errors.read_of_nothing(site.array.name, cell, self.named(int(bad[0])), site.where))

    def atomic(self, step: Atomic) -> None:
        site = step.site
        cells, holds = self.touched(site, ATOMIC)
        value, data = self.of(step.value), self.data[site.array]
        before = np.zeros(self.total, dtype=data.dtype)
        change = _CHANGES[step.op]
        for k in np.flatnonzero(holds):
            before[k] = data[cells[k]]
            data[cells[k]] = change(data[cells[k]], value[k])
        self.mark(site, cells[holds])
        if step.out is not None:
            self.values[param(step.out)] = before

    def repeat(self, step: Repeat) -> None:
        now = [self.of(state.init) for state in step.states]
        trips = step.most if step.trips is None else int(np.max(self.of(step.trips), initial=0))
        for k in range(trips):
            self.values.update({param(s.inside): value for s, value in zip(step.states, now, strict=True)})
            if step.alive is not None and not np.any(self.values[param(step.alive)]):
                break
            self.values[param(step.counter)] = np.asarray(k)
            self.steps(step.body)
            now = [self.of(state.step) for state in step.states]
        else:
            if step.trips is None:
                raise errors.ArgumentError(errors.while_without_end(step.most, step.where))
        self.values.update({param(s.after): value for s, value in zip(step.states, now, strict=True)})

    def copies(self, array: Array) -> int:
        return 1 if array.place == "global" else self.total if array.place == "local" else self.blocks

    def touched(self, site: Site, kind: int) -> tuple[Any, Any]:
        """The cells of all threads, and which threads touch them; stores and atomics out of range touch nothing."""
        array, holds = site.array, self.of(site.path).astype(bool)
        flat, inside = np.zeros(self.total, dtype=np.int64), np.ones(self.total, dtype=bool)
        for node, n in zip(site.index, array.shape, strict=True):
            at = self.of(node)
            inside = inside & (at >= 0) & (at < n)
            flat = flat * n + np.where((at >= 0) & (at < n), at, 0).astype(np.int64)
        if kind == READ and (holds & ~inside).any():
            k = int(np.flatnonzero(holds & ~inside)[0])
            index = [int(self.of(node)[k]) for node in site.index]
            raise errors.IndexRangeError(
                errors.index_of_thread(array.name, index, array.shape, self.named(k), site.where)
            )
        copy = np.arange(self.total) if array.place == "local" else self.block_of if array.place != "global" else 0
        flat, holds = flat + copy * math.prod(array.shape), holds & inside
        if array.place in ("global", "shared"):
            who = np.flatnonzero(holds)
            self.accesses.append(Access(site, kind, flat[who], who, self.phase[who], self.warp_phase[who]))
        return flat, holds

    def cell(self, array: Array, flat: int) -> tuple[int, ...]:
        """The index of a cell in its array."""
        return tuple([int(k) for k in np.unravel_index(flat % math.prod(array.shape), array.shape)])

    def named(self, thread: int) -> str:
        """A thread, for messages."""
        t = tuple([int(self.values[T[d]][thread]) for d in range(3)])
        return f"{t} of block {tuple([int(self.values[B[d]][thread]) for d in range(3)])}"

    # -- the comparison

    def check(self) -> None:
        """Raise for the first race found."""
        arrays: dict[Array, list[Access]] = {}
        for access in self.accesses:
            arrays.setdefault(access.site.array, []).append(access)
        for array, found in arrays.items():
            if any(access.kind != READ for access in found):
                self._compare(array, found)

    def _compare(self, array: Array, found: Sequence[Access]) -> None:
        fields = ("cells", "threads", "phases", "warp_phases")
        cells, threads, phases, warp_phases = [np.concatenate([getattr(a, name) for a in found]) for name in fields]
        kinds = np.concatenate([np.full(len(a.cells), a.kind) for a in found])
        sites = np.concatenate([np.full(len(a.cells), k) for k, a in enumerate(found)])
        blocks = self.block_of[threads]
        group = (cells * self.blocks + blocks) * (int(self.phase.max(initial=0)) + 1) + phases
        warps = self.warp_of[threads]
        bad = _conflict(group, warps, kinds)
        if bad is None:
            bad = _conflict(_numbered(_numbered(group, warps), warp_phases), threads, kinds)
        if bad is None and array.place == "global":
            bad = _conflict(cells, blocks, kinds)
        if bad is None:
            return
        one, other = bad
        first, second = [found[int(sites[k])].site for k in bad]
        said = [
            f"{_SAID[int(kinds[k])]} by thread {self.named(int(threads[k]))} at {site.where}"
            for k, site in ((one, first), (other, second))
        ]
        same = bool(blocks[one] == blocks[other]) and first.line != second.line
        raise errors.ScalarError(errors.race(array.name, self.cell(array, int(cells[one])), said, int(phases[one]), same))


def _numbered(group: Any, other: Any) -> Any:
    """A number for each pair of two numbers."""
    small = np.unique(group, return_inverse=True)[1]
    return small * (int(other.max(initial=0)) + 1) + other


def _conflict(group: Any, who: Any, kinds: Any) -> tuple[int, int] | None:
    """Two accesses of one group by different ones, at least one of which writes, or one is atomic and one reads."""
    if not len(group):
        return None
    order = np.lexsort((who, group))
    group, who, kinds = group[order], who[order], kinds[order]
    starts = np.flatnonzero(np.r_[True, group[1:] != group[:-1]])
    ends = np.r_[starts[1:], len(group)] - 1
    several = who[starts] != who[ends]
    writes = np.maximum.reduceat(kinds, starts)
    least = np.minimum.reduceat(kinds, starts)
    bad = np.flatnonzero(several & ((writes == WRITE) | ((writes == ATOMIC) & (least == READ))))
    if not len(bad):
        return None
    members = np.arange(starts[bad[0]], ends[bad[0]] + 1)
    top = members[np.argmax(kinds[members])]
    other = next(k for k in members if who[k] != who[top] and (kinds[top] == WRITE or kinds[k] != kinds[top]))
    return int(order[top]), int(order[other])


def sources_of(body: Body) -> frozenset[str]:
    """The parameters on which an index, a condition or a number of trips depends."""
    flow = _Flow({k: frozenset([name]) for name, k in body.numbers})
    while True:
        before = (dict(flow.numbers), dict(flow.arrays))
        flow.follow(body.steps)
        if before == (flow.numbers, flow.arrays):
            return flow.decisive


class _Flow:
    """From which parameters of the kernel the numbers and the contents of arrays follow."""

    def __init__(self, numbers: dict[int, frozenset[str]]) -> None:
        self.numbers = numbers
        self.arrays: dict[Array, frozenset[str]] = {}
        self.decisive: frozenset[str] = frozenset()

    def of(self, *nodes: Node) -> frozenset[str]:
        used = [k for node in nodes for k in scalar.parameters([node])[0]]
        return frozenset().union(*[self.numbers.get(k, frozenset()) for k in used])

    def follow(self, steps: Sequence[Step]) -> None:
        """What statements make of what they read, once."""
        for step in steps:
            match step:
                case Load() | Store() | Atomic():
                    self._site(step)
                case Barrier(path=path):
                    self.decisive |= self.of(path)
                case Repeat():
                    self.follow(step.body)
                    for state in step.states:
                        found = self.of(state.init, state.step)
                        self.numbers[state.inside] = self.numbers.get(state.inside, frozenset()) | found
                        self.numbers[state.after] = self.numbers[state.inside]
                    self.decisive |= frozenset() if step.trips is None else self.of(step.trips)
                    self.decisive |= frozenset() if step.alive is None else self.numbers[step.alive]

    def _site(self, step: Load | Store | Atomic) -> None:
        array = step.site.array
        where = self.of(*step.site.index, step.site.path)
        self.decisive |= where
        own = self.arrays.get(array, frozenset([array.name] if array.place == "global" else []))
        if not isinstance(step, Load):
            self.arrays[array] = own = own | where | self.of(step.value)
        if not isinstance(step, Store) and step.out is not None:
            self.numbers[step.out] = own | where


@box
class Unraced(Waiting):
    """The arguments on which indices, conditions and trips depend, to 0; all accesses are compared at the first call."""

    dims: Dims
    body: Body
    given: tuple[str, ...]

    @property
    def arity(self) -> int:
        return len(self.given)

    def check(self, xp: Any, *arrays: Any) -> None:
        if checks.get() == "off":
            return
        check_not_captured(xp, "indices of a kernel that are compared at the first call")
        numbers = [array if xp is np else array.get() for array in arrays]
        compare(self.dims, self.body, dict(zip(self.given, numbers, strict=True)))

    def batched(self, b: Builder, ins: tuple[Wire, ...], flags: tuple[bool, ...], size: int) -> tuple[Wire, ...]:
        return (spread_over(b, b.add(Constant(np.asarray(0)))[0], size),)


def guarded(b: Builder, dims: Dims, body: Body, at: dict[str, Wire], run: Callable[[dict[str, Wire]], list[Wire]]) -> list[Wire]:
    """What a launch makes of its arguments, with the check for races: at once, or at the first call where data decide.

    The integers that decide wait for the check; where only floats decide, the results do.
    """
    names = tuple(sorted(sources_of(body)))
    if not names:
        compare(dims, body, {})
        return run(at)
    (ran,) = b.add(Unraced(dims, body, names), *[at[name] for name in names])
    whole = [name for name in names if not at[name].space.is_float]
    if whole:
        return run(at | dict(zip(whole, b.add(After(), ran, *[at[name] for name in whole]), strict=True)))
    return list(b.add(After(), ran, *run(at)))


def compare(dims: Dims, body: Body, args: dict[str, Any]) -> None:
    """Do a kernel in lockstep, up to `MOST_STATEMENTS`, and compare its accesses; arguments that are not given are zeros."""
    zeros: dict[str, Any] = {array.name: np.zeros(array.shape, array.dtype) for array in body.arrays}
    run = Lockstep(dims, body, zeros | dict.fromkeys([name for name, _ in body.numbers], 0) | args, MOST_STATEMENTS)
    run.run()
    run.check()


def count_of(steps: Sequence[Step], times: int = 1) -> int:
    """About how many accesses a thread makes; a loop of unknown length counts as long."""
    found = 0
    for step in steps:
        if isinstance(step, Repeat):
            trips = step.trips.value if step.trips is not None and step.trips.op == "const" else 64
            found += count_of(step.body, times * max(1, int(trips)))
        else:
            found += times
    return found
