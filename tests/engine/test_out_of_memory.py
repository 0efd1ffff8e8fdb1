"""Arrays that do not fit into memory: a named error, and nothing is held afterwards."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.values import buffers
from catad.vector.loops.revolve import BoundedLoop, BoundedPullback
from catad.vector.loops.snapshots import loops_of

STEP = ct.map(lambda x: np.sin(x) * 1.1)


@pytest.mark.parametrize("engine", ["reference", "cpu"])
@pytest.mark.parametrize("size", [100, 100_000])
def test_slots_that_do_not_fit(engine: str, size: int) -> None:
    x = np.ones(size)
    f = ct.iterate(STEP, 10**13)
    with ct.use_engine(engine):
        for run in (lambda: ct.vjp(f, x), lambda: ct.linearize(f, x), lambda: ct.grad(f >> ct.sum())(x)):
            with pytest.raises(ct.OutOfMemoryError) as found:
                run()
            assert isinstance(found.value, MemoryError)
            assert "`memory=`" in found.value.message and "`ct.checkpoint`" in found.value.message
        few = ct.iterate(STEP, 1000, memory=4) >> ct.sum()  # what the message says
        assert np.all(np.isfinite(ct.grad(few)(x[:100])))


@pytest.mark.parametrize("engine", ["reference", "cpu"])
def test_nothing_is_held(engine: str) -> None:
    """Neither the arguments nor memory that was to be used again."""
    f = ct.iterate(STEP, 3) >> ct.iterate(STEP, 10**13)

    def fails() -> Any:
        x = np.ones(40_000)
        with ct.use_engine(engine), pytest.raises(ct.OutOfMemoryError):
            ct.vjp(f, x)
        return weakref.ref(x)

    fails()
    gc.collect()
    used = buffers._used
    argument = fails()
    gc.collect()
    assert argument() is None and buffers._used == used


def test_idle_memory_is_given_back_before_that(monkeypatch: pytest.MonkeyPatch) -> None:
    made, empty = [0], np.empty
    np.asarray(buffers.empty((1 << 20,), np.dtype(np.float64)))  # lies idle now
    assert buffers._waiting

    def scarce(*args: Any, **kwargs: Any) -> Any:
        made[0] += 1
        if buffers._waiting:
            raise MemoryError("none left")
        return empty(*args, **kwargs)

    monkeypatch.setattr(np, "empty", scarce)
    x = buffers.empty((1 << 22,), np.dtype(np.float64))
    assert x.shape == (1 << 22,) and made[0] == 2


def test_more_states_than_fit() -> None:
    """A loop in bounded memory whose bound is too large: the same error, before a step is taken, and nothing held."""
    x = np.ones(1000)
    ((sweep, _),), space = loops_of(ct.iterate(STEP, 10**13), ct.f64[1000]), ct.Product((ct.f64[1000],))
    pulled = BoundedPullback(BoundedLoop(sweep, space, 10**12, (True,)))
    with ct.use_engine("cpu"):
        for _ in range(2):
            with pytest.raises(ct.OutOfMemoryError) as found:
                pulled(x, x)
            assert "`memory=`" in found.value.message
            gc.collect()
        used = buffers._used
        with pytest.raises(ct.OutOfMemoryError):
            pulled(x, x)
        gc.collect()
        assert buffers._used == used
