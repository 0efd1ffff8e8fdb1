"""A process with little memory evaluates a loss and its gradient on files that are larger, and prints what it took, as JSON.

    python limited_memory.py FOLDER ROWS ROWS_OF_A_CHUNK THREADS LIMIT

LIMIT are the bytes that it may have for data (RLIMIT_DATA), "+" and bytes those beside what it has when it begins.
"""

from __future__ import annotations

import importlib.util
import json
import resource
import sys
from pathlib import Path
from typing import Any

import dask
import numpy as np

import catad as ct

MB = 10**6


def example() -> Any:
    """The module of the example, which makes the files and reads them."""
    path = Path(__file__).parents[2] / "examples" / "out_of_core.py"
    spec = importlib.util.spec_from_file_location("out_of_core", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def status(name: str) -> int:
    """Bytes, by a name of Linux: VmRSS that are in memory, VmHWM the most that were, VmData those of data."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name + ":"))


def fits(shape: tuple[int, ...]) -> bool:
    """Whether there is memory for all of the data."""
    try:
        return np.empty(shape, np.float32).shape == shape
    except MemoryError:
        return False


def main(folder: str, rows: int, chunk: int, threads: int, limit: str) -> dict[str, Any]:
    """What an evaluation took; a first one on two chunks has compiled all programs before."""
    module = example()
    evaluated = ct.value_and_grad(module.loss)
    weights = np.zeros(module.FEATURES, np.float32)
    sources = [module.Rows(Path(folder, f"{name}.npy")) for name in ("features", "labels")]
    arrays = [module.chunks_of(source, chunk) for source in sources]
    with dask.config.set(scheduler="threads", num_workers=threads):
        dask.compute(*evaluated(weights, *[array[: 2 * chunk] for array in arrays]))
        most = status("VmData") + int(limit) if limit.startswith("+") else int(limit)
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # VmHWM begins here
        base, read = status("VmRSS"), [source.read for source in sources]
        results = evaluated(weights, *arrays)
        value, slope = dask.compute(*results)
    stages = [stage.tasks for stage in evaluated.plan_chunks(weights, *arrays).stages]
    return {
        "base": base, "peak": status("VmHWM"), "limit": most, "fits": fits((rows, module.FEATURES)), "stages": stages,
        "read": [source.read - before for source, before in zip(sources, read, strict=True)],
        "value": float(value), "slope": [float(s) for s in slope],
    }  # fmt: skip


if __name__ == "__main__":
    where, n, size, count, given = sys.argv[1:]
    print(json.dumps(main(where, int(n), int(size), int(count), given)))
