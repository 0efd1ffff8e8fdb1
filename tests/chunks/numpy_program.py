"""A program over chunks whose tasks are functions of NumPy: a running sum of `scale * x`, and its total.

The totals of chunks are added in the order of the chunks, so the results have the same bits wherever the tasks run.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from catad import errors


def product(x: Any, scale: Any) -> tuple[Any, Any]:
    """A chunk of the product, and its total."""
    y = np.asarray(x) * scale
    return y, y.sum()


def carries(*totals: Any) -> Any:
    """What comes before each chunk, and the total of all."""
    return np.concatenate([np.zeros(1), np.cumsum(totals)])


def running_sum(y: Any, before: Any, k: int) -> Any:
    return np.cumsum(y) + before[k]


def last(before: Any) -> Any:
    return before[-1]


def program(tasks: Any, x: Any, scale: Any, product: Any = product) -> tuple[Any, Any, Any]:
    """The product, its running sum, and the total."""
    parts = x.chunks
    factor = tasks.value("scale", scale)
    made = [tasks.task("product and total", (k,), product, (block, factor)) for k, block in enumerate(tasks.blocks(x))]
    before = tasks.task("scan of totals", (), carries, [tasks.entry(one, 1) for one in made])
    sums = [tasks.task("running sum", (k,), running_sum, (tasks.entry(one, 0), before, k)) for k, one in enumerate(made)]
    total = tasks.task("total", (), last, (before,))
    return (
        tasks.array([(one, 0) for one in made], parts, np.float64),
        tasks.array(sums, parts, np.float64),
        tasks.array([total], (), np.float64),
    )


class Slow:
    """The product, with a pause."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __call__(self, x: Any, scale: Any) -> tuple[Any, Any]:
        time.sleep(self.seconds)
        return product(x, scale)


class FailsOnce:
    """The product, which raises an error of catad at the first call for each chunk; a folder says which calls there were."""

    def __init__(self, folder: Path) -> None:
        self.folder = str(folder)

    def __call__(self, x: Any, scale: Any) -> tuple[Any, Any]:
        mark = Path(self.folder) / f"{x[:1].tobytes().hex()}.called"
        if not mark.exists():
            mark.touch()
            raise errors.IndexRangeError("an index is out of range\n  given:    7")
        return product(x, scale)
