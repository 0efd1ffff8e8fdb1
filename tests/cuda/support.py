"""What the tests of kernels for GPUs share: the engine on the emulator, with a seed; short kernels made of words alone."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.category.spaces import flatten
from catad.engine import cache_keys
from catad.engine.cuda import kernel
from catad.engine.cuda.intrinsics import Simt
from catad.scalar.printing.llvm_writer import Writer
from catad.testing.emulator import EmulatedGpu
from catad.testing.emulator.device import EmulatedDevice

SEEDS = 20


def emulated(seed: int = 0, most: int = 5) -> EmulatedGpu:
    """The engine "emulated gpu", made anew with a seed."""
    made = EmulatedGpu(seed, most)
    ct.engine.register(made)
    return made


@pytest.fixture
def gpu() -> EmulatedGpu:
    return emulated()


@pytest.fixture
def anew(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """For a planted bug or other sizes: no kernel is known from before, nor will one be known afterwards; and a new engine."""
    monkeypatch.setattr(cache_keys, "sources", lambda _: None)
    monkeypatch.setattr(kernel, "_codes", type(kernel._codes)())
    emulated()
    return monkeypatch


def on_gpu(f: Callable[..., Any], *x: Any) -> list[Any]:
    """The leaves of `f(*x)` on the emulator."""
    with ct.use_engine("emulated gpu"):
        return [np.asarray(leaf) for leaf in flatten(f(*x))]


class Written:
    """A kernel that a function writes: `write(simt)` uses the registers %t and %p0, %p1, ..."""

    def __init__(self, write: Callable[[Simt], None], numbers: int, pointers: int, threads: int = 64) -> None:
        self.write, self.numbers, self.pointers, self.threads = write, numbers, pointers, threads
        self.printer, self.what = Written, write

    def text(self, words: type[Simt] = Simt) -> str:
        w = Writer(gpu=True)
        simt = words(w, self.threads)
        self.write(simt)
        return simt.module(self.numbers, [f"ptr %p{j}" for j in range(self.pointers)])

    def run(self, device: EmulatedDevice, blocks: int, numbers: Sequence[int], *arrays: Any) -> None:
        code: Any = _Code(self.text(device.dialect), self.threads)
        device.launch(code, blocks, array("q", numbers), [device.address(a) for a in arrays])


class _Code:
    def __init__(self, llvm: str, threads: int) -> None:
        self.llvm, self.threads = llvm, threads
