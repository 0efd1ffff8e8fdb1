"""The gallery: its entries are short, use public names and run; on the site each has a picture, which loads."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from browser import opened
from built import ROOT, needs_sphinx, served

import catad

FOLDER = ROOT / "docs" / "gallery"
ENTRIES = sorted(path.stem for path in FOLDER.glob("*.py"))
LINES, LEAST = 60, 16
PUBLIC_MODULES = ("catad.fft", "catad.jax", "catad.linalg", "catad.linear", "catad.simt", "catad.testing", "catad.torch")
ASKED = {"attention", "elimination", "hm_lstm", "k_means", "kernel_races", "least_squares", "modes", "plan_bars"}
BOUNDARY = re.compile(r"^# %%", re.MULTILINE)


def settings() -> Any:
    """The module that tells sphinx-gallery what to do."""
    spec = importlib.util.spec_from_file_location("gallery_settings", ROOT / "docs" / "_gallery.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


GALLERY = settings()


def tree_of(name: str) -> ast.Module:
    return ast.parse((FOLDER / f"{name}.py").read_text(encoding="utf-8"))


def test_there_are_enough_entries_of_several_kinds() -> None:
    assert len(ENTRIES) >= LEAST
    assert set(ENTRIES) >= ASKED


@pytest.mark.parametrize("name", ENTRIES)
def test_an_entry_is_short_and_says_what_it_shows(name: str) -> None:
    text = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= LINES
    said = ast.get_docstring(tree_of(name))
    assert said is not None
    title, line, _, *rest = said.splitlines()
    assert 5 <= len(title) <= 60 and line == "=" * len(title)
    assert 2 <= " ".join(rest).count(". ") + 1 <= 6
    assert "plt.show()" in text or BOUNDARY.search(text)


@pytest.mark.parametrize("name", ENTRIES)
def test_an_entry_checks_what_it_computes(name: str) -> None:
    assert any(isinstance(node, ast.Assert) for node in ast.walk(tree_of(name)))


@pytest.mark.parametrize("name", ENTRIES)
def test_an_entry_uses_public_names_of_catad(name: str) -> None:
    public, used = {"catad", *PUBLIC_MODULES}, set[str]()
    for node in ast.walk(tree_of(name)):
        if isinstance(node, ast.Import):
            used |= {alias.name for alias in node.names if alias.name.split(".")[0] == "catad"}
        elif isinstance(node, ast.ImportFrom) and node.module is not None and node.module.split(".")[0] == "catad":
            assert node.module in public
            module = importlib.import_module(node.module)
            assert all(hasattr(module, alias.name) and not alias.name.startswith("_") for alias in node.names)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "ct":
            assert node.attr in dir(catad) and not node.attr.startswith("_"), node.attr
        elif isinstance(node, ast.Attribute):
            assert not node.attr.startswith("_"), node.attr
    assert used <= public


@pytest.mark.quick(5)
@pytest.mark.parametrize("name", ENTRIES)
def test_an_entry_runs_alone(name: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="pip install '.[docs]': no entry of the gallery runs")
    if lacking := GALLERY.missing(FOLDER / f"{name}.py"):
        pytest.skip(f"{' and '.join(lacking)} is not installed")
    environment = os.environ | {"PYTHONPATH": str(ROOT), "MPLBACKEND": "agg", "CATAD_COMPILE": "background"}
    before = set(FOLDER.iterdir())
    done = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", str(FOLDER / f"{name}.py")], cwd=tmp_path, env=environment,
        text=True, timeout=600, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-4000:]
    assert len(done.stdout.splitlines()) <= 12
    assert not list(tmp_path.iterdir()) and {path for path in FOLDER.iterdir() if path.name != "__pycache__"} <= before


def test_an_entry_whose_library_is_missing_is_shown_without_being_run(monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name in ("torch", "dask") else found(name))
    run = re.compile(GALLERY.settings()["filename_pattern"])
    assert not run.search(f"{FOLDER}/torch_layer.py") and not run.search(f"{FOLDER}/out_of_core.py")
    assert run.search(f"{FOLDER}/attention.py") and not run.search(f"{FOLDER}/attention_of_another_kind.py")
    page = ["\nTitle\n=====\n\nText.\n"]
    GALLERY.say_what_did_not_run(None, "_generated/gallery/torch_layer", page)
    assert "not run, since this build lacks torch" in page[0]
    assert page[0].index("Title") < page[0].index("lacks") < page[0].index("Text")
    untouched = ["\nTitle\n=====\n\nText.\n"]
    GALLERY.say_what_did_not_run(None, "_generated/gallery/attention", untouched)
    assert untouched == ["\nTitle\n=====\n\nText.\n"]


def test_the_picture_of_a_value_is_that_of_the_last_block_alone(tmp_path: Path) -> None:
    values: dict[str, Any] = {"___": catad.sin >> catad.cos}
    found = {"example_globals": values, "image_path_iterator": iter([str(tmp_path / "one.png"), str(tmp_path / "two.png")])}
    conf = {"thumbnail_size": (400, 280)}
    assert "<svg" in GALLERY.picture(None, found, conf) and (tmp_path / "one.svg").read_text().startswith("<svg")
    assert GALLERY.picture(None, found, conf) == ""
    for nothing in (None, 3.0, "text", catad.D):
        values["___"] = nothing
        assert GALLERY.picture(None, found, conf) == ""
    assert not (tmp_path / "two.svg").exists()


def test_a_wide_picture_is_cut_for_the_grid() -> None:
    wide = GALLERY.cropped('<svg viewBox="0 0 1000 70"></svg>', 400, 280)
    assert 'viewBox="0 0 100.0 70"' in wide and wide.endswith("</svg></svg>")
    assert GALLERY.cropped('<svg viewBox="0 0 100 90"></svg>', 400, 280) == '<svg viewBox="0 0 100 90"></svg>'


# -- the pages

LOADED = "return [...document.querySelectorAll(arguments[0])].map(i => [i.complete, i.naturalWidth, i.getAttribute('src')])"
DRAWN = "return [...document.querySelectorAll('article svg[role=img]')].map(s => s.getBoundingClientRect().width)"


def test_the_pages_show_pictures_that_load(site: Path) -> None:
    needs_sphinx()
    entries = [name for name in ENTRIES if not GALLERY.missing(FOLDER / f"{name}.py")]
    assert len(entries) >= LEAST
    with served(site) as at, opened() as driver:
        driver.get(f"{at}/_generated/gallery/index.html")
        driver.execute_script("document.querySelectorAll('img').forEach(i => i.loading = 'eager')")
        driver.set_window_size(1200, 3000)
        grid = driver.execute_script(LOADED, ".sphx-glr-thumbcontainer img")
        assert len(grid) == len(ENTRIES) and all(complete and width > 0 for complete, width, _ in grid)
        assert sum("no_image" not in source for _, _, source in grid) >= len(entries)
        for name in entries:
            driver.get(f"{at}/_generated/gallery/{name}.html")
            pictures = driver.execute_script(LOADED, "article img[src*=sphx_glr]")
            assert all(complete and width > 0 for complete, width, _ in pictures), name
            assert pictures or any(width > 50 for width in driver.execute_script(DRAWN)), name
            assert not driver.find_elements("css selector", ".sphx-glr-script-out .highlight-pytb"), name
