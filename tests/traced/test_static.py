"""Static parameters, names from outside as parameters, and what a function reads from outside."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import catad as ct

X = np.array([1.0, 3.0])
WEIGHTS = np.array([1.0, 2.0])
SCALE = 3.0


def scaled(x: Any) -> Any:
    return x * WEIGHTS * SCALE


def test_static_parameters_are_python_values() -> None:
    @ct.function(static=("n", "kind"))
    def f(x: Any, n: int, kind: str = "power", *, shift: Any = 0.0) -> Any:
        out = x
        for _ in range(n - 1):
            out = out * x
        return out + shift if kind == "power" else np.sin(out)

    assert np.allclose(f(X, 3), X**3) and np.allclose(f(X, n=2), X**2) and np.allclose(f(X, 2, "sine"), np.sin(X**2))
    for n in (1, 2, 3, 2, 1):
        assert np.allclose(f(X, n, shift=1.0), X**n + 1)
    assert np.allclose(ct.grad(lambda x: np.sum(f(x, 3)))(X), 3 * X**2)
    assert np.allclose(ct.jacrev(f, argnums=0)(X, 2), np.diag(2 * X)) and f.bind(n=2).spaces(ct.f64[2]) == ct.f64[2]
    with pytest.raises(ct.ArgumentError, match="not hashable"):
        f(X, [2])
    with pytest.raises(ct.SpaceError, match=r"f\.bind\(n="):
        f.spaces(ct.f64[2])


def test_bind_gives_a_morphism_again() -> None:
    f = ct.function(lambda x, n, y: x * n - y, static="n")
    g = f.bind(n=10)
    assert g(2.0, 1.0) == 19.0 == f(2.0, 10, 1.0) and (ct.fork(ct.id, ct.const(1.0)) >> g)(2.0) == 19.0
    assert g == f.bind(n=10) != f.bind(n=11) and hash(g) == hash(f.bind(n=10)) and g.bind(n=3)(2.0, 1.0) == 5.0
    assert ct.grad(g)(2.0, 1.0) == (10.0, -1.0) and eval(repr(g), {"ct": ct, **g.names}) == g
    for wrong in ({"m": 1}, {"n": [1]}):
        with pytest.raises(ct.ArgumentError):
            f.bind(**wrong)
    assert f.bind(y=1.0)(2.0, 10) == 19.0


@pytest.mark.parametrize("options", [{"static": "m"}, {"static": ("n", "m")}, {"free": "NOT_THERE"}, {"free": ("n",)}])
def test_unknown_names_are_refused_when_decorated(options: dict[str, Any]) -> None:
    what = "variables that the function does not read" if "free" in options else "parameters that it does not have"
    with pytest.raises(ct.ArgumentError, match=f"names {what}"):
        ct.function(lambda x, n: x, **options)


def test_names_from_outside_become_parameters() -> None:
    f = ct.function(free="WEIGHTS")(lambda x: np.sum(scaled(x) * WEIGHTS))  # a helper reads the name, too
    assert f(WEIGHTS, X) == np.sum(X * WEIGHTS**2) * 3 and f(2 * WEIGHTS, x=X) == 4 * f(WEIGHTS, X)
    assert np.allclose(ct.grad(f, argnums=0)(WEIGHTS, X), 6 * X * WEIGHTS) and list(f.constants(WEIGHTS, X)) == []

    def around(first: Any, second: Any) -> Any:
        def helper(x: Any) -> Any:
            return x * first

        return ct.function(lambda x: helper(x) + first * second, free=("first", "second"))

    g = around(1.0, 2.0)
    assert g(3.0, 4.0, 5.0) == 27.0 and ct.grad(g)(3.0, 4.0, 5.0) == (9.0, 3.0, 3.0)
    assert WEIGHTS.tolist() == [1.0, 2.0]


def test_constants_are_what_was_read_from_outside() -> None:
    table, unused = {"a": np.array([5.0, 6.0]), "n": 2}, np.zeros(7)
    f = ct.function(lambda x: scaled(x) + table["a"])
    found = f.constants(X)
    assert set(found) == {"WEIGHTS", "table['a']"} and np.array_equal(found["WEIGHTS"], WEIGHTS)
    assert not found["WEIGHTS"].flags.writeable and unused.size == 7


def test_an_array_from_outside_that_has_changed_is_an_error() -> None:
    kept = {"a": np.array([1.0, 2.0])}
    f = ct.function(lambda x: np.sum(x * kept["a"]))
    assert f(X) == 7.0
    kept["a"] = np.array([1.0, 2.0])
    assert f(X.astype(np.float32)) == 7.0  # equal numbers are no change
    kept["a"][0] = 9.0
    with pytest.raises(ct.TraceError, match=r"(?s)has changed.*kept.*pass it as an argument"):
        f(X[:1])


def test_another_value_under_a_name_is_noticed_by_each_call() -> None:
    scope: dict[str, Any] = {"np": np, "A": np.ones(2), "k": 2.0, "__name__": "__main__"}
    exec("def helper(x):\n    return x * A\ndef fn(x):\n    return np.sum(helper(x)) * k", scope)
    f, g = ct.function(scope["fn"]), ct.grad(ct.function(scope["fn"]))
    assert f(X) == 8.0 and np.allclose(g(X), 2.0)
    scope["k"] = 2.0 * 1
    assert f(X) == 8.0
    for name, value in (("k", 3.0), ("A", np.full(2, 2.0))):
        before, scope[name] = scope[name], value
        for call in (lambda: f(X), lambda: g(X), lambda: ct.vjp(f, X)):
            with pytest.raises(ct.TraceError, match=f"(?s)has changed.*{name}"):
                call()
        scope[name] = before
        assert f(X) == 8.0


def test_a_plain_function_is_what_it_is_now() -> None:
    data = [np.array([1.0, 2.0])]

    def loss(x: Any) -> Any:
        return np.sum(x * x * data[0])

    assert np.allclose(ct.grad(loss)(X), 2 * X * [1.0, 2.0])
    data[0] = np.array([3.0, 4.0])
    assert np.allclose(ct.grad(loss)(X), 2 * X * [3.0, 4.0]) and np.allclose(ct.jvp(loss, (X,), (X,))[1], 2 * loss(X))
    data[0][:] = 1.0
    assert np.allclose(ct.grad(loss)(X), 2 * X) and ct.function(loss)(X) == 10.0


class Model:
    def __init__(self) -> None:
        self.w = np.array([2.0, 3.0])

    def __call__(self, x: Any) -> Any:
        return np.sum(self.w * x)

    def squared(self, x: Any) -> Any:
        return np.sum(self.w * x * x)


def test_methods_objects_and_partials() -> None:
    model = Model()
    assert np.allclose(ct.grad(model)(X), [2.0, 3.0]) and np.allclose(ct.grad(model.squared)(X), 2 * X * [2.0, 3.0])
    model.w = np.ones(2)
    assert np.allclose(ct.grad(model)(X), 1.0) and np.allclose(ct.grad(model.squared)(X), 2 * X)
    assert ct.function(model.squared) == ct.function(model.squared) != ct.function(model)
    part = functools.partial(lambda a, x, b=1.0: a * x + b, 2.0, b=3.0)
    assert ct.function(part)(5.0) == 13.0 and ct.function(part)(5.0, b=1.0) == 11.0 and ct.grad(part)(5.0) == 2.0


def test_functions_are_equal_by_what_they_run() -> None:
    fn = lambda x: x * 2.0  # noqa: E731
    f = ct.function(fn)
    assert f == ct.function(fn) and hash(f) == hash(ct.function(fn)) and ct.grad(f) == ct.grad(ct.function(fn))
    other = ct.function(lambda x: x * 2.0)
    assert f != other and f != ct.function(fn, unroll=3) and f.at(X) == other.at(X)
    with pytest.raises(ct.ArgumentError):
        ct.function(f)
