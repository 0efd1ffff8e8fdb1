"""`python -m catad.testing` passes where catad is right, and fails where a rule or a piece of compiled code is wrong."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import catad as ct
from catad.testing.installation import code, compositions, functions, run, values
from catad.testing.installation.case import Case, Wrong, check_case, differences, require, second
from tests.planted.__main__ import planted
from tests.planted.bug import Bug
from tests.planted.table import BUGS as TABLE

from .support import ROOT, SECONDS, environment, python


def test_the_quick_self_test_passes_and_prints_a_line_for_each_check(tmp_path: Path) -> None:
    ran = python("-m", "catad.testing", "--quick", cwd=tmp_path)
    lines = ran.stdout.splitlines()
    assert ran.returncode == 0 and lines[0].startswith(f"catad {ct.__version__}, Python ") and not ran.stderr
    assert len(lines) > 15 and all(re.match(r"ok +\d+\.\d\d s  \w", line) for line in lines[1:-1])
    assert re.fullmatch(rf"{len(lines) - 2} checks in [\d.]+ s: all passed", lines[-1])


BUGS = {bug.name: bug for bug in TABLE} | {
    "the derivative of a sine is a sine": Bug(
        "the derivative of a sine is a sine",
        "scalar/derivative_rules.py",
        '"sin": (lambda y, x: apply("cos", x),)',
        '"sin": (lambda y, x: apply("sin", x),)',
        "",
    ),
    "compiled code adds where it should subtract": Bug(
        "compiled code adds where it should subtract",
        "scalar/printing/llvm_ops.py",
        '"sub": _binary("fsub", "sub"),',
        '"sub": _binary("fadd", "sub"),',
        "",
    ),
}
CAUGHT = {  # by these of the quick checks
    "the derivative of a sine is a sine": "elementary functions: on the engine reference, the Jacobian",
    "a delta transposes to one without its factor": "",
    "the last piece of a divided stage is left out": "threads",
    "compiled code adds where it should subtract": "elementary functions: on the engine cpu",
}


def with_bug(name: str, folder: Path) -> Path:
    """A copy of the package with a bug in it."""
    bug = BUGS[name]
    shutil.copytree(ROOT / "catad", folder / "catad", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "catad" / bug.file).write_text(planted(bug, ROOT), encoding="utf-8")
    return folder


@pytest.mark.parametrize("name", CAUGHT)
def test_the_self_test_fails_with_a_planted_bug(name: str, tmp_path: Path) -> None:
    ran = python("-m", "catad.testing", "--quick", cwd=tmp_path, path=with_bug(name, tmp_path))
    failed = re.findall(r"^FAIL +[\d.]+ s  (.*)$", ran.stdout, re.MULTILINE)
    assert ran.returncode == 1 and any(CAUGHT[name] in line for line in failed), ran.stdout
    assert ran.stdout.splitlines()[-1].endswith(f"{len(failed)} failed")


def test_damaged_code_on_disk_is_noticed(tmp_path: Path) -> None:
    text = "from catad.testing.installation import code; code.kept(); print('kept')"
    assert python("-c", text, cwd=tmp_path).stdout == "kept\n"
    path = with_bug("code of another file is run", tmp_path)
    command = [sys.executable, "-c", text]
    ran = subprocess.run(command, cwd=path, capture_output=True, text=True, timeout=SECONDS, env=environment(path, tmp_path))
    assert ran.returncode != 0 and "Wrong" in ran.stderr


def test_a_failure_is_counted_and_the_other_checks_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise OSError("first line\nsecond line")

    monkeypatch.setattr(functions, "cases", lambda: [Case("wrong", ct.sin, np.ones(2), np.cos, quick=True)])
    monkeypatch.setattr(compositions, "cases", list)
    monkeypatch.setattr(values, "CHECKS", {"broken": broken, "right": values.transposes})
    monkeypatch.setattr(code, "CHECKS", {})
    said: list[str] = []
    outcome = run.run(quick=True, say=said.append)
    assert outcome.checks == 3 and outcome.summary().endswith("s: 1 passed, 2 failed")
    assert outcome.failures[0].startswith("wrong: on the engine reference, the value of the first call differs")
    assert outcome.failures[1] == "broken: OSError: first line\n      second line" and said[2].startswith("ok ")


SHORT = [case for case in (*functions.cases(), *compositions.cases()) if not case.long]


@pytest.mark.parametrize("case", SHORT, ids=lambda case: case.name)
def test_every_case_holds(case: Case) -> None:
    check_case(case, "reference")
    moved = Case(case.name, case.function, case.x, lambda x: case.reference(x) + 1e-3 * x.sum(), case.loose)
    with pytest.raises(Wrong, match="the value of the first call differs"):
        check_case(moved, "reference")


def test_differences_are_those_of_formulas() -> None:
    x, v = np.array([0.3, -1.2, 2.0]), np.array([1.0, 0.5, -2.0])
    assert np.allclose(differences(np.sin, x), np.diag(np.cos(x)), rtol=0, atol=1e-11)
    assert np.isclose(second(lambda x: np.sum(np.exp(x)), x, v), np.sum(np.exp(x) * v * v), rtol=1e-8)


@pytest.mark.parametrize("got", [np.array([1.0, np.nan]), np.array([1.0, 2.1]), np.array([[1.0, 2.0]]), np.array([1.0])])
def test_what_differs_is_wrong(got: np.ndarray) -> None:
    require("it", [1.0, 2.0], [1.0, 2.0], 0.0)
    with pytest.raises(Wrong, match=r"^it "):
        require("it", got, np.array([1.0, 2.0]), 1e-3)


def test_a_gpu_is_checked_where_there_is_one(tmp_path: Path) -> None:
    text = """
import sys
from tests.fake_cupy import fake
sys.modules["cupy"] = fake
from catad.testing.installation import code, run
assert [check.name for check in run.checks(True)][-1] == "a GPU"
code.gpu()
print("done")
"""
    assert python("-W", "ignore", "-c", text, cwd=tmp_path).stdout == "done\n"
