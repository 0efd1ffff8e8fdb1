"""A bug that is planted: a line of the package, what stands there with the bug, and the tests that are run first."""

from __future__ import annotations

from typing import NamedTuple


class Bug(NamedTuple):
    """One wrong line: `old` stands once in the file, and `new` in its place is silent where no test looks."""

    name: str
    file: str
    old: str
    new: str
    tests: str
