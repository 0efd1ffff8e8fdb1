"""Small sites, built with the settings of the real one: links of each kind, and the mistakes that must fail."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from built import ROOT, Page, needs_sphinx, sphinx_build

INDEX = """# Site

[read](../README.md#limits), [run](../examples/run.py), [all](../examples/), [races](../examples/experiments/),
[pages](how-to/), [licence](../LICENSE), [two](two.md#a-heading)

```python
x = "[no link](../gone.md)"
```

```{toctree}
:glob:

two
how-to/*
_generated/*/*
```
"""
FILES = {
    "README.md": "# Read\n\n![wave](docs/wave.svg)\n\n[two](docs/two.md), [run](examples/run.py)\n\n## Limits\n\nNone.\n",
    "LICENSE": "MIT\n",
    "examples/run.py": '"""Runs."""\n\nprint("it runs")\n',
    "examples/experiments/race.py": '"""Races."""\n',
    "docs/index.md": INDEX,
    "docs/how-to/index.md": "# How to\n\n[up](../index.md), [run](../../examples/run.py)\n",
    "docs/two.md": "# Two\n\n## A heading\n\n[back](index.md)\n",
    "docs/wave.svg": '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><path d="M0 0L9 9"/></svg>\n',
}


@pytest.fixture(autouse=True)
def _sphinx() -> None:
    needs_sphinx()


def built(folder: Path, changed: dict[str, str], *options: str) -> subprocess.CompletedProcess[str]:
    """Build the small site in a folder, with some of its files changed."""
    for name, text in (FILES | changed).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    settings = ("-c", str(ROOT / "docs"), "-D", "extensions=myst_parser,_links", "-W", "--keep-going", *options)
    return sphinx_build("-m", "sphinx", "-q", "-b", "html", *settings, str(folder / "docs"), str(folder / "out"))


def links(page: Path) -> set[str]:
    return set(Page(page.read_text(encoding="utf-8")).links)


def test_links_lead_to_pages_of_files_outside_the_docs(tmp_path: Path) -> None:
    done = built(tmp_path, {})
    assert (done.returncode, done.stdout) == (0, "")
    found = links(tmp_path / "out" / "index.html")
    pages = {"_generated/project/README.html#limits", "_generated/examples/run.html", "_generated/examples/index.html"}
    assert pages | {"two.html#a-heading", "_generated/examples/experiments/index.html", "how-to/index.html"} <= found
    assert any(link.startswith("_downloads/") and link.endswith("/LICENSE") for link in found)
    readme = links(tmp_path / "out" / "_generated" / "project" / "README.html")
    assert {"../../two.html", "../examples/run.html", "../../_images/wave.svg"} <= readme
    program = tmp_path / "out" / "_generated" / "examples" / "run.html"
    assert "it runs" in program.read_text(encoding="utf-8")
    (download,) = [link for link in links(program) if "_downloads/" in link]
    assert (program.parent / download).read_text(encoding="utf-8") == FILES["examples/run.py"]
    assert [link for link in found | readme if "://" in link and "sphinx-doc" not in link] == []


def test_a_second_build_is_the_same_and_forgets_pages_whose_files_are_gone(tmp_path: Path) -> None:
    extra = "examples/gone.py"
    assert built(tmp_path, {extra: '"""Gone soon."""\n'}).returncode == 0
    assert (tmp_path / "out" / "_generated" / "examples" / "gone.html").exists()
    (tmp_path / extra).unlink()
    done = built(tmp_path, {})
    assert (done.returncode, done.stdout) == (0, "")
    assert "gone" not in (tmp_path / "out" / "_generated" / "examples" / "index.html").read_text(encoding="utf-8")
    outside = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()} - FILES.keys()
    assert {path for path in outside if not path.startswith(("out/", "docs/_generated/"))} == set()


BROKEN = {
    "[gone](gone.md)": "gone.md",
    "[gone](two.md#gone-a)": "gone-a",
    "[gone](#gone-b)": "gone-b",
    "[gone](../README.md#gone-c)": "gone-c",
    "[gone](../gone-d.md)": "gone-d.md",
    "[gone](../examples/gone-e.py)": "gone-e.py",
    "[gone](../examples/gone-f/)": "gone-f",
    "![gone](gone-g.svg)": "gone-g.svg",
}


def test_every_broken_link_is_a_warning_and_fails(tmp_path: Path) -> None:
    done = built(tmp_path, {"docs/two.md": FILES["docs/two.md"] + "\n" + "\n\n".join(BROKEN) + "\n"})
    assert done.returncode != 0
    warnings = [line for line in done.stdout.splitlines() if "WARNING" in line]
    assert all("two.md" in line for line in warnings) and len(warnings) == len(BROKEN)
    assert [said for said in BROKEN.values() if sum(said in line for line in warnings) != 1] == []


def test_a_broken_link_of_the_readme_fails(tmp_path: Path) -> None:
    done = built(tmp_path, {"README.md": FILES["README.md"] + "\n[gone](docs/gone.md)\n"})
    assert done.returncode != 0 and "docs/gone.md" in done.stdout


def test_a_page_without_a_place_in_the_navigation_fails(tmp_path: Path) -> None:
    done = built(tmp_path, {"docs/three.md": "# Three\n"})
    assert done.returncode != 0 and "three.md" in done.stdout and "toctree" in done.stdout


@pytest.mark.parametrize(
    ("repository", "edit", "blob"),
    [
        ("https://github.com/you/catad", "edit/main", "blob/main"),
        ("https://gitlab.com/you/catad/", "-/edit/main", "-/blob/main"),
    ],
)
def test_an_address_of_the_repository_gives_links_to_it(tmp_path: Path, repository: str, edit: str, blob: str) -> None:
    project = f'[project]\nname = "catad"\n[project.urls]\nRepository = "{repository}"\n'
    done = built(tmp_path, {"pyproject.toml": project})
    assert (done.returncode, done.stdout) == (0, "")
    base = repository.rstrip("/")
    out = tmp_path / "out"
    assert {repository, f"{base}/{blob}/LICENSE"} <= links(out / "index.html")
    assert {repository, f"{base}/{edit}/docs/two.md"} <= links(out / "two.html")
    assert f"{base}/{edit}/README.md" in links(out / "_generated" / "project" / "README.html")
    assert f"{base}/{edit}/examples/run.py" in links(out / "_generated" / "examples" / "run.html")
    for page in (out / "_generated" / "examples" / "index.html", out / "search.html"):
        assert [link for link in links(page) if f"/{edit}/" in link] == []
