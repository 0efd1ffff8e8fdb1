"""What is in the wrong place: arrays among parameters, functions where morphisms are taken, constructors that were not called.

Every public name is tried. A mistake gets an error of catad that names the line of the call and what to write instead.
"""

from __future__ import annotations

import itertools
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import catad as ct

from ..public import MORPHISMS

X = np.arange(3.0)
A = np.ones((2, 3))
FUNCTIONS = {name: value for name in ct.__all__ if isinstance(value := getattr(ct, name), types.FunctionType)}
CONSTRUCTORS = {name: value for name, value in FUNCTIONS.items() if value.__code__.co_name == "made"}
OTHERS = set(FUNCTIONS) - set(CONSTRUCTORS)
WORDS = {name: value for name in ct.__all__ if isinstance(value := getattr(ct, name), ct.D)}


def caught(call: Callable[[], Any]) -> str:
    with pytest.raises(ct.CatadError) as found:
        call()
    assert found.value.called is not None and found.value.called.startswith(f"{__file__}:"), str(found.value)
    return str(found.value)


def test_what_makes_a_morphism_checks_its_arguments() -> None:
    """As constructors do; what composes morphisms, and a matrix as one, check theirs in another way."""
    assert {"compile", "compose", "cross", "fork", "lift"} == OTHERS & MORPHISMS and len(CONSTRUCTORS) > 35


TAKES_ARRAYS = {"const"}


@pytest.mark.parametrize("name", sorted(set(CONSTRUCTORS) - TAKES_ARRAYS))
def test_constructors_given_an_array(name: str) -> None:
    make = CONSTRUCTORS[name]
    for x, call in itertools.product(
        (X, A, np.arange(3), np.float32([1.0]), np.array(1.0)),
        (
            lambda x: make(x),
            lambda x: make([x, x]),
            lambda x: make((x, x)),
            lambda x: make(x, (2, 2)),
            lambda x: make(x, axis=0),
        ),
    ):
        message = caught(lambda call=call, x=x: call(x))
        assert f"ct.{name} takes options" in message and f"write ct.{name}(" in message and ")(x" in message


@pytest.mark.parametrize("name", sorted(set(CONSTRUCTORS) - TAKES_ARRAYS))
def test_constructors_given_an_array_last(name: str) -> None:
    """As NumPy's functions would take it: beyond the parameters, or by a name that is not there."""
    make = CONSTRUCTORS[name]
    for call in (lambda: make(*[0] * 12, X), lambda: make(array=X)):
        assert f"ct.{name} takes options" in caught(call)


def test_a_constructor_of_wires() -> None:
    f = ct.D(lambda x: (ct.sum(x), ct.scale(x)))
    assert "write ct.sum()(x)" in caught(lambda: f(X))


