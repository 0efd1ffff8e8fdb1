"""The corpus: plain NumPy programs of our own have NumPy's values, obey the laws of programs, and have right derivatives."""

from __future__ import annotations

import numpy as np
import pytest

import catad as ct
from tests.corpus.points import PROGRAMS


@pytest.mark.quick(8)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_has_numpys_value_and_its_texts_and_traces_are_one_program(name: str) -> None:
    program = PROGRAMS[name]
    ct.testing.check_function(program.fn, *program.args, only=("value", "untouched", "text", "record", "trace", "stand-ins"))


@pytest.mark.quick(4)
@pytest.mark.parametrize("name", [name for name, program in PROGRAMS.items() if program.smooth])
def test_derivatives_are_those_of_differences(name: str) -> None:
    program = PROGRAMS[name]
    ct.testing.check_function(program.fn, *program.args, only=("derivatives",), order=1)


def test_the_derivative_of_a_step_with_limiters_between_its_kinks() -> None:
    program = PROGRAMS["finite volume"]
    point = tuple(np.asarray(x, float) for x in program.args)
    rng = np.random.default_rng(1)
    along = tuple(rng.standard_normal(x.shape) for x in point)
    _, tangent = ct.jvp(ct.function(program.fn), point, along)
    up, down = (program.fn(*[x + h * d for x, d in zip(point, along, strict=True)]) for h in (1e-6, -1e-6))
    assert np.allclose((up - down) / 2e-6, tangent, rtol=0, atol=1e-8)
