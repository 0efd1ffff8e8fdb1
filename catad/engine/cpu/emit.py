"""LLVM text of the work at one index: loads, scalar functions, states, stores.

A `Writer` collects the text of one LLVM function; an `Element` prints the work of a `Body` into it, given where the arrays and
the states are. States live in stack slots, which LLVM turns into registers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from catad import scalar
from catad.engine.cpu.plan import Body, Source
from catad.engine.cpu.stage import FoldResult, Op
from catad.linear.recurrence import ONE, ZERO
from catad.scalar import Function, LlvmFunction, llvm_function

_FLOATS = {4: "float", 8: "double", 2: "half"}


def llvm_type(dtype: np.dtype[Any]) -> str:
    """The LLVM type of a number in a register."""
    if dtype.kind == "b":
        return "i1"
    return _FLOATS[dtype.itemsize] if dtype.kind == "f" else f"i{8 * dtype.itemsize}"


def memory_type(dtype: np.dtype[Any]) -> str:
    """The LLVM type of a number in memory."""
    return "i8" if dtype.kind == "b" else llvm_type(dtype)


def literal(value: Any, dtype: np.dtype[Any]) -> str:
    """A number as an LLVM constant."""
    if dtype.kind == "b":
        return "true" if value else "false"
    if dtype.kind in "iu":
        return str(int(value))
    return f"0x{np.float64(dtype.type(value)).view(np.uint64):016X}"


class Writer:
    """The text of one LLVM function, block by block, and the functions of the module that it calls."""

    def __init__(self) -> None:
        self.slots: list[str] = []
        self.lines: list[str] = []
        self.functions: dict[tuple[Function, tuple[np.dtype[Any], ...]], LlvmFunction] = {}
        self.support: dict[str, str] = {}
        self.count = 0
        self.hint = ""  # what LLVM is told of every loop

    def name(self, stem: str = "v") -> str:
        """A new register name, without its sign."""
        self.count += 1
        return f"{stem}{self.count}"

    def set(self, expression: str) -> str:
        """A new register with the value of an instruction."""
        name = f"%{self.name()}"
        self.lines.append(f"  {name} = {expression}")
        return name

    def do(self, instruction: str) -> None:
        """An instruction without a result."""
        self.lines.append(f"  {instruction}")

    def label(self, name: str) -> None:
        """Begin a block."""
        self.lines.append(f"{name}:")

    def slot(self, kind: str, count: int = 1) -> str:
        """A place on the stack."""
        name = f"%{self.name('slot')}"
        shape = kind if count == 1 else f"[{count} x {kind}]"
        self.slots.append(f"  {name} = alloca {shape}, align 64" if count > 1 else f"  {name} = alloca {shape}")
        return name

    def function(self, function: Function, dtypes: Sequence[np.dtype[Any]]) -> LlvmFunction:
        """A scalar function of the module, printed once."""
        key = (function, tuple(dtypes))
        found = self.functions.get(key)
        if found is None:
            found = self.functions[key] = llvm_function(function, dtypes, f"f{len(self.functions)}")
            self.support.update(found.support)
        return found

    def beside(self) -> Writer:
        """A writer of another function of the same module."""
        other = Writer()
        other.functions, other.support, other.hint = self.functions, self.support, self.hint
        return other

    def call(self, function: Function, dtypes: Sequence[np.dtype[Any]], args: Sequence[str]) -> list[str]:
        """The results of a scalar function."""
        printed = self.function(function, dtypes)
        given = ", ".join(f"{kind} {arg}" for kind, arg in zip(printed.parameters, args, strict=True))
        struct = "{" + ", ".join(printed.results) + "}"
        whole = self.set(f"call {struct} @{printed.name}({given})")
        return [self.set(f"extractvalue {struct} {whole}, {k}") for k in range(len(printed.results))]

    def loop(self, begin: str, end: str, body: Callable[[str], None], step: int = 1) -> None:
        """`for i in range(begin, end, step)`; the index is given to `body`."""
        at = self.slot("i64")
        head, inside, after = (self.name(stem) for stem in ("head", "body", "after"))
        self.do(f"store i64 {begin}, ptr {at}")
        self.do(f"br label %{head}")
        self.label(head)
        i = self.set(f"load i64, ptr {at}")
        more = self.set(f"icmp slt i64 {i}, {end}")
        self.do(f"br i1 {more}, label %{inside}, label %{after}")
        self.label(inside)
        body(i)
        following = self.set(f"add nsw i64 {i}, {step}")
        self.do(f"store i64 {following}, ptr {at}")
        self.do(f"br label %{head}{self.hint}")
        self.label(after)

    def when(self, condition: str, then: Callable[[], None]) -> None:
        """`if condition: then`."""
        yes, after = self.name("then"), self.name("after")
        self.do(f"br i1 {condition}, label %{yes}, label %{after}")
        self.label(yes)
        then()
        self.do(f"br label %{after}")
        self.label(after)

    def least(self, a: str, b: str) -> str:
        """The smaller of two i64."""
        return self._extreme("smin", a, b)

    def most(self, a: str, b: str) -> str:
        """The larger of two i64."""
        return self._extreme("smax", a, b)

    def _extreme(self, which: str, a: str, b: str) -> str:
        name = f"llvm.{which}.i64"
        self.support[name] = f"declare i64 @{name}(i64, i64)"
        return self.set(f"call i64 @{name}(i64 {a}, i64 {b})")

    def text(self, name: str, parameters: str, linkage: str = "", attributes: str = "") -> str:
        """The whole function."""
        body = "\n".join(["entry:", *self.slots, *self.lines, "  ret void"])
        return f"define {linkage} void @{name}({parameters}) {attributes} {{\n{body}\n}}\n"

    def module(self, functions: Sequence[str]) -> str:
        """The functions with all that they call."""
        own = [printed.text for printed in self.functions.values()]
        return "\n".join([*self.support.values(), *own, *functions])


@lru_cache(maxsize=4096)
def value_dtypes(body: Body) -> tuple[np.dtype[Any], ...]:
    """The dtype of each value of a body."""
    found = [np.dtype(source.dtype) for source in body.sources]
    for op in body.ops:
        given = [found[k] for k in op.args]
        if op.kind == "map":
            found += scalar.result_types(op.data, tuple(given))
        elif op.kind == "before":
            found.append(given[0])
        elif op.kind == "scan":
            found += given[: op.results]
        elif op.kind == "recur":
            found += [np.result_type(*given)] * op.results
    return tuple(found)


def state_dtypes(body: Body, op: Op) -> list[np.dtype[Any]]:
    """The dtypes of the states that a scan, recurrence or fold carries."""
    dtypes = value_dtypes(body)
    if op.kind == "fold":
        return [dtypes[k] for k in op.args]
    return [dtypes[op.first + k] for k in range(op.results)] if op.kind in ("scan", "recur") else []


class Element:
    """The work of a body at one index.

    `pointer(j)` gives the address of array j there (sources, then sinks); `state(op, k)` that of state k of an operation.
    """

    def __init__(
        self,
        writer: Writer,
        body: Body,
        pointer: Callable[[int], str],
        state: Callable[[int, int], str],
        inside: Callable[[int], str] | None = None,
        indexed: Callable[[int], tuple[str, str, bool]] | None = None,
    ) -> None:
        self.w, self.body, self.pointer, self.state, self.inside = writer, body, pointer, state, inside
        self.indexed = indexed
        self.dtypes = value_dtypes(body)
        self.at: dict[int, str] = {}
        self.before: dict[tuple[int, int], str] = {}

    def run(self, first: bool, anew: bool = False) -> None:
        """All of it; at the first step states are taken from the elements, and those of folds where they begin anew."""
        for k, op in enumerate(self.body.ops):
            self._do(k, op, first or (anew and op.kind == "fold"))
        for j, sink in enumerate(self.body.sinks):
            if not isinstance(sink.value, FoldResult):
                self._store(len(self.body.sources) + j, self._cast(sink.value, np.dtype(sink.dtype)), np.dtype(sink.dtype))

    def value(self, k: int) -> str:
        """The register of a value, loaded when it is needed."""
        if k not in self.at:
            self.at[k] = self._load(k, self.body.sources[k])
        return self.at[k]

    def _load(self, j: int, source: Source) -> str:
        dtype = np.dtype(source.dtype)
        if source.is_index:
            return self.pointer(j)
        if source.by >= 0:
            return self._taken(j, source.by, dtype)
        if source.guard < 0 or self.inside is None:
            return self._loaded(self.pointer(j), dtype)
        self._load_guarded(source.guard)
        return self.at[j]

    def _load_guarded(self, guard: int) -> None:
        """All that one guard decides about, or what is read instead, where it fails."""
        assert self.inside is not None
        kept: dict[int, tuple[str, str]] = {}
        for j, source in enumerate(self.body.sources):
            if source.guard == guard and source.by < 0 and not source.is_index:
                dtype = np.dtype(source.dtype)
                kind = llvm_type(dtype)
                kept[j] = kind, self.w.slot(kind)
                self.w.do(f"store {kind} {literal(source.fill, dtype)}, ptr {kept[j][1]}")

        def load() -> None:
            for j, (kind, slot) in kept.items():
                value = self._loaded(self.pointer(j), np.dtype(self.body.sources[j].dtype))
                self.w.do(f"store {kind} {value}, ptr {slot}")

        self.w.when(self.inside(guard), load)
        self.at.update({j: self.w.set(f"load {kind}, ptr {slot}") for j, (kind, slot) in kept.items()})

    def _taken(self, j: int, by: int, dtype: np.dtype[Any]) -> str:
        """The number at an index, zero where the array has none: the first is read there, of an empty array nothing.

        So all that one index takes along a row lies side by side. Products of 32 bits are one instruction on vectors, those of 64
        are many.
        """
        w = self.w
        assert self.indexed is not None
        stride, size, near = self.indexed(j)
        index = cast(w, self.value(by), self.dtypes[by], np.dtype(np.int64))
        there = w.set(f"icmp ult i64 {index}, {size}")
        if near:
            first = w.set(f"select i1 {there}, i64 {index}, i64 0")
            short = [w.set(f"sext i32 {w.set(f'trunc i64 {one} to i32')} to i64") for one in (first, stride)]
            place = w.set(f"getelementptr i8, ptr {self.pointer(j)}, i64 {w.set(f'mul i64 {short[0]}, {short[1]}')}")
            kind = llvm_type(dtype)
            return w.set(f"select i1 {there}, {kind} {self._loaded(place, dtype)}, {kind} {literal(0, dtype)}")
        at = w.set(f"getelementptr i8, ptr {self.pointer(j)}, i64 {w.set(f'mul i64 {index}, {stride}')}")
        w.support["zero"] = "@zero = internal constant i64 0"  # read instead: LLVM then sees a loop without branches
        return self._loaded(w.set(f"select i1 {there}, ptr {at}, ptr @zero"), dtype)

    def _loaded(self, pointer: str, dtype: np.dtype[Any]) -> str:
        raw = self.w.set(f"load {memory_type(dtype)}, ptr {pointer}, align {dtype.itemsize}")
        return self.w.set(f"icmp ne i8 {raw}, 0") if dtype.kind == "b" else raw

    def _store(self, j: int, value: str, dtype: np.dtype[Any]) -> None:
        store(self.w, value, self.pointer(j), dtype)

    def _cast(self, k: int, dtype: np.dtype[Any]) -> str:
        return cast(self.w, self.value(k), self.dtypes[k], dtype)

    def _do(self, k: int, op: Op, first: bool) -> None:
        if op.kind == "map":
            made = self.w.call(op.data, [self.dtypes[a] for a in op.args], [self.value(a) for a in op.args])
        elif op.kind == "before":
            made = [self._before(op, first)]
        elif op.kind == "scan" or op.kind == "fold":
            made = self._joined(k, op, first)
        else:
            made = self._stepped(k, op, first)
        self.at.update({op.first + i: one for i, one in enumerate(made[: op.results])})

    def _before(self, op: Op, first: bool) -> str:
        """The state before the step, which its scan noted when it was at work."""
        (state,) = op.args
        dtype = self.dtypes[op.first]
        if first:
            return literal(float(op.data), dtype)
        at, made = next((k, o) for k, o in enumerate(self.body.ops) if o.first <= state < o.first + o.results)
        return self.before[at, state - made.first]

    def _joined(self, k: int, op: Op, first: bool) -> list[str]:
        """A scan or a fold: `state = op(state, element)`."""
        dtypes = state_dtypes(self.body, op)
        d = len(dtypes)
        elements = [self.value(a) for a in op.args[:d]]
        made = elements
        if not first:
            old = self._states(k, dtypes)
            free = op.args[d:]
            kinds = [*dtypes, *dtypes, *[self.dtypes[a] for a in free]]
            results = scalar.result_types(op.data, tuple(kinds))
            made = self.w.call(op.data, kinds, [*old, *elements, *[self.value(a) for a in free]])
            made = [cast(self.w, v, a, b) for v, a, b in zip(made, results, dtypes, strict=True)]
        self._keep(k, made, dtypes)
        return made

    def _stepped(self, k: int, op: Op, first: bool) -> list[str]:
        """A recurrence: `state = A state + b`, of as many copies as there are; at a cut, b alone."""
        grid, copies, cut = op.data
        d, dtypes = len(grid), state_dtypes(self.body, op)
        slots = len(op.args) - d * copies
        links = slots - cut
        b = [self._cast(a, dtypes[0]) for a in op.args[slots:]]
        if first:
            self._keep(k, b, dtypes)
            return b
        old = self._states(k, dtypes)
        a = [self._cast(a, dtypes[0]) for a in op.args[:links]]
        made = []
        for copy in range(copies):
            for r, row in enumerate(grid):
                total = b[copy * d + r]
                for c, entry in enumerate(row):
                    s = old[copy * d + c]
                    if entry == ONE:
                        total = add(self.w, dtypes[0], total, s)
                    elif entry != ZERO:
                        total = multiply_add(self.w, dtypes[0], a[entry], s, total)
                made.append(total)
        if cut:
            flag, kind = self.value(op.args[links]), llvm_type(dtypes[0])
            made = [self.w.set(f"select i1 {flag}, {kind} {x}, {kind} {y}") for x, y in zip(b, made, strict=True)]
        self._keep(k, made, dtypes)
        return made

    def _states(self, k: int, dtypes: Sequence[np.dtype[Any]]) -> list[str]:
        old = [self.w.set(f"load {llvm_type(dtype)}, ptr {self.state(k, i)}") for i, dtype in enumerate(dtypes)]
        self.before.update({(k, i): one for i, one in enumerate(old)})
        return old

    def _keep(self, k: int, made: Sequence[str], dtypes: Sequence[np.dtype[Any]]) -> None:
        for i, (value, dtype) in enumerate(zip(made, dtypes, strict=True)):
            self.w.do(f"store {llvm_type(dtype)} {value}, ptr {self.state(k, i)}")


def add(w: Writer, dtype: np.dtype[Any], a: str, b: str) -> str:
    """`a + b`."""
    return w.set(f"{'fadd' if dtype.kind == 'f' else 'add'} {llvm_type(dtype)} {a}, {b}")


def multiply_add(w: Writer, dtype: np.dtype[Any], a: str, b: str, c: str) -> str:
    """`a b + c`, rounded once."""
    kind = llvm_type(dtype)
    if dtype.kind != "f":
        return w.set(f"add {kind} {w.set(f'mul {kind} {a}, {b}')}, {c}")
    name = f"llvm.fma.f{8 * dtype.itemsize}"
    w.support[name] = f"declare {kind} @{name}({kind}, {kind}, {kind})"
    return w.set(f"call {kind} @{name}({kind} {a}, {kind} {b}, {kind} {c})")


def store(w: Writer, value: str, pointer: str, dtype: np.dtype[Any]) -> None:
    """Write a number to memory."""
    if dtype.kind == "b":
        value = w.set(f"zext i1 {value} to i8")
    w.do(f"store {memory_type(dtype)} {value}, ptr {pointer}, align {dtype.itemsize}")


def cast(w: Writer, value: str, given: np.dtype[Any], wanted: np.dtype[Any]) -> str:
    """A number in another dtype."""
    if given == wanted:
        return value
    node = scalar.cast(wanted, scalar.param(0))
    (made,) = w.call(Function.make(1, [node]), [given], [value])
    return made
