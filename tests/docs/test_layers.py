"""The page on design says who may import whom, and which imports are late: every import of the package, against its tables."""

from __future__ import annotations

import ast
import graphlib
import importlib
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "catad"
PAGE = ROOT / "docs" / "design.md"


class Import(NamedTuple):
    """One import statement: the modules that it reads as files of the package, and where it stands."""

    files: tuple[str, ...]
    outside: tuple[str, ...]  # libraries
    line: int
    late: bool  # inside a function


@cache
def tables() -> list[list[list[str]]]:
    """The tables of the section on imports, row by row, without their heads."""
    section = PAGE.read_text(encoding="utf-8").split("## Who may import whom")[1].split("\n## ")[0]
    found: list[list[list[str]]] = [[]]
    for line in section.splitlines():
        if line.startswith("|"):
            found[-1].append([cell.strip() for cell in line.strip("|").split("|")])
        elif found[-1]:
            found.append([])
    return [table[2:] for table in found if table]


def places(cell: str) -> list[str]:
    return re.findall(r"`([\w./]+)`", cell)


@cache
def layer_of(file: str) -> int:
    """The row of a file: that of the longest place that it lies in."""
    rows = [(len(place), k) for k, row in enumerate(tables()[0]) for place in places(row[0]) if within(file, place)]
    assert rows, f"{file} stands in no row of the table"
    return max(rows)[1]


def within(file: str, place: str) -> bool:
    return file.startswith(place) if place.endswith("/") else file == place


@cache
def modules() -> list[str]:
    return [str(path.relative_to(PACKAGE)) for path in sorted(PACKAGE.rglob("*.py"))]


@cache
def file_of(module: str) -> str | None:
    """The file of a module of the package by its dotted name."""
    path = PACKAGE.joinpath(*module.split(".")[1:])
    for found in (path.with_suffix(".py"), path / "__init__.py"):
        if module.split(".")[0] == "catad" and found.exists():
            return str(found.relative_to(PACKAGE))
    return None


@cache
def imports(file: str) -> tuple[Import, ...]:
    """What a file imports when it runs, or when a name of its table is first used; what is imported for types alone is not."""
    return tuple(_imports(ast.parse((PACKAGE / file).read_text(encoding="utf-8")), file, file in tables_of_names()))


def _imports(node: ast.AST, file: str, typed: bool, late: bool = False) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test) and not typed:
            continue
        if isinstance(child, ast.Import):
            yield _import([(alias.name, None) for alias in child.names], child.lineno, late)
        elif isinstance(child, ast.ImportFrom):
            package = ["catad", *file.split("/")[: -child.level]] if child.level else []
            module = ".".join([*package, *([child.module] if child.module else [])])
            yield _import([(module, alias.name) for alias in child.names], child.lineno, late)
        else:
            yield from _imports(child, file, typed, late or isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)))


@cache
def tables_of_names() -> dict[str, ModuleType]:
    """The modules whose names are loaded at their first use (`support/lazy_names.py`), by file."""
    files = [file for file in modules() if re.search(r"^_?first_use\(", (PACKAGE / file).read_text(encoding="utf-8"), re.M)]
    return {file: importlib.import_module(".".join(["catad", *names_of(file)])) for file in files}


def names_of(file: str) -> list[str]:
    return [name for name in file.removesuffix(".py").split("/") if name != "__init__"]


@pytest.mark.parametrize("file", tables_of_names())
def test_type_checkers_see_the_names_that_are_loaded_at_first_use(file: str) -> None:
    module, seen = tables_of_names()[file], set()
    for node in ast.walk(ast.parse((PACKAGE / file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            seen = {alias.name for child in node.body for alias in child.names if alias.name == alias.asname}
    assert seen and seen == {*dir(module)} - {"__version__"}
    assert all(hasattr(module, name) for name in seen)


def _import(named: list[tuple[str, str | None]], line: int, late: bool) -> Import:
    files, outside = [], []
    for module, name in named:
        if module.split(".")[0] != "catad":
            outside.append(module.split(".")[0])
        else:
            found = file_of(f"{module}.{name}") or file_of(module)
            assert found is not None, f"no module {module}"
            files.append(found)
    return Import(tuple(files), tuple(outside), line, late)


@pytest.mark.parametrize("folder", dict.fromkeys(file.rpartition("/")[0] for file in modules()))
def test_modules_import_downwards(folder: str) -> None:
    for file in [file for file in modules() if file.rpartition("/")[0] == folder]:
        own = layer_of(file)
        for found in imports(file):
            for other in found.files:
                allowed = other == "upward.py" or (found.late and (file, other) in late_by_table())
                assert layer_of(other) >= own or allowed, f"{file}:{found.line} imports {other}, which is above it"


@cache
def late_by_table() -> set[tuple[str, str]]:
    """The late imports that the page names: a file, and another one or a library."""
    return {(file, other) for row in tables()[1] for file in places(row[0]) for other in places(row[1])}


def test_the_late_imports_are_those_that_the_page_names() -> None:
    found = {
        (file, other) for file in modules() for one in imports(file) if one.late for other in (*one.files, *one.outside)
    }
    assert found == late_by_table()


def test_no_import_goes_from_a_room_to_a_higher_one() -> None:
    """What a function imports lies in the room of its file, or below; of a file in no room, in its row of the table, or below."""
    inside = [(file, other) for file, other in late_by_table() if other.endswith(".py")]
    up = [(file, other) for file, other in inside if room(file) and rooms()[room(other)] < rooms()[room(file)]]
    assert up + [(file, other) for file, other in inside if not room(file) and layer_of(other) < layer_of(file)] == []


def test_what_is_called_by_upward_stands_above_its_caller() -> None:
    """And every name of `upward.py` is called so."""
    upward, called = tables_of_names()["upward.py"], set()
    for file in modules():
        for name in re.findall(r"\bupward\.(\w+)", (PACKAGE / file).read_text(encoding="utf-8").replace("`upward.py`", "")):
            place = file_of(vars(upward)["_places"][name][0])
            assert place and layer_of(place) < layer_of(file), f"{file} calls {name} of {place}, which is not above it"
            called.add(name)
    assert called == {*dir(upward)}


def room(file: str) -> str:
    """The folder below the package in which a file lies; what lies in none is the roof."""
    return file.partition("/")[0] if "/" in file else ""


@cache
def rooms() -> dict[str, int]:
    """The rooms from top to bottom, in the order of the table: the rows of one room follow each other."""
    order = dict.fromkeys(room(place) for row in tables()[0] for place in places(row[0]))
    return {name: k for k, name in enumerate(order)}


def test_what_lies_in_no_room() -> None:
    own = {"__init__.py", "info.py", "version.py", "py.typed", "upward.py"}
    assert {path.name for path in PACKAGE.iterdir() if path.is_file()} == own


def test_a_folder_is_seen_at_a_glance() -> None:
    """No folder has more than about 25 files; a larger one has rooms of its own."""
    files = Counter(file.rpartition("/")[0] for file in modules() if not file.endswith("__init__.py"))
    assert {folder: count for folder, count in files.items() if count > 25} == {}


def test_the_table_names_what_is_there() -> None:
    for place in [place for row in tables()[0] for place in places(row[0])]:
        assert (PACKAGE / place).exists(), place


def test_any_module_can_be_imported_first() -> None:
    """No module waits for itself: which one a process loads first depends on what it uses."""
    needs = {
        file: {other for one in imports(file) if not one.late for other in one.files}
        for file in modules()
        if file not in tables_of_names()
    }
    graphlib.TopologicalSorter(needs).prepare()  # raises CycleError
