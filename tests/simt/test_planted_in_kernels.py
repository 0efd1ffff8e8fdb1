"""Mistakes planted in the reading of kernels, each of which must be seen by the check that is named."""

from __future__ import annotations

import math

import numpy as np
import pytest

import catad as ct
from catad import scalar
from catad.simt import atomic, grid
from catad.simt.lower import Lowering

x = np.array([1.0, 2.0, 0.0, 4.25, 0.5, 1.0])


order = np.array([3, 1, 0, 5, 4, 2])


def stores(x, p, o):
    i = grid(1)
    if i < len(x) and x[i] > 1.0:
        o[p[i]] = math.sqrt(x[i] - 1.0)


def adds(x, p, o):
    i = grid(1)
    if i < len(x) and x[i] > 1.0:
        atomic.add(o, p[i], math.sqrt(x[i] - 1.0))


def gradient(body, max_steps):
    """The gradient of a launch; kernels with other limits are other terms, so that nothing is taken from a store of programs."""
    return ct.grad(ct.kernel(max_steps=max_steps)(body)[2, 4] >> ct.sum())(x, order, np.zeros(6))[0]


@pytest.mark.parametrize("body", [stores, adds])
def test_a_select_of_a_written_value_left_out_gives_nan_to_lanes_whose_path_does_not_hold(body, monkeypatch):
    expected = [0, 0.5, 0, 0.5 / math.sqrt(3.25), 0, 0]
    np.testing.assert_allclose(gradient(body, 1001), expected)

    def bare(self, path, value, dtype):
        return scalar.cast(dtype, value)

    monkeypatch.setattr(Lowering, "written", bare)
    with np.errstate(all="ignore"):
        planted = gradient(body, 1002)
    assert np.isnan(planted).any()


def test_swapped_arguments_are_seen_by_the_threads():
    def difference(x, y, o):
        i = grid(1)
        if i < len(x):
            o[i] = x[i] - 2.0 * y[i]

    def swapped(y, x, o):
        i = grid(1)
        if i < len(x):
            o[i] = x[i] - 2.0 * y[i]

    args = x, x[::-1].copy(), np.zeros(6)
    right, wrong = ct.kernel(difference)[2, 4], ct.kernel(swapped)[2, 4]
    np.testing.assert_array_equal(right(*args), ct.testing.threads(right, *args))
    assert not np.array_equal(wrong(*args), ct.testing.threads(right, *args))
    assert right != wrong
