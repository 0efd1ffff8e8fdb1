"""Scans that look back: the same bits in every order of threads, right, and again from the beginning where joins overflow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.engine.cuda import launch, scans
from catad.engine.cuda.intrinsics import Simt
from catad.engine.cuda.scans import Again, Scans
from catad.errors import LawError
from catad.testing.emulator.words import Coroutines

from ..engine.cpu_support import assert_near, assert_same, on
from .support import anew, emulated, on_gpu
from .test_lanes import UNIT, product

__all__ = ["anew"]  # a fixture

RNG = np.random.default_rng(21)
pytestmark = pytest.mark.usefixtures("small")


@pytest.fixture
def small(anew: pytest.MonkeyPatch) -> None:
    """Short lines have many tiles, and groups of them."""
    anew.setattr(launch, "SHORT", 50)
    anew.setattr(Scans, "threads", 64)
    anew.setattr(Scans, "per", 1)


def affine(a, b):
    return a[0] * b[0], a[1] * b[0] + b[1]


ROTATIONS = ct.map(lambda x: ((np.cos(x), -np.sin(x)), (np.sin(x), np.cos(x))))
AFFINE = ct.fork(ct.map(lambda x: 2 * x - 1), ct.id) >> ct.scan(affine, (1, 0))
TURNED = ct.map(lambda x: (
    np.cos(x), -np.sin(x), 0.0, 0.0, np.sin(x), np.cos(x), 0.0, 0.0,
    0.0, 0.0, np.cos(2.0 * x), -np.sin(2.0 * x), 0.0, 0.0, np.sin(2.0 * x), np.cos(2.0 * x),
))  # fmt: skip


def product_of_4(a, b):
    """Two matrices of 4 x 4 numbers, row by row: 112 operations."""
    return (
        a[0] * b[0] + a[1] * b[4] + a[2] * b[8] + a[3] * b[12], a[0] * b[1] + a[1] * b[5] + a[2] * b[9] + a[3] * b[13],
        a[0] * b[2] + a[1] * b[6] + a[2] * b[10] + a[3] * b[14], a[0] * b[3] + a[1] * b[7] + a[2] * b[11] + a[3] * b[15],
        a[4] * b[0] + a[5] * b[4] + a[6] * b[8] + a[7] * b[12], a[4] * b[1] + a[5] * b[5] + a[6] * b[9] + a[7] * b[13],
        a[4] * b[2] + a[5] * b[6] + a[6] * b[10] + a[7] * b[14], a[4] * b[3] + a[5] * b[7] + a[6] * b[11] + a[7] * b[15],
        a[8] * b[0] + a[9] * b[4] + a[10] * b[8] + a[11] * b[12], a[8] * b[1] + a[9] * b[5] + a[10] * b[9] + a[11] * b[13],
        a[8] * b[2] + a[9] * b[6] + a[10] * b[10] + a[11] * b[14], a[8] * b[3] + a[9] * b[7] + a[10] * b[11] + a[11] * b[15],
        a[12] * b[0] + a[13] * b[4] + a[14] * b[8] + a[15] * b[12], a[12] * b[1] + a[13] * b[5] + a[14] * b[9] + a[15] * b[13],
        a[12] * b[2] + a[13] * b[6] + a[14] * b[10] + a[15] * b[14], a[12] * b[3] + a[13] * b[7] + a[14] * b[11] + a[15] * b[15],
    )  # fmt: skip


SCANS: dict[str, Any] = {
    "sums": ct.scan(ct.add, 0.0, axis=-1),
    "both ways": ct.fork(*[ct.scan(ct.add, 0.0, exclusive=e, reverse=r, axis=-1) for e in (0, 1) for r in (0, 1)]),
    "maxima": ct.scan(ct.maximum, -np.inf, axis=-1),
    "products": ct.map(lambda x: 1.0 + 0.01 * x) >> ct.scan(lambda a, b: a * b, 1.0, axis=-1),
    "affine": AFFINE,
    "recurrence": ct.fork(ct.map(lambda x: 0.25 * x), ct.id) >> ct.recurrence,
    "gradient": ct.grad(ct.map(lambda x: 1.0 + 0.01 * x) >> ct.scan(lambda a, b: a * b, 1.0) >> ct.sum()),
    "tangent": ct.tangent(ct.map(lambda x: 1.0 + 0.01 * x) >> ct.scan(lambda a, b: a * b, 1.0)),
    "segments": ct.fork(ct.map(lambda x: x > 0.9), ct.id) >> ct.segmented_scan(ct.add, 0.0),
    "matrices": ROTATIONS >> ct.scan(product, UNIT),
    "large matrices": TURNED >> ct.scan(product_of_4, tuple(map(float, np.eye(4).reshape(-1)))),
    "with maps": ct.map(np.exp) >> ct.scan(ct.add, 0.0) >> ct.fork(ct.map(lambda s: 1.0 / s), ct.id),
    "flipped and padded": ct.flip() >> ct.pad(70, 3, 0.5) >> ct.scan(ct.add, 0.0),
}  # fmt: skip


@pytest.mark.filterwarnings("error::catad.CatadNotice")
@pytest.mark.parametrize("name", SCANS)
@pytest.mark.parametrize("n", [51, 64, 65, 700, 2049, 4500])
@pytest.mark.quick(6)
def test_every_order_gives_the_same(name: str, n: int) -> None:
    f, x = SCANS[name], RNG.uniform(-1.0, 1.0, n)
    if name == "affine":
        x = RNG.integers(0, 2, n)
    given = (x, RNG.uniform(-1.0, 1.0, n)) if name == "tangent" else (x,)
    want, seen = on("reference", f, *given), None
    for seed in range(2):
        device = emulated(seed, most=3 + 9 * seed).device
        got = on_gpu(f, *given)
        (assert_same if x.dtype.kind == "i" else assert_near)(got, want, note=(name, seed))
        assert Scans in {code.printer for code in device.launched}
        if seen is not None:
            assert_same(got, seen, (name, seed))
        seen = got


def test_twenty_orders() -> None:
    x = RNG.uniform(-1.0, 1.0, 2200).astype(np.float32)
    f = ct.fork(ct.map(lambda x: 1.0 - 0.1 * x), ct.id) >> ct.scan(affine, (1.0, 0.0))
    seen = None
    for seed in range(20):
        emulated(seed, most=1 + 2 * seed)
        got = on_gpu(f, x)
        assert seen is None or all(np.array_equal(a, b) for a, b in zip(got, seen, strict=True))
        seen = got
    assert_near(seen or [], on("reference", f, x))


def test_several_lines() -> None:
    emulated(5, most=9)
    x = RNG.integers(-5, 6, (3, 900))
    for f in (ct.scan(ct.add, 0, axis=-1), ct.map(lambda x: x + 1) >> ct.scan(ct.maximum, -(10**9), axis=1, reverse=True)):
        assert_same(on_gpu(f, x), on("reference", f, x))
        assert_same(on_gpu(f, x[:, ::2]), on("reference", f, x[:, ::2]))


PRODUCT = ct.scan(lambda a, b: a * b, 1.0)


@pytest.mark.parametrize(
    "x",
    [
        np.where(np.arange(600) < 300, 0.5, 2.0),  # in tiles, totals underflow and overflow; states do not
        np.where(np.arange(600) % 200 < 100, 1e200, 1e-200),
        np.where(np.arange(600) % 2 < 1, 1e200, 1e-200),
        np.repeat([1.0, 1e-30, 1e30, 1.0], [100, 10, 20, 470]),  # totals overflow; nothing underflows, no state overflows
        np.where(np.arange(600) == 3, 0.0, 1e10),  # nothing but zeros after the first one
        np.where(np.arange(600) == 400, np.inf, 1.01),
        np.where(np.arange(600) == 400, np.nan, 1.01),
    ],
)
def test_numbers_out_of_range_are_those_of_the_cpu(x: Any) -> None:
    for f in (PRODUCT, ct.scan(ct.add, 0.0), ct.fork(ct.map(lambda x: x * 0.5), ct.id) >> ct.scan(affine, (1.0, 0.0))):
        emulated(1, most=7)
        with np.errstate(all="ignore"):
            got, want = on_gpu(f, x), on("cpu", f, x)
        assert len(got) == len(want)
        for a, b in zip(got, want, strict=True):
            assert np.array_equal(np.isfinite(a), np.isfinite(b)) and np.allclose(a, b, rtol=1e-11, atol=0.0, equal_nan=True)


def test_nothing_is_read_beyond_the_ends() -> None:
    """The first link of a recurrence is nobody's: NaN stands where it would be read."""
    room = np.full(302, np.nan)
    x = room[1:-1]
    x[...] = RNG.uniform(0.9, 1.1, 300)
    for f in (PRODUCT, ct.scan(lambda a, b: a * b, 1.0, reverse=True), ct.fork(ct.id, ct.id) >> ct.recurrence):
        for g in (f, ct.grad(f >> ct.sum())):
            emulated(2)
            assert_near(on_gpu(g, x), on("reference", g, x), eps=2048)


