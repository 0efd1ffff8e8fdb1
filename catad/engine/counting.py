"""Counting the scalar operations that programs carry out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token

_active: ContextVar[count | None] = ContextVar("count", default=None)


class count:
    """`with ct.count() as c:` counts what the programs run inside carry out, box by box.

    `c.operations` are scalar operations, a multiply-add counting as one (dimensionless), by the same rule for each primitive as
    plans are costed, whatever the engine; `c.programs` is the number of programs that ran. A program run within another, as the
    body of a loop, is part of that one. The counts go on to a count around this one. Counts hold in this thread.

    >>> import catad as ct, numpy as np
    >>> A, B = ct.linear.dense(np.ones((2, 3))), ct.linear.dense(np.ones((3, 4)))
    >>> with ct.count() as c:
    ...     AB = A.multiply(B)
    >>> c.operations, ct.plan([B, A]).cost.operations
    (24, 24)
    """

    def __init__(self) -> None:
        self.operations = 0
        self.programs = 0
        self._around: count | None = None
        self._token: Token[count | None] | None = None

    def __enter__(self) -> count:
        self._around = _active.get()
        self._token = _active.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        assert self._token is not None
        _active.reset(self._token)

    def add(self, operations: int) -> None:
        """Count one program that takes so many operations."""
        whole: count | None = self
        while whole is not None:
            whole.operations += operations
            whole.programs += 1
            whole = whole._around

    def __repr__(self) -> str:
        return f"<count: {self.operations:,} operations in {self.programs} programs>"


def counting() -> count | None:
    """The count in force."""
    return _active.get()


@contextmanager
def not_counting() -> Iterator[None]:
    """Programs that run inside this block are not counted: the caller has counted them already."""
    token = _active.set(None)
    try:
        yield
    finally:
        _active.reset(token)
