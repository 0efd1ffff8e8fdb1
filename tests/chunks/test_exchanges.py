"""Each exchange in the smallest program that has it."""

import numpy as np
import pytest

import catad as ct
from catad.category.spaces import Product, Tensor, Unit
from catad.category.wiring import Builder
from catad.chunks.libraries import HERE
from catad.engine.program import Program
from catad.linear.families.contract import Contract
from catad.testing import in_chunks
from catad.vector.loops.sweep_map import Sweep
from catad.vector.pointwise.generate import Iota


def same(f, x, *sizes):
    """A program gives for an array in blocks what it gives for the array; returns the result in blocks."""
    f = ct.function(f)
    with ct.use_engine("reference"):
        made = f(in_chunks(x, *sizes))
        np.testing.assert_allclose(made.numpy(), f(x), rtol=1e-12)
    return made


@pytest.mark.parametrize("blocks", [15, 16, 17, 33, 256, 257])
def test_a_tree_has_all_partial_results(blocks):
    same(np.sum, np.arange(2.0 * blocks), 2)
    same(lambda x: np.max(x * 1.0), np.arange(blocks) * 1.0, 1)


@pytest.mark.parametrize("blocks", [63, 64, 65, 130])
def test_totals_before_each_block_are_joined_in_order(blocks):
    x = np.random.default_rng(0).normal(size=blocks) / 9
    affine = ct.scan(lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (1.0, 0.0))
    same(lambda x: affine((x, x + 1))[1], x, 1)
    same(np.cumsum, x, 1)


def test_positions_count_from_the_start_of_the_array():
    b, space = Builder(), Tensor((11,), np.float64)
    x = b.wire(space)
    run = Program(b.finish(Product((space,)), (x,), (x * b.add(Iota(11))[0],)))
    values = np.linspace(1, 2, 11)
    for sizes in (4, (0, 5, 6)):
        (found,) = run(HERE, [in_chunks(values, sizes)])
        np.testing.assert_array_equal(found.numpy(), values * np.arange(11))


def test_boxes_of_one_name_that_read_alike_are_of_different_programs():
    def f(x):
        return np.cos(np.roll(np.sin(np.roll(x, 1)), 1))

    same(f, np.linspace(0, 1, 12), 4)


@pytest.mark.parametrize("sizes", [(6,), (4, 2), (0, 1, 5)])
def test_numbers_on_a_diagonal_stand_among_zeros(sizes):
    b, space = Builder(), Tensor((6,), np.float64)
    x = b.wire(space)
    made = b.add(Contract(((0,),), (0, 0), (6,)), x)
    run = Program(b.finish(Product((space,)), (x,), tuple(made)))
    (found,) = run(HERE, [in_chunks(np.arange(6.0), sizes)])
    np.testing.assert_array_equal(found.numpy(), np.diag(np.arange(6.0)))


def test_what_each_step_adds_to_a_sum_counts_at_each_step():
    def step(state, given, inputs):
        state = np.tanh(state + 0.1)
        return state, np.sum(state) + 2.0, ()

    n, number = Tensor((6,), np.float64), Tensor((), np.float64)
    loop = Sweep(ct.function(step), 3, n, Unit, Unit, False, Unit, number)
    b = Builder()
    x = b.wire(n)
    run = Program(b.finish(Product((n,)), (x,), tuple(b.add(loop, x))))
    values = np.linspace(0, 1, 6)
    with ct.use_engine("reference"):
        for a, expected in zip(run(HERE, [in_chunks(values, 4)]), run(np, [values]), strict=True):
            np.testing.assert_allclose(a.numpy(), expected)
