"""The guard against what tests leave behind sees each kind of it."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import catad as ct
from catad.support import current_engine

from . import left_behind

LEFT: dict[str, Callable[[Path], object]] = {
    "the environment": lambda place: os.environ.__setitem__("CATAD_LEFT_BEHIND", "1"),
    "the working directory": os.chdir,
    "sys.path": lambda place: sys.path.append(str(place)),
    "the handler of SIGINT": lambda place: signal.signal(signal.SIGINT, lambda *_: None),
    "NumPy's treatment of floating-point errors": lambda place: np.seterr(over="call"),
    "NumPy's print options": lambda place: np.set_printoptions(precision=3),
    "the recursion limit": lambda place: sys.setrecursionlimit(sys.getrecursionlimit() + 1),
    "the engine in force": lambda place: current_engine.chosen.set("reference"),
    "the checks in force": lambda place: current_engine.checks.set("now"),
    "the number of threads": lambda place: ct.set_num_threads(ct.get_num_threads() + 1),
}


@pytest.mark.parametrize("what", LEFT)
def test_what_is_left_behind_is_seen(what: str, tmp_path: Path) -> None:
    before = left_behind.state()
    LEFT[what](tmp_path)
    left = left_behind.changed(before, left_behind.state())
    left_behind.put_back(before)
    assert len(left) == 1 and left[0].startswith(what)
    assert left_behind.changed(before, left_behind.state()) == []
