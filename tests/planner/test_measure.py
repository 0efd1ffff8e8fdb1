"""Estimates beside measurements: what is estimated follows from the boxes and the rates; no test asserts seconds."""

from __future__ import annotations

import numpy as np
import pytest

import catad as ct
from catad.engine.program import Program
from catad.planner.costs import calibrate
from catad.planner.costs.cost_profile import CALL, WITHIN, CostProfile, Rates
from catad.planner.costs.measure import Measured, estimate

from ..conftest import FUNCTIONS, RATES
from ..experiments import experiment

PLAIN = (("matmul", Rates(2.0, 0.0, 1.0)), ("others", Rates(5.0, 0.5, 0.0)))
WHOLE = ((CALL, Rates(7.0, 0.25, 0.0)), (WITHIN, Rates(0.0, 0.125, 3.0)))


def layer(m: int, n: int) -> ct.D:
    return ct.fork(ct.const(np.ones((m, n))), ct.id) >> ct.einsum("ij,j->i")


def test_a_function_takes_one_call_and_no_launches() -> None:
    work = [("matmul", 3, 16, 10), ("Map", 4, 8, 2)]
    both = CostProfile("example", PLAIN + WHOLE)
    assert both.seconds(work) == 3 * 2 + 10 + 4 * 5 + 8 * 0.5
    assert both.of_function(work) == 7 + 16 * 0.125 + 10 * 3 + 8 * 0.25
    assert CostProfile("example", PLAIN).of_function(work) == both.seconds(work)  # its rates are not known
    empty = Program(ct.wire(ct.id, ct.f64[3]))
    assert estimate(empty, both, False) == estimate(empty, both, True) == 7  # a call takes some time in any case


def test_a_plan_is_measured() -> None:
    f = layer(6, 4) >> ct.tanh >> layer(5, 6)
    plan = ct.plan(f, ct.f64[4])
    found = plan.measure(np.ones(4))
    assert isinstance(found, Measured) and found.seconds > 0 and found.estimate > 0
    assert found.ratio == found.estimate / found.seconds and "estimated" in repr(found) and "measured" in repr(found)
    with ct.use_engine("cpu"):
        assert plan.measure(np.ones(4)).as_one_function
    with ct.use_engine("reference"):
        assert not plan.measure(np.ones(4)).as_one_function
    nothing = ct.plan(ct.sin, ct.f64[4]).measure(np.ones(4))
    assert nothing.seconds == nothing.estimate == 0 and nothing.ratio == 1


def test_what_cannot_be_measured() -> None:
    with pytest.raises(ct.PlanError, match="not made for a morphism"):
        ct.plan([(3, 4), (2, 3)]).measure(np.ones(4))
    with pytest.raises(ct.PlanError, match="another program"):
        ct.plan(layer(6, 4), ct.f64[4]).measure(np.ones((4, 1)).reshape(4)[:4].astype(np.float32))


def test_the_experiment_prints_ratios(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_FLAGS", "")  # the experiment sets it for JAX
    module = experiment("estimates")
    monkeypatch.setattr(ct, "set_num_threads", lambda count: None)  # it would hold for the tests that follow
    monkeypatch.setattr("sys.argv", ["estimates.py", "--only", "stencil, 100", "4 rotations"])
    module.main()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3 and all("estimated" in line and "measured" in line for line in lines[:2])
    assert "of 2 estimates are within" in lines[2]


def test_plans_of_the_tests_are_made_with_their_own_rates() -> None:
    """Else each run would measure, and plan as busy as the machine is."""
    rates = dict(calibrate.stored(np).rates)
    assert rates.keys() == {*RATES, *FUNCTIONS}
    assert rates["matmul"] == RATES["matmul"]
