"""One time of reading: what a function reads is what stood there when the morphism was made of it."""

from __future__ import annotations

import functools
import importlib.util
import pickle
import types
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import catad as ct

X, PAIR = np.array([1.0, 2.0]), (np.array([1.0, 2.0]), np.array([3.0, 4.0]))
RATE = 2.0
HELD = {"k": [1.0, 2.0]}
SETTINGS = types.SimpleNamespace(rate=3.0)


def scaled(x: Any) -> Any:
    return RATE * x


@pytest.fixture(params=["reference", "cpu"])
def engine(request: pytest.FixtureRequest) -> Any:
    with ct.use_engine(request.param):
        yield request.param


def test_numbers_around_a_map_of_tuples(engine: str) -> None:
    k = 2.0
    f = ct.map(lambda p, q: p[0] * k + q)
    k = 5.0
    assert np.array_equal(f(PAIR, X), PAIR[0] * 2 + X)
    k = 7.0
    assert np.array_equal(f((X[:1], X[:1]), X[:1]), [3.0])  # another shape, another program
    g = ct.map(lambda p, q: (p, q))
    assert k == 7.0 and g(PAIR, X)[0][1] is not None


def test_globals_around_a_map_of_tuples(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    f, g = ct.map(lambda p: p[0] * RATE + HELD_NUMBER), ct.map(lambda p: scaled(p[0]))
    monkeypatch.setitem(globals(), "RATE", 100.0)
    assert np.array_equal(f(PAIR), PAIR[0] * 2 + 1) and np.array_equal(g(PAIR), PAIR[0] * 2)
    assert np.array_equal(ct.map(lambda p: scaled(p[0]))(PAIR), PAIR[0] * 100)


HELD_NUMBER = 1.0


@pytest.mark.parametrize("opaque", [False, True])
@pytest.mark.numpy_only
def test_by_hand_value_and_derivative_use_the_same_array(engine: str, opaque: bool) -> None:
    w = np.array([1.0, 10.0])

    def traced(t: Any) -> Any:
        return t * w, ct.scale(w)

    def hidden(t: Any) -> Any:
        return np.asarray([float(v) for v in t]) * w, ct.scale(w)

    f = ct.D(hidden if opaque else traced)
    before = w.copy()
    assert np.array_equal(f(X), X * before)
    w[:] = 100.0
    y, back = ct.vjp(f, X)
    assert np.array_equal(y, X * before) and np.array_equal(back(X)[0], X * before)
    w = np.array([7.0, 7.0])
    assert np.array_equal(ct.jvp(f, (X,), (X,))[1], X * before)
    assert np.array_equal(f(X), X * before) and np.array_equal(ct.linearize(f, X)[1].todense(), np.diag(before))


def test_what_may_hold_numbers() -> None:
    @dataclass
    class Model:
        w: Any
        bias: float

        def __call__(self, t: Any) -> Any:
            return t * self.w + self.bias, ct.scale(self.w)

        def step(self, t: Any) -> Any:
            return self(t)

    held = [(np.array([2.0, 3.0]), 1.0)]
    table = {"w": np.array([2.0, 3.0])}
    model = Model(np.array([2.0, 3.0]), 1.0)

    def default(t: Any, w: Any = held[0][0]) -> Any:
        return t * w, ct.scale(w)

    made = [
        ct.D(lambda t: (t * held[0][0] + held[0][1], ct.scale(held[0][0]))),
        ct.D(lambda t: (t * table["w"] + 1.0, ct.scale(table["w"]))),
        ct.D(lambda t: (t * model.w + model.bias, ct.scale(model.w))),
        ct.D(lambda t: model.step(t)),
        ct.D(model),
        ct.D(model.step),
        ct.D(functools.partial(lambda w, t: (t * w + 1.0, ct.scale(w)), table["w"])),
    ]
    plain = ct.D(default)
    for w in (held[0][0], table["w"], model.w):
        w[:] = -1.0
    held[0] = (X, 0.0)
    table["w"], model.w, model.bias = X, X, 0.0
    for f in made:
        y, back = ct.vjp(f, X)
        assert np.array_equal(y, X * [2.0, 3.0] + 1.0) and np.array_equal(back(X)[0], X * [2.0, 3.0])
    assert np.array_equal(plain(X), X * [2.0, 3.0])


def test_modules_of_the_user(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("rate = 2.0\ndef times(t):\n    return t * rate\n")
    spec = importlib.util.spec_from_file_location("own", tmp_path / "own.py")
    assert spec is not None and spec.loader is not None
    own = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(own)
    f, g = ct.map(lambda p: p[0] * own.rate), ct.map(lambda p: own.times(p[0]))
    own.rate = 9.0
    assert np.array_equal(f(PAIR), PAIR[0] * 2) and np.array_equal(g(PAIR), PAIR[0] * 2)


def test_operators_stencils_and_loops(engine: str) -> None:
    k = 2.0
    op = lambda a, b: a + b + k * a * b - k * a * b  # noqa: E731
    made: list[Any] = [
        (ct.fold(op, 0.0), X),
        (ct.scan(op, 0.0), X),
        (ct.histogram(op, 0.0, 2), np.array([0, 1]), X),
        (ct.fold(ct.monoid(op, 0.0, inverse=lambda t, x: t - x + k - k)), X),
        (ct.stencil(lambda a, b: a * k + b, (0, 1)), X),
        (ct.generate(3, lambda i: i * k), ()),
        (ct.iterate(ct.map(lambda x: x * k), 3), X),
        (ct.while_loop(ct.map(lambda x: x < 9.0 * k), ct.map(lambda x: x * k)), 1.0),
        (ct.map(lambda p, q: p[0] * k + q), PAIR, X),
    ]
    fresh = [f(*args) for f, *args in made]
    again = [pickle.loads(pickle.dumps(f)) if i < 5 else f for i, (f, *_) in enumerate(made)]
    k = 50.0
    for f, (_, *args), want in zip(again, made, fresh, strict=True):
        assert np.array_equal(f(*args), want)
        wide = [np.tile(a, (4, 1)) if isinstance(a, np.ndarray) and a.dtype.kind == "f" else a for a in args]
        if len(args) == 1 and isinstance(args[0], np.ndarray) and np.ndim(want) == 1:
            assert np.array_equal(ct.map(f)(wide[0])[0], want)


def test_equal_functions_that_read_equal_values_are_equal_morphisms() -> None:
    def made(k: Any) -> ct.D:
        return ct.map(lambda p: p[0] * k)

    def by_hand(w: Any) -> ct.D:
        return ct.D(lambda t: (t * w, ct.scale(w)))

    assert made(2.0) == made(2.0) != made(3.0) and made(2.0) != made(2)
    assert by_hand(X) == by_hand(X.copy()) != by_hand(X + 1)
    for f in (made(2.0), by_hand(X)):
        assert eval(repr(f), {"ct": ct, **f.names}) == f


def test_what_the_function_itself_stores_into_is_left_to_it() -> None:
    calls, seen, total = [0], [], 0

    class Counting:
        n = 0

        def __call__(self, t: Any) -> Any:
            self.n += 1
            return t * 1.0, ct.scale(1.0)

    def counted(t: Any) -> Any:
        nonlocal total
        total += 1
        calls[0] += 1
        seen.append(np.shape(t))
        return t * 1.0, ct.scale(1.0)

    counting = Counting()
    for f in (ct.D(counted), ct.D(counting)):
        f(1.0)
    assert total == calls[0] == len(seen) == counting.n == 1


def test_a_name_that_gets_its_value_later() -> None:
    f = ct.D(lambda t: later(t))

    def later(t: Any) -> Any:
        return t + 1.0, ct.scale(t * 0.0)

    assert np.array_equal(f(X), X + 1)
    scope: dict[str, Any] = {"ct": ct}
    exec("g = ct.D(lambda t: after(t))\ndef after(t): return t * 4.0, ct.scale(t * 0.0)", scope)
    assert np.array_equal(scope["g"](X), X * 4)


def test_a_function_that_calls_itself() -> None:
    def power(x: Any, n: int) -> Any:
        return 1.0 if n == 0 else x * power(x, n - 1)

    assert np.array_equal(ct.map(lambda p: power(p[0], 3))(PAIR), PAIR[0] ** 3)


CALLS = 0


def counting(t: Any) -> Any:
    global CALLS
    CALLS += 1
    return t * 2.0, ct.scale(t * 0.0 + 2.0)


def test_a_function_that_assigns_globals_works_on_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "CALLS", 0)
    assert np.array_equal(ct.D(counting)(X), X * 2) and CALLS > 0
