"""Primitives written outside the package: what has a default, what is missing, and the short forms. Public names only."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.testing import check_grads, check_laws

pytestmark = pytest.mark.numpy_only  # the array code is NumPy's

X = np.array([0.5, 1.0, 2.0])
ENGINES = pytest.mark.parametrize("engine", ["reference", "cpu"])


@ct.primitive.box
class Powers(ct.primitive.Primitive):
    """x to (x^n, n x): two results, one parameter, and nothing but what has no default."""

    n: int
    arity = 1

    def typed(self, ins: Any) -> Any:
        return (*ins, *ins)

    def evaluate(self, xp: Any, x: Any) -> Any:
        return x**self.n, self.n * x

    def rule(self, ins: Any, outs: Any) -> Any:
        def derivative(x: Any, y: Any, z: Any) -> ct.LinearMap:
            power = ct.map(lambda v, n: n * v ** (n - 1.0))
            by_x = ct.scale(power((x, x * 0.0 + float(self.n))))
            return ct.linear.fork(by_x, float(self.n) * ct.linear.identity(x.space))

        return ct.primitive.rule_from(derivative, ins, outs)


@ENGINES
def test_defaults_hold_the_laws(engine: Any) -> None:
    with ct.use_engine(engine):
        check_laws(Powers(3), X, order=2 if engine == "reference" else 1)
        check_laws(ct.map(Powers(3)), np.stack([X, 2 * X]), order=1)
        check_grads(ct.map(ct.map(Powers(2))), np.ones((2, 2, 3)))
        assert np.array_equal(ct.map(Powers(2))(np.zeros((0, 3)))[0], np.zeros((0, 3)))


def test_an_argument_without_the_axis_is_the_same_at_each_index() -> None:
    f = ct.map(ct.fork(ct.id, ct.const(X)) >> ct.primitive.function(np.hypot, lambda a, b: a, _hypot))
    got = ct.vjp(f, np.ones((4, 3)))
    assert np.array_equal(got[0], np.hypot(np.ones((4, 3)), X))
    np.testing.assert_allclose(got[1](np.ones((4, 3)))[0], 1.0 / np.hypot(np.ones((4, 3)), X))


def _hypot(a: Any, b: Any, r: Any) -> ct.LinearMap:
    return ct.scale(a / r) | ct.scale(b / r)


def test_a_box_prints_draws_and_pickles() -> None:
    f = Powers(3) >> ct.mul
    assert repr(f) == "Powers(3) >> ct.mul"
    assert eval(repr(f), {"ct": ct, **f.names}) == f
    assert pickle.loads(pickle.dumps(f)) == f
    assert Powers(3) == Powers(3) != Powers(4)
    assert "Powers(3)" in f.draw(ct.f64[3])


class NoTyped(ct.primitive.Primitive):
    arity = 1


class NoEvaluate(NoTyped):
    def typed(self, ins: Any) -> Any:
        return ins


class NoRule(NoEvaluate):
    def evaluate(self, xp: Any, x: Any) -> Any:
        return x + 1.0


@pytest.mark.parametrize(
    ("call", "method"),
    [
        (lambda: NoTyped()(X), "typed"),
        (lambda: ct.wire(NoTyped() >> ct.sin, ct.f64[3]), "typed"),
        (lambda: NoEvaluate()(X), "evaluate"),
        (lambda: ct.map(NoEvaluate())(np.ones((2, 3))), "evaluate"),
        (lambda: ct.grad(NoRule() >> ct.sum())(X), "rule"),
        (lambda: ct.hessian(ct.map(NoRule()) >> ct.sum())(np.ones((2, 3))), "rule"),
        (lambda: ct.linearize(ct.checkpoint(NoRule()), X)[1](X), "rule"),
        (lambda: ct.plan(ct.sin >> NoRule(), ct.f64[3]), "rule"),
    ],
)
def test_a_missing_method_is_an_error_that_names_it(call: Any, method: str) -> None:
    with pytest.raises(ct.ExtensionError) as info:
        call()
    said = str(info.value)
    assert f"has no method `{method}`" in said
    assert "No" in said.split("\n")[0] and f"{__file__}:" in said.split("given:")[1].split("\n")[0]
    assert f"expected: {method}(self, " in said
    assert "docs/extending.md" in said
    assert f"called:   {__file__}:" in said


# -- pointwise


def _bessel(k: int) -> Any:
    special = pytest.importorskip("scipy.special")
    return {0: special.j0, 1: special.j1}[k]


def test_pointwise_by_partials_that_name_each_other() -> None:
    f = j0()
    check_laws(f, X)
    check_grads(f, X)
    check_laws(ct.map(f), np.stack([X, 3 * X]), order=1)
    H = ct.hessian(f >> ct.sum())(X)
    assert H.kind == "diagonal" and H.stored == 3
    special = pytest.importorskip("scipy.special")
    np.testing.assert_allclose(np.diag(H.todense()), -special.jvp(1, X), rtol=1e-13)
    assert eval(repr(f), {"ct": ct, **f.names}) == f


def j0() -> ct.D:
    made = ct.primitive.pointwise(_bessel(0), lambda x, y: -other(x))
    other = ct.primitive.pointwise(_bessel(1), lambda x, y: made(x) - y / x)
    return made


@ENGINES
def test_pointwise_broadcasts_maps_and_keeps_single_precision(engine: Any) -> None:
    f = ct.primitive.pointwise(np.hypot, lambda x, y, r: x / r, lambda x, y, r: y / r)
    x, y = np.arange(1.0, 7.0).reshape(2, 3), np.array([2.0, 0.5, 1.0])
    with ct.use_engine(engine):
        check_laws(f, x, y, order=2 if engine == "reference" else 1)
        check_laws(ct.map(f), np.stack([x, x + 1]), np.stack([y, y]), order=1)
        assert f(x.astype(np.float32), y.astype(np.float32)).dtype == np.float32
        assert f(x, 3).dtype == np.float64
        got = ct.grad(f >> ct.sum())(x, y)
        np.testing.assert_allclose(got[1], (y / np.hypot(x, y)).sum(0), rtol=1e-13)
    with pytest.raises(ct.SpaceError, match="broadcast"):
        f(x, np.ones(4))


def test_constant_partials_are_not_stored() -> None:
    f = ct.primitive.pointwise(lambda a, b, c: 2.0 * a + np.sign(b) - c, lambda *_: 2.0, None, lambda *_: -1)
    L = ct.linearize(f, X, X, X)[1]
    assert L.stored == 0
    assert np.array_equal(L.T(np.ones(3)), (2 * np.ones(3), np.zeros(3), -np.ones(3)))


# -- linear


@ENGINES
def test_linear_by_structure_and_by_transpose(engine: Any) -> None:
    running = ct.primitive.linear(np.cumsum, structure=ct.linear.cumulative_sum)
    steps = ct.primitive.linear(np.diff, lambda w: -np.diff(w, prepend=0, append=0), lambda x: ct.f64[x.size - 1])
    with ct.use_engine(engine):
        for f in (running, steps, running >> steps, ct.map(lambda v: v * v) >> steps):
            check_laws(f, X, order=1)
        check_laws(running >> steps >> ct.square, X)
        check_laws(ct.map(steps), np.stack([X, X * X]), order=1)
        assert ct.linearize(running, X)[1].kind == "recurrence"
        expected = np.diff(np.eye(3), axis=0)
        assert np.array_equal(ct.jacobian(steps)(X).todense(), expected)
    for f in (running, steps):
        assert eval(repr(f), {"ct": ct, **f.names}) == f


def test_a_transpose_that_is_none_is_found() -> None:
    wrong = ct.primitive.linear(np.diff, lambda w: np.diff(w, prepend=0, append=0), lambda x: ct.f64[x.size - 1])
    with pytest.raises(ct.LawError, match="adjoint"):
        check_laws(wrong, X)


# -- mistakes


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: ct.primitive.function(np.sin, lambda x: ct.f64[2])(X), ct.ExtensionError, "do not lie in the spaces"),
        (lambda: ct.primitive.function(np.sin, lambda x: x.shape)(X), ct.ExtensionError, "`spaces` says"),
        (lambda: ct.grad(ct.primitive.function(np.sum, lambda x: ct.f64[()]))(X), ct.DerivativeError, "no derivative"),
        (lambda: ct.grad(_bad(lambda x, y: 3.0))(X), ct.ExtensionError, "does not fit the function"),
        (lambda: ct.grad(_bad(lambda x, y: ct.scale(x)))(X), ct.ExtensionError, "does not fit the function"),
        (lambda: ct.primitive.function(3, lambda x: x), ct.ArgumentError, "made of functions"),
        (lambda: ct.primitive.linear(np.diff), ct.ArgumentError, "made of functions"),
        (lambda: ct.primitive.linear(np.diff, np.diff, np.diff, structure=np.diff), ct.ArgumentError, "both were given"),
        (lambda: ct.primitive.linear(np.sum, structure=lambda x: x)(X), ct.ExtensionError, "`structure` gives"),
        (lambda: ct.primitive.pointwise(np.hypot, None), ct.ArgumentError, "one partial for each argument"),
        (lambda: ct.primitive.pointwise(np.sum, lambda x, y: 1.0)(X), ct.ExtensionError, "do not lie in the spaces"),
        (lambda: ct.map(_false())(np.ones((2, 3))), ct.ExtensionError, "vectorized"),
    ],
)
def test_mistakes_have_names(call: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        call()


def _bad(derivative: Any) -> ct.D:
    return ct.primitive.function(np.sum, lambda x: ct.f64[()], derivative)


def _false() -> ct.D:
    return ct.primitive.function(np.sum, lambda x: ct.f64[()], vectorized=True)


def test_a_derivative_of_integers_is_not_asked_for() -> None:
    f = ct.primitive.function(lambda x: x.astype(np.int64), lambda x: ct.i64[x.shape])
    assert ct.jvp(f >> ct.astype("float64") >> ct.sum(), (X,), (X,)) == (3.0, 0.0)


def test_what_functions_read_is_what_stood_there() -> None:
    weight = np.array([1.0, 2.0, 3.0])
    f = ct.primitive.function(lambda x: weight * x, lambda x: x, lambda x, y: ct.scale(weight))
    weight[:] = 100.0
    assert np.array_equal(f(np.ones(3)), [1.0, 2.0, 3.0])
    assert np.array_equal(ct.vjp(f, X)[1](np.ones(3))[0], [1.0, 2.0, 3.0])


def test_functions_of_a_primitive_that_take_other_arguments_are_named() -> None:
    halved = ct.primitive.function(lambda x: x / 2, lambda x: x, lambda x: ct.scale(0.5))
    with pytest.raises(ct.ExtensionError, match=r"`derivative` .* takes other arguments(?s:.*)2, one for each argument and"):
        ct.grad(halved)(1.0)
    with pytest.raises(ct.ExtensionError, match="`spaces` of a primitive takes other arguments"):
        ct.primitive.function(lambda x: x / 2, lambda x, y: x)(1.0)
    with pytest.raises(ct.SpaceError, match=r"ct\.primitive\.function\(fn, spaces"):
        ct.primitive.function(np.sin)
