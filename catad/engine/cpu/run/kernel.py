"""Compiled functions on tables of 64-bit integers: made once in a process, run on parts of their work in threads."""

from __future__ import annotations

import ctypes
import time
from array import array
from collections.abc import Sequence
from typing import Any, Protocol
from weakref import WeakValueDictionary

from catad.engine.cpu.run import target
from catad.engine.cpu.run.stop import run_all, stop_of
from catad.engine.keys import key_of

FOLDERS = ("engine/cpu", "engine/cpu/nests", "engine/cpu/bins", "engine/cpu/run")  # the files that decide about a text


class Printer(Protocol):
    """Writes a module of functions of a table and a part of the work, which is given by `bounds` integers."""

    bounds: int
    level: int  # of LLVM's pipeline

    def __init__(self, what: Any) -> None: ...

    @property
    def entries(self) -> Sequence[str]: ...

    def text(self) -> str: ...


class Code:
    """The functions of a module as machine code, and how long it took to have it."""

    __slots__ = ("__weakref__", "calls", "module", "printer", "seconds", "stop", "what")

    def __init__(self, printer: type[Printer], what: Any) -> None:
        begun = time.perf_counter()
        self.printer, self.what = printer, what
        made = printer(what)
        self.module = target.compiled(made.text, tuple(made.entries), key_of(printer, what, FOLDERS), made.level)
        self.stop = stop_of(self.module)
        call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *[ctypes.c_int64] * made.bounds)
        self.calls = {name: call(self.module.address(name)) for name in made.entries}
        self.seconds = time.perf_counter() - begun

    @property
    def text(self) -> str:
        """The LLVM text."""
        return self.printer(self.what).text()

    def run(self, name: str, table: array[int], parts: Sequence[tuple[int, ...]]) -> None:
        """A function on each part of its work, in threads where there are several; `table` has numbers of 64 bits."""
        where = table.buffer_info()[0]
        if self.stop is None and len(parts) == 1:
            self.calls[name](where, *parts[0])
        else:
            run_all(self.calls[name], self.stop, where, parts)


_codes: WeakValueDictionary[Any, Code] = WeakValueDictionary()  # for as long as somebody holds it


def code_of(printer: type[Printer], what: Any) -> Code:
    """The machine code of what a printer writes, made once in a process."""
    found = _codes.get((printer, what))
    if found is None:
        found = _codes[printer, what] = Code(printer, what)
    return found


def packed(numbers: Sequence[int]) -> array[int]:
    """A table as compiled code reads it."""
    return array("q", numbers)