# -- planted bugs

X = RNG.integers(0, 2, 2400)


def wrong(seeds: int = 1) -> bool:
    """True where a result of some order is wrong, or a rule of a GPU is broken."""
    for seed in range(seeds):
        emulated(seed, most=12)
        try:
            if not all(np.array_equal(a, b) for a, b in zip(on_gpu(AFFINE, X), on("reference", AFFINE, X), strict=True)):
                return True
        except LawError:
            return True
    return False


def test_nothing_is_planted() -> None:
    assert not wrong(2)


def test_swapped_operands(anew: pytest.MonkeyPatch) -> None:
    real = Scans._join
    anew.setattr(Scans, "_join", lambda self, left, right, out: real(self, right, left, out))
    assert wrong()


@pytest.mark.parametrize("which", range(3))
def test_a_missing_barrier(anew: pytest.MonkeyPatch, which: int) -> None:
    real, met = Coroutines.barrier, list[None]()

    def barrier(self: Coroutines) -> None:
        met.append(None)
        if (len(met) - 1) % 3 != which:
            real(self)

    anew.setattr(Coroutines, "barrier", barrier)
    assert wrong(8)
    assert len(met) == 3


def test_a_flag_that_is_ignored(anew: pytest.MonkeyPatch) -> None:
    anew.setattr(Scans, "_wait", lambda self, word: None)
    assert wrong(3)


