"""Fenced code blocks of Markdown files, and how they are run.

The ```python blocks of a file run in order in one namespace; one with a prompt (`>>>`) runs as a doctest there.
"""

from __future__ import annotations

import doctest
import linecache
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, NamedTuple

from catad.errors import notices

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^(?P<indent> *)```(?P<language>[^\n`]*)\n(?P<text>.*?)^(?P=indent)```[ ]*$", re.MULTILINE | re.DOTALL)
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


class Block(NamedTuple):
    """A code block, its language and the number of its first line."""

    language: str
    text: str
    line: int


def documents() -> list[Path]:
    """The README, the page for contributors, and the pages of `docs/`; what is built there begins with an underscore."""
    pages = sorted((ROOT / "docs").rglob("*.md"))
    built = [page for page in pages if any(part.startswith("_") for part in page.relative_to(ROOT / "docs").parts)]
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *[page for page in pages if page not in built]]


def blocks(source: str) -> list[Block]:
    """The fenced blocks of a Markdown text."""
    found = []
    for match in FENCE.finditer(source):
        line = source.count("\n", 0, match.start("text")) + 1
        width = len(match["indent"])
        text = "".join([part[width:] if part.strip() else part for part in match["text"].splitlines(keepends=True)])
        found.append(Block(match["language"].strip(), text, line))
    return found


def compiled(block: Block, name: str) -> CodeType:
    """The code of a block, with its lines in the document; catad finds the source of its functions there."""
    text, file = "\n" * (block.line - 1) + block.text, f"<{Path(name).name}, block of line {block.line}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    return compile(text, file, "exec", dont_inherit=True)


@contextmanager
def prompt() -> Iterator[dict[str, Any]]:
    """The names of a main module like that of a prompt: `pickle` and processes find there what is defined in it."""
    before, main = sys.modules["__main__"], ModuleType("__main__")
    sys.modules["__main__"] = main
    try:
        yield vars(main)
    finally:
        sys.modules["__main__"] = before


def run(source: str, name: str, names: dict[str, Any] | None = None) -> int:
    """Run the Python blocks of a Markdown text and return how many there were; raises where one fails."""
    notices.forget()  # what another page has met is a notice on this one again
    namespace: dict[str, Any] = {"__name__": "document"} if names is None else names
    done = 0
    for block in blocks(source):
        if block.language != "python":
            continue
        done += 1
        if ">>>" not in block.text:
            exec(compiled(block, name), namespace)
            continue
        place = f"{Path(name).name}, line {block.line}"
        test = doctest.DocTestParser().get_doctest(block.text, namespace, place, name, block.line - 1)
        for k, example in enumerate(test.examples):  # later blocks read the source of functions of this one
            lines = example.source.splitlines(keepends=True)
            linecache.cache[f"<doctest {place}[{k}]>"] = (len(example.source), None, lines, place)
        said: list[str] = []
        runner = doctest.DocTestRunner(optionflags=FLAGS)
        runner.run(test, out=said.append, clear_globs=False)
        assert not runner.failures, "".join(said)
        namespace.update(test.globs)
    return done
