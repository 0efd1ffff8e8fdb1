"""The driver of a fake CuPy: it makes "machine code" of PTX, takes arguments apart, and has the emulator run kernels."""

from __future__ import annotations

import ctypes
import threading
from array import array
from types import SimpleNamespace
from typing import Any

from catad.engine.cuda import kernel
from catad.testing.emulator.words import SHARED, Coroutines


class CUDADriverError(RuntimeError):
    """As the real one."""

    def __init__(self, status: int, said: str) -> None:
        super().__init__(said)
        self.status = status


class _Here(threading.local):
    """What a thread has of its own: a device, the device whose context the driver uses or None, and streams by device."""

    def __init__(self) -> None:
        self.device = 0
        self.context: int | None = None
        self.streams: dict[int, list[Any]] = {}


here = _Here()


def set_device(number: int) -> None:
    """The device of this thread; from CUDA 12 on its context is then current, too."""
    here.device = here.context = number


def _is(code: Any, text: str, architecture: str) -> bool:
    return code.words is not Coroutines and code.ptx_for(architecture).text == text


def driver_of(fake: Any) -> tuple[Any, Any]:
    """The modules `driver` and `function` of `cupy.cuda`."""

    def context() -> int:
        if here.context is None:
            raise CUDADriverError(201, "CUDA_ERROR_INVALID_CONTEXT: invalid device context")
        return int(here.context)

    class LinkState:
        """Makes something of PTX that a module finds the kernel of again."""

        def __init__(self) -> None:
            context()
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
            self.context = context()
            if fake.broken:
                raise CUDADriverError(*fake.broken)
            begin, ptx = cubin.split(b"\0", 1)
            assert begin == b"cubin"
            text = ptx.decode()
            at = "sm_80" if ".target sm_80" in text else "sm_70"
            (self.code, *_) = [code for ref in kernel._codes.valuerefs() if (code := ref()) is not None and _is(code, text, at)]

        def get_function(self, name: str) -> Any:
            assert name == "kernel"
            code = kernel.code_of(self.code.printer, self.code.what, Coroutines)
            fake.functions.append((code, self.code.threads, self.context))
            return SimpleNamespace(ptr=len(fake.functions), module=self)

    def launch_kernel(f: int, *rest: int) -> None:
        *grid, shared, stream, params, extra = rest
        code, threads, own = fake.functions[f - 1]
        current = fake.cuda.get_current_stream()
        if own != context() or current.device_id not in (-1, own):
            raise CUDADriverError(400, "CUDA_ERROR_INVALID_HANDLE: invalid resource handle")
        assert grid[1:] == [1, 1, threads, 1, 1] and 0 < grid[0] < 2**31 and not extra and stream == current.ptr
        assert 0 <= shared <= SHARED
        text = code.llvm.split("define ptr @kernel(")[1].split(")")[0]
        pointers = text.count("ptr ") - 3  # without the table, the record of the thread and what is known of the arrays
        words = (ctypes.c_void_p * (1 + pointers)).from_address(params)
        found = [fake.address(ctypes.c_int64.from_address(words[1 + k]).value) for k in range(pointers)]
        addresses = [address for address, device in found]
        assert all(device == own for _, device in found), "a kernel is given an array of another device"
        ptx = kernel.code_of(code.printer, code.what, kernel.Simt).ptx.text
        size = int(ptx.split("kernel_param_0[")[1].split("]")[0]) // 8
        numbers = array("q", (ctypes.c_int64 * size).from_address(words[0]))
        fake.launches.append((code.printer.__name__, stream))
        fake.do(lambda: fake.gpu.launch(code, grid[0], numbers, addresses, shared), None)

    driver = SimpleNamespace(
        launchKernel=launch_kernel,
        ctxGetCurrent=lambda: 0 if here.context is None else 1000 + here.context,
        CUDADriverError=CUDADriverError,
    )
    return driver, SimpleNamespace(LinkState=LinkState, Module=Module)
