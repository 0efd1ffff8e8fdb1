"""The differential fuzzer on programs of a fixed seed, and planted bugs that it must find."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.engine.cpu.whole.run import Whole
from catad.testing.drawn import Failure, draw_program, failures_of, run
from catad.testing.drawn.programs import ONE, TWO, Placed
from catad.testing.drawn.runs import smaller
from catad.testing.drawn.steps import Step
from tests.public import MORPHISMS, OF_EQUATIONS

COUNT = 8
EVERYWHERE = {"D", "compile", "compose", "id", "proj", "it"}
BESIDE = {"jacfwd", "jacrev", "vmap", "searchsorted"}  # tests/traced and tests/laws compare these on points of their own


@pytest.mark.quick(4)
@pytest.mark.numpy_only
@pytest.mark.parametrize("number", range(COUNT))
def test_drawn_programs_satisfy_every_check(number: int) -> None:
    found = list(failures_of(draw_program(2, number, sizes=(0, 1, 2, 7, 64))))
    assert not found, "\n\n".join(failure.report() for failure in found)


@pytest.mark.slow
@pytest.mark.numpy_only
def test_many_drawn_programs_at_all_sizes() -> None:
    tally = run(3, programs=300)
    assert not tally.failures, "\n\n".join(failure.report() for failure in tally.failures)


def test_the_whole_vocabulary_is_drawn() -> None:
    """Every public name that makes a morphism is in some program, and no step is one that never suits."""
    missing = MORPHISMS - EVERYWHERE - BESIDE - OF_EQUATIONS
    for number in range(2000):
        missing -= draw_program(1, number, sizes=(7,)).words
        if not missing:
            break
    assert not missing
    assert len(ONE) + len(TWO) > 100


def test_a_program_is_drawn_again_by_its_numbers() -> None:
    first, again = draw_program(5, 8), draw_program(5, 8)
    assert first.term == again.term
    for a, b in zip(first.point.arrays, again.point.arrays, strict=True):
        assert a.strides == b.strides
        assert np.array_equal(a, b)


# -- planted bugs: a step that is wrong in one way, behind steps that are right


def planted(step: Step, sizes: tuple[int, ...] = (7,)) -> list[Failure]:
    """How a short drawn program fails whose last step is `step`."""
    program = draw_program(4, 20, sizes, length=2)
    width = program.placed[-1].after
    wrong = replace(program, placed=(*program.placed, Placed(step, (0,), width, False, False)))
    return [smaller(failure) for failure in failures_of(wrong)]


def square(xp: Any, xs: Any) -> Any:
    return (xs[0] * xs[0],)


@pytest.mark.numpy_only
def test_a_step_that_is_right_fails_no_check() -> None:
    assert planted(Step((), ct.D(lambda x: (x * x, ct.scale(2.0 * x))), square)) == []


@pytest.mark.numpy_only
def test_a_wrong_value_is_caught() -> None:
    wrong = ct.map(lambda x: x * x + 1e-9)
    assert {failure.check for failure in planted(Step((), wrong, square))} == {"value"}


@pytest.mark.numpy_only
def test_a_wrong_derivative_is_caught_and_the_program_cut_down() -> None:
    failures = planted(Step((), ct.D(lambda x: (x * x, ct.scale(x * 2.0001))), square))
    assert "derivatives" in {failure.check for failure in failures}
    assert min(len(failure.program.placed) for failure in failures) < 3


@pytest.mark.numpy_only
def test_a_transpose_that_is_none_is_caught() -> None:
    wrong = ct.lift(
        ct.linear.matrix_free(ct.exr >> ct.scan(ct.add, 0.0), ct.exr >> ct.scan(ct.add, 0.0), ct.f64[7], ct.f64[7])
    )
    step = Step(
        (), ct.reshape(-1) >> ct.slice(0, 7) >> ct.astype(float) >> wrong, lambda xp, xs: (xp.cumsum(xs[0].ravel()[:7]),)
    )
    assert "derivatives" in {failure.check for failure in planted(step)}


@pytest.mark.numpy_only
def test_an_engine_that_rounds_wrongly_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Whole.made_of

    def wrong(self: Whole, arrays: Any) -> Any:
        out = right(self, arrays)
        for leaf in out or []:
            if leaf.dtype.kind == "f":
                leaf *= 1.0 + 1e-3
        return out

    monkeypatch.setattr(Whole, "made_of", wrong)
    assert any(any(failures_of(draw_program(4, number, sizes=(7,)))) for number in range(5))


@pytest.mark.slow
def test_the_command_line_counts_and_succeeds() -> None:
    command = [sys.executable, "-m", "catad.testing.drawn", "--programs", "2", "--seed", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 programs of seed 1, 0 failed" in done.stdout
