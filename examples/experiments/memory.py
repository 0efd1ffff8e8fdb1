"""Peak memory of value and gradient of ordinary NumPy programs, of catad and of JAX, each in a process of its own.

The programs are those of `engines.py` whose largest array has 200,000 numbers and more. A process first runs the same program on
few numbers, so that what compiling takes is there already, and makes its data. What it holds then is subtracted from the most
that it holds during a later call, results included. Linux alone tells a process its peak since a moment.

    python examples/experiments/memory.py [WORD ...] [--least NUMBERS]
"""

from __future__ import annotations

import argparse
import gc
import math
import subprocess
import sys
from pathlib import Path

import engines

LEAST = 200_000
CALLS = 4  # before the one whose peak is told
CHILD = "--child"


def held(what: str) -> float:
    """A figure of this process in MiB: "VmRSS" now, "VmHWM" at most."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{what}:")) / 1024


def peak(name: str, library: str) -> float:
    """The MiB that a call takes beside its arguments."""
    family, size = next((f, s) for f in engines.programs() for s in f.sizes if f.called(s) == name)
    make = engines.by_jax if library == "JAX" else engines.by_catad
    with engines.in_force("JAX" if library == "JAX" else "cpu"):
        small = make(family.case(min(family.sizes, key=math.prod)), False)
        for _ in range(CALLS):
            small()
        run = make(family.case(size), False)
        gc.collect()
        before = held("VmRSS")
        for _ in range(CALLS):
            run()
        Path("/proc/self/clear_refs").write_text("5")
        result = run()
        del result
        return held("VmHWM") - before


def main() -> int:
    """Print a row for each program; 1 where a process fails."""
    if sys.argv[1:2] == [CHILD]:
        print(peak(*sys.argv[2:]))
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--least", type=int, default=LEAST, help="numbers of the largest array")
    found = parser.parse_args()
    ratios, failed = list[float](), False
    print(f"{'program':<34} {'largest':>10} {'catad MiB':>10} {'JAX MiB':>10} {'ratio':>6}")
    for case in engines.cases(found.words):
        numbers = engines.largest(case)
        if numbers < found.least:
            continue
        sizes = list[float]()
        for library in ("catad", "JAX"):
            done = subprocess.run([sys.executable, __file__, CHILD, case.name, library], capture_output=True, text=True)
            failed |= done.returncode != 0
            sizes.append(float(done.stdout) if done.returncode == 0 else math.nan)
        ratios.append(sizes[0] / max(sizes[1], 0.1))
        print(f"{case.name:<34} {numbers:>10,} {sizes[0]:>10.1f} {sizes[1]:>10.1f} {ratios[-1]:>6.2f}", flush=True)
    if ratios:
        mean = math.exp(sum([math.log(max(ratio, 1e-3)) for ratio in ratios]) / len(ratios))
        print(f"{len(ratios)} programs, geometric mean {mean:.2f}, {sum([ratio > 1 for ratio in ratios])} above 1.0")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
