"""`ct.vmap`: axes of arguments and results, against loops over the entries and against JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import catad as ct
from tests.traced.trees import alike, direction, inner, jax, jnp, slope

RNG = np.random.default_rng(9)
P = {"w": RNG.normal(size=(3, 2)), "b": RNG.normal(size=(2, 5))}
X = RNG.normal(size=(4, 3, 5))
IN = ({"w": None, "b": 1}, -1)
OUT: list[Any] = [0, 1, -1, {"y": 1, "c": None}, {"y": -2, "c": 0}]


def run(xp: Any) -> Callable[..., Any]:
    def fn(p: Any, x: Any) -> Any:
        return {"y": xp.tanh(x @ p["w"] + p["b"]), "c": p["w"] * 2.0}

    return fn


def total(p: Any, x: Any) -> Any:
    return np.sum(run(np)(p, x)["y"])


def entries(fn: Callable[..., Any]) -> list[Any]:
    return [fn({"w": P["w"], "b": P["b"][:, k]}, X[:, :, k]) for k in range(5)]


@pytest.mark.parametrize("engine", ["reference", "cpu"])
@pytest.mark.parametrize("out", OUT)
def test_each_entry_is_that_of_a_loop(out: Any, engine: str) -> None:
    with ct.use_engine(engine):
        got = ct.vmap(run(np), IN, out)(P, X)
    axes = out if isinstance(out, dict) else {"y": out, "c": out}
    want = entries(run(np))
    assert np.allclose(got["y"], np.stack([one["y"] for one in want], axes["y"]))
    assert np.allclose(got["c"], P["w"] * 2.0 if axes["c"] is None else np.stack([one["c"] for one in want], axes["c"]))
    if jax is not None:
        assert alike(got, jax.vmap(run(jnp), IN, out)(P, X))


def test_gradients_of_entries_and_through_them() -> None:
    got = ct.vmap(ct.grad(total), IN)(P, X)
    assert np.allclose(got["w"], np.stack([one["w"] for one in entries(ct.grad(total))])) and got["b"].shape == (5, 2)
    through = lambda p, x: np.sum(ct.vmap(total, IN)(p, x) ** 2)  # noqa: E731
    v = direction((P, X), 4)
    by_loop = lambda p, x: sum(total({"w": p["w"], "b": p["b"][:, k]}, x[:, :, k]) ** 2 for k in range(5))  # noqa: E731
    assert np.isclose(through(P, X), by_loop(P, X))
    assert np.isclose(inner(ct.grad(through, argnums=(0, 1))(P, X), v), slope(by_loop, (P, X), v), rtol=1e-6)
    along = lambda p, x: inner(ct.grad(through, argnums=(0, 1))(p, x), v)  # noqa: E731
    assert np.isclose(inner(ct.hvp(through, (P, X), v), v), slope(along, (P, X), v), rtol=1e-5)


def test_morphisms_and_their_axes() -> None:
    a, b = RNG.normal(size=(3, 4)), RNG.normal(size=(4, 3))
    assert np.allclose(ct.vmap(ct.mul, (0, 1))(a, b), a * b.T) and np.allclose(ct.vmap(ct.mul, (0, -1), -1)(a, b), (a * b.T).T)
    assert np.allclose(ct.vmap(ct.mul, (0, None))(a, b[:, 0]), a * b[:, 0])
    assert ct.vmap(ct.sin) == ct.map(ct.sin) or np.allclose(ct.vmap(ct.sin)(a), np.sin(a))
    assert np.allclose(ct.vmap(ct.scan(lambda x, y: x + y, 0.0), 1, 1)(a), np.cumsum(a, 0))
    f = ct.vmap(ct.mul, (0, None), 1)
    assert eval(repr(f), {"ct": ct, **f.names}) == f and f != ct.vmap(ct.mul, (0, None))
    assert np.allclose(ct.vmap(ct.vmap(ct.mul, (None, 0)), (0, None))(a[:, 0], b[:, 0]), np.outer(a[:, 0], b[:, 0]))
    assert ct.vmap(ct.sin, 0).spaces(ct.f64[3, 2]) == ct.f64[3, 2] and ct.vmap(lambda x: x, 1)(np.ones((2, 0))).shape == (0, 2)


def test_loops_take_their_own_number_of_steps() -> None:
    def halve(x: Any) -> Any:
        n = 0
        while x > 1.0:
            x, n = x / 2, n + 1
        return x, n

    x = np.array([10.0, 0.5, 3.0])
    got = ct.vmap(halve)(x)
    want = [halve(one) for one in x]
    assert np.allclose(got[0], [one for one, _ in want]) and np.array_equal(got[1], [n for _, n in want])


def test_inside_functions_with_static_arguments_and_names() -> None:
    f = lambda x, k, power=2: x**power * k  # noqa: E731
    x = np.arange(3.0)
    assert np.allclose(ct.vmap(ct.function(f, static="power"), (0, None, None))(x, 2.0, 3), x**3 * 2)
    assert np.allclose(ct.vmap(f, (0, None))(x, 2.0), x**2 * 2) and np.allclose(ct.vmap(f)(x, k=x), x**3)
    outer = ct.function(lambda x, y: ct.vmap(lambda a, b: a @ b, (0, None))(x, y))
    a, b = RNG.normal(size=(3, 4)), RNG.normal(size=4)
    assert np.allclose(outer(a, b), a @ b) and np.allclose(ct.vmap(ct.jacrev(np.sin))(a), [np.diag(np.cos(one)) for one in a])


WRONG: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "too few": (lambda: ct.vmap(run(np), (0,))(P, X), ct.ArgumentError, "in_axes does not fit"),
    "another tree": (lambda: ct.vmap(run(np), ({"q": 1}, 0))(P, X), ct.ArgumentError, "in_axes does not fit"),
    "another result": (lambda: ct.vmap(run(np), IN, {"z": 0})(P, X), ct.ArgumentError, "out_axes does not fit"),
    "a mapped result": (lambda: ct.vmap(run(np), IN, None)(P, X), ct.SpaceError, "differs from entry to entry"),
    "nothing mapped": (lambda: ct.vmap(run(np), (None, None))(P, X), ct.SpaceError, "an argument that is mapped"),
    "two sizes": (lambda: ct.vmap(np.add, (0, 1))(np.ones((2, 3)), np.ones((2, 4))), ct.SpaceError, "axes of one size"),
    "no such axis": (lambda: ct.vmap(lambda x, y: x, (0, 2))(np.ones(3), np.ones((3, 3))), ct.SpaceError, "no axis 2"),
    "a number": (lambda: ct.vmap(lambda x, y: x * y, (0, 0))(np.ones(3), 2.0), ct.SpaceError, "no axis 0|leading axis"),
    "no axes": (lambda: ct.vmap(run(np), "first"), ct.ArgumentError, "which axes are mapped"),
    "an array": (lambda: ct.vmap(X), ct.SpaceError, "write ct.vmap"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_axes(name: str) -> None:
    call, kind, words = WRONG[name]
    with pytest.raises(kind, match=words):
        call()
