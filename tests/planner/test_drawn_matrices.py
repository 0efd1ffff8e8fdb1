"""Drawn programs of small matrices: their Jacobians are right, store no more than dense, and little is looked at for them."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.category.wiring import Builder
from catad.engine import program as engine_program
from catad.planner.chains.factors import multiplied
from catad.planner.network.sums import summed
from catad.planner.plan import forget

from ..experiments import experiment as imported

PROGRAMS = 200
EACH, LEAST = 10, 120  # products and sums that planning looks at for each box of a program, and in any case
LAID_OUT = 60, 400  # boxes that it lays out for each box of the application, and in any case
PLANNED = ct.CostProfile("example", (("others", (3e-6, 1e-10, 3e-10)), ("Reshaped", (1e-7, 0.0, 0.0))))


@pytest.fixture
def experiment(process_settings: None) -> Any:
    return imported("drawn_matrices")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How many boxes builders were asked for since the last time."""
    count = [0]
    plain = Builder.add

    def counted(self: Builder, *args: Any) -> Any:
        count[0] += 1
        return plain(self, *args)

    monkeypatch.setattr(Builder, "add", counted)

    def since() -> int:
        found, count[0] = count[0], 0
        return found

    return since


def forgotten() -> None:
    forget()
    multiplied.cache_clear()
    summed.cache_clear()


def looked_at() -> int:
    return multiplied.cache_info().misses + summed.cache_info().misses


@pytest.mark.quick(15)
@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_drawn_programs(seed: int, experiment: Any, asked: Callable[[], int]) -> None:
    program = experiment.drawn(seed)
    assert experiment.boxes_of(program.f, program.x) <= experiment.BOXES
    with ct.use_engine("reference"):
        _, linear = ct.linearize(program.f, program.x)
        expected = linear.todense()
        forgotten()
        asked()
        plan = ct.plan(linear, cost=PLANNED)
        tries, boxes = looked_at(), asked()
        found = plan.multiply(linear)
        assert found.stored <= found.shape[0] * found.shape[1] or found.structure.is_lazy
        scale = np.abs(expected).max()
        for one in (found, ct.jacobian(program.f)(program.x)):
            np.testing.assert_allclose(one.todense(), expected, rtol=1e-12, atol=1e-13 * scale)
        array = ct.jacobian(program.f, result="array")(program.x)
        np.testing.assert_allclose(array, expected, rtol=1e-12, atol=1e-13 * scale)
    size = experiment.boxes_of(program.f, program.x)
    assert tries <= LEAST + EACH * size, (tries, size)
    assert boxes <= LAID_OUT[1] + LAID_OUT[0] * size, (boxes, size)


FAMILIES = ["chain", "tree", "fan", "rotations", "gathers", "prefix products"]


@pytest.mark.parametrize("family", FAMILIES)
def test_planning_grows_as_programs_do(family: str, experiment: Any, asked: Callable[[], int]) -> None:
    """What is looked at and laid out where a program is twice as large, and twice as large again: at most six times as much."""
    make = experiment.prefixes if family == "prefix products" else experiment.sized(family)
    counts = []
    with ct.use_engine("reference"):
        for n in (3, 6, 12):
            f, x = make(n)
            _, linear = ct.linearize(f, x)
            forgotten()
            asked()
            ct.plan(linear, cost=PLANNED)
            counts.append((looked_at(), asked()))
    for once, twice in pairwise(counts):
        assert all(after <= 6 * max(20, before) for before, after in zip(once, twice, strict=True)), counts


def test_the_first_jacobian_of_small_matrices_compiles_nothing(experiment: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is called again is compiled, and gives the same."""
    from catad.engine.cpu.engine import Cpu

    compiled: list[str] = []
    plain = Cpu.steps
    monkeypatch.setattr(engine_program, "NUMBER", 1e-9)  # as users have it
    monkeypatch.setattr(Cpu, "steps", lambda self, wiring: (compiled.append(self.name), plain(self, wiring))[1])
    program = experiment.drawn(4)
    jacobian = ct.jacobian(program.f)
    with ct.use_engine("auto"):
        one = jacobian(program.x)
        assert one.stored > 4096 and not compiled
    with ct.use_engine("cpu"):
        two = jacobian(program.x)
        assert compiled
    np.testing.assert_allclose(one.todense(), two.todense(), rtol=1e-12, atol=1e-12)


def test_the_experiment_prints_its_tables(
    experiment: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(experiment, "first", lambda make, call: call(make()) is None or 1.0)
    monkeypatch.setattr(experiment, "apart", lambda call: call())
    monkeypatch.setenv("CATAD_CACHE_DIR", "")
    monkeypatch.setattr(
        "sys.argv",
        ["drawn_matrices.py", "--programs", "2", "--first", "1", "--rounds", "0", "--json", str(tmp_path / "a.json")],
    )
    with ct.use_engine("reference"):
        experiment.main()
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["over", "tree", "fan", "all"]
    assert len(json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))["rows"]) == 2
