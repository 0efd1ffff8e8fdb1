"""`explain` knows that an index has no duplicate where a store at that index has no race, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest

import catad as ct
from catad.errors import ScalarError


@ct.kernel
def stored(x, p, q, y):
    i = ct.simt.grid(1)
    if i < len(p):
        y[p[i]] = x[p[i]] * x[q[i]]


@ct.kernel
def stored_by_fewer(x, p, q, y):
    i = ct.simt.grid(1)
    if i < len(p):
        v = x[p[i]] * x[q[i]]
        if v > 0.0:
            y[p[i]] = v


@ct.kernel
def stored_by_more(x, p, q, y):
    i = ct.simt.grid(1)
    if i < len(p):
        y[p[i]] = 1.0
        if q[i] > 1:
            y[p[i]] += x[p[i]] * x[q[i]]


@ct.kernel
def added(x, p, q, y):
    i = ct.simt.grid(1)
    if i < len(p):
        ct.simt.atomic.add(y, p[i], x[p[i]] * x[q[i]])


@ct.kernel
def in_trips(x, p, q, y):
    i = ct.simt.grid(1)
    for k in range(20):
        ct.simt.syncthreads()
        if i < len(p):
            y[p[(i + k) % 4]] = x[p[(i + k) % 4]] * x[q[i]]


X, P, Q = np.arange(1.0, 7.0), np.array([3, 1, 2, 0]), np.array([1, 1, 2, 2])


def lines(kernel: ct.Kernel, name: str) -> list[str]:
    return [line for line in kernel[1, 4].explain(X, P, Q, X).splitlines() if line.startswith(name)]


@pytest.mark.parametrize("kernel", [stored, stored_by_more], ids=lambda k: k.__name__)
def test_a_store_without_a_race_says_so(kernel: ct.Kernel) -> None:
    (read,) = lines(kernel, "x[p[i]]")
    assert "no atomics (y[p[i]] is written without a race, so p[i] has no duplicate where the path holds)" in read
    assert not any("no atomics" in line for line in lines(kernel, "x[q[i]]"))


@pytest.mark.parametrize("kernel", [stored_by_fewer, added, in_trips], ids=lambda k: k.__name__)
def test_other_stores_say_nothing(kernel: ct.Kernel) -> None:
    assert not any("no atomics" in line for line in lines(kernel, "x[p["))


def test_a_duplicate_is_a_race() -> None:
    with pytest.raises(ScalarError, match="race"):
        stored[1, 4](X, np.array([3, 1, 3, 0]), Q, X)