CALLS: dict[str, tuple[Callable[[], Any], str]] = {
    "sum": (lambda: ct.sum(X), "write ct.sum()(x)"),
    "sum along an axis": (lambda: ct.sum(A, axis=0), "write ct.sum(axis=0)(x)"),
    "transpose": (lambda: ct.transpose(A), "write ct.transpose()(x)"),
    "concatenate": (lambda: ct.concatenate([X, X]), "write ct.concatenate()(x, y)"),
    "stack": (lambda: ct.stack((X, X), axis=1), "write ct.stack(axis=1)(x, y)"),
    "reshape": (lambda: ct.reshape(X, (3, 1)), "write ct.reshape((3, 1))(x)"),
    "einsum": (lambda: ct.einsum("ij,jk", A, A), "write ct.einsum('ij,jk')(x, y)"),
    "fold": (lambda: ct.fold(ct.add, 0.0, X), "write ct.fold(ct.add, 0.0)(x)"),
    "a name of linear algebra": (lambda: ct.linalg.solve(A, X), "write ct.linalg.solve()(x, y)"),  # type: ignore[call-arg, arg-type]
    "a transform": (lambda: ct.fft.fft(X), "write ct.fft.fft()(x)"),
    "map": (lambda: ct.map(ct.exp, X), "write ct.map(ct.exp)(x)"),
    "grad": (lambda: ct.grad(ct.sin, X), "write ct.grad(ct.sin)(x)"),
    "a morphism": (lambda: ct.sum(ct.sin), "to compose write ct.sin >> ct.sum()"),
    "morphisms": (lambda: ct.stack([ct.sin, ct.cos]), "to compose write ct.fork(ct.sin, ct.cos) >> ct.stack()"),
    "nothing": (lambda: ct.reshape(), "call it as ct.reshape(shape)"),  # type: ignore[call-arg]
    "a shape in pieces": (lambda: ct.reshape(3, 1), "call it as ct.reshape((3, 1))"),  # type: ignore[call-arg, arg-type]
    "words of morphisms": (lambda: ct.mul(ct.sin, ct.cos), "to compose write ct.fork(ct.sin, ct.cos) >> ct.mul"),
    "a word of a morphism": (lambda: ct.sin(ct.cos), "to compose write ct.cos >> ct.sin"),
    "spaces": (lambda: ct.compile(ct.sin, [1.0]), "np.asarray(x) for one array"),
    "no spaces": (lambda: ct.sin.spaces(), "or with a value ct.wire(f, x)"),
    "a size that is no integer": (lambda: ct.reshape((2.0, 2)), "a size is one integer"),  # type: ignore[arg-type]
    "an axis that is no integer": (lambda: ct.sum(1.5), "an axis is one integer"),  # type: ignore[arg-type]
    "a cumulative sum along two axes": (lambda: ct.cumsum(axis=(0, 1)), "scan one axis after the other"),  # type: ignore[arg-type]
    "a space for a function": (lambda: ct.D(lambda x: x, spaces=ct.f64[3]), "given:    the space ct.f64[3]"),
    "a function without a signature": (lambda: ct.function(min), "does not say how many arguments it takes"),
    "an array on two lines": (lambda: ct.linear.sparse(np.eye(2)), "given:    array([[1., 0.], [0., 1.]]) of type ndarray"),
    "a law that there is not": (lambda: ct.testing.check_laws(ct.sin, 1.0, only=["chain"]), "check_laws knows no such law"),
    "a scan along two axes": (lambda: ct.scan(ct.mul, 1.0, axis=(0, 1)), "scan one axis after the other"),  # type: ignore[arg-type]
    "an array as neutral element": (lambda: ct.scan(ct.add, np.zeros(2)), "give one number, e.g. 0.0"),
    "a neutral element of another dtype": (
        lambda: ct.fold(ct.maximum, -np.inf)(np.arange(3)),
        "-9223372036854775808 for a maximum",
    ),
    "a step, no operator": (lambda: ct.fold(lambda s, x: s * 0.5 + x, 0.0)(X + 1), "not associative"),
    "a step, no operator: what to do": (
        lambda: ct.fold(lambda s, x: s * 0.5 + x, 0.0)(X + 1),
        "ct.iterate(f, n, inputs=True)",
    ),
    "an integer beyond its dtype": (lambda: ct.sin(2**70), "write it as a float, float(x)"),
    "complex numbers": (lambda: ct.gather(np.array([1j]), 0), "z.real and z.imag"),
    "a complex number": (lambda: ct.sigmoid(1j), "take z.real, z.imag or abs(z)"),
}


@pytest.mark.numpy_only
@pytest.mark.parametrize("name", CALLS)
def test_what_to_write_instead(name: str) -> None:
    call, words = CALLS[name]
    message = caught(call)
    assert words in message and f"called:   {__file__}:" in message, message


def test_numpy_integers_are_parameters() -> None:
    one = np.int64(1)
    assert ct.sum(one)(A).shape == (2,) and ct.reshape((np.int32(3), one))(X).shape == (3, 1)
    assert ct.replicate(one)(X).shape == (1, 3) and ct.proj(one)(1.0, 2.0) == 2.0 and ct.iterate(ct.sin, one)(0.0) == 0.0


# -- plain functions and constructors where morphisms are taken


