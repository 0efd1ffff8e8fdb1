"""The built site: its navigation and its links, read from its files, and its pages as a browser shows them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import opened
from built import ROOT, Page, local, served

import catad

TEXTS = {
    "index.html": ("differentiates array programs", "First hour", "Guides", "Reference", "Inside"),
    "levels/guides.html": ("Jacobians", "Planning", "Kernels", "How-to pages"),
    "quickstart.html": ("First steps, both ways",),
    "equations.html": ("Functions given by an equation", "ct.fixed_point"),
    "design.html": ("How catad is built", "The rooms"),
    "glossary.html": ("Morphism.",),
    "_generated/project/README.html": ("What is different in catad", "Limits"),
    "_generated/project/CONTRIBUTING.html": ("Plant a bug",),
    "_generated/examples/beam.html": ("import catad as ct", "def deflection"),
    "_generated/gallery/index.html": ("Gallery",),
    "_generated/reference/catad.scan.html": ("ct.scan", "Example"),
    "levels/reference.html": ("Public names", "Benchmarks", "Versions"),
}
WITH_PICTURES = {
    "index.html": 1, "equations.html": 4, "design.html": 1,
    "_generated/project/README.html": 1, "_generated/gallery/index.html": 16,
}  # fmt: skip


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, Page]:
    """The pages of the site by their path."""
    found = {path.relative_to(site).as_posix(): path for path in site.rglob("*.html") if "_static" not in path.parts}
    return {name: Page(path.read_text(encoding="utf-8")) for name, path in found.items()}


def reached(pages: dict[str, Page]) -> set[str]:
    """The pages that the navigation reaches from the first page."""
    seen, todo = {"index.html"}, ["index.html"]
    while todo:
        page = todo.pop()
        targets = {to[0] for link in pages[page].navigation if (to := local(page, link))}
        todo += (new := (targets & pages.keys()) - seen)
        seen |= new
    return seen


def test_every_document_is_in_the_navigation(pages: dict[str, Page]) -> None:
    folder = ROOT / "docs"
    documents = [path.relative_to(folder).with_suffix(".html") for path in folder.rglob("*.md")]
    wanted = {path.as_posix() for path in documents if not path.parts[0].startswith("_")}
    wanted |= {f"_generated/project/{path.stem}.html" for path in ROOT.glob("*.md")}
    programs = [path.relative_to(ROOT).with_suffix(".html") for path in (ROOT / "examples").rglob("*.py")]
    wanted |= {f"_generated/{path.as_posix()}" for path in programs}
    assert len(wanted) > 60
    assert wanted - reached(pages) == set()


def test_a_page_without_a_link_is_not_reached() -> None:
    text = {"index.html": '<nav><a href="a.html">a</a></nav><a href="b.html">b</a>', "a.html": "", "b.html": ""}
    assert reached({name: Page(page) for name, page in text.items()}) == {"index.html", "a.html"}


def broken(pages: dict[str, Page], site: Path) -> list[str]:
    """The links of pages to files or anchors that are not there."""
    wrong = []
    for name, page in pages.items():
        for link in page.links:
            if (to := local(name, link)) is None:
                continue
            file, anchor = to[0] or "index.html", to[1]
            if not (site / file).is_file() or (file in pages and anchor not in pages[file].anchors):
                wrong.append(f"{name}: {link}")
    return wrong


def test_all_links_within_the_site_lead_to_files_and_anchors(pages: dict[str, Page], site: Path) -> None:
    assert sum(len(page.links) for page in pages.values()) > 1000
    assert broken(pages, site) == []


def test_broken_links_are_seen(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text("")
    text = '<p id="here"><a href="#here"></a><a href="#gone"></a><a href="a.html"></a><img src="b.png"><a href="http://x.org/y"></a>'
    assert broken({"a.html": Page(text)}, tmp_path) == ["a.html: #gone", "a.html: b.png"]


def test_no_page_names_a_folder_of_the_machine(site: Path) -> None:
    files = [path for path in site.rglob("*") if path.suffix in (".html", ".js", ".txt", ".svg")]
    assert [path.name for path in files if str(ROOT) in path.read_text(encoding="utf-8")] == []


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    with served(site) as url:
        yield url


@pytest.fixture(scope="module")
def light() -> Iterator[Any]:
    with opened() as driver:
        yield driver


@pytest.fixture(scope="module")
def dark() -> Iterator[Any]:
    with opened(dark=True) as driver:
        yield driver


def eventually(question: Callable[[], Any]) -> Any:
    """The answer to a question when it is one, within a minute."""
    end = time.monotonic() + 60
    while not (answer := question()) and time.monotonic() < end:
        time.sleep(0.05)
    return answer


def noises(driver: Any) -> list[str]:
    """What the pages have written to the console of the browser since the last question: errors and warnings."""
    return [entry["message"] for entry in driver.get_log("browser")]


@pytest.mark.parametrize("name", TEXTS)
def test_a_page_shows_its_text_and_its_pictures(light: Any, address: str, name: str) -> None:
    light.get(f"{address}/{name}")
    text = light.execute_script("return document.querySelector('main').innerText")
    assert [words for words in TEXTS[name] if words not in text] == []
    assert light.execute_script("return document.body.innerText").count(f"catad {catad.__version__}")
    script = "return [...document.querySelectorAll('article img')].map(image => [image.src, image.naturalWidth])"
    light.execute_script("document.querySelectorAll('img').forEach(image => { image.loading = 'eager' })")
    assert eventually(lambda: all(width > 0 for _, width in light.execute_script(script))), light.execute_script(script)
    assert len(light.execute_script(script)) >= WITH_PICTURES.get(name, 0)
    assert noises(light) == []


def test_a_missing_picture_and_an_error_of_javascript_are_seen(light: Any, tmp_path: Path) -> None:
    (tmp_path / "bad.html").write_text('<img src="gone.png"><script>throw Error("planted")</script>')
    with served(tmp_path) as url:
        light.get(f"{url}/bad.html")
        assert light.execute_script("return document.images[0].naturalWidth") == 0
        heard = noises(light)
        assert any("planted" in said for said in heard) and any("gone.png" in said for said in heard)


def test_the_search_finds_pages(light: Any, address: str, pages: dict[str, Page]) -> None:
    light.get(f"{address}/search.html?q=scan")
    script = "return [...document.querySelectorAll('#search-results ul.search a')].map(link => link.getAttribute('href'))"
    finished = "return document.querySelector('#search-results').innerText.includes('Search finished')"
    assert eventually(lambda: light.execute_script(finished))
    targets = [local("search.html", link) for link in light.execute_script(script)]
    assert all(to is not None and to[0] in pages and to[1] in pages[to[0]].anchors for to in targets), targets
    assert {"conventions.html", "tutorial.html"} <= {to[0] for to in targets if to}
    light.get(f"{address}/search.html?q=matrix+sizes+do+not+meet")  # the first line of a message, which is a heading
    assert eventually(lambda: light.execute_script(finished))
    assert local("search.html", light.execute_script(script)[0]) == ("errors/products.html", "matrix-sizes-do-not-meet")
    light.get(f"{address}/search.html?q=zzyzxqqy")
    said = "return document.querySelector('#search-results').innerText"
    assert eventually(lambda: "did not match" in light.execute_script(said))
    assert light.execute_script(script) == []


FOUND = {
    "least squares": "how-to/least-squares.html",
    "while loop": "_generated/reference/catad.while_loop.html",
    "hessian vector product": "_generated/reference/catad.hvp.html",
    "custom derivative": "custom-derivatives.html",
    "stop gradient": "_generated/reference/catad.stop_gradient.html",
    "ode": "_generated/reference/catad.odeint.html",
    "install": "_generated/project/README.html",
    "progress bar": "_generated/reference/catad.progress.html",
    "speed": "how-to/performance.html",
    "neural network": "quickstart.html",
}


@pytest.mark.parametrize("query", FOUND)
def test_what_is_asked_for_is_among_the_first_three(light: Any, address: str, query: str) -> None:
    light.get(f"{address}/search.html?q={query.replace(' ', '+')}")
    finished = "return document.querySelector('#search-results').innerText.includes('Search finished')"
    assert eventually(lambda: light.execute_script(finished))
    script = "return [...document.querySelectorAll('#search-results ul.search a')].map(link => link.getAttribute('href'))"
    first = [local("search.html", link) for link in light.execute_script(script)[:3]]
    assert FOUND[query] in [to[0] for to in first if to], first


CONTRASTS = """
const channel = c => (c /= 255, c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b)
const parsed = text => { const c = text.match(/[\\d.]+/g).map(Number); return c.length < 4 ? [...c, 1] : c }
const over = (top, below) => [0, 1, 2].map(k => top[3] * top[k] + (1 - top[3]) * below[k])
const ground = element => {
  if (!element) return [255, 255, 255]
  const own = parsed(getComputedStyle(element).backgroundColor)
  return own[3] === 1 ? own : over(own, ground(element.parentElement))
}
const found = {}
for (const element of document.querySelectorAll(arguments[0])) {
  const words = [...element.childNodes].filter(node => node.nodeType === 3 && node.data.trim())
  if (!words.length || !element.getClientRects().length) continue
  const behind = ground(element)
  const [a, b] = [light(over(parsed(getComputedStyle(element).color), behind)), light(behind)]
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)
  const kind = `${element.tagName}.${element.className} ${words[0].data.trim().slice(0, 20)}`
  found[kind] = Math.min(found[kind] ?? 99, ratio)
}
return [getComputedStyle(document.body).backgroundColor, found]
"""
"""The colour of a page, and the smallest ratio of contrast (WCAG 2.1) of each kind of element that has text of its own."""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["index.html", "quickstart.html", "equations.html", "_generated/examples/beam.html"])
def test_text_and_code_have_contrast(request: pytest.FixtureRequest, address: str, scheme: str, name: str) -> None:
    driver = request.getfixturevalue(scheme)
    driver.get(f"{address}/{name}")
    assert eventually(lambda: driver.execute_script("return document.documentElement.dataset.theme")) == scheme
    ground, found = driver.execute_script(CONTRASTS, "article *, nav *")
    assert len([kind for kind in found if kind.startswith("SPAN")]) > 10  # words of code, each in the colour of its kind
    assert {kind: ratio for kind, ratio in found.items() if ratio < 4.5} == {}
    red = int(ground.removeprefix("rgb(").split(",")[0])
    assert red > 200 if scheme == "light" else red < 50
    assert noises(driver) == []


def test_low_contrast_is_seen(light: Any, tmp_path: Path) -> None:
    (tmp_path / "grey.html").write_text(
        '<body style="background: #fff"><p style="color: #777">grey</p><div style="background: rgba(0, 0, 0, 0.5)">'
        '<p style="color: #000">half</p></div>'
    )
    with served(tmp_path) as url:
        light.get(f"{url}/grey.html")
        ratios = {kind.split()[-1]: ratio for kind, ratio in light.execute_script(CONTRASTS, "p")[1].items()}
    assert ratios["grey"] == pytest.approx(4.478, abs=0.01)  # as the tables of WCAG have it
    assert ratios["half"] == pytest.approx((0.05 + ((127.5 / 255 + 0.055) / 1.055) ** 2.4) / 0.05, rel=0.01)


def test_the_reader_chooses_the_scheme(light: Any, address: str) -> None:
    light.get(f"{address}/index.html")
    chosen = "return document.documentElement.dataset.theme"
    click = """
    const entry = `.theme-change-button[data-mode=${arguments[0]}]`, button = ".theme-switch-button";
    (document.querySelector(entry) ?? document.querySelector(button)).click()
    """
    try:
        for scheme in ("dark", "light", "dark"):
            assert any((light.execute_script(click, scheme), light.execute_script(chosen))[1] == scheme for _ in range(3))
        light.get(f"{address}/quickstart.html")
        assert light.execute_script(chosen) == "dark"
    finally:
        light.execute_script("localStorage.clear()")


@pytest.mark.parametrize("name", ["index.html", "quickstart.html", "equations.html", "_generated/gallery/plan_bars.html"])
def test_a_page_fits_a_telephone(light: Any, address: str, name: str) -> None:
    metrics = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    light.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        light.get(f"{address}/{name}")
        assert light.execute_script("return [window.innerWidth, document.documentElement.scrollWidth]") == [390, 390]
    finally:
        light.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_code_is_copied_without_prompts_and_output(light: Any, address: str) -> None:
    light.get(f"{address}/index.html")
    chains = pytest.importorskip("selenium.webdriver").ActionChains
    assert eventually(lambda: light.execute_script("return document.querySelector('button.copybtn') !== null"))
    light.execute_script("addEventListener('copy', () => { window.copied = document.activeElement.value })")
    (block,) = [found for found in light.find_elements("css selector", "div.highlight") if ">>> ct.grad" in found.text]
    chains(light).move_to_element(block).click(block.find_element("css selector", "button.copybtn")).perform()
    copied = eventually(lambda: light.execute_script("return window.copied"))
    assert copied.startswith("ct.grad(drawdown)(weights).round(4)\nct.jacobian(np.cumsum)")
    assert ">>>" not in copied and "array" not in copied
