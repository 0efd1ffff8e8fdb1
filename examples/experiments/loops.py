"""Recurrent networks, filters, integrators and in-place sweeps, beside JAX, beside C, and beside one fused pass.

One thread, float64 (the HM-LSTM float32, as in the paper), medians; each figure is a ratio of times of one run. Measured are,
warm and at the first call,

- value and all gradients of an LSTM, a Kalman filter, Runge and Kutta's method and bodies that attract each other, beside
  jitted JAX with `lax.scan`; residual and Jacobian of an epidemic beside `jacfwd`; a while loop beside `lax.while_loop`;
- value and pullback of an in-place sweep over a matrix, beside the same loop for its value alone in C (numba where it is
  installed, else the C compiler of the machine);
- the HM-LSTM cell of `hm_lstm.py` by `ct.vjp`, value then pullback, beside both in one program;
- the programs of the folder npbench in CATAD_OUTSIDE_DATA where there is one, by its own `run.py --times`: value and
  pullback, and the first call, beside JAX's rewrite where that can be differentiated, and beside NumPy's value alone.

First calls find nothing on disk: kernels are kept in a temporary folder. Rows of what is not installed are left out with a
notice. Prints a table, draws it, and writes it as JSON too:

    python examples/experiments/loops.py [--only WORD ...] [--small] [--json FILE] [--out DIR] [--rounds N] [--no-peers]
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
_cache = tempfile.TemporaryDirectory()
os.environ["CATAD_CACHE_DIR"] = _cache.name

import hm_lstm  # noqa: E402  after the threads are set
import loop_programs  # noqa: E402
import measuring  # noqa: E402
import numpy as np  # noqa: E402

import catad as ct  # noqa: E402

Run = Callable[[], Any]
SETTLING = 0.4  # seconds of calls before a program is timed: small ones are compiled when they have run for a while
FIRST = 0.7  # of JAX's first call
NOTES = {
    "correlation": "JAX's version has the gradient of another function, so the two compute different things",
    "trmm": "JAX's version has the gradient of another function, so the two compute different things",
    "nbody": "the derivative of this simulation is large, so tests check it in extended precision",
}


def settled(run: Run) -> None:
    """Call until what is compiled late is compiled."""
    begun = time.perf_counter()
    while time.perf_counter() - begun < SETTLING:
        run()


def agree(got: Any, want: Any, name: str) -> None:
    """Both compute the same, or their times mean nothing."""
    for a, b in zip(_flat(got), _flat(want), strict=True):
        size = float(np.max(np.abs(b), initial=0.0))
        np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-9 * size + 1e-300, err_msg=name)


def _flat(value: Any) -> list[Any]:
    if isinstance(value, tuple | list):
        return [leaf for part in value for leaf in _flat(part)]
    return [np.asarray(value)]


# -- beside JAX


def ours(program: loop_programs.Program) -> Run:
    """What the row asks for, by catad."""
    f, x = ct.function(program.numpy), program.arguments
    if program.kind == "gradient":
        both = ct.value_and_grad(f, argnums=tuple(range(len(x))))
        return lambda: both(*x)
    if program.kind == "jacobian":
        together = ct.fork(f, ct.jacfwd(f, argnums=0))
        return lambda: together(*x)
    return lambda: f(*x)


def theirs(program: loop_programs.Program) -> Run:
    """The same by JAX, on arrays that are its own; raises ImportError."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    f, x = loop_programs.with_jax()[program.jax], [jnp.asarray(a) for a in program.arguments]
    if program.kind == "gradient":
        fast = jax.jit(jax.value_and_grad(f, argnums=tuple(range(len(x)))))
    elif program.kind == "jacobian":
        fast = jax.jit(lambda *a: (f(*a), jax.jacfwd(f)(*a)))
    else:
        fast = jax.jit(f)
    return lambda: jax.block_until_ready(fast(*x))


def warm_up(peers: bool) -> str:
    """Both compilers have compiled something, so that no first call pays for their own start. A notice where JAX is missing."""
    with ct.use_engine("cpu"):
        (ct.sin >> ct.exp)(np.ones(8))
    if not peers:
        return ""
    try:
        import jax
    except ImportError:
        return "JAX is not installed: its rows show no ratio"
    jax.config.update("jax_enable_x64", True)
    jax.block_until_ready(jax.jit(lambda x: jax.numpy.exp(jax.numpy.sin(x)))(np.ones(8)))
    return ""


