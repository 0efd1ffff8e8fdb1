"""The protocol between plans and what runs their tasks: at once (`here.py`), or in a Dask graph (`dask_graph.py`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from catad.chunks.parts import Parts

Ref = Any
"""What stands for the result of a task: the result itself, or the key of the task."""


class Tasks(Protocol):
    """Where tasks go. Numbers tell the tasks of one name apart; names are for people."""

    def blocks(self, array: Any) -> Sequence[Ref]:
        """The blocks of an argument, in C order."""
        ...

    def shared(self, array: Any) -> Ref:
        """An array that many tasks read whole."""
        ...

    def task(self, name: str, number: tuple[int, ...], run: Callable[..., Any], args: Sequence[Any]) -> Ref:
        """A task that calls `run`; `args` are references and small values."""
        ...

    def array(self, blocks: Sequence[tuple[Ref, int | None]], parts: Parts, dtype: np.dtype[Any]) -> Any:
        """The array of some blocks: results of tasks, or the entries with these numbers of their tuples."""
        ...
