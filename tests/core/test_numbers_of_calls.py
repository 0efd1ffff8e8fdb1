"""One rule for Python's numbers, whichever way a morphism is called: what they are, and what derivatives by them are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.category.spaces import flatten

x, x32, cells = np.arange(1.0, 5.0), np.arange(1.0, 5.0, dtype=np.float32), np.arange(4)


@ct.kernel
def powers(x, a, n, y):
    i = ct.simt.grid(1)
    s = x[i] * a
    for _ in range(n):
        s = s * x[i]
    y[i] = s + n // 2 - 7 % n


def repeated(x, n):
    for _ in range(n):
        x = x * 2.0
    return x


launch = powers[1, 4]
point = (x, 2.0, 3, np.zeros(4))
strict = (x, np.float64(2.0), np.int64(3), np.zeros(4))


def same(got: Any, want: Any) -> None:
    """Equal spaces, and equal numbers."""
    assert ct.space_of(got) == ct.space_of(want)
    for a, b in zip(flatten(got), flatten(want), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13)


WAYS: dict[str, Callable[..., Any]] = {
    "a call": lambda f, *at: f(*at),
    "a call with a tuple": lambda f, *at: f(tuple(at)),
    "composed": lambda f, *at: (f >> ct.square)(*at),
    "fork": lambda f, *at: ct.fork(f, f)(*at),
    "cross": lambda f, *at: ct.cross(f, ct.id)(at, 1.0),
    "checkpoint": lambda f, *at: ct.checkpoint(f)(*at),
    "in a function": lambda f, *at: ct.function(lambda *args: f(*args))(*at),
    "compiled": lambda f, *at: ct.compile(f, *at)(*at),
    "of the space": lambda f, *at: np.zeros(f.spaces(*at).leaves[0].shape),
    "value_and_grad": lambda f, *at: ct.value_and_grad(f >> ct.sum())(*at),
    "grad": lambda f, *at: ct.grad(f >> ct.sum())(*at),
    "vjp": lambda f, *at: (lambda y, back: back(np.ones_like(y)))(*ct.vjp(f, *at)),
    "jvp": lambda f, *at: ct.jvp(f, at, tuple([np.ones_like(a) if np.asarray(a).dtype.kind == "f" else () for a in at])),
    "linearize": lambda f, *at: ct.linearize(f, *at)[1].todense(),
    "jacobian": lambda f, *at: ct.jacobian(f)(*at).todense(),
    "hessian": lambda f, *at: ct.hessian(f >> ct.sum())(*at).todense(),
    "planned": lambda f, *at: ct.jacobian(f, mode=ct.plan(f, *at, cost="operations"))(*at).todense(),
    "vmap": lambda f, *at: ct.vmap(f, (0, *[None] * (len(at) - 1)))(np.stack([at[0], at[0]]), *at[1:]),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_kernel_takes_an_int_as_an_integer(way: str) -> None:
    same(WAYS[way](launch, *point), WAYS[way](launch, *strict))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["index", "range", "bits"])
def test_a_morphism_of_arrays_takes_an_int_as_an_integer_where_it_must_be_one(name: str, way: str) -> None:
    f = {"index": ct.gather, "range": ct.map(repeated), "bits": ct.map(lambda a, n: a * (n << 1))}[name]
    same(WAYS[way](f, x, 3), WAYS[way](f, x, np.int64(3)))


@pytest.mark.parametrize("way", [way for way in WAYS if way != "jvp"])
def test_elsewhere_an_int_beside_floats_is_a_float(way: str) -> None:
    same(WAYS[way](ct.mul, x, 3), WAYS[way](ct.mul, x, np.float64(3.0)))
    same(ct.jvp(ct.mul, (x, 3), (x, 1.0)), ct.jvp(ct.mul, (x, 3.0), (x, 1.0)))


@pytest.mark.parametrize("a", [0.1, 3, True])
def test_a_kernel_computes_with_numbers_as_python_does(a: Any) -> None:
    at = (x32, a, 3, np.zeros(4, np.float32))
    for engine in ("reference", "cpu"):
        with ct.use_engine(engine):
            got = launch(*at)
            assert got.dtype == np.float32 and np.array_equal(got, ct.testing.threads(launch, *at))
            assert np.array_equal(got, ct.function(lambda *args: launch(*args))(*at))
    program = ct.function(lambda *args: launch(*args)).at(*at)
    assert eval(repr(program), {"ct": ct, **program.names}) == program


def test_numbers_beside_arrays_have_their_dtype_in_a_morphism_with_a_function_in_it_too() -> None:
    f = ct.function(lambda v: v * 1)
    for number in (2, 2.0):
        assert (ct.mul >> f)(x32, number).dtype == np.float32
        assert ct.cross(ct.mul, f)((x32, number), x32)[0].dtype == np.float32
        assert ct.fork(ct.mul, ct.function(lambda v, n: v + n))(x32, number)[0].dtype == np.float32
    assert ct.cross(ct.gather, f)((x32, 2), x32)[0] == 3.0


def test_an_int_alone_is_an_integer() -> None:
    for f, at, want in (
        (ct.square, (3,), 9),
        (ct.add, (1, 2), 3),
        (ct.map(lambda a, n: a + n), (1, 2), 3),
        (ct.iterate(ct.map(lambda k: k * 2), 3), (1,), 8),
        (ct.while_loop(ct.map(lambda k: k < 10), ct.map(lambda k: k + 3)), (1,), 10),
        (ct.choose(ct.map(lambda k: k > 2), ct.neg, ct.id), (3,), -3),
        (ct.function(lambda n: n + 1), (3,), 4),
        (ct.vmap(ct.add, (None, 0)), (3, np.array([1])), 4),
        (ct.const(3), (x,), 3),
        (ct.fork(ct.id, ct.const(2)) >> ct.add, (1,), 3),
    ):
        got = f(*at)
        assert got.dtype == np.int64 and got == want
    assert ct.sin(3).dtype == np.float64 and ct.add(1, 2.0).dtype == np.float64 and ct.map(lambda b: b)(True).dtype == bool


def test_trees_hold_numbers_as_arguments_do() -> None:
    f = ct.function(lambda p: launch(p["x"], *p["numbers"], p["y"]))
    tree = {"x": x, "numbers": (2.0, 3), "y": np.zeros(4)}
    same(f(tree), launch(*strict))
    found = ct.grad(lambda p: f(p).sum())(tree)
    assert found["numbers"][1] == () and found["numbers"][0].dtype == np.float64


def test_there_is_no_derivative_by_an_integer() -> None:
    assert ct.grad(ct.square)(3.0) == 6.0
    for f in (ct.square, ct.function(lambda v: v * v), ct.map(lambda v: v * v)):
        for call in (ct.grad(f), ct.value_and_grad(f)):
            with pytest.raises(ct.DerivativeError, match="all numbers are integers or booleans"):
                call(3)
    with pytest.raises(ct.DerivativeError, match="all numbers are integers"):
        ct.grad(launch >> ct.sum(), argnums=2)(*point)
    for zero in ((), None, 0):
        assert ct.jvp(launch, point, (x, 1.0, zero, np.zeros(4)))[1].shape == (4,)
    with pytest.raises(ct.SpaceError, match="tangent"):
        ct.jvp(launch, point, (x, 1.0, 1.0, np.zeros(4)))


@pytest.mark.parametrize("f", [ct.sin, ct.square, launch, ct.gather])
def test_other_numbers_are_refused_by_name(f: Any) -> None:
    rest = {launch: lambda n: (x, 2.0, n, np.zeros(4)), ct.gather: lambda n: (x, n)}.get(f, lambda n: (n,))
    for number in (2**63, -(2**63) - 1, 2**70):
        with pytest.raises(ct.CatadError) as caught:
            f(*rest(number))
        assert isinstance(caught.value, (ct.NumberRangeError, ct.IndexRangeError))
    for number in (*[3j, np.complex128(3j)][: 2 * (f not in (ct.sin, ct.square))], "3", [3]):
        with pytest.raises((ct.SpaceError, ct.ScalarError)):
            f(*rest(number))


def test_numbers_of_numpy_keep_their_dtype() -> None:
    assert ct.add(x32, np.float64(1.0)).dtype == np.float64 and ct.add(x32, np.array(1.0)).dtype == np.float64
    assert launch(x, 2.0, np.int8(3), np.zeros(4)).dtype == np.float64
    same(launch(x, np.array(2.0), np.array(3), np.zeros(4)), launch(*strict))
    with pytest.raises(ct.ScalarError, match=r"range\(\) of a number that is not an integer"):
        launch(x, 2.0, 3.0, np.zeros(4))
    with pytest.raises(ct.SpaceError, match="indices are integers"):
        ct.gather(x, 3.0)
