"""Shortcuts: the formula gives what the decomposition gives, and an engine needs no code for a new one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catad as ct
from catad import scalar
from catad.category.spaces import space_of
from catad.errors import ExtensionError
from catad.scalar import Function
from catad.vector.decomposed import Decomposed, evaluated
from catad.vector.folds.arg_extremum import ArgExtremum, ArgExtremumByBin
from catad.vector.folds.leave_one_out import LeaveOneOutProduct, LeaveOneOutProductByBin
from catad.vector.folds.shortcut import CONDITIONS, Formula, Read, Shortcut, array_code

MAXIMUM = ct.monoid(ct.maximum, -np.inf)
X = np.random.default_rng(0).uniform(0.5, 1.5, (7, 3))
INDEX = np.array([2, 0, 2, 9, 1, -1, 2])
STEPS = np.broadcast_to(np.arange(7)[:, None], X.shape)
BY_BIN = ct.histogram(ct.mul, 1.0, 4)


@pytest.mark.parametrize(
    ("shortcut", "arrays"),
    [
        (LeaveOneOutProduct(0), (X, X.prod(axis=0))),
        (LeaveOneOutProduct(1), (X, X.prod(axis=1))),
        (LeaveOneOutProductByBin(4), (INDEX, X, np.asarray(BY_BIN(INDEX, X)))),
        (ArgExtremum(MAXIMUM, 0), (X, STEPS, X.max(axis=0))),
    ],
    ids=lambda one: type(one).__name__,
)
def test_the_formula_gives_what_both_ways_to_compute_the_box_give(shortcut: Any, arrays: Any) -> None:
    formula = shortcut.formula(tuple([space_of(a) for a in arrays]))
    made = array_code(formula)(np, *arrays)
    assert np.array_equal(made, shortcut.evaluate(np, *arrays))
    for term in (shortcut.decomposition, shortcut.exact):
        np.testing.assert_allclose(made, evaluated(np, term, shortcut.own(arrays)), rtol=1e-14)


def test_without_a_formula_or_where_the_condition_fails_the_box_is_computed_as_its_exact_says() -> None:
    positions = ArgExtremumByBin(ct.monoid(ct.minimum, np.inf), 4).evaluate(np, INDEX, X, np.zeros((4, 3)))
    assert np.array_equal(positions[2], np.array([0, 2, 6])[X[[0, 2, 6]].argmin(axis=0)]) and (positions[3] == -1).all()
    zero = np.array([0.0, 2.0, 3.0])
    assert np.array_equal(LeaveOneOutProduct(0).evaluate(np, zero, zero.prod()), [6.0, 0.0, 0.0])
    nan = np.array([1.0, np.nan, 2.0])
    assert ArgExtremum(MAXIMUM, 0).evaluate(np, nan, np.arange(3), np.asarray(np.nan)) == 1
    assert ArgExtremum(MAXIMUM, 0).evaluate(np, nan[:0], np.arange(0), np.asarray(-np.inf)) == -1


def test_conditions() -> None:
    tiny = np.finfo(np.float32).tiny
    for value, normal, number in ((1.0, True, True), (tiny / 2, False, True), (np.inf, False, True), (np.nan, False, False)):
        array = np.array([1.0, value], np.float32)
        assert (CONDITIONS["normal"](np, array), CONDITIONS["number"](np, array)) == (normal, number)


def test_a_box_without_a_decomposition_is_an_error_that_names_it() -> None:
    with pytest.raises(ExtensionError, match="decomposition"):
        Decomposed().evaluate(np, X)


SCALED = ct.fork(ct.id, ct.fold(ct.maximum, 0.0)) >> ct.map(lambda x, m: x / m) >> ct.fork(ct.id, ct.sum())
SCALED_SHARE = SCALED >> ct.map(lambda x, total: x / total)


@ct.primitive.box
class Share(Shortcut):
    """(positive numbers, their sum) to what part of it each is, also where the sum overflows."""

    arity = 2
    condition = "normal"

    @property
    def decomposition(self) -> ct.D:
        return SCALED_SHARE

    def typed(self, ins: Any) -> Any:
        return ins[:1]

    def formula(self, ins: Any) -> Formula:
        quotient = Function.make(2, [scalar.apply("div", scalar.param(0), scalar.param(1))])
        return Formula(quotient, (Read(0, (0,)), Read(1, ())), ins[0].shape)


@pytest.mark.parametrize("engine", ["reference", "cpu"])
@pytest.mark.parametrize("scale", [1.0, 1e308])
def test_a_new_shortcut_runs_in_a_stage_and_differentiates(engine: str, scale: float) -> None:
    share = ct.fork(ct.id, ct.sum()) >> Share()
    x = scale * np.array([0.5, 0.25, 1.0])
    with ct.use_engine(engine):
        np.testing.assert_allclose(share(x), [2 / 7, 1 / 7, 4 / 7], rtol=1e-15)
        jacobian = ct.jacobian(share)(x)
    want = (np.eye(3) - np.array([[2.0], [1.0], [4.0]]) / 7) * 4 / 7 / scale
    np.testing.assert_allclose(jacobian, want, rtol=1e-12)
    assert share.source("steps", ct.f64[100_000]).splitlines() == ["0: Contract, compiled", "1: Share, compiled"]


def test_a_new_shortcut_is_mapped_over_an_axis() -> None:
    rows = ct.map(ct.fork(ct.id, ct.sum()) >> Share())
    np.testing.assert_allclose(rows(X), X / X.sum(axis=1, keepdims=True), rtol=1e-14)
