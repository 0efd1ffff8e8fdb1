"""The protocol between plans and what runs their tasks: at once (`here.py`), or in a Dask graph (`dask/graph.py`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

from catad.chunks.parts import Parts

Ref: TypeAlias = Any
"""What stands for the result of a task: the result itself, or a reference to the task."""


class Tasks(Protocol):
    """Takes tasks one after the other, each after those whose results it reads."""

    def blocks(self, array: Any) -> Sequence[Ref]:
        """The blocks of an argument, in C order."""
        ...

    def value(self, name: str, value: Any) -> Ref:
        """A value that many tasks read and that is too large to be an argument of each, such as a table."""
        ...

    def task(self, name: str, number: tuple[int, ...], run: Callable[..., Any], args: Sequence[Any]) -> Ref:
        """A task called `name`, in readable words, for the chunk `number`: `run(*args)`.

        `args` has results of other tasks, not nested in each other, and plain values, small and picklable.
        """
        ...

    def entry(self, ref: Ref, k: int) -> Ref:
        """Entry number k of the tuple that a task gives, for what other chunks read: a tuple is held and sent whole."""
        ...

    def blocks_again(self, array: Any) -> Sequence[Ref] | None:
        """The blocks of an argument for another pass, which reads them again; None where they must be held."""
        ...

    def array(self, blocks: Sequence[Ref | tuple[Ref, int]], parts: Parts, dtype: Any) -> Any:
        """The array whose blocks, in C order, are results of tasks, or entry number k of the tuple that a task gives.

        Arrays are asked for when all tasks are there.
        """
        ...
