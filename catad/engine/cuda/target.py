"""NVIDIA's GPUs as LLVM's targets: text of LLVM IR becomes PTX, by llvmlite's own NVPTX back end. No GPU is needed.

PTX is kept on disk (`store`) under a key of the text, the versions and the architecture, and in the process. It is of version
8.0, which drivers from 525 (CUDA 12.0) on read; the driver makes machine code of it for the GPU that it has, which may be newer
than the architecture named here.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from catad.engine import disk_cache
from catad.engine.llvm import lock, with_module
from catad.support.lru import Recent
from catad.version import __version__

VERSION = "ptx80"
ARCHITECTURES = ("sm_70", "sm_80", "sm_90")
DEFAULT = "sm_80"
TRIPLE = "nvptx64-nvidia-cuda"
LEVEL = 3
KEPT = 512  # texts kept in the process
OPTIONS = f"{VERSION} O{LEVEL} no vectors"  # part of the key: change it with `_NVPTX`

counts: Counter[str] = Counter()  # "compiled" by LLVM, "loaded" from disk, "reused" in the process: tests count these


class Ptx(NamedTuple):
    """PTX for an architecture, what it cost to get it, and where it came from: "compiled" or "disk"."""

    text: str
    architecture: str
    seconds: float
    origin: str


class _NVPTX:
    """llvmlite's binding, set up for an architecture."""

    def __init__(self, architecture: str) -> None:
        from llvmlite import binding

        self.binding: Any = binding
        binding.initialize_all_targets()
        binding.initialize_all_asmprinters()
        self.triple = TRIPLE
        target = binding.Target.from_triple(TRIPLE)
        self.machine = target.create_target_machine(cpu=architecture, features=f"+{VERSION}", opt=LEVEL)
        self.layout = str(self.machine.target_data)
        tuning = binding.create_pipeline_tuning_options(speed_level=LEVEL)
        tuning.loop_vectorization = tuning.slp_vectorization = False
        tuning.loop_unrolling = tuning.loop_interleaving = False
        self.tunings = {LEVEL: tuning}
        self.passes: dict[int, tuple[str, ...]] = {}

    def generator(self, level: int) -> Any:
        """The target machine, the same for every level."""
        return self.machine


@cache
def _target(architecture: str) -> _NVPTX:
    with lock:
        return _NVPTX(architecture)


_recent: Recent[tuple[str, str], Ptx] = Recent(KEPT)


def ptx(text: str | Callable[[], str], key: str | None = None, architecture: str = DEFAULT) -> Ptx:
    """The PTX of LLVM IR without target triple and data layout; or, with a key that only the same text has, of what prints it
    where nothing is found under that key. Raises `EngineError` where LLVM refuses the text.

    >>> made = ptx("define ptx_kernel void @k(ptr %p) { store float 1.0, ptr %p ret void }")
    >>> ".visible .entry k(" in made.text
    True
    """
    if key is None:
        text = key = text if isinstance(text, str) else text()
    found = _recent.get((key, architecture))
    if found is None:
        found = _recent[key, architecture] = _made(text, key, architecture)
    else:
        counts["reused"] += 1
    return found


def forget() -> None:
    """Let go of all texts in the process; those on disk stay there."""
    _recent.clear()


def _made(text: str | Callable[[], str], key: str, architecture: str) -> Ptx:
    start = time.perf_counter()
    name = file_of(key, architecture, "", "ptx")
    known = disk_cache.read(name)
    if known is not None:
        counts["loaded"] += 1
        return Ptx(known.decode(), architecture, time.perf_counter() - start, "disk")
    text = text if isinstance(text, str) else text()
    made: str = with_module(
        text, lambda: _target(architecture), lambda llvm, module: llvm.machine.emit_assembly(module), LEVEL
    )
    counts["compiled"] += 1
    disk_cache.write(name, made.encode())
    return Ptx(made, architecture, time.perf_counter() - start, "compiled")


def file_of(key: str, architecture: str, driver: str, kind: str) -> str:
    """The name of the file that keeps what was made of a text, or of what has a key, for a GPU and a driver."""
    parts = (key, __version__, OPTIONS, architecture, *([driver] if driver else []), _llvmlite())
    return hashlib.sha256("\0".join(parts).encode()).hexdigest() + f".{kind}"


@cache
def _llvmlite() -> str:
    import llvmlite  # the package alone, without LLVM

    return f"llvmlite {llvmlite.__version__}"
