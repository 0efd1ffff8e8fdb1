"""Every message of catad is on a page of `docs/errors/`, word for word, in a section that its first line finds.

A section is a heading of the second level. It shows a message in a doctest, whose text `docs_support.run` compares with what is
raised; here a message counts as shown if its function was called while the page ran, and its first line stands in an output.
"""

from __future__ import annotations

import ast
import importlib
import math
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from docs_support import FENCE, ROOT, blocks, run

from catad import errors
from catad.errors import base, notices

pytestmark = pytest.mark.numpy_only  # the pages show spaces and places of NumPy's arrays

PAGES = sorted((ROOT / "docs" / "errors").glob("*.md"))
MODULES = sorted(path.stem for path in Path(base.__file__).parent.glob("*.py") if path.stem != "__init__")
LAYOUT = ("text", "about")  # functions of `base` that lay out a message, and are none

# Messages that an example cannot show, with the reason. Their sections have no example.
WITHOUT_EXAMPLE = {
    "category.mixed_devices": "CuPy",
    "category.two_devices": "two GPUs",
    "chunks.mixed_chunks": "a GPU",
    "chunks.old_dask": "an old Dask",
    "chunks.other_version": "two versions of catad",
    "engine.bad_thread_variable": "a process that has not run a program yet",
    "engine.complex_between_libraries": "PyTorch or JAX",
    "engine.gpu_failed": "a GPU",
    "engine.jax_has_32_bits": "JAX",
    "engine.lacks_library": "CuPy",
    "engine.llvm_failed": "a defect of LLVM",
    "engine.needs_cupy": "a GPU",
    "engine.needs_library": "an environment without a library",
    "engine.no_gpu": "CuPy",
    "engine.no_llvm": "an environment without llvmlite",
    "engine.no_plain_array": "PyTorch or JAX",
    "engine.not_current_device": "two GPUs",
    "engine.old_driver": "a GPU",
    "engine.old_gpu": "a GPU",
    "engine.second_derivative_in_torch": "PyTorch",
    "engine.tensors_apart": "PyTorch and a GPU",
    "engine.undefined_functions": "a damaged cache",
    "engine.unknown_symbol": "another C library",
    "engine.waits_while_captured": "a GPU",
    "linear.no_decomposition": "a matrix for which LAPACK fails on every machine",
    "planner.bad_tape": "the command line",
    "planner.not_measured": "CuPy",
    "scalar.nested_too_deeply": "an expression of hundreds of levels",
    "scalar.unknown_bytecode": "a newer Python",
    "testing.needs_hypothesis": "an environment without Hypothesis",
}

# Messages whose sections are still to be written, by their modules.
NOT_YET: dict[str, str] = {}


class Section(NamedTuple):
    """A section of a page: its heading, and the text below it."""

    page: str
    heading: str
    body: str


def sections() -> list[Section]:
    found = []
    for page in PAGES:
        source = page.read_text(encoding="utf-8")
        hidden = FENCE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), source)  # a comment in a program is no heading
        starts = [match.start() for match in re.finditer(r"^## ", hidden, re.MULTILINE)]
        for start, end in zip(starts, [*starts[1:], len(source)], strict=True):
            heading, _, body = source[start + 3 : end].partition("\n")
            found.append(Section(page.name, heading.strip(), body))
    return [section for section in found if section.page != "index.md"]


def calls_of(function: ast.FunctionDef) -> set[str]:
    return {call.func.id for call in ast.walk(function) if isinstance(call, ast.Call) and isinstance(call.func, ast.Name)}


def headlines() -> dict[str, set[str]]:
    """The words that the first line of each message always has, by the name of its function."""
    found: dict[str, set[str]] = {}
    for module in MODULES:
        tree = ast.parse(Path(base.__file__).with_name(f"{module}.py").read_text(encoding="utf-8"))
        for function in tree.body:
            if isinstance(function, ast.FunctionDef) and calls_of(function) & {"text", "about", "no_such"}:
                if module == "base" and function.name in LAYOUT:
                    continue
                found[f"{module}.{function.name}"] = fixed_words(function)
    return found


