"""The example of kernels runs, and its numbers are those of closed forms."""

from __future__ import annotations

import numpy as np
from example_support import example

import catad as ct
from tests.experiments import experiment

kernels = example("kernels")


def test_it_runs(capsys):
    kernels.main()
    printed = capsys.readouterr().out
    assert "contraction True" in printed and "by bin; reverse: gather, no atomics" in printed


def test_the_gradient_of_host_code_with_two_launches():
    x = np.linspace(0.0, 1.0, 1000)
    np.testing.assert_allclose(kernels.mean_square(x), np.mean(x * x), rtol=1e-12)
    np.testing.assert_allclose(ct.grad(kernels.mean_square)(x), 2.0 * x / 1000, rtol=1e-12, atol=1e-15)


def test_the_experiment_measures_equal_work(capsys):
    races = experiment("kernels")
    for work in races.works(1024):
        if "scalar loop" not in work.name:
            np.testing.assert_allclose(np.ravel(work.ours(*work.args)), np.ravel(work.other(*work.other_args)), atol=1e-9)
    rows = races.main(["--lanes", "512", "--rounds", "1"])
    assert len(rows) == 6 and all(row["value"] >= 0 for row in rows)
    assert "tree reduction" in capsys.readouterr().out
