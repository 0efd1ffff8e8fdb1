"""Pads that are read at sums of loop indices: split into blocks, in windows, backwards and in steps, beside NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.engine.stages import access
from catad.engine.stages.access import Access, Affine, Guard, guard, moved
from catad.engine.text.places import Places

from .cpu_support import printed_anew
from .whole_support import anew

RNG = np.random.default_rng(7)
windows = np.lib.stride_tricks.sliding_window_view


def blocks(x, widths, size):
    return np.pad(x, widths).reshape(-1, size)


PROGRAMS: dict[str, Callable[..., Any]] = {
    "a map": lambda x, w, p: np.sin(blocks(x, p, len(w)) * w),
    "backwards": lambda x, w, p: np.sin(blocks(x, p, len(w))[::-1, ::-1] * w),
    "in steps": lambda x, w, p: np.sin(blocks(x, p, len(w))[:, 1::3] * w[1::3]),
    "backwards in steps": lambda x, w, p: np.sin(blocks(x, p, len(w))[:, ::-2] * w[::-2]),
    "transposed": lambda x, w, p: np.sin(blocks(x, p, len(w)).T * w[:, None]),
    "sums of rows": lambda x, w, p: np.sum(np.sin(blocks(x, p, len(w)) * w), axis=1),
    "sums of columns": lambda x, w, p: np.sum(blocks(x, p, len(w)) * w, axis=0),
    "a sum of all": lambda x, w, p: np.sum(np.cos(blocks(x, p, len(w)) * w)),
    "a scan of rows": lambda x, w, p: np.cumsum(blocks(x, p, len(w)) * w, axis=1),
    "a scan of columns": lambda x, w, p: np.cumsum(blocks(x, p, len(w)) * w, axis=0),
    "a scan backwards": lambda x, w, p: np.maximum.accumulate((blocks(x, p, len(w)) * w)[::-1, ::-1], axis=1),
    "windows": lambda x, w, p: np.sum(np.sin(windows(np.pad(x, p), len(w)) * w), axis=1),
    "a pad of blocks": lambda x, w, p: np.cos(np.pad(blocks(x, p, len(w)) * w, ((1, 1), (2, 0)))[:, 1:] * 2.0),
    "blocks of blocks": lambda x, w, p: np.sin(np.pad(x, p).reshape(-1, 2, len(w) // 2) * w[: len(w) // 2]),
}
WIDTHS = {
    "both ends": (61, (2, 1), 16),
    "one end": (121, (0, 7), 32),
    "more than a block": (9, (20, 3), 8),
    "nothing": (0, (5, 3), 8),
}


@pytest.mark.quick(6)
@pytest.mark.parametrize("widths", WIDTHS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_derivatives(name: str, widths: str) -> None:
    n, p, size = WIDTHS[widths]
    x, w = RNG.normal(size=n), RNG.normal(size=size)
    fn = PROGRAMS[name]
    f = ct.function(lambda x, w: fn(x, w, p))
    want = fn(x, w, p)
    bar, tangents = RNG.normal(size=want.shape), (RNG.normal(size=n), RNG.normal(size=size))
    with ct.use_engine("reference"):
        (_, pullback), forward = ct.vjp(f, x, w), ct.jvp(f, (x, w), tangents)[1]
        back = pullback(bar)
    with ct.use_engine("cpu"):
        np.testing.assert_allclose(f(x, w), want, rtol=1e-13, atol=1e-13)
        np.testing.assert_allclose(ct.jvp(f, (x, w), tangents)[1], forward, rtol=1e-12, atol=1e-12)
        for got, expected in zip(ct.vjp(f, x, w)[1](bar), back, strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["a map", "sums of rows", "a scan of rows", "windows"])
def test_a_pad_is_no_pass_of_its_own(name: str) -> None:
    x, w = RNG.normal(size=6001), RNG.normal(size=16)
    f = ct.function(lambda x, w: PROGRAMS[name](x, w, (3, 12)))
    with ct.use_engine("cpu"):
        f(x, w)
        with ct.profile() as found:
            f(x, w)
    assert len(found.stages) == 1


def test_normal_forms() -> None:
    assert guard(Affine(3, ((0, -4), (1, -2))), 0, 10) == Guard(((0, 2), (1, 1)), -3, 2)
    assert guard(Affine(5), 0, 6) == Guard((), -5, 1) and guard(Affine(5), 0, 5).hi == 0
    split = [Affine(0, ((0, 4), (1, 1)))]
    assert moved(Access((), (Guard(((0, 1),), 2, 9),), 0.0), split).guards == (Guard(((0, 4), (1, 1)), 2, 9),)


@pytest.mark.parametrize("a", range(-7, 8))
@pytest.mark.parametrize("s", [-3, -2, -1, 1, 2, 3])
def test_the_normal_form_holds_where_the_interval_does(a: int, s: int) -> None:
    found = guard(Affine(a, ((0, s),)), 0, 5)
    assert [0 <= a + s * i < 5 for i in range(20)] == [found.lo <= found.terms[0][1] * i < found.hi for i in range(20)]


def planted_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Places, "_floor", lambda self, number, divisor: self.w.set(f"sdiv i64 {number}, {divisor}"))


def planted_normal_form(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(position: Affine, lo: int, hi: int) -> Guard:
        found = guard(position, lo, hi)
        return found._replace(hi=found.hi + 1) if len(found.terms) > 1 else found

    monkeypatch.setattr(access, "guard", wrong)


@pytest.mark.parametrize(("plant", "name"), [(planted_rounding, "in steps"), (planted_normal_form, "a map")])
def test_planted_bugs_are_found(plant: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    anew(monkeypatch)
    printed_anew(monkeypatch)
    plant(monkeypatch)
    x, w = RNG.normal(size=61), RNG.normal(size=16)
    around = np.concatenate([[7.0] * 3, x, [7.0] * 3])  # what a wrong guard reads
    f = ct.function(lambda around, w: PROGRAMS[name](around[3:-3], w, (2, 1)))
    with ct.use_engine("cpu"):
        assert not np.allclose(f(around, w), PROGRAMS[name](x, w, (2, 1)))
    monkeypatch.undo()
    anew(monkeypatch)