def fixed_words(function: ast.FunctionDef) -> set[str]:
    for call in ast.walk(function):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in ("text", "about"):
            what = call.args[1 if call.func.id == "about" else 0]
            return words(" ".join(str(part.value) for part in ast.walk(what) if isinstance(part, ast.Constant)))
    return set()


def words(line: str) -> set[str]:
    return set(re.findall(r"\w+", line.lower()))


def shown(body: str) -> set[str]:
    """The first lines of the messages, and all other lines, that the outputs of a section show."""
    lines = [line for block in blocks(body) if block.language == "python" for line in block.text.splitlines()]
    outputs = [line for line in lines if not line.startswith((">>> ", "... "))]
    return {" ".join(re.sub(r"^catad\.errors\.\w+: ", "", line).split()) for line in outputs}


@pytest.fixture
def raised(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, set[str]]]:
    """The first lines of all messages that are made, by the names of the functions that made them."""
    found: dict[str, set[str]] = {}
    original, folder = base.text, str(Path(base.__file__).parent)

    def text(what: str, **parts: object) -> str:
        frame = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename.startswith(folder):
            name = f"{Path(frame.f_code.co_filename).stem}.{frame.f_code.co_name}"
            found.setdefault(name, set()).add(" ".join(what.split()))
            frame = frame.f_back  # type: ignore[assignment]
        return original(what, **parts)

    for module in [errors, *[importlib.import_module(f"catad.errors.{name}") for name in MODULES]]:
        if getattr(module, "text", None) is original:
            monkeypatch.setattr(module, "text", text)
    yield found


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_pages_are_short(page: Path) -> None:
    assert len(page.read_text(encoding="utf-8").splitlines()) <= 500


def test_pages_show_every_message(raised: dict[str, set[str]]) -> None:
    for page in PAGES:
        notices.forget()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", errors.CatadNotice)
            run(page.read_text(encoding="utf-8"), str(page))
    lines = {line for section in sections() for line in shown(section.body)}
    known, later = headlines().keys(), {f"{module}.{name}" for module, names in NOT_YET.items() for name in names.split()}
    covered = {name for name, firsts in raised.items() if firsts & lines} & known
    assert sorted((WITHOUT_EXAMPLE.keys() | later) - known) == [], "there is no such message"
    assert sorted(covered & (WITHOUT_EXAMPLE.keys() | later)) == [], "a page shows them: leave them out of the tables"
    assert sorted(known - covered - WITHOUT_EXAMPLE.keys() - later) == [], "no page shows these messages"


def best(line: set[str], among: list[Section], count: int) -> list[Section]:
    """The sections whose headings have most of the words of a line, rare words first, as a search would find them."""
    heads = [words(section.heading) for section in among]
    rarity = {word: math.log(len(heads) / sum(word in head for head in heads)) + 0.1 for head in heads for word in head}
    scores = [sum(rarity[word] for word in line & head) / math.sqrt(len(head)) for head in heads]
    order = sorted(range(len(among)), key=lambda k: -scores[k])
    return [among[k] for k in order[:count] if scores[k] > 0]


def first_lines(section: Section) -> list[str]:
    """The first lines of the errors that the outputs of a section show."""
    texts = [block.text for block in blocks(section.body) if block.language == "python"]
    return [line for text in texts for line in re.findall(r"^catad\.errors\.\w+: (.*)", text, re.MULTILINE)]


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "index.md"], ids=lambda path: path.name)
def test_the_first_line_of_a_message_finds_its_section(page: Path) -> None:
    everywhere = sections()
    for section in [section for section in everywhere if section.page == page.name]:
        for line in first_lines(section):
            found = best(words(line), everywhere, 3)
            assert section in found, f"{line!r} finds {[other.heading for other in found]}, not {section.heading!r}"


