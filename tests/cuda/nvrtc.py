"""LLVM and NVIDIA's assembler beside NVRTC: the time from the text of a map to machine code, in turn, on this machine.

The same maps in CUDA C are written by hand, with the loads of 16 bytes that catad's kernels have. NVRTC compiles them in this
process; the assembler is a process of its own, whose start is in its time and is printed, too. It needs no GPU:

    pip install nvidia-cuda-nvrtc-cu12 nvidia-cuda-nvcc-cu12
    python -m tests.cuda.nvrtc
"""

from __future__ import annotations

import ctypes
import importlib.util
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import catad as ct
from catad.engine.cuda import steps
from catad.engine.cuda.intrinsics import Simt
from catad.scalar.printing import llvm

from . import bounds
from .test_ptxas import ARCHITECTURES, PTXAS

RUNS = 9
LIMIT = 120  # seconds for one run of the assembler
_WHOLE = """
extern "C" __global__ void __launch_bounds__(256) kernel(%(parameters)s, long long n) {
  long long step = (long long)gridDim.x * blockDim.x * %(width)d;
  for (long long i = ((long long)blockIdx.x * blockDim.x + threadIdx.x) * %(width)d; i < n; i += step) {
    if (i + %(width)d <= n) {
%(loads)s
%(works)s
%(stores)s
    } else {
      for (long long j = i; j < n; j++) f(%(single)s);
    }
  }
}
"""


class Written(NamedTuple):
    """A map in CUDA C: a device function `f` of its arguments and of references to its results, numbers of one type."""

    kind: str
    arguments: int
    results: int
    text: str

    @property
    def source(self) -> str:
        """The kernel: each thread takes 16 bytes of each array at a time, and what is left one by one."""
        width = 4 if self.kind == "float" else 2
        wide, names = f"{self.kind}{width}", [f"a{k}" for k in range(self.arguments)]
        outs, fields = [f"r{k}" for k in range(self.results)], "xyzw"[:width]
        given = [*[f"const {self.kind}* __restrict__ {a}" for a in names], *[f"{self.kind}* __restrict__ {r}" for r in outs]]
        loads = [f"      {wide} v{a} = *(const {wide}*)({a} + i);" for a in names] + [f"      {wide} v{r};" for r in outs]
        works = [f"      f({', '.join([f'v{each}.{field}' for each in (*names, *outs)])});" for field in fields]
        stores = [f"      *({wide}*)({r} + i) = v{r};" for r in outs]
        return self.text + _WHOLE % {
            "parameters": ", ".join(given),
            "width": width,
            "loads": "\n".join(loads),
            "works": "\n".join(works),
            "stores": "\n".join(stores),
            "single": ", ".join([f"{each}[j]" for each in (*names, *outs)]),
        }


N = 2400
CELL = """
__device__ float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }
__device__ void f(float z, float zb, float c, float f, float i, float g, float& h) {
  h = z == 1 ? sigmoid(i) * tanhf(g) : zb == 0 ? c : sigmoid(f) * c + sigmoid(i) * tanhf(g);
}
"""
EXP = "__device__ void f(float x, float y, float& a, float& b) { a = expf(x) * y; b = logf(x * x + y * y); }\n"
POWER = "__device__ void f(double x, double y, double& a) { a = pow(x, y); }\n"
MAPS: dict[str, tuple[ct.D, Any, Written]] = {
    "exp and log, f32": (
        ct.map(lambda x, y: (np.exp(x) * y, np.log(x * x + y * y))), [ct.f32[N]] * 2, Written("float", 2, 2, EXP),
    ),
    "power, f64": (ct.map(lambda x, y: x**y), [ct.f64[N]] * 2, Written("double", 2, 1, POWER)),
    "the cell of an HM-LSTM, f32": (ct.map(bounds.cell), [ct.f32[N]] * 6, Written("float", 6, 1, CELL)),
}  # fmt: skip


