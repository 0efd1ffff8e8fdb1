"""A CuPy without a GPU: the names that catad uses, over memory of NumPy, and kernels in the emulator.

Array code runs as on strict arrays. The driver takes the block of arguments apart as that of NVIDIA does, and runs the kernel in
the words of the emulator. It counts what makes the host wait (`reads`). A stream that is captured notes launches and fills
instead of running them, and raises where the host would wait. `limit` bounds the bytes of all arrays, `seed` draws orders.
"""

from __future__ import annotations

import ctypes
import math
from array import array
from types import SimpleNamespace
from typing import Any, ClassVar
from weakref import WeakValueDictionary

import numpy as np

from catad.engine.cuda import kernel
from catad.testing.emulator.device import EmulatedDevice
from catad.testing.emulator.words import Coroutines

from .strict_arrays import Strict, StrictArray, _unwrap


class CUDARuntimeError(RuntimeError):
    """As the real one."""


class CUDADriverError(RuntimeError):
    """As the real one."""

    def __init__(self, status: int, said: str) -> None:
        super().__init__(said)
        self.status = status


class OutOfMemoryError(MemoryError):
    """As the real one."""


def _waits(name: str) -> Any:
    plain = getattr(StrictArray, name)

    def method(self: FakeArray, *args: Any) -> Any:
        fake.wait(name)
        return plain(self, *args)

    return method


class FakeArray(StrictArray):
    """An array on the device that was current when it was made."""

    def __init__(self, data: np.ndarray) -> None:
        super().__init__(data)
        self.device = SimpleNamespace(id=fake.current)
        fake.count(data)

    def __array_namespace__(self, api_version: str | None = None) -> Any:
        return fake

    @property
    def data(self) -> Any:
        """A pointer."""
        return SimpleNamespace(ptr=self._data.__array_interface__["data"][0], copy_to_host_async=self._to_host)

    def _to_host(self, place: int, size: int, stream: Any) -> None:
        assert not stream.captured, "copies to pageable memory cannot be captured"
        ctypes.memmove(place, self.data.ptr, size)

    def fill(self, value: Any) -> None:
        fake.do(lambda: self._data.fill(value), self)

    for _name in ("get", "item", "tolist", "__bool__", "__int__", "__float__", "__index__"):
        locals()[_name] = _waits(_name)


class Stream:
    """A stream; what it is given to do is done at once, or when it is captured, noted."""

    _current: ClassVar[list[Stream]] = []

    def __init__(self, ptr: int | None = None) -> None:
        self.ptr = 16 * (1 + fake.streams) if ptr is None else ptr
        fake.streams += 1
        self.captured: list[tuple[Any, Any]] | None = None

    def __enter__(self) -> Stream:
        self._current.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        self._current.pop()

    def is_capturing(self) -> bool:
        return self.captured is not None

    def begin_capture(self) -> None:
        self.captured = []

    def end_capture(self) -> Graph:
        made, self.captured = Graph(self.captured or []), None
        return made

    def synchronize(self) -> None:
        fake.wait("synchronize")


class Graph:
    """What a stream has noted."""

    def __init__(self, noted: list[tuple[Any, Any]]) -> None:
        self.noted = noted

    def launch(self) -> None:
        for do, _ in self.noted:
            do()


class Event:
    """An event; `late` ones are not done until somebody waits for them."""

    def __init__(self, disable_timing: bool = False) -> None:
        self.done = False

    def record(self, stream: Any = None) -> None:
        self.done = not fake.late

    def synchronize(self) -> None:
        fake.wait("event")
        self.done = True


class LinkState:
    """Makes something of PTX that a module finds the kernel of again."""

    def __init__(self) -> None:
        self.made = b""

    def add_ptr_data(self, data: bytes, name: str) -> None:
        assert isinstance(data, bytes) and b".visible .entry kernel(" in data
        self.made = b"cubin\0" + data
        fake.linked += 1

    def complete(self) -> bytes:
        return self.made


class Module:
    """The kernel of a cubin: the one whose PTX it is made of."""

    def load(self, cubin: bytes) -> None:
        if fake.broken:
            raise CUDADriverError(*fake.broken)
        begin, ptx = cubin.split(b"\0", 1)
        assert begin == b"cubin"
        text = ptx.decode()
        at = "sm_80" if ".target sm_80" in text else "sm_70"
        (self.code, *_) = [code for code in list(kernel._codes.values()) if _is(code, text, at)]

    def get_function(self, name: str) -> Any:
        assert name == "kernel"
        code = kernel.code_of(self.code.printer, self.code.what, Coroutines)
        fake.functions.append((code, self.code.threads))
        return SimpleNamespace(ptr=len(fake.functions), module=self)


def _is(code: Any, text: str, architecture: str) -> bool:
    return code.words is not Coroutines and code.ptx_for(architecture).text == text


