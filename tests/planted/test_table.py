"""The table of bugs fits the code: each line stands there once, and what replaces it is Python."""

from __future__ import annotations

import ast

import pytest

from .__main__ import ROOT, planted
from .table import BUGS, Bug


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_the_bug_can_be_planted(bug: Bug) -> None:
    assert bug.old != bug.new and ast.parse(planted(bug, ROOT)) and (ROOT / "tests" / bug.tests).is_file()


def test_names_are_different() -> None:
    assert len({bug.name for bug in BUGS}) == len(BUGS)
