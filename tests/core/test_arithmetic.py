"""Arithmetic of morphisms: `+ - / **` and unary minus, with morphisms and numbers on both sides."""

from __future__ import annotations

import operator
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import catad as ct

X = np.array([0.5, 1.0, 2.0, 3.0])
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "/": operator.truediv, "**": operator.pow,
}  # fmt: skip
NUMBERS = [2, 2.0, -1, 0, 0.5, np.float64(3.0), np.float32(0.5), np.int64(2), float("inf")]


@pytest.mark.parametrize("engine", ["reference", "cpu"])
@pytest.mark.parametrize("symbol", OPERATORS)
def test_against_numpy(symbol: str, engine: str) -> None:
    op = OPERATORS[symbol]
    with ct.use_engine(engine), np.errstate(all="ignore"):
        assert np.allclose(op(ct.exp, ct.square)(X), op(np.exp(X), X * X), rtol=1e-14)
        for number in NUMBERS if engine == "reference" else (2, 0.5):
            for x in (X, X.astype(np.float32))[: 2 if engine == "reference" or number == 2 else 1]:
                if symbol == "**" and (x ** np.int64(2)).dtype != np.power(x, np.int64(2)).dtype and number is NUMBERS[-2]:
                    continue  # NumPy 2.0: the operator forgets the dtype of this number
                for got, want in ((op(ct.id, number)(x), op(x, number)), (op(number, ct.id)(x), op(number, x))):
                    assert got.dtype == want.dtype, (symbol, number, x.dtype)
                    assert np.allclose(got, want, rtol=1e-6 if got.dtype == np.float32 else 1e-14, equal_nan=True)


@pytest.mark.parametrize("symbol", OPERATORS)
@pytest.mark.parametrize("number", NUMBERS)
def test_terms_print_compare_and_pickle(symbol: str, number: Any) -> None:
    for f in (OPERATORS[symbol](ct.sin, number), OPERATORS[symbol](number, ct.sin), -OPERATORS[symbol](ct.sin, ct.cos)):
        assert eval(repr(f), {"ct": ct, **f.names}) == f
        assert pickle.loads(pickle.dumps(f)) == f
    assert OPERATORS[symbol](ct.sin, number) != OPERATORS[symbol](number, ct.sin)


@given(st.floats(0.1, 3.0), st.floats(-2.0, 2.0))
def test_derivatives_against_central_differences(x: float, a: float) -> None:
    h = 1e-6
    for f in (ct.sin / ct.exp, ct.exp**ct.sin, a + ct.sin, ct.id**a, 2.0**ct.id, a - ct.id / 3, 1 / ct.id, -(ct.id**2)):
        slope = (f(x + h) - f(x - h)) / (2 * h)
        assert abs(ct.grad(f)(x) - slope) <= 1e-5 * max(1.0, abs(slope)), f


def test_leaf_by_leaf_on_products() -> None:
    f, g = ct.fork(ct.sin, ct.cos), ct.fork(ct.exp, ct.exp)
    for op in OPERATORS.values():
        with np.errstate(all="ignore"):
            for got, a, b in zip(op(f, g)(X), f(X), g(X), strict=True):
                assert np.allclose(got, op(a, b), rtol=1e-14, equal_nan=True)
            for got, a in zip(op(f, 2.0)(X), f(X), strict=True):
                assert np.allclose(got, op(a, 2.0), rtol=1e-14, equal_nan=True)


def test_sums_of_lists() -> None:
    assert np.allclose(sum([ct.sin, ct.cos, ct.exp])(X), np.sin(X) + np.cos(X) + np.exp(X))
    assert np.allclose(ct.grad(sum([ct.sin, ct.cos]))(1.0), np.cos(1.0) - np.sin(1.0))


def test_both_spellings_are_one_word() -> None:
    for one, other in ((ct.sub, ct.subtract), (ct.div, ct.divide), (ct.pow, ct.power), (ct.neg, ct.negative)):
        assert one == other and eval(repr(other), {"ct": ct}) == other


@pytest.mark.parametrize("wrong", [True, "2", None, X, ct.sum, ct.scale(2.0)])
@pytest.mark.parametrize("symbol", OPERATORS)
def test_what_is_no_operand(symbol: str, wrong: Any) -> None:
    for call in (lambda: OPERATORS[symbol](ct.sin, wrong), lambda: OPERATORS[symbol](wrong, ct.sin)):
        with pytest.raises(ct.SpaceError, match="takes morphisms and real numbers") as caught:
            call()
        assert f"{__file__}:" in str(caught.value)


@pytest.mark.parametrize("symbol", OPERATORS)
def test_a_python_function_is_an_operand(symbol: str) -> None:
    double = lambda x: x + x  # noqa: E731
    op = OPERATORS[symbol]
    assert np.allclose(op(ct.exp, double)(X), op(np.exp(X), X + X)) and np.allclose(op(double, ct.exp)(X), op(X + X, np.exp(X)))


def test_the_star_stays_the_product_of_morphisms() -> None:
    assert (ct.sin * ct.cos)(0.0, 0.0) == (0.0, 1.0)
    for wrong in (2.0, X, ct.sum):
        with pytest.raises(ct.SpaceError, match=r"\(x, y\) to \(f\(x\), g\(y\)\)") as caught:
            ct.sin * wrong  # type: ignore[operator]
        assert "2.0 * f" in str(caught.value) and "ct.fork(f, g) >> ct.mul" in str(caught.value)
