"""The experiment on planning: each family once, small; what it says of it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import catad as ct

from ..experiments import experiment as imported

pytest.importorskip("matplotlib")
pytest.importorskip("tqdm")


@pytest.fixture(scope="module")
def experiment() -> ModuleType:
    return imported("planning")


@pytest.fixture(autouse=True)
def on_the_reference() -> Iterator[None]:
    """What is planned is the same for every engine; here it runs on the one that says what things mean."""
    with ct.use_engine("reference"):
        yield


def test_every_family_is_planned_no_dearer_than_from_one_end(experiment: ModuleType) -> None:
    for name, (make, sizes) in experiment.FAMILIES.items():
        f, x = make(sizes[0])
        costs = {
            mode: ct.plan(f, x, mode=mode, cost="operations").cost.operations for mode in ("auto", "forward", "reverse")
        }
        pushed, pulled = ct.plan(f, x).by_columns_and_rows()
        assert costs["auto"] <= min(costs["forward"], costs["reverse"], pushed, pulled), name
        explicit = ct.plan(f, x, explicit=True, cost="operations")
        assert explicit.cost.operations <= min(pushed, pulled), name
        expected = ct.linearize(f, x)[1].todense()
        for found in (ct.jacobian(f)(x), explicit.run(x)):
            np.testing.assert_allclose(found.todense(), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("name", "most"), [("arrowhead", 4), ("stencil", 3), ("four steps of a stencil", 9 * 30)])
def test_structured_families_grow_with_n_and_not_its_square(experiment: ModuleType, name: str, most: int) -> None:
    """Numbers stored and operations per unit of n, at a size whose square would show."""
    f, x = experiment.FAMILIES[name][0](1000)
    planned = ct.plan(f, x, explicit=True, cost="operations")
    assert planned.result.stored <= most * 1000 and planned.cost.operations <= most * 1000


def test_what_it_writes(experiment: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "rows.json"
    old = sys.argv
    sys.argv = [
        "planning.py",
        "--quick",
        "--rounds",
        "1",
        "--engine",
        "reference",
        "--json",
        str(file),
        "--out",
        str(tmp_path),
    ]
    try:
        experiment.main()
    finally:
        sys.argv = old
    written = json.loads(file.read_text(encoding="utf-8"))
    rows = written["rows"]
    assert [row["family"] for row in rows] == list(experiment.FAMILIES)
    assert all(row["operations"]["forward"] > 0 and row["seconds"]["planned"] > 0 for row in rows)
    assert len(written["races"]) == 2 * len(rows) and all(race["ratio"] > 0 for race in written["races"])
    assert (tmp_path / "planning.png").stat().st_size > 10_000
    printed = capsys.readouterr().out
    assert all(name in printed for name in experiment.FAMILIES)


def test_the_order_by_sizes_makes_some_plans_cheaper() -> None:
    """With it and without it: a program of which the experiment says so."""
    experiment = imported("orders_by_sizes")
    program = experiment.drawn(102)
    (with_it, _), (without, _) = (experiment.planned(program, most) for most in (experiment.search.SIZED, 0))
    assert with_it < without
