"""The driver of a fake CuPy: it makes "machine code" of PTX, takes arguments apart, and has the emulator run kernels."""

from __future__ import annotations

import ctypes
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


def _is(code: Any, text: str, architecture: str) -> bool:
    return code.words is not Coroutines and code.ptx_for(architecture).text == text


def driver_of(fake: Any) -> tuple[Any, Any]:
    """The modules `driver` and `function` of `cupy.cuda`."""

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
            (self.code, *_) = [code for ref in kernel._codes.valuerefs() if (code := ref()) is not None and _is(code, text, at)]

        def get_function(self, name: str) -> Any:
            assert name == "kernel"
            code = kernel.code_of(self.code.printer, self.code.what, Coroutines)
            fake.functions.append((code, self.code.threads))
            return SimpleNamespace(ptr=len(fake.functions), module=self)

    def launch_kernel(f: int, *rest: int) -> None:
        *grid, shared, stream, params, extra = rest
        code, threads = fake.functions[f - 1]
        current = fake.cuda.get_current_stream()
        assert grid[1:] == [1, 1, threads, 1, 1] and 0 < grid[0] < 2**31 and not extra and stream == current.ptr
        assert 0 <= shared <= SHARED
        text = code.llvm.split("define ptr @kernel(")[1].split(")")[0]
        pointers = text.count("ptr ") - 2  # the table and the record of the thread are no pointers that are given
        words = (ctypes.c_void_p * (1 + pointers)).from_address(params)
        addresses = [ctypes.c_int64.from_address(words[1 + k]).value for k in range(pointers)]
        ptx = kernel.code_of(code.printer, code.what, kernel.Simt).ptx.text
        size = int(ptx.split("kernel_param_0[")[1].split("]")[0]) // 8
        numbers = array("q", (ctypes.c_int64 * size).from_address(words[0]))
        fake.launches.append((code.printer.__name__, stream))
        fake.do(lambda: fake.gpu.launch(code, grid[0], numbers, addresses, shared), None)

    driver = SimpleNamespace(launchKernel=launch_kernel, CUDADriverError=CUDADriverError)
    return driver, SimpleNamespace(LinkState=LinkState, Module=Module)
