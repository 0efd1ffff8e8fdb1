"""What a process pays before its first gradient, with all kernels on disk: with the package's own loader, and with LLVM's.

The first run compiles and stores the kernels; every run after it is a new process that loads them. Prints the median times of the
import of catad and of the first call, in seconds of the processor, so that other programs disturb them less:

    python examples/experiments/start_up.py [--rounds N]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from statistics import median

PROGRAM = """
import sys, time
import numpy as np
start = time.process_time()
import catad as ct
imported = time.process_time()
from catad.engine.cpu.run import objects
if sys.argv[1] == "llvm":
    objects.placeable = lambda: False
f = ct.map(lambda x: ct.sin(x) * x) >> ct.scan(lambda a, b: a + b, 0.0) >> ct.map(lambda x: ct.exp(-x)) >> ct.sum()
with ct.use_engine("cpu"):
    ct.grad(f)(np.linspace(0.0, 1.0, 1000))
print(imported - start, time.process_time() - imported)
"""


def seconds(loader: str, folder: str) -> tuple[float, float]:
    """The import and the first call in a new process."""
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM, loader],
        env={**os.environ, "CATAD_CACHE_DIR": folder},
        capture_output=True,
        text=True,
        check=True,
    )
    first, second = map(float, found.stdout.split())
    return first, second


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15, help="processes for each loader (default: %(default)s)")
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        seconds("own", folder)
        runs = [(seconds("own", folder), seconds("llvm", folder)) for _ in range(rounds)]
    for k, name in enumerate(("own loader", "LLVM's loader")):
        imported, called = (1e3 * median(run[k][part] for run in runs) for part in range(2))
        print(f"{name}: import {imported:.0f} ms, first call {called:.0f} ms")


if __name__ == "__main__":
    main()
