"""LLVM text of the work at one index: loads, scalar functions, states, stores.

An `Element` prints the work of a `Body`, given where the arrays and the states are. States live in stack slots.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from catad import scalar
from catad.engine.stages.body import Body, Source, needed_first, state_dtypes, value_dtypes
from catad.engine.stages.stage import FoldResult, Op
from catad.engine.text.numbers import add, called, cast, load, multiply_add, store
from catad.linear.families.recurrence import ONE, ZERO
from catad.scalar.printing.llvm_writer import Writer, literal, llvm_type


class Element:
    """The work of a body at one index.

    `pointer(j)` gives the address of array j there (sources, then sinks); `state(op, k)` that of state k of an operation.
    Without `inside`, which says where a guard holds, all guards hold but those that are `rare`.
    """

    def __init__(
        self,
        writer: Writer,
        body: Body,
        pointer: Callable[[int], str],
        state: Callable[[int, int], str],
        inside: Callable[[int], str] | None = None,
        indexed: Callable[[int], tuple[str, str, bool]] | None = None,
        rare: Collection[int] = (),
    ) -> None:
        self.w, self.body, self.pointer, self.state, self.inside = writer, body, pointer, state, inside
        self.indexed, self.rare = indexed, rare
        self.alignment: dict[int, int] = {}  # of arrays that are known to lie at multiples of more bytes than a number has
        self.dtypes = value_dtypes(body)
        self.at: dict[int, str] = {}
        self.before: dict[tuple[int, int], str] = {}

    def run(self, first: bool, anew: bool = False) -> None:
        """Writes all of the work; the first step takes states from the elements, and so do folds that begin anew."""
        self.compute(first, anew)
        self.write()

    def read(self) -> None:
        """Loads all that is loaded whatever happens, apart from what an index or a guard decides about."""
        for k, source in enumerate(self.body.sources):
            if source.by < 0 and (source.guard < 0 or self.inside is None):
                self.value(k)

    def compute(self, first: bool, anew: bool = False) -> None:
        """Everything but the stores of results at this index; at the first step, what that needs: the rest may not be there."""
        needed = needed_first(self.body) if first else range(len(self.dtypes))
        for k, op in enumerate(self.body.ops):
            if op.kind != "map" or any(op.first + i in needed for i in range(op.results)):
                self._do(k, op, first or (anew and op.kind == "fold"))

    def write(self) -> None:
        """The stores of results at this index."""
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
        if source.guard in self.rare and self.inside is None:
            return literal(source.fill, dtype)
        if source.is_index:
            if source.guard < 0 or self.inside is None:
                return self.pointer(j)
            fill = literal(source.fill, dtype)
            return self.w.set(f"select i1 {self.inside(source.guard)}, i64 {self.pointer(j)}, i64 {fill}")
        if source.by >= 0:
            return self._taken(j, source.by, dtype)
        if source.guard < 0 or self.inside is None:
            return load(self.w, self.pointer(j), dtype, self.alignment.get(j, 0))
        self._load_guarded(source.guard)
        return self.at[j]

    def _load_guarded(self, guard: int) -> None:
        """Loads all that one guard decides about, or what is read instead where it fails."""
        assert self.inside is not None
        kept: dict[int, tuple[str, str]] = {}
        for j, source in enumerate(self.body.sources):
            if source.guard == guard and source.by < 0 and not source.is_index:
                dtype = np.dtype(source.dtype)
                kind = llvm_type(dtype)
                kept[j] = kind, self.w.slot(kind)
                self.w.do(f"store {kind} {literal(source.fill, dtype)}, ptr {kept[j][1]}")

        with self.w.where(self.inside(guard)):
            for j, (kind, slot) in kept.items():
                value = load(self.w, self.pointer(j), np.dtype(self.body.sources[j].dtype))
                self.w.do(f"store {kind} {value}, ptr {slot}")
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
            return w.set(f"select i1 {there}, {kind} {load(self.w, place, dtype)}, {kind} {literal(0, dtype)}")
        at = w.set(f"getelementptr i8, ptr {self.pointer(j)}, i64 {w.set(f'mul i64 {index}, {stride}')}")
        w.support["zero"] = "@zero = internal constant i64 0"  # read instead: LLVM then sees a loop without branches
        return load(self.w, w.set(f"select i1 {there}, ptr {at}, ptr @zero"), dtype)

    def _store(self, j: int, value: str, dtype: np.dtype[Any]) -> None:
        store(self.w, value, self.pointer(j), dtype, self.alignment.get(j, 0))

    def _cast(self, k: int, dtype: np.dtype[Any]) -> str:
        return cast(self.w, self.value(k), self.dtypes[k], dtype)

    def _do(self, k: int, op: Op, first: bool) -> None:
        if op.kind == "map":
            made = called(self.w, op.data, [self.dtypes[a] for a in op.args], [self.value(a) for a in op.args])
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
            made = called(self.w, op.data, kinds, [*old, *elements, *[self.value(a) for a in free]])
            made = [cast(self.w, v, a, b) for v, a, b in zip(made, results, dtypes, strict=True)]
        self._keep(k, made, dtypes)
        return made

    def _stepped(self, k: int, op: Op, first: bool) -> list[str]:
        """A recurrence: `state = A state + b`, of as many copies as there are; at a reset, b alone."""
        grid, copies, reset = op.data
        d, dtypes = len(grid), state_dtypes(self.body, op)
        slots = len(op.args) - d * copies
        links = slots - reset
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
        if reset:
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
