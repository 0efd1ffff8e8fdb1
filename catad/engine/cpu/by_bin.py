"""Running folds by bin: how the elements are cut, where the states lie, which thread does what."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from catad.engine.cpu import buffers, profile, target, threads
from catad.engine.cpu.bins import Bins, BinsText
from catad.engine.cpu.keys import key_of
from catad.engine.cpu.launch import _address, _bound

PIECE = 1 << 16  # no piece of the elements is smaller
MOST = 16  # groups of pieces at most
LANES = ((1 << 11, 4), (1 << 13, 2))  # bytes of the states of a piece up to which so many pieces advance together
LINE = 64  # numbers, of a byte or more: a line of a cache is no longer
WRITTEN = 1 << 15  # numbers of bins that one call merges at least
_Call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


class Compiled:
    """The kernels of a `Bins` as machine code."""

    __slots__ = ("__weakref__", "calls", "module", "seconds")

    def __init__(self, printer: type[BinsText], what: Bins) -> None:
        begun = time.perf_counter()
        self.module = target.compiled(lambda: printer(what).text(), printer.entries, key_of(printer, what))
        self.calls = {name: _Call(self.module.address(name)) for name in printer.entries}
        self.seconds = time.perf_counter() - begun


_compiled: WeakValueDictionary[Any, Compiled] = WeakValueDictionary()


def compiled(printer: type[BinsText], what: Bins) -> Compiled:
    """The machine code of a fold by bin, made once while somebody holds it."""
    found = _compiled.get((printer, what))
    if found is None:
        found = _compiled[printer, what] = Compiled(printer, what)
    return found


class FoldKernel:
    """A fold by bin ready to run: `what` with one lane, and the bins.

    Called with an index array (m,) and values (m, rest) or (m,), all C-contiguous; gives the results (bins, rest), in the order
    of `what.outs` without those that nobody asked for.
    """

    def __init__(self, what: Bins, bins: int, name: str, text: type[BinsText] = BinsText) -> None:
        self.what, self.bins, self.name, self.printer = what, bins, name, text
        self.states = [np.dtype(s) for s in what.states]
        self.bytes = sum(d.itemsize for d in self.states) + what.flagged
        self.kept: dict[int, Compiled] = {}

    def code(self, lanes: int) -> Compiled:
        found = self.kept.get(lanes)
        if found is None:
            found = self.kept[lanes] = compiled(self.printer, self.what._replace(lanes=lanes))
        return found

    def prepared(self, m: int, width: int) -> str:
        """Compile for so many elements of so many numbers; the LLVM text."""
        lanes = self._cut(m, width)[1]
        self.code(lanes)
        return self.printer(self.what._replace(lanes=lanes)).text()

    def _cut(self, m: int, width: int) -> tuple[int, int]:
        size = self.bins * width
        return cut(m * max(width, 1), m, size, size * self.bytes)

    def __call__(self, index: Any, values: Sequence[Any], rest: tuple[int, ...]) -> list[Any]:
        m, width = len(index), int(np.prod(rest, dtype=np.int64))
        size = self.bins * width
        groups, lanes = self._cut(m, width)
        code = self.code(lanes)
        pieces = groups * lanes
        apart = distance(size) if pieces > 1 else size
        outs = [buffers.empty((self.bins, *rest), np.dtype(o)) if o else None for o in self.what.outs]
        states = []
        for out, dtype in zip(outs, self.states, strict=True):
            own = pieces == 1 and out is not None and out.dtype == dtype
            states.append(out if own else buffers.empty((pieces * apart,), dtype))
        flags = np.empty(pieces * apart if self.what.flagged else 0, np.uint8)
        length = -(-m // groups)
        addresses = [_address(index), _address(flags), *[0 if v is None else _address(v) for v in values]]
        addresses += [_address(s) for s in states] + [0 if o is None else _address(o) for o in outs]
        table = [m, width, self.bins, length, pieces, apart, *addresses]
        packed = (ctypes.c_int64 * len(table))(*table)
        where = ctypes.addressof(packed)
        begun = time.perf_counter() if profile.active() else 0.0
        kernel, merge = code.calls["kernel"], code.calls["merge"]
        run_all(kernel, where, [(g, g + 1) for g in range(groups)])
        if any(o is not None and o is not s for o, s in zip(outs, states, strict=True)):
            run_all(merge, where, threads.chunks(size, WRITTEN))
        if begun:
            moved = index.nbytes + sum(a.nbytes for a in (*values, *outs) if a is not None)
            profile.record(self.name, code.seconds, time.perf_counter() - begun, moved)
        return [o for o in outs if o is not None]


def distance(size: int) -> int:
    """How many numbers apart the states of pieces are: threads that write in one line of a cache take it from each other."""
    return (size // LINE + 2) * LINE


def cut(work: int, count: int, size: int, held: int) -> tuple[int, int]:
    """Groups of pieces, and pieces that advance together, for so much work, elements, bins and bytes of states.

    They depend on nothing else, so that results do not depend on the number of threads.
    """
    lanes = 1
    if count >= 16 * size and work >= PIECE:
        lanes = next((most for limit, most in LANES if held <= limit), 1)
    groups = max(1, min(MOST, work // PIECE, work // (4 * lanes * max(size, 1)), count))
    return groups, lanes


def run_all(call: Callable[..., Any], where: int, parts: Sequence[tuple[int, int]]) -> None:
    """A kernel on each part, in threads where there are several."""
    if len(parts) == 1:
        call(where, *parts[0])
    else:
        threads.run([_bound(call, where, part) for part in parts])  # type: ignore[arg-type]
