"""Sums added to an array at indices: rounded as the sum of real numbers is, the same bits in every order of threads."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.engine.cuda.bins import Accumulate, Onto
from catad.engine.cuda.boxes import kernels_of
from catad.engine.cuda.by_bin import at_places
from catad.engine.cuda.indexed_writes import Written
from catad.errors import LawError
from catad.linear.families.gather import Indexing, ScatterAdded, positions
from catad.testing.emulator.device import EmulatedDevice
from catad.testing.emulator.words import Coroutines
from catad.vector.indexing.overwrite import AddedAt

from ..engine.cpu_support import assert_near, assert_same, on
from ..engine.test_whole_written import drawn
from .support import SEEDS, anew, emulated, on_gpu

__all__ = ["anew"]  # a fixture

RNG = np.random.default_rng(21)


def compiled(seed: int, box: Any, *arrays: Any) -> Any:
    device = EmulatedDevice(seed, most=1 + seed % 5)
    made = kernels_of(device, box, tuple([ct.space_of(a) for a in arrays]))
    assert made is not None
    return made(np, *arrays)


def added(how: Indexing, index: Any, x: Any, values: Any) -> Any:
    """Place by place: what the values at it are together as real numbers, added to the number there and rounded."""
    out, flat = x.copy().reshape(-1), positions(np, how, index, values.shape).reshape(-1)
    wide = np.float64 if x.dtype.kind == "f" else x.dtype.type
    for at in set(flat.tolist()) - {x.size}:
        own = values.reshape(-1)[flat == at]
        with np.errstate(over="ignore"):
            total = wide(math.fsum(map(float, own))) if x.dtype.kind == "f" else np.sum(own, dtype=wide)
            out[at] = (wide(out[at]) + total).astype(x.dtype)
    return out.reshape(x.shape)


def same(got: Any, want: Any) -> bool:
    return got.shape == want.shape and got.dtype == want.dtype and got.tobytes() == want.tobytes()


@pytest.mark.parametrize("seed", range(24))
def test_as_place_by_place(seed: int) -> None:
    how, index, x, values = drawn(seed)
    if x.dtype.kind == "b":
        assert kernels_of(EmulatedDevice(), AddedAt(how), tuple(map(ct.space_of, (index, x, values)))) is None
        return
    index = RNG.integers(-2, how.bins + 2, index.shape).astype(index.dtype)
    if x.dtype.kind == "f":
        x.reshape(-1)[:2] = -0.0
    before = x.copy()
    assert same(compiled(seed, AddedAt(how), index, x, values), added(how, index, x, values))
    assert same(x, before), "the argument was changed"
    zeros = np.zeros_like(x)
    assert same(compiled(seed, ScatterAdded(how), index, values), added(how, index, zeros, values))


def test_indices_of_lanes_of_their_own() -> None:
    """A new axis of the index array is one of the result: its places are computed first."""
    how = rows = Indexing((0, 1), 0, (2,), (2, 1), (6, 3, 40))
    for _ in range(2):
        how = how.carried(True, 4)
    index, x, values = (RNG.integers(-1, 7, how.shape(how.by)), *[RNG.normal(size=how.shape(k)) for k in (how.src, how.dst)])
    assert at_places(how, tuple(map(ct.space_of, (index, values)))).bins == x.size
    assert at_places(rows, tuple(map(ct.space_of, (index[0, 0], values[0, 0])))).bins == 6
    assert same(compiled(0, AddedAt(how), index, x, values), added(how, index, x, values))


@pytest.mark.parametrize("at", [3, 0, -1, 99])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16])
def test_one_index_adds_in_place(at: int, dtype: Any) -> None:
    how = Indexing((0, 1, 2), 1, (), (2, 0), (4, 9, 3))
    x, values = (RNG.normal(size=how.shape(k)).astype(dtype) for k in (how.src, how.dst))
    device = EmulatedDevice()
    made = kernels_of(device, AddedAt(how), tuple(map(ct.space_of, (np.array(at), x, values))))
    want = x.copy()
    if 0 <= at < 9:
        want[:, at] += values.T
    assert made is not None and same(made(np, np.array(at), x, values), want)
    assert [code.printer for code in device.launched] == [Written]


def test_what_nothing_is_added_to_keeps_its_bits() -> None:
    how = Indexing((0,), 0, (1,), (1,), (6, 3))
    x = np.array([-0.0, -0.0, np.nan, np.inf, 1.0, np.nan])
    x.view(np.uint64)[5] |= 5  # what a NaN says beside
    got = compiled(0, AddedAt(how), np.array([1, 3, 3]), x, np.array([0.0, -np.inf, 1.0]))
    assert got.view(np.uint64)[[0, 2, 4, 5]].tolist() == x.view(np.uint64)[[0, 2, 4, 5]].tolist()
    assert same(got[1:2], np.zeros(1)) and np.isnan(got[3])


def sums(x: Any, k: Any, v: Any) -> Any:
    y = x * 2.0
    np.add.at(y, k, v)
    y[k[0]] += y[0]
    return y * y


ARRAYS = RNG.normal(size=(300, 2)), RNG.integers(0, 300, 700), RNG.normal(size=(700, 2))


@pytest.mark.filterwarnings("error::catad.CatadNotice")
def test_programs_and_their_gradients() -> None:
    f = ct.function(sums)
    weights = RNG.normal(size=(300, 2))
    back = lambda *x: ct.vjp(f, *x)[1](weights)  # noqa: E731
    for seed in range(3):
        device = emulated(seed).device
        for one in (f, back):
            assert_near(on_gpu(one, *ARRAYS), on("cpu", one, *ARRAYS), note=seed)
        assert {Accumulate, Onto, Written} <= {code.printer for code in device.launched}


def test_twenty_orders() -> None:
    f, seen = ct.at[ct.arg].add, None
    x, k = RNG.normal(size=50), RNG.integers(0, 50, 1500)
    v = RNG.normal(size=1500) * 10.0 ** RNG.integers(-9, 9, 1500)
    for seed in range(SEEDS):
        emulated(seed, most=1 + seed % 4)
        got = on_gpu(f, x, k, v)
        seen = seen or got
        assert_same(got, seen, seed)
    assert_same(seen or [], [added(Indexing((0,), 0, (1,), (1,), (50, 1500)), k, x, v)])


# -- planted bugs

HOW = Indexing((0,), 0, (1,), (1,), (20, 500))
GIVEN = RNG.integers(-1, 17, 500), np.where(np.arange(20) % 2, 1.0, -0.0), RNG.normal(size=500)


def wrong(seeds: int = 1) -> bool:
    try:
        return not all(same(compiled(seed, AddedAt(HOW), *GIVEN), added(HOW, *GIVEN)) for seed in range(seeds))
    except LawError:
        return True


def test_nothing_is_planted(anew: pytest.MonkeyPatch) -> None:
    assert not wrong(3)


def test_a_lost_carry(anew: pytest.MonkeyPatch) -> None:
    anew.setattr(Accumulate, "_carry", lambda self, before, after: "0")
    assert wrong()


def test_zeros_that_are_added_everywhere(anew: pytest.MonkeyPatch) -> None:
    """A missing predicate: -0.0 + 0.0 is 0.0."""

    def result(self: Onto, words: Any, place: str, dtype: Any) -> str:
        x = self.w.set(f"load double, ptr {self.w.set(f'getelementptr double, ptr %x, i64 {place}')}")
        return self.w.set(f"fadd double {x}, {self._value(words, place)}")

    anew.setattr(Onto, "_result", result)
    assert wrong()


def test_sums_that_are_stored_and_not_added(anew: pytest.MonkeyPatch) -> None:
    def stored(self: Any, what: str, pointer: str, kind: str, value: str) -> str:
        self.w.do(f"store {kind} {value}, ptr {pointer}")
        return "0"

    anew.setattr(Coroutines, "atomic", stored)
    assert wrong()
