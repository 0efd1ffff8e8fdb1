"""A foundation beam on soil: deflection by a banded solve, and the thickness of least compliance by its gradient, in linear time.

    python examples/beam.py [--quick] [--out DIR]

A strip of 100 m carries five columns and rests on soil. Its deflection w has (E I w'')'' + bed w = load with I = thickness^3 / 12
(Hetenyi, Beams on Elastic Foundation, 1946). Second differences make the matrix pentadiagonal, and `solveh_banded` solves it. The
compliance is load . w, the work of the columns; its gradient by 20,000 thicknesses costs about one more solve. The thickness is
found by the rule of optimality criteria (Bendsoe & Sigmund, Topology Optimization, 2003, section 1.2) at a fixed volume.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import matplotlib
import numpy as np
from scipy.linalg import solveh_banded

import catad as ct

matplotlib.use("svg")  # pictures go to files
import matplotlib.pyplot as plt

plt.rcParams["svg.fonttype"] = "none"

YOUNG, BED, LENGTH = 30e9, 5e7, 100.0  # concrete in Pa; soil in Pa, for a beam that is 1 m wide; m
MEAN, LEAST, MOST = 0.5, 0.2, 1.5  # of the thickness, in m
COLUMNS = {12.0: 1e6, 30.0: 2e6, 50.0: 1e6, 70.0: 2e6, 88.0: 1e6}  # m: N


def deflection(thickness, bed, load, dx):
    """w at points dx apart. The ends are free; a support is a stiff spring in `bed`."""
    s = YOUNG * thickness[1:-1] ** 3 / 12.0 / dx**4
    ab = np.zeros((3, len(thickness)))  # the diagonal and the two below it
    ab[0] = bed
    ab[0, :-2] += s
    ab[0, 1:-1] += 4.0 * s
    ab[0, 2:] += s
    ab[1, :-2] -= 2.0 * s
    ab[1, 1:-1] -= 2.0 * s
    ab[2, :-2] = s
    return solveh_banded(ab, load, lower=True)


def compliance(thickness, bed, load, dx):
    """The work of the load."""
    return dx * np.sum(load * deflection(thickness, bed, load, dx))


def strip(n: int) -> tuple[np.ndarray, np.ndarray, float]:
    """The soil, the load of columns of half a metre, and the distance between two points."""
    x = np.linspace(0.0, LENGTH, n)
    load = np.zeros(n)
    for place, force in COLUMNS.items():
        under = np.abs(x - place) < 0.25
        load[under] += force / (under.sum() * (x[1] - x[0]))
    return np.full(n, BED), load, x[1] - x[0]


def redesigned(thickness: np.ndarray, slope: np.ndarray) -> np.ndarray:
    """More where the slope is steeper than a level, less elsewhere; bisection finds the level that keeps the volume."""
    low, high = 1e-12, 1e12
    while high > low * (1.0 + 1e-12):
        level = np.sqrt(low * high)
        wanted = np.clip(thickness * np.clip(-slope / level, 0.0, None) ** 0.25, 0.8 * thickness, 1.25 * thickness)
        wanted = np.clip(wanted, LEAST, MOST)
        low, high = (level, high) if wanted.mean() > MEAN else (low, level)
    return wanted


def draw(path: Path, thickness: np.ndarray, before: np.ndarray, after: np.ndarray) -> None:
    """The deflection of the even beam and of the best one, and the thickness of this."""
    every = max(1, len(thickness) // 250)
    x = np.linspace(0.0, LENGTH, len(thickness))[::every]
    figure, (top, bottom) = plt.subplots(2, 1, figsize=(7, 4), sharex=True)
    top.plot(x, -1e3 * before[::every], color="0.6", label="even")
    top.plot(x, -1e3 * after[::every], label="best")
    top.set(ylabel="deflection (mm)", title="foundation beam under five columns")
    top.legend(fontsize="small")
    bottom.fill_between(x, -0.5 * thickness[::every], 0.5 * thickness[::every], color="0.7")
    bottom.set(xlabel="x (m)", ylabel="thickness (m)")
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)


def main(arguments: list[str] | None = None) -> np.ndarray:
    """Find the thickness, print a table, draw; returns the thickness."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "out", help="where the picture goes")
    parser.add_argument("--quick", action="store_true", help="1,000 points in place of 20,000")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    n, steps = (1_000, 20) if options.quick else (20_000, 60)
    bed, load, dx = strip(n)
    even = thickness = np.full(n, MEAN)
    slope_of = ct.value_and_grad(compliance)
    for step in range(steps + 1):
        start = time.perf_counter()
        work, slope = slope_of(thickness, bed, load, dx)
        if step % (steps // 5) == 0:
            print(f"step {step:2}: compliance {work:8.1f} J, value and gradient in {1e3 * (time.perf_counter() - start):7.2f} ms")
        if step < steps:
            thickness = redesigned(thickness, slope)
    before, after = deflection(even, bed, load, dx), deflection(thickness, bed, load, dx)
    print(f"{n:,} points, mean thickness {thickness.mean():.4f} m, from {thickness.min():.3f} m to {thickness.max():.3f} m")
    print(f"largest deflection: {1e3 * before.max():.2f} mm with an even beam, {1e3 * after.max():.2f} mm with the best one")
    draw(options.out / "beam.svg", thickness, before, after)
    print(f"picture: {options.out / 'beam.svg'}")
    return thickness


if __name__ == "__main__":
    main()
