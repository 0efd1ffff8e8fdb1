"""Pages for notebooks: what they say of maps, pullbacks, programs and profiles, how large they are, that names are escaped."""

from __future__ import annotations

import json
import re
import threading
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import catad as ct
from catad.drawing.of_map import drawn_maps, solution_of
from catad.drawing.style import BOXES, GROUND, INK, QUIET, sheet
from catad.engine import profile as profiles

SVG = "{http://www.w3.org/2000/svg}"
rng = np.random.default_rng(3)


def parsed(page: str) -> ElementTree.Element:
    """The page as XML, which is stricter than HTML."""
    assert " id=" not in page and "<script" not in page
    return ElementTree.fromstring(page.replace(" open>", ' open="">'))


def facts(value: Any) -> dict[str, str]:
    """The rows of the first table of a page."""
    (first, *_) = parsed(value._repr_html_()).iter("table")
    return {row[0].text or "": row[1].text or "" for row in first.iter("tr")}


def open_groups(page: str) -> list[str]:
    return [group[0].text or "" for group in parsed(page).iter("details")]


# -- linear maps


def test_a_linear_map_says_what_it_stores() -> None:
    linear = ct.scale(rng.uniform(1, 2, 40))
    found = facts(linear)
    assert (found["kind"], found["matrix"]) == ("diagonal", "40 x 40")
    assert (found["stored numbers"], found["of a dense matrix"], found["bytes"]) == ("40", "2.500% of 1,600", "320")


SOLVED = {
    "its inverse, diagonal, without factors": ct.scale(rng.uniform(1, 2, 9)),
    "LU factors": ct.linear.dense(rng.standard_normal((9, 9))),
    "the solver of its structure, recurrence": ct.linear.cumulative_sum(ct.f64[9]),
    "nothing: it is not square": ct.linear.dense(rng.standard_normal((9, 8))),
    "the solver of its family, recurrence": ct.linear.cumulative_sum(ct.f64[10**6]),
}


@pytest.mark.parametrize("said", SOLVED)
def test_a_linear_map_says_how_it_is_solved(said: str) -> None:
    linear = SOLVED[said]
    assert solution_of(linear.structure) == facts(linear)["solved by"] == said
    if linear.shape[0] == linear.shape[1]:
        assert linear.solver.order in ("O(n)", "O(n^3)") and ("LU" in said) == (linear.solver.order == "O(n^3)")


def test_a_large_map_has_a_small_page_and_is_not_computed() -> None:
    n = 10**6
    index = rng.permutation(n)
    maps = [
        ct.linear.gather(index, ct.f64[n]),
        ct.jacobian(ct.stencil(lambda a, b: a * b, (0, 1)))(np.ones(n)),
        ct.linear.cross(*[ct.scale(np.ones(1000))] * 300),
    ]
    with ct.count() as counted:
        pages = [linear._repr_html_() for linear in maps]
    assert counted.operations == 0
    assert all(len(page) < 30_000 for page in pages) and "284 more parts are left out" in pages[2]


# -- pullbacks


def test_a_pullback_says_what_it_keeps_in_a_line_and_on_a_page() -> None:
    w, x = rng.standard_normal((4, 5)), rng.standard_normal(5)
    _, pullback = ct.vjp(ct.function(lambda w, x: np.sum(np.tanh(w @ x) ** 2)), w, x)
    kept = sum([array.nbytes for array in pullback.arrays])
    assert "\n" not in repr(pullback) and repr(pullback).endswith(f"keeps {kept:,} bytes>")
    page = pullback._repr_html_()
    assert any(f"{kept:,} bytes" in summary for summary in open_groups(page))
    rows = [[cell.text for cell in row] for row in parsed(page).iter("tr")]
    assert ["0", "f64[4, 5]"] in rows and ["1", "f64[5]"] in rows


