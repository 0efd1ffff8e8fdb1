"""The words of kernels, with the names and arguments that they have in `numba.cuda`.

A kernel that is read never calls them: the reader knows them by identity. When the Python of a kernel itself is run, as by
`ct.testing.threads`, they ask the thread that runs.
"""

from __future__ import annotations

import threading
from typing import Any

from catad import errors

WARP = 32
"""The number of threads of a warp."""

running = threading.local()
"""Its `thread` is what answers the words of the Python thread that runs a kernel, where one does."""


def _thread(name: str) -> Any:
    thread = getattr(running, "thread", None)
    if thread is None:
        raise errors.ScalarError(errors.word_outside(name))
    return thread


class Word:
    """A function of the vocabulary; called outside a kernel it raises `ScalarError`."""

    def __init__(self, name: str, help: str) -> None:
        self.__name__ = name
        self.__doc__ = help

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return getattr(_thread(self.__name__), self.__name__.replace(".", "_"))(*args, **kwargs)

    def __repr__(self) -> str:
        return f"ct.simt.{self.__name__}"


class Coordinates:
    """`threadIdx` and its like: x, y and z are integers."""

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def x(self) -> int:
        """The first coordinate."""
        return int(_thread(self.name).coordinate(self.name, 0))

    @property
    def y(self) -> int:
        """The second coordinate."""
        return int(_thread(self.name).coordinate(self.name, 1))

    @property
    def z(self) -> int:
        """The third coordinate."""
        return int(_thread(self.name).coordinate(self.name, 2))

    def __repr__(self) -> str:
        return f"ct.simt.{self.name}"


class Lane:
    """The type of `laneid`: the number of a thread in its warp."""

    def __int__(self) -> int:
        return int(_thread("laneid").lane())

    __index__ = __int__

    def __repr__(self) -> str:
        return "ct.simt.laneid"


def _operators() -> None:
    names = ["add", "sub", "mul", "floordiv", "mod", "and", "or", "xor", "lshift", "rshift", "lt", "le", "gt", "ge", "eq", "ne"]
    for name in names:
        method = f"__{name}__"
        setattr(Lane, method, lambda self, other, m=method: getattr(int(self), m)(int(other)))
        if names.index(name) < 10:
            setattr(Lane, f"__r{name}__", lambda self, other, m=method: getattr(int(other), m)(int(self)))
    Lane.__hash__ = object.__hash__  # type: ignore[method-assign]


_operators()


class Group:
    """A family of words: `shared`, `local`, `atomic`."""

    def __init__(self, name: str, **words: str) -> None:
        self._name = name
        for word, said in words.items():
            setattr(self, word, Word(f"{name}.{word}", said))

    def __repr__(self) -> str:
        return f"ct.simt.{self._name}"

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"ct.simt.{self._name} has no word {name!r}")


grid = Word("grid", "grid(n): the position of the thread in the whole launch, an integer (n = 1) or a tuple of n.")
gridsize = Word("gridsize", "gridsize(n): the number of threads of the launch, an integer (n = 1) or a tuple of n.")
syncthreads = Word("syncthreads", "A barrier of the threads of a block.")
syncwarp = Word("syncwarp", "syncwarp(mask=-1): a barrier of the threads of a warp.")
shfl_sync = Word("shfl_sync", "shfl_sync(mask, value, lane): the value of a lane of the warp.")
shfl_up_sync = Word("shfl_up_sync", "shfl_up_sync(mask, value, delta): the value of the lane delta before, or one's own.")
shfl_down_sync = Word("shfl_down_sync", "shfl_down_sync(mask, value, delta): the value of the lane delta behind, or one's own.")
shfl_xor_sync = Word("shfl_xor_sync", "shfl_xor_sync(mask, value, bits): the value of the lane whose number differs in bits.")
threadIdx, blockIdx = Coordinates("threadIdx"), Coordinates("blockIdx")
blockDim, gridDim = Coordinates("blockDim"), Coordinates("gridDim")
laneid = Lane()
shared = Group("shared", array="shared.array(shape, dtype): an array of the threads of a block.")
local = Group("local", array="local.array(shape, dtype): an array of one thread.")
atomic = Group(
    "atomic",
    add="atomic.add(array, index, value): array[index] += value, one thread after the other; the number before.",
    sub="atomic.sub(array, index, value): array[index] -= value, one thread after the other; the number before.",
    min="atomic.min(array, index, value): the smaller number, one thread after the other; the number before.",
    max="atomic.max(array, index, value): the larger number, one thread after the other; the number before.",
)
warpSize = warpsize = WARP
