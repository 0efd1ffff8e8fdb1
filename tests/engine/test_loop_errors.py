"""What loops cannot do is the same named error on every engine: it shows the line, what was given, and what to do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catad as ct
from catad import errors

pytestmark = pytest.mark.numpy_only
ENGINES = ("cpu", "auto", "reference")
N = 20


@ct.function
def written(x: Any, k: Any) -> Any:
    for i in range(len(k)):
        x[k[i]] += 1.0  # out of range
    return np.sum(x * x)


@ct.function
def shrinking(x: Any, k: Any) -> Any:
    while k > 0:
        x = x[:-1]
        k = k - 1
    return np.sum(x)


def endless(x: Any) -> Any:
    return ct.while_loop(lambda s: np.sum(s) > 0, lambda s: s * 1.0, max_steps=100)(x)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("gradient", [False, True])
@pytest.mark.parametrize("index", [4, -5])
def test_an_update_out_of_range(engine: str, gradient: bool, index: int) -> None:
    k, x = np.arange(N) % 4, np.ones(4)
    f = ct.grad(written) if gradient else written
    with ct.use_engine(engine):
        f(x, k)
        k[N - 1] = index
        with pytest.raises(ct.IndexRangeError) as error:
            f(x, k)
        assert np.array_equal(x, np.ones(4))
        k[N - 1] = 3
        f(x, k)  # the program is as it was
    for part in (f"index {index}", "-4 <= index < 4", "+= 1.0  # out of range"):
        assert part in str(error.value)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_state_that_changes_its_space(engine: str) -> None:
    x = np.ones(4)
    with ct.use_engine(engine):
        with pytest.raises(ct.TraceError) as error:
            shrinking(x, 3)
        shown = "x, of ct.f64[4] before a step and of ct.f64[3] after it"
        for part in (shown, "full size before the loop", "test_loop_errors.py"):
            assert part in str(error.value)
        for made in (lambda: ct.iterate(ct.fork(ct.id, ct.id), N)(x), lambda: ct.iterate(ct.sum(), N)(x)):
            with pytest.raises(ct.SpaceError) as changed:
                made()
            assert "a loop keeps the space of its state" in str(changed.value) and "ct.f64[4] becomes" in str(changed.value)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("gradient", [False, True])
def test_a_loop_that_does_not_end(engine: str, gradient: bool) -> None:
    f = ct.grad(lambda x: np.sum(endless(x))) if gradient else endless
    with ct.use_engine(engine):
        with pytest.raises(errors.EndlessLoop) as error:
            f(np.ones(4))
        f(-np.ones(4))
    for part in ("has not ended after 100 steps", "max_steps=", "look at its condition"):
        assert part in str(error.value)
