"""Every code block of the README and of the docs runs and prints what it says; test_error_pages.py runs those of errors."""

from __future__ import annotations

import contextlib
import io
import os
import re
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from docs_support import FENCE, ROOT, blocks, compiled, documents, prompt, run

COMMANDS = [
    "python3 -m venv .venv && .venv/bin/pip install '.[examples]' && .venv/bin/python examples/quickstart.py",
    "python3 -m venv .venv && .venv/bin/pip install '.[test]' && .venv/bin/python -m pytest",
]


NUMPY_ONLY = ("engine.md", "custom-derivatives.md")


def _page(path: Path) -> Any:
    return pytest.param(path, marks=pytest.mark.numpy_only if path.name in NUMPY_ONLY else (), id=path.name)


NEEDS = {  # a page runs where these are installed
    "coming-from-autograd.md": ("autograd",),
    "coming-from-pytorch.md": ("torch",),
    "how-to/jax.md": ("jax",),
    "how-to/pandas.md": ("pandas",),
    "how-to/processes.md": ("joblib",),
    "how-to/pytorch.md": ("torch",),
    "how-to/scikit-learn.md": ("sklearn", "pandas"),
}


@pytest.mark.parametrize("path", [_page(path) for path in documents() if path.parent.name != "errors"])
def test_blocks_run(path: Path) -> None:
    within = path.relative_to(ROOT / "docs").as_posix() if path.is_relative_to(ROOT / "docs") else path.name
    for library in NEEDS.get(within, ()):
        pytest.importorskip(library)
    with mock.patch.dict(os.environ):  # which PyTorch changes
        if path.parent.name != "how-to":
            run(path.read_text(encoding="utf-8"), str(path))
            return
        with prompt() as names:  # pages that are pasted at one
            run(path.read_text(encoding="utf-8"), str(path), names)


def test_the_pages_that_need_a_library_are_there() -> None:
    assert all((ROOT / "docs" / page).exists() for page in NEEDS)