def test_a_flag_that_is_not_set(anew: pytest.MonkeyPatch) -> None:
    anew.setattr(Coroutines, "store_word", lambda self, pointer, value: None)
    emulated(0, most=12)
    with pytest.raises(LawError, match="hangs"):
        on_gpu(AFFINE, X)


def test_a_wrong_window(anew: pytest.MonkeyPatch) -> None:
    real = Scans._from_lane
    anew.setattr(
        Scans, "_from_lane", lambda self, lane, source, goal: real(self, self.w.set(f"or i64 {lane}, 1"), source, goal)
    )
    assert wrong()


def test_a_wrong_boundary_of_groups(anew: pytest.MonkeyPatch) -> None:
    anew.setattr(scans, "GROUP", 16)
    assert wrong()


def test_a_lost_prefix_of_groups(anew: pytest.MonkeyPatch) -> None:
    real = Scans._lead
    anew.setattr(Scans, "_lead", lambda self, u, tile, place, group, at: real(self, u, tile, place, "0", at))
    assert wrong()


def test_a_missing_predicate(anew: pytest.MonkeyPatch) -> None:
    real = Scans._scan_block
    anew.setattr(Scans, "_scan_block", lambda self, some: real(self, some.replace(some, "false")))
    assert wrong()


def test_lines_that_are_not_gone_through_again(anew: pytest.MonkeyPatch) -> None:
    anew.setattr(Again, "_asked", lambda self, u: "false")
    emulated(1, most=7)
    x = np.where(np.arange(600) % 200 < 100, 1e200, 1e-200)
    with np.errstate(all="ignore"):
        assert not np.allclose(on_gpu(PRODUCT, x)[0], on("cpu", PRODUCT, x)[0], equal_nan=True)


def test_tickets_out_of_order_hang_with_few_blocks_in_flight(anew: pytest.MonkeyPatch) -> None:
    """Without tickets, blocks that wait keep those from running that they wait for."""
    real = Simt.atomic

    def own(self: Coroutines, what: str, pointer: str, kind: str, value: str) -> str:
        if pointer != "%ticket":
            return real(self, what, pointer, kind, value)
        w = self.w
        before = real(self, what, pointer, kind, value)
        return w.set(f"sub i64 {38 - 1}, {before}") if before else before

    anew.setattr(Coroutines, "atomic", own)
    emulated(0, most=3)
    with pytest.raises(LawError, match="hangs"):
        on_gpu(AFFINE, X)