OPTIONS: dict[str, Callable[[Any], Any]] = {
    "progress of bars": lambda said: ct.progress(said).__enter__(),
    "progress of a loop": lambda said: ct.iterate(ct.sin, 3, progress=said),
    "progress of a search": lambda said: ct.while_loop(ct.sum() >> ct.map(lambda s: s < 1), ct.sin, progress=said),
    "reverse of a sweep": lambda said: ct.sweep(ct.id, 3, reverse=said),
    "reverse of a scan": lambda said: ct.scan(ct.add, 0.0, reverse=said),
    "exclusive of a scan": lambda said: ct.segmented_scan(ct.add, 0.0, exclusive=said),
    "keepdims of a fold": lambda said: ct.fold(ct.mul, 1.0, keepdims=said),
    "keepdims of a maximum": lambda said: ct.max(keepdims=said),
    "keepdims in a function": lambda said: ct.function(lambda x: np.mean(x, keepdims=said)).at(ct.f64[3]),
    "upper": lambda said: ct.linalg.cholesky(upper=said),
    "trans": lambda said: ct.linalg.lu_solve(trans=said),
}


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("said", ["off", "", None, 0.0, 2, []], ids=repr)
def test_options_that_are_on_or_off(name: str, said: Any) -> None:
    with pytest.raises(ct.errors.CatadError, match=r"is a truth value(.|\n)*expected: True or False"):
        OPTIONS[name](said)


@pytest.mark.parametrize("said", [True, False, np.True_, np.False_, 1, 0])
def test_truth_values_of_numpy_and_integers_are_options(said: Any) -> None:
    for keeps in (ct.sum(keepdims=said), ct.function(lambda x: np.sum(x, keepdims=said))):
        assert keeps(np.ones((2, 3))).shape == np.sum(np.ones((2, 3)), keepdims=bool(said)).shape


def plain(x: Any) -> Any:
    return np.sum(x * x)


def takers(f: Any) -> dict[str, Callable[[], Any]]:
    operators = {
        ">>": lambda: ct.sin >> f, ">> on the left": lambda: f >> ct.sin, "<<": lambda: ct.sin << f, "&": lambda: ct.sin & f,
        "+": lambda: ct.sin + f, "/ on the left": lambda: f / ct.sin, "& on the left": lambda: f & ct.sin,
    }  # fmt: skip
    functors = "grad value_and_grad differential reverse_differential tangent jacobian hessian checkpoint compose fork cross"
    return operators | {name: lambda name=name: getattr(ct, name)(f) for name in functors.split()} | {
        "linearize": lambda: ct.linearize(f, X),
        "jvp": lambda: ct.jvp(f, (X,), (X,)),
        "vjp": lambda: ct.vjp(f, X),
        "hvp": lambda: ct.hvp(f, (X,), (X,)),
        "compile": lambda: ct.compile(f, ct.f64[3]),
        "wire": lambda: ct.wire(f, ct.f64[3]),
        "plan": lambda: ct.plan(f, X),
        "iterate": lambda: ct.iterate(f, 3),
        "choose": lambda: ct.choose(ct.map(lambda x: x > 0), ct.sin, f),
        "choose, condition": lambda: ct.choose(f, ct.sin, ct.cos),
        "sweep": lambda: ct.sweep(f, 3),
        "while_loop": lambda: ct.while_loop(f, ct.sin),
        "while_loop, step": lambda: ct.while_loop(ct.map(lambda x: x > 0), f),
    }  # fmt: skip


@pytest.mark.parametrize("name", takers(plain))
def test_a_plain_function_where_a_morphism_is_taken(name: str) -> None:
    """It is the morphism that it computes; constructors and linear maps are none."""
    for f in (plain, lambda x: np.sum(x * x)):
        takers(f)[name]()
    assert "call it: ct.sum()" in caught(takers(ct.sum)[name])
    assert "ct.lift(L)" in caught(takers(ct.scale(2.0))[name]) or name == "plan"


@pytest.mark.parametrize("name", CONSTRUCTORS)
def test_constructors_that_were_not_called(name: str) -> None:
    for call in (
        lambda: ct.sin >> CONSTRUCTORS[name],
        lambda: CONSTRUCTORS[name] >> ct.sin,
        lambda: ct.fork(CONSTRUCTORS[name]),
    ):
        assert f"call it: ct.{name}(" in caught(call)


