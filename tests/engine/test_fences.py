"""No kernel reads or writes outside of an array, not even a number that nobody needs."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import catad as ct
from catad.category.spaces import flatten
from catad.engine.cpu.run import target
from catad.testing.emulator import EmulatedGpu

from . import fenced

pytestmark = [pytest.mark.skipif(not target.available(), reason="there is no LLVM here"), pytest.mark.full_code]
on_linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="pages without rights are made as on Linux")


@on_linux
@pytest.mark.parametrize("side", ["before", "behind"])
def test_a_fence_about_arrays_is_not_touched(side: str) -> None:
    done = subprocess.run([sys.executable, "-m", "tests.engine.fenced", side], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"{done.stdout.splitlines()[-1:]} {done.stderr[-2000:]}"


@on_linux
@pytest.mark.parametrize("side", ["before", "behind"])
def test_a_fence_is_seen(side: str) -> None:
    """The process that touches one ends; one that reads the first and the last number goes on."""
    touch = f"""
import ctypes
from tests.engine.fenced import fenced
at = fenced((3,), "d", {side == "behind"}).ctypes.data
print([ctypes.c_double.from_address(at + k).value for k in (0, 16)], flush=True)
print(ctypes.c_double.from_address(at + {-8 if side == "before" else 24}).value)
"""
    done = subprocess.run([sys.executable, "-c", touch], capture_output=True, text=True, timeout=120)
    assert done.returncode != 0 and done.stdout == "[0.0, 0.0]\n"


def test_the_emulator_stops_no_kernel() -> None:
    """Of the same programs."""
    ct.engine.register(EmulatedGpu())
    for name, f, at in fenced.programs(6):
        g = ct.grad(f if isinstance(f, ct.D) else ct.function(f))
        with ct.use_engine("reference"):
            expected = flatten(g(*at))
        with ct.use_engine("emulated gpu"):
            for one, wanted in zip(flatten(g(*at)), expected, strict=True):
                np.testing.assert_allclose(one, wanted, rtol=1e-11, err_msg=name)
