"""Python text as syntax trees, in one thread at a time.

CPython 3.11 and 3.12 count the depth of the trees that they make for all threads together, and raise `SystemError` where two
threads make trees at once (issue 106905 of CPython). One lock keeps the threads of catad apart. Threads that parse without it,
as `numpy.load` does for the header of a file, can still disturb a tree, so it is made again.
"""

from __future__ import annotations

import ast
from threading import Lock
from typing import Literal, cast, overload

_lock = Lock()
_TRIES = 100  # where this thread was disturbed


@overload
def parsed(text: str, mode: Literal["exec"] = "exec") -> ast.Module: ...
@overload
def parsed(text: str, mode: Literal["eval"]) -> ast.Expression: ...
def parsed(text: str, mode: Literal["exec", "eval"] = "exec") -> ast.AST:
    """`ast.parse(text, mode=mode)`."""
    with _lock:
        for _ in range(_TRIES):
            try:
                return cast(ast.AST, ast.parse(text, mode=mode))
            except SystemError:
                continue
        return cast(ast.AST, ast.parse(text, mode=mode))
