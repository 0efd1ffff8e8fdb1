"""`int`, `operator.index`, `float`, `round` and `math.floor` of traced numbers are numbers of the program."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from operator import index as position
from typing import Any

import numpy as np
import pytest

import catad as ct
from tests.traced.harness import check

X = np.array([1.3, 4.7, -2.6, 3.2, 0.9, 2.5, -0.4, 5.1])
to_int = int


def at_the_largest(x: Any) -> Any:
    k = int(np.argmax(x))
    return x[k] * x[-k]


def by_index(x: Any) -> Any:
    return x[operator.index(np.argmax(x))] + x[position(np.argmin(x))]


def cut_towards_zero(x: Any) -> Any:
    return [int(v) for v in x], [int(v > 1) for v in x], int(x[1]) + x


def under_other_names(x: Any) -> Any:
    return x * to_int(x[1]), list(map(int, x)), functools.partial(int)(x[2]), max(x, key=int)


def floats_of_integers(x: Any) -> Any:
    k = np.argmax(x)
    return float(k) / 2 * x, float(x[0]), float(int(x[1])) * x.astype(np.float32)


def rounded(x: Any) -> Any:
    return round(x[5]), round(x[1]) * x.astype(np.float32), round(np.argmax(x)), round(x[0], 1), round(int(x[1]))


def of_math(x: Any) -> Any:
    return math.floor(x[2]), math.ceil(x[2]), math.trunc(x[2]), x[math.floor(x[0])] * math.ceil(x[3])


def weak(x: Any) -> Any:
    return int(np.argmax(x)) * x.astype(np.float32), isinstance(int(x[1]), int), int(x[1]) // 2, int(x[1]) / 8, -int(x[2])


def of_a_short_integer(x: Any) -> Any:
    k = x.astype(np.int8)
    return int(k[1]) * 100, x[int(k[0]) : int(k[3])].sum()


def as_bounds(x: Any) -> Any:
    n = int(x[1])
    return x[:n].sum(), x[int(x[0]) : n] @ x[int(x[0]) : n], x[int(x[2]) :].sum()


def in_a_loop(x: Any) -> Any:
    y = np.zeros_like(x)
    for i in range(20):
        k = int(x[i % 8] * x[i % 8]) % 8
        y[k] += x[i % 8] * int(i)
    return y


def in_one_side(x: Any) -> Any:
    if x[0] > 1:
        k, y = int(x[1]), x
    else:
        k, y = 0, x * 2
    return x[k] * y, k


def while_it_is_large(x: Any) -> Any:
    total, y = 0.0, x[1] * 9
    while int(y) > 3:
        y = y / 2
        total = total + y * int(y)
    return total


def as_a_range(x: Any) -> Any:
    total = 0.0
    for k in range(int(x[1])):
        total = total + x[k] * k
    for k in range(int(x[0]), int(x[7]), 2):
        total = total * x[k]
    return total


def of_constants(x: Any) -> Any:
    k = int(np.array(2.7))
    return np.zeros(k), [0.0] * int(np.float64(3.0)), x[operator.index(np.int32(1))]


PROGRAMS = [
    at_the_largest, by_index, cut_towards_zero, under_other_names, floats_of_integers, rounded, of_math, weak, of_a_short_integer,
    as_bounds, in_a_loop, in_one_side, while_it_is_large, as_a_range, of_constants,
]  # fmt: skip


@pytest.mark.parametrize("engine", ["reference", "cpu", "auto"])
@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
def test_numbers_are_those_of_python(fn: Callable[[Any], Any], engine: Any) -> None:
    with ct.use_engine(engine):
        check(fn, X)


def test_floats_that_are_no_integers_are_as_in_astype() -> None:
    f = ct.function(lambda x: int(x[0]))
    found = [f(np.array([v])) for v in (2.0**70, -(2.0**70), np.inf, np.nan)]
    assert found == [2**63 - 1, -(2**63), 2**63 - 1, -(2**63)]
    with pytest.raises(ct.IndexRangeError):
        ct.function(lambda x: x[int(x[0])])(np.array([np.nan, 1.0]))


@pytest.mark.parametrize("convert", [int, float, operator.index, math.floor])
def test_arrays_with_axes_are_refused_as_in_numpy(convert: Callable[[Any], Any]) -> None:
    x = np.ones(1, int)
    for fn in (lambda a: convert(a), lambda a: a * convert(a)):
        with pytest.raises(TypeError) as theirs:
            fn(x)
        with pytest.raises(TypeError) as mine:
            ct.function(fn)(x)
        assert str(theirs.value) in str(mine.value)
    with pytest.raises(TypeError, match="scalar index"):
        ct.function(lambda a: operator.index(a[0]))(np.ones(2))
