"""Plain NumPy programs that nobody here wrote, as they stand: value and pullback against NumPy and differences."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(os.environ.get("CATAD_OUTSIDE_DATA", "")) / "npbench"
HERE = Path(__file__).resolve().parents[2]
PROGRAMS = (
    "arc_distance atax azimint_hist correlation covariance deriche doitgen durbin gemm gemver gesummv hdiff heat_3d k2mm k3mm "
    "lenet ludcmp mlp mvt resnet symm syr2k trisolv trmm vadv"
)
"""All but one that needs linear algebra and the N-body problem, whose derivative is too large for differences. A change of the
arguments in the last digit changes the results of durbin by more than the script allows: it passes since all sums are NumPy's."""


@pytest.mark.skipif(not (FOLDER / "run.py").exists(), reason="CATAD_OUTSIDE_DATA names no folder with these programs")
@pytest.mark.quick(5)
@pytest.mark.parametrize("name", PROGRAMS.split())
def test_a_program_as_it_stands_has_numpys_value_and_the_right_pullback(name: str) -> None:
    command = [sys.executable, str(FOLDER / "run.py"), "--one", str(FOLDER / f"{name}.json")]
    paths = [str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 0 and ": ok" in done.stdout, done.stdout + done.stderr[-2000:]
