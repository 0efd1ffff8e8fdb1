"""LLVM text of folds along the innermost loop: tiles of fixed size, folded apart and joined in their order.

What a tile gives does not depend on the number of threads, so neither does the result. Within a tile there are many independent
states, so that the latency of the operator is hidden: of a commutative operator one for each index modulo `WIDTH`, which LLVM
turns into vectors; of any other one for each of `CHAINS` consecutive pieces, joined in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from catad import scalar
from catad.engine.cpu.emit import cast, llvm_type, state_dtypes, store
from catad.engine.cpu.nest import METADATA, Nest
from catad.engine.cpu.stage import FoldResult
from catad.scalar import Function

TILE = 8384  # indices of a tile: not a power of two, or its pieces would meet in the same lines of a cache
WIDTH = 64  # states of a commutative operator
CHAINS = 8  # states of any other one
State = Callable[[str], Callable[[int, int], str]]  # the address of a state: of which lane or chain, operation and number


def _commutes(op: Function, dtypes: Sequence[np.dtype]) -> bool:
    """Whether elements may be folded in any order."""
    ordered = scalar.recognise(op) in ("min", "max") and dtypes[0].kind in "iu"  # of floats, zeros and NaN are not
    return ordered or scalar.commutes(op)


class Folds(Nest):
    """A kernel of folds. `kernel` folds the tiles from the first to the last, `finish` joins those of each row."""

    entries = ("kernel", "finish")
    chains = CHAINS

    @property
    def states(self) -> list[tuple[int, int, np.dtype]]:
        """All states: operation, number, dtype."""
        found = []
        for k, op in enumerate(self.body.ops):
            found += [(k, i, dtype) for i, dtype in enumerate(state_dtypes(self.body, op)) if op.kind == "fold"]
        return found

    @property
    def commutes(self) -> bool:
        return all(_commutes(op.data, state_dtypes(self.body, op)) for op in self.body.ops if op.kind == "fold")

    def text(self) -> str:
        row = self._row()
        outer = self._outer()
        finish = self._finish()
        return self.w.module([row, outer, finish]) + METADATA

    def _scratch(self) -> str:
        return self._entry(self.w, self.length)

    def _tiles(self) -> str:
        return self._entry(self.w, self.length + 1)

    def _unit(self, unit: str) -> tuple[str, list[str]]:
        w = self.w
        tiles = self._tiles()
        tile = w.set(f"urem i64 {unit}, {tiles}")
        begin = w.set(f"mul i64 {tile}, {TILE}")
        end = w.least(w.set(f"add i64 {begin}, {TILE}"), self._size(self.loops - 1))
        return w.set(f"udiv i64 {unit}, {tiles}"), [f"i64 {begin}", f"i64 {end}", f"i64 {unit}"]

    def _room(self, unit: str, at: int) -> str:
        """The address where a tile leaves one of its totals."""
        w = self.w
        place = w.set(f"mul i64 {unit}, {8 * len(self.states)}")
        offset = w.set(f"add i64 {place}, {8 * at}")
        return w.set(f"inttoptr i64 {w.set(f'add i64 {offset}, {self._scratch()}')} to ptr")

    def _total(self, unit: str) -> Callable[[int, int], str]:
        """The addresses of the totals of a tile."""
        return lambda k, i: self._room(unit, next(at for at, s in enumerate(self.states) if s[:2] == (k, i)))

    def _row(self) -> str:
        w = self.w
        if not self.guards:
            self._tile(False)
        else:
            inside = self._holds("%b", "%e")
            w.when(inside, lambda: self._tile(False))
            w.when(w.set(f"xor i1 {inside}, true"), lambda: self._tile(True))
        return self._row_text("i64 %b", "i64 %e", "i64 %u")

    def _tile(self, guarded: bool) -> None:
        w, loop = self.w, self.loops - 1
        strides, bases = self._inner_strides(loop), [f"%a{j}" for j in range(len(self.arrays))]
        flags = [f"%g{guard}" for guard in self.guards]
        width = WIDTH if self.commutes else self.chains
        state = self._lanes_of(width) if self.commutes else self._chains_of(width)

        def element(i: str, at: str, first: bool) -> None:
            self._element(i, loop, bases, strides, flags, guarded, state(at)).run(first)

        count = w.set("sub i64 %e, %b")
        many = w.set(f"icmp sge i64 {count}, {width * (4 if self.commutes else 64)}")

        def wide() -> None:
            if self.commutes:
                self._by_lanes(element, width)
                self._halve(state, width)
                return
            self._by_chains(element, width, count)
            for chain in range(1, width):
                self._join(state("0"), state(str(chain)))

        def alone() -> None:
            element("%b", "0", True)
            w.loop(w.set("add i64 %b, 1"), "%e", lambda i: element(i, "0", False))

        w.when(many, wide)
        w.when(w.set(f"xor i1 {many}, true"), alone)
        self._copy(state("0"), self._total("%u"))

    def _copy(self, source: Callable[[int, int], str], goal: Callable[[int, int], str]) -> None:
        """All states from one place to another."""
        for k, i, dtype in self.states:
            value = self.w.set(f"load {llvm_type(dtype)}, ptr {source(k, i)}")
            self.w.do(f"store {llvm_type(dtype)} {value}, ptr {goal(k, i)}")

    def _lanes_of(self, width: int) -> State:
        """States side by side, which LLVM reads and writes as vectors."""
        w = self.w
        rooms = {(k, i): (w.slot(llvm_type(dtype), width), llvm_type(dtype)) for k, i, dtype in self.states}
        return lambda at: lambda k, i: w.set(f"getelementptr inbounds {rooms[k, i][1]}, ptr {rooms[k, i][0]}, i64 {at}")

    def _chains_of(self, width: int) -> State:
        """States apart from each other, which LLVM keeps in registers."""
        rooms = {(k, i, str(at)): self.w.slot(llvm_type(d)) for k, i, d in self.states for at in range(width)}
        return lambda at: lambda k, i: rooms[k, i, at]

    def _by_lanes(self, element: Callable[[str, str, bool], None], width: int) -> None:
        """Index modulo the width: the first block begins the states, whole blocks and a rest follow."""
        w = self.w

        def block(start: str, stop: str, first: bool) -> None:
            w.loop(start, stop, lambda i: element(i, w.set(f"sub i64 {i}, {start}"), first))

        second = w.set(f"add i64 %b, {width}")
        block("%b", second, True)
        whole = w.set(f"sub i64 %e, {width - 1}")
        w.loop(second, whole, lambda s: block(s, w.set(f"add i64 {s}, {width}"), False), width)
        count = w.set("sub i64 %e, %b")
        rest = w.set(f"sub i64 %e, {w.set(f'urem i64 {count}, {width}')}")
        block(rest, "%e", False)

    def _by_chains(self, element: Callable[[str, str, bool], None], width: int, count: str) -> None:
        """Consecutive pieces at once, their steps interleaved; the rest goes on with the last piece."""
        w = self.w
        piece = w.set(f"udiv i64 {count}, {width}")
        starts = [w.set(f"add i64 %b, {w.set(f'mul i64 {piece}, {k}')}") for k in range(width)]
        for k, start in enumerate(starts):
            element(start, str(k), True)

        def step(s: str) -> None:
            for k, start in enumerate(starts):
                element(w.set(f"add i64 {start}, {s}"), str(k), False)

        w.loop("1", piece, step)
        w.loop(w.set(f"add i64 {starts[-1]}, {piece}"), "%e", lambda i: element(i, str(width - 1), False))

    def _halve(self, state: State, width: int) -> None:
        w = self.w
        while width > 1:
            width //= 2
            w.loop("0", str(width), lambda s, h=width: self._join(state(s), state(w.set(f"add i64 {s}, {h}"))))  # type: ignore[misc]

    def _join(self, left: Callable[[int, int], str], right: Callable[[int, int], str]) -> None:
        """`left = op(left, right)` for all folds."""
        w = self.w
        for k, op in enumerate(self.body.ops):
            if op.kind == "fold":
                dtypes = state_dtypes(self.body, op)
                a, b = (
                    [w.set(f"load {llvm_type(d)}, ptr {side(k, i)}") for i, d in enumerate(dtypes)] for side in (left, right)
                )
                results = scalar.result_types(op.data, (*dtypes, *dtypes))
                made = w.call(op.data, [*dtypes, *dtypes], [*a, *b])
                for i, (value, given, dtype) in enumerate(zip(made, results, dtypes, strict=True)):
                    w.do(f"store {llvm_type(dtype)} {cast(w, value, given, dtype)}, ptr {left(k, i)}")

    def _finish(self) -> str:
        """Join the tiles of each row, and store."""
        inner, self.w = self.w, self.w.beside()
        w = self.w
        outer = range(self.kernel.outer)
        sizes = [self._size(k) for k in outer]
        tiles = self._tiles()
        slots = {(k, i): w.slot(llvm_type(dtype)) for k, i, dtype in self.states}

        def row(r: str) -> None:
            begin = w.set(f"mul i64 {r}, {tiles}")
            self._copy(self._total(begin), lambda k, i: slots[k, i])
            end = w.set(f"add i64 {begin}, {tiles}")
            own = w.set(f"add i64 {begin}, 1")
            w.loop(own, end, lambda unit: self._join(lambda k, i: slots[k, i], self._total(unit)))
            index = self._decoded(r, sizes)
            for j, sink in enumerate(self.body.sinks):
                assert isinstance(sink.value, FoldResult)
                at = self._base(len(self.body.sources) + j)
                for k in outer:
                    step = w.set(f"mul i64 {self._stride(len(self.body.sources) + j, k)}, {index[k]}")
                    at = w.set(f"add i64 {at}, {step}")
                dtype = np.dtype(sink.dtype)
                value = w.set(f"load {llvm_type(dtype)}, ptr {slots[sink.value.op, sink.value.part]}")
                store(w, value, w.set(f"inttoptr i64 {at} to ptr"), dtype)

        w.loop("%first", "%last", row)
        text = w.text("finish", "ptr noalias readonly %t, i64 %first, i64 %last, i64 %b, i64 %e")
        self.w = inner
        return text
