"""What a Python function that cannot be read is told: what was given, where, and what to do."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from scalar_support import define, define_without_source

import catad as ct

X = np.array([1.0, 2.0])


async def waits(x: Any) -> Any:
    return x


def yields(x: Any) -> Any:
    yield x


summed = ct.sum()

MAPS = {
    "key": (lambda x, y: max(x, y, key=abs), "max() with the argument key", "if and else"),
    "default": (lambda x, y: max((x, y), default=0.0), "max() with the argument default", "if, else"),
    "dtype": (lambda x: np.add(x, x, dtype=np.float32), "add() with the argument dtype", "convert the result"),
    "any number": (lambda *a: a[0] * a[1], "does not say how many arguments", "lambda x, y: ..."),
    "keywords": (lambda x, **more: x, "** keywords", "name its parameters"),
    "no parameter": (lambda: 1.0, "without parameters", "ct.const"),
    "async": (waits, "an async function", "plain function"),
    "generator": (yields, "yield", "plain function"),
    "sum": (lambda x: np.sum(x), "numpy.sum works on arrays", "outside the map"),
    "mean": (lambda x: x - np.mean(x), "numpy.mean works on arrays", "outside the map"),
    "linalg": (lambda x: np.linalg.norm(x), "numpy.norm works on arrays", "outside the map"),
    "array": (lambda x: np.array([x, x]), "numpy.array works on arrays", "outside the map"),
    "itself": (np.sum, "numpy.sum works on arrays", "outside the map"),
    "method": (lambda x: x.sum(), "numbers have no attribute 'sum'", "outside the map"),
    "constructor": (lambda x: ct.sum()(x), "ct.sum works on arrays", "outside the map"),
    "constructor on a number": (lambda x: ct.sum(x), "ct.sum works on arrays", "outside the map"),
    "map in a map": (lambda x: ct.map(lambda y: y * 2)(x), "ct.map works on arrays", "outside the map"),
    "morphism": (lambda x: summed(x), "a morphism works on arrays", "outside the map"),
    "operands": (lambda x: np.sin(x, x), "sin with the wrong number of operands", ""),
    "list": (lambda x: changed(x), "+= on a list", "items = items + [x]"),
}


def changed(x: Any) -> Any:
    a = [x]
    b = a
    a += [x]
    return len(b) * x


@pytest.mark.parametrize("case", MAPS)
def test_maps(case: str) -> None:
    fn, what, do = MAPS[case]
    with pytest.raises(ct.ScalarError) as caught:
        ct.map(fn)
    message = str(caught.value)
    assert what in message and do in message and __file__ in message


SHORT, LONG = (lambda a: a), (lambda a, b, c: a)


@pytest.mark.parametrize("fn", [SHORT, LONG])
@pytest.mark.parametrize(
    "make",
    [
        lambda fn: ct.fold(fn, 0.0),
        lambda fn: ct.scan(fn, 0.0),
        lambda fn: ct.histogram(fn, 0.0, 2),
        lambda fn: ct.reduce_by_index(fn, 0.0),
        lambda fn: ct.monoid(lambda a, b: a + b, 0.0, inverse=fn),
        lambda fn: ct.stencil(fn, (0, 1)),
        lambda fn: ct.generate((2, 2), fn),
        lambda fn: ct.map(LONG if fn is SHORT else fn)(X, X),
    ],
)
def test_a_wrong_number_of_parameters_names_the_function(make: Any, fn: Any) -> None:
    with pytest.raises(ct.CatadError, match=r"parameter") as caught:
        make(fn)
    assert f"<lambda> at {__file__}:{fn.__code__.co_firstlineno}" in str(caught.value)  # both stand on one line


def test_by_hand() -> None:
    with pytest.raises(ct.ArgumentError, match="one argument, and this one has 2"):
        ct.D(lambda x, y: (x * y, ct.scale(x)))
    for fn in (waits, yields):
        with pytest.raises(ct.ScalarError, match="plain function"):
            ct.D(fn)
    with pytest.raises(ct.SpaceError, match=r"returns a pair") as caught:
        ct.D(lambda x: x)(X)
    assert f"<lambda> at {__file__}" in str(caught.value)
    w = ct.D(lambda x, w=2.0: (w * x, ct.scale(0.0 * x + w)))
    assert np.array_equal(w(X), 2 * X)


def test_what_may_be_called_otherwise_is_read() -> None:
    assert ct.map(lambda x: min(x, float("inf")))(3.0) == 3.0 and ct.map(lambda x: x * float("2.5"))(2.0) == 5.0
    assert ct.fold(lambda a, b, c=0.0: a + b + c, 0.0)(X) == 3.0
    assert ct.fold(functools.partial(lambda k, a, b: k * (a + b), 1.0), 0.0)(X) == 3.0
    assert ct.fold(lambda *ab: ab[0] + ab[1], 0.0)(X) == 3.0
    items = "def f(x):\n    items = [x]\n    items = items + [2.0 * x]\n    return sum(items)\n"
    for make in (define, define_without_source):
        assert ct.map(make(items))(2.0) == 6.0
        with pytest.raises(ct.ScalarError, match=r"\+= on a list"):
            ct.map(make("def f(x):\n    items = [x] + [x]\n    items += (x,)\n    return items[2]\n"))
        with pytest.raises(ct.ScalarError, match=r"\+= on a list"):
            ct.map(make("def f(x):\n    items = HELD\n    items += (x,)\n    return items[1]\n", HELD=[1.0]))
        assert ct.map(make("def f(x):\n    items = (x,)\n    items += (x, 1.0)\n    return items[2]\n"))(3.0) == 1.0


def test_a_function_of_more_numbers_says_how_many() -> None:
    with pytest.raises(ct.ScalarError, match=r"(?s)ct.mul is called with other arguments.*33 numbers.*2 numbers"):
        ct.reduce_by_index(ct.mul, 1.0, 31)


def test_an_expression_that_python_has_no_stack_for_says_so() -> None:
    deep = define(f"def f(x):\n    return {'-' * 900}x\n")
    with pytest.raises(ct.ScalarError, match=r"(?s)nested too deeply to be read.*use local variables"):
        ct.map(deep)
    assert ct.map(define(f"def f(x):\n    return {'-' * 100}x\n"))(3.0) == 3.0
