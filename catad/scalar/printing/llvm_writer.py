"""LLVM text while it is being written: a function block by block, and what else its module needs.

The printer of scalar functions and the printers of kernels write into the same class. A register has a fresh name at each
instruction, so that text is in static single assignment form; what changes lies in stack slots, which LLVM turns into registers.
Nothing here needs LLVM itself: what is made is text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from catad import errors
from catad.errors import CannotPrint
from catad.scalar.ir import Function
from catad.values.formats import FORMATS, format_of

_TYPES = {"bool": "i1"} | {one.name: one.llvm for one in FORMATS.values()} | {
    f"{sign}int{bits}": f"i{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}
LLVM_TYPES = {np.dtype(name): kind for name, kind in _TYPES.items()}
"""The LLVM type of each dtype that can be printed."""


def llvm_type(dtype: np.dtype[Any]) -> str:
    """The LLVM type of a number in a register; CannotPrint for a dtype that has none (float16, long double)."""
    found = LLVM_TYPES.get(dtype)
    if found is None:
        raise CannotPrint(f"numbers of dtype {dtype}", f"only {', '.join(_TYPES)} are printed")
    return found


def literal(value: Any, dtype: np.dtype[Any]) -> str:
    """A number as LLVM writes it: floats by their bits.

    >>> literal(1.5, np.dtype("float32")), literal(-3, np.dtype("int8")), literal(1, np.dtype(bool))
    ('0x3FF8000000000000', '-3', 'true')
    """
    try:
        with np.errstate(all="ignore"):
            number = dtype.type(value)
    except OverflowError as error:
        raise errors.NumberRangeError(errors.constant_out_of_range(value, dtype)) from error
    if dtype.kind == "b":
        return "true" if number else "false"
    if dtype.kind != "f":
        return str(int(number))
    llvm_type(dtype)  # it has a format
    return format_of(dtype).written(number)

_UNROLLED = '!7 = distinct !{!7, !8}\n!8 = !{!"llvm.loop.unroll.full"}'


@dataclass(frozen=True, slots=True)
class LlvmFunction:
    """A scalar function as LLVM text: `{results} @name(parameters)`, results always in a literal struct.

    `support` has the text of each module-level declaration, constant and function that it needs, by name; a module has each
    name once. Truth values are `i1`.
    """

    name: str
    parameters: tuple[str, ...]
    results: tuple[str, ...]
    text: str
    support: tuple[tuple[str, str], ...]


class Writer:
    """The text of one LLVM function: its stack slots and its lines, and the block in which it goes on.

    `functions` are the scalar functions that the module calls, each printed once; `support` has the text of all other
    declarations, constants and functions of the module, by name. `gpu` tells that the module is for a GPU, where loops are not
    made vector loops; names have no dots, which PTX refuses.
    """

    def __init__(self, gpu: bool = False) -> None:
        self.gpu = gpu
        self.slots: list[str] = []
        self.lines: list[str] = []
        self.functions: dict[tuple[Function, tuple[np.dtype[Any], ...]], LlvmFunction] = {}
        self.support: dict[str, str] = {}
        self.block = "entry"
        self.count = 0
        self.hint = ""  # what LLVM is told of every loop

    def fresh(self) -> int:
        """A number that no name of the function has yet."""
        self.count += 1
        return self.count

    def name(self, stem: str = "v") -> str:
        """A new name, without its sign."""
        return f"{stem}{self.fresh()}"

    def set(self, expression: str) -> str:
        """A new register with the value of an instruction."""
        name = f"%{self.name()}"
        self.lines.append(f"  {name} = {expression}")
        return name

    def do(self, instruction: str) -> None:
        """An instruction without a result."""
        self.lines.append(f"  {instruction}")

    def label(self, name: str) -> None:
        """Begin a basic block."""
        self.lines.append(f"{name}:")
        self.block = name

    def slot(self, kind: str, count: int = 1, start: str = "") -> str:
        """A place on the stack, in which a number is written where one is given."""
        name = f"%{self.name('slot')}"
        shape = kind if count == 1 else f"[{count} x {kind}]"
        self.slots.append(f"  {name} = alloca {shape}, align 64" if count > 1 else f"  {name} = alloca {shape}")
        if start:
            self.do(f"store {kind} {start}, ptr {name}")
        return name

    def beside(self) -> Writer:
        """A writer of another function of the same module."""
        other = Writer(self.gpu)
        other.functions, other.support, other.hint = self.functions, self.support, self.hint
        return other

    def intrinsic(self, name: str, result: str, *args: str) -> str:
        """A call of an intrinsic; each argument is written with its type, as `float %v1`."""
        if name not in self.support:
            self.support[name] = f"declare {result} @{name}({', '.join([arg.split()[0] for arg in args])})"
        return self.set(f"call {result} @{name}({', '.join(args)})")

    @contextmanager
    def repeated(self, going: Callable[[], str]) -> Iterator[None]:
        """`while going():` around what is written inside."""
        head, inside, after = (self.name(stem) for stem in ("head", "body", "after"))
        self.do(f"br label %{head}")
        self.label(head)
        self.do(f"br i1 {going()}, label %{inside}, label %{after}")
        self.label(inside)
        yield
        self.do(f"br label %{head}{self.hint}")
        self.label(after)

    @contextmanager
    def onwards(self, begin: str, end: str) -> Iterator[tuple[str, str]]:
        """`while i < end:`, from `begin` on, around what is written inside: it stores the next index at the second of these."""
        at, found = self.slot("i64"), list[str]()
        self.do(f"store i64 {begin}, ptr {at}")

        def going() -> str:
            found.append(self.set(f"load i64, ptr {at}"))
            return self.set(f"icmp slt i64 {found[0]}, {end}")

        with self.repeated(going):
            yield found[0], at

    @contextmanager
    def each(self, begin: str, end: str, step: int | str = 1) -> Iterator[str]:
        """`for i in range(begin, end, step):` around what is written inside."""
        with self.onwards(begin, end) as (i, at):
            yield i
            following = self.set(f"add nsw i64 {i}, {step}")
            self.do(f"store i64 {following}, ptr {at}")

    @contextmanager
    def nested(self, sizes: Sequence[int]) -> Iterator[list[str]]:
        """Loops of these sizes, from 0 on, around what is written inside; their indices."""
        before, block = len(self.lines), self.block
        with ExitStack() as loops:
            yield ["0" if n == 1 else loops.enter_context(self.each("0", str(n))) for n in sizes]
        if 0 in sizes:  # nothing of it runs
            del self.lines[before:]
            self.block = block

    def loop(self, begin: str, end: str, body: Callable[[str], None], step: int | str = 1) -> None:
        """The same around what `body` writes, which is given the index."""
        with self.each(begin, end, step) as i:
            body(i)

    @contextmanager
    def unrolled(self, times: int) -> Iterator[str]:
        """`for i in range(times):`, which LLVM writes out: there is one copy in the text."""
        self.support["unrolled"] = _UNROLLED
        before, self.hint = self.hint, ", !llvm.loop !7"
        with self.each("0", str(times)) as i:
            yield i
        self.hint = before

    @contextmanager
    def where(self, condition: str) -> Iterator[None]:
        """`if condition:` around what is written inside."""
        yes, after = self.name("then"), self.name("after")
        self.do(f"br i1 {condition}, label %{yes}, label %{after}")
        self.label(yes)
        yield
        self.do(f"br label %{after}")
        self.label(after)

    def when(self, condition: str, then: Callable[[], None]) -> None:
        """The same around what `then` writes."""
        with self.where(condition):
            then()

    def otherwise(self, condition: str) -> AbstractContextManager[None]:
        """`if not condition:` around what is written inside."""
        return self.where(self.set(f"xor i1 {condition}, true"))

    def either(self, condition: str, then: Callable[[], None], other: Callable[[], None]) -> None:
        """`if condition: then` `else: other`."""
        self.when(condition, then)
        with self.otherwise(condition):
            other()

    def least(self, a: str, b: str) -> str:
        """The smaller of two i64."""
        return self._extreme("smin", a, b)

    def most(self, a: str, b: str) -> str:
        """The larger of two i64."""
        return self._extreme("smax", a, b)

    def _extreme(self, which: str, a: str, b: str) -> str:
        return self.intrinsic(f"llvm.{which}.i64", "i64", f"i64 {a}", f"i64 {b}")

    def copy(self, source: str, goal: str, nbytes: str) -> None:
        """Copy bytes between places of numbers of 64 bits that do not overlap."""
        self.support["memcpy"] = "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"
        self.do(f"call void @llvm.memcpy.p0.p0.i64(ptr align 8 {goal}, ptr align 8 {source}, i64 {nbytes}, i1 false)")

    def text(self, name: str, parameters: str, linkage: str = "", attributes: str = "", result: str = "void") -> str:
        """The whole function; a result is a register behind its type.

        On a processor its stack begins at a line of a cache: what LLVM puts there for want of registers would else lie in two
        lines for some callers, and loops of vectors take up to half as long again.
        """
        if not self.gpu and "alwaysinline" not in attributes:
            attributes = f"{attributes} alignstack(64)"
        body = "\n".join(["entry:", *self.slots, *self.lines, f"  ret {result}"])
        return f"define {linkage} {result.split(' %')[0]} @{name}({parameters}) {attributes} {{\n{body}\n}}\n"

    def module(self, functions: Sequence[str]) -> str:
        """The functions with all that they call."""
        own = [printed.text for printed in self.functions.values()]
        return "\n".join([*self.support.values(), *own, *functions])


