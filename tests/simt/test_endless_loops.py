"""A loop of numbers in a kernel that has not ended after `max_steps` trips is an error, on every engine, wherever it stands."""

from __future__ import annotations

import numpy as np
import pytest

import catad as ct
from catad.errors import ArgumentError


@ct.kernel(max_steps=50)
def halved(x, y):
    i = ct.simt.grid(1)
    if i < len(x):
        p = x[i]
        while p > 1.0 or p < 0.0:
            p = p * 0.5
        y[i] = p


@ct.kernel(max_steps=50)
def in_a_range(x, y):
    i = ct.simt.grid(1)
    if i < len(x):
        p = x[i]
        for k in range(12):
            q = p + k
            while q > 1.0 or q < 0.0:
                q = q * 0.5
            p = p + q
        y[i] = p


@ct.kernel(max_steps=50)
def in_a_loop(x, y):
    i = ct.simt.grid(1)
    if i < len(x):
        p, total = x[i], 0.0
        while p > 1.0 or p < 0.0:
            q = p
            while q > 1.0 or q < 0.0:
                q = q * 0.5
            total += q
            p = p * 0.5
        y[i] = p + total


@ct.kernel(max_steps=50)
def until(x, y):
    i = ct.simt.grid(1)
    if i < len(x):
        p, k = x[i], 0
        while True:
            if 0.0 <= p <= 1.0:
                break
            p, k = p * 0.5, k + 1
        y[i] = p + k


def helped(p):
    while p > 1.0 or p < 0.0:
        p = p * 0.5
    return p


@ct.kernel(max_steps=50)
def by_a_function(x, y):
    i = ct.simt.grid(1)
    if i < len(x):
        for k in range(len(x)):
            y[i] += helped(x[k])


KERNELS = [halved, in_a_range, in_a_loop, until, by_a_function]
ENGINES = ["reference", "cpu"]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.__name__)
def test_loops_that_end_are_what_they_were(kernel, engine):
    x = np.array([0.25, 3.0, 1000.0, 1.0])
    f = kernel.forall(4)
    want = ct.testing.threads(f, x, np.zeros(4))
    with ct.use_engine(engine):
        value, pullback = ct.vjp(f, x, np.zeros(4))
        np.testing.assert_allclose(value, want, rtol=1e-14)
        back = pullback(np.ones(4))[0]
    h = 1e-6
    for k in range(4):
        moved = [ct.testing.threads(f, x + h * s * (np.arange(4) == k), np.zeros(4)).sum() for s in (1, -1)]
        if k != 3:  # there the loop begins
            np.testing.assert_allclose(back[k], (moved[0] - moved[1]) / (2 * h), rtol=1e-6)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.__name__)
def test_loops_without_end_are_errors(kernel, engine):
    x = np.array([0.25, 3.0, -1e300, 1.0])
    f = kernel.forall(4)
    with ct.use_engine(engine), pytest.raises(ArgumentError, match=r"(?s)after 50 trips.*test_endless_loops.py:\d+"):
        f(x, np.zeros(4))


def test_threads_off_the_path_make_no_trip():
    @ct.kernel(max_steps=5)
    def guarded(x, y):
        i = ct.simt.grid(1)
        p = x[i]
        if p > 0.0:
            while p > 1.0:
                p = p * 0.5
            y[i] = p

    x = np.array([-np.inf, 4.0, 0.5, -1.0])
    np.testing.assert_array_equal(guarded[1, 4](x, np.zeros(4)), [0.0, 1.0, 0.5, 0.0])


def test_as_many_trips_as_allowed_are_no_error():
    @ct.kernel(max_steps=3)
    def three(x, y):
        i = ct.simt.grid(1)
        p, k = x[i], 0
        while p > 1.0:
            p, k = p * 0.5, k + 1
        y[i] = k

    assert three[1, 1](np.array([8.0]), np.zeros(1))[0] == 3
    with pytest.raises(ArgumentError, match="after 3 trips"):
        three[1, 1](np.array([9.0]), np.zeros(1))