def measure(program: loop_programs.Program, rounds: int, peers: bool) -> dict[str, Any]:
    """One program: seconds of both, warm and first."""
    runs = {"catad": ours(program)}
    if peers:
        runs["JAX"] = theirs(program)
    first = {name: measuring.first_call(run) for name, run in runs.items()}
    results = {name: run() for name, run in runs.items()}
    with ct.use_engine("reference"):
        agree(results["catad"], ours(program)(), program.name)
    if peers:
        agree(results["catad"], results["JAX"], program.name)
    for run in runs.values():
        settled(run)
    return {
        "work": program.name,
        "seconds": measuring.side_by_side(runs, rounds, settled=True),
        "first": first,
        "bound": 1.0,
    }


# -- an in-place sweep, beside C


def sweep_in_c() -> tuple[str, Callable[[Any], Any]] | None:
    """The loop that gives the value alone: by numba, else by the C compiler; None without both."""
    if importlib.util.find_spec("numba"):
        import numba

        return "numba", numba.njit(loop_programs.sweeps)
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        return None
    folder = Path(_cache.name)
    (folder / "sweeps.c").write_text(loop_programs.SWEEPS, encoding="utf-8")
    command = [
        compiler,
        "-O3",
        "-march=native",
        "-shared",
        "-fPIC",
        "-o",
        str(folder / "sweeps.so"),
        str(folder / "sweeps.c"),
    ]
    if subprocess.run(command, capture_output=True).returncode:
        return None
    code = ctypes.CDLL(str(folder / "sweeps.so")).sweeps
    code.argtypes = [ctypes.c_void_p, ctypes.c_long]

    def run(A: Any) -> Any:
        code(A.ctypes.data, len(A))
        return A

    return "C", run


def sweep(n: int, rounds: int) -> dict[str, Any] | None:
    """Value and pullback over n x n numbers, and the value in C."""
    found = sweep_in_c()
    if found is None:
        return None
    name, in_c = found
    A, w = np.random.default_rng(1).standard_normal((2, n, n))
    both = measuring.value_and_pullback(ct.function(loop_programs.sweeps).at(ct.space_of(A)))
    runs: dict[str, Run] = {"catad": lambda: both(A, w), name: lambda: in_c(A.copy())}
    first = {"catad": measuring.first_call(runs["catad"])}
    value, pulled = both(A, w)
    agree(value, in_c(A.copy()), "sweep")
    h = 1e-6
    difference = np.vdot(w, in_c(A + h * w) - in_c(A - h * w)) / (2 * h)
    np.testing.assert_allclose(np.vdot(pulled, w), difference, rtol=1e-6)
    for run in runs.values():
        settled(run)
    seconds = measuring.side_by_side(runs, rounds, settled=True)
    return {"work": f"in-place sweep, {n}^2, value + pullback", "seconds": seconds, "first": first, "bound": 4.0}


# -- value, then pullback


def cell_of_squares(z: Any, zb: Any, c: Any, f: Any, i: Any, g: Any) -> Any:
    """The branches of the cell and their traffic, with next to no arithmetic."""
    if z == 1:
        return i * i * (g * g)
    elif zb == 0:  # noqa: RET505 (the three branches as the paper has them)
        return c
    else:
        return f * f * c + i * i * (g * g)


