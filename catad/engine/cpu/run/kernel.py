"""Compiled functions on tables of 64-bit integers, made once in a process."""

from __future__ import annotations

import ctypes
import time
from array import array
from collections.abc import Sequence
from typing import Any
from weakref import WeakValueDictionary

from catad.engine import background
from catad.engine.cache_keys import key_of
from catad.engine.cpu.run import target, tiers
from catad.engine.cpu.run.interrupts import stop_of
from catad.engine.cpu.run.tiers import Printer
from catad.support.progress import watched

FOLDERS = ("engine/cpu",)  # the files that decide about a text


class Code:
    """The functions of a module as machine code, and how long it took to have it.

    `left` are the indices that quick code may run still, 0 once the code is compiled in full. A call that somebody else makes at
    that time goes on in the old code, so that is kept.
    """

    __slots__ = ("__weakref__", "_job", "calls", "left", "modules", "printer", "runs", "seconds", "stop", "users", "what")

    def __init__(self, printer: type[Printer], what: Any, work: int) -> None:
        begun = time.perf_counter()
        self.printer, self.what = printer, what
        self.modules: list[target.Module] = []
        self.users = self.runs = 0
        self._job: background.Job[None] | None = None
        made = printer(what)
        with watched("compiling"):
            found = tiers.module_of(made, key_of(printer, what, FOLDERS), work)
        self.left = found.indices
        self._use(found.module, made)
        self.seconds = time.perf_counter() - begun

    def _use(self, module: target.Module, made: Printer) -> None:
        self.modules.append(module)
        self.stop = stop_of(module)
        call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *[ctypes.c_int64] * made.bounds)
        self.calls = {name: call(module.address(name)) for name in made.entries}

    @property
    def text(self) -> str:
        """The LLVM text."""
        return self.printer(self.what).text()

    def complete(self) -> None:
        """Compile in full, where that was not done yet."""
        if self.left:
            begun, made = time.perf_counter(), self.printer(self.what)
            key = key_of(self.printer, self.what, FOLDERS)
            with watched("compiling"):
                self._use(target.compiled(made.text, tuple(made.entries), key, made.level), made)
            self.seconds += time.perf_counter() - begun
            self.left = 0

    def account(self, work: int) -> None:
        """Count a run of quick code; compile in full where that pays, in the background if that is how "auto" compiles."""
        self.runs += 1
        if work < self.left and self.runs <= tiers.RUNS * self.users and tiers.is_wanted():
            self.left -= work
        elif not tiers.is_wanted() or background.mode() == background.NOW:
            self.complete()
        elif self._job is None or self._job.lost:
            self._job = background.submit(self.complete, self.seconds)


_codes: WeakValueDictionary[Any, Code] = WeakValueDictionary()  # for as long as somebody holds it


def code_of(printer: type[Printer], what: Any, work: int) -> Code:
    """The machine code of what a printer writes, made once in a process, for one more that runs it.

    `work` are the indices of a run.
    """
    found = _codes.get((printer, what))
    if found is None:
        found = _codes[printer, what] = Code(printer, what, work)
    elif found.left and (work >= found.left or not tiers.is_wanted()):
        found.complete()
    found.users += 1
    return found


def packed(numbers: Sequence[int]) -> array[int]:
    """A table as compiled code reads it."""
    return array("q", numbers)
