"""Data that does not fit into the memory which a process may have: what it holds, what it reads, and how many tasks it runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("dask.array", reason="pip install 'dask[array]'")

from .limited_memory import example

MB = 10**6
HELD = 8  # chunks a thread
STACK = 8 * MB  # of a thread, which counts as data
SCRIPT = Path(__file__).with_name("limited_memory.py")

pytestmark = pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="memory is measured as Linux tells it")


def evaluated(folder, rows, chunk, threads, limit):
    """What the process says, whose memory is limited."""
    command = [sys.executable, str(SCRIPT), str(folder), *map(str, (rows, chunk, threads)), limit]
    paths = [str(SCRIPT.parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=500, env=environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def expected(folder, rows, chunk):
    """The value and the gradient by NumPy, in float64."""
    features, labels = [np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("features", "labels")]
    slope = np.zeros(features.shape[1])
    for first in range(0, rows, chunk):
        x = features[first : first + chunk].astype(float)
        slope += (0.5 - labels[first : first + chunk]) @ x
    return np.log(2), slope / rows


def check(folder, rows, chunk, threads, limit):
    found = evaluated(folder, rows, chunk, threads, limit)
    value, slope = expected(folder, rows, chunk)
    np.testing.assert_allclose(found["value"], value, rtol=1e-5)
    np.testing.assert_allclose(found["slope"], slope, atol=1e-6)
    assert found["read"] == [rows, rows]
    assert not found["fits"], "the limit has room for all of the data: nothing was shown"
    chunks = -(-rows // chunk)
    first, *others = found["stages"]
    assert first == chunks and sum(others) <= max(chunks // 5, 3)
    assert found["peak"] - found["base"] <= HELD * threads * 68 * chunk, found
    return found


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """204 MB."""
    folder = tmp_path_factory.mktemp("data")
    example().make(folder, 3 * MB, MB // 10)
    return folder


@pytest.mark.parametrize("threads", [1, 2])
def test_204_mb_in_eight_chunks_a_thread(files, threads):
    chunk = MB // 10
    check(files, 3 * MB, chunk, threads, f"+{threads * (HELD * 68 * chunk + STACK)}")


@pytest.mark.slow
def test_2_gb_in_600_mb(tmp_path):
    example().make(tmp_path, 30 * MB, 1 << 19)
    found = check(tmp_path, 30 * MB, 1 << 19, 2, str(600 * MB))
    assert found["limit"] == 600 * MB
