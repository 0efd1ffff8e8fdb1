"""Conditions on all numbers of an array, under which a formula holds, tested within a whole program."""

from __future__ import annotations

import numpy as np

from catad.category.spaces import Tensor
from catad.engine.cpu.whole.text import Buffer, Text
from catad.engine.text.numbers import load
from catad.scalar.printing.llvm_writer import literal, llvm_type


def tested(text: Text, condition: str, buffer: Buffer, space: Tensor) -> str:
    """True where each number is "normal", finite and not so small that it has lost digits, or is a "number", which is no NaN."""
    w, dtype = text.w, space.dtype
    kind = llvm_type(dtype)
    least, size = literal(float(np.finfo(dtype).tiny), dtype), literal(float("inf"), dtype)
    fails = w.slot("i8", 1)
    w.do(f"store i8 0, ptr {fails}")
    with text.each([space.size]) as index:
        x = load(w, text.at(buffer.pointer, index, [dtype.itemsize]), dtype)
        if condition == "number":
            wrong = w.set(f"fcmp uno {kind} {x}, {x}")
        else:
            far = w.intrinsic(f"llvm.fabs.f{8 * dtype.itemsize}", kind, f"{kind} {x}")
            small, large = w.set(f"fcmp ult {kind} {far}, {least}"), w.set(f"fcmp uge {kind} {far}, {size}")
            wrong = w.set(f"or i1 {small}, {large}")
        before = w.set(f"load i8, ptr {fails}")
        w.do(f"store i8 {w.set(f'or i8 {before}, ' + w.set(f'zext i1 {wrong} to i8'))}, ptr {fails}")
    return w.set(f"icmp eq i8 {w.set(f'load i8, ptr {fails}')}, 0")
