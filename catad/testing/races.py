"""`check_races`: whether the threads of a launch race for given arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

from catad import errors
from catad.category.spaces import Tensor
from catad.simt.kernel import Launch
from catad.simt.races import Lockstep
from catad.simt.read import Dims


def check_races(launch: Launch, *args: Any) -> None:
    """Raise `ScalarError` where threads of a launch of a kernel race for these arguments, or read what nobody wrote.

    Two threads race where both touch a cell, one of them writes, and no barrier of their block is between; atomics do not race
    among themselves. Every access of the launch is compared, so the answer is exact for arguments of these values; shapes and
    dtypes are those of the launch. Raises `IndexRangeError` for a read that is out of range, `ArgumentError` for another number
    of arguments and for what is no launch.

    >>> import catad as ct, numpy as np
    >>> @ct.kernel
    ... def shifted(x):
    ...     i = ct.simt.grid(1)
    ...     if i > 0:
    ...         x[i] = x[i - 1]
    >>> try:
    ...     ct.testing.check_races(shifted[1, 4], np.zeros(4))
    ... except ct.ScalarError as error:
    ...     print(str(error).splitlines()[0])
    a race at cell (1,) of x
    """
    every = arguments(launch, args, "ct.testing.check_races")
    launch, given = launch.on_parts(every)
    body = launch.body([Tensor(arg.shape, arg.dtype) for arg in given])
    run = Lockstep(Dims(launch.grid, launch.block), body, dict(zip(launch.kernel.names, given, strict=False)))
    run.run()
    run.check()


def arguments(launch: Any, args: Any, who: str) -> list[Any]:
    """All arguments of a launch as arrays, checked."""
    if not isinstance(launch, Launch):
        raise errors.ArgumentError(errors.not_a_launch(who, launch))
    return [np.asarray(arg) for arg in launch.filled(args)]
