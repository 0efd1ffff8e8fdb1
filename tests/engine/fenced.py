"""Runs programs whose arrays, also those between passes, lie flush against memory that nobody may read or write.

`python -m tests.engine.fenced SIDE`: the fence is "before" or "behind" the arrays. A kernel that goes outside of an array by one
number ends the process; the last name that is printed is that of its program. LLVM leaves out reads whose numbers nobody needs.
Here all reads are volatile, so that each one that the text has takes place.
"""

from __future__ import annotations

import ctypes
import itertools
import math
import mmap
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import catad as ct
from catad.category.spaces import flatten
from catad.engine.cpu import blocked
from catad.engine.cpu.run import tiers
from catad.scalar.printing.llvm_writer import Writer
from catad.values import buffers

PAGE = mmap.PAGESIZE
_mappings: list[mmap.mmap] = []  # memory that is given back would lose its fence


def fenced(shape: tuple[int, ...], dtype: Any, behind: bool) -> Any:
    """An array that begins or ends where a page without rights ends or begins."""
    count, dtype = math.prod(shape), np.dtype(dtype)
    size = count * dtype.itemsize
    pages = max(-(-size // PAGE), 1) * PAGE
    memory = mmap.mmap(-1, pages + 2 * PAGE)
    _mappings.append(memory)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    libc = ctypes.CDLL(None, use_errno=True)
    for page in (start, start + PAGE + pages):
        if libc.mprotect(ctypes.c_void_p(page), ctypes.c_size_t(PAGE), 0):
            raise OSError(ctypes.get_errno(), "mprotect")
    return np.frombuffer(memory, dtype, count, PAGE + (pages - size if behind else 0)).reshape(shape)


def segmented(flags: Any, v: Any) -> Any:
    return (ct.segmented_scan(ct.add, 0.0)(flags, v) ** 2).sum()


def stencil(x: Any) -> Any:
    wide = np.pad(x, 1)
    return ((wide[2:] - 2.0 * wide[1:-1] + wide[:-2]) ** 2).sum() + (x[1:] * x[:-1]).sum()


def affine(a: Any, b: Any) -> Any:
    return (ct.recurrence(0.5 * a, b) * np.roll(b, 1)).sum()


def backwards(a: Any, b: Any) -> Any:
    return affine(a[::-1], b)


def programs(n: int) -> Iterator[tuple[str, Callable[..., Any], list[Any]]]:
    """Functions and where their gradients are taken."""
    rng = np.random.default_rng(n)
    flags, x, y, rows, more = rng.random(n) < 0.4, rng.random(n), rng.random(n), rng.random((n, 3)), rng.random((n, 3))
    yield "segmented", segmented, [flags, x]
    yield "segmented rows", segmented, [flags, rows]
    yield "stencil", stencil, [x]
    yield "links that a map computes", affine, [x, y]
    yield "links that a map computes, from the last to the first", backwards, [x, y]
    yield "links of many lines that a map computes", affine, [rows, more]
    for reverse in (False, True):
        scan = ct.scan(ct.mul, 1.0, reverse=reverse) >> ct.sum()
        yield f"scan, reverse={reverse}", ct.function(lambda v, scan=scan: scan(v)), [x]
    yield "scan of rows", ct.scan(ct.mul, 1.0, axis=0) >> ct.square >> ct.sum(), [rows]


def volatile(set_: Callable[[Writer, str], str]) -> Callable[[Writer, str], str]:
    """`Writer.set`, which makes each read of an array volatile."""
    return lambda w, text: set_(w, re.sub(r"^load (.*, align \d+)$", r"load volatile \1", text))


def main(side: str) -> None:
    """See the module."""
    Writer.set = volatile(Writer.set)  # type: ignore[method-assign]
    tiers.is_wanted, tiers.RUNS, tiers.RATE = (lambda: True), 1 << 40, 1 << 40  # quick code, which compiles quickly
    blocked.LONG = 100
    behind, found = side == "behind", []
    for n in (1, 6, 300):
        for name, f, at in programs(n):
            g = ct.grad(f if isinstance(f, ct.D) else ct.function(f))
            with ct.use_engine("reference"):
                found.append((f"{name}, {n}", g, at, flatten(g(*at))))
    buffers.empty = lambda shape, dtype: fenced(shape, dtype, behind)
    for (name, g, at, expected), engine in itertools.product(found, ("cpu",)):
        print(f"{name}, {engine}", flush=True)
        given = [fenced(one.shape, one.dtype, behind) for one in at]
        for one, numbers in zip(given, at, strict=True):
            one[...] = numbers
        with ct.use_engine(engine):
            made = flatten(g(*given))
        for one, wanted in zip(made, expected, strict=True):
            np.testing.assert_allclose(one, wanted, rtol=1e-11, err_msg=name)


if __name__ == "__main__":
    main(*sys.argv[1:])
