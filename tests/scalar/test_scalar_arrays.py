"""Dtypes and array code: NEP 50, masks, broadcasting, scalars, what the printed code looks like."""

import doctest
import importlib
import math
import pkgutil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scalar_support import run, same

import catad.scalar
from catad.errors import ScalarError
from catad.scalar import Function, array_function, array_source, param, read, result_types

F4, F8, I4, I8, B1 = (np.dtype(name) for name in ("float32", "float64", "int32", "int64", "bool"))


def types(fn, *dtypes):
    found = result_types(read(fn), dtypes)
    arrays = [np.ones(3, dtype) for dtype in dtypes]
    for value, dtype in zip(run(read(fn), *arrays), found, strict=True):
        assert np.asarray(value).dtype == dtype  # the code computes what the typing says
    return found[0] if len(found) == 1 else found


@pytest.mark.parametrize(
    ("fn", "dtypes", "expected"),
    [
        (lambda x: 2.0 * x + 1, [F4], F4),
        (lambda x: 2 * x, [I4], I4),
        (lambda x: 2.0 * x, [I4], F8),
        (lambda x: x / 2, [I8], F8),
        (lambda x: x / 2, [F4], F4),
        (lambda x: x // 2, [I4], I4),
        (lambda x: math.sin(x), [I4], F8),
        (lambda x: math.sin(x), [F4], F4),
        (lambda x: math.sin(x), [B1], F8),
        (lambda x: math.sin(x), [np.dtype("int8")], F8),
        (lambda x, y: x + y, [F4, F8], F8),
        (lambda x, y: x + y, [F4, I8], F8),
        (lambda x, y: x + y, [F4, B1], F4),
        (lambda x, y: x + y, [B1, B1], I8),
        (lambda x: x * np.float64(2), [F4], F8),
        (lambda x: x * math.pi, [F4], F4),
        (lambda x: 1.0 if x > 0 else 0.0, [F4], F4),
        (lambda x: (1.0 if x > 0 else 0.0) * x, [F4], F4),
        (lambda x: (1 if x > 0 else 0) * x, [F4], F4),
        (lambda x: 1 if x > 0 else 0, [F4], I8),
        (lambda x: 3.0, [F4], F4),
        (lambda x: 3.0, [I8], F8),
        (lambda x: 3, [F4], I8),
        (lambda x: True, [F4], B1),
        (lambda x: x > 0, [F4], B1),
        (lambda x: x if x > 0 else 0, [F4], F4),
        (lambda x: x if x > 0 else 0.5, [I4], F8),
        (lambda x: int(x), [F4], I8),
        (lambda x: int(x) * x, [F4], F4),
        (lambda x: x - math.floor(x), [F4], F4),
        (lambda x: np.floor(x), [F4], F4),
        (lambda x: float(x), [I4], F8),
        (lambda x: float(x), [F4], F4),
        (lambda x: np.float32(x) * 2, [F8], F4),
        (lambda x: x**2, [F4], F4),
        (lambda x: x**2, [I4], I4),
        (lambda x: x**2.0, [I4], F8),
        (lambda x: x**-1, [I4], F8),
        (lambda x: x**-5, [I4], F8),
        (lambda x, n: x**n, [F4, I4], F8),
        (lambda x, y: np.where(x > 0, x, y), [F4, I4], F8),
        (lambda x: x & 3, [I4], I4),
        (lambda x: abs(x), [I4], I4),
        (lambda x: -x, [F4], F4),
        (lambda x, y: max(x, y), [F4, F8], F8),
        (lambda x: max(x, 0.0), [F4], F4),
        (lambda x: math.ldexp(x, 3), [F4], F4),
        (lambda x: x * 1.0, [I4], F8),
        (lambda x: x * 1, [B1], I8),
        (lambda x: math.erf(x), [F4], F4),
    ],
)
def test_result_types(fn, dtypes, expected):
    assert types(fn, *dtypes) == expected


def test_loop_states_are_promoted_until_they_stay():
    def total(x):
        s = 0
        for i in range(30):
            s = s + x * i
        return s

    def late(x, y):
        a, b = x, x
        for _ in range(30):
            a, b = b, y
        return a

    def counter(x):
        n = 0
        while x > 1:
            x, n = x / 2, n + 1
        return n

    assert types(total, F4) == F4 and types(total, I4) == I4 and types(counter, F4) == I8
    assert types(late, F4, F8) == F8


def test_what_cannot_be_typed():
    def ranged(n):
        s = 0
        for i in range(n):
            s += i
        return s

    assert types(ranged, I8) == I8
    for fn, dtypes in (
        (ranged, [F8]),
        (lambda x: x & 1, [F8]),
        (lambda a, b: a**b, [I8, I8]),
        (lambda x: x, ["complex128"]),
    ):
        with pytest.raises(ScalarError):
            result_types(read(fn), dtypes)
    with pytest.raises(ScalarError):
        result_types(read(lambda x: x), [])


@settings(deadline=None)
@given(
    st.lists(st.sampled_from([F4, F8, I4, I8, B1]), min_size=2, max_size=2),
    st.sampled_from(["+", "-", "*", "/", "//", "%", "<", "==", "min", "max", "where"]),
)
def test_types_are_those_that_numpy_computes(dtypes, op):
    f = read(
        eval(
            f"lambda a, b: {op}(a, b)"
            if op in ("min", "max")
            else "lambda a, b: np.where(a > b, a, b)"
            if op == "where"
            else f"lambda a, b: a {op} b"
        )
    )
    (found,) = run(f, *(np.ones(2, dtype) for dtype in dtypes))
    assert found.dtype == result_types(f, dtypes)[0]
    if B1 not in dtypes and op in "+-*/":
        assert found.dtype == eval(f"a {op} b", {"a": np.ones(2, dtypes[0]), "b": np.ones(2, dtypes[1])}).dtype


def test_integers_compute_as_integers():
    big = np.array([2**53 + 1])
    assert run(read(lambda n: n + 2), big)[0][0] == 2**53 + 3
    assert run(read(lambda n: n * 3 // 2 % 7), np.array([-5, 5]))[0].tolist() == [-8 % 7, 0]
    assert run(read(lambda a, b: a + b + (a > b)), np.array([True]), np.array([True]))[0].tolist() == [2]


def test_whole_parts_of_large_numbers():
    x = np.array([1e300, -1e300, 2.5, -0.0])
    assert same(run(read(lambda x: x - math.floor(x)), x)[0], [0.0, 0.0, 0.5, -0.0])


def test_scalars_zero_dimensional_arrays_and_broadcasting():
    f = read(lambda x, y: x * y + (1.0 if x > y else math.sin(y)))
    expected = run(f, np.array([2.0]), np.array([0.5]))[0][0]
    for x, y in ((np.float64(2), np.float64(0.5)), (np.array(2.0), np.array(0.5)), (2.0, 0.5)):
        assert float(run(f, x, y)[0]) == expected
    assert run(f, np.ones((3, 1)), np.ones((1, 4)))[0].shape == (3, 4)
    assert run(f, np.float64(2), np.ones(5))[0].shape == (5,)
    assert run(f, np.ones((0, 2)), np.ones((0, 2)))[0].shape == (0, 2)


def test_loops_on_scalars_and_empty_arrays():
    def f(x, n):
        while x > 1:
            x, n = x / 2, n + 1
        return x, n

    g = read(f)
    assert [float(v) for v in run(g, np.float64(8), np.int64(0))] == [1.0, 3.0]
    assert [v.shape for v in run(g, np.ones(0), np.zeros(0, int))] == [(0,), (0,)]
    x, n = run(g, np.array([[8.0], [3.0]]), np.arange(3))
    assert n.tolist() == [[3, 4, 5], [2, 3, 4]] and np.broadcast_to(x, (2, 3)).tolist() == [[1.0] * 3, [0.75] * 3]


def test_inputs_are_never_modified():
    x = np.arange(5.0)
    kept = x.copy()

    def f(x):
        for _ in range(40):
            x = x * 1.5 if x < 3 else x - 1
        return x

    run(read(f), x)
    assert np.array_equal(x, kept)


def test_elements_that_never_enter_a_loop_are_not_touched():
    def halve(x):
        y = x
        if x > 0:
            while y > 1e-3:
                y = y / 2
        return y

    x = np.array([np.nan, -np.inf, -1.0, 0.0, 5.0, np.inf])
    with np.errstate(all="ignore"):
        found = run(read(halve), x[:-1])[0]
    assert same(found[:-1], x[:4]) and 0 < found[-1] <= 1e-3


def test_an_inner_loop_ends_for_elements_that_have_left_the_outer_one():
    def f(x):
        n = 0
        while x > 0:
            y = x
            while y < 10:  # never ends for x <= 0
                y = y * 2
                n += 1
            x = x - 1
        return n

    assert run(read(f), np.array([0.0, -1.0, 1.0, 2.5]))[0].tolist() == [f(0.0), f(-1.0), f(1.0), f(2.5)]


def test_data_dependent_range():
    def harmonic(n, x):
        s = x
        for k in range(1, n):
            s += 1 / k
        return s

    n = np.array([0, 1, 5, 100])
    assert np.allclose(run(read(harmonic), n, np.zeros(4))[0], [harmonic(k, 0.0) for k in n.tolist()])


def test_the_printed_code():
    one = array_source(read(lambda x, y: math.sin(x * y) + math.cos(x * y)))
    assert one.count("x0 * x1") == 1  # shared work once
    uniform = array_source(read(lambda x: sum_of(x)))
    assert "any()" not in uniform  # the same trips for all: no masks
    assert "where" not in array_source(read(lambda x: x if 3 > 2 else -x))
    assert array_function(Function.make(1, [param(0)])) is array_function(Function.make(1, [param(0)]))
    direct = array_function(read(lambda x: x * 2), ["float64"])
    assert direct(np, np.array([1.0]))[0].tolist() == [2.0]
    with pytest.raises(ScalarError):
        array_function(read(lambda x: x))(np, np.ones(1), np.ones(1))


def sum_of(x):
    s = 0.0
    for k in range(50):
        s = s + x * k
    return s


def test_variables_are_used_again():
    source = array_source(read(lambda a, b: chain(a, b)))
    assert len({line.split(" = ")[0] for line in source.splitlines()[1:-1]}) < 8


def chain(a, b):
    for _ in range(16):
        a, b = math.sin(a) * b + a, math.cos(b) - a
    return a + b


@pytest.mark.parametrize("name", [one.name for one in pkgutil.iter_modules(catad.scalar.__path__)] + [""])
def test_doctests(name):
    module = importlib.import_module(f"catad.scalar.{name}".rstrip("."))
    assert doctest.testmod(module).failed == 0
