"""LLVM text of numbers: read and written, computed, in another dtype."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from catad import scalar
from catad.scalar import Function, llvm_function
from catad.scalar.printing.llvm_writer import Writer, llvm_type


def memory_type(dtype: np.dtype[Any]) -> str:
    """The LLVM type of a number in memory."""
    return "i8" if dtype.kind == "b" else llvm_type(dtype)


def called(w: Writer, function: Function, dtypes: Sequence[np.dtype[Any]], args: Sequence[str]) -> list[str]:
    """The results of a scalar function, which the module then has once."""
    key = (function, tuple(dtypes))
    printed = w.functions.get(key)
    if printed is None:
        printed = w.functions[key] = llvm_function(function, dtypes, f"f{len(w.functions)}", w.gpu)
        w.support.update(printed.support)
    given = ", ".join(f"{kind} {arg}" for kind, arg in zip(printed.parameters, args, strict=True))
    struct = "{" + ", ".join(printed.results) + "}"
    whole = w.set(f"call {struct} @{printed.name}({given})")
    return [w.set(f"extractvalue {struct} {whole}, {k}") for k in range(len(printed.results))]


def add(w: Writer, dtype: np.dtype[Any], a: str, b: str) -> str:
    """`a + b`."""
    return w.set(f"{'fadd' if dtype.kind == 'f' else 'add'} {llvm_type(dtype)} {a}, {b}")


def multiply_add(w: Writer, dtype: np.dtype[Any], a: str, b: str, c: str) -> str:
    """`a b + c`, rounded once."""
    kind = llvm_type(dtype)
    if dtype.kind != "f":
        return w.set(f"add {kind} {w.set(f'mul {kind} {a}, {b}')}, {c}")
    return w.intrinsic(f"llvm.fma.f{8 * dtype.itemsize}", kind, *[f"{kind} {one}" for one in (a, b, c)])


def load(w: Writer, pointer: str, dtype: np.dtype[Any], align: int = 0) -> str:
    """Read a number from memory, at a multiple of its size, or of so many bytes."""
    raw = w.set(f"load {memory_type(dtype)}, ptr {pointer}, align {align or dtype.itemsize}")
    return w.set(f"icmp ne i8 {raw}, 0") if dtype.kind == "b" else raw


def store(w: Writer, value: str, pointer: str, dtype: np.dtype[Any], align: int = 0) -> None:
    """Write a number to memory, at a multiple of its size, or of so many bytes."""
    if dtype.kind == "b":
        value = w.set(f"zext i1 {value} to i8")
    w.do(f"store {memory_type(dtype)} {value}, ptr {pointer}, align {align or dtype.itemsize}")


def cast(w: Writer, value: str, given: np.dtype[Any], wanted: np.dtype[Any]) -> str:
    """A number in another dtype."""
    if given == wanted:
        return value
    node = scalar.cast(wanted, scalar.param(0))
    (made,) = called(w, Function.make(1, [node]), [given], [value])
    return made
