"""The emulator as a device: arrays of NumPy with guarded ends, kernels that run at once."""

from __future__ import annotations

import math
import time
from array import array
from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from catad.engine import profile
from catad.engine.backend import Engine, Step
from catad.engine.cuda.kernel import Code
from catad.engine.cuda.machine import GpuMachine
from catad.engine.steps import steps
from catad.errors import LawError
from catad.testing.emulator.schedule import Emulator, noise
from catad.testing.emulator.words import Coroutines
from catad.wiring import Wiring

MARGIN = 256  # bytes before and after each array that nobody may write to
_MARK = 0xA5


class EmulatedDevice:
    """Runs kernels in an emulator that draws its orders from a seed; `most` blocks at most share a launch.

    Raises `LawError` where a kernel writes outside of an array that it was given.
    """

    dialect = Coroutines

    def __init__(self, seed: int = 0, most: int = 5) -> None:
        self.emulator, self.most = Emulator(seed), most
        self.launched: list[Code] = []
        self._blocks: WeakValueDictionary[int, Any] = WeakValueDictionary()

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """An array between margins; it holds noise."""
        size = math.prod(shape) * np.dtype(dtype).itemsize
        whole = np.empty(size + 2 * MARGIN + 64, np.uint8)
        first = -whole.ctypes.data % 64
        whole[:] = _MARK
        start = first + MARGIN
        whole[start : start + size] = noise(self.emulator.rng, size)
        self._blocks[id(whole)] = whole
        return np.ndarray(shape, dtype, whole, start)

    def prepared(self, arrays: Sequence[Any]) -> Sequence[Any]:
        """Arrays of NumPy."""
        return [a if type(a) is np.ndarray and a.flags.aligned else np.array(a) for a in arrays]

    def address(self, array: Any) -> int:
        """Where the first number of an array lies."""
        return int(array.__array_interface__["data"][0])

    def launch(self, code: Code, blocks: int, numbers: array[int], addresses: Sequence[int], shared: int = 0) -> None:
        """Runs the kernel to its end, then looks at the margins."""
        self.launched.append(code)
        self.emulator.launch(code.llvm, blocks, code.threads, np.array(numbers), addresses, shared)
        for whole in [found for ref in self._blocks.valuerefs() if (found := ref()) is not None]:  # other threads may add some
            first = -whole.ctypes.data % 64
            ends = whole[first : first + MARGIN], whole[len(whole) - MARGIN - (64 - first) : len(whole) - (64 - first)]
            if any(np.any(end != _MARK) for end in ends):
                raise LawError("a kernel wrote outside of its arrays")

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
        return steps(wiring, GpuMachine(self.device))
