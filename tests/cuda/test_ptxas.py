"""NVIDIA's assembler on the PTX of kernels: it takes it, for two architectures, within a budget of registers, without spills.

The extra `test-cuda` installs the assembler; it needs no GPU. `budget.json` has the registers of a thread, by kernel. A smaller
number frees the budget to be lowered; a larger one is a regression of LLVM or of catad that costs occupancy. "spilled" are the
bytes that the assembler keeps in memory so that more threads run at the same time, where it chose to do so.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import catad as ct
from catad.engine.cuda import target
from catad.engine.cuda.intrinsics import Simt
from catad.engine.text.numbers import called, load, store
from catad.errors import ScalarError
from catad.scalar import Function, result_types
from catad.scalar.ops import OPS

from ..scalar.llvm_support import op_function
from . import test_added, test_words
from .support import Written
from .test_folds import FOLDS
from .test_lanes import LINES, UNIT, affine, product
from .test_maps import MAPS, cell
from .test_rows import GROUPS, LAUNCHES
from .test_scans import ROTATIONS, SCANS
from .test_sweeps import SWEEPS
from .test_written import PROGRAMS

BUDGET = Path(__file__).parent / "budget.json"
ARCHITECTURES = ("sm_80", "sm_90")


def assembler() -> str | None:
    """Where the assembler is: in NVIDIA's wheel, or on the path."""
    wheels = [Path(entry) / "nvidia" / "cuda_nvcc" / "bin" / "ptxas" for entry in sys.path]
    return next((str(path) for path in wheels if path.exists()), None) or shutil.which("ptxas")


PTXAS = assembler()
pytestmark = pytest.mark.skipif(PTXAS is None, reason="no ptxas here: pip install 'catad[test-cuda]'")

# typical kernels, with arrays that are aligned in every row
TYPICAL = {
    "exp and log, f32x4": (ct.map(lambda x, y: (np.exp(x) * y, np.log(x * x + y * y))), ct.f32[64, 64] * ct.f32[64, 64]),
    "power, f64x2": (ct.map(lambda x, y: x**y), ct.f64[64] * ct.f64[64]),
    "the cell, rows and columns": (ct.map(cell), ct.f32[64, 1] * ct.f32[64] * ct.f32[64, 64] * ct.f32[64, 64]),
    "12 arguments": (ct.map(lambda a, b, c, d, e, f, g, h, i, j, k, m: (a * b + c * d + e * f) * (g * h + i * j + k * m)),
                     ct.product(*[ct.f32[64]] * 12)),
}  # fmt: skip

IN_TILES = {f"{name} in tiles": f for name, f in FOLDS.items()}
ALONG = {
    "a sum along a line": (ct.scan(ct.add, 0.0), ct.f32[10_000]),
    "affine maps along a line": (ct.fork(ct.id, ct.id) >> ct.scan(affine, (1.0, 0.0)), ct.f32[10_000]),
    "matrices along a line": (ROTATIONS >> ct.scan(product, UNIT), ct.f64[10_000]),
    "large matrices along a line": (SCANS["large matrices"], ct.f64[10_000]),
    "a gradient along a line": (ct.grad(ct.scan(lambda a, b: a * b, 1.0) >> ct.sum()), ct.f64[10_000]),
}
BY_BIN = {
    f"{name} by bin, {dtype.dtype}{' in memory of all' if bins > 5 else ''}": (
        ct.histogram(*operator, bins),
        ct.i64[9000] * dtype[9000],
    )
    for name, operator, dtype in (
        ("sums", (ct.add, 0.0), ct.f64),
        ("sums", (ct.add, 0.0), ct.f32),
        ("sums", (ct.add, 0), ct.i64),
        ("maxima", (ct.maximum, -np.inf), ct.f32),
        ("minima", (ct.minimum, 2**31 - 1), ct.i32),
    )
    for bins in (5, 9000)
}
HALF = np.arange(9000) // 2
BY_BIN |= {
    f"positions by bin, {dtype.dtype}": (
        ct.grad(ct.fork(ct.const(HALF % bins), ct.id) >> ct.histogram(ct.maximum, -np.inf, bins) >> ct.sum()),
        dtype[9000],
    )
    for dtype, bins in ((ct.f64, 5), (ct.f32, 9000))
}
LOOPS = {f"loop, {name}": part for name, part in SWEEPS.items()}
AT_INDICES = {f"at indices, {name}": part for name, part in PROGRAMS.items()}
AT_INDICES["at indices, sums"] = (ct.function(test_added.sums), test_added.ARRAYS)
SHARE_ROWS = {
    f"{name}, {how} rows": (f, dom)
    for name, f in GROUPS.items()
    for how, dom in (("long", ct.f32[50, 1024]), ("short", ct.f32[500, 20]))
}
SHARE_ROWS |= {
    "softmax, rows of rows": (ct.softmax(axis=3), ct.f32[4, 8, 100, 200]),
    "columns": (ct.softmax(axis=0), ct.f32[100, 200]),
    "reads in shared memory": (LAUNCHES["exchanged"][0], ct.f64[288] * ct.i64[288]),
    "sums in shared memory": (LAUNCHES["summed"][0], ct.f64[288]),
}
ALL = [*MAPS, *TYPICAL, *LINES, *IN_TILES, *ALONG, *BY_BIN, *LOOPS, *AT_INDICES, *SHARE_ROWS]


