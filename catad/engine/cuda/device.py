"""A GPU of NVIDIA through CuPy: memory of its pool, its current stream, and its driver, which no other file touches.

catad does not import CuPy. Whoever has an array of CuPy has imported it, so it is looked up when a kernel is first needed.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from array import array
from collections import deque
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from catad import errors
from catad.engine import disk_cache
from catad.engine.cuda import target
from catad.engine.cuda.intrinsics import Simt
from catad.engine.cuda.kernel import Code, Device
from catad.support import current_engine
from catad.values.stream_capture import check_not_captured

OLDEST = 12000  # the version of CUDA of driver 525, the first that reads our PTX
LEAST = 70  # compute capability 7.0: threads of a warp go on independently of each other
COPIED = 1 << 26  # bytes of the arrays with which the speed of a copy is measured
_NO_MEMORY = 2  # CUDA_ERROR_OUT_OF_MEMORY
_TOO_LARGE = 701  # CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES: registers or shared memory


def why_not() -> str | None:
    """Why no kernel can run on the current device, as the text of a notice; None where kernels can run."""
    cupy = sys.modules.get("cupy")
    if cupy is None:
        return errors.no_gpu("CuPy is not imported")
    try:
        version = cupy.cuda.runtime.driverGetVersion()
        if not version:
            return errors.no_gpu("CuPy finds no driver of NVIDIA")
        return _refused(cupy, version, cupy.cuda.runtime.getDevice())
    except Exception as error:  # whatever is broken there, programs run without kernels
        return errors.no_gpu(f"{type(error).__name__}: {error}")


@cache
def _refused(cupy: Any, version: int, number: int) -> str | None:
    if version < OLDEST:
        return errors.old_driver(version)
    capability = int(cupy.cuda.Device(number).compute_capability)
    return errors.old_gpu(number, capability) if capability < LEAST else None


class _Loaded:
    """A kernel that is loaded on a device, and the block of its arguments, which each launch fills anew."""

    def __init__(self, module: Any, pointers: int) -> None:
        self.function = module.get_function("kernel")  # keeps its module
        self.values = (ctypes.c_int64 * max(pointers, 1))()
        first, step = ctypes.addressof(self.values), ctypes.sizeof(ctypes.c_int64)
        self.places = (ctypes.c_void_p * (1 + pointers))(None, *[first + step * k for k in range(pointers)])
        self.at = ctypes.addressof(self.places)
        self.lock = threading.Lock()

    def launch(
        self, driver: Any, grid: tuple[int, int, int], numbers: array[int], addresses: Sequence[int], stream: int
    ) -> None:
        """The driver copies the arguments before it returns. The grid: blocks, threads of each, bytes that these share."""
        blocks, threads, shared = grid
        with self.lock:
            self.places[0] = numbers.buffer_info()[0]
            self.values[: len(addresses)] = list(addresses)
            driver.launchKernel(self.function.ptr, blocks, 1, 1, threads, 1, 1, shared, stream, self.at, 0)


class CupyDevice(Device):
    """The current device of CuPy. Raises `EngineError` where it is asked to run and there is none."""

    dialect = Simt
    most = 1 << 16

    def __init__(self) -> None:
        self._loaded: WeakKeyDictionary[Code, dict[Any, _Loaded]] = WeakKeyDictionary()
        self._looks = deque[tuple[Any, Any, Callable[[Sequence[int]], None]]]()  # of all threads
        self._looking = threading.RLock()
        self._bandwidth: dict[Any, float] = {}

    @property
    def cupy(self) -> Any:
        """The module."""
        found = sys.modules.get("cupy")
        if found is None:
            raise errors.EngineError(errors.no_gpu("CuPy is not imported"))
        return found

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """An array from CuPy's pool."""
        return self.cupy.empty(shape, dtype=dtype)

    def prepared(self, arrays: Sequence[Any]) -> Sequence[Any]:
        """Arrays of the current device, each at a multiple of the size of its numbers. Raises `DeviceError`."""
        here = self.cupy.cuda.runtime.getDevice()
        for one in arrays:
            if one.device.id != here:
                raise errors.DeviceError(errors.not_current_device(one.device.id, here))
        return [a if a.data.ptr % a.dtype.itemsize == 0 else a.copy() for a in arrays]

    def address(self, array: Any) -> int:
        """Where the first number of an array lies."""
        return int(array.data.ptr)

    def launch(self, code: Code, blocks: int, numbers: array[int], addresses: Sequence[int], shared: int = 0) -> None:
        """Starts a kernel on CuPy's current stream. Raises `EngineError` where the driver refuses it."""
        cupy = self.cupy
        self._look()
        try:
            loaded = self._found(cupy, code, len(addresses))
            stream = cupy.cuda.get_current_stream().ptr
            loaded.launch(cupy.cuda.driver, (blocks, code.threads, shared), numbers, addresses, stream)
        except cupy.cuda.driver.CUDADriverError as error:
            if error.status == _NO_MEMORY:
                raise MemoryError(str(error)) from None
            if error.status == _TOO_LARGE:
                raise errors.CannotPrint(f"a pass that the GPU cannot hold ({error})", "it has too few registers") from None
            raise errors.EngineError(errors.gpu_failed(code.printer.__name__, str(error))) from None

    def _found(self, cupy: Any, code: Code, pointers: int) -> _Loaded:
        """The kernel in the context of this thread, loaded there once."""
        there = self._loaded.setdefault(code, {})
        where = cupy, _context(cupy)
        found = there.get(where)
        if found is None:
            module = cupy.cuda.function.Module()
            module.load(_cubin(cupy, code, int(cupy.cuda.Device().compute_capability)))
            found = there.setdefault(where, _Loaded(module, pointers))  # another thread may have loaded it, and started it
        return found

    def words(self, values: Sequence[int]) -> Any:
        """An array of integers, filled by kernels: a copy from the host could not be captured in a graph."""
        made = self.empty((len(values),), np.int64)
        for k, value in enumerate(values):
            made[k : k + 1].fill(value)
        return made

    def zeros(self, count: int) -> Any:
        """An array of integers."""
        return self.cupy.zeros((count,), dtype=np.int64)

    def after(self, words: Any, look: Callable[[Sequence[int]], None]) -> None:
        """Copies the words to the host behind the kernels, and looks at a later launch that finds the copy done.

        With `checks="now"` the host waits for them here. The words of a graph that is being captured are not looked at.
        """
        cuda = self.cupy.cuda
        stream = cuda.get_current_stream()
        if stream.is_capturing():
            return
        room = cuda.alloc_pinned_memory(words.nbytes)
        words.data.copy_to_host_async(room.ptr, words.nbytes, stream)
        done = cuda.Event(disable_timing=True)
        done.record(stream)
        self._looks.append((done, (room, words), look))
        if current_engine.checks.get() == "now":
            self._look(wait=True)

    def _look(self, wait: bool = False) -> None:
        """Looks at the words that have arrived; with `wait`, at all of them.

        Of several errors the first is raised, and all words are looked at then: nothing is left for a call that is right.
        """
        if not self._looks or self.cupy.cuda.get_current_stream().is_capturing():
            return
        first: Exception | None = None
        with self._looking:
            while self._looks:
                done, (room, words), look = self._looks[0]
                if wait or first:
                    done.synchronize()
                elif not done.done:
                    break
                self._looks.popleft()
                try:
                    look([int(word) for word in (ctypes.c_int64 * words.size).from_address(room.ptr)])
                except Exception as error:
                    first = first or error
        if first:
            raise first

    def synchronize(self) -> None:
        """Wait for all that the current stream was given, and look at all words: raises what kernels have noted."""
        check_not_captured(self.cupy, "ct.synchronize()")
        self.cupy.cuda.get_current_stream().synchronize()
        self._look(wait=True)

    def clock(self) -> Callable[[], float]:
        """The time between two events of CuPy's current stream; 0 where the stream is captured, which runs nothing."""
        cuda = self.cupy.cuda
        stream = cuda.get_current_stream()
        if stream.is_capturing():
            return lambda: 0.0
        begun, done = cuda.Event(), cuda.Event()
        begun.record(stream)

        def passed() -> float:
            done.record(stream)
            begun.synchronize()
            done.synchronize()
            return float(cuda.get_elapsed_time(begun, done)) * 1e-3

        return passed

    def copy_bandwidth(self) -> float:
        """Bytes per second, read and written, of copying a large array; measured once for each device."""
        cupy = self.cupy
        key = cupy, cupy.cuda.runtime.getDevice()
        if key not in self._bandwidth:
            source, best = cupy.zeros(COPIED, dtype=np.uint8), float("inf")
            for _ in range(4):
                passed = self.clock()
                copy = source.copy()
                best = min(best, passed())
                del copy
            self._bandwidth[key] = 2 * COPIED / max(best, 1e-9)
        return self._bandwidth[key]


def _context(cupy: Any) -> int:
    """The context of this thread, whose kernels the driver starts. A new thread has none, and memory of the pool and array code
    of CuPy that has run before need none either: the one of its device becomes current where the device is set (CUDA 12)."""
    cuda = cupy.cuda
    if not cuda.driver.ctxGetCurrent():
        cuda.runtime.setDevice(cuda.runtime.getDevice())
    return int(cuda.driver.ctxGetCurrent())


def _cubin(cupy: Any, code: Code, capability: int) -> bytes:
    """The machine code of a kernel for a GPU, from disk, or by the driver from PTX; kept for this version of the driver."""
    architecture = target.DEFAULT if capability >= 80 else "sm_70"
    version = cupy.cuda.runtime.driverGetVersion()
    name = target.file_of(code.key or code.llvm, architecture, f"sm_{capability} driver {version}", "cubin")
    known = disk_cache.read(name)
    if known is None:
        link = cupy.cuda.function.LinkState()
        link.add_ptr_data(code.ptx_for(architecture).text.encode(), f"{code.key or 'kernel'}.ptx")
        known = bytes(link.complete())
        disk_cache.write(name, known)
    return known


GPU = CupyDevice()
