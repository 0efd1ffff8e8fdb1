"""NumPy programs of others, value and gradients, beside DaCe AD, which differentiates NumPy programs by their dataflow graph.

DaCe AD is A. Boudaoud, A. Calotoiu, M. Copik and T. Hoefler, "DaCe AD: Unifying High-Performance Automatic Differentiation for
Machine Learning and Scientific Computing", 2025, arXiv 2509.02197; it is in the package `dace` from version 2.0 (`pip install
--pre dace`), and needs a C++ compiler. The programs are those of the folder npbench in CATAD_OUTSIDE_DATA. Both libraries get
the NumPy text as it stands and compute the sum of all results with its gradients by all floating arrays; DaCe gets the types of
the arguments besides, since it compiles before it sees them. One thread each; products of matrices by OpenBLAS. DaCe is measured
with and without its automatic optimisation; the faster one with right results counts. A program runs in a process of its own,
for SECONDS at most.

    python examples/experiments/dace_ad.py [--only NAME ...] [--seconds SECONDS] [--json FILE] [--rounds N]
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"
os.environ.setdefault("CATAD_COMPILE", "now")

import measuring  # noqa: E402  after the threads are set
import numpy as np  # noqa: E402

import catad as ct  # noqa: E402

Run = Callable[[], Any]


def module(text: str, name: str, place: Path) -> Any:
    """A module of a text; both libraries read the source of its functions."""
    path = place / f"{name}.py"
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules[name] = made
    spec.loader.exec_module(made)
    return made


class Case:
    """A program with its arguments; `active` are the arrays by which it is differentiated."""

    def __init__(self, path: Path, place: Path) -> None:
        harness = module((path.parent / "run.py").read_text(encoding="utf-8"), "npbench_run", place)
        record = json.loads(path.read_text(encoding="utf-8"))
        for key in ("numpy", "initialize"):
            record[key] = record[key] and record[key].replace("np.float32", "np.float64")
        info = record["info"]
        self.text, self.function, self.place = record["numpy"], info["func_name"], place
        self.arguments: list[str] = info["input_args"]
        self.values = harness.arguments(record, "S", str(place))
        for name in self.arguments:
            if isinstance(self.values[name], float | np.floating):
                self.values[name] = float(self.values[name])
        floating = [k for k in self.arguments if isinstance(self.values[k], np.ndarray) and self.values[k].dtype.kind == "f"]
        self.active = [k for k in harness.ONLY.get(path.stem, floating) if k in floating]
        self.passed = [k for k in self.arguments if isinstance(self.values[k], np.ndarray | float)]
        self.overwritten = [k for k in info["output_args"] if k in self.arguments]

    def copies(self) -> dict[str, Any]:
        return {k: np.array(v) if isinstance(v, np.ndarray) else v for k in self.passed for v in (self.values[k],)}

    def results(self) -> int | None:
        """How many results the function returns; None for none at all."""
        made = getattr(module(self.text, "plain", self.place), self.function)(*[self.fresh(k) for k in self.arguments])
        return None if made is None else len(made) if isinstance(made, tuple) else 1

    def fresh(self, name: str) -> Any:
        value = self.values[name]
        return np.array(value) if isinstance(value, np.ndarray) else value

    def body(self) -> tuple[str, str]:
        """A call of the program, and the sum of what it gives and overwrites."""
        count = self.results()
        call = f"{self.function}({', '.join(self.arguments)})"
        returned = [] if count is None else ["result"] if count == 1 else [f"result[{k}]" for k in range(count)]
        terms = " + ".join([f"np.sum({one})" for one in (*returned, *self.overwritten)])
        return (call if count is None else f"result = {call}"), terms

    def constants(self) -> str:
        return "".join([f"{k} = {self.values[k]!r}\n" for k in self.arguments if k not in self.passed])


def by_catad(case: Case) -> Run:
    """(sum, gradients) by catad."""
    call, terms = case.body()
    text = f"{case.text}\n{case.constants()}\ndef loss({', '.join(case.passed)}):\n    {call}\n    return {terms}\n"
    loss = module(text, "for_catad", case.place).loss
    both = ct.value_and_grad(loss, argnums=tuple([case.passed.index(k) for k in case.active]))
    return lambda: both(*case.copies().values())


def by_dace(case: Case, optimised: bool) -> Run:
    """(sum, gradients) by DaCe AD, with its automatic optimisation or without."""
    import dace
    from dace.autodiff import add_backward_pass
    from dace.libraries import blas
    from dace.transformation.auto.auto_optimize import auto_optimize

    for one in (blas, blas.Gemm, blas.Gemv, blas.Dot):
        one.default_implementation = "OpenBLAS"

    def kind(value: Any) -> str:
        return f"dace.{value.dtype.name}[{', '.join(map(str, value.shape))}]" if isinstance(value, np.ndarray) else "dace.float64"

    call, terms = case.body()
    head = ", ".join([f"{k}: {kind(case.values[k])}" for k in case.passed])
    text = f"import dace\n{case.text}\n{case.constants()}\n@dace.program\n"
    text += f"def loss({head}, total: dace.float64[1]):\n    {call}\n    total[0] = {terms}\n"
    graph = module(text, f"for_dace_{optimised}", case.place).loss.to_sdfg(simplify=True)
    add_backward_pass(sdfg=graph, outputs=["total"], inputs=list(case.active))
    if optimised:
        auto_optimize(graph, dace.DeviceType.CPU)
    compiled = graph.compile()

    def run() -> Any:
        total, slopes = np.zeros(1), [np.zeros_like(case.values[k]) for k in case.active]
        named = {f"gradient_{k}": slope for k, slope in zip(case.active, slopes, strict=True)}
        compiled(**case.copies(), total=total, gradient_total=np.ones(1), **named)
        return total[0], tuple(slopes)

    return run


def agree(got: Any, want: Any) -> bool:
    """The same sums and gradients, to rounding of either order."""
    for a, b in zip([got[0], *got[1]], [want[0], *want[1]], strict=True):
        size = float(np.max(np.abs(b), initial=0.0))
        if not np.allclose(a, b, rtol=1e-6, atol=1e-8 * size + 1e-300):
            return False
    return True


def one(path: Path, rounds: int) -> dict[str, Any]:
    """Seconds of a program by both, or why there is no figure."""
    with tempfile.TemporaryDirectory() as place, warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        os.environ["CATAD_CACHE_DIR"] = os.environ["DACE_default_build_folder"] = place  # noqa: SIM112  DaCe's name
        case = Case(path, Path(place))
        if not case.body()[1]:
            return {"program": path.stem, "seconds": {}, "refused": "its record names no result"}
        ours = by_catad(case)
        want, runs, refused = ours(), {"catad": ours}, ""
        for optimised in (False, True):
            try:
                theirs = by_dace(case, optimised)
                if agree(theirs(), want):
                    runs[f"DaCe AD{', optimised' if optimised else ''}"] = theirs
                else:
                    refused = refused or "gradients that differ from catad's"
            except Exception as error:
                refused = refused or type(error).__name__
        begun = time.perf_counter()
        for run in runs.values():
            run()
        many = max(3, min(rounds, int(30.0 / (time.perf_counter() - begun))))
        return {"program": path.stem, "seconds": measuring.side_by_side(runs, many), "refused": refused if len(runs) == 1 else ""}


def apart(path: Path, found: Any) -> dict[str, Any]:
    command = [sys.executable, __file__, "--one", str(path), "--rounds", str(found.rounds)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=found.seconds, check=False)
        return dict(json.loads(done.stdout.splitlines()[-1]))
    except subprocess.TimeoutExpired:
        return {"program": path.stem, "seconds": {}, "refused": f"more than {found.seconds:g} s to compile and to run"}
    except (IndexError, ValueError):
        return {"program": path.stem, "seconds": {}, "refused": "the process ended without a figure"}


def main() -> None:
    found = measuring.options(
        __doc__,
        only={"nargs": "+", "default": [], "metavar": "NAME"},
        seconds={"type": float, "default": 240.0, "help": "for a program, compiling included"},
        one={"metavar": "FILE", "help": "measure this program in this process"},
    )
    if found.one:
        print(json.dumps(one(Path(found.one), found.rounds)))
        return
    harness = measuring.outside_folder()
    if harness is None or importlib.util.find_spec("dace") is None:
        print("nothing to measure: CATAD_OUTSIDE_DATA has no folder npbench, or dace >= 2.0 is not installed")
        return
    rows, bounds = [], []
    for path in sorted(harness.parent.glob("*.json")):
        if found.only and path.stem not in found.only:
            continue
        row = apart(path, found)
        rows.append(row)
        theirs = [s for name, s in row["seconds"].items() if name != "catad"]
        if theirs:
            bounds.append(measuring.Bound(row["program"], "DaCe AD", row["seconds"]["catad"] / min(theirs), 1.0))
        print(row["program"], row["seconds"] if theirs else f"no figure: {row['refused']}", flush=True)
    measuring.report(found, rows, bounds)


if __name__ == "__main__":
    main()
