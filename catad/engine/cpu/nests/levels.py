"""Folds of many elements in levels: units are folded apart and joined in their order, and so are units of units.

So rounding errors add up over few elements at each level only, as in pairwise summation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from catad.scalar.printing.llvm_writer import Writer

T = TypeVar("T")
SHORT = 32  # elements of a place, on average, that are folded one after the other; then units of so many, and so on


def in_levels(
    w: Writer,
    n: int,
    unit: int,
    into: T,
    fold: Callable[[str, str, T], None],
    apart: Callable[[], T],
    join: Callable[[T, T], None],
    free: Callable[[T], None],
) -> None:
    """Write a fold of `n` elements into states, in units of `unit` elements.

    `fold` writes the elements from one to another, `apart` makes other states, which are empty, `join` folds these behind
    states and empties them.
    """

    def level(size: int, begin: str, end: str, into: T) -> None:
        if size < unit:
            fold(begin, end, into)
            return
        sums = apart()
        with w.each(begin, end, size) as start:
            level(size // SHORT, start, w.least(w.set(f"add i64 {start}, {size}"), end), sums)
            join(sums, into)
        free(sums)

    size = unit
    while size > 0 and size * SHORT < n:
        size *= SHORT
    level(size if 0 < size < n else unit - 1, "0", str(n), into)
