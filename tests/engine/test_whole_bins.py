"""Folds by bin, orders and positions in compiled loops, beside the array code, NumPy and differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.engine.cpu.whole import by_bin
from catad.engine.cpu.whole.run import Whole
from catad.engine.text import binned
from catad.errors import CannotPrint

from .cpu_support import SPECIAL
from .whole_support import Ran, anew, compare, leaves, ran

pytestmark = pytest.mark.full_code

__all__ = ["ran"]

RNG = np.random.default_rng(11)
N, M, BINS = 19, 12, 7
K = RNG.integers(0, BINS, M)
KS = RNG.integers(0, BINS, (N, M))


def random(*shape: int) -> Any:
    return 0.7 * RNG.standard_normal(shape)


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Why programs were not compiled as one function from here on, and what compiled loops call outside."""
    found, begin = list[str](), Whole.__init__

    def noting(self: Whole, wiring: Any, plain: Any) -> None:
        try:
            begin(self, wiring, plain)
        except CannotPrint as error:
            found.append(str(error))
            raise
        found.extend([f"calls {one.name}" for one in self.passes if not one.compiled])
        found.extend(["calls in a loop" for one in self.outsiders if not getattr(one, "once", True)])

    monkeypatch.setattr(Whole, "__init__", noting)
    return found


# -- NumPy's functions in loops


def at(ufunc: np.ufunc, start: float) -> Callable[..., Any]:
    def fn(x, ks):
        for i in range(len(ks)):
            y = np.full(BINS, start)
            ufunc.at(y, ks[i], x)
            x = 0.9 * x + 0.1 * np.tanh(y[ks[i]])
        return x

    return fn


def at_rows(x, ks):
    y = np.full((BINS, 3), -0.2)
    for i in range(len(ks)):
        np.maximum.at(y, ks[i], x * (i % 5) - 0.3)
        x = 0.9 * x + 0.05 * y[0]
    return x, y


def at_an_element(x, ks):
    y = np.zeros(BINS)
    for i in range(len(ks)):
        np.maximum.at(y, ks[i, 0], x[i % M])
        np.multiply.at(y, ks[i, 1], 0.5)
    return y


def at_some(x, ks):
    y = np.zeros(100)
    for i in range(len(ks)):
        np.minimum.at(y, ks[i, :3] * 14, x[:3] - 0.1 * i)
    return y


def sums_in_single(x, ks):
    y = np.full(BINS, np.float32(-0.0))
    for i in range(len(ks)):
        np.add.at(y, ks[i], x)
        x = np.float32(0.9) * x + np.float32(0.01) * y[ks[i]]
    return x, y


def any_of(x, ks):
    y = np.zeros(BINS, bool)
    for i in range(len(ks)):
        np.maximum.at(y, ks[i], x > 0.1 * i)
        x = 0.8 * x
    return y


def counted(x, ks):
    y = np.zeros(BINS, np.int64)
    for i in range(len(ks)):
        np.add.at(y, ks[i], x > 0.1 * i)
        np.maximum.at(y, ks[i], 3)
        x = 0.9 * x + 0.1
    return x * y[K]


def last_of_equal(x, ks):
    for i in range(len(ks)):
        y = np.cos(x)
        y[ks[i]] = x * (1.0 + 0.1 * i)
        x = 0.5 * y + 0.3 * x
    return x


def sorted_rows(A, ks):
    for _ in range(N):
        A = np.sort(A, axis=0) * 0.9 + 0.1 * np.tanh(A[:, ::-1] * A)
    return A


def by_order(x, ks):
    for i in range(len(ks)):
        x = x[np.argsort(ks[i], kind="stable")] * 0.9 + 0.2 * x
    return x


def medians(x, ks):
    for _ in range(N):
        x = np.where(x > np.median(x), x * 0.9, x + 0.1)
    return x


def looked_up(x, ks):
    grid = np.linspace(-1.0, 1.0, 9)
    for _ in range(N):
        x = 0.9 * x + 0.1 * np.interp(x, grid, grid**3) + 0.01 * np.searchsorted(grid, x, side="right")
    return x


def along_rows(A, ks):
    for _ in range(N):
        A = 0.9 * np.take_along_axis(A, np.argsort(A, axis=1), axis=1) + 0.05 * A
    return A


