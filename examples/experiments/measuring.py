"""What the experiments share: times side by side, rows with their bounds, tables, charts and JSON.

Charts are drawn by matplotlib where it is installed, else written as SVG by the few lines below.
"""

from __future__ import annotations

import argparse
import gc
import html
import importlib.metadata
import json
import math
import multiprocessing
import os
import platform
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

import catad as ct

Series = Mapping[str, tuple[Sequence[float], Sequence[float]]]  # name to positions and values
COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#ff7f0e", "#9467bd", "#8c564b", "#17becf", "#7f7f7f")

# -- measuring


class Bound(NamedTuple):
    """A figure beside what it should reach. `why` says what bounds it where it falls short.

    The figure is the time of the work over that of `against` where `unit` is "time", with `least` the other way round.
    """

    work: str
    against: str
    measured: float
    bound: float
    least: bool = False  # the figure should be at least the bound, not at most
    why: str = ""
    unit: str = "time"

    @property
    def holds(self) -> bool:
        return self.measured >= self.bound if self.least else self.measured <= self.bound

    def as_dict(self) -> dict[str, Any]:
        return {**self._asdict(), "holds": self.holds}


class Race(NamedTuple):
    """The time of some work by catad over the time `against` something else; `note` says what a reader should know."""

    work: str
    against: str
    ratio: float
    note: str = ""


def races_of(bounds: Sequence[Bound]) -> list[Race]:
    """The races among figures with bounds."""
    timed = [row for row in bounds if row.unit == "time" and row.measured > 0.0]
    ratios = [1.0 / row.measured if row.least else row.measured for row in timed]
    return [Race(row.work.removesuffix(", catad"), row.against, ratio, row.why) for row, ratio in zip(timed, ratios, strict=True)]


def one_core() -> None:
    """Keep this process, and those that it starts, on one core, where the system can do that.

    Some versions of JAX divide products among the cores whatever XLA_FLAGS says.
    """
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def side_by_side(
    runs: Mapping[str, Callable[[], Any]], rounds: int, settled: bool = False, clock: Callable[[], float] = time.perf_counter
) -> dict[str, float]:
    """Median seconds of several things, run in turn so that they meet the same noise, after two runs that warm up.

    Results are dropped before the next run: what a library does with memory that is free again is part of its speed. With
    `settled` each turn begins with a run that is not timed: threads of other libraries keep a core busy for some milliseconds
    after their work is done, and caches and free memory are theirs. A clock of processor time leaves out what other
    processes take of the core.
    """
    for run in runs.values():
        run()
        run()
    taken: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            if settled:
                run()
            start = clock()
            result = run()
            taken[name].append(clock() - start)
            del result
    return {name: median(times) for name, times in taken.items()}


def first_call(run: Callable[[], Any]) -> float:
    """Seconds of one call: the first, if it is."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def value_and_pullback(f: ct.D) -> ct.D:
    """(x, w) to (f(x), R[f](x, w)) as one term: what vjp and a call of its pullback compute, planned and fused together."""
    return ct.fork(ct.exl >> f, ct.reverse_differential(f))


def leaves(value: Any) -> list[np.ndarray]:
    """The arrays in nested tuples."""
    return [leaf for part in value for leaf in leaves(part)] if isinstance(value, tuple) else [np.asarray(value)]


def like(value: Any, leaf: Callable[[np.ndarray], np.ndarray]) -> Any:
    """Tangents of a value: `leaf` of each floating array, () for one of integers."""
    if isinstance(value, tuple):
        return tuple([like(part, leaf) for part in value])
    return leaf(np.asarray(value)) if np.asarray(value).dtype.kind == "f" else ()


# -- programs of others


def outside_folder() -> Path | None:
    """The folder with the programs of others, where there is one."""
    folder = os.environ.get("CATAD_OUTSIDE_DATA")
    file = Path(folder or "") / "npbench" / "run.py"
    return file if folder and file.exists() else None


# -- showing


def processor() -> str:
    """The name of the processor, where the system tells it."""
    file = Path("/proc/cpuinfo")
    names = [line for line in file.read_text().splitlines() if line.startswith("model name")] if file.exists() else []
    return names[0].partition(":")[2].strip() if names else platform.processor() or platform.machine()


def machine() -> dict[str, Any]:
    """Where and when figures were taken: they mean little without the load of the machine."""
    return {
        "processor": processor(), "cores": os.cpu_count(), "threads": ct.get_num_threads(),
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "python": platform.python_version(), "numpy": np.__version__, "catad": ct.__version__,
    }  # fmt: skip


def apart(call: Callable[[], Any]) -> Any:
    """The result of a call in a copy of this process, on which it leaves no trace."""
    gc.collect()
    gc.freeze()  # what is here already is not collected there, which would copy its pages
    context = multiprocessing.get_context("fork")
    receive, send = context.Pipe(False)
    process = context.Process(target=lambda: send.send(call()))
    process.start()
    send.close()
    found = receive.recv()
    process.join()
    return found


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns of text, the first to the left and the others to the right."""
    widths = [max(len(row[c]) for row in (head, *rows)) for c in range(len(head))]
    return "\n".join(
        "  ".join(f"{cell:<{w}}" if c == 0 else f"{cell:>{w}}" for c, (cell, w) in enumerate(zip(row, widths, strict=True)))
        for row in (head, *rows)
    )


