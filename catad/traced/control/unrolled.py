"""`ct.unrolled()`: loops that are taken step by step."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from catad.traced.recorder import current_trace


@contextmanager
def unrolled() -> Iterator[None]:
    """`with ct.unrolled():` inside a traced function unrolls every `for` loop in the block, however long it is.

    Each step has lines of its own in the program then, so short steps can be fused, and what a step computes can be read; values
    and derivatives are the same. It holds for the functions that are called in the block, too, but for those of `ct.function` and
    what `ct.grad` and others differentiate. Loops whose number of steps data decide stay loops. Outside of a traced function,
    where NumPy runs, it does nothing. `ct.function(unroll=n)` sets the limit for a whole function.

    >>> import catad as ct, numpy as np
    >>> def powers(x):
    ...     y = x
    ...     with ct.unrolled():
    ...         for _ in range(20):
    ...             y = y * x
    ...     return y
    >>> len(ct.function(powers).at(ct.f64[2]).lines)
    20
    """
    trace = current_trace()
    if trace is None:
        yield
        return
    before, trace.unroll = trace.unroll, sys.maxsize
    try:
        yield
    finally:
        trace.unroll = before
