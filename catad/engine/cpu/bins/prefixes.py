"""Prefixes by bin: for each element the fold of what stands before it in its bin, and of what stands after it.

One pass in the order of the elements and one against it, with a state for each bin; each is one thread's.

    before[i] = state[bin]; state[bin] = op(state[bin], x[i])          after[i] = state[bin]; state[bin] = op(x[i], state[bin])
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from catad import buffers
from catad.engine.cpu.bins.by_bin import distance, table_of
from catad.engine.cpu.bins.text import BinsText, Module
from catad.engine.cpu.run.kernel import Code, code_of, packed
from catad.engine.stages.bins import Bins
from catad.engine.text import binned
from catad.engine.text.numbers import load, store


class _Prefixes(BinsText, Module):
    """Text of `kernel(table, side, side + 1)`: side 0 runs forwards, 1 backwards. Of the table's arrays the states are those of
    both sides, one after the other; results follow it: for each side whether there is anything, and the folds."""

    @property
    def bodies(self) -> dict[str, Callable[[], None]]:
        """The body of the function of the module."""
        return {"kernel": self._both}

    def _both(self) -> None:
        w = self.w
        index, flags = self._pointer("index"), self._pointer("flags")
        count, size, stride = self.field("count"), self._size(), self.field("stride")
        arrays = [self._value_array(k) for k in range(len(self.what.values))]
        whole = [self._state_array(k) for k in range(len(self.states))]
        last = w.set(f"sub i64 {count}, 1")
        for side in (0, 1):
            base = w.set(f"mul i64 {stride}, {side}")
            states = [binned.nth(self.w, a, d, base) for a, d in zip(whole, self.states, strict=True)]
            own = w.set(f"getelementptr i8, ptr {flags}, i64 {base}")
            first = len(self.states) * side + side
            outs = [self._out_array(first + k) for k in range(len(self.states) + 1)]

            def run(side: int = side, states: Any = states, own: str = own, outs: Any = outs) -> None:
                self.side, self.outs = side, outs
                self._begin(states, own, "0", size)
                w.loop("0", count, lambda i: self._element(self._place(i, last), index, arrays, states, own))

            w.when(w.set(f"icmp eq i64 %first, {side}"), run)

    side = 0
    outs: Sequence[str] = ()

    def _place(self, step: str, last: str) -> str:
        """The element of a step."""
        return step if self.side == 0 else self.w.set(f"sub i64 {last}, {step}")

    def _number(self, i: str, source: str, target: str, arrays: Sequence[str], states: Sequence[str], flags: str) -> None:
        """Note the state, and take the element in."""
        w = self.w
        x = [load(self.w, binned.nth(self.w, a, d, source), d) for a, d in zip(arrays, self.states, strict=True)]
        places = [binned.nth(self.w, s, d, target) for s, d in zip(states, self.states, strict=True)]
        old = [load(self.w, p, d) for p, d in zip(places, self.states, strict=True)]
        flag = w.set(f"getelementptr i8, ptr {flags}, i64 {target}")
        known = w.set(f"load i8, ptr {flag}")
        self._note(source, known, old)
        made = binned.joined(self.w, self.what, old, x) if self.side == 0 else binned.joined(self.w, self.what, x, old)
        made = binned.chosen(self.w, self.what, w.set(f"icmp ne i8 {known}, 0"), made, x)
        w.do(f"store i8 1, ptr {flag}")
        for value, place, dtype in zip(made, places, self.states, strict=True):
            store(w, value, place, dtype)

    def _note(self, at: str, known: str, values: Sequence[str]) -> None:
        w = self.w
        w.do(f"store i8 {known}, ptr {w.set(f'getelementptr i8, ptr {self.outs[0]}, i64 {at}')}")
        for value, out, dtype in zip(values, self.outs[1:], self.states, strict=True):
            store(w, value, binned.nth(self.w, out, dtype, at), dtype)

    def _outside(self, i: str) -> None:
        """An element out of range: there is nothing before it, and nothing after."""
        w = self.w

        def one(source: str) -> None:
            self._note(source, "0", list(self.what.starts))

        if not self.what.rows:
            one(i)
            return
        rest = self.field("rest")
        source = w.set(f"mul i64 {i}, {rest}")
        w.loop("0", rest, lambda c: one(w.set(f"add i64 {source}, {c}")))


class PrefixKernel:
    """The prefixes ready to run: an index array (m,) and values (m, rest), C-contiguous, to the results of `PrefixByBin`."""

    def __init__(self, what: Bins, bins: int) -> None:
        self.what, self.bins = what, bins
        self.states = [np.dtype(s) for s in what.states]

    @cached_property
    def code(self) -> Code:
        """The machine code."""
        return code_of(_Prefixes, self.what, 0)

    def __call__(self, index: Any, values: Sequence[Any], rest: tuple[int, ...]) -> list[Any]:
        m, width = len(index), math.prod(rest)
        stride = distance(self.bins * width)
        outs = [buffers.empty((m, *rest), d) for d in (np.dtype(np.bool_), *self.states) * 2]
        states = [buffers.empty((2 * stride,), d) for d in self.states]
        flags = np.empty(2 * stride, np.uint8)
        table = table_of((m, width, self.bins, m, 1, stride), (index, flags, *values, *states, *outs))
        self.code.run("kernel", packed(table), [(0, 1), (1, 2)], max(m * width, 1))
        return outs
