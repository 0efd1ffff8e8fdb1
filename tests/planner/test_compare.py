"""All ways of making a map beside each other, and cost functions that cannot be used."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.linear.matrix.patterns import pattern_of
from catad.planner.reports import colours


def layer(m: int, n: int) -> ct.D:
    weights = np.random.default_rng(m + n).standard_normal((m, n))
    return ct.fork(ct.const(weights), ct.id) >> ct.einsum("ij,j->i")


CHAIN = layer(30, 20) >> ct.tanh >> layer(2, 30) >> ct.tanh >> layer(25, 2)
STEP = ct.stencil(lambda a, b, c: b + 0.1 * (a - 2.0 * b + c) * b, (-1, 0, 1))


def test_ways_cost_what_their_plans_cost() -> None:
    plan = ct.plan(CHAIN, ct.f64[20], cost="operations")
    found = plan.compare()
    assert list(found) == ["planned", "forward", "reverse", "basis", "bracketing", "elimination"]
    for mode in ("forward", "reverse", "elimination"):
        other = ct.plan(CHAIN, ct.f64[20], cost="operations", mode=mode).cost
        assert (found[mode].operations, found[mode].bytes) == (other.operations, other.bytes)
    assert found["planned"].operations == min(row.operations for row in found.values())
    pushed, pulled = plan.by_columns_and_rows()
    assert found["basis"].operations == min(pushed, pulled) and found["basis"].colours == 20
    x = np.ones(20)
    assert found["planned"].stored == ct.jacobian(CHAIN, mode=plan)(x).structure.stored
    with ct.count() as used:
        ct.jacobian(CHAIN, mode=plan)(x) @ x
    with ct.count() as made:
        ct.jacobian(CHAIN, mode=plan)(x)
    assert used.operations - made.operations == found["planned"].use
    assert "one use" in repr(found) and len(repr(found).splitlines()) == 7


def test_colours_are_told() -> None:
    plan = ct.plan(ct.iterate(STEP, 3), ct.f64[50], explicit=True, cost="operations")
    found = plan.compare()
    assert found["basis"].colours == 7 and found["basis"].stored == 350
    assert "7 vectors" in repr(found)
    text = plan.explain()
    assert "coloured pattern: 50x50, 338 entries, 86.5% zero, 7 colours\n" in text
    assert "  7 vectors instead of 50 rows pulled or 50 columns pushed\n" in text


def dots(lines: list[str], rows: int, columns: int) -> Any:
    """The dots of a picture in Braille as a matrix."""
    places = ((0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1), (3, 0), (3, 1))
    found = np.zeros((4 * len(lines), 2 * max(map(len, lines))), bool)
    for r, line in enumerate(lines):
        for c, character in enumerate(line):
            for bit, (down, across) in enumerate(places):
                found[4 * r + down, 2 * c + across] = (ord(character) - 0x2800) >> bit & 1
    return found[:rows, :columns]


@pytest.mark.parametrize("f", [ct.iterate(STEP, 2), STEP >> ct.slice(3, 20), ct.slice(5, 20) >> STEP, ct.pad(2, 6) >> STEP])
def test_the_picture_has_a_dot_for_each_entry(f: ct.D) -> None:
    """The pattern beside the entries of a Jacobian; its columns of one colour have no row in common."""
    x = 1.0 + np.random.default_rng(0).uniform(size=30)
    entries = ct.jacobian(f)(x).todense() != 0
    pattern = pattern_of(ct.linearize(f, x)[1].structure)
    assert pattern is not None
    matrix = colours.occupied(pattern)
    assert not (entries & ~matrix).any() and (entries ^ matrix).sum() <= 2  # at the rim a factor is zero
    halves = [line.replace("->", "  ").split() for line in colours.picture(pattern)]
    np.testing.assert_array_equal(dots([half[0] for half in halves], *matrix.shape), matrix)
    own = colours.colours_of(pattern)
    small = np.stack([matrix[:, own == k].sum(axis=1) for k in range(pattern.colours)], axis=1)
    assert small.max() == 1
    np.testing.assert_array_equal(dots([half[1] for half in halves], *small.shape), small)
    head = colours.lines(pattern)[0]
    assert f"{matrix.sum()} entries" in head and f"{pattern.colours} colours" in head


def test_pictures_of_large_patterns_are_reduced() -> None:
    pattern = pattern_of(ct.linearize(STEP, np.ones(1000))[1].structure)
    assert pattern is not None
    drawn = colours.picture(pattern)
    assert len(drawn) == 13 and len(drawn[0].split()[0]) == 26
    assert len(colours.lines(pattern_of(ct.linearize(STEP, np.ones(10**6))[1].structure))) == 2  # type: ignore[arg-type]


def test_a_result_larger_than_dense_is_told() -> None:
    sums = ct.compose(*[ct.fork(ct.sin, ct.cos) >> ct.mul >> ct.scan(lambda a, b: a + b, 0.0) for _ in range(3)])
    plan = ct.plan(sums, ct.f64[4], cost="operations")
    for way in (plan, plan.edited("forward")):
        larger = way.result.stored > 16
        assert ("its dense form 16" in way.explain()) == larger


def test_a_plan_of_sizes_has_no_maps_to_compare() -> None:
    with pytest.raises(ct.PlanError, match="no maps"):
        ct.plan_chain([(2, 3, 1), (3, 2, 1)]).compare()


def test_cost_functions_that_raise_or_contradict_themselves() -> None:
    sizes = [(3, 4), (5, 3), (2, 5), (6, 2)]

    def broken(first: Any, second: Any) -> float:
        raise KeyError("rate")

    with pytest.raises(ct.PlanError, match=r"(?s)cost function raised an error.*KeyError: 'rate'.*for the product"):
        ct.plan(sizes, cost=broken)
    counter = itertools.count()
    with pytest.raises(ct.PlanError, match="contradicts itself"):
        ct.plan(sizes, cost=lambda first, second: float(next(counter)))
    for value in (-1.0, float("nan"), None, "3"):
        with pytest.raises(ct.PlanError, match="no valid cost"):
            ct.plan(sizes, cost=lambda first, second, value=value: value)  # type: ignore[misc]
    assert ct.plan(sizes, cost=lambda first, second: 1.0).cost.value == 3.0


@pytest.mark.parametrize("memory", [-1, float("nan"), "many", True])
def test_limits_of_gradients_are_checked(memory: Any) -> None:
    with pytest.raises(ct.PlanError, match="limit is not valid"):
        ct.plan(ct.sin >> ct.sum(), ct.f64[5], memory=memory)


def test_a_sparse_result_without_a_pattern_is_refused() -> None:
    f = ct.sin >> ct.scan(lambda a, b: a * b, 1.0)
    with pytest.raises(ct.CatadError):
        ct.jacobian(f, result="sparse")(np.ones(100_000))
