"""Adding by index on a CPU: `Put` as a fold by bin with double-precision sums.

Where there are far more places than elements, nothing but the places that elements go to is touched: the zeros come from the system
as it gives memory out, so the one-hot gradient of a maximum costs one store.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from catad import scalar
from catad.engine.cpu.bins import FIELDS, Bins, BinsText, start
from catad.engine.cpu.by_bin import Compiled, FoldKernel
from catad.engine.cpu.emit import cast, store
from catad.engine.cpu.launch import _address
from catad.linear.gather import Put, positions
from catad.scalar import Function
from catad.spaces import Tensor

SPARSE = 4  # this many places for each element
_ADD = Function.make(2, [scalar.apply("add", scalar.param(0), scalar.param(1))])


class _Sparse(BinsText):
    """Text that adds to zeros that are there already, and then writes what the elements' places hold."""

    def text(self) -> str:
        parts = []
        for name, body in (("kernel", self._add), ("finish", self._finish)):
            self.w = self.w.beside()
            body()
            parts.append(self.w.text(name, "ptr noalias readonly %t, i64 %first, i64 %last"))
        return self.w.module(parts)

    def _add(self) -> None:
        w = self.w
        index, flags = (w.set(f"inttoptr i64 {self._field(name)} to ptr") for name in ("index", "flags"))
        arrays, states = [self._value_array(0)], [self._state_array(0)]
        w.loop("%first", "%last", lambda i: self._element(i, index, arrays, states, flags))

    def _finish(self) -> None:
        self.writing = True
        self._add()

    writing = False

    def _number(self, i: str, source: str, target: str, arrays: Any, states: Any, flags: str) -> None:
        if not self.writing:
            super()._number(i, source, target, arrays, states, flags)
            return
        (given,), wanted = self.states, np.dtype(self.what.outs[0])
        value = cast(self.w, self._load(self._at(states[0], given, target), given), given, wanted)
        store(self.w, value, self._at(self._out_array(0), wanted, target), wanted)


class ScatterKernel:
    """`Put` for arguments in these spaces: (index, v) to x."""

    def __init__(self, put: Put, ins: tuple[Tensor, ...]) -> None:
        self.how = how = put.how
        dtype = ins[1].dtype
        self.rest = tuple([label for label in how.src if label != how.src[how.axis]])
        self.apart = set(how.by).isdisjoint(how.src)  # else each position is computed
        self.shape = how.shape(self.rest) if self.apart else ()
        total = np.dtype(np.float64) if dtype.kind == "f" else dtype
        index = np.dtype(np.int64) if not self.apart else ins[0].dtype
        rows = math.prod(self.shape) != 1
        what = Bins(
            _ADD, index.str, (dtype.str,), (total.str,), (start(0, total),), False, (dtype.str,), rows, 1
        )  # fmt: skip
        self.what, self.dtype, self.total = what, dtype, total
        self.bins = how.bins if self.apart else math.prod(how.shape(how.src))
        self.dense = FoldKernel(what, self.bins, "Put")
        self.sparse: Compiled | None = None

    def __call__(self, xp: Any, *arrays: Any) -> Any:
        how = self.how
        index, v = arrays
        if not self.apart:
            flat = positions(np, how, index, v.shape)
            x = self._scattered(flat.reshape(-1), np.ascontiguousarray(v).reshape(-1), ())
            return x.reshape(how.shape(how.src))
        order = [how.dst.index(label) for label in (*how.by, *self.rest)]
        lined = np.ascontiguousarray(np.transpose(v, order)).reshape(-1, *self.shape)
        x = self._scattered(np.ascontiguousarray(index).reshape(-1), lined, self.shape)
        return np.moveaxis(x, 0, how.axis)

    def _scattered(self, index: Any, v: Any, rest: tuple[int, ...]) -> Any:
        size = self.bins * math.prod(rest)
        if len(index) * math.prod(rest) * SPARSE > size:
            return self.dense(index, [v], rest)[0]
        if self.sparse is None:
            self.sparse = Compiled(_Sparse(self.what).text(), ("kernel", "finish"))
        out = np.zeros((self.bins, *rest), self.dtype)
        sums = out if self.total == self.dtype else np.zeros(size, self.total)
        count = len(index)
        table = [count, math.prod(rest), self.bins, count, 1, _address(index), 0, _address(v), _address(sums), _address(out)]
        assert len(table) == len(FIELDS) + 3
        packed = (ctypes.c_int64 * len(table))(*table)
        self.sparse.calls["kernel"](ctypes.addressof(packed), 0, count)
        if sums is not out:
            self.sparse.calls["finish"](ctypes.addressof(packed), 0, count)
        return out


def scatter(put: Put, ins: tuple[Tensor, ...]) -> Callable[..., Any] | None:
    """A kernel for a `Put` in these spaces; None where its array code is as good."""
    return None if ins[1].dtype.kind == "b" else ScatterKernel(put, ins)