def bounds_table(bounds: Sequence[Bound]) -> str:
    """Rows of figures beside their bounds, and below them why those fall short that do."""
    rows = []
    for row in bounds:
        asked = f"{'>=' if row.least else '<='} {row.bound:g}"
        rows.append((row.work, row.against, f"{row.measured:.3g}", asked, "yes" if row.holds else "NO"))
    lines = [table(("work", "against", "measured", "asked", "holds"), rows)]
    lines += [f"  {row.work}: {row.why}" for row in bounds if row.why and not row.holds]
    return "\n".join(lines)


def options(text: str | None, **more: dict[str, Any]) -> argparse.Namespace:
    """The arguments of an experiment: what all take, and what it takes besides."""
    parser = argparse.ArgumentParser(description=(text or "").splitlines()[0])
    parser.add_argument("--json", metavar="FILE", help="write the figures as JSON too")
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "out", help="where the chart goes")
    parser.add_argument("--rounds", type=int, default=7, help="times that each is run")
    for name, how in more.items():
        parser.add_argument(f"--{name.replace('_', '-')}", **how)
    return parser.parse_args()


def report(
    found: argparse.Namespace, rows: Sequence[Any], bounds: Sequence[Bound], races: Sequence[Race] | None = None
) -> None:
    """Print what the figures should reach, and write all of it as JSON where that was asked for."""
    if bounds:
        print(f"\n{bounds_table(bounds)}")
    where = machine()
    print(", ".join(f"{name} {value}" for name, value in where.items()))
    if found.json:
        races = races_of(bounds) if races is None else races
        written(Path(found.json), races, {"rows": list(rows), "bounds": [row.as_dict() for row in bounds]})


PEERS = (
    *("scipy", "llvmlite", "jax", "dask", "diffrax", "optimistix", "lineax", "numba", "torch", "dace", "autograd"),
    *("sklearn", "cupy"),
)


def versions() -> dict[str, str]:
    """The versions of the libraries that this process has imported, but for those that `machine` names."""
    names = {"sklearn": "scikit-learn"}
    found = {}
    for name in PEERS:
        if name in sys.modules:
            try:
                found[names.get(name, name)] = importlib.metadata.version(names.get(name, name))
            except importlib.metadata.PackageNotFoundError:
                continue
    return found


def written(file: Path, races: Sequence[Race], more: Mapping[str, Any]) -> None:
    """Write figures as JSON, with the experiment, its command, the machine and the versions; docs/benchmarks.md shows races."""
    main = sys.modules["__main__"]
    where = ("--json", "--out")  # files of this machine
    words = [word for k, word in enumerate(sys.argv[1:], 1) if word not in where and sys.argv[k - 1] not in where]
    about = " ".join((main.__doc__ or "").split("\n\n")[0].split())
    whole = {
        "experiment": Path(sys.argv[0]).stem, "about": about, "options": words, "date": time.strftime("%Y-%m-%d"),
        "machine": {**machine(), "system": platform.system()}, "versions": versions(),
        "races": [race._asdict() for race in races], **more,
    }  # fmt: skip
    file.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")


