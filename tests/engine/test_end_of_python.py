"""Nothing is said where Python ends while somebody still has a large array."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.numpy_only

KEPT = """
import builtins
import numpy as np
from catad.values import buffers
builtins.kept = buffers, buffers.empty((10**6,), np.dtype(float))  # both outlive what the module has
"""


def test_a_large_array_may_outlive_what_its_module_has() -> None:
    done = subprocess.run([sys.executable, "-c", KEPT], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