def test_the_tutorial_builds_the_core_in_few_lines() -> None:
    code = blocks((ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8"))
    lines = [line for block in code if block.language == "python" for line in block.text.splitlines() if line.strip()]
    assert 200 < len(lines) <= 400
    for word in ("class D", "class Linear", "class Recurrence", "def scan", "def plan", "class Grad"):
        assert any(line.startswith(word) for line in lines), word


def test_what_must_be_there() -> None:
    names = {path.name for path in documents()}
    assert {"README.md", "quickstart.md", "functions.md", "tutorial.md", "conventions.md", "design.md"} <= names
    assert {"coming-from-jax.md", "coming-from-numpy.md", "custom-derivatives.md"} <= names
    assert len(blocks((ROOT / "docs" / "tutorial.md").read_text())) > 15


LANGUAGES = ("python", "bash", "text", "{toctree}", "{note}", "{warning}", "{admonition}", "{figure}", "{image}")
"""Those of blocks; `python` runs, and no directive of MyST that shows code is among them."""


@pytest.mark.parametrize("path", documents(), ids=lambda path: path.name)
def test_no_example_hides_from_the_tests(path: Path) -> None:
    for block in blocks(path.read_text(encoding="utf-8")):
        assert block.language in LANGUAGES, f"{path.name}:{block.line}: a block in {block.language!r}"
        assert block.language == "python" or ">>>" not in block.text, f"{path.name}:{block.line}"


def test_readme_prints_what_it_shows() -> None:
    shown = blocks((ROOT / "README.md").read_text(encoding="utf-8"))
    assert [block.language for block in shown[:2]] == ["python", "text"]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(shown[0].text, {})
    assert printed.getvalue() == shown[1].text


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_the_first_picture_of_a_page_is_the_one_that_its_program_draws(page: str) -> None:
    source = (ROOT / page).read_text(encoding="utf-8")
    (picture,) = re.findall(r"!\[[^]]*\]\(([^)]+\.svg)\)", source)
    namespace: dict[str, Any] = {"__name__": "document"}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compiled(blocks(source)[0], page), namespace)
    program = namespace["ct"].function(namespace["drawdown"]).at(namespace["weights"])
    assert ((ROOT / page).parent / picture).read_text(encoding="utf-8") == program.point_free().draw() + "\n"


def test_readme_sets_up_with_two_commands() -> None:
    lines = [
        line
        for block in blocks((ROOT / "README.md").read_text(encoding="utf-8"))
        if block.language == "bash"
        for line in block.text.splitlines()
    ]
    assert all(command in lines for command in COMMANDS), lines


def test_what_must_pass_begins_with_the_tests_of_the_readme_word_for_word() -> None:
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert sum("pip install '.[test]'" in line for line in (ROOT / "README.md").read_text(encoding="utf-8").splitlines()) == 1
    commands = [line for line in lines if re.search(r"\bpip\b|pytest", line) and not line.startswith("#")]
    assert commands[0] == """bash -c "$(grep -F "pip install '.[test]'" README.md)\""""


@pytest.mark.parametrize("path", documents(), ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    prose = re.sub(r"`[^`\n]*`", "", FENCE.sub("", path.read_text(encoding="utf-8")))  # `rules[name](x)` in code is no link
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", prose):
        assert "://" in target or (path.parent / target).exists(), f"{path.name} links to {target}"


def files() -> set[str]:
    """The files and folders of the repository, with every way to shorten their paths from the left."""
    found = {"docs/", "examples/", "tests/"}
    for path in [*(ROOT / "catad").rglob("*"), *(ROOT / "examples").rglob("*")]:
        if path.is_dir() and not list(path.glob("*.py")):
            continue  # left over from another version
        parts = path.relative_to(ROOT).parts
        found |= {"/".join(parts[k:]) + ("/" if path.is_dir() else "") for k in range(len(parts))}
    return found


@pytest.mark.parametrize("path", documents(), ids=lambda path: path.name)
def test_files_of_the_package_that_a_page_names_are_there(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:[a-z_]\w*/)*[a-z_]\w*(?:\.py|/))`", source))
    assert {name for name in named - files() if not (ROOT / name).exists()} == set()


CLAUSES = re.compile(r"(?:^|(?<=[.:;] ))(?:What|Whatever|Whether|That|Taken|Tried) |(?:^|(?<=[.] ))Of [^.]{0,60},")


def clauses(source: str) -> list[str]:
    """Sentences that begin with a clause as their subject ("What has no rule ...") or with an ellipsis ("Of dense maps, ...")."""
    prose = re.sub(r"`[^`]*`", "`x`", FENCE.sub("", source))
    paragraphs = [" ".join(part.split()) for part in re.split(r"\n\s*\n|\n(?=\s*(?:[-|]|\d+\.))", prose)]
    return [part[found.start() : found.start() + 60] for part in paragraphs for found in CLAUSES.finditer(part)]


@pytest.mark.parametrize("path", documents(), ids=lambda path: path.name)
def test_sentences_begin_with_a_noun_or_a_verb(path: Path) -> None:
    assert clauses(path.read_text(encoding="utf-8")) == []


def test_clauses_are_seen() -> None:
    assert clauses("A map. What has no rule stays. Of dense\nmaps, all.\n\nTaken are arrays.") == [
        "What has no rule stays. Of dense maps, all.",
        "Of dense maps, all.",
        "Taken are arrays.",
    ]


GLOSSARY = ROOT / "docs" / "glossary.md"


def test_an_entry_of_the_glossary_says_a_sentence_or_two_and_points_to_a_page_and_a_file() -> None:
    entries = re.findall(r"^\*\*(.+?)\.\*\* (.*?)(?=\n\n|\Z)", GLOSSARY.read_text(encoding="utf-8"), re.M | re.S)
    assert 15 <= len(entries) <= 25 and len({term for term, _ in entries}) == len(entries)
    for term, text in entries:
        explained, pointers = " ".join(text.split()).split(" → ")
        assert len(explained) < 320, term
        assert re.fullmatch(r"(\[\w+\]\(\w+\.md\), )+`catad/[\w/.]+`", pointers), term


@pytest.mark.parametrize("path", [path for path in documents() if path != GLOSSARY], ids=lambda path: path.name)
def test_every_page_links_to_the_glossary(path: Path) -> None:
    assert "glossary.md)" in path.read_text(encoding="utf-8")


def test_the_runner_sees_failures() -> None:
    good = "```python\nx = 1\n```\n\ntext\n\n```python\n>>> x + 1\n2\n```\n"
    assert run(good, "good") == 2
    with pytest.raises(AssertionError):
        run(good.replace("\n2\n", "\n3\n"), "wrong output")
    with pytest.raises(ZeroDivisionError) as caught:
        run("\n\n```python\ny = 1\n1 / 0\n```\n", "raises")
    assert caught.traceback[-1].lineno + 1 == 5  # the line in the document


def test_the_runner_sees_indented_blocks() -> None:
    assert [b.text for b in blocks("- item\n\n  ```python\n  if 1:\n      x = 1\n  ```\n")] == ["if 1:\n    x = 1\n"]
