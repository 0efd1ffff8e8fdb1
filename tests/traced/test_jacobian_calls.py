"""Jacobians called again: trees, tuples and numbers find their program at once, and other arguments find another one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.jacobians import jacobian

X = np.linspace(1.0, 2.0, 3)


def called(p: Any, y: Any) -> Any:
    return {"s": p["a"] * y + p["b"], "t": np.sum(p["b"] * y)}


FUNCTIONS: dict[str, tuple[Callable[..., Any], list[tuple[Any, ...]]]] = {
    "tree": (called, [({"a": 2.0, "b": X}, X), ({"a": 3.0, "b": 2 * X}, X), ({"b": X, "a": np.float64(4)}, X)]),
    "list": (lambda xs: xs[0] * xs[1], [([X, 2 * X],), ([2 * X, X],), ((X, X),)]),
    "numbers": (lambda x, k: x * k * k, [(X, 2.0), (X, 3.0), (X, np.float32(2.0)), (X, 2)]),
    "shapes": (lambda x, y: x * y, [(X, X), (X[:2], X[:2]), (X.astype(np.float32), X.astype(np.float32)), (X, X[0])]),
    "order": (lambda x, y: x / y, [(X, 2 * X), (2 * X, X)]),
    "strided": (lambda x: x * x, [(X[::2],), (X[::-1],), (np.ones((2, 2)).T,), (np.ones((2, 2)),)]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_call_has_its_own_point(name: str) -> None:
    """The same as a Jacobian that is called for the first time."""
    f, calls = FUNCTIONS[name]
    kept = ct.jacobian(f)
    for _ in range(3):
        for args in calls:
            one, fresh = kept(*args), ct.jacobian(lambda *given: f(*given))(*args)
            assert one.dom == fresh.dom and one.cod == fresh.cod
            assert np.array_equal(one.todense(), fresh.todense())


def test_tuples_of_arrays_for_a_morphism() -> None:
    J = ct.jacobian(ct.mul)
    for _ in range(3):
        for k in (2.0, 3.0):
            both = J((X, k * X)).todense()
            assert np.array_equal(both, np.hstack([np.diag(k * X), np.diag(X)]))
            assert np.array_equal(J(X, k * X).todense(), both)


def test_a_second_call_takes_nothing_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    plain = jacobian.taken_point
    monkeypatch.setattr(jacobian, "taken_point", lambda *given: calls.append(0) or plain(*given))
    for J, args in (
        (ct.jacobian(lambda p, y: called(p, y)), ({"a": 2.0, "b": X}, X)),
        (ct.jacobian(ct.id >> ct.mul >> ct.tan), ((X, X),)),
        (ct.jacobian(lambda x: x * x), (X,)),
    ):
        calls.clear()
        for _ in range(4):
            J(*args)
        assert len(calls) == 1


def test_what_is_static_is_part_of_the_call() -> None:
    J = ct.jacobian(ct.function(lambda x, how: x * x if how == "square" else x, static="how"))
    for _ in range(3):
        assert np.array_equal(J(X, "square").todense(), np.diag(2 * X))
        assert np.array_equal(J(X, "same").todense(), np.eye(3))


def test_errors_stay_errors_after_good_calls() -> None:
    J = ct.jacobian(ct.mul)
    J((X, X))
    with pytest.raises(ct.CatadError):
        J((X, X[:2]))
    with pytest.raises(ct.CatadError):
        J((X.astype(int), X.astype(int)))
