"""Which engine runs: by the arrays and their sizes, or as the user says."""

from __future__ import annotations

import os
from contextvars import ContextVar

from catad import errors

ENGINES = ("auto", "cpu", "reference")
SMALL = 4096  # below this many numbers in the largest array NumPy is as fast, and nothing need be compiled
_chosen: ContextVar[str | None] = ContextVar("engine", default=None)


def chosen() -> str:
    """The name of the engine in force; the environment variable CATAD_ENGINE names it where no program does."""
    found = _chosen.get()
    if found is None:
        found = os.environ.get("CATAD_ENGINE", "auto")
        use_engine(found)
        _chosen.set(found)
    return found


class use_engine:
    """`with ct.use_engine("reference"):` runs what is inside on the named engine.

    "reference" is the array code that says what everything means; "cpu" compiles stages of NumPy programs with LLVM, whatever
    their size; "auto", the default, does so where the largest array has at least 4096 numbers, and runs the array code below.
    Other arrays than NumPy's always run on the array code. The choice holds in this thread.
    Raises `EngineError` for another name.

    >>> import catad as ct
    >>> with ct.use_engine("reference"):
    ...     ct.sin(0.0)
    np.float64(0.0)
    """

    def __init__(self, name: str) -> None:
        if name not in ENGINES:
            raise errors.EngineError(errors.no_such_engine(name, ENGINES))
        self.name = name

    def __enter__(self) -> None:
        self._token = _chosen.set(self.name)

    def __exit__(self, *_: object) -> None:
        _chosen.reset(self._token)