def assembled(text: str, architecture: str, folder: Path) -> tuple[int, int]:
    """The registers of a thread of a module's kernel, and the bytes that it keeps in memory instead."""
    (folder / "kernel.ptx").write_text(text)
    command = [str(PTXAS), "-v", "-arch", architecture, "kernel.ptx", "-o", "kernel.cubin"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    spilled = re.findall(r"(\d+) bytes (?:stack frame|spill stores|spill loads)", done.stderr)
    return max(int(n) for n in re.findall(r"Used (\d+) registers", done.stderr)), max(int(n) for n in spilled)


def kernels(name: str) -> list[str]:
    if name in TYPICAL or name in ALONG or name in BY_BIN or name in SHARE_ROWS:
        f, dom = (TYPICAL | ALONG | BY_BIN | SHARE_ROWS)[name]
    elif name in IN_TILES:
        f, dom = IN_TILES[name], (ct.i64 if name.startswith(("affine", "last")) else ct.f32)[3, 9000]
    elif name in LINES:
        f, dom = LINES[name], ct.f64[70, 53]
    else:
        f, x = (MAPS | LOOPS | AT_INDICES)[name]
        dom = ct.space_of(x if len(x) > 1 else x[0])
    stages = [part.split("\n", 1)[1] for part in f.source("ptx", dom).split("; stage ")[1:]]
    return [one for stage in stages for one in stage.split("//\n// Generated by LLVM NVPTX Back-End\n//\n")[1:]]


@pytest.mark.parametrize("name", ALL)
def test_registers_stay_inside_the_budget(name: str, tmp_path: Path) -> None:
    budget = json.loads(BUDGET.read_text())[name]
    for architecture in ARCHITECTURES:
        for text in kernels(name):
            used, spilled = assembled(text, architecture, tmp_path)
            assert used <= budget[architecture], f"{name}: {used} registers on {architecture}"
            assert spilled <= budget.get("spilled", 0), f"{name}: {spilled} bytes spilled on {architecture}"


def test_the_budget_is_of_the_kernels_that_there_are() -> None:
    assert set(json.loads(BUDGET.read_text())) == set(ALL)


WORDS = {
    "barriers": (test_words.reversed_block, 2),
    "waiting": (test_words.chain, 2),
    "shuffle": (lambda simt: test_words.store(simt, "%p0", "0", simt.shuffle("1.0", "double", simt.lane()), "double"), 1),
    "atomics": (lambda simt: simt.atomic("umax", "%p0", "i64", "1"), 1),
}


@pytest.mark.parametrize("name", WORDS)
@pytest.mark.parametrize("architecture", target.ARCHITECTURES)
def test_every_word(name: str, architecture: str, tmp_path: Path) -> None:
    write, pointers = WORDS[name]
    made = target.ptx(Written(write, 1, pointers).text(), architecture=architecture)
    _, spilled = assembled(made.text, max(architecture, "sm_80"), tmp_path)  # newer assemblers know no older ones
    assert spilled == 0


DTYPES = ("float32", "float64", "int32", "uint64", "bool")


@pytest.mark.quick(10)
@pytest.mark.parametrize("op", OPS)
def test_every_operation(op: str, tmp_path: Path) -> None:
    """What the printer prints for a dtype, the assembler takes."""
    f = op_function(op, {"cast": "int16", "polygamma": 1}.get(op))
    for dtype in DTYPES:
        try:
            text = _kernel(f, np.dtype(dtype))
        except ScalarError:  # has no type: a bit operation on floats, say
            continue
        assert assembled(target.ptx(text).text, "sm_90", tmp_path)[1] == 0


def _kernel(function: Function, dtype: np.dtype) -> str:
    """A kernel that applies a function to one number of each array."""
    dtypes = [dtype] * function.arity

    def write(simt: Simt) -> None:
        given = [load(simt.w, f"%p{k}", dtype) for k in range(function.arity)]
        (made,) = called(simt.w, function, dtypes, given)
        store(simt.w, made, f"%p{function.arity}", result_types(function, tuple(dtypes))[0])

    return Written(write, 1, function.arity + 1).text()
