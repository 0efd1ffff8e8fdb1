"""The wheel and the source distribution: what they contain and say, and that catad works where they are installed."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from email import message_from_bytes
from email.message import Message
from pathlib import Path

import pytest

from catad.version import __version__

from .support import ROOT, SECONDS, python

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source distribution, and with the wheel that is built from it."""
    pytest.importorskip("build")
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("built")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=SECONDS)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return folder


def wheel(built: Path) -> Path:
    return built / f"catad-{__version__}-py3-none-any.whl"


def sdist(built: Path) -> Path:
    return built / f"catad-{__version__}.tar.gz"


def metadata(built: Path) -> Message:
    with zipfile.ZipFile(wheel(built)) as archive:
        return message_from_bytes(archive.read(f"catad-{__version__}.dist-info/METADATA"))


def test_there_is_one_of_each_with_the_version_of_the_package(built: Path) -> None:
    assert {path.name for path in built.iterdir()} == {wheel(built).name, sdist(built).name}
    assert metadata(built)["Version"] == __version__ and "version" in PROJECT["dynamic"] and "version" not in PROJECT


def test_twine_accepts_both(built: Path) -> None:
    pytest.importorskip("twine")
    command = [sys.executable, "-m", "twine", "check", "--strict", str(wheel(built)), str(sdist(built))]
    ran = subprocess.run(command, cwd=built, capture_output=True, text=True, timeout=SECONDS)
    assert ran.returncode == 0 and ran.stdout.count("PASSED") == 2, ran.stdout


def test_the_wheel_has_the_package_and_nothing_else(built: Path) -> None:
    with zipfile.ZipFile(wheel(built)) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    package = {path for path in (ROOT / "catad").rglob("*") if path.suffix == ".py" or path.name == "py.typed"}
    assert names == {str(path.relative_to(ROOT)) for path in package} and "catad/py.typed" in names


def test_the_source_distribution_has_what_builds_and_tests_it_and_no_working_files(built: Path) -> None:
    with tarfile.open(sdist(built)) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    files = ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "CITATION.cff")
    inside = ("catad/py.typed", "tests/conftest.py", "docs/conf.py", "docs/index.md", "examples/quickstart.py", ".ci/run")
    assert {*files, *inside, "CODE_OF_CONDUCT.md"} <= names
    working = ("__pycache__", "_build", "_generated", ".git", ".venv", "dist", "out", ".hypothesis")
    assert [name for name in names if {*name.split("/")} & {*working} or name.endswith((".pyc", ".log"))] == []
    assert {name.partition("/")[0] for name in names} <= {
        *files, "CODE_OF_CONDUCT.md", "PKG-INFO", ".gitignore", ".ci", "catad", "tests", "docs", "examples"
    }  # fmt: skip


def test_the_metadata_say_what_the_project_says(built: Path) -> None:
    said = metadata(built)
    assert said["License-Expression"] == "MIT" and said.get_all("License-File") == ["LICENSE"]
    assert said["Author"] == "catad developers" and said["Requires-Python"] == ">=3.11"
    classifiers = said.get_all("Classifier") or []
    assert not [one for one in classifiers if one.startswith("License ::")], "an SPDX expression stands for it"
    assert {"Typing :: Typed", "Operating System :: POSIX :: Linux"} <= {*classifiers}
    assert said["Description-Content-Type"] == "text/markdown"
    for one in said.get_all("Project-URL") or []:
        assert one.partition(", ")[2].startswith("https://") and "HOST" not in one and "OWNER" not in one


def test_the_wheel_works_without_the_checkout(built: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel(built)) as archive:
        archive.extractall(tmp_path / "packages")
    ran = python("-m", "catad.testing", "--quick", cwd=tmp_path, path=tmp_path / "packages")
    assert ran.returncode == 0 and "all passed" in ran.stdout, ran.stdout + ran.stderr
    where = python("-c", "import catad; print(catad.__file__)", cwd=tmp_path, path=tmp_path / "packages")
    assert where.stdout.strip() == str(tmp_path / "packages" / "catad" / "__init__.py")


@pytest.mark.slow
@pytest.mark.parametrize("kind", [wheel, sdist])
def test_it_installs_into_an_empty_environment_and_passes_its_self_test(kind, built: Path, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    venv.create(tmp_path / "venv", with_pip=True)
    own = tmp_path / "venv" / "bin" / "python"
    command = [str(own), "-m", "pip", "install", str(kind(built))]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=2 * SECONDS)
    if ran.returncode and "No matching distribution" in ran.stderr:
        pytest.skip("no package index is reached from here")
    assert ran.returncode == 0, ran.stderr
    tested = python("-m", "catad.testing", cwd=tmp_path, path=None, at=str(own))
    assert tested.returncode == 0 and "all passed" in tested.stdout, tested.stdout + tested.stderr
    assert str(tmp_path) in python("-m", "catad.info", "--no-self-test", cwd=tmp_path, path=None, at=str(own)).stdout
