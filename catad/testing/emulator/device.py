"""The emulator as a device: arrays of NumPy, kernels that run at once."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from catad.category.wiring import Wiring
from catad.engine import profile
from catad.engine.backend import Engine, Step
from catad.engine.cuda.kernel import Code
from catad.engine.cuda.steps import steps
from catad.testing.emulator.schedule import Emulator, noise
from catad.testing.emulator.words import Coroutines, Ends


class Address(int):
    """Where the first number of an array lies, or a pointer into it, and the ends of what a kernel may then read and write."""

    ends: Ends

    def __new__(cls, array: Any, pointer: int | None = None) -> Address:
        made = super().__new__(cls, array.__array_interface__["data"][0] if pointer is None else pointer)
        made.ends = Ends(int(made), *byte_bounds(array))
        return made


class EmulatedDevice:
    """Runs kernels in an emulator that draws its orders from a seed; `most` blocks at most share a launch.

    Raises `LawError` where a kernel reads or writes outside of an array that it was given.
    """

    dialect = Coroutines

    def __init__(self, seed: int = 0, most: int = 5) -> None:
        self.emulator, self.most = Emulator(seed), most
        self.launched: list[Code] = []

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """An array that holds noise."""
        made = np.empty(shape, dtype)
        made.reshape(-1).view(np.uint8)[:] = noise(self.emulator.rng, made.nbytes)
        return made

    def prepared(self, arrays: Sequence[Any]) -> Sequence[Any]:
        """Arrays of NumPy."""
        return [a if type(a) is np.ndarray and a.flags.aligned else np.array(a) for a in arrays]

    def address(self, array: Any) -> Address:
        """Where the first number of an array lies, and how far the array goes."""
        return Address(array)

    def launch(self, code: Code, blocks: int, numbers: array[int], addresses: Sequence[Any], shared: int = 0) -> None:
        """Runs the kernel to its end. The addresses are those of `address`."""
        self.launched.append(code)
        table = np.array(numbers)
        given = [one.ends for one in (Address(table), *addresses)]
        self.emulator.launch(code.llvm, blocks, code.threads, given, shared)

    def words(self, values: Sequence[int]) -> Any:
        """An array of integers of 64 bits."""
        return np.array(values, np.int64)

    def zeros(self, count: int) -> Any:
        """An array of integers of 64 bits."""
        made = self.empty((count,), np.int64)
        made[:] = 0
        return made

    def after(self, words: Any, look: Callable[[Sequence[int]], None]) -> None:
        """Looks at once."""
        look([int(word) for word in words])

    def clock(self) -> Callable[[], float]:
        """Kernels run at once, so the clock is that of the processor."""
        begun = time.perf_counter()
        return lambda: time.perf_counter() - begun

    def copy_bandwidth(self) -> float:
        """That of the host."""
        return profile.copy_bandwidth()


class EmulatedGpu(Engine):
    """The engine for GPUs on arrays of NumPy, by the emulator: `ct.engine.register(EmulatedGpu(seed))` makes it known.

    It is for tests of kernels, and slow: some 10,000 numbers are a large array.

    >>> import catad as ct, numpy as np
    >>> ct.engine.register(EmulatedGpu())
    >>> with ct.use_engine("emulated gpu"):
    ...     ct.map(lambda x: x * x)(np.arange(4.0))
    array([0., 1., 4., 9.])
    """

    name = "emulated gpu"

    def __init__(self, seed: int = 0, most: int = 5) -> None:
        self.device = EmulatedDevice(seed, most)

    def runs(self, xp: Any) -> bool:
        """Arrays of NumPy."""
        return xp is np

    def steps(self, wiring: Wiring) -> list[Step]:
        """Kernels, and boxes that run by themselves."""
        return steps(wiring, self.device)
