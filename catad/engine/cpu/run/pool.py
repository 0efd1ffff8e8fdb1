"""Threads that wait within compiled code: a compiled program shares a long pass among them without the interpreter.

`share` cuts nothing itself: it is given the parts of a pass, which depend on sizes and on the number of threads alone. The
caller and the helpers take one part after the other until none is left. While one caller shares a pass, others run theirs alone.
A helper is a thread of Python that has called `serve`, which never returns; it waits for a condition of the system's threads.
"""

from __future__ import annotations

import ctypes
import os
import threading
from array import array
from collections.abc import Callable, Sequence
from functools import cache, cached_property, partial
from typing import Any

import numpy as np

from catad.engine.cpu.run.kernel import Code, code_of
from catad.engine.cpu.run.target import SPEED
from catad.values.buffers import address

SPINS = 1 << 16  # looks at a word, some fifty microseconds, before a thread waits: the next pass is often not far
_WORDS = ("wanted", "inside", "next", "count", "kernel", "table", "parts", "busy")  # of 64 bits each, at the beginning
_MUTEX, _WORK, _DONE, _SIZE = 128, 256, 384, 512  # bytes: where the mutex and the conditions lie, and the size of all
_CALLED = ("mutex_init", "cond_init", "mutex_lock", "mutex_unlock", "cond_wait", "cond_broadcast")
_PLACES = "\n".join(
    [
        *[f"  %{name} = getelementptr i64, ptr %pool, i64 {k}" for k, name in enumerate(_WORDS)],
        f"  %mutex = getelementptr i8, ptr %pool, i64 {_MUTEX}",
        f"  %work = getelementptr i8, ptr %pool, i64 {_WORK}",
        f"  %done = getelementptr i8, ptr %pool, i64 {_DONE}",
    ]
)
_TEXT = f"""
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_broadcast(ptr)

define internal void @call(ptr %kernel, ptr %table, ptr %parts, i64 %k) alwaysinline {{
  %first = shl i64 %k, 2
  %at = getelementptr i64, ptr %parts, i64 %first
  %bt = getelementptr i64, ptr %at, i64 1
  %ct = getelementptr i64, ptr %at, i64 2
  %dt = getelementptr i64, ptr %at, i64 3
  %a = load i64, ptr %at
  %b = load i64, ptr %bt
  %c = load i64, ptr %ct
  %d = load i64, ptr %dt
  call void %kernel(ptr %table, i64 %a, i64 %b, i64 %c, i64 %d)
  ret void
}}

define internal void @take(ptr %next, i64 %n, ptr %f, ptr %t, ptr %p) {{
entry:
  br label %look
look:
  %k = atomicrmw add ptr %next, i64 1 acq_rel
  %more = icmp slt i64 %k, %n
  br i1 %more, label %one, label %none
one:
  call void @call(ptr %f, ptr %t, ptr %p, i64 %k)
  br label %look
none:
  ret void
}}

define internal void @spin(ptr %place, i1 %zero) {{
entry:
  br label %look
look:
  %k = phi i64 [ 0, %entry ], [ %k1, %again ]
  %now = load atomic volatile i64, ptr %place acquire, align 8
  %is = icmp eq i64 %now, 0
  %ends = icmp eq i1 %is, %zero
  br i1 %ends, label %out, label %again
again:
  %k1 = add i64 %k, 1
  %more = icmp slt i64 %k1, {SPINS}
  br i1 %more, label %look, label %out
out:
  ret void
}}

define void @serve(ptr %pool) {{
entry:
{_PLACES}
  br label %begin
begin:
  call void @spin(ptr %wanted, i1 false)
  %l = call i32 @pthread_mutex_lock(ptr %mutex)
  br label %look
look:
  %w = load i64, ptr %wanted
  %asked = icmp sgt i64 %w, 0
  br i1 %asked, label %help, label %wait
wait:
  %s = call i32 @pthread_cond_wait(ptr %work, ptr %mutex)
  br label %look
help:
  %w1 = sub i64 %w, 1
  store i64 %w1, ptr %wanted
  %i0 = load i64, ptr %inside
  %i1 = add i64 %i0, 1
  store i64 %i1, ptr %inside
  %n = load i64, ptr %count
  %f = load ptr, ptr %kernel
  %t = load ptr, ptr %table
  %p = load ptr, ptr %parts
  %u = call i32 @pthread_mutex_unlock(ptr %mutex)
  call void @take(ptr %next, i64 %n, ptr %f, ptr %t, ptr %p)
  %r = call i32 @pthread_mutex_lock(ptr %mutex)
  %i2 = load i64, ptr %inside
  %i3 = sub i64 %i2, 1
  store i64 %i3, ptr %inside
  %last = icmp eq i64 %i3, 0
  br i1 %last, label %tell, label %leave
tell:
  %b = call i32 @pthread_cond_broadcast(ptr %done)
  br label %leave
leave:
  %v = call i32 @pthread_mutex_unlock(ptr %mutex)
  br label %begin
}}

define void @share(ptr %pool, ptr %f, ptr %t, ptr %list, i64 %threads) {{
entry:
{_PLACES}
  %own = alloca i64
  store i64 0, ptr %own
  %n = load i64, ptr %list
  %p = getelementptr i64, ptr %list, i64 1
  %l = call i32 @pthread_mutex_lock(ptr %mutex)
  %b = load i64, ptr %busy
  %others = icmp ne i64 %b, 0
  br i1 %others, label %alone, label %together
alone:
  %u = call i32 @pthread_mutex_unlock(ptr %mutex)
  call void @take(ptr %own, i64 %n, ptr %f, ptr %t, ptr %p)
  br label %out
together:
  store i64 1, ptr %busy
  store ptr %f, ptr %kernel
  store ptr %t, ptr %table
  store ptr %p, ptr %parts
  store i64 %n, ptr %count
  store i64 0, ptr %next
  %fewer = icmp slt i64 %n, %threads
  %most = select i1 %fewer, i64 %n, i64 %threads
  %helpers = sub i64 %most, 1
  store i64 %helpers, ptr %wanted
  %u2 = call i32 @pthread_mutex_unlock(ptr %mutex)
  %w = call i32 @pthread_cond_broadcast(ptr %work)
  call void @take(ptr %next, i64 %n, ptr %f, ptr %t, ptr %p)
  call void @spin(ptr %inside, i1 true)
  %l2 = call i32 @pthread_mutex_lock(ptr %mutex)
  store i64 0, ptr %wanted
  br label %end
end:
  %i = load i64, ptr %inside
  %some = icmp sgt i64 %i, 0
  br i1 %some, label %wait, label %free
wait:
  %s = call i32 @pthread_cond_wait(ptr %done, ptr %mutex)
  br label %end
free:
  store i64 0, ptr %busy
  %u3 = call i32 @pthread_mutex_unlock(ptr %mutex)
  br label %out
out:
  ret void
}}
"""


