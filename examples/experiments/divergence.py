"""What divergent control costs: the HM-LSTM cell and its cotangents where neighbours take different branches.

The gates of an n x n cell (see `hm_lstm.py`) hold the same zeros and ones, in runs of equal pairs along the rows: runs of 1 are
fully random, and a run of a whole row is one decision a row. Each branch is taken equally often at every length, so only
divergence differs. With gates of shape (n, 1) the decision can be taken outside the innermost loop. J. Revels et al., Dynamic
automatic differentiation of GPU broadcast kernels, 2018 (figure 2), compare random with warp-uniform control on GPUs in the same
way. Beside them: the branches one by one. Prints a table, draws it, and writes it as JSON too:

    python examples/experiments/divergence.py [--n N] [--runs LENGTH ...] [--json FILE] [--out DIR] [--rounds N]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import hm_lstm
import measuring
import numpy as np

BRANCHES = {"flush": (1.0, 0.0), "copy": (0.0, 0.0), "update": (0.0, 1.0)}
RUNS = (1, 2, 4, 8, 16, 32, 64, 256)


def gates_in_runs(n: int, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Gates of shape (n, n): branches shuffled in runs of `length` elements of a row, each branch as often as the others."""
    count = n * -(-n // length)
    branch = np.random.default_rng(length).permutation(np.arange(count) % 3).reshape(n, -1)
    chosen = np.repeat(branch, length, axis=1)[:, :n]
    pairs = np.array(list(BRANCHES.values()), np.float32)
    return pairs[chosen, 0], pairs[chosen, 1]


def cases(n: int, lengths: list[int]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Name to gates."""
    rows = gates_in_runs(n, n)
    found = {f"runs of {length}": gates_in_runs(n, length) for length in lengths if length < n}
    found["whole rows"] = rows
    found["whole rows, shape (n, 1)"] = rows[0][:, :1].copy(), rows[1][:, :1].copy()
    for name, (z, zb) in BRANCHES.items():
        found[f"{name} everywhere"] = np.full((n, n), z, np.float32), np.full((n, n), zb, np.float32)
    return found


def measure(n: int, lengths: list[int], rounds: int) -> list[dict[str, Any]]:
    """All cases side by side: each with the whole cell, and against the case of whole rows."""
    x, w = hm_lstm.arguments(n, "random")
    wanted = hm_lstm.fused()
    gates = cases(n, lengths)

    def runner(pair: tuple[np.ndarray, np.ndarray]) -> Callable[[], Any]:
        return lambda: wanted((*pair, *x[2:]), w)

    taken = measuring.side_by_side({name: runner(pair) for name, pair in gates.items()}, rounds, settled=True)
    uniform = taken["whole rows"]
    moved = {name: 10 * w.nbytes + 2 * pair[0].nbytes for name, pair in gates.items()}
    return [
        {
            "gates": name,
            "n": n,
            "seconds": s,
            "over whole rows": s / uniform,
            "bytes": moved[name],
            "bandwidth": moved[name] / s,
        }
        for name, s in taken.items()
    ]


def main() -> None:
    found = measuring.options(
        __doc__,
        n={"type": int, "default": 2048, "help": "rows and columns"},
        runs={"type": int, "nargs": "+", "default": list(RUNS), "help": "lengths of runs of equal gates"},
    )
    rows = measure(found.n, found.runs, found.rounds)
    lines = [
        (row["gates"], f"{1e3 * row['seconds']:.2f}", f"{row['over whole rows'] - 1:+.1%}", f"{row['bandwidth'] / 1e9:.2f}")
        for row in rows
    ]
    print(measuring.table(("gates", "ms", "over whole rows", "GB/s"), lines))
    divergent = next(row for row in rows if row["gates"].startswith("runs of"))
    print(
        f"divergent control ({divergent['gates']}) costs {divergent['over whole rows'] - 1:+.1%} over whole rows.\n"
        "Gates of shape (n, n) are read at each element; vectors compute both sides and choose, whatever the gates hold.\n"
        "Gates of shape (n, 1) let each row run the loop of its own branch, and save what the others compute and read."
    )
    own = [row for row in rows if row["gates"].startswith("runs of")]
    at = [int(row["gates"].split()[-1]) for row in own]
    series = {
        "gates (n, n) in runs": ([*at, found.n], [*[1e3 * row["seconds"] for row in own], 1e3 * _of(rows, "whole rows")])
    }
    for name in ("whole rows, shape (n, 1)", *[f"{branch} everywhere" for branch in BRANCHES]):
        series[name] = ([min(at), found.n], [1e3 * _of(rows, name)] * 2)
    panel = measuring.Panel(
        f"HM-LSTM cell and cotangents, n = {found.n}", "length of runs of equal gates", "ms", series, True
    )
    measuring.chart(found.out, "divergence", [panel])
    measuring.report(found, rows, [])


def _of(rows: list[dict[str, Any]], name: str) -> float:
    return next(row["seconds"] for row in rows if row["gates"] == name)


if __name__ == "__main__":
    main()
