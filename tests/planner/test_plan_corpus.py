"""No plan takes more operations than it did at commit e314d89, by the search of then: the numbers are its own."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.planner.plan import plan

from ..experiments import experiment

planning, small = experiment("planning"), experiment("small_matrices")
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


def kalman(n: int, m: int, form: str, predicts: bool) -> tuple[ct.D, Any]:
    """A step of a Kalman filter with m observations, one or two, by terms: each value beside those before."""
    rng = np.random.default_rng(0)
    a, h = np.eye(n) + 0.1 * rng.standard_normal((n, n)), rng.standard_normal((m, n))
    steps: list[ct.D] = []

    def step(subscripts: str, *parts: Any) -> ct.D:
        """A contraction of constants, and of values by their numbers; the number of its own value is that of the step."""
        terms = [value(part) if isinstance(part, int) else ct.const(part) for part in parts]
        return ct.fork(*terms) >> ct.einsum(subscripts) if len(terms) > 1 else terms[0]

    def value(k: int) -> ct.D:
        return ct.proj(k)

    def added(term: ct.D) -> int:
        count = 2 + len(steps)
        steps.append(ct.fork(*[ct.proj(k) for k in range(count)], term))
        return count

    x, p = 0, 1
    if predicts:
        x = added(step("ij,j->i", a, x))
        half = added(step("ij,jk->ik", a, p))
        p = added(ct.fork(step("ij,kj->ik", half, a), ct.const(0.1 * np.eye(n))) >> ct.add)
    ph = added(step("ij,kj->ik", p, h))
    s = added(ct.fork(step("ij,jk->ik", h, ph), ct.const(np.eye(m))) >> ct.add)
    if m == 1:
        inverse = added(value(s) >> ct.map(lambda s: 1.0 / s))
    else:
        turn = np.array([[0.0, 1.0], [-1.0, 0.0]])
        adjugate = added(step("ij,kj,kl->il", turn, s, turn.T))
        over = added(step("ij,ij->", s, adjugate) >> ct.map(lambda d: 2.0 / d))
        inverse = added(step("ij,->ij", adjugate, over))
    gain = added(step("ij,jk->ik", ph, inverse))
    residue = added(ct.fork(ct.const(rng.standard_normal(m)), step("ij,j->i", h, x)) >> ct.sub)
    moved = added(ct.fork(value(x), step("ij,j->i", gain, residue)) >> ct.add)
    if form == "K H P":
        hp = added(step("ij,jk->ik", h, p))
        left = added(ct.fork(value(p), step("ij,jk->ik", gain, hp)) >> ct.sub)
    elif form == "(I - K H) P":
        factor = added(ct.fork(ct.const(np.eye(n)), step("ij,jk->ik", gain, h)) >> ct.sub)
        left = added(step("ij,jk->ik", factor, p))
    else:
        left = added(ct.fork(value(p), step("ij,kj->ik", gain, ph)) >> ct.sub)
    return ct.compose(*steps) >> ct.fork(value(moved), value(left)), (rng.standard_normal(n), np.eye(n) + 0.1)


KALMAN = {  # operations then; those of one observation, and of the last form, are 0.65 of them now at most
    (4, 1, "K H P", True): (3765, 0.65),
    (4, 1, "K H P", False): (885, 0.65),
    (4, 1, "(I - K H) P", False): (893, 0.65),
    (4, 1, "K (P H)^T", False): (945, 0.65),
    (4, 2, "K H P", True): (392, 1.0),
    (4, 2, "K H P", False): (252, 1.0),
    (4, 2, "(I - K H) P", False): (284, 1.0),
    (4, 2, "K (P H)^T", False): (252, 0.65),
    (6, 2, "K H P", True): (860, 1.0),
    (6, 2, "(I - K H) P", False): (556, 1.0),
    (6, 2, "K (P H)^T", False): (484, 0.65),
}


@pytest.mark.parametrize("case", KALMAN)
def test_steps_of_a_kalman_filter(case: tuple[int, int, str, bool]) -> None:
    f, x = kalman(*case)
    then, part = KALMAN[case]
    planned = plan(f, *x, cost="operations")
    assert planned.cost.operations <= part * then
    J = ct.linearize(f, *x)[1]
    with ct.count() as spent:
        found = planned.multiply(J)
    assert spent.operations <= planned.cost.operations  # equal boxes run once
    columns = J.todense()
    np.testing.assert_allclose(found.todense(), columns, rtol=1e-9, atol=1e-9 * np.abs(columns).max())


def test_a_path_is_not_eliminated(monkeypatch: pytest.MonkeyPatch) -> None:
    """All orders of a path are bracketings, which are searched exactly."""
    monkeypatch.setattr("catad.planner.chains.cache.cheaper", None)
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
