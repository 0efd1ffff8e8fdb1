"""Stopping compiled loops that may never end.

A `while` loop in a scalar function looks at a flag of its module at every trip (`scalar/printing/llvm.py`). Python runs signal
handlers in the main thread, between its own instructions, and compiled code is one of these. So for the time of a call that the
main thread makes, the module's own handler stands in front of Python's: it sets the flag and calls Python's, which raises
`KeyboardInterrupt` once the loops have ended. Where the program has a handler of its own, which need not raise, the call runs in
another thread, and the main thread waits where signals are heard; what the handler raises sets the flag.

All calls of the module end together, and all of them raise. Kernels without such a loop are called directly.
"""

from __future__ import annotations

import ctypes
import importlib
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

from catad.engine.cpu.run.target import Module
from catad.scalar import STOP_FLAG

_ROOM = 256  # bytes, more than a `struct sigaction`, whose first part is the handler, has on any system of 64 bits


class Stop:
    """The flag of a module, and who is inside."""

    def __init__(self, module: Module, flag: int) -> None:
        self.flag = ctypes.c_int32.from_address(flag)
        before, handler = (module.data(name) for name in ("catad_before", "catad_interrupt"))
        self.front = None if before is None or handler is None or _sigaction is None else _Front(before, handler)
        self.lock = threading.RLock()  # a handler of signals may ask for it in the thread that has it
        self.changed = threading.Condition(self.lock)
        self.inside = 0

    def run(self, call: Callable[[], None]) -> None:
        """Run a call; raises `KeyboardInterrupt`, or what else a signal handler raises, when all calls have ended."""
        with self.lock:
            while self.flag.value:  # others are about to leave
                self.changed.wait()
            self.inside += 1
        stopped = False
        try:
            self._run(call)
        finally:
            with self.lock:
                self.inside -= 1
                stopped = bool(self.flag.value)
                if stopped and not self.inside:
                    self.flag.value = 0
                    self.changed.notify_all()
        if stopped:
            raise KeyboardInterrupt

    def _run(self, call: Callable[[], None]) -> None:
        if threading.get_ident() != threading.main_thread().ident:
            call()
        elif self.front is None or _handler_of(_CTRL_C) is not _DEFAULT:
            aside(call, self.set)
        else:
            self.front.put()
            try:
                call()
            finally:
                self.front.take_away()

    def set(self) -> None:
        """End all loops of the module."""
        with self.changed:
            self.flag.value = 1


class _Front:
    """A module's handler of Ctrl-C, put in front of that of Python, by the main thread alone."""

    def __init__(self, before: int, handler: int) -> None:
        self.before, self.handler = ctypes.c_void_p.from_address(before), handler
        self.old, self.new = (ctypes.create_string_buffer(_ROOM) for _ in range(2))
        self.places = ctypes.addressof(self.old), ctypes.addressof(self.new)
        self.old_handler, self.new_handler = (ctypes.c_void_p.from_buffer(one) for one in (self.old, self.new))

        self.known = b""  # the handler of Python behind which it stood the last time, with all that belongs to it

    def put(self) -> None:
        old, new = self.places
        if self.known:
            _sigaction(_CTRL_C, new, old)
            if self.old.raw == self.known:
                return
            _sigaction(_CTRL_C, old, None)  # another one since
        _sigaction(_CTRL_C, None, old)
        ctypes.memmove(new, old, _ROOM)
        self.before.value = self.old_handler.value
        self.new_handler.value = self.handler
        _sigaction(_CTRL_C, new, None)
        self.known = self.old.raw

    def take_away(self) -> None:
        _sigaction(_CTRL_C, self.places[0], None)


def stop_of(module: Module) -> Stop | None:
    """The switch that stops the loops of a module; None where all of them end."""
    flag = module.data(STOP_FLAG)
    return None if flag is None else Stop(module, flag)


def aside(call: Callable[[], None], interrupted: Callable[[], None]) -> None:
    """Run a call in another thread, while this one waits where signals are heard. For the main thread only.

    Where a signal handler raises, `interrupted` is called at once; what it raised is raised again when the call has ended.

    >>> seen = []
    >>> aside(lambda: seen.append(threading.current_thread() is threading.main_thread()), lambda: None)
    >>> seen
    [False]
    """
    ended = threading.Event()

    def run() -> None:
        try:
            call()
        finally:
            ended.set()

    try:
        threading.Thread(target=run, name="catad waits for it", daemon=True).start()
    except RuntimeError:  # no more threads, or the interpreter is shutting down
        call()
        return
    interrupt: BaseException | None = None
    while not ended.is_set():
        try:
            ended.wait()
        except BaseException as error:
            interrupt = error
            interrupted()
    if interrupt is not None:
        try:
            raise interrupt
        finally:
            del interrupt  # no cycle of traceback, frame and error


def _system_call() -> Any:
    """`sigaction` of the C library, None where there is none."""
    if sys.platform not in ("linux", "darwin") or sys.maxsize < 2**32:
        return None
    found = getattr(ctypes.CDLL(None), "sigaction", None)
    if found is not None:
        found.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
    return found


_sigaction = _system_call()
_DEFAULT, _CTRL_C = signal.default_int_handler, int(signal.SIGINT)
_handler_of: Callable[[int], Any] = importlib.import_module("_signal").getsignal  # without the enumerations of `signal`
