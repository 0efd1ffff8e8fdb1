"""What a type checker sees: right programs have no error, and each planted mistake is found on its line."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).with_name("programs.py")


def marked() -> set[int]:
    return {k for k, line in enumerate(PROGRAMS.read_text().splitlines(), 1) if line.endswith("# wrong")}


def lines_of(output: str) -> set[int]:
    """The lines on which a checker has reported an error, `programs.py:12: error: ...`."""
    found = [line.split(":") for line in output.splitlines() if PROGRAMS.name in line and "error" in line]
    return {int(parts[1]) for parts in found}


@pytest.mark.usefixtures("process_settings")  # mypy raises the limit of recursion, and names the folder of its settings
def test_mypy_finds_the_planted_mistakes_and_no_other() -> None:
    api = pytest.importorskip("mypy.api")
    output, errors, _ = api.run(["--strict", "--show-absolute-path", str(PROGRAMS)])
    assert not errors and lines_of(output) == marked(), output


def test_pyright_finds_the_planted_mistakes_and_no_other() -> None:
    command = shutil.which("pyright")
    if command is None:
        pytest.skip("pyright is not installed")
    output = subprocess.run([command, str(PROGRAMS)], capture_output=True, text=True, check=False, timeout=300).stdout
    assert lines_of(output) >= marked(), output
