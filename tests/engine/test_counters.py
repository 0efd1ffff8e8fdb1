"""Loops over a range, whose numbers are computed from the loop's index: the same bits as read, and as the array code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.engine.cpu.whole import counters, nested
from catad.jacobians import residuals

from .cpu_support import assert_near
from .whole_support import Ran, anew, compare, leaves, ran

pytestmark = pytest.mark.full_code

__all__ = ["ran"]

N = 41
ODD = np.array([1, 2, 3, 5, 4, 7, 6, 9])


def in_place(A):
    for i in range(1, A.shape[0] - 1):
        for j in range(1, A.shape[1] - 1):
            A[i, j] = 0.25 * (A[i, j] + A[i - 1, j] + A[i, j - 1] + A[i + 1, j + 1])
    return A


def backwards(x):
    for i in range(len(x) - 2, -1, -1):
        x[i] = x[i] * 0.5 + x[i + 1]
    return x


def in_threes(x):
    for i in range(2, len(x) - 1, 3):
        x[i + 1] = x[i] * x[i - 2]
    return x


def from_the_end(x):
    for i in range(-30, -1):
        x[i] = x[i + 1] * 0.7 + x[i - 1]
    return x


def around_zero(x):
    for i in range(-20, 20):
        x[i] = x[i + 1] * 0.7 + x[i - 1]
    return x


def no_progression(x):
    for i in ODD:
        x[i] = x[i] + 0.5 * x[i - 1]
    return x


def triangular(L, b):
    x = np.zeros_like(b)
    for i in range(len(b)):
        s = b[i]
        for j in range(i):
            s = s - L[i, j] * x[j]
        x[i] = s / (1.0 + L[i, i] ** 2)
    return x


def random(*shape: int) -> Any:
    return np.random.default_rng(len(shape)).normal(size=shape)


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "in place": (in_place, (random(N, N + 2),)),
    "backwards": (backwards, (random(N),)),
    "in threes": (in_threes, (random(120),)),
    "from the end": (from_the_end, (random(N),)),
    "around zero": (around_zero, (random(N),)),
    "no progression": (no_progression, (random(10),)),
    "triangular": (triangular, (random(N, N), random(N))),
}


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers are computed in short loops, too."""
    anew(monkeypatch)
    monkeypatch.setattr(counters, "LONG", 0)


def check(name: str, ran: Ran) -> None:
    fn, x = PROGRAMS[name]
    want = leaves(fn(*[part.copy() for part in x]))
    f = ct.function(fn).at(ct.space_of(x[0] if len(x) == 1 else x))
    with ct.use_engine("cpu"):
        got = leaves(f(*x))
    for a, b in zip(got, want, strict=True):
        np.testing.assert_array_equal(a, b)
    compare(f, x, ran)


@pytest.mark.quick(10)
@pytest.mark.parametrize("name", PROGRAMS)
def test_as_the_loop_of_numpy(name: str, ran: Ran, always: None) -> None:
    check(name, ran)
    assert any("llvm.assume" in one.printed for one in ran.programs) == (name != "no progression")


@pytest.mark.quick(10)
@pytest.mark.parametrize("reverse", [False, True])
def test_more_steps_than_a_piece(reverse: bool, ran: Ran, always: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nested, "PIECE", 16)
    monkeypatch.setattr(nested, "LONG", 0)
    check("backwards" if reverse else "in threes", ran)
    check("in place", ran)


@pytest.mark.quick(10)
def test_the_pullback_by_differences(ran: Ran, always: None) -> None:
    A, w = np.random.default_rng(5).normal(size=(2, 12, 12))
    h = 1e-6
    want = np.vdot(w, in_place(A + h * w) - in_place(A - h * w)) / (2 * h)
    f = ct.function(in_place).at(ct.space_of(A))
    with ct.use_engine("cpu"):
        pulled = ct.vjp(f, A)[1](w)
    np.testing.assert_allclose(np.vdot(pulled, w), want, rtol=1e-7)


@pytest.mark.parametrize("far", [range(40), range(-45, 0), range(39, -42, -1)])
def test_an_index_out_of_range_is_an_error(far: range, ran: Ran, always: None) -> None:
    def f(x):
        for i in far:
            x[i] = x[i] + x[i + 1]
        return x

    for engine in ("reference", "cpu"):
        with ct.use_engine(engine), pytest.raises((IndexError, ct.CatadError)):
            ct.function(f)(random(40))


@pytest.mark.parametrize(
    "row",
    [[3, 3, 3], [0, 1, 3], [0, 2, 3], [2**62, 2**62 + 1, 2**62 + 2], [-(2**63), 0, 2**63 - 1], [5, 4, 2]],
)
def test_other_rows_are_read(row: list[int]) -> None:
    found = counters._progression(np.array(row, np.int64), 3)
    assert found == ((3, 0) if row == [3, 3, 3] else None)


def test_rows_of_other_types_and_lengths_are_read() -> None:
    for dtype in ("int32", "float64", "uint64"):
        assert counters._progression(np.arange(5, dtype=dtype), 5) is None
    assert counters._progression(np.arange(5), 4) is None and counters._progression(None, 4) is None
    assert counters._progression(np.arange(5, 0, -2), 3) == (5, -2)


WRONG: dict[str, Callable[[int, int, int], tuple[int, int]]] = {
    "the other way": lambda start, step, n: (start + step * (n - 1), -step),
    "one number": lambda start, step, n: (start, 0),
}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("name", ["in place", "backwards", "triangular"])
def test_planted_wrong_numbers_are_found(
    wrong: str, name: str, ran: Ran, always: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = counters._progression

    def planted(row: Any, n: int) -> tuple[int, int] | None:
        found = right(row, n)
        return found and WRONG[wrong](*found, n)

    monkeypatch.setattr(counters, "_progression", planted)
    with pytest.raises(AssertionError):
        check(name, ran)


@pytest.mark.numpy_only
def test_a_pullback_knows_the_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are no array that is kept between the value and the pullback, so that its loops compute them."""
    found, least = list[set[int] | None](), residuals.least_kept

    def noted(*x: Any) -> set[int] | None:
        found.append(least(*x))
        return found[-1]

    monkeypatch.setattr(residuals, "least_kept", noted)
    A, w = np.random.default_rng(6).normal(size=(2, 90, 90))
    f = ct.function(in_place).at(ct.space_of(A))
    value, pullback = ct.vjp(f, A)
    np.testing.assert_array_equal(value, in_place(A.copy()))
    pulled = pullback(w)
    assert found == [set()]
    with ct.use_engine("reference"):
        assert_near(leaves(pulled), leaves(ct.vjp(f, A)[1](w)), 64.0, "pulled")
