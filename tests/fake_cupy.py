"""A CuPy without a GPU: the names that catad uses, over memory of NumPy, and kernels in the emulator.

Array code runs as on strict arrays. The driver takes the block of arguments apart as that of NVIDIA does, and runs the kernel in
the words of the emulator. It counts what makes the host wait (`reads`). A stream that is captured notes launches and fills
instead of running them, and raises where the host would wait. `limit` bounds the bytes of all arrays, `seed` draws orders.

The current device, its context and the current streams are those of a thread. A thread has no context until it sets a device or
asks for free memory; the real CuPy gives it one in other calls too, and so hides where it is missing.
"""

from __future__ import annotations

import ctypes
import math
import time
from types import SimpleNamespace
from typing import Any, ClassVar
from weakref import WeakValueDictionary

import numpy as np

from catad.testing.emulator.device import Address, EmulatedDevice

from .fake_driver import driver_of, here, set_device
from .strict_arrays import Strict, StrictArray, _Function, _unwrap, _wrap

METHODS = {"reshape", "astype", "copy", "sum", "any", "all", "min", "max", "ravel", "transpose", "take", "view"}
PLACES = {"__getitem__", "__setitem__"}
OPERATORS = {"neg", "abs", "invert", "pos", "lt", "le", "gt", "ge", "eq", "ne"} | {
    side + name
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "matmul", "lshift", "rshift")
    for side in ("", "r")
}
_CUDA = 2  # the kind of device that DLPack calls CUDA


class CUDARuntimeError(RuntimeError):
    """As the real one."""


class OutOfMemoryError(MemoryError):
    """As the real one."""


def _replayed(plain: Any) -> Any:
    """Array code, which a graph runs again on the same arrays; views and what is written in place lie there already."""

    def method(*args: Any, **kwargs: Any) -> Any:
        made = plain(*args, **kwargs)
        noted = Stream.current().captured
        if noted is not None:
            noted.append((lambda: _into(made, plain(*args, **kwargs)), (made, args, kwargs)))
        return made

    return method


