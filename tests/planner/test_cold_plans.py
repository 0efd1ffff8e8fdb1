"""The experiment on cold plans: its programs are planned exactly as they compute, and a copy of a process leaves no trace."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import catad as ct

from ..experiments import experiment as imported


@pytest.fixture
def experiment() -> Any:
    return imported("cold_plans")


def test_programs_are_differentiated(experiment: Any) -> None:
    """By central differences in a drawn direction, and by both costs the same map."""
    for name, make in experiment.PROGRAMS.items():
        f, x = make(np.random.default_rng(0))
        v, h = np.random.default_rng(1).standard_normal(x.shape), 1e-6
        expected = (f(x + h * v) - f(x - h * v)) / (2 * h)
        linear = ct.linearize(f, x)[1]
        for cost in ("time", "operations"):
            found = ct.plan(linear, cost=cost).multiply(linear)(v)
            assert np.allclose(found, expected, rtol=1e-6, atol=1e-8), (name, cost)


def test_a_copy_leaves_no_trace(experiment: Any) -> None:
    noted: list[int] = []
    assert experiment.apart(lambda: noted.append(1) or len(noted)) == 1 and not noted


def test_the_table(experiment: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(experiment, "PROGRAMS", {"skips": experiment.skips(2)})
    monkeypatch.setattr(sys, "argv", ["cold_plans.py", "--rounds", "1"])
    experiment.main()
    head, row = capsys.readouterr().out.splitlines()
    assert head.split()[:2] == ["linearize,", "ms"] and row.startswith("skips")
