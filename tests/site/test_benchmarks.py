"""The page of benchmarks says what the files of figures say, and what is slower first."""

from __future__ import annotations

import importlib
import json
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "docs" / "benchmarks").glob("*.json"))


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT))
    return importlib.import_module("docs._benchmarks")


def test_the_page_is_written_from_the_figures(made: Any) -> None:
    assert FILES
    for file, text in made.files().items():
        assert file.read_text(encoding="utf-8") == text, f"python -m docs._benchmarks writes {file.name} anew"


def test_all_that_is_slower_stands_first(made: Any) -> None:
    slower = [r for file in FILES for r in json.loads(file.read_text(encoding="utf-8"))["races"] if r["ratio"] > 1.05]
    head = made.PAGE.read_text(encoding="utf-8").split("## Where catad is slower")[1].split("\n## ")[0]
    shown = [float(found) for found in re.findall(r"\| (\d+\.\d+) \|", head)]
    assert shown == sorted([float(f"{race['ratio']:.2f}") for race in slower], reverse=True)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_figures_say_where_they_come_from(file: Path) -> None:
    record = json.loads(file.read_text(encoding="utf-8"))
    assert (ROOT / "examples" / "experiments" / f"{record['experiment']}.py").exists()
    assert {"processor", "cores", "threads", "load", "python", "numpy", "catad"} <= set(record["machine"])
    assert all(race["ratio"] > 0 and race["work"] and race["against"] for race in record["races"])
    assert not any(word.startswith("/") for word in record["options"]), "a path of the machine that measured"


def test_bars_begin_at_one_and_end_at_their_ratios(made: Any) -> None:
    rows = [made.Race("twice", "x", 2.0, ""), made.Race("<half>", "x", 0.5, ""), made.Race("the same", "x", 1.0, "")]
    found = ElementTree.fromstring(made.picture(rows))
    bars = {bar.get("class"): bar for bar in found.iter("{http://www.w3.org/2000/svg}rect")}
    left = {kind: float(bar.get("x") or 0.0) for kind, bar in bars.items()}
    wide = {kind: float(bar.get("width") or 0.0) for kind, bar in bars.items()}
    assert set(bars) == {"faster", "slower", "equal"}
    assert left["faster"] + wide["faster"] == pytest.approx(left["slower"], abs=0.2)
    assert wide["faster"] == pytest.approx(wide["slower"], abs=0.2)


def test_no_name_of_a_bar_is_cut_off(made: Any) -> None:
    """A letter of 12 pixels is 7.2 pixels wide at most, on average over a name."""
    rows = [made.Race("m" * 100, "x", 2.0, "")]
    names = [text.text or "" for text in ElementTree.fromstring(made.picture(rows)).iter("{http://www.w3.org/2000/svg}text")]
    assert max(map(len, names)) * 7.2 <= made.LEFT - 8
    longest = max(len(race["work"]) for file in FILES for race in json.loads(file.read_text(encoding="utf-8"))["races"])
    assert longest <= 52, "the picture would not show the whole name"


def test_small_ratios_keep_their_digits(made: Any) -> None:
    assert [made.number(ratio) for ratio in (112.11, 2.0, 0.1, 0.0037, 0.02)] == ["112.11", "2.00", "0.10", "0.0037", "0.020"]
