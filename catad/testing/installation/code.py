"""Compiled code: that the processor runs it, and that a new process finds it on disk, and no code that was damaged."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import catad as ct
from catad.engine.cpu.run import target
from catad.testing.installation.case import Wrong, require

PROGRAM = """
import numpy as np, catad as ct
from catad.engine.cpu.run.target import counts
with ct.use_engine("cpu"):
    value, slopes = ct.value_and_grad(ct.sin >> ct.cumsum() >> ct.square >> ct.sum())(np.linspace(0.0, 1.0, 500))
print(counts["quick"] + counts["compiled"], counts["loaded"], value.hex(), slopes.tobytes().hex())
"""
SECONDS = 60


def compiled() -> None:
    """A program runs as machine code, and gives what the array code gives."""
    why = target.missing()
    if why is not None:
        raise Wrong(f"LLVM compiles no programs here, so the slower array code runs: {why}")
    x = np.linspace(0.0, 3.0, 1000) + os.getpid() % 7  # a program that other checks have not compiled
    program = ct.map(lambda a: a * ct.sin(a) + 0.25) >> ct.cumsum()
    before = sum(target.counts.values())
    with ct.use_engine("cpu"):
        got = program(x)
    if sum(target.counts.values()) == before:
        raise Wrong("the engine \"cpu\" has compiled no program")
    require("the value of compiled code", got, np.cumsum(x * np.sin(x) + 0.25), 1e-12)


def kept() -> None:
    """Three processes: the first compiles, the second finds the code on disk, the third one that its files are damaged."""
    with tempfile.TemporaryDirectory(prefix="catad-self-test-") as folder:
        first, second = _run(folder), _run(folder)
        for path in Path(folder).glob("*.o"):
            path.write_bytes(path.read_bytes()[:-8] + b"\xcc" * 8)
        third = _run(folder)
    if first[2:] != second[2:] or first[2:] != third[2:]:
        raise Wrong("the same program gives other bits in another process")
    for name, counts, is_compiled in (("first", first, True), ("second", second, False), ("third", third, True)):
        if (counts[0] > "0") != is_compiled or (counts[1] > "0") is is_compiled:
            expected = "should compile" if is_compiled else "should find its code on disk"
            raise Wrong(f"the {name} process {expected}: {counts[0]} parts compiled, {counts[1]} read from disk")


def _run(folder: str) -> list[str]:
    environment = {**os.environ, "CATAD_CACHE_DIR": folder, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", PROGRAM]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=SECONDS)
    if ran.returncode:
        raise Wrong(f"a new process fails: {ran.stderr.strip()[-500:]}")
    return ran.stdout.split()


def threads() -> None:
    """A long array, which threads share, gives the same bits with one thread."""
    x = np.linspace(0.0, 1.0, 300_001)
    program = ct.sin >> ct.square
    with ct.use_engine("cpu"):
        with ct.num_threads(3):
            many = program(x)
        with ct.num_threads(1):
            one = program(x)
    require("the value with one thread", one, many, 0.0)
    require("the value of many numbers", many, np.sin(x) ** 2, 1e-12)



def gpu() -> None:
    """Kernels on a GPU give what NumPy gives."""
    cupy: Any = importlib.import_module("cupy")
    x = np.linspace(-1.0, 1.0, 5000)
    program = ct.exp >> ct.cumsum() >> ct.square >> ct.mean()
    sums = np.cumsum(np.exp(x))
    value, slopes = ct.value_and_grad(program)(cupy.asarray(x))
    ct.synchronize()
    require("the value on the GPU", value.get(), np.mean(sums**2), 1e-11)
    expected = np.cumsum(2.0 * sums[::-1] / 5000)[::-1] * np.exp(x)
    require("the gradient on the GPU", slopes.get(), expected, 1e-11)


def has_gpu() -> bool:
    """Whether CuPy is installed and finds a GPU."""
    try:
        return bool(importlib.import_module("cupy").is_available())
    except Exception:  # whatever is broken there
        return False


CHECKS = {"compiled code": compiled, "threads": threads}
LONG = {"compiled code on disk": kept}
