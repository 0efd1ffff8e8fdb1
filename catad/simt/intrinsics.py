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

    def __init__(self, name: str, help: str) -> None:
        self.name = name
        self.__doc__ = help

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

    def __init__(self, help: str) -> None:
        self.__doc__ = help

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

    def __init__(self, name: str, help: str, **words: str) -> None:
        self._name = name
        self.__doc__ = help
        for word, said in words.items():
            setattr(self, word, Word(f"{name}.{word}", said))

    def __repr__(self) -> str:
        return f"ct.simt.{self._name}"

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"ct.simt.{self._name} has no word {name!r}")


_NUMBERED = """
    >>> import catad as ct, numpy as np
    >>> @ct.kernel
    ... def numbered(x):
    ...     {line}
    >>> numbered[2, 2](np.zeros(4))
    {result}
    """


def _numbered(text: str, line: str, result: str) -> str:
    """A text with an example: a kernel of one line, on two blocks of two threads."""
    return text + "\n" + _NUMBERED.format(line=line, result=result)


grid = Word(
    "grid",
    _numbered(
        """`ct.simt.grid(n)` is the position of the thread in the whole launch, an integer (n = 1) or a tuple of n, up to 3.

    It is an int64 and has no derivative. Outside of a kernel it raises `ScalarError`.""",
        "x[ct.simt.grid(1)] = 10.0 * ct.simt.grid(1)",
        "array([ 0., 10., 20., 30.])",
    ),
)
gridsize = Word(
    "gridsize",
    _numbered(
        """`ct.simt.gridsize(n)` is the number of threads of the launch, an integer (n = 1) or a tuple of n, up to 3.

    It is an int64, known while the kernel is read. Outside of a kernel it raises `ScalarError`.""",
        "x[ct.simt.grid(1)] = ct.simt.gridsize(1)",
        "array([4., 4., 4., 4.])",
    ),
)
syncthreads = Word(
    "syncthreads",
    """`ct.simt.syncthreads()` is a barrier: the threads of a block go on when all have come to it.

    What a thread has stored before it, the others read behind it. Threads that do not all come to it are a `ScalarError`, and
    so is a call outside of a kernel.

    >>> import catad as ct, numpy as np
    >>> @ct.kernel
    ... def reversed_in_blocks(x):
    ...     i = ct.simt.threadIdx.x
    ...     s = ct.simt.shared.array(4, np.float64)
    ...     s[i] = x[i]
    ...     ct.simt.syncthreads()
    ...     x[i] = s[3 - i]
    >>> reversed_in_blocks[1, 4](np.array([1.0, 2.0, 3.0, 4.0]))
    array([4., 3., 2., 1.])
    """,
)
syncwarp = Word(
    "syncwarp",
    """`ct.simt.syncwarp(mask=-1)` is a barrier of the threads of a warp, as `ct.simt.syncthreads` is one of a block.

    All threads of the warp have to come to it, whatever `mask` is, which stands there as in `numba.cuda`; else it is a
    `ScalarError`, and so is a call outside of a kernel.

    >>> import catad as ct, numpy as np
    >>> @ct.kernel
    ... def shifted(x):
    ...     i = ct.simt.threadIdx.x
    ...     y = x[(i + 1) % 4]
    ...     ct.simt.syncwarp()
    ...     x[i] = y
    >>> shifted[1, 4](np.array([1.0, 2.0, 3.0, 4.0]))
    array([2., 3., 4., 1.])
    """,
)
_SHUFFLE = """

    All threads of the warp have to come to it, whatever `mask` is, which stands there as in `numba.cuda`; else it is a
    `ScalarError`, and so is a call outside of a kernel. The result has the dtype of the value. Derivatives go to the lane that
    is read.

    >>> import catad as ct, numpy as np
    >>> @ct.kernel
    ... def exchanged(x):
    ...     i = ct.simt.grid(1)
    ...     x[i] = ct.simt.{call}
    >>> exchanged[1, 32](np.arange(32.0))[:4]
    {result}
    """