class PoolText:
    """The module of `serve(pool)` and `share(pool, kernel, table, parts, threads)`."""

    entries = ("serve", "share")
    bounds = 0
    level = SPEED

    def __init__(self, what: Any) -> None: ...

    def text(self) -> str:
        """The text."""
        return _TEXT


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
            process.pthread_mutex_init(ctypes.c_void_p(self.at + _MUTEX), None)
            for place in (_WORK, _DONE):
                process.pthread_cond_init(ctypes.c_void_p(self.at + place), None)

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

    @cached_property
    def share(self) -> Callable[[int, int, int, int], None]:
        """`share` for callers in Python."""
        kind = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4, ctypes.c_int64)
        return partial(kind(self.code.modules[-1].address("share")), self.at)

    def run(self, kernel: int, table: int, parts: Sequence[tuple[int, ...]]) -> None:
        """Run compiled code at an address on each part of its work, which it is given by four numbers."""
        self.grow(len(parts) - 1)
        numbers = listed(parts)
        self.share(kernel, table, address(numbers), len(parts))


POOL = Pool()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=POOL.growing.acquire, after_in_parent=POOL.growing.release, after_in_child=POOL.growing.release)
    os.register_at_fork(after_in_child=POOL.begin)


def run(code: Code, name: str, table: array[int], parts: Sequence[tuple[int, ...]], work: int) -> None:
    """A function of compiled code on each part of its work, in threads where there are several; else as `Code.run`."""
    if len(parts) == 1 or not available():
        for part in parts:
            code.run(name, table, part, work // len(parts))
        return
    if code.left:
        code.account(work)
    code.guarded(partial(POOL.run, code.modules[-1].address(name), table.buffer_info()[0], parts))


def listed(parts: Sequence[tuple[int, ...]]) -> Any:
    """Parts of a pass as `share` reads them: how many, and the four numbers of each."""
    return np.array([len(parts), *[n for part in parts for n in part]], np.int64)
