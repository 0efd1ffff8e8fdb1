"""LLVM text that finds the numbers of a kernel: the table of a call, addresses of arrays, guards.

A table of 64-bit integers gives the sizes of the loops, then for each array its address and strides, then for each test of a
guard the least position for which it holds, the steps, and the least position above, then the stride and the size of each
indexed axis. All machines address alike; they differ in what runs at the same time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from catad.engine.stages.body import Sink, Source, state_dtypes
from catad.engine.stages.layout import Kernel, folds_alone
from catad.engine.stages.stage import FoldResult
from catad.engine.stages.unswitch import MOST, choice
from catad.engine.text.cascade import LEAF, Cascade, leaves
from catad.engine.text.element import Element
from catad.engine.text.numbers import called, memory_type, store
from catad.scalar.printing.llvm_writer import Writer, llvm_type

Guarded = bool | Sequence[str]  # whether guards are tested at an index, or for each of them whether it holds


class Places:
    """The text of a kernel while it is being written, which reads its table through the register %t.

    It writes into a writer of its own, or into one that is given.
    """

    def __init__(self, kernel: Kernel, gpu: bool = False, writer: Writer | None = None) -> None:
        self.kernel, self.body, self.loops = kernel, kernel.body, kernel.loops
        self.arrays: list[Source | Sink] = [*self.body.sources, *self.body.sinks]
        self.guards, self.tests = range(self.body.guards), range(len(kernel.tests))
        self.indexed = [j for j, source in enumerate(self.body.sources) if source.by >= 0]
        self.w = writer or Writer(gpu)

    @property
    def length(self) -> int:
        """The entries of the table."""
        return self._test(len(self.tests)) + 2 * len(self.indexed)

    def entry(self, at: int) -> str:
        """A number of the table; the module must define the metadata !0 as empty."""
        pointer = self.w.set(f"getelementptr i64, ptr %t, i64 {at}")
        return self.w.set(f"load i64, ptr {pointer}, !invariant.load !0")

    def size(self, loop: int) -> str:
        """The number of indices of a loop."""
        return self.entry(loop)

    def stride(self, j: int, loop: int) -> str:
        """The distance by which array j goes on at each step of a loop, in bytes; for a loop index, in steps."""
        return self.entry(self.loops + j * (1 + self.loops) + 1 + loop)

    def base(self, j: int) -> str:
        """The address of array j; the first number of a loop index."""
        return self.entry(self.loops + j * (1 + self.loops))

    def _test(self, t: int) -> int:
        """Where the entries of a test begin."""
        return self.loops + len(self.arrays) * (1 + self.loops) + t * (2 + self.loops)

    def positions(self, index: Sequence[str]) -> list[str]:
        """The position of each test as far as the outer loops say, which have these indices."""
        return [self._forth("0", t, enumerate(index)) for t in self.tests]

    def positions_at(self, positions: Sequence[str], loop: int, i: str) -> list[str]:
        """Positions with the index of one more loop."""
        return [self._forth(position, t, [(loop, i)]) for t, position in enumerate(positions)]

    def _forth(self, position: str, t: int, indices: Iterable[tuple[int, str]]) -> str:
        """The position of a test with indices of more loops."""
        w = self.w
        for k, i in indices:
            course = self.kernel.tests[t][1][k]
            if course == "z" or i == "0":
                continue
            if course not in ("c", "r"):
                i = w.set(f"mul i64 {self.entry(self._test(t) + 1 + k)}, {i}")
            same = position == "0" and course != "r"
            position = i if same else w.set(f"{'sub' if course == 'r' else 'add'} i64 {position}, {i}")
        return position

    def _bounds(self, t: int) -> tuple[str, str]:
        """The least position for which a test holds, and the least one above."""
        return self.entry(self._test(t)), self.entry(self._test(t) + 1 + self.loops)

    def intervals(self, positions: Sequence[str]) -> list[tuple[str, str]]:
        """The interval of the innermost loop in which each test holds: from the first index to before the second."""
        return [self._interval(position, t) for t, position in enumerate(positions)]

    def _interval(self, p: str, t: int) -> tuple[str, str]:
        w, innermost, course = self.w, self.loops - 1, self.kernel.tests[t][1][-1]
        lo, hi = self._bounds(t)
        if course == "z":
            return "0", w.set(f"select i1 {self._between(p, lo, hi)}, i64 {self.size(innermost)}, i64 0")
        if course == "c":
            return (lo, hi) if p == "0" else (w.set(f"sub i64 {lo}, {p}"), w.set(f"sub i64 {hi}, {p}"))
        step = self.entry(self._test(t) + 1 + innermost)
        low, high = (self._floor(w.set(f"sub i64 {p}, {end}"), step) for end in (lo, hi))
        return w.set(f"sub i64 0, {low}"), w.set(f"sub i64 0, {high}")

    def _between(self, position: str, lo: str, hi: str) -> str:
        low, high = self.w.set(f"icmp sge i64 {position}, {lo}"), self.w.set(f"icmp slt i64 {position}, {hi}")
        return self.w.set(f"and i1 {low}, {high}")

    def _floor(self, number: str, divisor: str) -> str:
        """The quotient, rounded down; the divisor is positive."""
        w = self.w
        below = w.set(f"icmp slt i64 {w.set(f'srem i64 {number}, {divisor}')}, 0")
        return w.set(f"add i64 {w.set(f'sdiv i64 {number}, {divisor}')}, {w.set(f'sext i1 {below} to i64')}")

    def at_index(self, j: int) -> tuple[str, str, bool]:
        """The stride and the size of the axis of array j that an index gives the position along, and whether both are near."""
        start = self.length - 2 * len(self.indexed) + 2 * self.indexed.index(j)
        return self.entry(start), self.entry(start + 1), self.kernel.near

    def decoded(self, row: str, sizes: list[str]) -> list[str]:
        """The indices of the outer loops at a row."""
        index, rest = [""] * len(sizes), row
        for k in reversed(range(len(sizes))):
            index[k] = rest if k == 0 else self.w.set(f"urem i64 {rest}, {sizes[k]}")
            rest = rest if k == 0 else self.w.set(f"udiv i64 {rest}, {sizes[k]}")
        return index

    def address(self, j: int, base: str, i: str, stride: str) -> str:
        """The address (or, of an index, the number) of array j at the index of the innermost loop."""
        array, w = self.arrays[j], self.w
        if is_index(array):
            return w.set(f"add i64 {base}, {w.set(f'mul i64 {i}, {stride}')}")
        how = self.kernel.classes[j]
        kind = memory_type(np.dtype(array.dtype))
        if how == "z":
            return base
        if how == "c":
            return w.set(f"getelementptr inbounds {kind}, ptr {base}, i64 {i}")
        if how == "r":
            return w.set(f"getelementptr inbounds {kind}, ptr {base}, i64 {w.set(f'sub i64 0, {i}')}")
        return w.set(f"getelementptr i8, ptr {base}, i64 {w.set(f'mul i64 {i}, {stride}')}")

    def inside(self, positions: Sequence[str], i: str, guard: int) -> str:
        """True where a guard holds at an index of the innermost loop."""
        every = "true"
        for t, position in enumerate(positions):
            if self.kernel.tests[t][0] == guard:
                own = self._between(self._forth(position, t, [(self.loops - 1, i)]), *self._bounds(t))
                every = own if every == "true" else self.w.set(f"and i1 {every}, {own}")
        return every

    def holds(self, positions: Sequence[str], begin: str, end: str) -> str:
        """True where a range of the innermost loop needs no guards: all hold at its ends, but rare ones nowhere in it."""
        w, every = self.w, "true"
        fails: dict[int, str] = {}
        for t, position in enumerate(positions):
            guard, (lo, hi) = self.kernel.tests[t][0], self._bounds(t)
            first, last = (self._forth(position, t, [(self.loops - 1, i)]) for i in (begin, w.set(f"sub i64 {end}, 1")))
            if guard in self.kernel.rare:
                below, above = w.set(f"icmp slt i64 {last}, {lo}"), w.set(f"icmp sge i64 {first}, {hi}")
                never = w.set(f"or i1 {below}, {above}")
                fails[guard] = w.set(f"or i1 {fails[guard]}, {never}") if guard in fails else never
                continue
            low, high = w.set(f"icmp sge i64 {first}, {lo}"), w.set(f"icmp slt i64 {last}, {hi}")
            every = w.set(f"and i1 {every}, {w.set(f'and i1 {low}, {high}')}")
        for never in fails.values():
            every = w.set(f"and i1 {every}, {never}")
        return every

    def element(
        self,
        i: str,
        bases: list[str],
        strides: list[str],
        positions: Sequence[str],
        guarded: Guarded,
        state: Callable[[int, int], str],
    ) -> Element:
        """The work at index i of the innermost loop, given where arrays, states and the positions of tests are at its first.

        `guarded` says whether guards are tested there, or which of them are known to hold.
        """

        def inside(guard: int) -> str:
            return self.inside(positions, i, guard) if isinstance(guarded, bool) else guarded[guard]

        def pointer(j: int) -> str:
            return self.address(j, bases[j], i, strides[j])

        return Element(self.w, self.body, pointer, state, None if guarded is False else inside, self.at_index, self.kernel.rare)

    # -- states

    def slots(self, count: int = 1) -> dict[tuple[int, int], tuple[str, str]]:
        """Stack slots for so many of each state, and their types: by the operation and the number."""
        dtypes = {(k, i): dtype for k, op in enumerate(self.body.ops) for i, dtype in enumerate(state_dtypes(self.body, op))}
        return {at: (self.w.slot(llvm_type(dtype), count), llvm_type(dtype)) for at, dtype in dtypes.items()}

    def _along(self, n: str, step: Callable[..., None], cascade: Cascade | None) -> None:
        """All steps of lines; folds in leaves that a cascade joins, where there is one."""
        w, begin = self.w, "0"
        if cascade is None:
            step("0", first=True)
            w.loop("1", n, step)
            return
        if not folds_alone(self.body):
            step("0", first=True)
            begin = w.least(n, str(LEAF))
            w.loop("1", begin, step)

        with leaves(w, begin, n) as (start, stop):
            self._next_leaf(cascade, start, begin)
            step(start, anew=True)
            w.loop(w.set(f"add i64 {start}, 1"), stop, step)
        cascade.total()

    def _next_leaf(self, cascade: Cascade, start: str, begin: str) -> None:
        """Take the leaf before into the cascade, where there is one."""
        if begin == "0":
            self.w.when(self.w.set(f"icmp ne i64 {start}, 0"), cascade.push)
        else:
            cascade.push()

    def _at_step(
        self, s: str, bases: Sequence[str], positions: Sequence[str], along: Sequence[str], axis: int
    ) -> tuple[list[str], list[str]]:
        """Addresses at a step of the axis, and within which lanes the guards hold there."""
        w, here = self.w, []
        for j, array in enumerate(self.arrays):
            far = w.set(f"mul i64 {along[j]}, {s}")
            step = f"add i64 {bases[j]}, {far}" if is_index(array) else f"getelementptr i8, ptr {bases[j]}, i64 {far}"
            here.append(w.set(step))
        return here, self.positions_at(positions, axis, s)

    def _store_folds(self, state: Callable[[int, int], str], pointer: Callable[[int], str]) -> None:
        """Write the results of folds, given where their states are and where array j lies."""
        for j, sink in enumerate(self.body.sinks):
            if isinstance(sink.value, FoldResult):
                dtype = np.dtype(sink.dtype)
                value = self.w.set(f"load {llvm_type(dtype)}, ptr {state(sink.value.op, sink.value.part)}")
                store(self.w, value, pointer(len(self.body.sources) + j), dtype)

    # -- what a row shares

    def sides(self, here: Callable[[], Element], run: Callable[[], None], left: int = MOST) -> None:
        """What `run` writes, once for each side of the conditions that a row shares, with the body of that side."""
        still = {
            j
            for j, source in enumerate(self.body.sources)
            if self.kernel.classes[j] == "z" and source.guard < 0 and source.by < 0
        }
        found = choice(self.body, still) if left else None
        if found is None:
            run()
            return
        element = here()
        values = [element.value(a) for a in found.args]
        (holds,) = called(self.w, found.condition, [element.dtypes[a] for a in found.args], values)
        whole = self.body
        for body, taken in ((found.yes, holds), (found.no, self.w.set(f"xor i1 {holds}, true"))):
            self.body = body
            with self.w.where(taken):
                self.sides(here, run, left - 1)
        self.body = whole

    def inner_strides(self, loop: int) -> list[str]:
        """The strides of a loop that addresses need: of loop indices and of what does not lie contiguously."""
        return [
            self.stride(j, loop) if how == "s" or is_index(array) else ""
            for j, (how, array) in enumerate(zip(self.kernel.classes, self.arrays, strict=True))
        ]


def is_index(array: Source | Sink) -> bool:
    """True where it is a loop index, and no array."""
    return isinstance(array, Source) and array.is_index


def no_state(op: int, k: int) -> str:
    """Where the states of a map are."""
    raise AssertionError("a pointwise stage has no states")
