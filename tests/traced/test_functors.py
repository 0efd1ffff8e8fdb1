"""Functors and combinators take Python functions, with trees of arguments and results; against JAX and central differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import catad as ct
from tests.traced.trees import alike, direction, inner, jax, jnp, slope

RNG = np.random.default_rng(5)
PARAMS = {"w": RNG.normal(size=(3, 2)), "b": RNG.normal(size=2)}
X = RNG.normal(size=(4, 3))
needs_jax = pytest.mark.skipif(jax is None, reason="JAX is not installed")


def network(xp: Any) -> Callable[..., Any]:
    def loss(p: Any, x: Any) -> Any:
        return xp.sum(xp.tanh(x @ p["w"] + p["b"]) ** 2)

    return loss


def outputs(xp: Any) -> Callable[..., Any]:
    def run(p: Any, x: Any) -> Any:
        return {"y": xp.tanh(x @ p["w"] + p["b"]), "list": [p["b"] * 2.0, xp.sum(x)]}

    return run


@needs_jax
@pytest.mark.parametrize("engine", ["reference", "cpu"])
def test_derivatives_are_those_of_jax(engine: str) -> None:
    loss, theirs, run, runs = network(np), network(jnp), outputs(np), outputs(jnp)
    v = direction((PARAMS, X))
    with ct.use_engine(engine):
        for argnums in (0, 1, -1, -2, (0, 1), (1, 0), (1,)):
            assert alike(ct.grad(loss, argnums=argnums)(PARAMS, X), jax.grad(theirs, argnums=argnums)(PARAMS, X))
        assert alike(ct.grad(loss)(PARAMS, X), jax.grad(theirs)(PARAMS, X))
        assert alike(ct.value_and_grad(loss)(PARAMS, X), jax.value_and_grad(theirs)(PARAMS, X))
        assert alike(ct.jvp(run, (PARAMS, X), v), jax.jvp(runs, (PARAMS, X), v))
        y, pullback = ct.vjp(run, PARAMS, X)
        assert alike(y, run(PARAMS, X)) and alike(pullback(y), jax.vjp(runs, PARAMS, X)[1](y))
        second = jax.jvp(jax.grad(theirs, argnums=(0, 1)), (PARAMS, X), v)[1]
        assert alike(ct.hvp(loss, (PARAMS, X), v), second)
        for argnums in (0, 1, (1, 0)):
            assert alike(ct.jacfwd(run, argnums=argnums)(PARAMS, X), jax.jacfwd(runs, argnums=argnums)(PARAMS, X))
            assert alike(ct.jacrev(run, argnums=argnums)(PARAMS, X), jax.jacrev(runs, argnums=argnums)(PARAMS, X))
        assert alike(ct.jacfwd(ct.jacrev(loss))(PARAMS, X), jax.hessian(theirs)(PARAMS, X))
        assert alike(ct.grad(lambda p, x: np.sum(ct.grad(loss)(p, x)["w"] ** 2))(PARAMS, X),
                     jax.grad(lambda p, x: jnp.sum(jax.grad(theirs)(p, x)["w"] ** 2))(PARAMS, X))  # fmt: skip


def test_derivatives_are_the_differences() -> None:
    loss, v, w = network(np), direction((PARAMS, X), 1), direction((PARAMS, X), 2)
    assert np.isclose(ct.jvp(loss, (PARAMS, X), v)[1], slope(loss, (PARAMS, X), v), rtol=1e-7)
    assert np.isclose(inner(ct.grad(loss, argnums=(0, 1))(PARAMS, X), v), slope(loss, (PARAMS, X), v), rtol=1e-7)

    def along(p: Any, x: Any) -> Any:
        return inner(ct.grad(loss, argnums=(0, 1))(p, x), w)

    assert np.isclose(inner(ct.hvp(loss, (PARAMS, X), v), w), slope(along, (PARAMS, X), v), rtol=1e-6)


def test_the_first_argument_of_a_plain_function_and_all_of_a_morphism() -> None:
    fn = lambda x, y: x * y * y  # noqa: E731
    assert ct.grad(fn)(2.0, 3.0) == 9.0 and ct.grad(ct.function(fn))(2.0, 3.0) == (9.0, 12.0)
    assert ct.grad(ct.grad(fn, argnums=1))(2.0, 3.0) == 6.0  # what is made of a plain function counts like it
    assert ct.value_and_grad(fn)(2.0, 3.0) == (18.0, 9.0) and ct.grad(fn, argnums=(0, 1))(2.0, 3.0) == (9.0, 12.0)
    assert ct.jacobian(fn)(2.0, 3.0).todense() == 9.0 and ct.hessian(fn, argnums=1)(2.0, 3.0).todense() == 4.0
    assert ct.jacobian(ct.function(fn))(2.0, 3.0).shape == (1, 2) and ct.jacrev(fn)(2.0, 3.0) == 9.0
    assert ct.vjp(fn, 2.0, 3.0)[1](1.0) == (9.0, 12.0) and ct.hvp(fn, (2.0, 3.0), (1.0, 0.0)) == (0.0, 6.0)


def test_blocks_by_trees() -> None:
    run, loss = outputs(np), network(np)
    blocks = ct.jacobian(run)(PARAMS, X).blocks()
    assert blocks["list"][0]["b"].kind == "scale" and blocks["list"][0]["w"].structure.is_zero
    dense = ct.jacrev(run)(PARAMS, X)
    for y, p in (("y", "w"), ("y", "b")):
        assert np.allclose(blocks[y][p].todense(), dense[y][p])
    assert np.allclose(ct.jacobian(run)(PARAMS, X).T.blocks()["w"]["y"].todense(), np.moveaxis(dense["y"]["w"], (2, 3), (0, 1)))
    both = ct.jacobian(run, argnums=(1, 0))(PARAMS, X)
    assert np.allclose(both.blocks()["y"][1]["w"].todense(), dense["y"]["w"]) and both.blocks()["list"][1][0].shape == (1, 12)
    H = ct.hessian(loss)(PARAMS, X)
    assert np.allclose(H.blocks()["w"]["b"].todense(), ct.jacfwd(ct.jacrev(loss))(PARAMS, X)["w"]["b"])
    plain = ct.jacobian(ct.fork(ct.mul, ct.exl))(np.ones(3), np.arange(3.0))
    assert plain.blocks()[0][0].kind == "diagonal" and plain.blocks()[1][1].structure.is_zero
    through = ct.jacobian(lambda p: np.cumsum(p["a"] * p["b"]))({"a": np.ones(3), "b": np.arange(3.0)})
    assert np.allclose(through.blocks()["b"].todense(), np.tril(np.ones((3, 3))))


def test_jacobians_by_one_factor() -> None:
    f = ct.fork(ct.exl >> ct.sin, ct.mul)
    x, y = np.array([0.5, 1.0]), np.array([2.0, 3.0])
    for k in (0, 1, -1):
        L = ct.jacobian(f, argnums=k)(x, y)
        assert L.dom == ct.f64[2] and np.allclose(L(np.ones(2))[1], (y, x)[k])
    L = ct.jacobian(f, argnums=(1, 0))(x, y)
    assert np.allclose(L((np.ones(2), np.zeros(2)))[1], x) and L.dom == ct.f64[2] * ct.f64[2]
    assert ct.grad(ct.mul, argnums=-1)(2.0, 3.0) == 2.0
    H = ct.hessian(lambda a, b: np.sum(a**3 * b), argnums=0)(x, y)
    assert H.kind == "diagonal" and np.allclose(H.todense(), np.diag(6 * x * y))
    weights = ct.linearize(ct.gather, np.ones(3), np.array([1, 2]))[1]
    assert weights.dom == ct.f64[3] * ct.Unit
    assert ct.jacobian(ct.gather, argnums=0)(np.ones(3), np.array([1, 2])).dom == ct.f64[3]


COMBINED: dict[str, tuple[Callable[[], Any], Any]] = {
    "iterate": (
        lambda: ct.iterate(lambda s: {"a": s["a"] / 2 + s["b"], "b": s["b"]}, 3)({"a": 8.0, "b": 1.0}), {"a": 2.75, "b": 1.0},
    ),
    "iterate with inputs": (
        lambda: ct.iterate(lambda s, u: {"s": s["s"] * 2 + u}, 3, inputs=True)({"s": 1.0}, np.arange(3.0)), {"s": 12.0},
    ),
    "iterate with memory": (
        lambda: ct.grad(ct.iterate(lambda s: {"a": s["a"] * s["b"], "b": s["b"]}, 5, memory=2) >> (lambda s: s["a"]))(
            {"a": 1.0, "b": 2.0}),
        {"a": 32.0, "b": 80.0},
    ),
    "while": (
        lambda: ct.while_loop(lambda s: s["x"] > 1, lambda s: {"x": s["x"] / 2, "n": s["n"] + 1})({"x": 10.0, "n": 0}),
        {"x": 0.625, "n": 4},
    ),
    "sweep": (
        lambda: ct.sweep(lambda s, k, u: ({"s": s["s"] * k["k"] + u}, [s["s"]]), 3)({"s": 1.0}, {"k": 0.5}, np.arange(3.0)),
        ({"s": 2.625}, [np.array([1.0, 0.5, 1.25])]),
    ),
    "choose": (lambda: ct.choose(lambda p: p["a"] > 0, lambda p: [p["a"]], lambda p: [-p["a"]])({"a": -3.0}), [3.0]),
    "checkpoint": (lambda: ct.grad(ct.checkpoint(lambda p: p["a"] ** 2))({"a": 3.0}), {"a": 6.0}),
    "map": (lambda: ct.map(ct.function(lambda p: {"s": np.sum(p["a"])}))({"a": np.ones((2, 3))}), {"s": np.array([3.0, 3.0])}),
    "fork": (lambda: ct.fork(lambda p: {"a": p["a"]}, ct.grad(lambda p: p["a"] ** 2))({"a": 3.0}), ({"a": 3.0}, {"a": 6.0})),
    "cross": (lambda: ct.cross(lambda p: [p["a"]], lambda q: q.sum())({"a": 3.0}, np.ones(2)), ([3.0], 2.0)),
    "product of morphisms": (lambda: (ct.function(lambda p: [p["a"]]) * (lambda q: q * 2))({"a": 3.0}, 4.0), ([3.0], 8.0)),
    "chain": (lambda: (ct.function(lambda p: {"s": p["a"], "t": p["b"]}) >> (lambda q: q["s"] - q["t"]))({"a": 3.0, "b": 1.0}),
              2.0),
    "chain of a morphism": (lambda: (ct.sin >> (lambda y: {"y": y}))(0.0), {"y": 0.0}),
    "chain from the left": (lambda: ((lambda x: x * 2) >> ct.neg)(3.0), -6.0),
    "chain backwards": (lambda: (ct.neg << (lambda p: p["x"]))({"x": 3.0}), -3.0),
    "chain of functions": (lambda: ct.compose(lambda x: (x, x * 2), lambda a, b: a + b)(3.0), 9.0),
    "arithmetic": (lambda: (ct.function(lambda x: {"a": x}) + (lambda x: {"a": x * 2}))(3.0), {"a": 9.0}),
    "a multiple": (lambda: (2.0 * ct.function(lambda x: {"a": x}))(3.0), {"a": 6.0}),
    "rearranged": (lambda: (ct.dup >> ct.cross(lambda p: p["a"], lambda p: [p["a"]]) >> ct.swap)({"a": 1.0}), ([1.0], 1.0)),
    "projection": (lambda: (ct.function(lambda x: (x, {"y": x})) >> ct.proj(1))(1.0), {"y": 1.0}),
    "tangent": (lambda: ct.tangent(lambda p: {"y": p["a"] ** 2})({"a": 3.0}, {"a": 1.0}), ({"y": 9.0}, {"y": 6.0})),
    "tangent of two": (lambda: ct.tangent(lambda a, b: [a * b])((3.0, 2.0), (1.0, 0.0)), ([6.0], [2.0])),
    "differential": (lambda: ct.differential(lambda p: {"y": p["a"] ** 2})({"a": 3.0}, {"a": 1.0}), {"y": 6.0}),
    "reverse": (lambda: ct.reverse_differential(lambda p: {"y": p["a"] ** 2})({"a": 3.0}, {"y": 1.0}), {"a": 6.0}),
    "jacobian of a chain": (lambda: ct.jacrev((lambda p: p["a"] ** 2) >> ct.neg)({"a": 3.0}), {"a": -6.0}),
    "ufunc": (lambda: ct.grad(np.sin)(0.0), 1.0),
    "function of NumPy": (lambda: ct.grad(np.sum)(np.ones(2)), np.ones(2)),
    "compile": (lambda: ct.compile(lambda x: x * 2.0, ct.f64[2])(np.ones(2)), np.full(2, 2.0)),
}  # fmt: skip


@pytest.mark.parametrize("name", COMBINED)
def test_combinators_take_functions(name: str) -> None:
    call, want = COMBINED[name]
    for _ in range(2):
        assert alike(call(), want), call()


def test_plans_and_wirings_take_functions() -> None:
    loss = network(np)
    assert ct.plan(loss, PARAMS, X).steps and ct.plan(lambda x: np.sin(x), ct.f64[3]).result.kind == "diagonal"
    assert ct.wire(lambda x: np.tanh(x) * 2.0, ct.f64[3]).cod == ct.f64[3]
    assert ct.Graph.of(lambda x: np.tanh(x), ct.f64[3]).inner == 0
    plan = ct.plan(ct.function(loss).at(PARAMS, X), PARAMS, X)
    gradient = ct.grad(ct.function(loss))(PARAMS, X)
    (b, w), x = plan.run(PARAMS, X).T(1.0)
    assert alike(({"b": b, "w": w}, x), gradient)


def test_derivatives_inside_a_traced_function() -> None:
    loss, run = network(np), outputs(np)

    @ct.function
    def outer(p: Any, x: Any) -> Any:
        g = ct.grad(loss)(p, x)
        y, pullback = ct.vjp(run, p, x)
        value, tangent, extra = ct.jvp(lambda p, x: (loss(p, x), {"b": p["b"]}), (p, x), (p, x), has_aux=True)
        second = ct.hvp(loss, (p, x), (p, x))
        jac = ct.jacrev(run)(p, x)
        return (np.sum(g["w"] ** 2) + np.sum(pullback(y)[0]["b"]) + value * tangent + np.sum(extra["b"])
                + np.sum(second[0]["w"]) + np.sum(jac["y"]["b"]))  # fmt: skip

    v = direction((PARAMS, X), 7)

    def by_hand(p: Any, x: Any) -> Any:
        y, pullback = ct.vjp(run, p, x)
        value, tangent = ct.jvp(loss, (p, x), (p, x))
        second, jac = ct.hvp(loss, (p, x), (p, x)), ct.jacrev(run)(p, x)
        total = np.sum(ct.grad(loss)(p, x)["w"] ** 2) + np.sum(pullback(y)[0]["b"]) + value * tangent + np.sum(p["b"])
        return total + np.sum(second[0]["w"]) + np.sum(jac["y"]["b"])

    assert np.isclose(outer(PARAMS, X), by_hand(PARAMS, X))
    assert np.isclose(inner(ct.grad(outer)(PARAMS, X), v), slope(by_hand, (PARAMS, X), v), rtol=1e-6)
    for call in (lambda x: ct.jacobian(loss)(PARAMS, x)(x), lambda x: ct.linearize(loss, PARAMS, x)[0]):
        with pytest.raises(ct.TraceError, match=r"inside a traced function use ct\.j"):
            ct.function(call)(X)


def test_what_is_built_anew_finds_its_program() -> None:
    traces = []

    def counted(x: Any) -> Any:
        traces.append(1)
        return np.sum(x * x)

    f = ct.function(counted)
    x = np.ones(3)
    for _ in range(3):
        ct.grad(f)(x), ct.grad(counted)(x), ct.value_and_grad(counted)(x), ct.function(counted)(x)
    assert len(traces) <= 3  # the morphism, the plain function, the second morphism of the same function


WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "argnums too large": (lambda: ct.grad(lambda x: x * x, argnums=1)(1.0), "no argument with this number"),
    "argnums too small": (lambda: ct.grad(lambda x: x * x, argnums=-2)(1.0), "no argument with this number"),
    "argnums of a morphism": (lambda: ct.grad(ct.mul, argnums=2)(1.0, 2.0), "not in the domain"),
    "argnums, no integer": (lambda: ct.grad(lambda x: x, argnums=1.5), "argnums is one integer"),
    "argnums twice": (lambda: ct.jacobian(lambda x, y: x * y, argnums=(0, 0))(1.0, 2.0), "names an argument twice"),
    "a static argument": (lambda: ct.grad(lambda name, x: x)("a", 1.0), "it is static"),
    "integers": (lambda: ct.grad(lambda x: x * 1.0)(3), "integers or booleans"),
    "no scalar": (lambda: ct.grad(lambda x: x * 1.0)(np.ones(2)), "scalar"),
    "a constructor": (lambda: ct.grad(ct.sum), "call it: ct.sum()"),
    "a class": (lambda: ct.grad(float), "takes morphisms"),
    "a text": (lambda: ct.sin >> "f", "takes morphisms"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_calls(name: str) -> None:
    call, words = WRONG[name]
    with pytest.raises(ct.CatadError, match=words):
        call()


@pytest.mark.parametrize("fn", [lambda x: x.sum(), lambda x: np.sum(x) * x, lambda x: x.T, lambda x: x.shape[0] * x])
def test_scalar_readers_say_what_functions_of_arrays_are(fn: Any) -> None:
    for make in (lambda: ct.map(fn), lambda: ct.fold(lambda a, b: fn(a) + b, 0.0), lambda: ct.scan(lambda a, b: fn(a) + b, 0.0)):
        with pytest.raises(ct.ScalarError, match=r"ct\.function\(fn\).*ct\.vmap\(fn\)"):
            make()