class Nvrtc:
    """NVIDIA's run-time compiler of its wheel. Raises ImportError where it is not installed, RuntimeError where it refuses."""

    def __init__(self) -> None:
        found = importlib.util.find_spec("nvidia.cuda_nvrtc") if importlib.util.find_spec("nvidia") else None
        if found is None or found.submodule_search_locations is None:
            raise ImportError("pip install nvidia-cuda-nvrtc-cu12")
        folders = [Path(place) / "lib" for place in found.submodule_search_locations]
        (path, *_) = [one for folder in folders for one in sorted(folder.glob("libnvrtc.so.*"))]
        self.library = ctypes.CDLL(str(path))

    def _do(self, name: str, *args: Any) -> None:
        status = getattr(self.library, name)(*args)
        if status:
            self.library.nvrtcGetErrorString.restype = ctypes.c_char_p
            raise RuntimeError(f"{name}: {self.library.nvrtcGetErrorString(status).decode()}")

    @property
    def version(self) -> str:
        """As "12.9"."""
        major, minor = ctypes.c_int(), ctypes.c_int()
        self._do("nvrtcVersion", ctypes.byref(major), ctypes.byref(minor))
        return f"{major.value}.{minor.value}"

    def cubin(self, source: str, architecture: str) -> bytes:
        """The machine code of a kernel; products and sums are not contracted, as in catad's kernels."""
        options = [f"--gpu-architecture={architecture}", "--fmad=false"]
        program, size = ctypes.c_void_p(), ctypes.c_size_t()
        self._do("nvrtcCreateProgram", ctypes.byref(program), source.encode(), b"kernel.cu", 0, None, None)
        try:
            given = (ctypes.c_char_p * len(options))(*[one.encode() for one in options])
            self._do("nvrtcCompileProgram", program, len(options), given)
            self._do("nvrtcGetCUBINSize", program, ctypes.byref(size))
            room = ctypes.create_string_buffer(size.value)
            self._do("nvrtcGetCUBIN", program, room)
        finally:
            self._do("nvrtcDestroyProgram", ctypes.byref(program))
        return room.raw


def assembled(text: str, architecture: str, folder: Path) -> bytes:
    """The machine code of PTX."""
    (folder / "kernel.ptx").write_text(text)
    command = [str(PTXAS), "-arch", architecture, "kernel.ptx", "-o", "kernel.cubin"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=LIMIT)
    return (folder / "kernel.cubin").read_bytes()


def processor() -> float:
    """The processor time of this process and of those that it has waited for."""
    own = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum([one.ru_utime + one.ru_stime for one in own])


def spent(run: Callable[[], Any]) -> float:
    begun = processor()
    run()
    return processor() - begun


def kernel_of(f: ct.D, spaces: Sequence[Any]) -> Callable[[], str]:
    """What prints the text of the one kernel of a map."""
    found: list[Any] = []
    real = steps.way_of

    def way_of(device: Any, *stage: Any) -> Any:
        found.append(real(device, *stage))
        return found[-1]

    steps.way_of = way_of
    try:
        f.source("ptx", ct.product(*spaces))
    finally:
        steps.way_of = real
    (way,) = found
    code = way._code(way.aligned)

    def text() -> str:
        llvm._printed.cache_clear()
        made: str = code.printer(code.what, Simt).text()
        return made

    return text


def report() -> None:
    """Prints medians of processor time, and of the ratio of runs that followed each other."""
    nvrtc = Nvrtc()
    version = subprocess.run([str(PTXAS), "--version"], capture_output=True, text=True, check=True, timeout=LIMIT).stdout
    release = version.split("release ")[1].split(",")[0]
    print(f"NVRTC {nvrtc.version}, ptxas {release}; processor time in milliseconds, medians of {RUNS}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        asked = [str(PTXAS), "--version"]
        start = partial(subprocess.run, asked, check=True, capture_output=True, timeout=LIMIT)
        started = statistics.median([spent(start) for _ in range(RUNS)])
        print(f"the start of ptxas takes {1e3 * started:.0f}, which is within its times")
        for what, (f, spaces, written) in MAPS.items():
            text = kernel_of(f, spaces)
            for to in ARCHITECTURES:
                print(f"{what}, {to}: {compared(text, written.source, to, nvrtc, folder)}")


def compared(text: Callable[[], str], source: str, to: str, nvrtc: Nvrtc, folder: Path) -> str:
    """What a map takes both ways."""
    printed = text()
    ptx = bounds.ptx(printed)
    ways: list[Callable[[], Any]] = [
        text, lambda: bounds.ptx(printed), lambda: assembled(ptx, to, folder), lambda: nvrtc.cubin(source, to),
    ]  # fmt: skip
    for way in ways:  # the first time, libraries are loaded
        way()
    rows = [[spent(way) for way in ways] for _ in range(RUNS)]
    shown = [f"{1e3 * statistics.median(column):.0f}" for column in zip(*rows, strict=True)]
    ratio, with_text = (statistics.median([sum(row[k:3]) / row[3] for row in rows]) for k in (1, 0))
    own = f"text {shown[0]}, LLVM {shown[1]}, ptxas {shown[2]}; NVRTC {shown[3]}"
    return f"{own}; LLVM and ptxas {ratio:.2f} times NVRTC, {with_text:.2f} with the text"


if __name__ == "__main__":
    if PTXAS is None:
        sys.exit("no ptxas here: pip install nvidia-cuda-nvcc-cu12")
    try:
        report()
    except ImportError as error:
        sys.exit(f"no NVRTC here: {error}")
