"""Pictures of plans: bars with the costs, trees, eliminations that move, pages for notebooks; compared with the plan."""

from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest

import catad as ct

SVG = "{http://www.w3.org/2000/svg}"
LION = ct.Graph([(0, 1), (1, 2), (1, 5), (2, 3), (2, 4), (2, 5)], [0], [3, 4, 5], sizes=[2, 1, 1, 2, 1, 1])
SIZES = [(80, 100), (50, 80), (3, 50), (10, 3), (2, 10)]


def texts(picture: str) -> list[str]:
    """The texts of a picture, without its tooltips."""
    root = ElementTree.fromstring(picture)
    return ["".join([text.text or "", *[part.tail or "" for part in text]]) for text in root.iter(SVG + "text")]


def test_bars_have_the_costs_in_proportion() -> None:
    plan = ct.plan(SIZES)
    picture = plan.draw_bars()
    found = [float(rect.get("width")) for rect in ElementTree.fromstring(picture).iter(SVG + "rect")]
    rows = plan.rows
    costs = [rows[name].value for name in ("forward", "reverse", "planned")]
    peaks = [rows[name].peak for name in ("forward", "reverse", "planned")]
    for own, widths in ((costs, found[:3]), (peaks, found[3:])):
        np.testing.assert_allclose(widths, 170 * np.array(own) / max(own), atol=0.06)
    assert {f"{value:,}" for value in (*costs, *peaks)} <= set(texts(picture))
    assert {"forward", "reverse", "planned, auto, optimal", "peak of memory, bytes"} <= set(texts(picture))
    by_hand = plan.edited("forward").draw_bars()
    assert {"auto", "reverse", "planned"} <= {text.split(",")[0] for text in texts(by_hand)}


def test_a_bound_is_a_dashed_line() -> None:
    rng = np.random.default_rng(0)
    edges = sorted({tuple(sorted(map(int, rng.choice(30, 2, replace=False)))) for _ in range(90)})
    inner = [v for v in range(30) if any(b == v for _, b in edges) and any(a == v for a, _ in edges)]
    ends = [v for v in range(30) if v not in inner]
    starts = [v for v in ends if not any(b == v for _, b in edges)]
    plan = ct.plan_graph(ct.Graph(edges, starts, [v for v in ends if v not in starts], vertices=30), budget=0.001)
    picture = plan.draw_bars()
    assert ("catad-bound" in picture) == (not plan.exact and plan.bound > 0)
    assert not plan.bound or plan.exact or f"dashed: no order costs less than {plan.bound:,}" in texts(picture)
    assert "Markowitz" in texts(picture)


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        (lambda: ct.plan([(3, 4)]), "the result, 3 x 4, stores 12 numbers"),
        (lambda: ct.plan(ct.sin, ct.f64[5]), "the result, 5 x 5, stores 5 numbers"),
        (lambda: ct.plan_graph(ct.Graph([(0, 1)], [0], [1])), "no order costs anything"),
    ],
)
def test_a_plan_that_costs_nothing_says_what_there_is(plan: Callable[[], ct.Plan], said: str) -> None:
    assert any(said in text and text.startswith("no order costs anything") for text in texts(plan().draw_bars()))
    assert not any("no order" in text for text in texts(ct.plan(SIZES).draw_bars()))


def frames(picture: str, when: str) -> list[tuple[float, float]]:
    """The rule of an animation: (percent, opacity)."""
    (rule,) = re.findall(rf"@keyframes {when}\{{((?:[^{{}}]+\{{[^{{}}]*\}})*)\}}", picture)
    return [(float(at), float(seen)) for at, seen in re.findall(r"([\d.]+)%\{opacity:(\d)\}", rule)]


def opacity(rule: list[tuple[float, float]], at: float) -> float:
    return float(np.interp(at, *zip(*rule, strict=True)))


