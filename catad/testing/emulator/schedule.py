"""The scheduler of the emulator: which warp of which block goes on, in an order that a seed draws.

Some blocks are in flight at a time. Blocks and warps have paces, so that some run far ahead of others. One step picks a block, a
warp of it, and resumes those of its threads that can go on, in a random order: all that do not wait, the warp where all of it has
met, the block where all of it stands at a barrier. A warp that has looked at a word in vain looks again once another has gone on;
where none can, the kernel hangs.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from catad.engine.cpu.run import target
from catad.engine.cpu.run.tiers import can_be_quick
from catad.engine.cuda.intrinsics import WARP
from catad.errors import LawError
from catad.testing.emulator.words import AT, AT_WARP, BARRIER, DONE, FIELDS, FREE, LOOKS, ROW, SHARED, Ends

IN_FLIGHT = 40  # blocks that run at the same time
_Call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)
_STATUS, _SITE, _OUTSIDE = [AT[name] // 8 for name in ("status", "site", "outside")]


class Emulator:
    """Runs compiled kernels whose words are `Coroutines`. `seed` draws the order, and what unset memory holds.

    `steps` counts the resumptions of a warp.
    Raises `LawError` for a kernel that breaks the rules of a GPU: "divergent barrier", "divergent warp operation", "hangs",
    "outside of its arrays", "outside of the memory that its block shares".
    """

    def __init__(self, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        self.steps = 0

    def launch(self, text: str, blocks: int, threads: int, given: Sequence[Ends], shared: int = 0) -> None:
        """Run the module of a kernel on a table of integers and arrays, on so many blocks.

        The launch gives a block so many bytes to share; where it gives none, the text says how many a kernel takes.
        """
        begin, resume = _compiled(text)
        size = _bytes(begin, ends := np.array(given, np.int64))
        waiting = list(self.rng.permutation(blocks))
        free = [_Slot(threads, size, ends, self.rng) for _ in range(min(IN_FLIGHT, blocks))]
        running: list[_Slot] = []
        moves = 0
        while waiting or running:
            while free and waiting:
                slot = free.pop()
                slot.start(int(waiting.pop()), blocks, shared or SHARED)
                running.append(slot)
            able = [slot for slot in running if slot.idle != moves]
            if not able:
                raise LawError(f"the kernel hangs: {len(running)} blocks wait for words that nobody writes")
            slot = able[_drawn(self.rng, np.array([slot.pace for slot in able]))]
            moves += slot.step(begin, resume, moves)
            self.steps += 1
            if slot.done:
                running.remove(slot)
                free.append(slot)


class _Slot:
    """A place for a block: the records of its threads, their coroutines, shared memory, the rows of its warps."""

    def __init__(self, threads: int, size: int, given: Any, rng: np.random.Generator) -> None:
        self.threads, self.warps, self.given, self.rng = threads, threads // WARP, given, rng
        self.records = np.zeros((threads, len(FIELDS)), np.int64)
        self.frames = np.empty((threads, (size + 63) // 64 * 64 + 64), np.uint8)
        self.shared = np.empty(SHARED + 64, np.uint8)
        self.rows = np.zeros((self.warps, 2 * ROW // 8), np.int64)
        self.where = self.records.ctypes.data + self.records.strides[0] * np.arange(threads)

    def start(self, block: int, blocks: int, shared: int) -> None:
        """Make it ready for a block, whose threads share so many bytes of noise."""
        self.shared[:] = noise(self.rng, len(self.shared))
        self.begun = np.zeros(self.warps, bool)
        self.able, self.met = np.ones(self.warps, bool), np.zeros(self.warps, bool)  # which go on, and those that do as a whole
        self.pace, self.paces = _pace(self.rng, 1)[0], _pace(self.rng, self.warps)
        made = dict.fromkeys(FIELDS, np.zeros(self.threads, np.int64))
        made["thread"] = np.arange(self.threads)
        made["block"], made["blocks"] = np.full(self.threads, block), np.full(self.threads, blocks)
        made["shared"] = made["shared_low"] = np.full(self.threads, _aligned(self.shared.ctypes.data))
        made["shared_high"] = made["shared"] + shared
        made["row"] = np.repeat(self.rows.ctypes.data + self.rows.strides[0] * np.arange(self.warps), WARP)
        made["room"] = _aligned(self.frames.ctypes.data + self.frames.strides[0] * np.arange(self.threads))
        self.records[:] = np.stack([made[name] for name in FIELDS], axis=1)
        self.done, self.idle, self.looked = False, -1, np.full(self.warps, -1)

    def step(self, begin: Callable[..., None], resume: Callable[..., None], moves: int) -> bool:
        """Let a warp go on that has not looked in vain since the last of so many moves; True where that is one more."""
        warp = self._pick(moves)
        if warp < 0:
            self.idle = moves
            return False
        first = warp * WARP
        own = self.records[first : first + WARP]
        if not self.begun[warp]:
            self.begun[warp] = True
            self._call(begin, warp, np.arange(first, first + WARP))
            return True
        if self.met[warp]:
            self._call(resume, warp, np.arange(first, first + WARP))
            return True
        status = own[:, _STATUS]
        able = ((status == FREE) | (status == LOOKS)).nonzero()[0]
        before = own[able, _STATUS].copy(), own[able, _SITE].copy()
        self._call(resume, warp, first + able)
        looked = (before[0] == LOOKS) & (own[able, _STATUS] == LOOKS) & (before[1] == own[able, _SITE])
        moved = not looked.all()
        if not moved:
            self.looked[warp] = moves
        return moved

    def _call(self, function: Callable[..., None], warp: int, who: Any) -> None:
        order = self.where[self.rng.permutation(who)]
        function(order.ctypes.data, len(order), self.given.ctypes.data)
        left = self.records[who, _OUTSIDE].nonzero()[0]
        if len(left):
            raise LawError(self._outside(*self.records[who[left[0]], _OUTSIDE : _OUTSIDE + 2].tolist()))
        self._look(warp)
        if not self.able.any() and np.all(self.records[:, _STATUS] == DONE):
            self.done = True

    def _outside(self, address: int, ends: int) -> str:
        """What a thread did that was stopped at an address, which does not lie between these ends."""
        low, high = (ctypes.c_int64 * 2).from_address(ends)
        k = (ends - self.given.ctypes.data) // self.given.strides[0]
        if 0 <= k < len(self.given):
            whole = f"its arrays: to byte {{}} of {f'array {k - 1}' if k else 'the table of its numbers'}, which has {{}}"
        elif 0 <= low - self.shared.ctypes.data < len(self.shared):
            whole = "the memory that its block shares: to byte {} of {}"
        else:
            whole = "the numbers that a thread has of its own: to byte {} of {}"
        return "a kernel goes outside of " + whole.format(address - low, high - low)

    def _pick(self, moves: int) -> int:
        """A warp that can go on, or -1 where all of them look in vain; a block that stands at its barrier passes it."""
        for _ in range(2):
            able = self.able.nonzero()[0]
            if len(able):
                able = able[self.looked[able] != moves]
                return int(able[_drawn(self.rng, self.paces[able])]) if len(able) else -1
            self._at_barrier()
        raise AssertionError("a block that has passed its barrier goes on")

    def _look(self, warp: int) -> None:
        """Note whether a warp that has just run can go on."""
        own = self.records[warp * WARP : (warp + 1) * WARP]
        status = set(own[:, _STATUS].tolist())
        free = FREE in status or LOOKS in status
        self.met[warp] = status == {AT_WARP} and len(set(own[:, _SITE].tolist())) == 1
        self.able[warp] = free or self.met[warp]
        if AT_WARP in status and not self.able[warp]:
            raise LawError("divergent warp operation: not all threads of a warp meet at a shuffle")

    def _at_barrier(self) -> None:
        """All threads stand at one barrier, and may pass it: they are free."""
        status, site = self.records[:, _STATUS], self.records[:, _SITE]
        if not np.all(status == BARRIER) or not np.all(site == site[0]):
            raise LawError("divergent barrier: not all threads of a block meet at a barrier")
        self.able[:] = True
        self.records[:, _STATUS] = FREE
        self.records[:, _SITE] = 0  # so that going on counts as more than a look


def noise(rng: np.random.Generator, size: int) -> Any:
    """What memory holds before it is written: random bytes, which are no negative integer of 32 or 64 bits, so that an index read
    too early is beyond every end that a kernel compares with, and the mistake is found rather than memory of the host lost."""
    made = rng.integers(0, 256, size, np.uint8)
    made[3::4] &= 0x7F
    return made


def _pace(rng: np.random.Generator, count: int) -> Any:
    """How often each of so many go on, for as long as they run: some a thousand times as often as others, or all alike."""
    return 2.0 ** (rng.uniform(0.0, 10.0, count) * rng.integers(0, 2))


def _drawn(rng: np.random.Generator, paces: Any) -> int:
    """One of them, the faster the more often."""
    if len(paces) == 1:
        return 0
    ends = paces.cumsum()
    return min(int(ends.searchsorted(rng.random() * ends[-1], side="right")), len(paces) - 1)


def _aligned(address: Any) -> Any:
    return (address + 63) // 64 * 64


@cache
def _compiled(text: str) -> tuple[Callable[..., None], Callable[..., None]]:
    """The functions of a module, as it stands: what LLVM's optimiser makes of it for this processor is no part of a GPU."""
    level = target.COROUTINES if can_be_quick(text) else target.SPEED
    module = target.compiled(text, ("begin", "resume"), level=level)
    _kept.append(module)
    return _Call(module.address("begin")), _Call(module.address("resume"))


def _bytes(begin: Callable[..., None], given: Any) -> int:
    """The bytes of a coroutine."""
    record = np.zeros(len(FIELDS), np.int64)
    at = np.array([record.ctypes.data])
    begin(at.ctypes.data, 1, given.ctypes.data)
    return int(record[AT["bytes"] // 8])


_kept: list[Any] = []  # code stays while its functions may be called
