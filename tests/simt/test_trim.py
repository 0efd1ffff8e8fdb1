"""Paths that are boxes of threads: against enumeration, and planted boxes that are wrong."""

import operator

import numpy as np
import pytest

import catad as ct
from catad.scalar import apply, const, param
from catad.simt.affine import Form, Forms
from catad.simt.trim import box_of, ranges_of

OPS = {"lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge, "eq": operator.eq}


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("s", [-3, -1, 1, 2])
def test_a_comparison_bounds_exactly_the_threads_for_which_it_holds(op: str, s: int) -> None:
    for c in range(-9, 10):
        node = apply(op, apply("add", apply("mul", param(0), s), c), const(2))
        found = ranges_of(Forms((7,)), node, (7,))
        holds = [v for v in range(7) if OPS[op](c + s * v, 2)]
        assert found == ([(holds[0], holds[-1])] if holds else None)


def test_a_box_whose_threads_share_a_cell_or_leave_the_array_is_refused() -> None:
    assert box_of([Form(0)], [(0, 1)], (4,)) is None
    assert box_of([Form(2, ((0, 1),))], [(0, 2)], (4,)) is None
    assert box_of([Form(2, ((0, 1),))], [(0, 1)], (4,)) == [Form(2, ((0, 1),))]


def test_stores_of_a_box_are_those_of_real_threads() -> None:
    @ct.kernel
    def parts(x, y):
        t, b = ct.simt.threadIdx.x, ct.simt.blockIdx.x
        if t >= 2 and t < 5:
            y[b, 9 - 2 * (t - 1)] = x[t] * x[t]
        if t == 7:
            y[b, 0] = 3.0 * x[t]

    f, args = parts[3, 8], (np.arange(1.0, 9.0), np.arange(30.0).reshape(3, 10))
    assert np.array_equal(f(*args), ct.testing.threads(f, *args))
    value, pull = ct.vjp(f, *args)
    dx, dy = pull(np.ones_like(value))
    assert np.array_equal(dx, [0, 0, 18, 24, 30, 0, 0, 9])
    assert np.array_equal(dy[0], [0, 1, 1, 0, 1, 0, 1, 0, 1, 1])
