"""Loops whose steps are pointwise on a GPU: the numbers of the CPU engine in every order, and lanes stay apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.engine.cuda.boxes import MAKERS
from catad.engine.cuda.sweeps import Sweeps
from catad.errors import LawError
from catad.testing.emulator.words import Coroutines
from catad.vector.loops.sweep_map import Sweep

from ..engine.cpu_support import assert_near, assert_same, on
from .support import SEEDS, anew, emulated, on_gpu

__all__ = ["anew"]  # a fixture

RNG = np.random.default_rng(4)
R, X = RNG.uniform(0.5, 1.5, 700), RNG.uniform(0.1, 0.9, 700)
ROWS = RNG.uniform(0.1, 0.9, (30, 700))


STEP = ct.map(lambda x, r: (r * x * (1.0 - x), r))
DRIVEN = ct.map(lambda s, u: s * 0.5 + np.sin(u))
COUNTING = ct.map(lambda x, n: (x * 1.5 if x < 4.0 else x, n + 1 if x < 4.0 else n))

SWEEPS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "two states": (ct.iterate(STEP, 40), (X, R)),
    "floats": (ct.iterate(STEP, 40), (X.astype(np.float32), R.astype(np.float32))),
    "inputs": (ct.iterate(DRIVEN, 30, inputs=True), (X, ROWS)),
    "integers": (ct.iterate(COUNTING, 9), (X, np.zeros(700, np.int32))),
    "truth values": (ct.iterate(ct.map(lambda x, p: (x * 2.0, p or x > 5.0)), 9), (X, X > 2.0)),
    "rows of lanes": (ct.iterate(STEP, 20), (X.reshape(7, 100), R.reshape(7, 100))),
    "one lane": (ct.iterate(STEP, 20), (np.float64(0.3), np.float64(1.2))),
    "not contiguous": (ct.iterate(DRIVEN, 30, inputs=True), (X[::-2], ROWS[:, ::2])),
    "no lanes": (ct.iterate(STEP, 20), (np.ones(0), np.ones(0))),
}  # fmt: skip


@pytest.mark.filterwarnings("error::catad.CatadNotice")
@pytest.mark.parametrize("name", SWEEPS)
def test_the_numbers_of_the_array_code_in_every_order(name: str) -> None:
    f, x = SWEEPS[name]
    want = on("reference", f, *x)
    seen: list[Any] | None = None
    for seed in range(SEEDS):
        device = emulated(seed, most=1 + seed % 7).device
        got = on_gpu(f, *x)
        assert all(a.dtype == b.dtype and a.shape == b.shape for a, b in zip(got, want, strict=True))
        (assert_same if name in ("integers", "truth values") else assert_near)(got, want, note=(name, seed))
        if seen is not None:
            assert_same(got, seen, (name, seed))
        seen = got
        assert name == "no lanes" or [code.printer for code in device.launched].count(Sweeps) == 1


@pytest.mark.parametrize("name", ["two states", "inputs", "rows of lanes", "not contiguous"])
def test_gradients(name: str) -> None:
    f, x = SWEEPS[name]
    g = ct.grad(f >> ct.exl >> ct.sum()) if len(f(*x)) == 2 and isinstance(f(*x), tuple) else ct.grad(f >> ct.sum())
    if name == "rows of lanes":
        g = ct.grad(f >> ct.exl >> ct.sum() >> ct.sum())
    want = on("reference", g, *x)
    for seed in range(3):
        device = emulated(seed).device
        assert_near(on_gpu(g, *x), want, note=(name, seed))
        assert Sweeps in {code.printer for code in device.launched}


def test_what_lanes_share() -> None:
    """A number that all lanes share is a state of its own, and is written once."""
    f = ct.iterate(ct.fork(ct.exl >> ct.map(lambda a: a * 0.5), ct.map(lambda a, x: a * x + 1.0)), 12)
    x = (np.float64(0.7), X)
    for seed in range(3):
        emulated(seed)
        assert_near(on_gpu(f, *x), on("reference", f, *x))


def test_nan_in_one_lane_reaches_no_other() -> None:
    f, x = ct.iterate(STEP, 10), X.copy()
    x[17] = np.nan
    emulated(1)
    got, _ = on_gpu(f, x, R)
    assert np.flatnonzero(np.isnan(got)).tolist() == [17]


def test_steps_that_are_not_pointwise_run_their_own_kernels() -> None:
    f = ct.iterate(ct.fork(ct.id, ct.flip()) >> ct.add >> ct.map(lambda x: 0.4 * x), 5)
    device = emulated(0).device
    assert_near(on_gpu(f, X), on("reference", f, X))
    assert device.launched and Sweeps not in {code.printer for code in device.launched}


def test_ptx_keeps_states_in_registers() -> None:
    text = ct.iterate(STEP, 40).source("ptx", ct.f64[700] * ct.f64[700])
    assert ".entry kernel(" in text and ".local" not in text


# -- planted bugs


def wrong(name: str) -> bool:
    f, x = SWEEPS[name]
    emulated(0)
    try:
        return not all(np.allclose(a, b) for a, b in zip(on_gpu(f, *x), on("reference", f, *x), strict=True))
    except LawError:
        return True


def test_nothing_is_planted(anew: pytest.MonkeyPatch) -> None:
    assert not wrong("inputs")


def test_swapped_operands(anew: pytest.MonkeyPatch) -> None:
    """The step and the lane, where inputs are read."""
    real = Sweeps._step
    anew.setattr(Sweeps, "_step", lambda self, u, at, found: real(self, at, u, found))
    assert wrong("inputs")


def test_the_other_direction(anew: pytest.MonkeyPatch) -> None:
    real = MAKERS[Sweep]
    anew.setitem(MAKERS, Sweep, lambda d, box, ins: real(d, _backwards(box), ins))  # type: ignore[misc]
    assert wrong("inputs")


def _backwards(box: Any) -> Any:
    return type(box)(box.body, box.n, box.state, box.input, box.output, not box.reverse, box.given, box.sums)


def test_a_state_that_is_not_carried(anew: pytest.MonkeyPatch) -> None:
    real = Sweeps._now
    anew.setattr(Sweeps, "_now", lambda self, j: "0.25" if j == 0 else real(self, j))
    assert wrong("two states")


def test_one_lane_too_many(anew: pytest.MonkeyPatch) -> None:
    """Blocks that miss the predicate on lanes go outside of arrays."""
    real = Coroutines.everywhere

    def later(self: Coroutines) -> tuple[str, str]:
        mine, together = real(self)
        return self.w.set(f"add i64 {mine}, 1"), together

    anew.setattr(Coroutines, "everywhere", later)
    assert wrong("two states")
