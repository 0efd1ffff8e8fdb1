"""The site, built once for all tests of a session, on a server of its own; and what its pages link to."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import http.server
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import pytest

ROOT = Path(__file__).parents[2]
NEEDED = ("sphinx", "myst_parser", "pydata_sphinx_theme", "sphinx_copybutton", "sphinx_gallery")
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


def sphinx_build(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run a command of Python that builds pages; its output has the warnings."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, *arguments], cwd=cwd, env=environment, text=True, timeout=900,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
    )  # fmt: skip


def needs_sphinx() -> None:
    for name in NEEDED:
        pytest.importorskip(name, reason=f"pip install '.[docs]': {name} is missing, and no page is built")


def sources() -> set[tuple[str, int]]:
    """The files of docs/ apart from those that a build makes, and when they changed."""
    made = {"_build", "_generated", "__pycache__"}
    files = [path for path in (ROOT / "docs").rglob("*") if path.is_file() and not made & set(path.parts)]
    return {(path.relative_to(ROOT).as_posix(), path.stat().st_mtime_ns) for path in files}


def build(shared: Path) -> Path:
    """The folder of the pages: that of CATAD_SITE, else one that the first process of the session builds in `shared`."""
    if given := os.environ.get("CATAD_SITE"):
        return Path(given).resolve()
    needs_sphinx()
    folder, said = shared / "site" / "html", shared / "site.txt"
    with (shared / "site.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not said.exists():
            before = sources()
            done = sphinx_build("-m", "docs", "--out", str(folder))
            touched = sorted(map(str, before ^ sources()))
            report = f"{done.returncode or len(touched)}\n{done.stdout}\nwritten beside the site: {touched}"
            said.write_text(report, encoding="utf-8")
    status, _, output = said.read_text(encoding="utf-8").partition("\n")
    assert status == "0", output[-4000:]
    return folder


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a server for the files of a folder."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join(timeout=30)


class Page(HTMLParser):
    """The anchors of a page, its links, and those of its links that lie in the navigation."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = {""}
        self.links: list[str] = []
        self.navigation: list[str] = []
        self._open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = dict(attrs)
        if tag not in VOID:
            self._open.append(tag)
        self.anchors |= {name for key in ("id", "name") if (name := said.get(key))}
        for key in ("href", "src"):
            if (link := said.get(key)) and (tag, said.get("rel")) != ("link", "canonical"):
                self.links.append(link)
                if tag == "a" and "nav" in self._open:
                    self.navigation.append(link)

    def handle_endtag(self, tag: str) -> None:
        while tag in self._open and self._open.pop() != tag:
            pass


def local(page: str, link: str) -> tuple[str, str] | None:
    """The file and the anchor to which a link of a page leads, or None if it leaves the site."""
    parts = urlsplit(urljoin(f"http://site/{page}", link))
    if (parts.scheme, parts.netloc) != ("http", "site"):
        return None
    return unquote(parts.path).lstrip("/"), unquote(parts.fragment)
