"""Arithmetic in front of a fold by bin or a scatter: computed where the kernel reads, if nothing else needs it."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.engine.cpu.run import target

from ..engine.cpu_support import assert_near, assert_same, on
from .support import emulated, on_gpu

pytestmark = pytest.mark.skipif(not target.available(), reason="there is no LLVM here")

M = 100


@pytest.fixture(autouse=True)
def known() -> None:
    emulated()


RNG = np.random.default_rng(0)
INDEX = RNG.integers(-1, 8, M)
X, Y = RNG.uniform(0.5, 1.5, M), RNG.uniform(0.5, 1.5, M).astype(np.float32)


def by(name: str, bins: int = 7) -> ct.D:
    operators: dict[str, Any] = {
        "+": (operator.add, 0.0),
        "*": (operator.mul, 1.0),
        "max": (ct.maximum, -np.inf),
        "capped": (lambda a, b: min(a + b, 3.0), 0.0),
        "first": (lambda a, b: a if a != 0 else b, 0.0),
    }
    return ct.histogram(*operators[name], bins=bins)


def steps(f: ct.D, *x: Any) -> list[str]:
    with ct.use_engine("emulated gpu"):
        return f.source("steps", ct.space_of(x)).splitlines()


def after(value: ct.D, name: str = "+") -> ct.D:
    """(index, rest) to the histogram of values computed of the rest."""
    return ct.fork(ct.exl, ct.exr >> value) >> by(name)


@pytest.mark.parametrize("name", ["+", "*", "max", "capped", "first"])
def test_a_little_arithmetic_is_no_pass_of_its_own(name: str) -> None:
    f = after(ct.map(lambda x, y: x * y + 0.25 if x > 1.0 else 2.0 - y), name)
    x = INDEX, (X, Y)
    found = ["0: Map ScatterAdded, compiled"] if name == "+" else ["0: Map FoldByBin, compiled"]
    sorted_by_bin = ["0: Map, compiled", "1: FoldByBin, array code"]
    assert steps(f, *x) == (found if name in ("+", "max") else sorted_by_bin)
    assert_near(on_gpu(f, x), on("reference", f, x))


def test_conditions_and_rows() -> None:
    rows = RNG.uniform(0.0, 1.0, (M, 3))
    f = after(ct.map(lambda x: x > 0.5) >> ct.map(lambda c: 1.0 if c else 0.25))
    for x in (X, rows, rows[::-1], rows.T[::2].T):
        assert len(steps(f, INDEX, x)) == 1
        assert_same(on_gpu(f, (INDEX, x)), on("reference", f, (INDEX, x)))


def test_what_is_sorted_by_bin_is_a_stage_before() -> None:
    argmax = ct.histogram(lambda a, b: a if a[0] >= b[0] else b, (-np.inf, -1), bins=7)
    f = ct.fork(ct.exl, ct.exr >> ct.cross(ct.map(lambda x: -x), ct.id)) >> argmax
    x = INDEX, (X, np.arange(M))
    assert steps(f, *x) == ["0: Map, compiled", "1: FoldByBin, array code"]
    assert_same(on_gpu(f, x), on("reference", f, x))


def test_the_scatter_of_a_product_is_one_pass() -> None:
    """The pullback of a weighted gather."""
    g = ct.fork(ct.exl, ct.exr >> ct.mul) >> by("+", 300)
    assert len(steps(g, INDEX, (X, Y))) == 1
    assert_near(on_gpu(g, (INDEX, (X, Y))), on("reference", g, (INDEX, (X, Y))))
    gradient = ct.grad(ct.gather >> ct.map(lambda v: v * v * v) >> ct.sum(), argnums=0)
    at = np.linspace(0.5, 1.0, 9), np.abs(INDEX)
    assert_near(on_gpu(gradient, at), on("reference", gradient, at))


@pytest.mark.parametrize("index", [[0, 1, 2], [0, 0, 2], [2, -1, 0]])
def test_what_is_not_stored_any_more_is_made_again_where_numbers_are_not_normal(index: list[int]) -> None:
    """The products of the others at zero need the values that the histogram has taken in."""
    f = ct.neg >> ct.fork(ct.const(np.array(index)), ct.id) >> by("*", 3)
    for x in ([0.0, 2.0, 3.0], [0.0, 0.0, 0.0], [1.0, 2.0, 3.0]):
        at = np.array(x)
        for g, y in ((ct.tangent(f), (at, at + 1.0)), (ct.fork(ct.exl >> f, ct.reverse_differential(f)), (at, np.ones(3)))):
            assert_same(on_gpu(g, y), on("reference", g, y))


def test_what_stays_a_stage() -> None:
    """Vector mathematics, what others need too, results of scans, and arrays that are spread."""
    x = INDEX, (X, Y)
    for value in (
        ct.exl >> ct.map(lambda a: np.exp(a)),
        ct.exl >> ct.scan(operator.add, 0.0) >> ct.map(lambda a: 0.5 * a),
        ct.fork(ct.exl, ct.exl >> ct.sum()) >> ct.mul,
    ):
        f = after(value)
        assert len(steps(f, *x)) > 1
        assert_near(on_gpu(f, x), on("reference", f, x))
    shared = ct.exr >> ct.mul
    f = ct.fork(ct.fork(ct.exl, shared) >> by("+"), shared)
    assert len(steps(f, *x)) == 2
    assert_near(on_gpu(f, x), on("reference", f, x))


def test_the_name_of_a_pass_says_what_was_taken_in() -> None:
    assert steps(after(ct.mul, "max"), INDEX, (X, Y)) == ["0: Map FoldByBin, compiled"]