def _launch_kernel(f: int, *rest: int) -> None:
    *grid, shared, stream, params, extra = rest
    code, threads = fake.functions[f - 1]
    current = fake.cuda.get_current_stream()
    assert grid[1:] == [1, 1, threads, 1, 1] and 0 < grid[0] < 2**31 and not shared and not extra and stream == current.ptr
    text = code.llvm.split("define ptr @kernel(")[1].split(")")[0]
    pointers = text.count("ptr ") - 2  # the table and the record of the thread are no pointers that are given
    words = (ctypes.c_void_p * (1 + pointers)).from_address(params)
    addresses = [ctypes.c_int64.from_address(words[1 + k]).value for k in range(pointers)]
    ptx = kernel.code_of(code.printer, code.what, kernel.Simt).ptx.text
    size = int(ptx.split("kernel_param_0[")[1].split("]")[0]) // 8
    numbers = array("q", (ctypes.c_int64 * size).from_address(words[0]))
    fake.launches.append((code.printer.__name__, stream))
    fake.do(lambda: fake.gpu.launch(code, grid[0], numbers, addresses), None)


class Fake(Strict):
    """The module."""

    kind = FakeArray
    ndarray = FakeArray

    def __init__(self) -> None:
        self.streams = self.linked = 0
        self._live: WeakValueDictionary[int, np.ndarray] = WeakValueDictionary()
        self.functions: list[tuple[Any, int]] = []
        self.reset()
        self.asnumpy = lambda a: a.get()
        self.get_array_module = lambda *args: self
        runtime = SimpleNamespace(
            driverGetVersion=lambda: self.version, getDevice=lambda: self.current, CUDARuntimeError=CUDARuntimeError
        )
        self.cuda = SimpleNamespace(
            runtime=runtime,
            driver=SimpleNamespace(launchKernel=_launch_kernel, CUDADriverError=CUDADriverError),
            function=SimpleNamespace(LinkState=LinkState, Module=Module),
            get_current_stream=lambda: Stream._current[-1],
            Stream=Stream,
            Event=Event,
            Device=Device,
            alloc_pinned_memory=_pinned,
            get_elapsed_time=lambda a, b: 1.0,
        )

    def reset(self, seed: int = 0) -> None:
        """As it is at first."""
        self.version, self.current, self.capabilities = 12040, 0, {0: "90", 1: "90", 2: "61"}
        self.reads, self.launches, self.late, self.broken = list[str](), list[tuple[str, int]](), False, None
        self.limit: float = math.inf
        self.gpu = EmulatedDevice(seed)
        Stream._current[1:] = []

    def is_available(self) -> bool:
        return True

    def wait(self, why: str) -> None:
        """The host waits for the device."""
        if Stream._current[-1].captured is not None:
            raise CUDARuntimeError("cudaErrorStreamCaptureUnsupported: operation not permitted when stream is capturing")
        self.reads.append(why)

    def do(self, do: Any, keep: Any) -> None:
        """Have the device do something."""
        noted = Stream._current[-1].captured
        if noted is None:
            do()
        else:
            noted.append((do, keep))

    def count(self, data: np.ndarray) -> None:
        """Arrays count once, however many views show them. A graph keeps what it uses."""
        while isinstance(data.base, np.ndarray):
            data = data.base
        self._live[id(data)] = data
        noted = Stream._current[-1].captured
        if noted is not None:
            noted.append((lambda: None, data))

    @property
    def used(self) -> int:
        """The bytes of all arrays."""
        return sum(data.nbytes for data in list(self._live.values()))

    def _room(self, shape: Any, dtype: Any) -> Any:
        size = math.prod(shape if isinstance(shape, (tuple, list)) else (shape,)) * np.dtype(dtype).itemsize
        if size + self.used > self.limit:
            raise OutOfMemoryError(f"Out of memory allocating {size:,} bytes (allocated so far: {self.used:,} bytes).")
        return self.gpu.empty(shape if isinstance(shape, tuple) else (shape,), dtype)

    def empty(self, shape: Any, dtype: Any = float) -> FakeArray:
        """Noise between margins, from the pool."""
        return FakeArray(self._room(shape, dtype))

    def zeros(self, shape: Any, dtype: Any = float) -> FakeArray:
        """Set where the stream comes to it."""
        made = self.empty(shape, dtype)
        made.fill(0)
        return made

    def asarray(self, x: Any, dtype: Any = None) -> FakeArray:
        """An array as it is; others are copied to the device."""
        return x if isinstance(x, FakeArray) and dtype in (None, x.dtype) else FakeArray(np.array(_plain(x), dtype=dtype))

    def array(self, x: Any, dtype: Any = None) -> FakeArray:
        """A copy."""
        return FakeArray(np.array(_plain(x), dtype=dtype))


def _plain(x: Any) -> Any:
    return x if isinstance(x, np.ndarray) else _unwrap(x)


class Device:
    """A device; `with` makes it the current one."""

    def __init__(self, number: int) -> None:
        self.id, self.compute_capability = number, fake.capabilities[number]

    def __enter__(self) -> Device:
        self._before, fake.current = fake.current, self.id
        return self

    def __exit__(self, *_: object) -> None:
        fake.current = self._before


def _pinned(size: int) -> Any:
    room = ctypes.create_string_buffer(size)
    return SimpleNamespace(ptr=ctypes.addressof(room), room=room)


fake: Any = Fake.__new__(Fake)
fake.streams = 0
Stream._current.append(Stream(0))
fake.__init__()  # type: ignore[misc]
