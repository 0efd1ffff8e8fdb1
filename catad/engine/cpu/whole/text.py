"""LLVM text of one function that runs a whole program: buffers, copies, loops of fixed sizes.

All arrays lie contiguously, and all sizes are written into the text. A small buffer is a place on the stack, which LLVM keeps in
registers where it can; a large one is a part of a workspace, used again after its last reader.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

import numpy as np

from catad.category.spaces import Tensor
from catad.engine.cpu.nests.nest import METADATA
from catad.engine.cpu.run.kernel import Code
from catad.engine.text.numbers import cast, load, memory_type, store
from catad.errors import CannotPrint
from catad.scalar.printing.llvm_writer import Writer, literal
from catad.values.buffers import FLAGS, HEAD, ITEMS, PLAIN

SMALL = 1024  # bytes of a buffer that lies on the stack
STACK = 1 << 15  # bytes of all of them
DEEP, MOST, BOXES = 16, 1000, 6000  # programs within each other, different stages, and boxes, of one function
INLINED = 600  # lines that stand once more for calls that are inlined: LLVM's time grows with all lines that come of it
FIXED = 16  # steps of a loop up to which its length is written into the text
_ALIGNED, PAGE = 64, 4096
UNLIKE = -1  # the error of arrays that do not lie as is assumed
SPREAD = 1 << 14  # bytes of an array from which on it has a place of its own in a page


def _arrays() -> str:
    """The addresses of the numbers of so many arrays of NumPy in a list; false where one is of another class, or is not plain."""
    w = Writer()
    alike = w.slot("i1", start="true")

    def read(kind: str, base: str, offset: int) -> str:
        return w.set(f"load {kind}, ptr {w.set(f'getelementptr i8, ptr {base}, i64 {offset}')}")

    def also(holds: str) -> None:
        before = w.set(f"load i1, ptr {alike}")
        w.do(f"store i1 {w.set(f'and i1 {before}, {holds}')}, ptr {alike}")

    items = read("ptr", "%list", ITEMS)
    with w.each("0", "%n") as k:
        one = w.set(f"load ptr, ptr {w.set(f'getelementptr ptr, ptr {items}, i64 {k}')}")
        own = w.set(f"icmp eq ptr {read('ptr', one, HEAD - 8)}, %class")
        also(own)
        with w.where(own):  # what is no array has no such fields
            plain = w.set(f"and i32 {read('i32', one, FLAGS)}, {PLAIN}")
            also(w.set(f"icmp eq i32 {plain}, {PLAIN}"))
            w.do(f"store ptr {read('ptr', one, HEAD)}, ptr {w.set(f'getelementptr ptr, ptr %places, i64 {k}')}")
    result = w.set(f"load i1, ptr {alike}")
    return w.text("arrays", "ptr %list, ptr %class, ptr noalias %places, i64 %n", "internal", "alwaysinline", f"i1 {result}")


class Buffer:
    """Memory of a value: the register with its address, its bytes, and whether it may be written to once nobody reads it."""

    __slots__ = ("nbytes", "owned", "place", "pointer")

    def __init__(self, pointer: str, nbytes: int, owned: bool = False, place: int = -1) -> None:
        self.pointer, self.nbytes, self.owned, self.place = pointer, nbytes, owned, place


Arrays = Sequence[tuple[Buffer, Tensor]]


class Laid(NamedTuple):
    """An array over some loops: its address, an offset and strides in bytes, and the dtype of its numbers."""

    pointer: str
    offset: int
    strides: Sequence[int]
    dtype: np.dtype[Any]


class Pass(NamedTuple):
    """A pass of a program for those who look at it: what runs in it, the bytes that it reads and writes, whether its code is
    compiled, and the code that it has for itself."""

    name: str
    nbytes: int
    compiled: bool
    own: list[Any]


class Shared(Protocol):
    """A pass that threads share: its indices, and its parts as the pool reads them, for the number of threads in force."""

    @property
    def work(self) -> int: ...

    def listed(self) -> Any: ...


class Text:
    """The function while it is being written. It reads addresses and lengths from a table, in the order of `entries`.

    `calls` is whether it may call kernels by address, `clock` a function that it calls before each pass, and at the end.
    """

    def __init__(self, small: int = SMALL, calls: bool = True, clock: Any = None) -> None:
        self.w, self.small, self.calls = Writer(), small, calls
        self.functions: list[str] = []
        self._names: dict[Hashable, int] = {}  # the number of the function for what it does
        self._calls: list[int] = []  # of each function
        self.constants: list[Any] = []
        self.lengths: list[int] = []
        self.externals: list[str] = []
        self.outsiders: list[Any] = []  # functions of Python that are called
        self.runs_boxes = False  # whether array code of boxes is among them, which may be a user's
        self.shares: list[Shared] = []
        self.kernels: dict[tuple[Code, str], int] = {}  # compiled functions that are called, and the indices of their runs
        self.errors: list[Callable[[int], None]] = []
        self.passes: list[Pass] = []  # of the program that no other is around
        self.clock = None if clock is None else self.outside(clock)
        self.stack = self.room = self.entries = self.depth = self.boxes = 0
        self.times = 1  # how often what is being written runs, as far as loops of known length say
        self.work = 0  # indices that a run of the function takes, as far as that is known
        self.failed = ""  # the place that says whether the array code must run instead
        self.checks = False  # whether boxes of programs within check the values of the first call
        self._turns = 0
        self._free: dict[int, int] = {}  # where each hole begins, and where it ends
        self._start: list[str] = []  # addresses that are read from the table
        self._unpacked: list[str] = []  # what reads a list of arrays
        self._rooms: list[str] = []  # addresses in the workspace

    # -- the table

    def entry(self) -> str:
        """The next entry of the table: an address."""
        at = f"%t{self.entries}"
        self._start += [f"  {at}p = getelementptr i64, ptr %t, i64 {self.entries}", f"  {at} = load ptr, ptr {at}p"]
        self.entries += 1
        return at

    def arrays(self, count: int) -> list[str]:
        """The addresses of the numbers of so many arrays, of which the next entry of the table is a list.

        Where an array does not lie as is assumed, the function ends, and says so. Where it is not known how objects of Python
        lie, the entry is the place of the addresses themselves.
        """
        places, lines = self.entry(), list[str]()
        if HEAD:
            self.w.support["arrays"] = _arrays()
            self.w.slots.append(f"  %places = alloca [{count} x ptr]")
            lines = [f"  %alike = call i1 @arrays(ptr {places}, ptr %class, ptr %places, i64 {count})"]
            lines += ["  br i1 %alike, label %begin, label %unlike", "unlike:", f"  store i64 {UNLIKE}, ptr %error", "  ret void"]
            lines += ["begin:"]
            places = "%places"
        for k in range(count):
            lines += [f"  %a{k}p = getelementptr ptr, ptr {places}, i64 {k}", f"  %a{k} = load ptr, ptr %a{k}p"]
        self._unpacked = lines
        return [f"%a{k}" for k in range(count)]

    def length(self, n: int) -> str:
        """The length of a loop: an entry of the table, so that the text is the same for all lengths."""
        if n <= FIXED:
            return str(n)
        self.lengths.append(n)
        return f"%n{len(self.lengths) - 1}"

    def external(self, name: str) -> str:
        """The address of a function of BLAS or LAPACK, an entry of the table."""
        if name not in self.externals:
            self.externals.append(name)
        return f"%x_{name}"

    def outside(self, function: Any) -> str:
        """The address of a function of Python, an entry of the table."""
        self.outsiders.append(function)
        return f"%o{len(self.outsiders) - 1}"

    def share(self, call: Shared, kernel: str, table: str) -> None:
        """Write a call of a kernel that threads share."""
        self.shares.append(call)
        self.w.do(f"call void %share(ptr %pool, ptr {kernel}, ptr {table}, ptr %s{len(self.shares) - 1}, i64 %threads)")

    def kernel(self, code: Code, name: str, work: int) -> str:
        """The address of a function of compiled code that runs so many indices, an entry of the table."""
        if self.passes and code not in self.passes[-1].own:
            self.passes[-1].own.append(code)
        found = self.kernels.setdefault((code, name), 0)
        self.kernels[code, name] = found + self.times * work
        return f"%k{list(self.kernels).index((code, name))}"

    def constant(self, array: Any) -> Buffer:
        """A constant array, whose address follows the other entries of the table."""
        self.constants.append(np.ascontiguousarray(array).reshape(np.shape(array)))
        return Buffer(f"%c{len(self.constants) - 1}", self.constants[-1].nbytes)

    def known(self, buffer: Buffer) -> Any | None:
        """The array that a buffer holds, where it is a constant."""
        name = buffer.pointer
        return self.constants[int(name[2:])] if name.startswith("%c") and name[2:].isdigit() else None

    def text(self, *more: str) -> str:
        """The module: `kernel(table)`, with more parameters where there are some."""
        if self.failed:
            self.w.when(self.w.set(f"load i1, ptr {self.failed}"), lambda: self.w.do("store i64 1, ptr %error"))
        start = [*self._start]
        constants = [f"%c{j}" for j in range(len(self.constants))]
        functions = [*[f"%x_{name}" for name in self.externals], *[f"%o{j}" for j in range(len(self.outsiders))]]
        functions += [f"%k{j}" for j in range(len(self.kernels))]
        functions += ["%share", "%pool", *[f"%s{j}" for j in range(len(self.shares))]] if self.shares else []
        lengths = [f"%n{j}" for j in range(len(self.lengths))]
        own = ["%class"] if self._unpacked else []
        for k, name in enumerate(["%ws", "%error", "%threads", *own, *lengths, *functions, *constants]):
            kind = "i64" if name.startswith(("%n", "%threads")) else "ptr"
            start += [f"  {name}p = getelementptr i64, ptr %t, i64 {self.entries + k}", f"  {name} = load {kind}, ptr {name}p"]
        self.w.slots += [*start, *self._unpacked, *self._rooms]
        kernel = self.w.text("kernel", ", ".join(["ptr noalias readonly %t", *more]))
        return self.w.module([*self.functions, kernel, *self._attributes()]) + METADATA

    def begin(self, one: Pass) -> None:
        """A pass of the program that no other is around begins."""
        if self.depth == 1:
            self.passes.append(one)
            self.tick()

    def tick(self) -> None:
        """Call the clock, where there is one."""
        if self.clock is not None:
            self.w.do(f"call void {self.clock}(ptr %error)")

    # -- functions

    def function(self, key: Hashable, write: Callable[[int], str]) -> int:
        """The number of a function that is called once more. What has the same key is written once, given its number.

        The attributes of the function are the group of this number, which says whether it is inlined.
        """
        k = self._names.get(key)
        if k is None:
            if len(self.functions) >= MOST:
                raise CannotPrint(f"a program of more than {MOST} different stages", "it would take long to compile")
            k = self._names[key] = len(self._calls)
            self._calls.append(0)
            self.functions.append(write(k))
        self._calls[k] += 1
        return k

    def shared(self, key: Hashable, pointers: Sequence[str], body: Callable[[list[str]], None]) -> None:
        """Write what `body` writes when it is given these addresses, as a function that equal ones share.

        It must not use memory, lengths or errors of this text.
        """
        own = {pointer: f"%p{k}" for k, pointer in enumerate(dict.fromkeys(pointers))}
        names = [own[pointer] for pointer in pointers]

        def write(k: int) -> str:
            outer, self.w = self.w, self.w.beside()
            body(names)
            made = self.w.text(f"box{k}", ", ".join([f"ptr {name}" for name in own.values()]), "internal", f"#{k}")
            self.w = outer
            return made

        k = self.function((key, tuple(names)), write)
        self.w.do(f"call void @box{k}({', '.join([f'ptr {pointer}' for pointer in own])})")

    def _attributes(self) -> list[str]:
        """What LLVM is told of each function: to inline it where that makes the text little longer, the shortest ones first."""
        more = [(calls - 1) * text.count("\n") for calls, text in zip(self._calls, self.functions, strict=True)]
        found, room = [""] * len(more), INLINED
        for k in sorted(range(len(more)), key=more.__getitem__):
            found[k] = f"attributes #{k} = {{ {'alwaysinline' if more[k] <= room else 'noinline'} }}"
            room -= min(room, more[k])
        return found

    # -- memory

    def buffer(self, space: Tensor) -> Buffer:
        """Memory for a value of a space."""
        nbytes = max(space.nbytes, 1)
        if nbytes <= self.small and self.stack + nbytes <= STACK:
            self.stack += nbytes
            name = f"%{self.w.name('room')}"
            self.w.slots.append(f"  {name} = alloca [{space.size or 1} x {memory_type(space.dtype)}], align 16")
            return Buffer(name, space.nbytes, owned=True)
        size = -(-nbytes // _ALIGNED) * _ALIGNED
        place = self._place(size)
        name = f"%{self.w.name('room')}"
        self._rooms.append(f"  {name} = getelementptr inbounds i8, ptr %ws, i64 {place}")
        return Buffer(name, space.nbytes, owned=True, place=place)

    def free(self, buffer: Buffer) -> None:
        """The buffer has no reader left."""
        if buffer.place < 0:
            return
        start, end = buffer.place, buffer.place - (-max(buffer.nbytes, 1) // _ALIGNED) * _ALIGNED
        for other, stop in list(self._free.items()):  # neighbours are one hole
            if stop == start or other == end:
                del self._free[other]
                start, end = min(start, other), max(end, stop)
        self._free[start] = end

    def _place(self, size: int) -> int:
        """Where so many bytes are free: in the smallest hole in which they fit, else at the end, which a hole may reach.

        Large arrays begin at different places of a page: what is read and what is written would else wait for each other.
        """
        turn = -1
        if size >= SPREAD:
            self._turns += 1
            turn = _ALIGNED * ((9 * self._turns) % (PAGE // _ALIGNED))

        def shift(start: int) -> int:
            return 0 if turn < 0 else (turn - start) % PAGE

        holes = [(end - start, start) for start, end in self._free.items() if end - start >= size + shift(start)]
        last = [start for start, end in self._free.items() if end == self.room]
        start = min(holes)[1] if holes else last[0] if last else self.room
        end, at = self._free.pop(start, start), start + shift(start)
        if at > start:
            self._free[start] = at
        if end > at + size:
            self._free[at + size] = end
        self.room = max(self.room, at + size)
        return at

    # -- instructions

    def each(self, sizes: Sequence[int]) -> AbstractContextManager[list[str]]:
        """Loops of these sizes around what is written inside; their indices."""
        return self.w.nested(sizes)

    def at(self, pointer: str, index: Sequence[str], strides: Sequence[int], offset: int = 0) -> str:
        """The address at an index, given strides and an offset in bytes."""
        w, total = self.w, str(offset)
        for i, stride in zip(index, strides, strict=True):
            if i == "0" or stride == 0:
                continue
            step = w.set(f"mul nsw i64 {i}, {stride}")
            total = step if total == "0" else w.set(f"add nsw i64 {total}, {step}")
        return pointer if total == "0" else w.set(f"getelementptr inbounds i8, ptr {pointer}, i64 {total}")

    def copy(self, source: str, goal: str, nbytes: int) -> None:
        """Copy bytes between places that do not overlap."""
        if nbytes and source != goal:
            self.w.copy(source, goal, str(nbytes))

    def clear(self, goal: str, nbytes: int) -> None:
        """Fill with zeros."""
        if nbytes:
            self.w.support["memset"] = "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"
            self.w.do(f"call void @llvm.memset.p0.i64(ptr align 8 {goal}, i8 0, i64 {nbytes}, i1 false)")

    def fill(self, goal: str, space: Tensor, value: float) -> None:
        """Fill with a number."""
        if not value and math.copysign(1.0, value) > 0:
            self.clear(goal, space.nbytes)
            return
        kind, number = memory_type(space.dtype), literal(value, space.dtype)
        number = str(int(bool(value))) if space.dtype.kind == "b" else number
        with self.each([space.size]) as index:
            self.w.do(f"store {kind} {number}, ptr {self.at(goal, index, [space.dtype.itemsize])}")

    def move(self, sizes: Sequence[int], source: Laid, goal: Laid) -> None:
        """Copy numbers from where one set of strides says to where another says, and to its dtype."""
        w = self.w
        with self.each(sizes) as index:
            value = load(w, self.at(source.pointer, index, source.strides, source.offset), source.dtype)
            value = cast(w, value, source.dtype, goal.dtype)
            store(w, value, self.at(goal.pointer, index, goal.strides, goal.offset), goal.dtype)

    def zero(self, dtype: np.dtype[Any]) -> str:
        """The address of a zero."""
        kind = memory_type(dtype)
        self.w.support[f"zero {kind}"] = f"@zero_{kind} = internal constant {kind} zeroinitializer"
        return f"@zero_{kind}"

    def fail(self, condition: str) -> None:
        """Where a condition holds, note that the array code must run instead, which raises or computes what this cannot.

        The note lies on the stack until the function ends: loops have no branch and no store for it.
        """
        if not self.failed:
            self.failed = "%failed"
            self.w.slots += ["  %failed = alloca i1", "  store i1 false, ptr %failed"]
        before = self.w.set(f"load i1, ptr {self.failed}")
        self.w.do(f"store i1 {self.w.set(f'or i1 {before}, {condition}')}, ptr {self.failed}")

    def raises(self, error: Callable[[int], None], about: str) -> None:
        """Note that an error is to be raised, and the number that it is about."""
        self.errors.append(error)
        self.w.do(f"store i64 {1 + len(self.errors)}, ptr %error")
        self.w.do(f"store i64 {about}, ptr {self.at('%error', (), (), 8)}")
