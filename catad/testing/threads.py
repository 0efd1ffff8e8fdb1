"""The plain Python of a kernel, run by real threads: what a kernel means, without any of catad's reading.

Each thread of a launch that waits is a thread of Python, so breakpoints and prints work. One runs at a time, in linear order,
until it comes to a barrier or ends; so a run is the same every time. Blocks run one after the other. Each access to an array is
recorded.
"""

from __future__ import annotations

import itertools
import operator
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from catad import errors
from catad.simt.intrinsics import WARP, running
from catad.simt.kernel import Launch
from catad.simt.read import dtype_of
from catad.testing.races import arguments
from catad.values.arrays import is_weak


class Access(NamedTuple):
    """One access of a thread to a cell: kind is "read", "write" or "atomic"; phases count the barriers of a block."""

    array: str
    cell: tuple[int, ...]
    kind: str
    thread: tuple[int, int]
    phase: int


class Watched:
    """An array whose accesses are recorded; indices out of range raise on reading and are dropped on writing."""

    def __init__(self, name: str, data: Any, record: list[Access]) -> None:
        self.name, self.data, self.record = name, data, record
        self.shape, self.dtype, self.ndim, self.size = data.shape, data.dtype, data.ndim, data.size

    def __len__(self) -> int:
        return len(self.data)

    @property
    def real(self) -> Watched:
        """The real parts, a view of the same memory."""
        return Watched(f"{self.name}.real", self.data.real, self.record)

    @property
    def imag(self) -> Watched:
        return Watched(f"{self.name}.imag", self.data.imag, self.record)

    def _cell(self, index: Any) -> tuple[int, ...] | None:
        cell = tuple([int(i) for i in (index if isinstance(index, tuple) else (index,))])
        return cell if all(0 <= i < n for i, n in zip(cell, self.shape, strict=True)) else None

    def _part(self, index: Any) -> bool:
        parts = index if isinstance(index, tuple) else (index,)
        return len(parts) < self.ndim or any(isinstance(one, slice) for one in parts)

    def note(self, cell: tuple[int, ...], kind: str) -> None:
        """Record an access of the thread that runs."""
        t = running.thread
        self.record.append(Access(self.name, cell, kind, (t.block.number, t.number), t.phase))

    def __getitem__(self, index: Any) -> Any:
        if self._part(index):
            return Watched(self.name, self.data[index], self.record)
        cell = self._cell(index)
        if cell is None:
            raise errors.IndexRangeError(f"index {index} of {self.name} with shape {self.shape} is out of range")
        self.note(cell, "read")
        return self.data[cell]

    def __setitem__(self, index: Any, value: Any) -> None:
        cell = self._cell(index)
        if cell is not None:
            self.note(cell, "write")
            self.data[cell] = value

    def update(self, index: Any, change: Any) -> Any:
        """An atomic change of a cell; the number before it."""
        cell = self._cell(index)
        if cell is None:
            return self.dtype.type(0)
        self.note(cell, "atomic")
        old = self.data[cell]
        self.data[cell] = change(old)
        return old


