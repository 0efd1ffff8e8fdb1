"""What a program over chunks asks of the library that runs its tasks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

Ref: TypeAlias = Any  # the result of a task, as arguments of other tasks name it


class Tasks(Protocol):
    """Takes tasks one after the other, each after those whose results it reads."""

    def task(self, name: str, number: tuple[int, ...], run: Callable[..., Any], args: Sequence[Any]) -> Ref:
        """A task called `name`, in readable words, for the chunk `number`: `run(*args)`.

        `args` has results of other tasks, not nested in each other, and plain values, small and picklable.
        """
        ...

    def entry(self, ref: Ref, k: int) -> Ref:
        """Entry number k of the tuple that a task gives, for what is read later or elsewhere: a tuple is held and sent whole."""
        ...

    def value(self, name: str, value: Any) -> Ref:
        """A value that many tasks read and that is too large to be an argument of each, such as a table."""
        ...

    def array(self, blocks: Sequence[Ref | tuple[Ref, int]], parts: tuple[tuple[int, ...], ...], dtype: Any) -> Any:
        """The array whose blocks, in C order, are results of tasks, or entry number k of the tuple that a task gives.

        `parts` are the sizes of the blocks along each axis. Arrays are asked for when all tasks are there.
        """
        ...

    def blocks(self, array: Any) -> list[Ref]:
        """The blocks of an array of arguments, in C order."""
        ...

    def blocks_again(self, array: Any) -> list[Ref] | None:
        """The same, to be read once more where the program passes over its arguments once more; None where they must be held."""
        ...

    def parts(self, array: Any) -> tuple[tuple[int, ...], ...]:
        """The sizes of its blocks along each axis."""
        ...
