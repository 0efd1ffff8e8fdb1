"""The previous state, and where it stands, as maps: equal to the array code bit for bit, NaN at resets included."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.category.spaces import flatten
from catad.category.wiring import wire
from catad.engine.stages import resets
from catad.linear.families.previous_state import Origin, PreviousState

from ..cuda.support import emulated

RNG = np.random.default_rng(4)
SHAPES = [((7,), 0), ((4, 5), 0), ((4, 5), 1), ((2, 300, 3), 1), ((1,), 0), ((0, 3), 0), ((3, 0), 1)]


def bits(f: Any, *x: Any) -> list[bytes]:
    return [np.asarray(leaf).tobytes() for leaf in flatten(f(*x))]


@pytest.mark.parametrize("engine", ["cpu", "emulated gpu"])
@pytest.mark.parametrize(("shape", "axis"), SHAPES)
@pytest.mark.parametrize("back", [0, 1, 2])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32])
def test_as_the_array_code(engine: str, shape: tuple[int, ...], axis: int, back: int, dtype: Any) -> None:
    emulated()
    cuts, states = RNG.random(shape) < 0.3, (RNG.normal(size=shape) * 9).astype(dtype)
    if dtype != np.int32:
        states.reshape(-1)[::3], states.reshape(-1)[1::3] = np.nan, -0.0
    after = ct.map(lambda x: x) if dtype == np.int32 else ct.map(lambda x: x + 0.0)
    for f, x in ((PreviousState(axis, back) >> after, (cuts, states)), (Origin(axis, back) >> ct.map(lambda k: k + 1), (cuts,))):
        with ct.use_engine("reference"):
            want = bits(f, *x)
        with ct.use_engine(engine):
            assert bits(f, *x) == want


def test_they_share_the_pass_of_their_readers() -> None:
    f = PreviousState(0, 1) >> ct.map(lambda x: x * 2.0)
    assert f.source("steps", ct.bool_[100_000] * ct.f64[100_000]) == "0: Map, compiled"


def test_the_wiring_stays_where_there_is_none() -> None:
    wiring = wire(ct.sin, ct.f64[3])
    assert resets.with_resets(wiring) is wiring


def test_a_shift_the_other_way_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted bug."""
    real = resets.axis
    monkeypatch.setattr(resets, "axis", lambda n_in, n_out, a, s, c, t, m: real(n_in, n_out, c, s, a, t, m))
    cuts, states = np.zeros(5, bool), np.arange(5.0)
    f = PreviousState(0, 1) >> ct.map(lambda x: x - 0.5)
    with ct.use_engine("cpu"):
        assert f(cuts, states).tolist() != (np.array([0.0, 0, 1, 2, 3]) - 0.5).tolist()