def test_the_maps_of_a_pullback_are_drawn_in_the_order_of_a_cotangent() -> None:
    _, linear = ct.linearize(ct.sum() >> ct.sin, np.ones(7))

    def sizes(text: str) -> list[str]:
        boxes = [box for box in ElementTree.fromstring(text).iter(SVG + "g") if "catad-box" in (box.get("class") or "").split()]
        return [box.findall(SVG + "text")[1].text or "" for box in boxes]

    assert sizes(drawn_maps(linear.structure)) == ["1 x 7", "1 x 1"]
    assert sizes(drawn_maps(linear.T.structure)) == ["1 x 1", "7 x 1"]
    shared = ct.vjp(ct.function(lambda x: np.sum(np.sin(x) * np.cumsum(x))), np.ones(6))[1]
    labels = [text.text for text in ElementTree.fromstring(drawn_maps(shared.structure)).iter(SVG + "text")]
    assert labels.count("+") == 1  # x is read twice, so two cotangents of it are added


def test_values_of_arrays_in_chunks_have_pages() -> None:
    x = ct.testing.in_chunks(np.arange(6.0), 2)
    _, pullback = ct.vjp(ct.square >> ct.sum(), x)
    assert repr(pullback).endswith("keeps 48 bytes>")
    _, linear = ct.linearize(ct.square, x)
    plan = (ct.square >> ct.sum()).plan_chunks(x)
    for value in (pullback, linear, plan):
        parsed(value._repr_html_())


# -- programs


def test_groups_of_a_program_open_inside_each_other() -> None:
    @ct.function
    def inner(a):
        return np.tanh(a) * a

    @ct.function
    def outer(a, b):
        return inner(a) + inner(b)

    p = ct.function(lambda x, y: outer(x, y) * 2).at(np.ones(3), np.ones(3))
    page = p._repr_html_()
    groups = list(parsed(page).iter("details"))
    assert [group[0].text for group in groups] == ["outer", "inner, the first of 2 that differ in numbers at most"]
    assert groups[1] in list(groups[0].iter("details"))
    assert "x: f64[3]" in page and ">tanh<" in page


def test_steps_of_loops_and_sides_of_branches_open() -> None:
    def f(x):
        total = np.sum(x)
        while total > 3.0:
            total = total / 2
        return total * x if total > 1 else x

    summaries = open_groups(ct.function(f).at(np.ones(4))._repr_html_())
    assert {"holds", "step", "if_true", "if_false"} <= set(summaries)


def test_names_are_escaped() -> None:
    hostile = "</svg></div><script>&\x00"
    p = ct.function(lambda x: x[hostile] * 2).at({hostile: np.ones(3)})
    for text in (p._repr_html_(), p.draw()):
        assert "<script" not in text
        parsed(text)


def test_a_large_program_has_a_bounded_page() -> None:
    def f(x):
        for k in range(5000):
            x = np.sin(x) * (k + 0.5)
        return x

    p = ct.function(f, unroll=10_000).at(np.ones(3))
    assert len(p.lines) >= 10_000
    page = p._repr_html_()
    assert len(page) < 100_000 and "more" in page

    def g(x):
        def one(y, k):
            for j in range(k % 30 + 2):
                y = np.sin(y) * np.cos(y + j) if j % 2 else np.tanh(y) + j
            return y

        for k in range(60):
            x = x + one(x, k)
        return x

    page = ct.function(g, unroll=1000).at(np.ones(3))._repr_html_()
    assert len(page) < 100_000


def test_pages_are_the_same_each_time() -> None:
    def made() -> list[str]:
        p = ct.function(lambda x: np.sum(np.sin(x) * x)).at(np.ones(3))
        return [p._repr_html_(), ct.scale(np.ones(3))._repr_html_(), ct.plan([(3, 4), (5, 3), (2, 5)])._repr_html_()]

    assert made() == made()


# -- profiles