LOOPS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "maxima": (at(np.maximum, -0.3), (random(M), KS)),
    "minima": (at(np.minimum, 0.3), (random(M), KS)),
    "products": (at(np.multiply, 1.5), (random(M), KS)),
    "products with zeros": (at(np.multiply, 1.5), (np.where(np.arange(M) % 3, random(M), 0.0), KS)),
    "sums": (at(np.add, 0.5), (random(M), KS)),
    "maxima with ties": (at(np.maximum, -0.3), (np.round(random(M)), KS)),
    "maxima of rows": (at_rows, (random(M, 3), KS)),
    "one index": (at_an_element, (random(M), KS)),
    "few of many": (at_some, (random(M), KS)),
    "sums in single precision": (sums_in_single, (random(M).astype(np.float32), KS)),
    "truth values": (any_of, (random(M), KS)),
    "integers": (counted, (random(M), KS)),
    "the last of equal indices": (last_of_equal, (random(M), KS % M)),
    "sorts": (sorted_rows, (random(6, 6), KS)),
    "orders": (by_order, (random(M), KS)),
    "medians": (medians, (random(M), KS)),
    "tables": (looked_up, (random(M), KS)),
    "orders of rows": (along_rows, (random(4, 5), KS)),
}


@pytest.mark.quick(9)
@pytest.mark.parametrize("name", LOOPS)
def test_loops_are_one_function(name: str, ran: Ran, refused: list[str]) -> None:
    fn, x = LOOPS[name]
    want = leaves(fn(*[part.copy() for part in x]))
    f = ct.function(fn).at(ct.space_of(x))
    with ct.use_engine("cpu"):
        f(*x)
        got = leaves(f(*x))
    for a, b in zip(got, want, strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-6 if a.dtype == np.float32 else 1e-12, atol=1e-14)
    if any(space.is_float for space in f.spaces(ct.space_of(x)).leaves):
        compare(f, x, ran)
    assert not refused


@pytest.mark.quick(10)
@pytest.mark.parametrize("name", ["maxima", "minima", "products", "maxima of rows", "few of many", "orders", "sorts"])
def test_pullbacks_by_differences(name: str) -> None:
    fn, (x, ks) = LOOPS[name]
    f = ct.function(fn).at(ct.space_of((x, ks))) >> ct.exl if name == "maxima of rows" else ct.function(fn)
    rng, h = np.random.default_rng(3), 1e-6
    direction = rng.standard_normal(x.shape)
    ahead, back = (leaves(fn(x + s * h * direction, ks))[0] for s in (1, -1))
    w = rng.standard_normal(ahead.shape)
    with ct.use_engine("cpu"):
        pulled = ct.vjp(f, x, ks)[1](w)[0]
    np.testing.assert_allclose(np.vdot(pulled, direction), np.vdot(w, ahead - back) / (2 * h), rtol=2e-6)


# -- boxes, in steps of a loop that change nothing else

INDEX = np.array([3, 0, -1, 3, 9, 1, 3, 0])
NUMBERS = np.array([0.0, -0.0, np.nan, -0.0, 5.0, -0.0, 0.0, np.inf])
ANY = ct.monoid(lambda a, b: a + b + a * b, 0.0)
PAIR = ct.monoid(lambda a, b: (a[0] * b[0], a[0] * b[1] + a[1]), (1.0, 0.0))
LOGS = ct.monoid(ct.logaddexp, -np.inf)


def in_steps(f: ct.D, *x: Any) -> tuple[ct.D, Any]:
    """A loop of what f makes of the first arguments and of the last one, which each step turns around."""

    @ct.function
    def step(state, given, _):
        return state[::-1], f(*given, state)

    return ct.sweep(step, 18), (x[-1], x[:-1], ())


def histogram(op: Any, neutral: Any = None, bins: int = 5) -> ct.D:
    return ct.histogram(op, neutral, bins)


