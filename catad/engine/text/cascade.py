"""Folds of long rows in a cascade, so that they lose few digits.

A state folds `LEAF` elements, one after the other, and is then joined into a level above, which joins `RADIX` such
totals and is joined into the next. So no number is added to more than a few others in a row, and the error of a sum of n
numbers grows like the logarithm of n, as that of pairwise summation does (N. Higham 1993, The accuracy of floating point
summation). Operands keep their order. The order of joining depends only on the number of elements, so results are the same
for every number of threads.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext

import numpy as np

from catad import scalar
from catad.engine.stages.body import Body, state_dtypes
from catad.engine.text.numbers import called, cast
from catad.scalar import Function
from catad.scalar.printing.llvm_writer import Writer, literal, llvm_type

LEAF = 32  # elements that one state folds
SHIFT = 3  # `RADIX` is two to this
RADIX, LEVELS = 1 << SHIFT, 8  # the last level joins all that comes: of 2**29 elements no more than others do

Numbers = Callable[[int, int], str]  # the address of a number of a fold: operation, number


def folded(body: Body) -> list[tuple[int, int, np.dtype]]:
    """The numbers that the folds of a body carry: operation, number, dtype."""
    found = []
    for k, op in enumerate(body.ops):
        if op.kind == "fold":
            found += [(k, i, dtype) for i, dtype in enumerate(state_dtypes(body, op))]
    return found


def commute(body: Body) -> bool:
    """True where the elements of all folds may be folded in any order."""
    return all(_commutes(op.data, state_dtypes(body, op)) for op in body.ops if op.kind == "fold")


def _commutes(op: Function, dtypes: Sequence[np.dtype]) -> bool:
    ordered = (
        scalar.recognise(op) in ("min", "max") and dtypes[0].kind in "iu"
    )  # of floats, what Python chooses among zeros and NaN is not
    return ordered or scalar.commutes(op)


def rounds(body: Body) -> bool:
    """True where what is folded loses digits: integers, minima and maxima do not."""
    for op in body.ops:
        floats = op.kind == "fold" and any(dtype.kind == "f" for dtype in state_dtypes(body, op))
        if floats and scalar.recognise(op.data) not in ("min", "max"):
            return True
    return False


class Doubt:
    """A truth value at a place: whether totals that are joined may lead elsewhere than a line from its beginning would.

    A total may leave the range of floats where no state does. With `results`, so may what is joined.
    """

    def __init__(self, w: Writer, place: str, results: bool) -> None:
        self.w, self.place, self.results = w, place, results

    def note(self, condition: str) -> None:
        """There is doubt where a condition holds."""
        before = self.w.set(f"load i1, ptr {self.place}")
        self.w.do(f"store i1 {self.w.set(f'or i1 {before}, {condition}')}, ptr {self.place}")

    def _size(self, value: str, dtype: np.dtype) -> str:
        return self.w.intrinsic(f"llvm.fabs.f{8 * dtype.itemsize}", llvm_type(dtype), f"{llvm_type(dtype)} {value}")

    def infinite(self, value: str, dtype: np.dtype) -> None:
        """Note where a number is infinite or NaN."""
        if dtype.kind == "f":
            kind = llvm_type(dtype)
            self.note(self.w.set(f"fcmp uge {kind} {self._size(value, dtype)}, {literal(np.inf, dtype)}"))

    def least(self, value: str, dtype: np.dtype) -> str:
        """The number, or the least normal one in the place of a smaller one."""
        if dtype.kind != "f":
            return value
        w, kind, tiny = self.w, llvm_type(dtype), literal(np.finfo(dtype).tiny, dtype)
        small = w.set(f"fcmp olt {kind} {self._size(value, dtype)}, {tiny}")
        return w.set(f"select i1 {small}, {kind} {tiny}, {kind} {value}")

    def joined(self, one: str, other: str, dtype: np.dtype) -> None:
        """Note where what is joined differs from `other`, which the least normal numbers make, in more than what is smaller."""
        if dtype.kind != "f":
            return
        w, kind, about = self.w, llvm_type(dtype), np.finfo(dtype)
        if self.results:
            self.infinite(one, dtype)
        change = self._size(w.set(f"fsub {kind} {other}, {one}"), dtype)
        bound = w.set(f"fmul {kind} {self._size(one, dtype)}, {literal(4 * about.eps, dtype)}")
        large = w.set(f"fcmp ogt {kind} {change}, {literal(about.tiny, dtype)}")
        self.note(w.set(f"and i1 {large}, {w.set(f'fcmp ogt {kind} {change}, {bound}')}"))


def leaves_range(op: Function, dtypes: Sequence[np.dtype]) -> bool:
    """True where a fold of floats may leave their range: minima and maxima do not."""
    return any(d.kind == "f" for d in dtypes) and scalar.recognise(op) not in ("min", "max")


def join(w: Writer, body: Body, left: Numbers, right: Numbers, out: Numbers, doubt: Doubt | None = None) -> None:
    """`out = op(left, right)` for all folds; there may be doubt about it."""
    for k, op in enumerate(body.ops):
        if op.kind == "fold":
            dtypes = state_dtypes(body, op)
            a, b = (
                [w.set(f"load {llvm_type(d)}, ptr {side(k, i)}") for i, d in enumerate(dtypes)] for side in (left, right)
            )
            results = scalar.result_types(op.data, (*dtypes, *dtypes))
            made = called(w, op.data, [*dtypes, *dtypes], [*a, *b])
            if doubt is not None and leaves_range(op.data, dtypes):
                least = [doubt.least(value, dtype) for value, dtype in zip(b, dtypes, strict=True)]
                for pair in zip(made, called(w, op.data, [*dtypes, *dtypes], [*a, *least]), dtypes, strict=True):
                    doubt.joined(*pair)
            for i, (value, given, dtype) in enumerate(zip(made, results, dtypes, strict=True)):
                w.do(f"store {llvm_type(dtype)} {cast(w, value, given, dtype)}, ptr {out(k, i)}")


def copy(w: Writer, body: Body, source: Numbers, goal: Numbers) -> None:
    """Copies the states of all folds from one place to another."""
    for k, i, dtype in folded(body):
        value = w.set(f"load {llvm_type(dtype)}, ptr {source(k, i)}")
        w.do(f"store {llvm_type(dtype)} {value}, ptr {goal(k, i)}")


class Cascade:
    """The levels above the states of `width` lanes, as one function of a kernel goes on; `state(lane)` has the numbers of one.

    `each` is around what is written for every lane that is in use.
    """

    def __init__(
        self,
        w: Writer,
        body: Body,
        width: int,
        state: Callable[[str], Numbers],
        each: Callable[[], AbstractContextManager[str]] = lambda: nullcontext("0"),
    ) -> None:
        self.w, self.body, self.width, self.state, self.each = w, body, width, state, each
        self.rooms = {(k, i): (w.slot(llvm_type(d), LEVELS * width), llvm_type(d)) for k, i, d in folded(body)}
        self.pushed = w.slot("i64", start="0")
        loops = any(op.data.has_loop for op in body.ops if op.kind == "fold")
        self.selects = w.gpu and not loops and width == 1  # joins with a level that is not set yet are then thrown away
        if self.selects:
            for (room, kind), k in itertools.product(self.rooms.values(), range(LEVELS)):
                w.do(f"store {kind} zeroinitializer, ptr {w.set(f'getelementptr inbounds {kind}, ptr {room}, i64 {k}')}")

    def _level(self, level: str, lane: str) -> Numbers:
        w = self.w
        at = w.set(f"add i64 {w.set(f'mul i64 {level}, {self.width}')}, {lane}")
        return lambda k, i: w.set(f"getelementptr inbounds {self.rooms[k, i][1]}, ptr {self.rooms[k, i][0]}, i64 {at}")

    def push(self) -> None:
        """Adds the states to the first level; they then begin anew."""
        w = self.w
        count = w.set(f"load i64, ptr {self.pushed}")
        self._into("0", w.set(f"and i64 {count}, {RADIX - 1}"), self.state)
        made = w.set(f"add i64 {count}, 1")
        w.do(f"store i64 {made}, ptr {self.pushed}")

        def carry(level: str) -> None:
            """A level that is full, into the next."""
            shift = w.set(f"mul i64 {level}, {SHIFT}")
            gone = w.set(f"lshr i64 {made}, {shift}")
            whole = w.set(f"icmp eq i64 {w.set(f'shl i64 {gone}, {shift}')}, {made}")
            last = w.set(f"icmp eq i64 {level}, {LEVELS - 1}")
            mask = w.set(f"select i1 {last}, i64 -1, i64 {RADIX - 1}")
            before = w.set(f"and i64 {w.set(f'sub i64 {gone}, 1')}, {mask}")
            below = w.set(f"sub i64 {level}, 1")
            w.when(whole, lambda: self._into(level, before, lambda lane: self._level(below, lane)))

        full = w.set(f"icmp eq i64 {w.set(f'and i64 {made}, {RADIX - 1}')}, 0")
        w.when(full, lambda: self._levels(1, carry))

    def _levels(self, first: int, level: Callable[[str], None]) -> None:
        """Some work for each level; on a GPU written out for each, so that levels are kept in registers."""
        if not self.w.gpu:
            self.w.loop(str(first), str(LEVELS), level)
            return
        for k in range(first, LEVELS):
            level(str(k))

    def _into(self, level: str, before: str, source: Callable[[str], Numbers]) -> None:
        """Join into a level that has joined `before` totals since it began."""
        w = self.w
        fresh = w.set(f"icmp eq i64 {before}, 0")
        if self.selects:
            with self.each() as lane:
                self._chosen(fresh, source(lane), self._level(level, lane))
            return
        with w.where(fresh), self.each() as lane:
            copy(w, self.body, source(lane), self._level(level, lane))
        with w.otherwise(fresh), self.each() as lane:
            goal = self._level(level, lane)
            join(w, self.body, goal, source(lane), goal)

    def _chosen(self, fresh: str, source: Numbers, goal: Numbers) -> None:
        """As `_into`, without branches, which cost a GPU more than an operator does."""
        w = self.w
        own = {(k, i): w.set(f"load {llvm_type(d)}, ptr {source(k, i)}") for k, i, d in folded(self.body)}
        join(w, self.body, goal, source, goal)
        for k, i, d in folded(self.body):
            kind = llvm_type(d)
            joined = w.set(f"load {kind}, ptr {goal(k, i)}")
            w.do(f"store {kind} {w.set(f'select i1 {fresh}, {kind} {own[k, i]}, {kind} {joined}')}, ptr {goal(k, i)}")

    def total(self) -> None:
        """Join all levels into the states."""
        w = self.w
        count = w.set(f"load i64, ptr {self.pushed}")

        def level(k: str) -> None:
            gone = w.set(f"lshr i64 {count}, {w.set(f'mul i64 {k}, {SHIFT}')}")
            last = w.set(f"icmp eq i64 {k}, {LEVELS - 1}")
            mask = w.set(f"select i1 {last}, i64 -1, i64 {RADIX - 1}")
            some = w.set(f"icmp ne i64 {w.set(f'and i64 {gone}, {mask}')}, 0")
            with w.where(some), self.each() as lane:
                state = self.state(lane)
                join(w, self.body, self._level(k, lane), state, state)

        w.when(w.set(f"icmp ne i64 {count}, 0"), lambda: self._levels(0, level))


@contextmanager
def leaves(w: Writer, begin: str, end: str, size: int = LEAF) -> Iterator[tuple[str, str]]:
    """A loop over the parts of a range that one state folds, each from the first of these to before the second."""
    with w.each(begin, end, size) as start:
        yield start, w.least(w.set(f"add i64 {start}, {size}"), end)


def halve(w: Writer, body: Body, state: Callable[[str], Numbers], width: int) -> None:
    """Join so many states, a power of 2, that lie side by side: the second half into the first, until one is left."""
    while width > 1:
        width //= 2
        with w.each("0", str(width)) as s:
            join(w, body, state(s), state(w.set(f"add i64 {s}, {width}")), state(s))


def neighbours(w: Writer, count: str, pair: Callable[[str, str], None]) -> None:
    """Join so many totals into the first, in their order: of each two neighbours the right into the left, level by level."""
    least = w.set(f"sub i64 {count}, 1")
    with w.where(w.set(f"icmp sgt i64 {count}, 1")), w.each("0", "48") as k:
        gap, twice = w.set(f"shl i64 1, {k}"), w.set(f"add i64 {k}, 1")
        pairs = w.set(f"lshr i64 {w.set(f'add i64 {least}, {gap}')}, {twice}")
        with w.each("0", pairs) as m:
            left = w.set(f"shl i64 {m}, {twice}")
            pair(left, w.set(f"add i64 {left}, {gap}"))
