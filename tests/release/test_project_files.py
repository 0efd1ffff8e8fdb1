"""What stands in several files of the project is the same in all of them: versions, addresses, commands, public names."""

from __future__ import annotations

import importlib
import re
import tomllib
from typing import Any

import pytest

from .support import ROOT

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
PYTHONS = [one.rpartition(" ")[2] for one in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", one)]
SOFTWARE = {  # the keys of version 1.2.0 of the Citation File Format
    *("abstract", "authors", "cff-version", "commit", "contact", "date-released", "doi", "identifiers", "keywords", "license"),
    *("license-url", "message", "preferred-citation", "references", "repository", "repository-artifact", "repository-code"),
    *("title", "type", "url", "version"),
}


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def parsed(name: str) -> Any:
    return pytest.importorskip("yaml").safe_load(text(name))


def test_the_version_stands_in_one_place() -> None:
    others = ("pyproject.toml", "CITATION.cff", "docs/conf.py", "README.md")
    assert not [name for name in others if re.search(r"\b0\.1\.0\b", text(name))]
    assert PYPROJECT["tool"]["hatch"]["version"]["path"] == "catad/version.py"
    from catad.version import __version__

    assert re.match(rf"# Changelog\n+## {re.escape(__version__)}\b", text("CHANGELOG.md"))


def test_the_citation_is_valid_and_has_the_address_of_the_project() -> None:
    said = parsed("CITATION.cff")
    assert {"cff-version", "message", "title", "authors"} <= said.keys() <= SOFTWARE and said["cff-version"] == "1.2.0"
    assert said["authors"] == PROJECT["authors"] and said["license"] == PROJECT["license"] and said["title"] == PROJECT["name"]
    assert said.get("repository-code") == PROJECT.get("urls", {}).get("Repository")
    assert all({"type", "title", "authors"} <= one.keys() for one in said["references"])


def test_addresses_are_real_or_left_out() -> None:
    for address in PROJECT.get("urls", {}).values():
        assert re.fullmatch(r"https://[\w.-]+(/\S*)?", address) and "HOST" not in address and "OWNER" not in address


def test_the_workflow_runs_the_commands_of_the_project_on_every_python() -> None:
    workflow = parsed(".github/workflows/ci.yml")
    jobs = workflow["jobs"]
    assert jobs["versions"]["strategy"]["matrix"]["python"] == PYTHONS == ["3.11", "3.12", "3.13", "3.14"]
    assert PROJECT["requires-python"] == f">={PYTHONS[0]}" and workflow["permissions"] == {"contents": "read"}
    runs = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    assert {".ci/run", ".venv/bin/python -m docs"} <= {*runs} and any(".ci/floors" in run for run in runs)
    for run in runs:
        for script in re.findall(r"(?<!\S)\.ci/\w+", run):
            assert (ROOT / script).stat().st_mode & 0o111, script
        for extras in re.findall(r"'\.\[([\w,-]+)\]'", run):
            assert {*extras.split(",")} <= PROJECT["optional-dependencies"].keys()
        for folder in re.findall(r"(?<!\S)tests/\w+", run):
            assert (ROOT / folder).is_dir(), folder
    install = "python3 -m venv .venv && .venv/bin/pip install '.[test]'"
    assert install in runs and install in text("README.md") and "secrets" not in text(".github/workflows/ci.yml")
    assert all(job["timeout-minutes"] for job in jobs.values())


def test_the_floors_are_those_of_the_project_and_the_tests_left_out_exist() -> None:
    assert all(re.fullmatch(r"\w+>=[\d.]+", one) for one in PROJECT["dependencies"])
    for line in text("tests/release/floors.txt").splitlines():
        if not line.startswith("#"):
            file, _, test = line.partition("::")
            assert f"def {test.partition('[')[0]}(" in text(file), line


def test_the_page_on_versions_names_every_public_module() -> None:
    page = text("docs/versions.md").split("## Public names and behaviour")[1].split("\n## ")[0]
    named = set(re.findall(r"`(catad(?:\.\w+)?)`", page))
    modules = {f"catad.{path.parent.name}" for path in (ROOT / "catad").glob("*/__init__.py")}
    public = {module for module in modules if importlib.util.find_spec(module) and _has_public_names(module)}
    assert public | {"catad", "catad.info", "catad.torch", "catad.jax"} == named


def _has_public_names(module: str) -> bool:
    """Whether `catad` itself names the module, among its names or beside them."""
    import catad

    return module.partition(".")[2] in dir(catad)


def test_reports_of_bugs_and_of_weaknesses_ask_for_what_is_installed() -> None:
    for name in (".github/ISSUE_TEMPLATE/bug.md", "SECURITY.md", "CONTRIBUTING.md"):
        assert "python -m catad.info" in text(name), name
