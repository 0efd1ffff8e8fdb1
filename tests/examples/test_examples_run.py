"""What holds for every example: it runs from any folder, and it uses public names only."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest
from example_support import FOLDER, NAMES

import catad

EQUATIONS = ("stiff_kinetics", "fit_ode", "bilevel", "catenary", "inverse_poisson")
QUICK = ("gaussian_process", "kalman", "pca_and_ridge", "beam", "schroedinger", *EQUATIONS)
MORE = {
    "quickstart": ["--epochs", "1", "--out", "pictures"],
    "out_of_core": ["--quick"],
    **{name: ["--quick", "--out", "pictures"] for name in QUICK},
}


def test_the_examples_are_there() -> None:
    assert {"quickstart", "by_hand", "trains", "optimise", "out_of_core", *QUICK} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_runs_from_another_folder(name: str, tmp_path: Path) -> None:
    if name == "out_of_core":
        pytest.importorskip("dask.array", reason="pip install 'catad[dask]'")
    command = [sys.executable, str(FOLDER / f"{name}.py"), *MORE.get(name, [])]
    root = str(FOLDER.parent)
    paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment, timeout=600)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) > 5
    assert "Warning" not in done.stderr
    if name in QUICK:
        assert (tmp_path / "pictures" / f"{name}.svg").read_text(encoding="utf-8").rstrip().endswith("</svg>")


@pytest.mark.parametrize("name", NAMES)
def test_uses_public_names_only(name: str) -> None:
    tree = ast.parse((FOLDER / f"{name}.py").read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            assert not (node.module or "").startswith("catad") or node.module in ("catad.linear", "catad.testing", "catad.simt")
        elif isinstance(node, ast.Import):
            for alias in node.names:
                assert not alias.name.startswith("catad") or alias.name in ("catad", "catad.linear", "catad.testing")
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "ct":
            assert not node.attr.startswith("_") and hasattr(catad, node.attr), node.attr
            assert node.attr not in ("spaces", "terms", "wiring", "functors", "derive", "engine", "planner", "vector")
