"""No file asks whether a structure is of a family of another file: that is a method of `Structure`, or a table by family."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import catad

ROOT = Path(catad.__file__).parent


@cache
def files() -> dict[Path, ast.Module]:
    """The files of the package as trees, read when the test runs."""
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(ROOT.rglob("*.py"))}


def _bases(node: ast.ClassDef) -> set[str]:
    return {base.id for base in node.bases if isinstance(base, ast.Name)}


def families() -> dict[str, Path]:
    """The classes that derive from `Structure`, each with its file."""
    found: dict[str, Path] = {}
    classes = [(node, path) for path, tree in files().items() for node in tree.body if isinstance(node, ast.ClassDef)]
    while True:
        more = {node.name: path for node, path in classes if node.name not in found and _bases(node) & {"Structure", *found}}
        if not more:
            return found
        found |= more


def _is_type(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "type"


def asked_in(tree: ast.Module) -> list[tuple[int, set[str]]]:
    """The names in calls of isinstance and issubclass, and beside `type(x)` in comparisons; tuples by name are looked up."""
    tuples: dict[str, set[str]] = {}
    nodes = [node for node in ast.walk(tree) if isinstance(node, (ast.Assign, ast.Call, ast.Compare))]
    for node in nodes:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple) and isinstance(node.targets[0], ast.Name):
            tuples[node.targets[0].id] = {e.id for e in node.value.elts if isinstance(e, ast.Name)}
    found = []
    for node in nodes:
        asked: list[ast.expr] = []
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("isinstance", "issubclass"):
            asked = node.args[1:]
        elif isinstance(node, ast.Compare) and any(map(_is_type, ast.walk(node))):
            asked = [node]
        names = {one.id for each in asked for one in ast.walk(each) if isinstance(one, ast.Name)}
        found.append((getattr(node, "lineno", 0), names | {n for name in names for n in tuples.get(name, ())}))
    return found


def test_no_file_asks_for_a_family_of_another() -> None:
    known = families()
    assert {"Delta", "Chain", "Recurrence", "Network", "Gather", "SweepMap"} <= set(known)
    asked = [
        f"{path.relative_to(ROOT)}:{line} {name}"
        for path, tree in files().items()
        for line, names in asked_in(tree)
        for name in sorted(names & set(known))
        if known[name] != path
    ]
    assert asked == []


def test_such_a_test_is_found() -> None:
    planted = ast.parse("LAZY = (Chain, Sum)\nif isinstance(s, LAZY) or type(s) is Delta:\n    pass")
    assert {name for _, names in asked_in(planted) for name in names} >= {"Chain", "Sum", "Delta"}
