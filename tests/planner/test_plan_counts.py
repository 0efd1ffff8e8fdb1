"""Operations carried out are those predicted: every pair of families, random bracketings, whole programs."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.linear.families import table
from catad.linear.families.clear import ClearAt, Cleared, Run
from catad.linear.families.gather import rows_of
from catad.linear.families.matrix_free import Batched
from catad.linear.families.patterned import Bands, patterned
from catad.planner import plan
from catad.vector.loops.either import Choose

from ..linear.cases import block_cases, square_cases
from .chains import bracketings, dense_product, random_blocks, random_chain, with_bases

N = 5
FIRST, SECOND = square_cases(N), square_cases(N, seed=1)
BLOCKS = block_cases(4)
THREE = patterned(Bands(1, 1), ct.f64[3, N])
BANDS = ct.LinearMap(ct.f64[N, 1], ct.f64[N, 1], THREE, (np.arange(3.0 * N).reshape(3, N),))
MORE = {
    "loop": ct.linearize(ct.iterate(ct.square, 3), np.arange(1.0, N + 1))[1],
    "batched": ct.LinearMap(
        ct.f64[N], ct.f64[N], Batched(ct.linearize(ct.sin, np.ones(()))[1].structure, (True,), N), [np.arange(1.0, N + 1)]
    ),
    "network": ct.linearize(ct.fork(ct.sin, ct.flip() >> ct.cos) >> ct.mul, np.arange(N) / 4)[1],
    "reshape": ct.linearize(ct.reshape((N, 1)), np.arange(N) / 4)[1],
    "clear": ct.linearize(Cleared((Run(N, 1, 2, 2),)), np.arange(N) / 4)[1],
    "clear at": ct.LinearMap(
        ct.f64[N], ct.f64[N], ClearAt(rows_of((N,), (2,)), np.dtype(np.int64), np.dtype(np.float64)), [np.array([3, 1])]
    ),
    "fourier": ct.linearize(ct.fft.dct(), np.arange(N) / 4)[1],
    "inverse": ct.linear.inverse(ct.linear.cumulative_sum(ct.f64[N])),
    "inverse dense": ct.linear.inverse(ct.linear.dense(np.ones((N, N)) + np.diag(np.arange(2.0, N + 2)))),
    "either": ct.linearize(Choose(ct.sin, ct.square, ct.f64[N]), (True, np.arange(N) / 4))[1],
}
PAIRS = [
    *[(f, g, FIRST[f][0], SECOND[g][0]) for f, g in itertools.product(FIRST, SECOND)],
    *[
        (f, g, BLOCKS[f][0], BLOCKS[g][0])
        for f, g in itertools.product(BLOCKS, BLOCKS)
        if BLOCKS[f][0].cod == BLOCKS[g][0].dom
    ],
    *[(f, g, L, M) for f, (L, _) in FIRST.items() for g, M in MORE.items() if L.cod == M.dom],
    *[(f, g, L, M) for f, L in MORE.items() for g, (M, _) in SECOND.items() if L.cod == M.dom],
    ("bands", "bands", BANDS, BANDS.T),
    ("dense", "bands", ct.linear.dense(np.arange(2.0 * N).reshape(N, 1, 2)), BANDS),
    ("bands", "dense", BANDS, ct.linear.dense(np.arange(2.0 * N).reshape(2, N, 1), ct.f64[N, 1])),
]


def matrix(linear: ct.LinearMap) -> Any:
    return np.asarray(linear.todense()).reshape(linear.shape)


@pytest.mark.parametrize("explicit", [False, True])
@pytest.mark.parametrize("first", dict.fromkeys(f for f, _, _, _ in PAIRS))
def test_every_pair_takes_what_was_predicted(first: str, explicit: bool) -> None:
    for f, second, L, M in PAIRS:
        if f != first:
            continue
        planned = plan([L, M], explicit=explicit)
        with ct.count() as c:
            product = planned.multiply([L, M])
        assert c.operations == planned.cost.operations, second
        np.testing.assert_allclose(matrix(product), matrix(M) @ matrix(L), rtol=1e-12, atol=1e-12, err_msg=second)


def test_the_pairs_are_of_all_families() -> None:
    met = {type(L.structure) for _, _, L, _ in PAIRS} | {type(p) for _, _, L, M in PAIRS for p in plan([L, M]).factors}
    assert met >= set(table.FAMILIES)


@pytest.mark.quick(10)
@pytest.mark.parametrize("seed", range(30))
def test_random_bracketings_take_what_was_predicted(seed: int) -> None:
    maps = random_chain(seed, 4) if seed % 2 else random_blocks(seed, 3)
    expected = dense_product(maps)
    for bracketing in bracketings(0, len(maps) - 1):
        for tree in with_bases(bracketing, maps)[:20]:
            planned = plan(maps, mode=tree)
            with ct.count() as c:
                found = planned.multiply(maps)
            assert c.operations == planned.cost.operations
            np.testing.assert_array_equal(matrix(found), expected)


def test_a_jacobian_takes_what_it_needs_of_linearising_and_the_plan() -> None:
    """One program: linearising without what only the value needs, here nothing, and the products."""
    rng = np.random.default_rng(0)
    f = ct.fork(ct.const(rng.standard_normal((4, 6))), ct.id) >> ct.einsum("ij,j->i") >> ct.tanh
    x = rng.standard_normal(6)
    f_value = 4  # the slots need tanh(y), but in another form
    with ct.count() as linearised:
        _, linear = ct.linearize(f, x)
    planned = plan(f, x)
    with ct.count() as multiplied:
        planned.multiply(linear)
    assert multiplied.operations == planned.cost.operations
    with ct.count() as c:
        ct.jacobian(f)(x)
    assert linearised.operations - f_value <= c.operations - planned.cost.operations <= linearised.operations
    assert planned.cost.operations == 4 * 6 and c.programs == 1


def test_counts_within_counts_and_loops() -> None:
    f = ct.iterate(ct.fork(ct.const(np.ones((3, 3))), ct.id) >> ct.einsum("ij,j->i"), 5)
    with ct.count() as outer:
        with ct.count() as inner:
            f(np.ones(3))
        assert inner.operations == 5 * 9 and inner.programs == 1  # the body is part of the loop
        ct.square(np.ones(4))
    assert outer.operations == 5 * 9 + 4 and outer.programs == 2
    ct.square(np.ones(4))
    assert outer.operations == 5 * 9 + 4
    assert repr(outer) == "<count: 49 operations in 2 programs>"


class Number:
    """A number that notes how often such numbers are multiplied."""

    times = 0

    def __init__(self, value: float) -> None:
        self.value = value

    def __mul__(self, other: Number) -> Number:
        Number.times += 1
        return Number(self.value * other.value)

    def __add__(self, other: Number) -> Number:
        return Number(self.value + other.value)


@pytest.mark.numpy_only
@pytest.mark.parametrize("mode", ["auto", "forward", "reverse", [[0, 1], [2, [3, 4]]]])
def test_multiplications_one_by_one(mode: Any) -> None:
    """Of dense maps the prediction is the number of multiplications of numbers that happen."""
    rng = np.random.default_rng(0)
    maps = [ct.linear.dense(rng.standard_normal(size)) for size in [(4, 3), (2, 4), (3, 2), (4, 3), (3, 4)]]
    planned = plan(maps, mode=mode)
    slots = [np.frompyfunc(Number, 1, 1)(slot) for linear in maps for slot in linear.slots]
    with ct.use_engine("reference"):
        Number.times = 0
        (made,) = ct.engine.program.Program(planned.strategy.execution.wiring)(np, slots)
    assert Number.times == planned.cost.operations > 0
    found = np.vectorize(lambda number: number.value)(made)
    np.testing.assert_allclose(found, planned.multiply(maps).slots[0], rtol=1e-12)