def cell_by_vjp(n: int, rounds: int) -> dict[str, Any]:
    """The HM-LSTM cell by `ct.vjp`, beside value and cotangents in one program; and what bounds the ratio.

    With random rows the value alone moves 3.25 arrays, value and cotangents at once 8.25: half of the rows read i and g, a
    quarter reads c, a quarter all four. Apart they move 12.25, since 2 arrays are kept: one program writes, the other reads them.
    """
    x, w = hm_lstm.arguments(n, "random rows")

    def apart(f: ct.D) -> Any:
        y, pullback = ct.vjp(f, x)
        return y, pullback(w)

    cell, squares = ct.map(hm_lstm.cell), ct.map(cell_of_squares)
    both, both_squares = measuring.value_and_pullback(cell), measuring.value_and_pullback(squares)
    for a, b in zip(_flat(apart(cell)), _flat(both(x, w)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=2e-6)
    pullback = ct.vjp(cell, x)[1]
    runs: dict[str, Run] = {
        "vjp": lambda: apart(cell), "one fused pass": lambda: both(x, w), "value": lambda: cell(x),
        "kept": lambda: ct.vjp(cell, x), "pullback": lambda: pullback(w),
        "squares": lambda: apart(squares), "squares at once": lambda: both_squares(x, w),
    }  # fmt: skip
    found = measuring.side_by_side(runs, rounds, settled=True)
    seconds = {name: found[name] for name in ("vjp", "one fused pass")}
    parts = ", ".join([f"{name} {1e3 * found[name]:.2f} ms" for name in ("value", "kept", "pullback")])
    bytes_alone = found["squares"] / found["squares at once"]
    why = (
        f"{parts}; 12.25 arrays move, 8.25 in one pass, 1.48 times as many; "
        f"without arithmetic these take {bytes_alone:.2f} times as long"
    )
    return {"work": f"HM-LSTM by vjp, {n}^2", "seconds": seconds, "first": {}, "bound": 1.15, "why": why}


# -- programs of others


def outside(file: Path) -> list[dict[str, Any]]:
    """What the programs of the folder npbench print of their times; a program without times has its status alone.

    The harness times at most 30 calls, within 1.5 seconds. By default array code serves the first ten of them, which may be most
    of these, so a run with the engine named measures warm calls, and one without it the first.
    """

    def lines(engine: Mapping[str, str], *more: str) -> list[str]:
        done = subprocess.run([sys.executable, str(file), *more], capture_output=True, text=True, env={**os.environ, **engine})
        return done.stdout.splitlines()

    begun = {line.partition(":")[0]: line for line in lines({})}
    found = [outside_row(line, begun.get(line.partition(":")[0], "")) for line in lines({"CATAD_ENGINE": "cpu"}, "--times")]
    return [row for row in found if row is not None]


def outside_row(line: str, begun: str) -> dict[str, Any] | None:
    """A line of warm times, and one of a first call, as a row of ratios to NumPy's value and to JAX; None of another line.

    >>> mine = "a: ok (first call 0.9 s; value + pullback 2.00 ms = 0.50 x NumPy's value"
    >>> row = outside_row(f"{mine}; JAX 4.00 ms (first 1.0 s), 2.0 x faster than JAX)", "a: ok (first call 0.5 s)")
    >>> row["status"], row["NumPy"], row["JAX"], row["first"]
    ('ok', 0.5, 0.5, 0.5)
    >>> outside_row("b: needs linear algebra, left out", "")["status"]
    'needs linear algebra, left out'
    """
    found, before = (re.match(r"(\w+): ([^(]+?)\s*(?:\(|$)", one) for one in (line, begun))
    if found is None or " of " in line.partition(":")[0]:
        return None
    status = before[2] if before is not None and found[2] == "ok" else found[2]
    row: dict[str, Any] = {"work": found[1], "status": status, "NumPy": None, "JAX": None, "first": None}
    mine = re.search(r"value \+ pullback ([\d.]+) ms = ([\d.]+) x NumPy", line)
    theirs = re.search(r"JAX ([\d.]+) ms \(first ([\d.]+) s\)", line)
    first = re.search(r"first call ([\d.]+) s", begun)
    if mine:
        row["NumPy"] = max(float(mine[2]), 0.005)  # it prints two digits
    if mine and theirs:
        row["JAX"] = float(mine[1]) / max(float(theirs[1]), 0.005)
    if first and theirs:
        row["first"] = float(first[1]) / max(float(theirs[2]), 0.05)
    return row


def mean(ratios: list[float]) -> float:
    """The geometric mean."""
    return float(np.exp(np.mean(np.log(ratios))))


def outside_bounds(rows: list[dict[str, Any]]) -> list[measuring.Bound]:
    """What value and pullback of the programs of others should reach together, and each of them."""
    out = []
    for against, which, most, worst in (("JAX", "JAX", 0.5, 1.5), ("NumPy's value", "NumPy", 3.0, 10.0)):
        judged = [row for row in rows if which == "NumPy" or row["work"] not in NOTES]
        ratios = {row["work"]: row[which] for row in judged if row[which] is not None}
        if ratios:
            slowest = max(ratios, key=lambda name: ratios[name])
            of = f"{len(ratios)} of {len(rows)} programs of others, value + pullback"
            out.append(measuring.Bound(f"{of}, geometric mean", against, mean(list(ratios.values())), most))
            out.append(measuring.Bound(f"{of}, slowest: {slowest}", against, ratios[slowest], worst))
    firsts = {row["work"]: row["first"] for row in rows if row["first"] is not None and row["work"] not in NOTES}
    if firsts:
        slowest = max(firsts, key=lambda name: firsts[name])
        out.append(measuring.Bound(f"programs of others, slowest first call: {slowest}", "JAX", firsts[slowest], FIRST))
    return out


def outside_races(rows: list[dict[str, Any]]) -> list[measuring.Race]:
    """Each program of others, value and pullback, beside JAX's rewrite; beside NumPy's value where there is none."""
    found = []
    for row in rows:
        against, ratio = ("JAX", row["JAX"]) if row["JAX"] is not None else ("NumPy's value", row["NumPy"])
        if ratio is not None:
            note = NOTES.get(row["work"], "" if against == "JAX" else "JAX has no version that can be differentiated")
            found.append(measuring.Race(f"NPBench {row['work']}, value + pullback", against, ratio, note))
    return found


# -- showing


def bounds(rows: list[dict[str, Any]]) -> list[measuring.Bound]:
    """What each row should reach, warm and at its first call."""
    out = []
    for row in rows:
        (name, mine), *others = row["seconds"].items()
        for other, seconds in others:
            why = f"{1e3 * mine:.3f} ms against {1e3 * seconds:.3f} ms{'; ' if 'why' in row else ''}{row.get('why', '')}"
            out.append(measuring.Bound(f"{row['work']}, {name}", other, mine / seconds, row["bound"], why=why))
        if "JAX" in row["first"]:
            mine, seconds = row["first"]["catad"], row["first"]["JAX"]
            why = f"{mine:.2f} s against {seconds:.2f} s"
            out.append(measuring.Bound(f"{row['work']}, first call", "JAX", mine / seconds, FIRST, why=why))
    return out


def shown(rows: list[dict[str, Any]]) -> str:
    lines = []
    for row in rows:
        (name, mine), *others = row["seconds"].items()
        peer, seconds = others[0] if others else ("-", float("nan"))
        lines.append((
            row["work"], name, f"{1e3 * mine:.3f}", peer, f"{1e3 * seconds:.3f}", f"{mine / seconds:.2f}",
            *[f"{row['first'][who]:.2f}" if who in row["first"] else "-" for who in ("catad", "JAX")],
        ))  # fmt: skip
    return measuring.table(("work", "", "ms", "against", "ms", "ratio", "first s", "JAX's first s"), lines)


def main() -> None:
    found = measuring.options(
        __doc__,
        only={"nargs": "+", "default": [""], "help": "rows whose names contain one of these words"},
        small={"action": "store_true", "help": "small sizes, to see that everything runs"},
        no_peers={"action": "store_true", "help": "without JAX"},
    )
    ct.set_num_threads(1)
    measuring.one_core()

    def asked(name: str) -> bool:
        return any(word.lower() in name.lower() for word in found.only)

    notice = warm_up(not found.no_peers)
    peers = not found.no_peers and not notice
    rows = [measure(p, found.rounds, peers) for p in loop_programs.programs(found.small) if asked(p.name)]
    if asked("in-place sweep"):
        made = sweep(24 if found.small else 400, found.rounds)
        notice += "" if made else "\nneither numba nor a C compiler is here: the in-place sweep is left out"
        rows += [made] if made else []
    rows += [
        cell_by_vjp(n, found.rounds) for n in ((48,) if found.small else (1024, 2048)) if asked(f"HM-LSTM by vjp, {n}^2")
    ]
    others = []
    if asked("programs of others"):
        file = None if found.small else measuring.outside_folder()
        others = [] if file is None else outside(file)
        if file is None and not found.small:
            notice += "\nCATAD_OUTSIDE_DATA names no folder with npbench/run.py: the programs of others are left out"
    if rows:
        print(shown(rows))
    if others:
        head = ("programs of others", "status", "of NumPy's value", "of JAX", "first call of JAX's")
        cells = [
            (row["work"], row["status"], *["-" if row[key] is None else f"{row[key]:.2f}" for key in ("NumPy", "JAX", "first")])
            for row in others
        ]
        print("\n" + measuring.table(head, cells))
        notice += "".join(f"\n{row['work']}: {NOTES[row['work']]}" for row in others if row["work"] in NOTES)
    print(notice.strip())
    if not rows:
        measuring.report(found, others, outside_bounds(others), outside_races(others))
        return
    at = list(range(1, len(rows) + 1))
    series: dict[str, Any] = {"catad": (at, [1e3 * next(iter(row["seconds"].values())) for row in rows])}
    if peers or all(len(row["seconds"]) > 1 for row in rows):
        series["against"] = (at, [1e3 * list(row["seconds"].values())[-1] for row in rows])
    measuring.chart(found.out, "loops", [measuring.Panel("loops, by rows of the table", "row", "ms", series, True)])
    own = bounds(rows)
    races = [*measuring.races_of(own), *outside_races(others)]
    measuring.report(found, [*rows, *others], [*own, *outside_bounds(others)], races)


if __name__ == "__main__":
    main()