def test_messages_without_an_example_have_sections() -> None:
    known, everywhere = headlines(), sections()
    for name in WITHOUT_EXAMPLE:
        found = [section for section in best(known[name], everywhere, 3) if not first_lines(section)]
        assert found, f"no section without an example has a heading with the words of {name}: {known[name]}"


def test_a_section_says_the_cause_before_its_example_and_the_way_out_after_it() -> None:
    for section in sections():
        place = f"{section.page}: {section.heading}"
        prose = [part.strip() for part in FENCE.split(section.body)[:: FENCE.groups + 1]]
        assert prose[0], f"{place}: no cause"
        assert re.search(r"[.:]$", prose[0]), f"{place}: the cause is no sentence"
        if first_lines(section):
            last = [block for block in blocks(section.body) if block.language == "python"][-1]
            assert prose[-1] or not last.text.rstrip().endswith("..."), f"{place}: no way out"


PARTS = ["given", "expected", "where", "at", "do", "problem", "note", "chunk", "composed", "made", "called"]


def messages(section: Section) -> list[list[str]]:
    """The lines of each message that a section shows."""
    outputs = "".join([block.text for block in blocks(section.body) if block.language == "python"])
    found = re.findall(r"^(catad\.errors\.\w+: .*\n(?:  .*\n)*)", outputs, re.MULTILINE)
    return [text.splitlines() for text in found]


def test_the_parts_of_messages_come_in_one_order() -> None:
    seen = 0
    for section in sections():
        for lines in messages(section):
            labels = [match[1] for line in lines[1:] if (match := re.match(r"  (\w+): ", line))]
            assert labels == sorted(labels, key=PARTS.index), f"{section.page}: {section.heading}: {labels}"
            seen += len(labels)
    assert seen > 500


PRIVATE = re.compile(r"<wire |\b(Delta|Tensor|Product|Gather|Map)\(|<function | at 0x[0-9a-f]|\bof type Wire")


def test_messages_show_no_private_text() -> None:
    shown_ = [line for section in sections() for lines in messages(section) for line in lines]
    assert [line for line in shown_ if PRIVATE.search(line)] == []


def test_the_index_links_to_every_page() -> None:
    source = (ROOT / "docs" / "errors" / "index.md").read_text(encoding="utf-8")
    assert [page.name for page in PAGES if page.name != "index.md" and f"]({page.name})" not in source] == []


def test_headings_are_unique_on_a_page() -> None:
    found = [(section.page, section.heading.lower()) for section in sections()]
    assert len(set(found)) == len(found), sorted({pair for pair in found if found.count(pair) > 1})


def test_the_search_tells_headings_apart() -> None:
    made = [Section("a.md", heading, "") for heading in ("matrix sizes do not meet", "spaces do not meet", "a map is singular")]
    assert best(words("matrix sizes do not meet"), made, 1) == [made[0]]
    assert best(words("spaces do not meet"), made, 1) == [made[1]]
    assert best(words("no word of them"), made, 3) == []


def test_an_output_is_told_from_a_statement() -> None:
    body = "Cause.\n\n```python\n>>> f(  x )\nTraceback (most recent call last):\n    ...\ncatad.errors.SpaceError: a   b\n"
    body += "```\n"
    assert "a b" in shown(body) and not any("f(" in line for line in shown(body))
    assert first_lines(Section("a.md", "a b", body)) == ["a   b"]


def test_sections_are_found_beside_comments_in_programs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    page = tmp_path / "made.md"
    page.write_text("# Page\n\n## One\n\n```python\n## no heading\n```\n\n## Two\n\nText.\n", encoding="utf-8")
    monkeypatch.setattr(sys.modules[__name__], "PAGES", [page])
    assert [section.heading for section in sections()] == ["One", "Two"]
