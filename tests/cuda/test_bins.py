"""Folds by bin: by atomics the same bits in every order of threads, sums of floats rounded once, and by sorting what is left."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.engine.cuda import bins
from catad.engine.cuda.bins import Accumulate, Finish
from catad.engine.cuda.intrinsics import Simt
from catad.errors import LawError
from catad.testing.emulator.words import Coroutines

from ..engine.cpu_support import assert_near, assert_same, on
from .support import SEEDS, EmulatedGpu, anew, emulated, gpu, on_gpu

__all__ = ["anew", "gpu"]  # fixtures

RNG = np.random.default_rng(5)
INF = np.inf
ATOMIC: dict[str, Any] = {
    "+": lambda bins: ct.histogram(ct.add, 0.0, bins),
    "max": lambda bins: ct.histogram(ct.maximum, -INF, bins),
    "min": lambda bins: ct.histogram(ct.minimum, INF, bins),
}
SORTED: dict[str, Any] = {
    "*": lambda bins: ct.histogram(lambda a, b: a * b, 1.0, bins),
    "last": lambda bins: ct.histogram(lambda a, b: b if b != 0 else a, 0.0, bins),
    "greater": lambda bins: ct.histogram(lambda a, b: a if a >= b else b, -INF, bins),
    "or": lambda bins: ct.histogram(lambda a, b: a or b, False, bins),
}
SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, 3.0, 1e300, -1e300, 1e-300, INF, -INF, np.nan, 5e-324, -5e-324, 1e-310, 2.5])


def indices(count: int, places: int) -> Any:
    return RNG.integers(-1, places + 1, count)


def exact_sums(index: Any, x: Any, places: int, dtype: Any) -> Any:
    """The sums of real numbers, rounded to float64, then to the dtype."""
    return np.array([math.fsum(map(float, x[index == k])) for k in range(places)]).astype(dtype)


@pytest.mark.filterwarnings("error::catad.CatadNotice")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("count", "places"), [(0, 3), (1, 1), (700, 1), (3000, 7), (900, 2000), (2000, 4000)])
def test_sums_of_floats_are_rounded_once(gpu: EmulatedGpu, count: int, places: int, dtype: Any) -> None:
    index = indices(count, places)
    with np.errstate(over="ignore", under="ignore"):
        x = (RNG.normal(size=count) * 2.0 ** RNG.integers(-30, 30, count)).astype(dtype)
    (got,) = on_gpu(ATOMIC["+"](places), index, x)
    assert_same([got], [exact_sums(index, x, places, dtype)])
    assert [code.printer for code in gpu.device.launched] == ([Accumulate, Accumulate, Finish] if count else [Finish])


def test_a_bin_has_its_own_range_of_exponents(gpu: EmulatedGpu) -> None:
    index = np.repeat(np.arange(8), 40)
    x = RNG.normal(size=320) * np.repeat(10.0 ** np.array([300, -300, 0, 200, -200, 100, -310, 290]), 40)
    assert_same(on_gpu(ATOMIC["+"](8), index, x), [exact_sums(index, x, 8, np.float64)])
    both = np.array([1e10, 1.0, -1e10, 1e-7])
    assert_same(on_gpu(ATOMIC["+"](1), np.zeros(4, int), both), [exact_sums(np.zeros(4), both, 1, np.float64)])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", ATOMIC)
@pytest.mark.parametrize("places", [1, 40, 5000])
def test_nan_zeros_and_infinities(gpu: EmulatedGpu, name: str, dtype: Any, places: int) -> None:
    with np.errstate(all="ignore"):
        for special in (SPECIAL, SPECIAL[:3], SPECIAL[:2], SPECIAL[8:9], SPECIAL[8:11], SPECIAL[11:14]):
            x = RNG.choice(special, 120).astype(dtype)
            index = indices(120, places)
            got, want = on_gpu(ATOMIC[name](places), index, x), on("cpu", ATOMIC[name](places), index, x)
            (assert_near if name == "+" else assert_same)(got, want)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int64", "uint64"])
def test_integers_of_every_size(gpu: EmulatedGpu, dtype: str) -> None:
    about = np.iinfo(dtype)
    x = RNG.integers(about.min, about.max, 400, dtype, endpoint=True)
    x[:2] = about.min, about.max
    index = indices(400, 9)
    for f in (
        ct.histogram(ct.add, 0, 9),
        ct.histogram(ct.maximum, int(about.min), 9),
        ct.histogram(lambda a, b: a if a <= b else b, int(about.max), 9),
    ):
        assert_same(on_gpu(f, index, x), on("reference", f, index, x))
        assert gpu.device.launched.pop().printer is Finish


@pytest.mark.filterwarnings("error::catad.CatadNotice")
def test_rows_and_indices_that_lie_anyhow(gpu: EmulatedGpu) -> None:
    x = RNG.integers(-9, 9, (70, 3, 5)).astype(float)
    for index, v in ((indices(70, 6), x), (indices(140, 6)[::-2], x[::-1]), (indices(3, 6), x.transpose(1, 2, 0))):
        for name in ATOMIC:
            assert_same(on_gpu(ATOMIC[name](6), index, v), on("reference", ATOMIC[name](6), index, v), name)


@pytest.mark.parametrize("name", ATOMIC)
def test_with_the_values_computed_as_they_are_read(gpu: EmulatedGpu, name: str) -> None:
    f = ct.fork(ct.exl, ct.exr >> ct.map(lambda x: x * x - 1.0)) >> ATOMIC[name](5)
    index, x = indices(500, 5), RNG.integers(-9, 9, 500).astype(float)
    assert_same(on_gpu(f, index, x), on("reference", f, index, x))
    assert {code.printer for code in gpu.device.launched} == {Accumulate, Finish}


def test_gradients_of_gathers(gpu: EmulatedGpu) -> None:
    i, x = RNG.integers(0, 40, 900), RNG.integers(-9, 9, 40).astype(float)
    f = ct.grad(ct.fork(ct.id, ct.const(i)) >> ct.gather >> ct.map(lambda x: x * x) >> ct.sum())
    assert_same(on_gpu(f, x), on("reference", f, x))


@pytest.mark.filterwarnings("error::catad.CatadNotice")
@pytest.mark.parametrize("name", SORTED)
@pytest.mark.parametrize("count", [60, 700, 3000])
def test_other_operators_by_sorting(gpu: EmulatedGpu, name: str, count: int) -> None:
    index, x = indices(count, 7), RNG.normal(size=count)
    x = x > 1.0 if name == "or" else np.where(x > 0.0, x, 0.0) if name == "last" else x
    got, want = on_gpu(SORTED[name](7), index, x), on("reference", SORTED[name](7), index, x)
    (assert_near if name == "*" else assert_same)(got, want)


@pytest.mark.quick(30)
@pytest.mark.parametrize("name", ["+", "max", "*"])
@pytest.mark.parametrize("places", [6, 4000])
def test_twenty_orders(name: str, places: int) -> None:
    index, x = indices(1500, places), RNG.normal(size=1500) * 10.0 ** RNG.integers(-9, 9, 1500)
    x[::97] = 0.0
    x[::194] = -0.0
    f, seen = (ATOMIC | SORTED)[name](places), None
    for seed in range(SEEDS):
        emulated(seed, most=1 + seed % 4)
        got = on_gpu(f, index, x)
        seen = seen or got
        assert_same(got, seen, seed)


# -- planted bugs: each is found by the numbers, or by a rule of the emulator

INDEX = indices(1500, 5)
X = np.where(RNG.random(1500) < 0.5, 1.0, -1.0) * RNG.random(1500)
X[:5] = INF, 1.0, -INF, np.nan, 2.0
INDEX[:5] = 0, 1, 2, 3, 4


def wrong(name: str = "+", index: Any = INDEX, x: Any = X) -> bool:
    want = exact_sums(index, x, 5, float) if name == "+" else on("reference", ATOMIC[name](5), index, x)[0]
    return not np.array_equal(on_gpu(ATOMIC[name](5), index, x)[0], want, equal_nan=True)


@pytest.mark.parametrize("name", ATOMIC)
def test_nothing_is_planted(anew: pytest.MonkeyPatch, name: str) -> None:
    assert not wrong(name)


def test_a_lost_carry(anew: pytest.MonkeyPatch) -> None:
    anew.setattr(Accumulate, "_carry", lambda self, before, after: "0")
    assert wrong()


def test_a_missing_predicate(anew: pytest.MonkeyPatch) -> None:
    anew.setattr(bins, "STRANGE", 4095)  # NaN and infinities are added as numbers
    assert wrong()


def test_a_wrong_window(anew: pytest.MonkeyPatch) -> None:
    """One bin too many."""

    def inside(self: Accumulate, bin_: str) -> str:
        return self.w.set(f"icmp ule i64 {bin_}, {self.field('bins')}")

    anew.setattr(Accumulate, "_inside", inside)
    x = RNG.normal(size=(1500, 3))
    try:  # the next bin's place is another bin's word, or lies outside
        with np.errstate(all="ignore"):
            found = not np.allclose(on_gpu(ATOMIC["+"](5), INDEX, x)[0], on("reference", ATOMIC["+"](5), INDEX, x)[0])
    except LawError:
        found = True
    assert found


@pytest.mark.parametrize("which", [0, 1])
def test_a_missing_barrier(anew: pytest.MonkeyPatch, which: int) -> None:
    real, met = Coroutines.barrier, []

    def barrier(self: Simt) -> None:
        met.append(None)
        if len(met) - 1 != which:
            real(self)  # type: ignore[arg-type]

    anew.setattr(Coroutines, "barrier", barrier)
    found = 0
    for seed in range(5):
        met.clear()
        anew.setattr("catad.engine.cuda.kernel._codes", {})
        emulated(seed, most=1)
        try:
            found += wrong("max")
        except LawError:
            found += 1
    assert found


def test_what_is_read_has_names_of_its_own() -> None:
    """Two arrays are read where values are computed as they are folded."""
    f = ct.add >> ct.fork(ct.const(np.array([0, 2, 0])), ct.id) >> ct.histogram(ct.add, 0.0, bins=3)
    x = np.array([1.0, 2.0, 3.0]), np.array([0.5, 0.5, 0.5])
    emulated()
    np.testing.assert_array_equal(on_gpu(f, *x)[0], [5.0, 0.0, 2.5])
