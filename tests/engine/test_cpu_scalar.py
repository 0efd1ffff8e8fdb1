"""Random scalar functions on compiled code: number for number what plain Python gives for each element."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import catad as ct

from .cpu_support import SPECIAL, assert_near, assert_same, define, functions, on

POINTS = list(itertools.product(SPECIAL, SPECIAL))


def python(fn, xs, ys):
    """Plain Python on each element; min, max and abs are Python's, arithmetic is that of the dtype."""
    kind = xs.dtype.type
    with np.errstate(all="ignore"):
        rows = [fn(x, y) for x, y in zip(xs, ys, strict=True)]
    return [np.array([kind(row[k]) for row in rows], xs.dtype) for k in range(2)]


def columns(dtype):
    with np.errstate(over="ignore"):
        return [np.array(column).astype(dtype) for column in zip(*POINTS, strict=True)]


@given(functions(), st.sampled_from([np.float64, np.float32]))
def test_compiled_code_is_python_on_each_element(source, dtype):
    fn = define(source)
    xs, ys = columns(dtype)
    assert_same(on("cpu", ct.map(fn), (xs, ys)), python(fn, xs, ys), source)


@given(functions(nesting=1), st.sampled_from([np.float64, np.float32]))
def test_value_tangent_and_cotangents_are_those_of_the_reference(source, dtype):
    fn = ct.map(define(source))
    rng = np.random.default_rng(1)
    x, v, w = (tuple(rng.uniform(0.3, 2.0, 70).astype(dtype) for _ in range(2)) for _ in range(3))
    with np.errstate(all="ignore"):
        assert_near(on("cpu", ct.tangent(fn), (x, v)), on("reference", ct.tangent(fn), (x, v)), note=source)
        back = ct.reverse_differential(fn)
        assert_near(on("cpu", back, (x, w)), on("reference", back, (x, w)), note=source)


WORDS = {  # ulp in which compiled code and the reference may differ: each is within 2 of the true value, libm within 1
    **dict.fromkeys(("exp", "log", "expm1", "log1p", "sin", "cos", "tan", "tanh", "sigmoid", "erf", "atan"), 3),
    **dict.fromkeys(("sqrt", "abs", "neg", "floor", "ceil"), 0),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", WORDS)
def test_words_agree_with_the_reference_on_special_and_random_numbers(name, dtype):
    word = getattr(ct, name)
    rng = np.random.default_rng(2)
    with np.errstate(all="ignore"):
        x = np.concatenate([np.array(SPECIAL), rng.normal(0, 1, 500), rng.normal(0, 40, 500)]).astype(dtype)
    (got,), (want,) = on("cpu", word, x), on("reference", word, x)
    assert got.dtype == want.dtype
    finite = np.isfinite(want)
    assert np.array_equal(got[~finite], want[~finite], equal_nan=True)
    assert np.array_equal(np.signbit(got[want == 0]), np.signbit(want[want == 0]))
    assert np.all(np.abs(got[finite] - want[finite]) <= WORDS[name] * np.spacing(np.abs(want[finite])))


INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]


@pytest.mark.parametrize("dtype", [*INTEGERS, np.bool_, np.float32, np.float64])
def test_every_dtype_by_itself_and_beside_every_other(dtype):
    rng = np.random.default_rng(3)
    other = rng.integers(0, 2, 40)
    x = rng.integers(0, 100, 40).astype(dtype)
    f = ct.map(lambda x, y: (x + y if x < y else y, x * y, x == y, max(x, y)))
    for kind in (dtype, np.int64, np.float32, np.float64, np.bool_, np.uint8):
        y = other.astype(kind)
        assert_same(on("cpu", f, (x, y)), on("reference", f, (x, y)), (dtype, kind))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_wrap_and_divide_as_numpy_has_it(dtype):
    info = np.iinfo(dtype)
    edge = np.array([info.min, info.min + 1, 0, 1, 2, 3, 7, info.max - 1, info.max], dtype)
    x, y = (a.ravel() for a in np.meshgrid(edge, edge))
    f = ct.map(lambda x, y: (x + y, x - y, x * y, x // y, x % y, x & y, x | y, x ^ y, -x, abs(x)))
    with np.errstate(all="ignore"):
        assert_same(on("cpu", f, (x, y)), on("reference", f, (x, y)))


def test_a_branch_that_is_not_taken_does_not_poison_value_or_gradient():
    f = ct.map(lambda x: np.log(x) if x > 0.0 else 0.0 * x) >> ct.map(lambda y: 1.0 / y if y > 1.0 else y) >> ct.sum()
    x = np.array([-1.0, 0.0, 1.0, np.e, 10.0, -np.inf])
    x[5] = -3.0
    (got,) = on("cpu", ct.grad(f), x)
    assert np.isfinite(got).all()
    assert_near([got], on("reference", ct.grad(f), x))


def test_a_loop_with_a_number_of_steps_that_only_the_data_knows():
    def collatz(n: int) -> int:
        steps = 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps += 1
        return steps

    n = np.arange(1, 200)
    (got,) = on("cpu", ct.map(collatz), n)
    assert got.tolist() == [collatz(k) for k in range(1, 200)]
