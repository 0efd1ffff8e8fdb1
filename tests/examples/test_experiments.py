"""The experiments on small sizes: they run, their figures are what they say, and what they measure computes the right thing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from example_support import FOLDER

import catad as ct
from tests.experiments import FOLDER as EXPERIMENTS
from tests.experiments import experiment

SMALL = {
    "hm_lstm": ["--sizes", "80", "--no-peers", "--rounds", "2"],
    "arity": ["--n", "5000", "--arities", "1", "2", "5", "--widths", "2", "--rounds", "2"],
    "divergence": ["--n", "96", "--runs", "1", "32", "--rounds", "2"],
    "futhark_tables": ["--n", "5000", "--bins", "31", "--rounds", "2", "--rows", "+", "affine", "2x2", "argmax", "satur"],
    "cliffs": ["--n", "2000", "--rounds", "1", "--rows", "fold *, near 1, float32", "fold logaddexp, float32"],
    "functions": ["--n", "20", "--steps", "30", "--side", "30", "--no-peers", "--rounds", "2"],
    "cpu_engine": ["--n", "50000", "--steps", "5000", "--no-peers", "--rounds", "2", "--only", "primal", "scan", "memory"],
    "linear_algebra": ["--small", "--no-peers", "--rounds", "2"],
    "equations": ["--small", "--no-peers", "--rounds", "2"],
    "chunks": ["--small", "--rounds", "1", "--only", "map", "recurrence, value", "k-means", "graph"],
    "loops": ["--small", "--no-peers", "--rounds", "2", "--only", "kalman", "sir", "while", "sweep", "vjp"],
}  # fmt: skip


@pytest.mark.quick(3)
@pytest.mark.parametrize("name", SMALL)
def test_runs_small(name: str, tmp_path: Path) -> None:
    command = [sys.executable, str(EXPERIMENTS / f"{name}.py"), *SMALL[name], "--json", "found.json", "--out", "pictures"]
    paths = [str(FOLDER.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment, timeout=600)
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    origin = {"experiment", "about", "options", "date", "machine", "versions"}
    assert set(found) == {*origin, "races", "rows", "bounds"} and (found["rows"] or found["bounds"])
    assert found["experiment"] == name and all(race["ratio"] > 0 for race in found["races"])
    for row in found["bounds"]:
        assert row["holds"] == (row["measured"] >= row["bound"] if row["least"] else row["measured"] <= row["bound"])
        assert row["work"] in done.stdout and row["measured"] > 0
    (picture,) = (tmp_path / "pictures").iterdir()
    assert picture.stem == name and picture.stat().st_size > 1000


def test_all_forms_of_the_cell_agree_with_calculus() -> None:
    hm_lstm = experiment("hm_lstm")
    for gates in hm_lstm.GATES:
        x, w = hm_lstm.arguments(24, gates)
        z, zb, c, f, i, g = [a.astype(np.float64) for a in x]
        si, sf, tg = 1 / (1 + np.exp(-i)), 1 / (1 + np.exp(-f)), np.tanh(g)
        flush, copy = np.broadcast_to(z == 1, c.shape), np.broadcast_to((z != 1) & (zb == 0), c.shape)
        update, joins = ~flush & ~copy, ~copy
        expected = (
            np.where(copy, c, joins * si * tg + update * sf * c),
            w * (copy + update * sf), w * update * c * sf * (1 - sf),
            w * joins * si * (1 - si) * tg, w * joins * si * (1 - tg**2),
        )  # fmt: skip
        for form in (hm_lstm.fused(), hm_lstm.by_where()):
            for a, b in zip(_flat(form(x, w)), expected, strict=True):
                np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-6)
        for a, b in zip(_flat(hm_lstm.by_boxes(x, w)), expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-6)


@pytest.mark.numpy_only
def test_the_fused_cell_is_one_stage_and_the_boxes_are_many() -> None:
    hm_lstm = experiment("hm_lstm")
    x, w = hm_lstm.arguments(80, "random rows")
    with ct.use_engine("cpu"):
        fused = hm_lstm.fused().source("steps", ct.space_of((x, w)))
        with ct.profile() as p:
            hm_lstm.by_boxes(x, w)
    assert len(fused.splitlines()) == 1 and "compiled" in fused
    for gates in ("random rows", "random"):
        at = ct.space_of(hm_lstm.arguments(80, gates))
        with ct.use_engine("cpu"):
            (line,) = hm_lstm.by_where().source("steps", at).splitlines()
        assert "compiled" in line
    assert sum(stage.calls for stage in p.stages) > 8


def test_chunks_give_the_partials_of_one_pass() -> None:
    arity = experiment("arity")
    k, n = 5, 7
    xs = tuple(np.random.default_rng(0).uniform(0.5, 1.5, (k, n)))
    s, partials = np.tanh(xs[0]), [1 - np.tanh(xs[0]) ** 2]
    for x in xs[1:]:
        new = np.tanh(s * x)
        partials = [*[(1 - new**2) * x * p for p in partials], (1 - new**2) * s]
        s = new
    for width in (1, 2, 3, 5):
        found = [_flat(term((xs, np.ones(n)))) for term in arity.chunks(k, width)]
        assert max(len(part) - (j == 0) for j, part in enumerate(found)) == width
        for a, b in zip([leaf for part in found for leaf in part], [s, *partials], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)


@pytest.mark.parametrize("length", [1, 8, 60])
def test_gates_in_runs(length: int) -> None:
    divergence = experiment("divergence")
    n = 60
    z, zb = divergence.gates_in_runs(n, length)
    pairs = np.stack([z, zb], axis=-1)
    counts = [int((pairs == branch).all(axis=-1).sum()) for branch in divergence.BRANCHES.values()]
    assert sum(counts) == n * n and max(counts) - min(counts) <= 2 * n
    starts = pairs[:, ::length]
    assert np.array_equal(np.repeat(starts, length, axis=1)[:, :n], pairs)
    assert length == n or len(np.unique(pairs[0], axis=0)) > 1


def test_operators_of_the_tables() -> None:
    tables = experiment("futhark_tables")
    rng = np.random.default_rng(0)
    for d in (2, 3, 4, 5):
        op, neutral = tables.matrices(d)
        a, b = rng.uniform(size=(2, d, d))
        np.testing.assert_allclose(op(tuple(a.ravel()), tuple(b.ravel())), (a @ b).ravel())
        np.testing.assert_array_equal(neutral, np.eye(d).ravel())
    f, g = rng.uniform(size=(2, 6)).tolist()
    x, after = rng.uniform(size=2), lambda f, x: np.array(f[:2]) + np.reshape(f[2:], (2, 2)) @ x
    np.testing.assert_allclose(after(tables.affine_2d(f, g), x), after(g, after(f, x)))
    p, q = (2.0, 3.0), (5.0, 7.0)
    assert tables.without(tables.sums_of_products(p, q), q) == pytest.approx(p)
    assert tables.greater((1.0, 4), (1.0, 2)) == (1.0, 2) and tables.greater((1.0, 4), (3.0, 5)) == (3.0, 5)
    names = [(row.kind, row.name) for row in tables.all_rows(["scan", "fold", "histogram"], [31, 1023])]
    assert len(set(names)) == len(names) == 10 + 7 + 2 * 9


def test_published_figures_stand_beside_their_bins() -> None:
    tables = experiment("futhark_tables")
    said = {
        bins: {row.name.split(",")[0]: row.published for row in tables.histograms(bins)} for bins in (31, 1023, 1_000_000)
    }
    assert [said[bins]["*"][0] for bins in said] == ["2.6", "2.8", "12.9"]
    assert [said[bins]["saturating +"] for bins in said] == [
        ("52.4", "50.6", "2.4"),
        ("96.7", "81.2", "3.5"),
        ("33.7", "19.0", "4.8"),
    ]


def test_peak_memory_counts_input_and_output() -> None:
    cpu_engine = experiment("cpu_engine")
    with ct.use_engine("reference"):
        many = cpu_engine.peak(200_000)
    assert many["peak"] > 2 * many["needed"]  # array code keeps what lies between: the measure sees it


def test_charts_without_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measuring = experiment("measuring")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    series = {"a < b": ([1, 10, 100], [1.0, 2.0, 4.0]), "one point": ([10], [3.0])}
    panels = [measuring.Panel("plain", "x", "y", series), measuring.Panel("logarithmic", "x", "y", series, True)]
    file = measuring.chart(tmp_path, "drawn", panels)
    lines = list(ElementTree.parse(file).iter("{http://www.w3.org/2000/svg}polyline"))
    assert file.suffix == ".svg" and len(lines) == 4
    ends = [[tuple(map(float, p.split(","))) for p in line.get("points", "").split()] for line in lines]
    assert ends[0][0][0] < ends[0][1][0] < ends[0][2][0] and ends[0][0][1] > ends[0][2][1]
    steps = np.diff([x for x, _ in ends[2]])
    assert steps[0] == pytest.approx(steps[1], abs=0.2)  # factors of ten are equally far apart


def _flat(value: Any) -> list[Any]:
    return [leaf for part in value for leaf in _flat(part)] if isinstance(value, tuple) else [value]


OUTSIDE = "\n".join([
    "a: ok (difference 1e-10, first call 0.50 s; value + pullback 2.00 ms = 4.00 x NumPy's value; JAX 4.00 ms (first 1.0 s), 2)",
    "1 of 1 programs",
    "b: ok (difference 1e-10, first call 0.50 s; value + pullback 9.00 ms = 1.00 x NumPy's value; JAX: ValueError: 'no reverse')",
    "c: WRONG gradient (difference 3.0e-01, first call 1.85 s)",
    "d: needs linear algebra, left out",
])  # fmt: skip


def test_programs_of_others_are_rows_where_they_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loops = experiment("loops")
    monkeypatch.delenv("CATAD_OUTSIDE_DATA", raising=False)
    assert loops.measuring.outside_folder() is None
    (tmp_path / "npbench").mkdir()
    first = "a: ok (difference 1e-10, first call 0.25 s)\nc: ok (first call 1.00 s)\n1 of 1 programs"
    warm = "'--times' in sys.argv and os.environ.get('CATAD_ENGINE') == 'cpu'"
    text = f"import os, sys\nprint({OUTSIDE!r} if {warm} else {first!r})"
    (tmp_path / "npbench" / "run.py").write_text(text, encoding="utf-8")
    monkeypatch.setenv("CATAD_OUTSIDE_DATA", str(tmp_path))
    rows = loops.outside(loops.measuring.outside_folder())
    assert [row["work"] for row in rows] == ["a", "b", "c", "d"] and rows[2]["status"] == "WRONG gradient"
    assert [row["JAX"] for row in rows] == [0.5, None, None, None] and [row["NumPy"] for row in rows] == [4.0, 1.0, None, None]
    assert rows[0]["first"] == 0.25 and rows[0]["status"] == "ok"
    found = {(bound.work.split(", ")[-1], bound.against): bound.measured for bound in loops.outside_bounds(rows)}
    assert found["geometric mean", "NumPy's value"] == pytest.approx(2.0)
    assert found["slowest: a", "NumPy's value"] == 4.0 and found["slowest: a", "JAX"] == 0.5


def test_the_report_of_a_gpu_runs_nothing_where_there_is_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Any
) -> None:
    gpu_report = experiment("gpu_report")
    monkeypatch.setitem(sys.modules, "cupy", None)
    file = tmp_path / "found.json"
    assert gpu_report.main(["--json", str(file)]) == 0
    assert capsys.readouterr().out.startswith("nothing was measured: ModuleNotFoundError") and not file.exists()


@pytest.mark.filterwarnings("ignore::catad.CatadNotice")
def test_the_report_of_a_gpu_on_a_fake_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Any) -> None:
    """Its checks and its tables; the times are those of a processor, and are written nowhere."""
    from tests.fake_cupy import fake

    gpu_report = experiment("gpu_report")
    monkeypatch.setitem(sys.modules, "cupy", fake)
    monkeypatch.setattr(gpu_report, "SMALL", ([5], 70))
    monkeypatch.setattr(gpu_report, "CALLS", 1)
    fake.reset()
    file = tmp_path / "found.json"
    arguments = ["--sizes", "5", "--length", "60", "--rounds", "1", "--json", str(file)]
    assert gpu_report.main(arguments) == 0
    made = json.loads(file.read_text(encoding="utf-8"))
    assert len(made["checks"]) == len(made["rows"]) == 16 and not made["not measured"]
    assert all(row["seconds"]["catad"] > 0 for row in made["rows"])
    assert gpu_report.main([*arguments, "--seconds", "-1"]) == 0
    made = json.loads(file.read_text(encoding="utf-8"))
    assert not made["rows"] and len(made["not measured"]) == 16
    assert "not measured, the time was over: scan: sums" in capsys.readouterr().out
    fake.reset()


def test_the_race_of_engines_compares_and_says_what_differs(tmp_path: Path) -> None:
    command = [sys.executable, str(EXPERIMENTS / "engines.py"), "Rosenbrock 100", "k-means 200", "--quick", "--no-jax"]
    paths = [str(FOLDER.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(
        [*command, "--json", "found.json"], cwd=tmp_path, capture_output=True, text=True, env=environment, timeout=600
    )
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    assert len(found["rows"]) == 4 and not found["failed"]
