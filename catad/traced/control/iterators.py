"""Iterators, which Python uses up: each of their items is taken once.

A branch or a loop that is recorded runs its statements another number of times than the program does. So it may use up the
iterators that it makes itself, and no others. A trace notes in which region an iterator was made; one of another region is used
where the branch is explored and the loop unrolled.
"""

from __future__ import annotations

from typing import Any

from catad.traced.control.decisions import give_up_merging
from catad.traced.recorder import Trace


def made(trace: Trace, value: Any) -> Any:
    """Note an iterator that was made here."""
    trace.iterators.setdefault(id(value), (value, trace.region))
    return value


def used(trace: Trace, value: Any) -> Any:
    """Heed that an iterator is used up here."""
    known = trace.iterators.get(id(value))
    if known is None or known[1] is not trace.region:
        give_up_merging(trace.region)
    return value
