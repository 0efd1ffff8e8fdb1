"""Boxes without code in compiled loops: their array code is called, once for each step, and what it raises is raised."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catad as ct

from .whole_support import Ran, ran

__all__ = ["ran"]

X = np.arange(4.0)


class Counting:
    """A function that catad cannot read: it scales by 0.9, and raises an error at one of its calls."""

    def __init__(self) -> None:
        self.calls, self.at = 0, -1
        self.error: BaseException = ValueError("from the step")

    def __call__(self, x: Any) -> Any:
        x = np.asarray(x)
        self.calls += 1
        if self.calls == self.at:
            raise self.error
        return x * 0.9, ct.scale(np.full(x.shape, 0.9))


@pytest.mark.numpy_only
@pytest.mark.filterwarnings("ignore::catad.CatadNotice")
def test_a_loop_calls_it_once_for_each_step(ran: Ran) -> None:
    counting = Counting()
    loop = ct.iterate(ct.D(counting) >> ct.sin, 10)
    with ct.use_engine("cpu"):
        loop(X)
        counting.calls = 0
        got = loop(X)
    assert counting.calls == 10 and ran.compiled and any(one.outsiders for one in ran.programs)
    want = X
    for _ in range(10):
        want = np.sin(want * 0.9)
    np.testing.assert_allclose(got, want, rtol=1e-15)


@pytest.mark.numpy_only
@pytest.mark.filterwarnings("ignore::catad.CatadNotice")
@pytest.mark.parametrize("error", [ValueError("from the step"), KeyboardInterrupt("now"), SystemExit(3)])
def test_what_it_raises_is_raised(error: BaseException) -> None:
    counting = Counting()
    loop = ct.iterate(ct.D(counting) >> ct.sin, 10)
    with ct.use_engine("cpu"):
        want = loop(X)
        counting.calls, counting.at, counting.error = 0, 5, error
        if isinstance(error, Exception):  # the array code of the loop goes through the steps again, and raises
            assert np.array_equal(loop(X), want) and counting.calls == 5 + 10
        else:
            with pytest.raises(type(error)):
                loop(X)
            assert counting.calls == 5
        counting.at = -1
        assert np.array_equal(loop(X), want)


@pytest.mark.numpy_only
@pytest.mark.filterwarnings("ignore::catad.CatadNotice")
def test_a_while_loop_ends_where_a_step_fails() -> None:
    counting = Counting()
    loop = ct.while_loop(ct.map(lambda x: x > 0.5) >> ct.fold(ct.logical_or, False), ct.D(counting), max_steps=100)
    with ct.use_engine("cpu"):
        loop(X)
        counting.calls, counting.at, counting.error = 0, 3, KeyboardInterrupt()
        with pytest.raises(KeyboardInterrupt):
            loop(X)
    assert counting.calls == 3
