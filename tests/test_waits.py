"""No test waits without end: whatever waits for a thread or a process says for how long."""

from __future__ import annotations

import ast
from pathlib import Path

WAITS = ("wait", "join", "communicate")
PROCESSES = ("run", "check_call", "check_output", "call")


def endless(tree: ast.AST) -> list[int]:
    """The lines of calls that wait without a limit."""
    found = []
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        limited = any(keyword.arg in ("timeout", None) for keyword in node.keywords)
        of = node.func.value
        process = isinstance(of, ast.Name) and of.id == "subprocess" and node.func.attr in PROCESSES
        if not limited and (process or (node.func.attr in WAITS and not node.args)):
            found.append(node.lineno)
    return found


def test_every_wait_has_a_limit():
    root = Path(__file__).parent
    found = {
        f"{file.relative_to(root)}:{line}"
        for file in root.rglob("*.py")
        for line in endless(ast.parse(file.read_text("utf-8")))
    }
    assert not found


def test_the_check_sees_them():
    text = "t.join()\nsubprocess.run(['x'])\nt.join(5)\nsubprocess.run(['x'], timeout=5)\n', '.join(x)\nevent.wait()\n"
    assert endless(ast.parse(text)) == [1, 2, 6]
