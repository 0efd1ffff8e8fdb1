"""While loops that are called with ever new numbers of steps: what is laid out is counted, and results are those of Python."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.engine import program
from catad.engine.cpu.whole.nested import WhileLoop

from .whole_support import Ran, anew, ran

__all__ = ["ran"]
pytestmark = pytest.mark.numpy_only
X = np.linspace(0.1, 1.0, 3)
W = np.array([1.0, -2.0, 0.5])
ORDERS = {
    "growing": list(range(20)),
    "shuffled": [7, 0, 19, 2, 13, 1, 5, 18, 3, 11, 16, 4, 9, 14, 6, 17, 8, 12, 10, 15],
    "far apart": [0, 1, 2, 90, 3, 91, 4, 70, 120, 5, 88, 2, 60, 119, 1, 0, 33, 31, 64, 30],
}
Way = Callable[[Any, int], Any]


def loop() -> Any:
    def repeated(x, n):
        i = 0
        while i < n:
            x = np.sin(x) * 1.1 + 0.1 * i
            i = i + 1
        return x

    return ct.function(repeated)


def plain(n: int) -> tuple[np.ndarray, np.ndarray]:
    """What the loop gives, and its derivative by each number."""
    x, slope = X, np.ones(3)
    for i in range(n):
        x, slope = np.sin(x) * 1.1 + 0.1 * i, slope * np.cos(x) * 1.1
    return x, slope


WAYS: dict[str, tuple[Callable[[Any], Way], Way]] = {
    "value": (lambda f: f, lambda _, n: plain(n)[0]),
    "jvp": (lambda f: lambda x, n: ct.jvp(f, (x, n), (W, 0))[1], lambda _, n: plain(n)[1] * W),
    "vjp": (lambda f: lambda x, n: ct.vjp(f, x, n)[1](W)[0], lambda _, n: plain(n)[1] * W),
    "gradient": (
        lambda f: ct.grad(ct.function(lambda x, n: np.sum(f(x, n) * W)), argnums=0),
        lambda _, n: plain(n)[1] * W,
    ),
}


@pytest.fixture
def laid_out(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The programs that this thread makes from here on; another one may still compile for an earlier test."""
    found: list[object] = []
    begin, thread = program.Program.__init__, threading.get_ident()

    def noting(self: program.Program, wiring: Any, **options: Any) -> None:
        if threading.get_ident() == thread:
            found.append(wiring)
        begin(self, wiring, **options)

    monkeypatch.setattr(program.Program, "__init__", noting)
    return found


@pytest.mark.quick(10)
@pytest.mark.parametrize("engine", ["cpu", "auto", "reference"])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("way", WAYS)
def test_not_each_number_of_steps_has_a_layout(
    way: str, order: str, engine: str, ran: Ran, laid_out: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A value has one layout; a derivative the first one and two for each factor of two, in whatever order the numbers come."""
    anew(monkeypatch)
    make, want = WAYS[way]
    f = make(loop())
    with ct.use_engine(engine):
        f(X, ORDERS[order][0])
        new = 0
        for n in 2 * ORDERS[order]:
            laid_out.clear()
            np.testing.assert_allclose(f(X, n), want(X, n), rtol=1e-12, atol=1e-13)
            new += bool(laid_out)
        assert new <= (0 if way == "value" else 2 * max(ORDERS[order]).bit_length())
        for n in 4 * ORDERS[order]:  # until the engine "auto" has compiled
            f(X, n)
        laid_out.clear()
        for n in ORDERS[order]:
            f(X, n)
        assert not laid_out


LIMIT = 10
GROWING = ct.while_loop(ct.map(lambda a, n: a < n), ct.cross(ct.map(lambda a: 1.05 * a + 1.0), ct.id), max_steps=LIMIT)


def grown(n: float) -> tuple[float, float]:
    a, slope = 0.0, 1.0
    while a < n:
        a, slope = 1.05 * a + 1.0, slope * 1.05
    return a, slope


@pytest.mark.parametrize("engine", ["cpu", "auto", "reference"])
def test_room_for_more_steps_than_a_loop_may_take(engine: str, ran: Ran) -> None:
    """Steps that change no state fill the room: they are not among the most steps, and leave no partials without a number."""
    both = ct.value_and_grad(ct.function(lambda a, n: GROWING((a, n))[0]), argnums=0)
    with ct.use_engine(engine):
        for n in (3.0, 12.5, 11.0, 12.5, 5.0, 1.0, 0.0, 12.5, 9.0):
            np.testing.assert_allclose(both(0.0, n), grown(n), rtol=1e-14)
        with pytest.raises(ct.CatadError, match=f"has not ended after {LIMIT} steps"):
            both(0.0, 1000.0)
        np.testing.assert_allclose(both(0.0, 12.5), grown(12.5), rtol=1e-14)


def undefined_at_its_end(x, n):
    """Its steps read the array, divide, and write, at places that are not there once n is reached."""
    i, total, left = 0, 0.0, 1.0 * n
    while i < n:
        x[i] = x[i] ** 2 * (1.0 + total) + 1.0 / left
        total = total + x[i]
        i, left = i + 1, left - 1.0
    return total + np.sum(x * x)


@pytest.mark.parametrize("engine", ["cpu", "auto", "reference"])
def test_what_is_undefined_beyond_the_end_is_not_read(engine: str, ran: Ran) -> None:
    f, h = ct.value_and_grad(ct.function(undefined_at_its_end), argnums=0), 1e-6
    with ct.use_engine(engine), np.errstate(divide="ignore", invalid="ignore"):
        for n in (3, 2, 3, 0, 1, 3):
            value, slope = f(X, n)
            assert np.isclose(value, undefined_at_its_end(X.copy(), n), rtol=1e-14)
            moved = [[undefined_at_its_end(X + s * h * e, n) for s in (1, -1)] for e in np.eye(3)]
            np.testing.assert_allclose(slope, [(a - b) / (2 * h) for a, b in moved], rtol=1e-7)
        with pytest.raises(ct.IndexRangeError, match="index 3"):
            f(X, 4)
        assert np.isclose(f(X, 3)[0], undefined_at_its_end(X.copy(), 3), rtol=1e-14)


def test_planted_a_number_of_steps_that_nobody_checks_is_caught(ran: Ran, monkeypatch: pytest.MonkeyPatch) -> None:
    anew(monkeypatch)
    monkeypatch.setattr(WhileLoop, "_check", lambda *_: None)
    f = ct.grad(ct.function(lambda a, n: GROWING((a, n))[0]), argnums=0)
    with ct.use_engine("cpu"):
        assert not all(np.isclose(f(0.0, n), grown(n)[1]) for n in (3.0, 9.0, 12.5))
    anew(monkeypatch)
