"""The libraries of arrays in blocks, as the rest of the package asks for them: by the class of an array."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from catad import errors, upward
from catad.chunks.here import BlockArray, Here
from catad.chunks.parts import Parts, uncut
from catad.chunks.tasks import Tasks

OLDEST = (2025, 1)  # Dask's year and month with which the tests pass


class Library:
    """What stands for the array library of arrays in blocks: where their tasks go, and how they are cut.

    `parts_of` gives the sizes of the blocks of an array along each axis, `checked` the array or the error that says why it cannot
    be used, `tasks` a place for the tasks of a program, which a token stands for, on some arguments. `persisted` are arrays whose
    blocks are held in memory, `computed` those as arrays without blocks.
    """

    in_blocks = True

    def __init__(
        self,
        name: str,
        parts_of: Callable[[Any], Parts],
        tasks: Callable[[str, Sequence[Any]], Tasks],
        persisted: Callable[[Sequence[Any]], Sequence[Any]],
        computed: Callable[[Sequence[Any]], Sequence[Any]],
    ) -> None:
        self.__name__, self._parts_of, self.tasks = name, parts_of, tasks
        self.persisted, self.computed = persisted, computed

    def checked(self, array: Any) -> Any:
        """The array; raises `SpaceError` where the sizes of its blocks are not known, so that they are NaN."""
        for axis, sizes in enumerate(self._parts_of(array)):
            if any(math.isnan(n) for n in sizes):
                raise errors.SpaceError(errors.unknown_chunks(axis, array.ndim))
        return array

    def parts(self, array: Any) -> Parts:
        """The sizes of the blocks along each axis; an array of NumPy is in one block."""
        return uncut(np.shape(array)) if isinstance(array, (np.ndarray, np.generic)) else self._parts_of(array)

    @staticmethod
    def asarray(value: Any, dtype: Any = None) -> Any:
        return np.asarray(value, dtype)

    @staticmethod
    def zeros(shape: Any, dtype: Any = None) -> Any:
        return np.zeros(shape, dtype)

    @staticmethod
    def full(shape: Any, value: Any, dtype: Any = None) -> Any:
        return np.full(shape, value, dtype)

    @staticmethod
    def arange(*args: Any, dtype: Any = None) -> Any:
        return np.arange(*args, dtype=dtype)

    def __reduce__(self) -> tuple[Any, ...]:
        return _named, (self.__name__,)

    def __repr__(self) -> str:
        return f"<arrays in blocks: {self.__name__}>"


def _in_memory(arrays: Sequence[Any]) -> Sequence[Any]:
    return [array.numpy() if isinstance(array, BlockArray) else array for array in arrays]


HERE = Library("catad blocks", lambda array: array.parts, lambda token, arrays: Here(), lambda arrays: arrays, _in_memory)


def library_of(kind: type) -> Library:
    """The library of a class of arrays in blocks."""
    if issubclass(kind, BlockArray):
        return HERE
    return _of_dask()


def _named(name: str) -> Library:
    """The library that has a name."""
    if name == HERE.__name__:
        return HERE
    import_module("dask")
    return _of_dask()


@cache
def _of_dask() -> Library:
    """The library of arrays of Dask; raises `EngineError` where Dask is too old."""
    version: str = sys.modules["dask"].__version__
    if tuple([int(part) for part in version.split(".")[:2]]) < OLDEST:
        raise errors.EngineError(errors.old_dask(version, ".".join(map(str, OLDEST))))
    return upward.DASK
