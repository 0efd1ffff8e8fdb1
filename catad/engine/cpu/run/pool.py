"""Threads that wait within compiled code: a compiled program shares a long pass among them without the interpreter.

`share` cuts nothing itself: it is given the parts of a pass, which depend on sizes and on the number of threads alone. The
caller and the helpers take one part after the other until none is left. While one caller shares a pass, others run theirs alone.
A helper is a thread of Python that has called `serve`, which never returns; it waits for a condition of the system's threads.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Sequence
from functools import cache, cached_property
from typing import Any

import numpy as np

from catad.engine.cpu.run.kernel import Code, code_of
from catad.engine.cpu.run.target import SPEED
from catad.scalar.printing.llvm_writer import Writer
from catad.values.buffers import address

SPINS = 1 << 16  # looks at a word, some fifty microseconds, before a thread waits: the next pass is often not far
_WORDS = ("wanted", "inside", "next", "count", "kernel", "table", "parts", "busy")  # of 64 bits each, at the beginning
_LATER = {"mutex": 128, "work": 256, "done": 384}  # bytes: where the mutex and the conditions lie
_SIZE = 512  # bytes of all
_CALLED = ("mutex_init", "cond_init", "mutex_lock", "mutex_unlock", "cond_wait", "cond_broadcast")

class PoolText:
    """The module of `serve(pool)` and `share(pool, kernel, table, parts, threads)`."""

    entries = ("serve", "share")
    bounds = 0
    level = SPEED

    def __init__(self, what: Any) -> None:
        self.w = Writer()

    def text(self) -> str:
        """The text."""
        return self.w.module([self._serve(), self._share()])

    def _serve(self) -> str:
        """For ever: wait until a caller wants help, and take parts with it."""
        w = self.w = self.w.beside()
        with w.repeated(lambda: "true"):
            self._spin("wanted", "ne")
            self._ask("mutex_lock", "mutex")
            with w.repeated(lambda: w.set(f"icmp sle i64 {self._read('wanted')}, 0")):
                self._ask("cond_wait", "work", "mutex")
            self._write("wanted", w.set(f"sub i64 {self._read('wanted')}, 1"))
            self._write("inside", w.set(f"add i64 {self._read('inside')}, 1"))
            pass_ = [self._read(name, "ptr") for name in ("kernel", "table", "parts")]
            count = self._read("count")
            self._ask("mutex_unlock", "mutex")
            self._take(self._place("next"), count, *pass_)
            self._ask("mutex_lock", "mutex")
            left = w.set(f"sub i64 {self._read('inside')}, 1")
            self._write("inside", left)
            with w.where(w.set(f"icmp eq i64 {left}, 0")):
                self._ask("cond_broadcast", "done")
            self._ask("mutex_unlock", "mutex")
        return w.text("serve", "ptr %pool")

    def _share(self) -> str:
        """Take the parts of a list together with helpers; alone where others have these."""
        w = self.w = self.w.beside()
        own, count = w.slot("i64", start="0"), w.set("load i64, ptr %list")
        pass_ = "%kernel", "%table", w.set("getelementptr i64, ptr %list, i64 1")
        self._ask("mutex_lock", "mutex")
        others = w.set(f"icmp ne i64 {self._read('busy')}, 0")
        with w.where(others):
            self._ask("mutex_unlock", "mutex")
            self._take(own, count, *pass_)
        with w.otherwise(others):
            self._write("busy", "1")
            for name, value in zip(("kernel", "table", "parts"), pass_, strict=True):
                self._write(name, value, "ptr")
            self._write("count", count)
            self._write("next", "0")
            self._write("wanted", w.set(f"sub i64 {w.least(count, '%threads')}, 1"))
            self._ask("mutex_unlock", "mutex")
            self._ask("cond_broadcast", "work")
            self._take(self._place("next"), count, *pass_)
            self._spin("inside", "eq")
            self._ask("mutex_lock", "mutex")
            self._write("wanted", "0")
            with w.repeated(lambda: w.set(f"icmp sgt i64 {self._read('inside')}, 0")):
                self._ask("cond_wait", "done", "mutex")
            self._write("busy", "0")
            self._ask("mutex_unlock", "mutex")
        return w.text("share", "ptr %pool, ptr %kernel, ptr %table, ptr %list, i64 %threads")

    def _place(self, name: str) -> str:
        at = _LATER[name] if name in _LATER else 8 * _WORDS.index(name)
        return self.w.set(f"getelementptr i8, ptr %pool, i64 {at}")

    def _read(self, name: str, kind: str = "i64") -> str:
        return self.w.set(f"load {kind}, ptr {self._place(name)}")

    def _write(self, name: str, value: str, kind: str = "i64") -> None:
        self.w.do(f"store {kind} {value}, ptr {self._place(name)}")

    def _ask(self, function: str, *names: str) -> None:
        """A call of the system's threads."""
        self.w.intrinsic(f"pthread_{function}", "i32", *[f"ptr {self._place(name)}" for name in names])

    def _spin(self, name: str, condition: str) -> None:
        """Look at a word until a comparison of it with zero holds, not too often."""
        w, looks = self.w, self.w.slot("i64", start="0")

        def again() -> str:
            now = w.set(f"load atomic volatile i64, ptr {self._place(name)} acquire, align 8")
            waits = w.set(f"xor i1 {w.set(f'icmp {condition} i64 {now}, 0')}, true")
            so_far = w.set(f"load i64, ptr {looks}")
            return w.set(f"and i1 {waits}, {w.set(f'icmp slt i64 {so_far}, {SPINS}')}")

        with w.repeated(again):
            more = w.set(f"load i64, ptr {looks}")
            w.do(f"store i64 {w.set(f'add i64 {more}, 1')}, ptr {looks}")

    def _take(self, turn: str, count: str, kernel: str, table: str, parts: str) -> None:
        """Run a kernel on one part after the other until none is left."""
        w, taken = self.w, list[str]()

        def more() -> str:
            taken.append(w.set(f"atomicrmw add ptr {turn}, i64 1 acq_rel"))
            return w.set(f"icmp slt i64 {taken[0]}, {count}")

        with w.repeated(more):
            places = [w.set(f"getelementptr [4 x i64], ptr {parts}, i64 {taken[0]}, i64 {k}") for k in range(4)]
            given = ", ".join([f"i64 {w.set(f'load i64, ptr {place}')}" for place in places])
            w.do(f"call void {kernel}(ptr {table}, {given})")