BOXES: dict[str, tuple[ct.D, Any]] = {
    "a maximum": in_steps(histogram(ct.maximum, -np.inf), INDEX, random(8)),
    "a maximum of signed zeros": in_steps(histogram(ct.maximum, -np.inf), INDEX, NUMBERS),
    "a minimum of special numbers": in_steps(histogram(ct.minimum, np.inf), np.arange(len(SPECIAL)) % 6 - 1, np.array(SPECIAL)),
    "a maximum of rows": in_steps(histogram(ct.maximum, -np.inf), INDEX, random(8, 2, 3)),
    "integers": in_steps(histogram(ct.maximum, -100), INDEX, np.arange(8) * 3 % 7),
    "sums of integers": in_steps(histogram(ct.add, 0), INDEX, np.arange(8, dtype=np.int32)),
    "indices in 8 bits": in_steps(histogram(ct.maximum, -np.inf), INDEX.astype(np.int8), random(8)),
    "indices without sign": in_steps(histogram(ct.maximum, -np.inf), INDEX.astype(np.uint64), random(8)),
    "a product": in_steps(histogram(ct.mul, 1.0), INDEX, random(8)),
    "a product with zeros": in_steps(histogram(ct.mul, 1.0), INDEX, np.where(np.arange(8) % 3, random(8), 0.0)),
    "a product in single precision": in_steps(histogram(ct.mul, 1.0), INDEX, random(8).astype(np.float32)),
    "any operator": in_steps(histogram(ANY), INDEX, random(8)),
    "any operator on signed zeros": in_steps(histogram(ANY), INDEX, NUMBERS),
    "any operator on rows": in_steps(histogram(ANY), INDEX, random(8, 3)),
    "an operator on pairs": in_steps(ct.fork(ct.exl, ct.fork(ct.exr, ct.exr >> ct.sin)) >> histogram(PAIR), INDEX, random(8)),
    "logarithms": in_steps(histogram(LOGS), INDEX, random(8)),
    "no elements": in_steps(histogram(ct.maximum, -np.inf), np.zeros(0, np.int64), random(0)),
    "no bins": in_steps(histogram(ct.maximum, -np.inf, 0), INDEX, random(8)),
    "rows of nothing": in_steps(histogram(ct.maximum, -np.inf), INDEX, random(8, 0)),
    "one element": in_steps(histogram(ANY), np.array([2]), random(1)),
    "onto an array": in_steps(ct.reduce_by_index(ct.maximum, -np.inf), random(5), INDEX, random(8)),
    "a scatter": in_steps(ct.scatter, random(5), INDEX, random(8)),
    "flags": in_steps(ct.segmented_scan(ANY), np.array([0, 0, 1, 0, 1, 1, 0, 0]), random(8)),
    "lengths": in_steps(ct.segmented_fold(ct.maximum, -np.inf, by="lengths"), np.array([3, 0, 4, 1]), random(8)),
    **{
        f"an order of {name}": in_steps(ct.fork(ct.argsort(), ct.sort()), value)
        for name, value in {
            "special numbers": np.array(SPECIAL),
            "special numbers, float32": np.array(SPECIAL, np.float32),
            "ties": np.arange(33) * 7 % 5,
            "integers without sign": np.array([3, 255, 0, 128, 3], np.uint8),
            "truth values": np.array([True, False, True, False]),
            "one": random(1),
            "none": random(0),
            "two": random(3, 2),
            "many": random(2, 65),
        }.items()
    },
    "an order along the first axis": in_steps(ct.fork(ct.argsort(axis=0), ct.sort(axis=0)), np.round(random(9, 3))),
    "positions": in_steps(ct.searchsorted(), np.sort(np.round(random(9), 1)), np.round(random(14), 1)),
    "positions behind": in_steps(ct.searchsorted("right"), np.array([-np.inf, 0.0, 1.0, np.inf, np.nan]), np.array(SPECIAL)),
    "positions in nothing": in_steps(ct.searchsorted(), random(0), random(3)),
    "positions of integers": in_steps(ct.searchsorted("right"), np.array([1, 1, 4, 9]), np.arange(11)),
}


@pytest.mark.quick(10)
@pytest.mark.parametrize("name", BOXES)
def test_boxes_in_steps(name: str, ran: Ran, refused: list[str]) -> None:
    f, x = BOXES[name]
    compare(f, x, ran, second=name in ("a maximum", "a product", "any operator", "logarithms"))
    assert not refused


def test_in_lanes(ran: Ran, refused: list[str]) -> None:
    f = ct.map(ct.iterate(ct.fork(ct.id, ct.sort() >> ct.map(lambda v: 0.1 * v)) >> ct.add, 20))
    compare(f, (random(3, 5),), ran)
    assert not refused


# -- bugs that the comparison must find


def operands_in_the_other_order(monkeypatch: pytest.MonkeyPatch) -> None:
    joined = binned.joined
    monkeypatch.setattr(binned, "joined", lambda w, what, a, b: joined(w, what, b, a))


def no_bin_is_ever_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = binned.chosen
    monkeypatch.setattr(binned, "chosen", lambda w, what, known, both, x: chosen(w, what, "true", both, x))


def bins_keep_what_the_step_before_left(monkeypatch: pytest.MonkeyPatch) -> None:
    begin = by_bin._Bins.begin

    def once(self: by_bin._Bins) -> None:
        clear, self.text.clear = self.text.clear, lambda *of: None  # type: ignore[method-assign]
        begin(self)
        self.text.clear = clear  # type: ignore[method-assign]

    monkeypatch.setattr(by_bin._Bins, "begin", once)


@pytest.mark.parametrize(
    ("plant", "name"),
    [
        (operands_in_the_other_order, "an operator on pairs"),
        (no_bin_is_ever_empty, "any operator on signed zeros"),
        (bins_keep_what_the_step_before_left, "any operator on signed zeros"),
    ],
)
def test_planted_bugs_are_found(plant: Any, name: str, ran: Ran, monkeypatch: pytest.MonkeyPatch) -> None:
    anew(monkeypatch)
    plant(monkeypatch)
    f, x = BOXES[name]
    with pytest.raises(AssertionError) as found:
        compare(f, x, ran, second=False, exact=True)
    assert "nothing ran compiled" not in str(found.value)
    monkeypatch.undo()
    anew(monkeypatch)
