"""`python -m catad.info` tells what there is, says what is broken, and gives nobody's name away."""

from __future__ import annotations

import importlib.metadata
import re
from pathlib import Path

import pytest

import catad as ct
from catad import info

from .support import ROOT, Ran, python


def lines(ran: Ran) -> dict[str, str]:
    """The lines of a report, by their names."""
    assert ran.returncode == 0 and ran.stdout.isprintable() is False, ran.stderr
    return {name: text.strip() for name, _, text in (line.partition(":") for line in ran.stdout.splitlines())}


def test_a_report_has_the_versions_the_engine_and_the_cache(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir(mode=0o700)
    said = lines(python("-m", "catad.info", "--no-self-test", cwd=tmp_path, CATAD_ENGINE="reference", CATAD_NUM_THREADS="3"))
    assert said["catad"].startswith(f"{ct.__version__}, in ") and said["Python"].startswith("3.")
    for name, module in info.NEEDED.items():
        assert said[name] == importlib.metadata.version(module)
    assert said["engine"].startswith("reference of auto, cpu, cuda, reference; compiling: background")
    assert said["threads"] == "at most 3 for a call of a compiled program"
    assert re.fullmatch(r".*/cache, \d+ files, [\d.]+ of at most 256 MiB", said["cache"])
    assert "CATAD_ENGINE=reference" in said["environment"] and "CATAD_NUM_THREADS=3" in said["environment"]
    assert {"processor", "compiled for", "LLVM", "BLAS of NumPy", "optional", "GPU"} <= said.keys() and "self-test" not in said


def test_the_self_test_is_part_of_the_report_and_its_failures_are_told(tmp_path: Path) -> None:
    assert lines(python("-m", "catad.info", cwd=tmp_path))["self-test"].endswith("all passed")
    (tmp_path / "sitecustomize.py").write_text("import numpy\nnumpy.linalg.solve = numpy.linalg.lstsq\n")
    said = python("-m", "catad.info", cwd=tmp_path, PYTHONPATH=f"{tmp_path}:{ROOT}").stdout
    assert re.search(r"^self-test: .* passed, \d+ failed$", said, re.M) and re.search(r"^failed: +a linear system: ", said, re.M)


def broken(folder: Path, module: str, distribution: str | None = None) -> str:
    """A search path on which a module cannot be imported; its distribution is installed if it is named."""
    (folder / module).mkdir(parents=True)
    (folder / module / "__init__.py").write_text(f"raise OSError('{module} is broken\\nin two lines')\n")
    if distribution:
        place = folder / f"{distribution}-9.8.dist-info"
        place.mkdir()
        (place / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 9.8\n")
    return f"{folder}:{ROOT}"


@pytest.mark.parametrize(("name", "module"), [("NumPy", "numpy"), ("SciPy", "scipy"), ("llvmlite", "llvmlite")])
def test_a_broken_library_is_told_and_the_rest_too(name: str, module: str, tmp_path: Path) -> None:
    said = lines(python("-m", "catad.info", cwd=tmp_path, PYTHONPATH=broken(tmp_path / "path", module)))
    assert said[name].endswith(f", and cannot be imported, OSError: {module} is broken")
    assert said["catad"].startswith(ct.__version__) and "platform" in said and "environment" in said
    assert "failed" in said["self-test"] or "cannot be told" in said["self-test"]


def test_a_broken_cupy_and_missing_libraries_are_told(tmp_path: Path) -> None:
    path = broken(tmp_path / "path", "cupy", "cupy-cuda12x")
    said = lines(python("-m", "catad.info", "--no-self-test", cwd=tmp_path, PYTHONPATH=path))
    assert said["CuPy"] == "9.8" and said["GPU"] == "not used, OSError: cupy is broken"
    found = [name for name in info.OPTIONAL if info._version(name)]
    assert [text.split()[0] for text in said["optional"].split(", ")] == (found or ["nothing"])


def test_it_works_where_nothing_can_be_written(tmp_path: Path) -> None:
    ran = python("-m", "catad.info", cwd=tmp_path, HOME="/dev/null", XDG_CACHE_HOME="", CATAD_CACHE_DIR="/dev/null/cache")
    assert lines(ran)["self-test"].endswith("all passed") and lines(ran)["cache"] == "~/cache, not there yet"
    assert lines(python("-m", "catad.info", "--no-self-test", cwd=tmp_path, CATAD_CACHE_DIR=""))["cache"].startswith("off")


def test_the_name_of_the_user_stands_nowhere(tmp_path: Path) -> None:
    home, elsewhere = tmp_path / "home" / "alice", tmp_path / "data" / "alice" / "cache"
    home.mkdir(parents=True)
    who = {"HOME": str(home), "USER": "alice", "LOGNAME": "alice"}
    for place, shown in ((home / ".cache" / "x", "~/.cache/x"), (elsewhere, f"{tmp_path}/data/USER/cache")):
        place.mkdir(parents=True, mode=0o700)
        ran = python("-m", "catad.info", "--no-self-test", cwd=tmp_path, CATAD_CACHE_DIR=str(place), **who)
        assert "alice" not in ran.stdout and lines(ran)["cache"].startswith(f"{shown}, ")
        assert f"CATAD_CACHE_DIR={shown}" in lines(ran)["environment"]


def test_the_function_returns_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    ct.info.show(self_test=False)
    assert capsys.readouterr().out == ct.info.report(self_test=False) + "\n"
    assert ct.info is info and info.__all__ == ["report", "show"]