@pytest.mark.parametrize("name", WORDS)
def test_words_applied_to_morphisms(name: str) -> None:
    assert "to compose write " in caught(lambda: WORDS[name](ct.sin, ct.cos, ct.exp))


# -- Python integers as indices, constants


@pytest.mark.parametrize("engine", ["reference", "cpu"])
def test_a_python_integer_is_an_index_beside_floats(engine: str) -> None:
    with ct.use_engine(engine):
        for x in (X, X.astype(np.float32), np.arange(6.0).reshape(3, 2)):
            assert np.array_equal(ct.gather(x, 1), x[1]) and ct.gather(x, 1).dtype == x.dtype
            assert np.array_equal((ct.swap >> ct.gather)(2, x), x[2])
            assert np.array_equal((ct.fork(ct.id, ct.const(1)) >> ct.gather)(x), x[1])
            want = x.copy()
            want[2] = 5
            assert np.array_equal(ct.scatter(x, 2, np.full(x.shape[1:], 5, x.dtype)), want)
            want[2] = x[2] + 5
            assert np.array_equal(ct.scatter_add(x, 2, np.full(x.shape[1:], 5, x.dtype)), want)
        assert np.array_equal(ct.scatter(X, 1, 7), [0.0, 7.0, 2.0]) and np.array_equal(ct.scatter(X, 7, 7.0), X)
        assert np.array_equal(ct.grad(ct.gather)(X, 1)[0], [0.0, 1.0, 0.0]) and ct.grad(ct.gather)(X, 1)[1] == ()
        assert ct.jvp(ct.gather, (X, 1), (X, None)) == (1.0, 1.0) and ct.linearize(ct.gather, X, 1)[1]((X, ())) == 1.0
        grads = ct.grad(ct.scatter >> ct.sum(), argnums=(0, 2))(X, 1, 5.0)
        assert np.array_equal(grads[0], [1.0, 0.0, 1.0]) and grads[1] == 1.0
    traced = ct.D(lambda x: (ct.gather(x, 1), ct.linear.gather(np.array(1), ct.f64[3])))
    assert traced(X) == 1.0 and np.array_equal(ct.grad(traced)(X), [0.0, 1.0, 0.0])
    assert "indices are integers" in caught(lambda: ct.gather(X, 1.0))


def test_scatter_at_an_array_of_indices_of_any_shape() -> None:
    rng = np.random.default_rng(0)
    for shape in ((), (0,), (4,), (2, 3)):
        index = rng.integers(-1, 6, shape)
        dst, values = rng.normal(size=(5, 2)), rng.normal(size=(*shape, 2))
        want = dst.copy()
        for i, v in zip(index.reshape(-1), values.reshape(-1, 2), strict=True):
            if 0 <= i < 5:
                want[i] = v
        assert np.array_equal(ct.scatter(dst, index, values), want)


def test_the_float_of_a_constant_is_weak() -> None:
    f = ct.fork(ct.id, ct.const(2.0)) >> ct.mul
    assert f(X.astype(np.float32)).dtype == np.float32 and f(X).dtype == np.float64 and f(np.arange(3)).dtype == np.float64
    assert ct.const(2.0)(()).dtype == np.float64 and ct.const(np.float64(2.0))(X.astype(np.float32)).dtype == np.float64
    assert ct.const(2)(X).dtype == np.int64 and ct.const((2.0, np.float64(2.0)))(np.float32(0))[0].dtype == np.float32
    assert ct.const(2.0) != ct.const(np.float64(2.0)) and ct.const(2.0) == ct.const(2.0)
    for g in (ct.const(2.0), ct.const(np.float64(2.0)), ct.const(np.inf), ct.const((2.0, X, 1, True, np.float32(2.0)))):
        assert eval(repr(g), {"ct": ct, **g.names}) == g


def test_where_nothing_arrives() -> None:
    f = ct.reduce_by_index(lambda a, b: min(a + b, 10.0), -0.0)
    assert f(np.array([12.0, 1.0]), np.array([1]), np.array([2.0]))[0] == 10.0  # op(dst, neutral)
