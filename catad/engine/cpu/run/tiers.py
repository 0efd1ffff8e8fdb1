"""Which compiled code a kernel has: quick code at first, full code once that pays.

LLVM translates a text as it stands, but for calls that are to be inlined, in a tenth to a twentieth of the time that its
pipeline and its best code generator take, and what comes out takes 3 to 15 times as long to run. So a kernel that runs once on
few numbers is better off with quick code. Each kernel has an allowance of indices: when it would have run more of them, what
quick code has lost is about what full code costs, and the kernel is compiled once more. It is also compiled once more when
each of those who run it has run it `RUNS` times, so that what is called again and again soon runs as fast as it can.

Both codes give the same bits, since LLVM may neither reorder nor contract operations on floats. A text that allows it to do so
has full code only, and so has one with loops that may never end, or with loops within a scalar function. Where the user names
the engine, or has opened a profile, which is to show what the code costs that stays, there is full code only, too.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from catad.engine import profile
from catad.engine.cpu.run import target
from catad.engine.cpu.run.target import ALLOWANCE, QUICK, Module
from catad.scalar import STOP_FLAG
from catad.support.current_engine import AUTO, chosen

RUNS = 2  # of each user of a kernel, before it is compiled in full
RATE = 1 << 19  # lines that quick code runs in the time in which one line is compiled in full
AROUND = 4  # lines for each index, beside those of scalar functions
_INEXACT = re.compile(r"\b(?:reassoc|contract|afn|arcp|nsz|fast)\b")  # what lets LLVM choose among results
_NEEDLESS = re.compile(
    r"^define weak_odr hidden <[^\n]*\{\n.*?^\}\n|\"vector-function-abi-variant\"=\"[^\"]*\"",
    re.MULTILINE | re.DOTALL,
)
"""Functions of vectors, and what names them: only loops that LLVM vectorises call them."""
_MANY = re.compile(r"^define [^\n@]*\{(?:[^},\n]*,){2}[^}\n]*\} @(?![^\n]*alwaysinline)", re.MULTILINE)
"""Calls that give more than two numbers: on x86-64 the others come back on the x87 stack, and the quick code generator (LLVM 20
to 22) then writes moves to registers that these moves do not have, which are no instructions."""
_FUNCTION = re.compile(r"^define internal [^\n]* memory\(none\)[^\n]*\{\n(.*?)^\}", re.MULTILINE | re.DOTALL)


class Printer(Protocol):
    """Writes a module of functions of a table and a part of the work, which is given by `bounds` integers."""

    bounds: int
    level: int  # of LLVM's pipeline

    def __init__(self, what: Any) -> None: ...

    @property
    def entries(self) -> Sequence[str]: ...

    def text(self) -> str: ...


class Found(NamedTuple):
    """Compiled code, and the indices that it may run before it is compiled in full: 0 where it is."""

    module: Module
    indices: int


def is_wanted() -> bool:
    """True where quick code may run now."""
    return chosen.get() == AUTO and not profile.active()


def module_of(made: Printer, key: str | None, work: int) -> Found:
    """The code of what a printer writes, for calls that run so many indices each."""
    names = tuple(made.entries)
    if not is_wanted():
        return Found(target.compiled(made.text, names, key, made.level), 0)
    text = None if key is not None else made.text()
    key = key or text
    assert key is not None
    module = target.found(names, key, made.level)
    if module is not None:
        return Found(module, 0)
    module = target.found(names, key, QUICK)
    if module is None:
        text = text or made.text()
        indices = allowance(text)
        if indices > work:
            quick = _NEEDLESS.sub("", f"{text}\n@{ALLOWANCE} = constant i64 {indices}\n")
            module = target.compiled(quick, names, key, QUICK)
    at = None if module is None else module.data(ALLOWANCE)
    left = 0 if at is None else ctypes.c_int64.from_address(at).value
    if module is None or left <= work:
        return Found(target.compiled(text or made.text, names, key, made.level), 0)
    return Found(module, left)


def can_be_quick(text: str) -> bool:
    """True where the quick code generator translates all calls of this text."""
    return not _MANY.search(text)


def allowance(text: str) -> int:
    """The indices that quick code of this text may run; 0 where there is no quick code.

    >>> allowance("define double @half(double %x) { %y = fmul contract double %x, 0.5 ret double %y }")
    0
    """
    bodies: list[str] = _FUNCTION.findall(text)
    if STOP_FLAG in text or _INEXACT.search(text) or not can_be_quick(text) or any(" phi " in body for body in bodies):
        return 0
    scalar = sum([body.count("\n") for body in bodies])
    return RATE * text.count("\n") // (scalar + AROUND)