def test_an_elimination_shows_the_graph_after_each_step() -> None:
    plan = ct.plan_graph(LION)
    picture = plan.animate()
    root = ElementTree.fromstring(picture)
    length = len(plan.order) + 3
    left = set(range(6))
    edges = set(LION.edges())
    paths = [path for group in root.iter(SVG + "g") if group.get("class") == "catad-wires" for path in group]
    points = [box for box in root.iter(SVG + "g") if "catad-box" in (box.get("class") or "").split()]
    for step in range(len(plan.order) + 1):
        if step:
            v = plan.order[step - 1]
            before, after = {a for a, b in edges if b == v}, {b for a, b in edges if a == v}
            edges = {edge for edge in edges if v not in edge} | {(p, s) for p in before for s in after}
            left.remove(v)
        at = 100 * (step + 0.7) / length
        for shown, count in ((paths, len(edges)), (points, len(left))):
            names = [re.search(r"animation:(\S+)", one.get("style") or "") for one in shown]
            seen = [1.0 if name is None else opacity(frames(picture, name[1]), at) for name in names]
            assert sorted(set(seen)) in ([0.0, 1.0], [1.0]) and sum(seen) == count, step
    assert f"step 1: {plan.steps[1].line}" in texts(picture)


def test_an_animation_stands_still_for_those_who_prefer_that_and_needs_no_script() -> None:
    for plan in (ct.plan_graph(LION), ct.plan(SIZES)):
        picture = plan.animate()
        assert "@media (prefers-reduced-motion:reduce){svg.catad *{animation:none!important}}" in picture
        assert "<script" not in picture and " id=" not in picture and "<animate" not in picture
        assert picture == plan.animate()
        names = set(re.findall(r"animation:(catad\S+)", picture))
        assert names == set(re.findall(r"@keyframes (\S+?)\{", picture)) and len(names) >= len(plan.steps)


def test_products_of_a_tree_come_one_after_the_other() -> None:
    plan = ct.plan(SIZES)
    picture = plan.animate()
    for s in range(4):
        rule = frames(picture, f"catad-seen-70-{10 * s + 10}-70")
        assert opacity(rule, 100 * (s + 0.5) / 7) == 0 and opacity(rule, 100 * (s + 1.1) / 7) == 1 and opacity(rule, 100) == 1


@pytest.mark.parametrize("n", [39, 59, 70, 2000])
def test_large_graphs_and_chains_leave_out_their_middle(n: int) -> None:
    path = ct.plan_graph(ct.Graph([(k, k + 1) for k in range(n)], [0], [n]))
    chain = ct.plan([(2, 2)] * n, mode="forward")
    for plan in (path, chain):
        for picture in (plan.draw(), plan.animate(), plan._repr_html_()):
            assert len(picture) < 100_000
        found = texts(plan.draw())
        assert any("more" in text for text in found) == (n > 59 or plan is chain), found
    assert ("@keyframes" in path.animate()) == (n < 40)


class Tags(HTMLParser):
    """Counts tags, and checks that they are closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.counts: dict[str, int] = {}
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.counts[tag] = self.counts.get(tag, 0) + 1
        assert "id" not in dict(attrs)
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.counts[tag] = self.counts.get(tag, 0) + 1

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_a_notebook_shows_bars_tree_and_table() -> None:
    plan = ct.plan(SIZES)
    found = Tags(plan._repr_html_()).counts
    assert (found["svg"], found["details"], found["table"], found["style"]) == (2, 2, 1, 1)
    assert found["tr"] == 1 + len(plan.steps)
    assert plan.steps[0].line.replace(">", "&gt;") in plan._repr_html_()


def test_a_plan_without_a_picture_shows_bars_and_steps() -> None:
    plan = ct.plan_chain([(3, 4, 20), (5, 3, 30), (6, 5, 40)])
    found = Tags(plan._repr_html_()).counts
    assert found["svg"] == 1 and plan._repr_svg_() is None
    for made in (plan.draw, plan.animate):
        with pytest.raises(ct.PlanError):
            made()