class _Thread:
    """One thread of a block: it answers the words."""

    def __init__(self, block: _Block, number: int, index: tuple[int, int, int]) -> None:
        self.block, self.number, self.index = block, number, index
        self.phase, self.made = 0, 0
        self.go, self.done = threading.Event(), False
        self.waits: Any = None

    def coordinate(self, name: str, d: int) -> int:
        launch = self.block.launch
        table = {"threadIdx": self.index, "blockIdx": self.block.index, "blockDim": launch.block, "gridDim": launch.grid}
        return table[name][d]

    def grid(self, n: int) -> Any:
        at = [b * m + t for b, m, t in zip(self.block.index, self.block.launch.block, self.index, strict=True)]
        return at[0] if n == 1 else tuple(at[:n])

    def gridsize(self, n: int) -> Any:
        sizes = [g * m for g, m in zip(self.block.launch.grid, self.block.launch.block, strict=True)]
        return sizes[0] if n == 1 else tuple(sizes[:n])

    def lane(self) -> int:
        return self.number % WARP

    def wait(self, at: Any) -> None:
        """Stop until all threads that must come there have come."""
        self.waits = at
        self.block.turn.set()
        self.go.wait()
        self.go.clear()
        if self.block.stopped:
            raise SystemExit

    def syncthreads(self) -> None:
        self.wait("block")
        self.phase += 1

    def syncwarp(self, mask: int = -1) -> None:
        self.wait(("warp", self.number // WARP))

    def _exchanged(self, value: Any, source: int) -> Any:
        warp = self.number // WARP
        self.block.posted[self.number] = value
        self.wait(("warp", warp))
        source += warp * WARP
        found = self.block.posted.get(source, value) if source // WARP == warp and source >= 0 else value
        self.wait(("warp", warp))
        return found

    def shfl_sync(self, mask: int, value: Any, lane: int) -> Any:
        return self._exchanged(value, lane % WARP)

    def shfl_up_sync(self, mask: int, value: Any, delta: int) -> Any:
        return self._exchanged(value, self.lane() - delta)

    def shfl_down_sync(self, mask: int, value: Any, delta: int) -> Any:
        return self._exchanged(value, self.lane() + delta)

    def shfl_xor_sync(self, mask: int, value: Any, bits: int) -> Any:
        return self._exchanged(value, self.lane() ^ bits)

    def shared_array(self, shape: Any, dtype: Any) -> Watched:
        self.made += 1
        return self.block.shared(self.made - 1, shape, dtype)

    def local_array(self, shape: Any, dtype: Any) -> Any:
        return poisoned(shape, dtype)


for _name, _change in {"add": operator.add, "sub": operator.sub, "min": np.minimum, "max": np.maximum}.items():

    def _atomic(self: Any, array: Watched, index: Any, value: Any, change: Any = _change) -> Any:
        return array.update(index, lambda old: change(old, value))

    setattr(_Thread, f"atomic_{_name}", _atomic)


def poisoned(shape: Any, dtype: Any) -> Any:
    """An array that nobody has written: NaN, and 0 for integers."""
    kind = dtype_of(dtype)
    return np.full(shape, np.nan if kind.kind == "f" else 0, dtype=kind)


class _Block:
    """The threads of one block, of which one runs at a time; those that never wait share one thread of Python."""

    def __init__(self, launch: Launch, number: int, index: tuple[int, int, int], record: list[Access]) -> None:
        self.launch, self.number, self.index, self.record = launch, number, index, record
        self.turn, self.stopped = threading.Event(), False
        self.posted: dict[int, Any] = {}
        self.arrays: list[Watched] = []
        self.threads = [_Thread(self, k, at) for k, at in enumerate(_indices(launch.block))]
        self.fresh = deque(self.threads)
        self.error: BaseException | None = None

    def shared(self, k: int, shape: Any, dtype: Any) -> Watched:
        """The block's array of a number, made by the first thread that asks."""
        if k == len(self.arrays):
            name = f"shared array {k} of block {self.number}"
            self.arrays.append(Watched(name, poisoned(shape, dtype), self.record))
        return self.arrays[k]

    def _body(self, thread: _Thread, args: Sequence[Any]) -> None:
        running.thread = thread
        try:
            with np.errstate(all="ignore"):
                self.launch.kernel.fn(*args)
        except SystemExit:
            pass
        except BaseException as error:
            self.error = error
        thread.done = True

    def _host(self, args: Sequence[Any]) -> None:
        """Run what has not begun, one after the other; the next host does what is left behind one that waits."""
        while self.fresh and not self.stopped:
            self._body(self.fresh.popleft(), args)
        self.turn.set()

    def run(self, args: Sequence[Any]) -> None:
        """Run all threads to their ends."""
        hosts: list[threading.Thread] = []
        try:
            while self.fresh:
                hosts.append(threading.Thread(target=self._host, args=(args,), daemon=True))
                self._until_it_waits(hosts[-1].start)
            while (ready := self._ready()) is not None:
                for thread in ready:
                    thread.waits = None
                    self._until_it_waits(thread.go.set)
        finally:
            self.stopped = True
            for thread in self.threads:
                thread.go.set()
            for host in hosts:
                host.join()

    def _until_it_waits(self, go: Callable[[], None]) -> None:
        self.turn.clear()
        go()
        self.turn.wait()
        if self.error is not None:
            raise self.error

    def _ready(self) -> list[_Thread] | None:
        """The threads that can go on; None where all are done."""
        live = [t for t in self.threads if not t.done]
        if not live:
            return None
        free = [t for t in live if t.waits is None]
        for at in {t.waits for t in live}:
            team = self.threads if at == "block" else [t for t in self.threads if t.number // WARP == at[1]] if at else []
            if team and all(not t.done and t.waits == at for t in team):
                free += team
        if not free:
            raise errors.ScalarError(errors.stuck_threads([f"thread {t.number} at {t.waits}" for t in live]))
        return sorted(free, key=lambda t: t.number)


def recorded(launch: Launch, *args: Any) -> tuple[Any, list[Access]]:
    """What `threads` gives, and all accesses in their order."""
    record: list[Access] = []
    given = arguments(launch, args, "ct.testing.threads")
    data = [arg.copy() for arg in given]
    numbers = [one if is_weak(one) else d[()] for one, d in zip(launch.filled(args), data, strict=True)]
    named = zip(launch.kernel.names, data, numbers, strict=False)
    watched = [Watched(name, d, record) if d.ndim else number for name, d, number in named]
    for number, index in enumerate(_indices(launch.grid)):
        _Block(launch, number, index, record).run(watched)
    written = launch.written(*given)
    made = tuple([d for n, d in zip(launch.kernel.names, data, strict=False) if n in written])
    return (made[0] if len(made) == 1 else made), record


def _indices(sizes: tuple[int, int, int]) -> Iterator[tuple[int, int, int]]:
    for z, y, x in itertools.product(*[range(n) for n in sizes[::-1]]):
        yield x, y, z


def threads(launch: Launch, *args: Any) -> Any:
    """The arrays that a launch of a kernel writes, by running the kernel's Python in real threads.

    It is the oracle for kernels, and the way to step through one: prints and breakpoints work. Threads run one at a time from
    barrier to barrier, in linear order, so the result is the same at every run. Shapes and dtypes are those of the launch as a
    morphism. Raises `ScalarError` where threads wait at a barrier that others never reach, `IndexRangeError` where an index is
    out of range (negative ones do not wrap), `ArgumentError` for another number of arguments and for what is no launch.

    >>> import catad as ct, numpy as np
    >>> @ct.kernel
    ... def double(x, y):
    ...     i = ct.simt.grid(1)
    ...     if i < len(x):
    ...         y[i] = 2.0 * x[i]
    >>> ct.testing.threads(double[2, 4], np.arange(5.0), np.zeros(5))
    array([0., 2., 4., 6., 8.])
    """
    return recorded(launch, *args)[0]
