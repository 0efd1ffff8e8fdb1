"""The libraries of arrays in blocks, as the rest of the package asks for them: by the class of an array."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from catad import errors, upward
from catad.chunks import options
from catad.chunks.here import BlockArray, Here, blocked
from catad.chunks.parts import Parts, numblocks, uncut
from catad.chunks.tasks import Tasks
from catad.values.arrays import array_module, as_array, in_blocks
from catad.values.complex_numbers import complex_dtype, complex_of

OLDEST = (2025, 1)  # Dask's year and month with which the tests pass


class Library:
    """What stands for the array library of arrays in blocks. Each way to run tasks has a class of its own."""

    in_blocks = True
    __name__: str

    def parts_of(self, array: Any) -> Parts:
        """The sizes of the blocks of an array along each axis."""
        raise NotImplementedError

    def tasks(self, token: str, arrays: Sequence[Any]) -> Tasks:
        """A place for the tasks of a program, which a token stands for, on some arguments."""
        raise NotImplementedError

    def sample(self, array: Any) -> Any:
        """An array of the library that the blocks of an array are of."""
        raise NotImplementedError

    def recut(self, array: Any, parts: Parts) -> Any:
        """An array, also one of NumPy, cut in some way."""
        raise NotImplementedError

    def persisted(self, arrays: Sequence[Any]) -> Sequence[Any]:
        """The arrays, with their blocks held in memory."""
        raise NotImplementedError

    def computed(self, arrays: Sequence[Any]) -> Sequence[Any]:
        """The arrays without blocks."""
        raise NotImplementedError

    @staticmethod
    def cut_as(parts: tuple[Parts, ...]) -> AbstractContextManager[None]:
        """Inside, results of programs are wanted in these parts."""
        return options.cut_as(parts)

    def check_chunks(self, arrays: Sequence[Any]) -> None:
        """Raise `DeviceError` where the chunks of some arrays, and arrays of NumPy beside them, are of different libraries."""
        found: dict[Any, int] = {}
        for k, array in enumerate(arrays):
            if array.ndim:
                is_plain = isinstance(array, (np.ndarray, np.generic))
                found.setdefault(array_module(array if is_plain else self.sample(array)), k)
        if len(found) > 1:
            (one, i), (other, j), *_ = found.items()
            raise errors.DeviceError(errors.mixed_chunks(one.__name__, i, other.__name__, j))

    def checked(self, array: Any) -> Any:
        """The array; raises `SpaceError` where blocks are more than arrays, or their sizes are not known: NaN."""
        as_array(self.sample(array))
        for axis, sizes in enumerate(self.parts_of(array)):
            if any(math.isnan(n) for n in sizes):
                raise errors.SpaceError(errors.unknown_chunks(axis, array.ndim))
        return array

    def parts(self, array: Any) -> Parts:
        """The sizes of the blocks along each axis; an array of NumPy is in one block."""
        return uncut(np.shape(array)) if isinstance(array, (np.ndarray, np.generic)) else self.parts_of(array)

    def paired(self, re: Any, im: Any) -> Any:
        """The array of complex numbers with these parts, of which one at least is in blocks."""
        parts = self.parts(im if isinstance(re, (np.ndarray, np.generic)) else re)
        own = [self.recut(array, parts) for array in (re, im)]
        tasks = self.tasks("complex numbers", own)
        places = itertools.product(*map(range, numblocks(parts)))
        found = [
            tasks.task("complex numbers", place, complex_block, blocks)
            for place, *blocks in zip(places, *map(tasks.blocks, own), strict=True)
        ]
        return tasks.array(found, parts, complex_dtype(re.dtype))

    @staticmethod
    def asarray(value: Any, dtype: Any = None) -> Any:
        """A number or an array of NumPy as one; an array in blocks of the dtype as it is."""
        if in_blocks(array_module(value)) and dtype in (None, value.dtype):
            return value
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


def complex_block(re: Any, im: Any) -> Any:
    """A block of complex numbers, of the blocks of their parts."""
    return complex_of(array_module(re), re, im)


class _Here(Library):
    """Arrays in blocks in memory, whose tasks run at once."""

    __name__ = "catad blocks"

    def parts_of(self, array: Any) -> Parts:
        return array.parts  # type: ignore[no-any-return]

    def tasks(self, token: str, arrays: Sequence[Any]) -> Tasks:
        return Here()

    def sample(self, array: Any) -> Any:
        return array.blocks[0]

    def recut(self, array: Any, parts: Parts) -> BlockArray:
        if isinstance(array, BlockArray):
            return array if array.parts == parts else blocked(array.numpy(), parts)
        return blocked(np.asarray(array), parts)

    def persisted(self, arrays: Sequence[Any]) -> Sequence[Any]:
        return arrays

    def computed(self, arrays: Sequence[Any]) -> Sequence[Any]:
        return [array.numpy() if isinstance(array, BlockArray) else array for array in arrays]


HERE = _Here()


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
