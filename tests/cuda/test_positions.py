"""Positions of extrema by bin on a GPU: those of the array code, of ties and NaN too, in every order of threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.engine.cuda.argextrema import Equal, First, takes_first
from catad.engine.cuda.boxes import kernels_of
from catad.errors import LawError
from catad.testing.emulator.device import EmulatedDevice
from catad.testing.emulator.words import Coroutines
from catad.vector.folds.arg_extremum import ArgExtremumByBin

from ..engine.cpu_support import assert_same, on
from .support import SEEDS, anew, emulated, on_gpu

__all__ = ["anew"]  # a fixture

RNG = np.random.default_rng(12)
NAN, INF = np.nan, np.inf
ASSOCIATIVE: dict[str, tuple[Any, float]] = {
    "maximum": (ct.maximum, -INF),
    "minimum": (ct.minimum, INF),
    "fmax": (np.fmax, -INF),
    "fmin": (np.fmin, INF),
}
CHOICES: dict[str, tuple[Any, float]] = {
    "a lambda": (lambda a, b: a if a >= b else b, -INF),
    "the other lambda": (lambda a, b: b if b < a else a, INF),
}


def first_of(name: str, index: Any, x: Any, bins: int) -> tuple[Any, Any]:
    """The extrema and their positions by loops over elements, as NumPy's words choose: the first of ties, and of NaN where
    NaN is the result."""
    found = np.full((bins, *x.shape[1:]), ASSOCIATIVE[name][1] if x.dtype.kind == "f" else 0, x.dtype)
    at = np.full((bins, *x.shape[1:]), -1)
    for k in range(bins):
        for c in np.ndindex(x.shape[1:]):
            own = [i for i in range(len(index)) if index[i] == k]
            numbers = np.array([x[(i, *c)] for i in own])
            if not own:
                continue
            nans = [i for i, v in zip(own, numbers, strict=True) if v != v]
            real = numbers[numbers == numbers]
            best = (np.max if "max" in name else np.min)(real) if real.size else NAN
            takes_nan = nans and (not real.size or not name.startswith("f"))
            at[(k, *c)] = nans[0] if takes_nan else next(i for i, v in zip(own, numbers, strict=True) if v == best)
            found[(k, *c)] = NAN if takes_nan else best
    return found, at


def compiled(seed: int, box: ArgExtremumByBin, *arrays: Any) -> Any:
    device = EmulatedDevice(seed, most=1 + seed % 5)
    made = kernels_of(device, box, tuple([ct.space_of(a) for a in arrays]))
    assert made is not None
    found = made(np, *arrays)
    assert {code.printer for code in device.launched} <= {Equal, First}
    return found


@pytest.mark.parametrize("name", ASSOCIATIVE)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32, np.uint64])
@pytest.mark.parametrize(("shape", "bins"), [((0,), 3), ((1,), 1), ((600,), 7), ((90, 3), 5), ((40, 2, 3), 2000), ((4, 0), 3)])
def test_the_first_of_ties_and_of_nan(name: str, dtype: Any, shape: tuple[int, ...], bins: int) -> None:
    index = RNG.integers(-1, bins + 1, shape[0]).astype([np.int64, np.int32][len(shape) % 2])
    x = RNG.integers(1, 5, shape).astype(dtype)
    if x.dtype.kind == "f":
        x = RNG.choice(np.array([0.0, -0.0, 1.0, INF, -INF, NAN, 1e-310]), shape).astype(dtype)
    found, want = first_of(name, index, x, bins)
    op, neutral = ASSOCIATIVE[name]
    box = ArgExtremumByBin(ct.monoid(op, neutral if x.dtype.kind == "f" else 9 if "min" in name else 0), bins)
    got = compiled(len(shape), box, index, x, found)
    assert got.dtype == np.int32 and np.array_equal(got, want)
    with ct.use_engine("reference"):
        assert np.array_equal(got, box.evaluate(np, index, x, found))


def test_choices_that_depend_on_where_nan_stands_run_by_sorting() -> None:
    for op, neutral in CHOICES.values():
        monoid = ct.monoid(op, neutral)
        assert not takes_first(monoid, np.dtype(float)) and takes_first(monoid, np.dtype(int))
    for op, neutral in ASSOCIATIVE.values():
        assert takes_first(ct.monoid(op, neutral), np.dtype(float))


def test_indices_and_values_that_lie_anyhow() -> None:
    x = RNG.integers(0, 9, (3, 5, 40)).astype(float)
    index, v = RNG.integers(0, 4, 80)[::-2], x.transpose(2, 0, 1)
    found, want = first_of("minimum", index, v, 4)
    box = ArgExtremumByBin(ct.monoid(ct.minimum, INF), 4)
    assert np.array_equal(compiled(0, box, index, v, np.asfortranarray(found)), want)


@pytest.mark.filterwarnings("error::catad.CatadNotice")
@pytest.mark.parametrize("name", ["maximum", "minimum", "a lambda", "the other lambda"])
def test_gradients(name: str) -> None:
    index, x, weights = RNG.integers(-1, 6, 400), RNG.integers(0, 30, (400, 2)).astype(float), RNG.normal(size=(5, 2))
    x[7], x[8] = NAN, INF
    op, neutral = {**ASSOCIATIVE, **CHOICES}[name]
    finite = np.nan_to_num(x) if name in CHOICES else x
    fold = ct.fork(ct.const(index), ct.id) >> ct.histogram(op, neutral, 5) >> ct.map(lambda y: y * 1.0)
    f = lambda v: ct.vjp(fold, v)[1](weights)  # noqa: E731
    gpu = emulated(3)
    got, want = on_gpu(f, finite), on("reference", f, finite)
    assert_same(got, want, name)
    assert (Equal in {code.printer for code in gpu.device.launched}) == (name in ASSOCIATIVE)


@pytest.mark.quick(20)
@pytest.mark.parametrize("bins", [6, 9000])
def test_twenty_orders(bins: int) -> None:
    index, x = RNG.integers(0, bins, 900), RNG.integers(0, 3, 900).astype(float)
    x[::50] = NAN
    found, want = first_of("maximum", index, x, bins)
    box = ArgExtremumByBin(ct.monoid(ct.maximum, -INF), bins)
    for seed in range(SEEDS):
        assert np.array_equal(compiled(seed, box, index, x, found), want), seed


# -- planted bugs

INDEX, X = RNG.integers(0, 4, 500), RNG.integers(0, 3, 500).astype(float)
FOUND, WANT = first_of("maximum", INDEX, X, 4)


def wrong(seeds: int = 3, x: Any = X, found: Any = FOUND, want: Any = WANT) -> bool:
    box = ArgExtremumByBin(ct.monoid(ct.maximum, -INF), 4)
    try:
        return not all(np.array_equal(compiled(seed, box, INDEX, x, found), want) for seed in range(seeds))
    except LawError:
        return True


def test_nothing_is_planted(anew: pytest.MonkeyPatch) -> None:
    assert not wrong()


def test_the_last_of_ties(anew: pytest.MonkeyPatch) -> None:
    anew.setattr(Equal, "_count", lambda self: "0")
    real = Coroutines.atomic
    anew.setattr(Coroutines, "atomic", lambda self, what, *rest: real(self, "umin", *rest))
    assert wrong()


def test_a_position_that_is_stored_and_not_the_least(anew: pytest.MonkeyPatch) -> None:
    def stored(self: Any, what: str, pointer: str, kind: str, value: str) -> str:
        self.w.do(f"store {kind} {value}, ptr {pointer}")
        return "0"

    anew.setattr(Coroutines, "atomic", stored)
    assert wrong(SEEDS)


def test_nan_that_equals_nothing(anew: pytest.MonkeyPatch) -> None:
    from catad.engine.cuda import argextrema

    x = np.where(X == 2.0, NAN, X)
    found, want = first_of("maximum", INDEX, x, 4)
    assert not wrong(1, x, found, want)
    anew.setattr(argextrema, "_strange", lambda w, kind, x: "false")
    anew.setattr("catad.engine.cuda.kernel._codes", {})
    assert wrong(1, x, found, want)


def test_a_missing_barrier(anew: pytest.MonkeyPatch) -> None:
    anew.setattr(Coroutines, "barrier", lambda self: None)
    assert wrong(SEEDS)
