"""Every kind of picture in a browser, in light and in dark: text can be read, stays in its box, groups open, pictures scale."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.planner.reports.of_pullback import pullback_page
from tests.site.browser import opened

LION = ct.Graph([(0, 1), (1, 2), (1, 5), (2, 3), (2, 4), (2, 5)], [0], [3, 4, 5], sizes=[2, 1, 1, 2, 1, 1])


@ct.function
def scaled(x, w):
    h = np.tanh(x * w)
    return h - h.mean()


@ct.function
def network(w, x):
    for k in range(3):
        x = scaled(x, w[k])
    return np.where(np.sum(x) < 0, -x, x)


def profiled() -> Any:
    with ct.use_engine("cpu"), ct.profile() as p:
        for _ in range(3):
            ct.grad(ct.scan(ct.add, 0.0) >> ct.sin >> ct.sum())(np.ones(1000))
    return p


def pictures() -> dict[str, str]:
    """Each kind of picture, with names that need escaping and with long ones."""
    long = ct.function(lambda x: {"<&>" * 9: x["a&b<" * 9] * 2}["<&>" * 9]).at({"a&b<" * 9: np.ones(3)})
    bracketed = ct.plan([(80, 100), (50, 80), (3, 50), (10, 3), (2, 10)])
    pullback = ct.vjp(ct.function(lambda w, x: np.sum(np.tanh(w @ x) * x)), np.ones((9, 9)), np.ones(9))[1]
    chunked = (ct.square >> ct.sum()).plan_chunks(ct.testing.in_chunks(np.arange(6.0), 2))
    rng = np.random.default_rng(0)
    pages = {
        "linear map": ct.jacobian(ct.scan(ct.add, 0.0) >> ct.sin)(np.ones(50)),
        "linear map of parts": ct.linear.cross(ct.scale(np.ones(30)), ct.linear.dense(np.ones((20, 40)))),
        "large linear map": ct.linear.gather(rng.permutation(10**6), ct.f64[10**6]),
        "pullback": pullback,
        "bracketing": bracketed,
        "order": ct.plan_graph(LION),
        "chain": ct.plan_chain([(3, 4, 20), (5, 3, 30), (6, 5, 40)]),
        "profile": profiled(),
        "chunks": chunked,
        "term": ct.fork(ct.sin >> ct.exp, ct.cos) >> ct.mul,
        "program": network.at(np.ones((3, 4)), np.ones(4)),
        "long names": long,
        "wide program": ct.function(lambda x: np.sum(np.stack([np.sin(k * x) for k in range(200)]))).at(np.ones(3)),
    }
    drawn = {
        "bars": bracketed.draw_bars(),
        "tree": bracketed.draw(),
        "elimination": ct.plan_graph(LION).draw(),
        "animation": ct.plan_graph(LION).animate(),
        "animated tree": bracketed.animate(),
        "timeline": pages["profile"].timeline(),
        "pattern": ct.linear.cumulative_sum(ct.f64[5])._repr_svg_(),
        "diagram": network.draw(np.ones((3, 4)), np.ones(4), open=True),
    }
    return {**{name: value._repr_html_() for name, value in pages.items()}, **drawn}


THEMES = {  # a theme of the page -> what the browser prefers, the attributes of html and of body
    "light": (False, "", ""),
    "dark": (True, "", ""),
    "JupyterLab, dark": (False, "", 'data-jp-theme-light="false"'),
    "JupyterLab, light": (True, "", 'data-jp-theme-light="true"'),
    "site, dark": (False, 'data-theme="dark"', ""),
    "site, light": (True, 'data-theme="light"', ""),
    "VS Code, dark": (False, "", 'class="vscode-dark"'),
}

READ = """
// for each text: its words, its colour and that of what lies behind it, and its box
const number = c => { const m = c.match(/[\\d.]+/g).map(Number); return m.length < 4 ? [...m.slice(0, 3), 1] : m; };
document.getAnimations().forEach(a => a.cancel());
document.querySelectorAll('details').forEach(d => d.open = true);
const found = [];
for (const root of document.querySelectorAll('section')) {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const list = [];
  while (walker.nextNode()) {
    const text = walker.currentNode, own = text.parentElement;
    if (!text.data.trim() || own.closest('style, title')) continue;
    list.push([text, own]);
  }
  for (const [text, own] of list) {
    const range = document.createRange(); range.selectNodeContents(text);
    const box = range.getBoundingClientRect();
    const svg = own.closest('svg');
    const style = getComputedStyle(own);
    let behind = null, frame = null;
    if (svg) {  // the shapes of its group, which lie behind it, else the ground of the picture
      const middle = [box.left + box.width / 2, box.top + box.height / 2];
      for (const shape of svg.querySelectorAll('rect, circle')) {
        const b = shape.getBoundingClientRect(), s = getComputedStyle(shape);
        const inside = b.left <= middle[0] && middle[0] <= b.right && b.top <= middle[1] && middle[1] <= b.bottom;
        const before = shape.compareDocumentPosition(own) & Node.DOCUMENT_POSITION_FOLLOWING;
        if (inside && before && s.fill != 'none' && Number(s.opacity) == 1) { behind = s.fill; frame = b; }
      }
    }
    for (let up = svg || own; up && behind === null; up = up.parentElement) {
      const ground = getComputedStyle(up).backgroundColor;
      if (number(ground)[3] == 1) behind = ground;
    }
    const outer = frame || (svg || root.firstElementChild).getBoundingClientRect();
    const scrolls = !!own.closest('.catad-scroll') && !svg;
    found.push({
      kind: root.title, text: text.data.trim(), colour: number(svg ? style.fill : style.color),
      behind: number(behind || 'rgb(0,0,0,0)'),
      inside: scrolls || (box.left >= outer.left - 1 && box.right <= outer.right + 1
                          && box.top >= outer.top - 3 && box.bottom <= outer.bottom + 3),
    });
  }
}
return found;
"""


def luminance(colour: list[float]) -> float:
    """The relative luminance of sRGB (WCAG 2.1)."""
    c = np.array(colour[:3]) / 255
    return float(np.where(c <= 0.03928, c / 12.92, ((c + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722])


def contrast(a: list[float], b: list[float]) -> float:
    light, dark = sorted([luminance(a), luminance(b)], reverse=True)
    return (light + 0.05) / (dark + 0.05)


def document(parts: dict[str, str], html: str = "", body: str = "") -> str:
    sections = "".join([f'<section title="{name}">{part}</section>' for name, part in parts.items()])
    return f"<!doctype html><html {html}><meta charset='utf-8'><body {body}>{sections}</body></html>"


@pytest.fixture(scope="module")
def made() -> dict[str, str]:
    return pictures()


@pytest.fixture(scope="module", params=[False, True], ids=["prefers light", "prefers dark"])
def browser(request: pytest.FixtureRequest) -> Iterator[tuple[bool, Any]]:
    with opened(dark=request.param) as driver:
        yield request.param, driver


def show(driver: Any, folder: Path, text: str) -> None:
    page = folder / "page.html"
    page.write_text(text, encoding="utf-8")
    driver.get(page.as_uri())


Browser = tuple[bool, Any]  # whether it prefers dark, and its driver


def test_text_can_be_read_in_every_theme_and_stays_inside(browser: Browser, made: dict[str, str], tmp_path: Path) -> None:
    prefers, driver = browser
    for theme, (dark, html, body) in THEMES.items():
        if dark != prefers:
            continue
        show(driver, tmp_path, document(made, html, body))
        found = driver.execute_script(READ)
        assert {one["kind"] for one in found} == set(made)
        pale = {(one["kind"], one["text"]): contrast(one["colour"], one["behind"]) for one in found}
        assert min(pale.values()) >= 4.5, (theme, sorted(pale.items(), key=lambda one: one[1])[:5])
        assert not [one for one in found if not one["inside"]][:5], theme
        grounds = {luminance(one["behind"]) > 0.5 for one in found}
        assert grounds == {not (theme.endswith("dark"))}, theme


def test_groups_open_and_pictures_scale(browser: Browser, made: dict[str, str], tmp_path: Path) -> None:
    _, driver = browser
    show(driver, tmp_path, document(made))
    closed = driver.execute_script("return [...document.querySelectorAll('details:not([open])')].length")
    assert closed > 5
    heights = driver.execute_script(
        "return [...document.querySelectorAll('details:not([open])')].map(d => {"
        " for (let up = d.parentElement; up; up = up.parentElement) if (up.tagName == 'DETAILS') up.open = true;"
        " const before = d.offsetHeight; d.querySelector('summary').click(); return [before, d.offsetHeight, d.open]; })"
    )
    assert all(after > before + 10 and is_open for before, after, is_open in heights)
    sizes = (
        "return [...document.querySelectorAll('section > svg')].map(s => {"
        " const b = s.getBoundingClientRect(), v = s.viewBox.baseVal; return [b.width, b.height, v.width, v.height]; })"
    )
    whole = driver.execute_script(sizes)
    assert len(whole) == 8 and all(abs(h / w - vh / vw) < 0.01 for w, h, vw, vh in whole)
    driver.execute_script("document.body.style.width = '250px'")
    small = driver.execute_script(sizes)
    assert all(w <= 251 and abs(h / w - vh / vw) < 0.02 for w, h, vw, vh in small)
    assert driver.execute_script("return document.body.scrollWidth") <= 280  # wide pictures scroll for themselves


def test_an_animation_moves_and_stands_still_on_demand(browser: Browser, made: dict[str, str], tmp_path: Path) -> None:
    prefers, driver = browser
    show(driver, tmp_path, document({"animation": made["animation"]}))
    running = "return document.getAnimations().filter(a => a.playState == 'running').length"
    assert driver.execute_script(running) > 5
    seen = "return [...document.querySelectorAll('.catad-wires path')].filter(p => getComputedStyle(p).opacity > 0.5).length"
    at = "document.getAnimations().forEach(a => { a.pause(); a.currentTime = arguments[0]; });"
    counts = [driver.execute_script(at + seen, 1200 * when) for when in (0.3, 1.7, 2.7)]
    edges, expected = set(LION.edges()), [6]
    every = set(edges)
    for v in ct.plan_graph(LION).order:
        pairs = {(a, b) for a, x in edges for y, b in edges if x == v == y}
        edges = {edge for edge in edges if v not in edge} | pairs
        every |= edges
        expected.append(len(edges))
    assert counts == expected
    scheme = {"name": "prefers-color-scheme", "value": "dark" if prefers else "light"}
    calm = {"name": "prefers-reduced-motion", "value": "reduce"}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme, calm]})
    driver.refresh()
    assert driver.execute_script(running) == 0
    assert driver.execute_script(seen) == len(every)  # the edges of the graph and those of fill
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})


def test_a_picture_in_an_image_follows_what_the_reader_prefers(browser: Browser, made: dict[str, str], tmp_path: Path) -> None:
    prefers, driver = browser
    (tmp_path / "picture.svg").write_text(made["diagram"], encoding="utf-8")
    driver.get((tmp_path / "picture.svg").as_uri())
    ground = driver.execute_script("return getComputedStyle(document.documentElement).backgroundColor")
    assert (luminance([float(part) for part in ground.strip("rgba()").split(",")]) < 0.5) == prefers


def test_a_page_of_a_pullback_is_bounded() -> None:
    arrays = [np.ones(3)] * 10_000
    page = pullback_page(ct.scale(np.ones(3)).structure, arrays, ct.f64[3], [ct.f64[3]] * 10_000, True)
    assert len(page) < 20_000 and "9,984 more arrays are left out" in page and "9,984 more arguments are left out" in page
