"""Python clears its modules at its end: a large array that is still there then says nothing."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from catad.values import buffers

pytestmark = pytest.mark.numpy_only


def test_a_large_array_may_outlive_what_its_module_has(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", said.append)
    kept = buffers.empty((10**6,), np.dtype(float))
    with monkeypatch.context() as at_the_end:
        at_the_end.setattr(buffers, "_give_back", None)
        del kept
    assert said == []