@cache
def available() -> bool:
    """True where the process has the threads of POSIX.

    >>> available() in (True, False)
    True
    """
    try:
        return all(hasattr(ctypes.CDLL(None), f"pthread_{name}") for name in _CALLED)
    except (OSError, TypeError):  # a system without them
        return False


class Pool:
    """The threads, and the memory by which they speak with a caller."""

    def __init__(self) -> None:
        self.memory = np.zeros(_SIZE // 8, np.int64)
        self.at = address(self.memory)
        self.helpers = 0
        self.growing = threading.Lock()
        self.begin()

    def begin(self) -> None:
        """Without helpers, as in a child of a fork."""
        self.memory[:] = 0
        self.helpers = 0
        if available():
            process = ctypes.CDLL(None)
            process.pthread_mutex_init(ctypes.c_void_p(self.at + _LATER["mutex"]), None)
            for name in ("work", "done"):
                process.pthread_cond_init(ctypes.c_void_p(self.at + _LATER[name]), None)

    @cached_property
    def code(self) -> Code:
        """The machine code, which stays for as long as there are helpers: they never leave it."""
        found = code_of(PoolText, None, 0)
        found.complete()
        for kept in (found, self.memory):  # for ever: a helper may look at them while the interpreter ends
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))
        return found

    def grow(self, helpers: int) -> None:
        """At least so many helpers, as far as the system has threads."""
        with self.growing:
            while self.helpers < helpers:
                serve = self.code.calls["serve"]
                try:
                    threading.Thread(target=serve, args=(self.at,), name=f"catad-{self.helpers + 1}", daemon=True).start()
                except RuntimeError:  # no more threads, or the interpreter is shutting down
                    return
                self.helpers += 1


POOL = Pool()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=POOL.growing.acquire, after_in_parent=POOL.growing.release, after_in_child=POOL.growing.release)
    os.register_at_fork(after_in_child=POOL.begin)


def listed(parts: Sequence[tuple[int, ...]]) -> Any:
    """Parts of a pass as `share` reads them: how many, and the four numbers of each."""
    return np.array([len(parts), *[n for part in parts for n in part]], np.int64)