def recorded(count: int, threads: int = 1) -> Any:
    def run(k: int) -> None:
        for i in range(count):
            profiles.record(f"stage {i % 3}", [0.0], 0.5, 100, lambda: 1e9, start=10.0 + k + i)

    with ct.profile() as p:
        workers = [threading.Thread(target=run, args=(k,), name=f"worker {k}") for k in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(60)
    return p


def test_events_have_the_times_of_runs() -> None:
    p = recorded(5)
    assert [(event.name, event.start, event.seconds) for event in p.events] == [
        (f"stage {i % 3}", 10.0 + i, 0.5) for i in range(5)
    ]
    with ct.use_engine("cpu"), ct.profile() as q:
        ct.sin(np.ones(1000))
        ct.exp(np.ones(1000))
    first, second = q.events
    assert first.start + first.seconds <= second.start
    assert sum([event.seconds for event in q.events]) == pytest.approx(sum([stage.run_seconds for stage in q.stages]))


def test_a_chrome_trace_has_each_run_in_microseconds(tmp_path: Path) -> None:
    p = recorded(4, threads=2)
    p.chrome_trace(tmp_path / "trace.json")
    trace = json.loads((tmp_path / "trace.json").read_text())
    runs = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    names = {event["tid"]: event["args"]["name"] for event in trace["traceEvents"] if event["ph"] == "M"}
    assert sorted((names[run["tid"]], run["name"], run["ts"], run["dur"]) for run in runs) == sorted(
        (f"worker {k}", f"stage {i % 3}", 1e6 * (k + i), 5e5) for k in range(2) for i in range(4)
    )
    assert {"name", "cat", "ph", "ts", "dur", "pid", "tid", "args"} == set(runs[0]) and trace["otherData"] == {"left out": 0}


def test_a_timeline_has_a_bar_for_each_run_in_proportion() -> None:
    rects = list(ElementTree.fromstring(recorded(4).timeline()).iter(SVG + "rect"))
    left, width = [np.array([float(rect.get(name)) for rect in rects]) for name in ("x", "width")]
    assert np.allclose(width, 560 * 0.5 / 3.5, atol=0.1) and np.allclose(np.diff(np.sort(left)), 560 / 3.5, atol=0.1)
    assert "worker 1: stage 2" in recorded(4, threads=2).timeline()


def test_a_profile_of_many_runs_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profiles, "copy_bandwidth", lambda: 1e9)
    monkeypatch.setattr(profiles, "EVENTS", 1000)
    p = recorded(3000)
    assert len(p.events) == 1000 and p.left_out == 2000 and sum([stage.calls for stage in p.stages]) == 3000
    page = p._repr_html_()
    assert "2,000 more runs are left out" in page and len(page) < 100_000
    parsed(page)


# -- the style


def luminance(colour: str) -> float:
    c = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    return float(np.where(c <= 0.03928, c / 12.92, ((c + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722])


@pytest.mark.parametrize("dark", [0, 1])
def test_every_colour_of_text_can_be_read_on_every_ground(dark: int) -> None:
    pairs = [(INK, GROUND), (QUIET, GROUND), *[(INK, fill) for fill, _ in BOXES.values()]]
    for text, ground in pairs:
        light, deep = sorted([luminance(text[dark]), luminance(ground[dark])], reverse=True)
        assert (light + 0.05) / (deep + 0.05) >= 4.5


def test_a_style_sheet_has_the_rules_of_the_classes_that_are_used() -> None:
    text = ct.plan([(3, 4), (5, 3), (2, 5)])._repr_html_()
    rules = re.findall(r"<style>(.*?)</style>", text, re.S)
    assert len(rules) == 1
    assert sheet(['<g class="catad-fill"/>']) != sheet([]) and "catad-fill" not in sheet([])
    selectors = re.findall(r"(?:^|\})([^{}@]+)\{", rules[0])
    assert all("catad" in selector for selector in selectors)  # nothing else on the page is changed
