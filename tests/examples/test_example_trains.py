"""The five matrices of the source and two more chains: counts, brackets, equal Jacobians."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from example_support import example

import catad as ct

trains = example("trains")
Sizes = Sequence[tuple[int, int]]


def bracketings(first: int, last: int) -> Iterator[Any]:
    """All binary trees over the factors first .. last, in the order of a matrix product."""
    if first == last:
        yield first
    for k in range(first, last):
        for left in bracketings(first, k):
            for right in bracketings(k + 1, last):
                yield left, right


def cost(tree: Any, sizes: Sizes) -> tuple[int, tuple[int, int]]:
    """The multiply-adds of a bracketing of dense matrices by the textbook count, and the size of the product."""
    if isinstance(tree, int):
        return 0, sizes[tree]
    (a, (m, n)), (b, (also, p)) = cost(tree[0], sizes), cost(tree[1], sizes)
    assert n == also
    return a + b + m * n * p, (m, p)


def reflected(tree: Any, n: int) -> Any:
    """The same brackets with factors numbered from the other end, as a plan numbers them."""
    return n - 1 - tree if isinstance(tree, int) else (reflected(tree[1], n), reflected(tree[0], n))


COUNTS = {
    "few results": {"all forward": 420_000, "all reverse": 24_360, "mixed": 41_000},
    "narrow in the middle": {"all forward": 128_400, "all reverse": 97_000, "mixed": 13_600},
    "few arguments": {"all forward": 24_360, "all reverse": 420_000, "mixed": 26_500},
}
WINNERS = {"few results": "all reverse", "narrow in the middle": "mixed", "few arguments": "all forward"}


@pytest.mark.parametrize("name", COUNTS)
def test_counts_and_jacobians(name: str) -> None:
    maps = trains.matrices(trains.CHAINS[name])
    expected = functools.reduce(np.matmul, [J.slots[0] for J in maps])
    for how, run in trains.trains(maps).items():
        jacobian, count = trains.counted(run)
        assert count == COUNTS[name][how]
        np.testing.assert_allclose(jacobian.todense(), expected, rtol=1e-12, atol=1e-12)
    least, *others = sorted(COUNTS[name], key=COUNTS[name].__getitem__)
    assert least == WINNERS[name] and COUNTS[name][least] < COUNTS[name][others[0]]


@pytest.mark.parametrize(("name", "count"), [("few results", 14), ("narrow in the middle", 5), ("few arguments", 14)])
def test_the_plan_is_the_best_of_all_bracketings(name: str, count: int) -> None:
    sizes = trains.CHAINS[name]
    n = len(sizes)
    by_hand = {reflected(tree, n): cost(tree, sizes)[0] for tree in bracketings(0, n - 1)}
    assert len(by_hand) == count
    plan = ct.plan(sizes[::-1])
    assert {tree: found.operations for tree, found in plan.alternatives()} == by_hand
    assert plan.exact and plan.cost.operations == min(by_hand.values()) == COUNTS[name][WINNERS[name]]
    assert [tree for tree, operations in by_hand.items() if operations == plan.cost.operations] == [plan.bracketing]


def test_the_sources_chain_and_its_trains() -> None:
    sizes = trains.CHAINS["few results"]
    assert sizes == [(2, 10), (10, 3), (3, 50), (50, 80), (80, 100)]
    f, g, h, j, k = (np.random.default_rng(1).normal(size=size) for size in sizes)
    start = ct.id
    forward = ct.compForward(f)(ct.compForward(g)(ct.compForward(h)(ct.compForward(j)(start))))(k)
    reverse = ct.compReverse(g)(ct.compReverse(h)(ct.compReverse(j)(ct.compReverse(k)(start))))(f)
    mixed = ct.compForward(f)(ct.compForward(g)(start))(ct.compReverse(j)(ct.compReverse(k)(start))(h))
    for J in (forward, reverse, mixed):
        assert J.shape == (2, 100) and J.kind == "dense"
        np.testing.assert_allclose(J.todense(), f @ g @ h @ j @ k, rtol=1e-12, atol=1e-11)


def test_a_train_of_scales_is_the_scalar_chain_rule() -> None:
    """The source: passing `id` to a train of matrices is what passing 1.0 to the composed scalar maps is."""
    train = ct.compForward(ct.scale(2.0))(ct.compReverse(ct.scale(3.0))(ct.id))
    assert train(ct.scale(5.0))(1.0) == 30.0
    assert (ct.scale(2.0) @ ct.scale(3.0) @ ct.scale(5.0))(1.0) == 30.0


def test_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    trains.main(rounds=1)
    out = capsys.readouterr().out
    counts = [int(found.replace(",", "")) for found in re.findall(r"([\d,]+) multiply-adds", out)]
    assert counts == [count for chain in COUNTS.values() for count in chain.values()]
    assert len(re.findall(r"\d+\.\d\d ms", out)) == 9
    assert "best of the 14 bracketings takes 24,360" in out