# -- charts


class Panel(NamedTuple):
    """Lines over one pair of axes; both from 0, or logarithmic."""

    title: str
    across: str
    up: str
    series: Series
    logarithmic: bool = False


def chart(folder: Path, name: str, panels: Sequence[Panel]) -> Path:
    """Draw panels side by side: a PNG by matplotlib, or an SVG of our own. Prints where it is."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        import matplotlib
    except ImportError:
        file = folder / f"{name}.svg"
        file.write_text(svg(panels), encoding="utf-8")
    else:
        matplotlib.use("Agg")  # pictures go to files
        file = folder / f"{name}.png"
        _plot(panels, file)
    print(f"figure: {file}")
    return file


def _plot(panels: Sequence[Panel], file: Path) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(panels), figsize=(5.5 * len(panels), 4.5), layout="constrained", squeeze=False)
    for axis, panel in zip(axes[0], panels, strict=True):
        for label, (xs, ys) in panel.series.items():
            axis.plot(xs, ys, marker="o", markersize=4, linewidth=1, label=label)
        axis.set(title=panel.title, xlabel=panel.across, ylabel=panel.up)
        if panel.logarithmic:
            axis.set(xscale="log", yscale="log")
        else:
            axis.set_ylim(bottom=0)
        axis.legend(fontsize=7)
    figure.savefig(file, dpi=120)
    plt.close(figure)


def svg(panels: Sequence[Panel], wide: int = 460, high: int = 380) -> str:
    """The same lines as SVG text: axes with their least and greatest values, one colour a line, its name beside it."""
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide * len(panels)}" height="{high}" font-size="11">']
    for k, panel in enumerate(panels):
        parts += [f'<g transform="translate({wide * k},0)">', *_panel(panel, wide, high), "</g>"]
    return "\n".join([*parts, "</svg>"])


def _panel(panel: Panel, wide: int, high: int) -> list[str]:
    scale = math.log10 if panel.logarithmic else float
    least, most = [], []
    for c in (0, 1):
        values = [scale(v) for line in panel.series.values() for v in line[c]] or [0.0]
        least.append(min(values) if panel.logarithmic or c == 0 else 0.0)
        most.append(max(values) if max(values) > least[c] else least[c] + 1.0)
    left, top, across, down = 60, 30, wide - 80, high - 80

    def place(x: float, y: float) -> tuple[float, float]:
        h = (scale(x) - least[0]) / (most[0] - least[0])
        v = (scale(y) - least[1]) / (most[1] - least[1])
        return left + across * h, top + down * (1.0 - v)

    out = [f'<rect x="{left}" y="{top}" width="{across}" height="{down}" fill="none" stroke="black"/>']

    def text(x: float, y: float, words: str, anchor: str, more: str = "") -> None:
        out.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{html.escape(words)}</text>')

    back = (lambda v: 10.0**v) if panel.logarithmic else float
    text(left + across / 2, top - 10, panel.title, "middle")
    text(left + across / 2, high - 15, panel.across, "middle")
    text(15, top + down / 2, panel.up, "middle", f' transform="rotate(-90 15 {top + down / 2:.1f})"')
    for at, v in ((left, least[0]), (left + across, most[0])):
        text(at, top + down + 15, f"{back(v):.3g}", "middle")
    for at, v in ((top + down, least[1]), (top + 8, most[1])):
        text(left - 4, at, f"{back(v):.3g}", "end")
    for k, (label, (xs, ys)) in enumerate(panel.series.items()):
        colour = COLOURS[k % len(COLOURS)]
        points = " ".join("{:.1f},{:.1f}".format(*place(x, y)) for x, y in zip(xs, ys, strict=True))
        out.append(f'<polyline points="{points}" fill="none" stroke="{colour}"/>')
        text(left + 8, top + 16 + 13 * k, label, "start", f' fill="{colour}"')
    return out