def _into(old: Any, new: Any) -> None:
    if isinstance(old, (tuple, list)):
        for pair in zip(old, new, strict=True):
            _into(*pair)
    elif isinstance(old, FakeArray) and not np.may_share_memory(old._data, new._data):
        old._data[...] = new._data


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
        self.device = Device(here.device)
        fake.count(data)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()` explicitly.")

    def __array_namespace__(self, api_version: str | None = None) -> Any:
        return fake

    @property
    def data(self) -> Any:
        """A pointer."""
        return SimpleNamespace(ptr=self._data.__array_interface__["data"][0], copy_to_host_async=self._to_host)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        strides = None if self._data.flags.c_contiguous else self.strides
        shown = {"shape": self.shape, "typestr": self.dtype.str, "data": (self.data.ptr, False), "strides": strides}
        return {**shown, "descr": self.dtype.descr, "stream": Stream.current().ptr or 1, "version": 3}

    def __dlpack_device__(self) -> tuple[int, int]:
        return _CUDA, self.device.id

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: Any = None) -> Any:
        """The capsule of NumPy, which says that the memory is that of a device."""
        if not self._data.flags.writeable:
            raise BufferError("read-only")
        capsule = self._data.__dlpack__()
        _device_in(capsule)[:] = [_CUDA, self.device.id]
        return capsule

    def __getitem__(self, key: Any) -> Any:
        """Where NumPy's indices are out of range, these wrap; a mask says only on the device how many it takes."""
        parts = key if isinstance(key, tuple) else (key,)
        if any(isinstance(part, FakeArray) and part.dtype.kind == "b" for part in parts):
            fake.wait("a mask")
        elif any(isinstance(part, FakeArray) for part in parts) and not any(part is None or part is ... for part in parts):
            sizes = self.shape[: len(parts)]
            key = tuple(
                [
                    FakeArray(part._data % n) if isinstance(part, FakeArray) and n else part
                    for part, n in zip(parts, sizes, strict=False)
                ]
            )
        return super().__getitem__(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        """Nobody says which of several writes at one place comes last."""
        if isinstance(key, FakeArray) and key.dtype.kind in "iu" and key.ndim == 1 and isinstance(value, FakeArray):
            order = fake.random.permutation(key.size)
            given = np.broadcast_to(value._data, (key.size, *self.shape[1:]))
            self._data[key._data[order] % max(len(self), 1)] = given[order]
        else:
            super().__setitem__(key, value)

    @property
    def flags(self) -> Any:
        """Arrays of CuPy cannot be made read-only, so their flags do not say whether they are."""
        mine = self._data.flags
        return SimpleNamespace(c_contiguous=mine.c_contiguous, f_contiguous=mine.f_contiguous, owndata=mine.owndata)

    def _to_host(self, place: int, size: int, stream: Any) -> None:
        assert not stream.captured, "copies to pageable memory cannot be captured"
        ctypes.memmove(place, self.data.ptr, size)

    def fill(self, value: Any) -> None:
        """Whatever equals 0 clears the memory, and -0.0 does."""
        fake.do(lambda: self._data.fill(value if value else 0), self)

    for _name in ("get", "item", "tolist", "__bool__", "__int__", "__float__", "__index__", "__str__"):
        locals()[_name] = _waits(_name)


for _name, _own in {**vars(StrictArray), **vars(FakeArray)}.items():
    if callable(_own) and (_name in METHODS | PLACES or _name.strip("_") in OPERATORS):
        setattr(FakeArray, _name, _replayed(_own))


class _FakeFunction(_Function):
    """A function of the module."""

    __call__ = _replayed(_Function.__call__)


class Stream:
    """A stream of a device, or of any (-1); what it is given to do is done at once, or when it is captured, noted."""

    null: ClassVar[Stream]

    def __init__(self, ptr: int | None = None, device_id: int = -1) -> None:
        self.ptr, self.device_id = (16 * (1 + fake.streams), here.device) if ptr is None else (ptr, device_id)
        fake.streams += 1
        self.captured: list[tuple[Any, Any]] | None = None

    @staticmethod
    def current() -> Stream:
        """That of this thread and its device."""
        return here.streams.setdefault(here.device, [Stream.null])[-1]

    def __enter__(self) -> Stream:
        if self.device_id not in (-1, here.device):
            raise RuntimeError("The device that the stream is created on does not match with the current device")
        Stream.current()
        self._within = here.streams[here.device]
        self._within.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        self._within.pop()

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
    """An event; `late` ones are not done until somebody waits for them. Their time is that of the emulator."""

    def __init__(self, block: bool = False, disable_timing: bool = False, interprocess: bool = False) -> None:
        self.done, self.timed, self.at = False, not disable_timing, 0.0

    def record(self, stream: Any = None) -> None:
        self.done, self.at = not fake.late, time.perf_counter()

    def synchronize(self) -> None:
        fake.wait("event")
        self.done = True


def _elapsed(begun: Event, ended: Event) -> float:
    """Milliseconds; as with the real one, both events must have been reached, and must take times."""
    if not (begun.done and ended.done):
        raise CUDARuntimeError("cudaErrorNotReady: device not ready")
    if not (begun.timed and ended.timed):
        raise CUDARuntimeError("cudaErrorInvalidResourceHandle: invalid resource handle")
    return 1e3 * (ended.at - begun.at)


class Pool:
    """The memory pool."""

    def used_bytes(self) -> int:
        return fake.used

    def total_bytes(self) -> int:
        return fake.used

    def free_all_blocks(self, stream: Any = None) -> None:
        pass

    def set_limit(self, size: int | None = None, fraction: float | None = None) -> None:
        fake.limit = size or math.inf


class Fake(Strict):
    """The module."""

    kind = FakeArray
    function = _FakeFunction
    ndarray = FakeArray

    def __init__(self) -> None:
        self.streams = self.linked = 0
        self._live: WeakValueDictionary[int, np.ndarray] = WeakValueDictionary()
        self._devices: dict[int, int] = {}
        self.functions: list[tuple[Any, int, int]] = []
        self.reset()
        self.thread = here
        self.asnumpy = lambda a: a.get()
        self.get_array_module = lambda *args: self if any(isinstance(a, FakeArray) for a in args) else np
        self.get_default_memory_pool = Pool
        runtime = SimpleNamespace(
            driverGetVersion=lambda: self.version,
            getDevice=lambda: here.device,
            setDevice=set_device,
            memGetInfo=lambda: set_device(here.device),
            getDeviceProperties=lambda number: {"name": b"a fake GPU"},
            CUDARuntimeError=CUDARuntimeError,
        )
        driver, function = driver_of(self)
        self.cuda = SimpleNamespace(
            runtime=runtime,
            driver=driver,
            function=function,
            get_current_stream=Stream.current,
            Stream=Stream,
            ExternalStream=Stream,
            Event=Event,
            Device=Device,
            alloc_pinned_memory=_pinned,
            get_elapsed_time=_elapsed,
        )

    def reset(self, seed: int = 0) -> None:
        """As it is at first."""
        self.version, self.capabilities = 12040, {0: "90", 1: "90", 2: "61"}
        self.reads, self.launches, self.late, self.broken = list[str](), list[tuple[str, int]](), False, None
        self.copied = list[int]()  # the bytes of each copy from the host
        self.limit: float = math.inf
        self.gpu = EmulatedDevice(seed)
        self.random = np.random.default_rng(seed)
        here.__init__()  # type: ignore[misc]

    def is_available(self) -> bool:
        return True

    def wait(self, why: str) -> None:
        """The host waits for the device."""
        if Stream.current().captured is not None:
            raise CUDARuntimeError("cudaErrorStreamCaptureUnsupported: operation not permitted when stream is capturing")
        self.reads.append(why)

    def do(self, do: Any, keep: Any) -> None:
        """Have the device do something."""
        noted = Stream.current().captured
        if noted is None:
            do()
        else:
            noted.append((do, keep))

    def count(self, data: np.ndarray) -> None:
        """Arrays count once, however many views show them. A graph keeps what it uses."""
        while isinstance(data.base, np.ndarray):
            data = data.base
        if id(data) not in self._live:
            self._live[id(data)], self._devices[id(data)] = data, here.device
        noted = Stream.current().captured
        if noted is not None:
            noted.append((lambda: None, data))

    def address(self, pointer: int) -> tuple[Address, int]:
        """Where a pointer may be followed to, and the device on which that is. Nothing may be read that is no array any more."""
        for data in [found for ref in self._live.valuerefs() if (found := ref()) is not None]:
            found = Address(data, pointer)
            if found.ends.low <= pointer <= found.ends.high:
                return found, self._devices[id(data)]
        raise AssertionError("a kernel is given an address where no array lies")

    @property
    def used(self) -> int:
        """The bytes of all arrays."""
        return sum(data.nbytes for ref in self._live.valuerefs() if (data := ref()) is not None)

    def _room(self, shape: Any, dtype: Any) -> Any:
        size = math.prod(shape if isinstance(shape, (tuple, list)) else (shape,)) * np.dtype(dtype).itemsize
        if size + self.used > self.limit:
            raise OutOfMemoryError(f"Out of memory allocating {size:,} bytes (allocated so far: {self.used:,} bytes).")
        return self.gpu.empty(tuple(shape) if isinstance(shape, (tuple, list)) else (shape,), dtype)

    def empty(self, shape: Any, dtype: Any = float) -> FakeArray:
        """Noise, from the pool."""
        return FakeArray(self._room(shape, dtype))

    def zeros(self, shape: Any, dtype: Any = float) -> FakeArray:
        """Set where the stream comes to it."""
        made = self.empty(shape, dtype)
        made.fill(0)
        return made

    def asarray(self, x: Any, dtype: Any = None, order: Any = None, *, blocking: bool = False) -> FakeArray:
        """An array as it is, also one that another library shows on the device; others are copied to the device."""
        if not isinstance(x, FakeArray) and hasattr(x, "__cuda_array_interface__"):
            x = _shown(x.__cuda_array_interface__)
        return x if isinstance(x, FakeArray) and dtype in (None, x.dtype) else self.array(x, dtype)

    @_replayed
    def array(
        self,
        obj: Any,
        dtype: Any = None,
        copy: bool = True,
        order: Any = "K",
        subok: bool = False,
        ndmin: int = 0,
        *,
        blocking: bool = False,
    ) -> FakeArray:
        """A copy."""
        if not copy and isinstance(obj, FakeArray):
            return self.asarray(obj, dtype)
        found = obj if isinstance(obj, np.ndarray) else _unwrap(obj)
        made = np.array(found, dtype=dtype, ndmin=ndmin)
        self._room(made.shape, made.dtype)
        if not isinstance(obj, FakeArray) and made.ndim:  # a number is an argument of a kernel
            self.copied.append(made.nbytes)
            if Stream.current().captured is not None:
                raise CUDARuntimeError("cudaErrorStreamCaptureUnsupported: a copy from the host has a buffer that is reused")
        return FakeArray(made)

    def from_dlpack(self, array: Any, *, device: Any = None, copy: Any = None) -> FakeArray:
        """An array that another library exports from a device, without a copy."""
        kind, number = array.__dlpack_device__()
        if kind != _CUDA:
            raise BufferError("unsupported device")
        capsule = array.__dlpack__(stream=Stream.current().ptr or 1)
        _device_in(capsule)[:] = [1, 0]
        plain = SimpleNamespace(__dlpack__=lambda **_: capsule, __dlpack_device__=lambda: (1, 0))
        made = FakeArray(np.from_dlpack(plain))  # type: ignore[arg-type]
        made.device, self._devices[id(made._data)] = Device(number), number
        return made

    @_replayed
    def nonzero(self, a: Any) -> Any:
        """Only the device knows how many there are."""
        self.wait("nonzero")
        return _wrap(np.nonzero(a._data), FakeArray)

    @_replayed
    def flatnonzero(self, a: Any) -> Any:
        """The same."""
        self.wait("flatnonzero")
        return _wrap(np.flatnonzero(a._data), FakeArray)

    @_replayed
    def bincount(self, x: Any, weights: Any = None, minlength: int | None = None) -> Any:
        """The same, of bins."""
        self.wait("bincount")
        return _wrap(np.bincount(x._data, None if weights is None else weights._data, minlength or 0), FakeArray)

    @_replayed
    def take_along_axis(self, a: Any, indices: Any, axis: int) -> Any:
        """Indices wrap."""
        if not a.shape[axis] and indices.size:
            raise IndexError("index out of range of an axis of size 0")
        return _wrap(np.take_along_axis(a._data, indices._data % max(a.shape[axis], 1), axis), FakeArray)

    @_replayed
    def take(self, a: Any, indices: Any, axis: int | None = None, out: Any = None) -> Any:
        """Indices wrap."""
        return _wrap(np.take(_unwrap(a), _unwrap(indices), axis=axis, mode="wrap"), FakeArray)


def _device_in(capsule: Any) -> Any:
    """The two words of a capsule of DLPack that say where its memory lies: a kind, and a number."""
    point = ctypes.pythonapi.PyCapsule_GetPointer
    point.restype, point.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return (ctypes.c_int32 * 2).from_address(point(capsule, b"dltensor") + ctypes.sizeof(ctypes.c_void_p))


def _shown(found: dict[str, Any]) -> FakeArray:
    """The array behind a `__cuda_array_interface__`."""
    plain = {key: found[key] for key in ("shape", "typestr", "data", "strides")} | {"version": 3}
    return FakeArray(np.asarray(SimpleNamespace(__array_interface__=plain)))


class Device:
    """A device; `with` makes it the current one."""

    def __init__(self, number: int | None = None) -> None:
        self.id = here.device if number is None else number

    @property
    def compute_capability(self) -> str:
        return str(fake.capabilities[self.id])

    def __int__(self) -> int:
        return self.id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and self.id == other.id

    def __hash__(self) -> int:
        return hash(self.id)

    def synchronize(self) -> None:
        fake.wait("device")

    def __enter__(self) -> Device:
        self._before = here.device
        if self.id != here.device:
            set_device(self.id)
        return self

    def __exit__(self, *_: object) -> None:
        set_device(self._before)


def _pinned(size: int) -> Any:
    room = ctypes.create_string_buffer(size)
    return SimpleNamespace(ptr=ctypes.addressof(room), room=room)


fake: Any = Fake.__new__(Fake)
fake.streams = 0
Stream.null = Stream(0)
fake.__init__()  # type: ignore[misc]
