"""How the gradients of fold, scan, histogram and their segmented forms grow with the number of elements.

Seconds and peak bytes of one gradient at 10^4, 10^5 and 10^6 elements, and the exponents between: 1 is linear. A slope of
at most 1.1 is asked for (the sorts of histograms count comparisons of n log n where NumPy has no radix sort). Prints a
table, draws it, and writes it as JSON too:

    python examples/experiments/growth.py [--json FILE] [--out DIR] [--rounds N]
"""

from __future__ import annotations

import argparse
import json
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from tqdm import tqdm

import catad as ct

matplotlib.use("Agg")  # pictures go to files
import matplotlib.pyplot as plt

SIZES = (10_000, 100_000, 1_000_000)
BINS = 100
LIMIT = 1.1

# -- what is measured

add = ct.add, 0.0
times = (lambda a, b: a * b), 1.0
largest = (lambda a, b: a if a >= b else b), -np.inf
affine = (lambda f, g: (f[0] * g[0], f[1] * g[0] + g[1])), (1.0, 0.0)
matrix = (
    (
        lambda a, b: (
            (a[0][0] * b[0][0] + a[0][1] * b[1][0], a[0][0] * b[0][1] + a[0][1] * b[1][1]),
            (a[1][0] * b[0][0] + a[1][1] * b[1][0], a[1][0] * b[0][1] + a[1][1] * b[1][1]),
        )
    ),
    ((1.0, 0.0), (0.0, 1.0)),
)
divisible = ct.monoid(*times, inverse=lambda total, x: total / x)

OPERATORS: dict[str, tuple[Any, ...]] = {
    "+": add, "*": times, "max": largest, "* with an inverse": (divisible,), "affine": affine, "2x2 matrices": matrix,
}  # fmt: skip

Case = tuple[ct.D, Callable[[int], Any]]


def elements(name: str, n: int) -> Any:
    """Numbers near 1 (near the identity, for matrices), so that no product of 10^6 of them leaves the range."""
    rng = np.random.default_rng(n)

    def near(middle: float) -> Any:
        return middle + rng.uniform(-1.0, 1.0, n) / n

    if name == "affine":
        return near(1.0), near(0.0)
    if name == "2x2 matrices":
        return (near(1.0), near(0.0)), (near(0.0), near(1.0))
    return near(1.0)


def cases() -> dict[str, Case]:
    """Name to (term, the argument for n elements)."""
    out: dict[str, Case] = {}
    for name, op in OPERATORS.items():
        out[f"fold {name}"] = ct.fold(*op), lambda n, name=name: elements(name, n)
        if "inverse" not in name:
            out[f"scan {name}"] = ct.scan(*op), lambda n, name=name: elements(name, n)
    for name in ("+", "*", "max", "* with an inverse", "affine"):
        out[f"histogram {name}"] = (
            ct.histogram(*OPERATORS[name], bins=BINS),
            lambda n, name=name: (np.random.default_rng(0).integers(-1, BINS + 1, n), elements(name, n)),
        )
    out["reduce_by_index *"] = (
        ct.reduce_by_index(*times),
        lambda n: (np.ones(BINS), np.random.default_rng(0).integers(-1, BINS + 1, n), elements("*", n)),
    )
    out["segmented scan *"] = ct.segmented_scan(*times), lambda n: (np.arange(n) % 7 == 0, elements("*", n))
    out["segmented fold *"] = (
        ct.segmented_fold(*times, by="lengths"),
        lambda n: (np.full(BINS, n // BINS), elements("*", n)),
    )
    out["fold + p a b, p"] = (
        ct.fold(lambda a, b, p: a + b + p * a * b, 0.0, params=1),
        lambda n: (elements("affine", n)[1], np.float64(0.5)),
    )
    return out


# -- measuring


def measure(f: ct.D, argument: Callable[[int], Any], n: int, rounds: int) -> tuple[float, int]:
    """The least of some times of one vjp, in seconds, and the most bytes that live at a time within it."""
    x = argument(n)
    y, _ = ct.vjp(f, x)
    ones = _ones(y)

    def gradient() -> Any:
        return ct.vjp(f, x)[1](ones)

    gradient()
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        gradient()
        seconds.append(time.perf_counter() - start)
    tracemalloc.start()
    gradient()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return min(seconds), peak


def _ones(y: Any) -> Any:
    return tuple([_ones(part) for part in y]) if isinstance(y, tuple) else np.ones_like(y)


def exponent(small: float, large: float, ratio: float) -> float:
    """The power of n by which something grows."""
    return float(np.log(large / small) / np.log(ratio))


def table(rounds: int) -> list[dict[str, Any]]:
    rows = []
    for name, (f, argument) in tqdm(cases().items(), desc="measuring", leave=False):
        figures = [measure(f, argument, n, rounds) for n in SIZES]
        seconds, peaks = zip(*figures, strict=True)
        ratio = SIZES[-1] / SIZES[0]
        rows.append(
            {
                "gradient of": name,
                "sizes": SIZES,
                "seconds": seconds,
                "peak bytes": peaks,
                "time exponent": round(exponent(seconds[0], seconds[-1], ratio), 3),
                "memory exponent": round(exponent(peaks[0], peaks[-1], ratio), 3),
            }
        )
    return rows


# -- showing


def draw(rows: list[dict[str, Any]], file: Path) -> None:
    """Times and peaks over n, both axes logarithmic, with a line of slope 1."""
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
    for axis, what, unit in zip(axes, ("seconds", "peak bytes"), ("time / s", "peak memory / bytes"), strict=True):
        for row in rows:
            axis.loglog(row["sizes"], row[what], marker="o", markersize=3, linewidth=1, label=row["gradient of"])
        least = min(row[what][0] for row in rows)
        axis.loglog(SIZES, [0.5 * least * n / SIZES[0] for n in SIZES], "k--", linewidth=1, label="slope 1")
        axis.set_xlabel("elements")
        axis.set_ylabel(f"{unit} of one gradient")
    axes[1].legend(fontsize=6, ncols=2, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    figure.savefig(file, dpi=130)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", metavar="FILE", help="write the table as JSON too")
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "out", help="where the figure goes")
    parser.add_argument("--rounds", type=int, default=3, help="times that each is run")
    options = parser.parse_args()
    rows = table(options.rounds)
    wide = max(len(row["gradient of"]) for row in rows)
    print(f"{'gradient of':{wide}} " + " ".join(f"{f'{n:.0e} ms':>9}" for n in SIZES) + "  exponent   MB at 1e6  exponent")
    for row in rows:
        times_ = " ".join(f"{1e3 * s:9.2f}" for s in row["seconds"])
        grown = row["time exponent"] > LIMIT or row["memory exponent"] > LIMIT
        print(
            f"{row['gradient of']:{wide}} {times_} {row['time exponent']:9.2f} {row['peak bytes'][-1] / 1e6:11.1f}"
            f" {row['memory exponent']:9.2f}{'   MORE THAN LINEAR' if grown else ''}"
        )
    options.out.mkdir(parents=True, exist_ok=True)
    draw(rows, options.out / "growth.png")
    print(f"figure: {options.out / 'growth.png'}")
    if options.json:
        Path(options.json).write_text(json.dumps(rows, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
