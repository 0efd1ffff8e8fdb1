"""LLVM text of one element that goes into its bin: its values, the state after it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from catad import scalar
from catad.engine.stages.bins import Bins
from catad.engine.text.numbers import called, cast, load, memory_type
from catad.scalar.printing.llvm_writer import Writer, llvm_type


def nth(w: Writer, base: str, dtype: np.dtype, i: str) -> str:
    """The address of number i of an array."""
    return w.set(f"getelementptr {memory_type(dtype)}, ptr {base}, i64 {i}")


def values(w: Writer, what: Bins, i: str, source: str, arrays: Sequence[str]) -> list[str]:
    """The values of element i, which lie at `source`, in the dtypes of the states."""
    kinds = [np.dtype(name or np.int64) for name in what.reads]
    read = [
        load(w, nth(w, array, kind, source), kind) if name else i
        for array, name, kind in zip(arrays, what.reads, kinds, strict=True)
    ]
    if what.before is not None:
        read = called(w, what.before.function, kinds, read)
        kinds = list(scalar.result_types(what.before.function, tuple(kinds)))
    return [cast(w, value, kind, np.dtype(s)) for value, kind, s in zip(read, kinds, what.states, strict=True)]


def joined(w: Writer, what: Bins, a: Sequence[str], b: Sequence[str]) -> list[str]:
    """`op(a, b)` of two states."""
    states = [np.dtype(s) for s in what.states]
    kinds = (*states, *states)
    results = scalar.result_types(what.op, kinds)
    made = called(w, what.op, kinds, [*a, *b])
    return [cast(w, v, r, d) for v, r, d in zip(made, results, states, strict=True)]


def chosen(w: Writer, what: Bins, condition: str, a: Sequence[str], b: Sequence[str]) -> list[str]:
    """One of two states."""
    kinds = [llvm_type(np.dtype(s)) for s in what.states]
    return [w.set(f"select i1 {condition}, {k} {x}, {k} {y}") for k, x, y in zip(kinds, a, b, strict=True)]
