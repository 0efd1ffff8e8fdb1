"""The corpus: plain NumPy programs of our own have NumPy's values, obey the laws of programs, and have right derivatives."""

from __future__ import annotations

import pytest

import catad as ct
from tests.corpus.points import PROGRAMS


@pytest.mark.quick(8)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_has_numpys_value_and_its_texts_and_traces_are_one_program(name: str) -> None:
    program = PROGRAMS[name]
    ct.testing.check_function(program.fn, *program.args, only=("value", "untouched", "text", "record", "trace", "stand-ins"))


@pytest.mark.quick(4)
@pytest.mark.parametrize("name", [name for name, program in PROGRAMS.items() if program.forms])
def test_other_forms_and_many_lanes_give_the_same(name: str) -> None:
    program = PROGRAMS[name]
    ct.testing.check_function(program.fn, *program.args, only=("point-free", "control flow", "lanes"))


@pytest.mark.quick(5)
@pytest.mark.parametrize("name", [name for name, program in PROGRAMS.items() if program.order])
def test_derivatives_are_those_of_differences_to_second_order(name: str) -> None:
    program = PROGRAMS[name]
    ct.testing.check_function(program.fn, *program.args, only=("derivatives",), order=program.order, tolerance=program.tolerance)
