"""The cost of a full Jacobian: pushing all columns, pulling all rows, or multiplying as planned.

For each family of programs and several sizes: the operations of n pushes (forward mode), of m pulls (reverse mode) and of the
plan, and the seconds of each, linearizing included. A push or a pull of one vector is timed and multiplied by how many there
are, as the estimates of full Jacobians in J. Bruun and U. Larsen, Reverse automatic differentiation in Futhark, 2022 (table 9.3)
are; where the basis fits into memory all are pushed at once, too, and the faster counts. The plan is timed as `ct.jacobian` runs
it. It leaves unmultiplied what has no product, a scan for one; "explicit" are the operations of the plan that leaves nothing so,
"bracketing" those of the best bracketing of the program's stages: where the plan takes fewer it eliminates the vertices of the
program's linear graph in an order that is no bracketing. The last column is the plan's time over that of the bracketings
"forward" and "reverse" of the same structured maps, whichever is faster: the median over runs made side by side. Prints a table,
draws it, and writes it as JSON too:

    python examples/experiments/planning.py [--json FILE] [--out DIR] [--rounds N] [--engine NAME] [--quick]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import matplotlib
import measuring
import numpy as np
from tqdm import tqdm

import catad as ct

matplotlib.use("Agg")  # pictures go to files
import matplotlib.pyplot as plt

AT_ONCE = 4_000_000  # numbers in a dense Jacobian of which all columns are pushed at once, too
SLACK = 1.05  # a plan may take this much longer than the faster of the bracketings from one end
Family = tuple[Callable[[int], tuple[ct.D, Any]], tuple[int, ...]]  # a program and its point by size, and the sizes

# -- the families


def matrix(m: int, n: int, number: int = 0) -> ct.D:
    """A dense layer; those with other numbers have other weights."""
    weights = np.random.default_rng(m * n + number).standard_normal((m, n)) / n
    return ct.fork(ct.const(weights), ct.id) >> ct.einsum("ij,j->i")


def point(n: int) -> Any:
    return 1.0 + np.random.default_rng(n).uniform(-1.0, 1.0, n) / n


def arrowhead(n: int) -> tuple[ct.D, Any]:
    """One entry depends on all, all depend on one: a row, a column and a diagonal."""
    first = ct.square >> ct.sum() >> ct.reshape((1,))
    rest = ct.fork(ct.slice(0, 1) >> ct.reshape(()), ct.slice(1, n)) >> ct.mul
    return ct.fork(first, rest) >> ct.concatenate(), point(n)


def bottleneck(n: int) -> tuple[ct.D, Any]:
    """Wide, narrow, wide: from one end a wide matrix is carried through all layers."""
    return matrix(n, n) >> ct.tanh >> matrix(3, n) >> ct.tanh >> matrix(n, 3) >> ct.tanh >> matrix(n, n), point(n)


def stencil(n: int) -> tuple[ct.D, Any]:
    """Three neighbours: three colours, whatever the size."""
    return ct.stencil(lambda a, b, c: a * b + ct.sin(c) * b, (-1, 0, 1)), point(n)


def steps(n: int) -> tuple[ct.D, Any]:
    """Four steps of a stencil: a band of nine."""
    return ct.iterate(ct.stencil(lambda a, b, c: b + 0.1 * (a - 2.0 * b + c) * b, (-1, 0, 1)), 4), point(n)


def scan_then_gather(n: int) -> tuple[ct.D, Any]:
    """A few of many prefixes."""
    index = np.random.default_rng(0).integers(0, n, 10)
    return ct.fork(ct.scan(lambda a, b: a * b, 1.0), ct.const(index)) >> ct.gather, point(n)


def scattered_outer_products(n: int) -> tuple[ct.D, Any]:
    """Each of n numbers times a vector of 3, added into one of 20 rows."""
    index = np.random.default_rng(0).integers(0, 20, n)
    rows = ct.fork(ct.id, ct.const(np.array([1.0, 2.0, 3.0]))) >> ct.einsum("i,j->ij")
    return ct.fork(ct.const(np.zeros((20, 3))), ct.const(index), ct.square >> rows) >> ct.scatter_add, point(n)


def histogram(n: int) -> tuple[ct.D, Any]:
    """Saturated addition by few bins, an operator without an inverse."""
    index = np.random.default_rng(0).integers(0, 31, n)
    add = ct.histogram(lambda a, b: a + b if a + b < 1e6 else 1e6, 0.0, 31)
    return ct.fork(ct.const(index), ct.id) >> add, point(n)


def scan(n: int) -> tuple[ct.D, Any]:
    """All prefixes of a product: dense below the diagonal, stored as n links."""
    return ct.scan(lambda a, b: a * b, 1.0), point(n)


def blocks_then_scan(n: int) -> tuple[ct.D, Any]:
    """Blocks of four, then all prefix sums."""
    blocks = np.random.default_rng(0).standard_normal((n // 4, 4, 4))
    apart = ct.reshape((n // 4, 4)) >> ct.fork(ct.const(blocks), ct.id) >> ct.einsum("kij,kj->ki")
    return apart >> ct.reshape((n,)) >> ct.scan(lambda a, b: a + b, 0.0), point(n)


def one_to_many_beside_many_to_one(n: int) -> tuple[ct.D, Any]:
    """A path of one parameter and a number that depends on many: each is cheap from another end, which no stage can be."""
    middle = [matrix(n, n, 2 * k) >> ct.tanh >> matrix(n, n, 2 * k + 1) >> ct.tanh for k in range(2)]
    return ct.cross(matrix(n, 1) >> ct.tanh >> middle[0], middle[1] >> matrix(1, n)), (point(1), point(n))


def narrow_at_different_depths(n: int) -> tuple[ct.D, Any]:
    """Three branches, added: one is narrow at its beginning, one in its middle, one at its end, so that no stage is narrow."""

    def branch(narrow: int) -> ct.D:
        sizes = [n, *[3 if k == narrow else n for k in range(3)], n]
        layers = enumerate(pairwise(sizes), 4 * narrow)
        return ct.compose(*[matrix(m, before, number) >> ct.tanh for number, (before, m) in layers])

    return ct.fork(*[branch(narrow) for narrow in range(3)]) >> ct.map(lambda a, b, c: a + b + c), point(n)


def skips_around_narrow(n: int) -> tuple[ct.D, Any]:
    """Four residual blocks x + U tanh(V x) with three units in the middle: the identity plus a few columns times a few rows."""
    blocks = [ct.fork(ct.id, matrix(3, n, k) >> ct.tanh >> matrix(n, 3, k)) >> ct.add for k in range(4)]
    return ct.compose(*blocks), point(n)


FAMILIES: dict[str, Family] = {
    "arrowhead": (arrowhead, (10, 100, 1000)),
    "wide-narrow-wide": (bottleneck, (10, 100, 1000)),
    "stencil": (stencil, (100, 1000, 100_000)),
    "four steps of a stencil": (steps, (100, 1000, 100_000)),
    "scan then gather": (scan_then_gather, (100, 1000, 100_000)),
    "scatter of outer products": (scattered_outer_products, (100, 1000, 100_000)),
    "histogram with few bins": (histogram, (100, 1000, 100_000)),
    "scan": (scan, (100, 1000, 100_000)),
    "blocks, then a scan": (blocks_then_scan, (100, 1000, 100_000)),
    "one to many, many to one": (one_to_many_beside_many_to_one, (10, 100, 1000)),
    "narrow at different depths": (narrow_at_different_depths, (10, 100, 1000)),
    "skips around narrow middles": (skips_around_narrow, (10, 100, 1000)),
}

# -- measuring


def seconds(run: Callable[[], Any], rounds: int) -> float:
    """The median time of some runs, after one that makes things ready."""
    run()
    taken = []
    for _ in range(rounds):
        start = time.perf_counter()
        run()
        taken.append(time.perf_counter() - start)
    return median(taken)


def side_by_side(runs: dict[str, Callable[[], Any]], rounds: int) -> dict[str, list[float]]:
    """The times of several things, run in turn, in another order each round, so that they meet the same noise."""
    for run in runs.values():
        run()
    taken: dict[str, list[float]] = {name: [] for name in runs}
    names = list(runs)
    for k in range(rounds):
        for name in names[k % len(names) :] + names[: k % len(names)]:
            start = time.perf_counter()
            runs[name]()
            taken[name].append(time.perf_counter() - start)
    return taken


def full_basis(linear: ct.LinearMap, rounds: int) -> float:
    """The seconds of applying a map to a whole basis: one by one, or all at once where that fits and is faster."""
    rng = np.random.default_rng(0)
    parts = tuple([rng.standard_normal(leaf.shape) for leaf in linear.dom.leaves])
    one = parts if len(parts) > 1 else parts[0]
    count = linear.dom.size
    apart = count * seconds(lambda: linear(one), rounds)
    if count * max(count, linear.cod.size) > AT_ONCE or count > linear.cod.size:
        return apart
    return min(apart, seconds(lambda: linear.todense(force=True), max(1, rounds // 3)))


def measure(name: str, n: int, rounds: int) -> dict[str, Any]:
    """One family at one size."""
    f, x = FAMILIES[name][0](n)
    _, linear = ct.linearize(f, x)
    plan = ct.plan(f, x, cost="operations")
    pushed, pulled = plan.by_columns_and_rows()
    explicit = ct.plan(f, x, cost="operations", explicit=True).cost.operations
    bracketing = plan.edited("auto").cost.operations
    modes = {mode: ct.jacobian(f, mode) for mode in ("auto", "forward", "reverse")}
    taken = side_by_side({mode: lambda made=made: made(x) for mode, made in modes.items()}, 5 * rounds)
    planned = median(taken["auto"])
    once = seconds(lambda: ct.linearize(f, x), rounds)  # which forward and reverse mode need, too
    basis = once + full_basis(linear, rounds), once + full_basis(linear.T, rounds)
    ratios = {
        mode: median([a / z for a, z in zip(taken["auto"], taken[mode], strict=True)]) for mode in ("forward", "reverse")
    }
    found = modes["auto"](x)
    return {
        "family": name, "n": n, "rows": linear.cod.size, "columns": linear.dom.size,
        "operations": {
            "planned": plan.cost.operations, "bracketing": bracketing, "explicit": explicit, "forward": pushed, "reverse": pulled,
        },
        "optimal": plan.exact, "kind": found.kind, "stored": found.stored,
        "seconds": {"planned": planned, "linearizing": once, "forward": basis[0], "reverse": basis[1]},
        "bracketings": {mode: median(taken[mode]) for mode in ("forward", "reverse")},
        "times faster": min(basis) / planned,
        "of the faster bracketing": max(ratios.values()),
    }  # fmt: skip


# -- showing


def draw(rows: list[dict[str, Any]], file: Path) -> None:
    """Operations of a full Jacobian over n, one panel a family, both axes logarithmic (0 is shown)."""
    names = list(dict.fromkeys(row["family"] for row in rows))
    across = 3
    down = -(-len(names) // across)
    figure, axes = plt.subplots(down, across, figsize=(4 * across, 3 * down), layout="constrained", squeeze=False)
    for axis, name in zip(axes.flat, names, strict=False):
        own = [row for row in rows if row["family"] == name]
        for mode, style in (("forward", "s--"), ("reverse", "^--"), ("explicit", "x-"), ("planned", "o-")):
            counts = [row["operations"][mode] for row in own]
            axis.plot([row["n"] for row in own], counts, style, markersize=4, label=mode)
        axis.set(title=name, xscale="log", xlabel="n", ylabel="operations of the Jacobian")
        axis.set_yscale("symlog", linthresh=1)  # some plans multiply nothing
        axis.legend(fontsize=7)
    for axis in axes.flat[len(names) :]:
        axis.axis("off")
    figure.savefig(file, dpi=110)
    plt.close(figure)


def timed(value: float) -> str:
    """Seconds in a unit that suits them."""
    for size, unit in ((86400.0, "d"), (3600.0, "h"), (1.0, "s"), (1e-3, "ms")):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value * 1e6:.3g} us"


def races(rows: list[dict[str, Any]]) -> list[measuring.Race]:
    """Each family beside the faster of forward and reverse mode, without structure and with it."""
    found = []
    for row in rows:
        work = f"{row['family']}, {row['rows']:,} x {row['columns']:,}"
        found += [
            measuring.Race(work, "a full basis, pushed or pulled", 1.0 / row["times faster"]),
            measuring.Race(work, "the same maps from one end", row["of the faster bracketing"]),
        ]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", metavar="FILE", help="write the table as JSON too")
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "out", help="where the figure goes")
    parser.add_argument("--rounds", type=int, default=5, help="times that each is run")
    parser.add_argument("--engine", default="auto", help="the engine that runs: auto, cpu, reference")
    parser.add_argument("--quick", action="store_true", help="the smallest size of each family only")
    options = parser.parse_args()
    cases = [(name, n) for name, (_, sizes) in FAMILIES.items() for n in (sizes[:1] if options.quick else sizes)]
    with ct.use_engine(options.engine):
        rows = [measure(name, n, options.rounds) for name, n in tqdm(cases, desc="measuring", leave=False)]
    head = (
        "family",
        "n",
        "planned",
        "bracketing",
        "explicit",
        "forward",
        "reverse",
        "planned",
        "forward",
        "reverse",
        "faster",
        "of bracketing",
    )
    lines = [head]
    for row in rows:
        counts = [f"{row['operations'][mode]:.3g}" for mode in ("planned", "bracketing", "explicit", "forward", "reverse")]
        times = [timed(row["seconds"][mode]) for mode in ("planned", "forward", "reverse")]
        ratio = f"{row['of the faster bracketing']:.2f}" + ("" if row["of the faster bracketing"] <= SLACK else " SLOWER")
        lines.append((row["family"], f"{row['n']}", *counts, *times, f"{row['times faster']:.3g}x", ratio))
    widths = [max(len(line[c]) for line in lines) for c in range(len(head))]
    print(f"{'':{widths[0] + widths[1] + 4}}operations of a Jacobian, then its time")
    for line in lines:
        print(
            f"{line[0]:<{widths[0]}}  " + "  ".join([f"{entry:>{w}}" for entry, w in zip(line[1:], widths[1:], strict=True)])
        )
    options.out.mkdir(parents=True, exist_ok=True)
    draw(rows, options.out / "planning.png")
    print(f"figure: {options.out / 'planning.png'}")
    if options.json:
        measuring.written(Path(options.json), races(rows), {"rows": rows})


if __name__ == "__main__":
    main()
