"""Plain NumPy programs that nobody here wrote, as they stand: value and pullback against NumPy and differences."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import catad as ct

FOLDER = Path(os.environ.get("CATAD_OUTSIDE_DATA", "")) / "npbench"
HERE = Path(__file__).resolve().parents[2]
PROGRAMS = (
    "arc_distance atax azimint_hist correlation covariance deriche doitgen durbin gemm gemver gesummv hdiff heat_3d k2mm k3mm "
    "lenet ludcmp mlp mvt resnet symm syr2k trisolv trmm vadv"
)
"""All but one that needs linear algebra, and the N-body problem, whose derivative is too large for differences of doubles.
A change of the arguments in the last digit changes the results of durbin by more than the script allows: it passes since all
sums are NumPy's."""

there = pytest.mark.skipif(not (FOLDER / "run.py").exists(), reason="CATAD_OUTSIDE_DATA names no folder with these programs")


@there
@pytest.mark.quick(5)
@pytest.mark.parametrize("name", PROGRAMS.split())
def test_a_program_as_it_stands_has_numpys_value_and_the_right_pullback(name: str) -> None:
    command = [sys.executable, str(FOLDER / "run.py"), "--one", str(FOLDER / f"{name}.json")]
    paths = [str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 0 and ": ok" in done.stdout, done.stdout + done.stderr[-2000:]


def imported(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


@there
@pytest.mark.skipif(bool(np.finfo(np.longdouble).eps > 1e-18), reason="long doubles are doubles here")
def test_the_gradient_of_many_bodies_is_that_of_differences_in_extended_precision(tmp_path: Path) -> None:
    record, script = json.loads((FOLDER / "nbody.json").read_text()), imported(FOLDER / "run.py")
    values, names = script.arguments(record, "S", str(tmp_path)), record["info"]["input_args"]
    active = [k for k in names if script.is_active(values[k])]
    text = record["numpy"] + f"\ndef program({', '.join(active)}):\n    return nbody({', '.join(names)})\n"
    made = script.module(text, "bodies", str(tmp_path))
    precise = script.module(text.replace("float64", "longdouble"), "precise", str(tmp_path))
    for k in set(names) - set(active):
        setattr(made, k, values[k])
        setattr(precise, k, values[k])
    rng = np.random.default_rng(1)
    y, pullback = ct.vjp(ct.function(made.program), *[np.copy(values[k])[()] for k in active])
    weights = [rng.standard_normal(part.shape) for part in y]
    h = np.longdouble(1e-13)
    for k, bar in enumerate(pullback(tuple(weights))):
        along = rng.standard_normal(np.shape(bar))
        ends = []
        for sign in (1, -1):
            at = [np.asarray(values[name]).astype(np.longdouble)[()] for name in active]
            at[k] = at[k] + sign * h * along
            ends.append(sum(np.vdot(w, part) for w, part in zip(weights, precise.program(*at), strict=True)))
        assert np.isclose(np.vdot(bar, along), float((ends[0] - ends[1]) / (2 * h)), rtol=1e-4), active[k]