shfl_sync = Word(
    "shfl_sync",
    "`ct.simt.shfl_sync(mask, value, lane)` is the value of a lane of the warp."
    + _SHUFFLE.format(call="shfl_sync(-1, x[i], 5)", result="array([5., 5., 5., 5.])"),
)
shfl_up_sync = Word(
    "shfl_up_sync",
    "`ct.simt.shfl_up_sync(mask, value, delta)` is the value of the lane delta before, or one's own where there is none."
    + _SHUFFLE.format(call="shfl_up_sync(-1, x[i], 1)", result="array([0., 0., 1., 2.])"),
)
shfl_down_sync = Word(
    "shfl_down_sync",
    "`ct.simt.shfl_down_sync(mask, value, delta)` is the value of the lane delta behind, or one's own where there is none."
    + _SHUFFLE.format(call="shfl_down_sync(-1, x[i], 2)", result="array([2., 3., 4., 5.])"),
)
shfl_xor_sync = Word(
    "shfl_xor_sync",
    "`ct.simt.shfl_xor_sync(mask, value, bits)` is the value of the lane whose number differs in the bits of `bits`."
    + _SHUFFLE.format(call="shfl_xor_sync(-1, x[i], 1)", result="array([1., 0., 3., 2.])"),
)
_COORDINATES = "It has the integers x, y and z, without a derivative. Outside of a kernel they raise `ScalarError`."
threadIdx = Coordinates(
    "threadIdx",
    _numbered(
        f"`ct.simt.threadIdx` is the position of the thread in its block.\n\n    {_COORDINATES}",
        "x[ct.simt.grid(1)] = ct.simt.threadIdx.x",
        "array([0., 1., 0., 1.])",
    ),
)
blockIdx = Coordinates(
    "blockIdx",
    _numbered(
        f"`ct.simt.blockIdx` is the position of the thread's block in the launch.\n\n    {_COORDINATES}",
        "x[ct.simt.grid(1)] = ct.simt.blockIdx.x",
        "array([0., 0., 1., 1.])",
    ),
)
blockDim = Coordinates(
    "blockDim",
    _numbered(
        f"`ct.simt.blockDim` has the numbers of threads of a block along its axes.\n\n    {_COORDINATES}",
        "x[ct.simt.grid(1)] = ct.simt.blockDim.x",
        "array([2., 2., 2., 2.])",
    ),
)
gridDim = Coordinates(
    "gridDim",
    _numbered(
        f"`ct.simt.gridDim` has the numbers of blocks of the launch along its axes.\n\n    {_COORDINATES}",
        "x[ct.simt.grid(1)] = ct.simt.gridDim.x",
        "array([2., 2., 2., 2.])",
    ),
)
laneid = Lane(
    _numbered(
        """`ct.simt.laneid` is the number of a thread in its warp, from 0 to 31.

    It is an integer, without a derivative. Outside of a kernel it raises `ScalarError`.""",
        "x[ct.simt.grid(1)] = ct.simt.laneid",
        "array([0., 1., 0., 1.])",
    )
)
shared = Group(
    "shared",
    """`ct.simt.shared.array(shape, dtype)` is an array that the threads of a block share.

    The shape, an integer or a tuple, is known while the kernel is read, such as a size of an argument. A cell that no thread has
    written holds NaN, or 0 for integers; a read that comes before every write is a `ScalarError`, and so is a call outside of a
    kernel. Derivatives go through it.

    >>> import catad as ct, numpy as np
    >>> @ct.kernel
    ... def sums(x, y):
    ...     s = ct.simt.shared.array(4, x.dtype)
    ...     s[ct.simt.threadIdx.x] = x[ct.simt.grid(1)]
    ...     ct.simt.syncthreads()
    ...     if ct.simt.threadIdx.x == 0:
    ...         y[ct.simt.blockIdx.x] = s[0] + s[1] + s[2] + s[3]
    >>> sums[2, 4](np.arange(8.0), np.zeros(2))
    array([ 6., 22.])
    """,
    array="shared.array(shape, dtype): an array of the threads of a block.",
)
local = Group(
    "local",
    """`ct.simt.local.array(shape, dtype)` is an array that a thread has for itself.

    The shape, an integer or a tuple, is known while the kernel is read. Cells that are not written, and errors, are as of
    `ct.simt.shared`. Derivatives go through it. Raises `ScalarError` outside of a kernel.

    >>> import catad as ct, numpy as np
    >>> @ct.kernel
    ... def cubes(x):
    ...     p = ct.simt.local.array(2, x.dtype)
    ...     p[0] = x[ct.simt.grid(1)]
    ...     p[1] = p[0] * p[0]
    ...     x[ct.simt.grid(1)] = p[0] * p[1]
    >>> cubes[1, 3](np.array([1.0, 2.0, 3.0]))
    array([ 1.,  8., 27.])
    """,
    array="local.array(shape, dtype): an array of one thread.",
)
atomic = Group(
    "atomic",
    """`ct.simt.atomic` has updates of a cell that threads make one after the other: `add`, `sub`, `min` and `max`.

    `ct.simt.atomic.add(array, index, value)` adds the value to `array[index]`, and returns the number before; the others
    likewise. So several threads may update one cell. Derivatives are those of the updates in linear order of the threads. An
    index out of range that comes from data is dropped; another one is an `IndexRangeError`. A call outside of a kernel is a
    `ScalarError`.

    >>> import catad as ct, numpy as np
    >>> @ct.kernel
    ... def counts(bins, total):
    ...     ct.simt.atomic.add(total, bins[ct.simt.grid(1)], 1.0)
    >>> counts[1, 4](np.array([2, 0, 2, 2]), np.zeros(3))
    array([1., 0., 3.])
    """,
    add="atomic.add(array, index, value): array[index] += value, one thread after the other; the number before.",
    sub="atomic.sub(array, index, value): array[index] -= value, one thread after the other; the number before.",
    min="atomic.min(array, index, value): the smaller number, one thread after the other; the number before.",
    max="atomic.max(array, index, value): the larger number, one thread after the other; the number before.",
)
warpSize = warpsize = WARP
"""`ct.simt.warpsize` is the number of threads of a warp, 32, as `numba.cuda` has it. Another name is `ct.simt.warpSize`.

>>> import catad as ct
>>> ct.simt.warpsize, ct.simt.warpSize
(32, 32)
"""
