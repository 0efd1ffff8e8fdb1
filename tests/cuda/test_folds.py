"""Folds in tiles: the same bits in every order of threads, near the reference, and equal to it where nothing rounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.engine.cuda import folds
from catad.engine.cuda.folds import FoldRows, Folds
from catad.engine.cuda.intrinsics import Simt
from catad.errors import LawError
from catad.testing.emulator.words import Coroutines

from ..engine.cpu_support import assert_near, assert_same, on
from .support import SEEDS, EmulatedGpu, anew, emulated, gpu, on_gpu

__all__ = ["anew", "gpu"]  # fixtures

RNG = np.random.default_rng(11)


def affine(a, b):
    return a[0] * b[0], a[1] * b[0] + b[1]


def last(a, b):
    """The right number, unless it is 0: an operator that does not commute, and loses no digits."""
    return b if b != 0 else a


FOLDS: dict[str, Any] = {
    "sum": ct.sum(),
    "sum of squares": ct.map(lambda x: x * x) >> ct.sum(),
    "maximum": ct.fold(ct.maximum, -np.inf),
    "affine": ct.fork(ct.map(lambda x: 2 * x - 1), ct.id) >> ct.fold(affine, (1, 0)),
    "last": ct.fold(last, 0),
    "two": ct.fork(ct.sum(), ct.fold(ct.minimum, np.inf), ct.map(lambda x: x > 0.5) >> ct.fold(lambda a, b: a or b, False)),
    "with a map": ct.fork(ct.map(lambda x: x + 1.0), ct.sum(axis=-1)),
    "padded": ct.pad(3, 5, 0.5) >> ct.sum(axis=0),
}  # fmt: skip
OF_FLOATS = ("maximum", "two", "padded")  # whose numbers integers do not hold
SHAPES = [(40,), (1024,), (1025,), (4099,), (9000,), (3, 1500), (5, 300), (2, 3, 4100)]


def integers(shape: tuple[int, ...]) -> Any:
    return RNG.integers(0, 2, shape)


CASES = [
    (name, dtype) for name in FOLDS for dtype in (np.float64, np.float32, np.int64) if dtype != np.int64 or name not in OF_FLOATS
]


@pytest.mark.parametrize(("name", "dtype"), CASES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.quick(30)
def test_every_order_gives_the_same(name: str, shape: tuple[int, ...], dtype: Any) -> None:
    f = FOLDS[name]
    x = integers(shape) if dtype == np.int64 or name in ("affine", "last") else RNG.normal(size=shape).astype(dtype)
    want = on("reference", f, x)
    seen = None
    for seed in range(3):
        emulated(seed, most=1 + 2 * seed)
        got = on_gpu(f, x)
        (assert_same if x.dtype.kind == "i" else assert_near)(got, want, note=(name, seed))
        if seen is not None:
            assert_same(got, seen, (name, seed))
        seen = got


@pytest.mark.filterwarnings("error::catad.CatadNotice")
def test_one_program_in_twenty_orders(gpu: EmulatedGpu) -> None:
    x = RNG.normal(size=9000).astype(np.float32)
    want = on_gpu(FOLDS["sum"], x)
    assert [code.printer for code in gpu.device.launched] == [Folds, FoldRows]
    for seed in range(SEEDS):
        emulated(seed, most=1 + seed % 4)
        assert_same(on_gpu(FOLDS["sum"], x), want, seed)


def test_sums_lose_few_digits(gpu: EmulatedGpu) -> None:
    x = np.full(30_000, 0.1, np.float32)
    (got,) = on_gpu(ct.sum(), x)
    assert abs(float(got) / 3000.0 - 1.0) < 1e-6 < abs(float(np.cumsum(x)[-1]) / 3000.0 - 1.0)


@pytest.mark.filterwarnings("error::catad.CatadNotice")
def test_arrays_that_lie_anyhow(gpu: EmulatedGpu) -> None:
    x = RNG.integers(-3, 4, (34, 9, 36)).astype(float)
    for a in (x, x[:, ::2], x.transpose(1, 0, 2), x[::-1, :, 1:], x.T):
        for axis in (0, 1, 2, (0, 2), (1, 2), (0, 1), None):
            f = ct.map(lambda x: x + 1.0) >> ct.sum(axis=axis)
            assert_same(on_gpu(f, a), on("reference", f, a), axis)


# -- planted bugs: each is found by the numbers, or by a rule of the emulator

X = integers((4, 3000))
MEANT = ct.fork(ct.map(lambda x: 2 * x - 1), ct.id) >> ct.fold(affine, (1, 0), axis=-1)


def wrong(x: Any = X) -> bool:
    return not all(np.array_equal(a, b) for a, b in zip(on_gpu(MEANT, x), on("reference", MEANT, x), strict=True))


def test_nothing_is_planted(anew: pytest.MonkeyPatch) -> None:
    assert not wrong()


def test_swapped_operands(anew: pytest.MonkeyPatch) -> None:
    real = folds.join
    anew.setattr(folds, "join", lambda w, body, left, right, out: real(w, body, right, left, out))
    assert wrong()


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
            found += wrong(integers((12, 3000)))
        except LawError:
            found += 1
    assert found


def test_a_wrong_window(anew: pytest.MonkeyPatch) -> None:
    real = Simt.shuffle

    def shuffle(self: Simt, value: str, kind: str, lane: str) -> str:
        return real(self, value, kind, self.w.set(f"and i64 {lane}, 15"))

    anew.setattr(Coroutines, "shuffle", shuffle)
    assert wrong()


def test_a_missing_predicate(anew: pytest.MonkeyPatch) -> None:
    real = Folds._join_warp
    anew.setattr(Folds, "_join_warp", lambda self, lanes, some: real(self, lanes, str(lanes)))
    assert wrong(integers((4, 1100)))


def test_lost_totals_of_tiles(anew: pytest.MonkeyPatch) -> None:
    real = Folds._leave
    anew.setattr(
        Folds, "_leave", lambda self, u, bases: real(self, u if self.whole else self.w.set(f"and i64 {u}, -2"), bases)
    )
    assert wrong(integers((1, 9000)))


def test_a_divergent_barrier(anew: pytest.MonkeyPatch) -> None:
    real = Folds._share

    def share(self: Folds) -> None:
        real(self)
        self.simt.barrier()

    anew.setattr(Folds, "_share", share)
    with pytest.raises(LawError, match="divergent barrier"):
        wrong()
