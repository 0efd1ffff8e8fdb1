"""Python text as syntax trees, in one thread at a time.

CPython 3.11 and 3.12 count the depth of the trees that they make for all threads together, and raise `SystemError` where two
threads make trees at once (issue 106905 of CPython).
"""

from __future__ import annotations

import ast
from threading import Lock
from typing import Literal, overload

_lock = Lock()


@overload
def parsed(text: str, mode: Literal["exec"] = "exec") -> ast.Module: ...
@overload
def parsed(text: str, mode: Literal["eval"]) -> ast.Expression: ...
def parsed(text: str, mode: Literal["exec", "eval"] = "exec") -> ast.AST:
    """`ast.parse(text, mode=mode)`."""
    with _lock:
        tree: ast.AST = ast.parse(text, mode=mode)
    return tree
