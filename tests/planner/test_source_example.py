"""The chain of five matrices of the source, one where a mixed train wins, and one where forward mode does."""

from __future__ import annotations

import math

import numpy as np
import pytest

import catad as ct
from catad.planner import plan

from .chains import bracketings

SIZES = [(80, 100), (50, 80), (3, 50), (10, 3), (2, 10)]  # the first applied first: F G H J K is 2x10 ... 80x100
MIXED = [(40, 50), (2, 40), (40, 2), (50, 40)]
FORWARD = [(40, 1), (30, 40), (50, 30)]


def matrices(sizes: list[tuple[int, int]]) -> list[ct.LinearMap]:
    rng = np.random.default_rng(0)
    return [ct.linear.dense(rng.integers(-3, 4, size).astype(float)) for size in sizes]


def by_formula(bracketing: object, sizes: list[tuple[int, int]]) -> tuple[int, int, int]:
    """Multiply-adds, rows and columns."""
    if isinstance(bracketing, int):
        return 0, *sizes[bracketing]
    first, m, n = by_formula(bracketing[0], sizes)  # type: ignore[index]
    second, rows, inner = by_formula(bracketing[1], sizes)  # type: ignore[index]
    assert inner == m
    return first + second + rows * inner * n, rows, n


@pytest.mark.parametrize(("mode", "count"), [("forward", 420_000), ("reverse", 24_360), ("auto", 24_360)])
def test_the_counts_of_the_source(mode: str, count: int) -> None:
    maps = matrices(SIZES)
    planned = plan(maps, mode=mode)
    assert planned.cost.operations == count
    product = planned.multiply(maps)
    assert product.todense().shape == (2, 100)
    expected = maps[4].todense() @ maps[3].todense() @ maps[2].todense() @ maps[1].todense() @ maps[0].todense()
    np.testing.assert_array_equal(product.todense(), expected)


def test_the_mixed_train_of_the_source() -> None:
    """(fwd f . fwd g . id) (rev j . rev k . id) h."""
    f, g, h, j, k = reversed(matrices(SIZES))
    back = ct.compReverse(j)(ct.compReverse(k)(ct.id))
    mixed = ct.compForward(f)(ct.compForward(g)(ct.id))(back(h))
    planned = plan([k, j, h, g, f], mode=[[[0, [1, 2]], 3], 4])
    assert planned.cost.operations == by_formula([[[0, [1, 2]], 3], 4], SIZES)[0] == 41_000
    np.testing.assert_array_equal(planned.multiply([k, j, h, g, f]).todense(), mixed.todense())


@pytest.mark.parametrize("sizes", [SIZES, MIXED, FORWARD])
def test_the_planner_finds_the_cheapest_of_all_bracketings(sizes: list[tuple[int, int]]) -> None:
    every = list(bracketings(0, len(sizes) - 1))
    n = len(sizes) - 1
    assert len(every) == math.comb(2 * n, n) // (n + 1)
    counts = [by_formula(b, sizes)[0] for b in every]
    planned = plan(sizes)
    assert planned.cost.operations == min(counts) and planned.exact
    assert sorted(counts) == [cost.operations for _, cost in planned.alternatives()]
    for bracketing, count in zip(every, counts, strict=True):
        assert plan(sizes, mode=bracketing).cost.operations == count


def test_fourteen_bracketings_and_reverse_is_cheapest() -> None:
    found = plan(SIZES).alternatives()
    assert len(found) == 14
    assert found[0][0] == plan(SIZES, mode="reverse").bracketing == (0, (1, (2, (3, 4))))
    assert found[1][1].operations > found[0][1].operations


def test_a_mixed_train_wins_strictly() -> None:
    planned = plan(MIXED)
    assert planned.bracketing == ((0, 1), (2, 3))
    assert planned.cost.operations == 13_000
    assert min(plan(MIXED, mode=mode).cost.operations for mode in ("forward", "reverse")) > 13_000


def test_forward_wins_strictly() -> None:
    planned = plan(FORWARD)
    assert planned.bracketing == plan(FORWARD, mode="forward").bracketing
    assert planned.cost.operations < plan(FORWARD, mode="reverse").cost.operations


def test_bytes_and_peak() -> None:
    sizes = [(3, 4), (2, 3), (5, 2)]
    planned = plan(sizes, mode="forward")
    given = 8 * (12 + 6 + 10)
    assert planned.cost.bytes == 8 * ((12 + 6 + 8) + (8 + 10 + 20))
    assert planned.cost.peak == given + 8 * (8 + 20)


def test_reports() -> None:
    planned = plan(SIZES)
    assert planned.explain().splitlines()[0] == (
        "R^100 -> R^2, 5 factors: 24,360 operations (reverse 24,360, forward 420,000), optimal"
    )
    lines = planned.table().splitlines()
    assert [line.split()[0] for line in lines[1:4]] == ["planned", "forward", "reverse"]
    assert lines[2].split()[1] == "420,000"
    assert len(lines) == 4 + 4 and lines[4].startswith("step 0: 3 with 4: dense >> dense = dense 2x3, 60 operations")
    assert "split after 3: at best 41,000 operations, rejected" in planned.why(3)
    assert "split after 0: at best 24,360 operations, chosen" in planned.why(3)
    picture = planned.draw()
    assert picture.startswith("<svg xmlns=") and picture.endswith("</svg>") and picture.count("<rect") == 9
    assert "16,000 operations" in picture
