"""No plan takes more operations than it did at commit e314d89, by the search of then: the numbers are its own."""

from __future__ import annotations

import importlib.util
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.planner.plan import plan

FOLDER = Path(__file__).parents[2] / "examples" / "experiments"


def loaded(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


planning, small = loaded("planning"), loaded("small_matrices")
matrix, point = planning.matrix, planning.point


def chain(*sizes: int) -> tuple[ct.D, Any]:
    return ct.compose(*[matrix(m, n, k) for k, (n, m) in enumerate(pairwise(sizes))]), point(sizes[0])


def residual(blocks: int, n: int, last: int, inner: int) -> tuple[ct.D, Any]:
    made = [
        ct.fork(ct.id, matrix(inner, n, 2 * k) >> ct.tanh >> matrix(n, inner, 2 * k + 1)) >> ct.add for k in range(blocks)
    ]
    return ct.compose(*made) >> matrix(last, n, 99), point(n)


def recurrent(steps: int) -> tuple[ct.D, Any]:
    weights = np.random.default_rng(0).standard_normal((64, 64)) / 64
    step = ct.fork(ct.const(weights), ct.id) >> ct.einsum("ij,j->i") >> ct.tanh
    return ct.compose(*[step] * steps) >> matrix(3, 64, 7), point(64)


OPERATIONS = {
    "arrowhead": (0, 0),
    "wide-narrow-wide": (990, 90_900),
    "stencil": (0, 0),
    "four steps of a stencil": (0, 0),
    "scan then gather": (0, 0),
    "scatter of outer products": (0, 0),
    "histogram with few bins": (0, 0),
    "scan": (0, 0),
    "blocks, then a scan": (0, 0),
    "one to many, many to one": (450, 40_500),
    "narrow at different depths": (3260, 293_600),
    "skips around narrow middles": (2620, 173_800),
}
OTHERS: dict[str, tuple[tuple[ct.D, Any], int]] = {
    "chain of 10": (chain(40, 3, 60, 20, 5, 50, 8, 30, 4, 70, 20), 14_346),
    "four residual blocks": (residual(4, 128, 10, 128), 1_320_960),
    "eight low-rank blocks": (residual(8, 40, 5, 3), 11_320),
    "RNN of 4 steps": (recurrent(4), 49_920),
    "RNN of 8 steps": (recurrent(8), 99_840),
    "4 rotations": (small.prefixes(4), 672),
    "12 rotations": (small.prefixes(12), 11_136),
    "hand of 20 points": (small.hand(20), 323_856),
}


@pytest.mark.quick(4)
@pytest.mark.parametrize("name", OPERATIONS)
def test_families(name: str) -> None:
    make, sizes = planning.FAMILIES[name]
    for n, most in zip(sizes, OPERATIONS[name], strict=False):
        f, x = make(n)
        assert plan(f, *(x if isinstance(x, tuple) else (x,)), cost="operations").cost.operations <= most


@pytest.mark.quick(2)
@pytest.mark.parametrize("name", OTHERS)
def test_others(name: str) -> None:
    (f, x), most = OTHERS[name]
    assert plan(f, x, cost="operations").cost.operations <= most


def test_a_path_is_not_eliminated(monkeypatch: pytest.MonkeyPatch) -> None:
    """All orders of a path are bracketings, which are searched exactly."""
    monkeypatch.setattr("catad.planner.cache.cheaper", None)
    f, x = chain(4, 2, 7, 3, 9, 2)
    planned = plan(f, x, cost="operations")
    assert planned.kind == "bracketing" and planned.exact and not planned.reservations


PROVEN = ["wide-narrow-wide", "one to many, many to one", "narrow at different depths", "skips around narrow middles"]


SMALL = [*PROVEN, "four residual blocks", "RNN of 4 steps", "RNN of 8 steps", "chain of 10"]
CASES = [*[(name, "operations") for name in SMALL], *[(name, "time") for name in SMALL if name != PROVEN[3]]]


@pytest.mark.parametrize(("name", "cost"), CASES)
def test_plans_of_small_programs_are_proven(name: str, cost: Any) -> None:
    """By default, up to 15 vertices (and three branches of 21, and a recurrent network of 23).

    By time, the search for residual blocks of low rank ends with the work that a use of the Jacobian is worth.
    """
    f, x = OTHERS[name][0] if name in OTHERS else planning.FAMILIES[name][0](10)
    planned = plan(f, *(x if isinstance(x, tuple) else (x,)), cost=cost)
    assert planned.exact and "optimal" in repr(planned)
