"""Programs without variables: the same boxes, the same numbers bit by bit, and the forms that are expected of small programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.category.text import ordered
from tests.traced.cases_texts import PROGRAMS
from tests.traced.programs import leaves
from tests.traced.test_program_text import program
from tests.traced.texts import check_point_free, same_boxes

F3 = ct.f64[3]
A = np.arange(12.0).reshape(4, 3)

FORMS = [
    (lambda x: x, "ct.id"),
    (lambda x: np.sin(x) * 2, "ct.sin >> ct.times(2)"),
    (lambda x: x * x, "ct.dup >> ct.mul"),
    (lambda x: np.exp(np.sin(x) * np.sin(x)), "ct.sin >> ct.dup >> ct.mul >> ct.exp"),
    (lambda x: np.sin(x) * np.cos(x), "ct.fork(ct.sin, ct.cos) >> ct.mul"),
    (lambda x: x - x.max(), "ct.fork(ct.id, ct.max()) >> ct.sub"),
    (lambda x: (x, 2.0), "ct.fork(ct.id, ct.const(np.float64(2.0)))"),
    (lambda x: (), "ct.it"),
    (lambda x: 2.0, "ct.const(np.float64(2.0))"),
    (lambda x: 1 - x / 2, "(ct.id / 2) >> (1 - ct.id)"),
]
FORMS_OF_TWO = [
    (lambda x, y: x + y, "ct.add"),
    (lambda x, y: y - x, "ct.swap >> ct.sub"),
    (lambda x, y: (x, y), "ct.id"),
    (lambda x, y: np.sin(y), "ct.exr >> ct.sin"),
    (lambda x, y: np.tanh(y) * y, "ct.exr >> ct.fork(ct.tanh, ct.id) >> ct.mul"),
    (lambda x, y: np.sin(x) * np.cos(y), "ct.fork(ct.exl >> ct.sin, ct.exr >> ct.cos) >> ct.mul"),
    (lambda x, y: (x + y) * np.exp(x + y), "ct.add >> ct.fork(ct.id, ct.exp) >> ct.mul"),
    (lambda x, y: (x + y) * x, "ct.fork(ct.add, ct.exl) >> ct.mul"),
]


@pytest.mark.parametrize(("fn", "text"), FORMS)
def test_a_program_of_one_parameter_needs_no_projection(fn: Any, text: str) -> None:
    p = ct.function(fn).at(F3)
    assert repr(p.point_free()) == text
    check_point_free(p)


@pytest.mark.parametrize(("fn", "text"), FORMS_OF_TWO)
def test_a_variable_is_a_projection(fn: Any, text: str) -> None:
    p = ct.function(fn).at(F3 * F3)
    assert repr(p.point_free()) == text
    check_point_free(p)


def test_what_is_read_elsewhere_is_not_taken_into_a_part() -> None:
    """`h` is read outside of `z`, so it is a shared part, and not relative to anything."""

    def f(x, y):
        h = np.tanh(x)
        g = np.exp(h)
        z = h - g
        return z * g + h * y

    p = ct.function(f).at(F3 * F3)
    form = p.point_free()
    assert repr(form) == (
        "ct.fork((t1 := ct.exl >> ct.tanh) >> ct.fork(ct.fork(ct.id, ct.exp) >> ct.sub, ct.exp) >> ct.mul, "
        "ct.fork(t1, ct.exr) >> ct.mul) >> ct.add"
    )
    check_point_free(p)


def test_a_part_of_an_argument_is_one_projection() -> None:
    f = ct.function(lambda p, x: ct.mul(p["a"], p["b"]) + x)
    p = f.at({"a": A[0], "b": A[1]}, A[2])
    assert repr(p.point_free()) == "ct.fork(ct.exl >> ct.mul, ct.exr) >> ct.add"


def test_a_function_inside_has_no_variables_either() -> None:
    g = ct.function(lambda u, v: np.sin(u) * v)
    p = ct.function(lambda x: g(x, g(x, x))).at(F3)
    assert "function" not in repr(p.point_free())
    check_point_free(p)


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_the_numbers_are_the_same_bit_by_bit(name: str) -> None:
    p = program(name)
    x = (np.array([1.5, 0.7, 0.2]), np.array([-0.4, 0.3, 2.0]), np.arange(20.0).reshape(4, 5) / 9, np.int64(2))
    with ct.use_engine("reference"), np.errstate(all="ignore"):
        one, other = p(*x), p.point_free()(*x)
    for a, b in zip(leaves(one), leaves(other), strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def shapes_of_graphs() -> dict[str, Any]:
    """Programs of n steps whose values are read near by, far away, and everywhere."""

    def chain(x, n):
        for _ in range(n):
            x = np.sin(x) + 0.5
        return x

    def diamonds(x, n):
        for _ in range(n):
            x = np.sin(x) * np.cos(x)
        return x

    def sum_of_all(x, n):
        s = x
        for _ in range(n):
            x = np.sin(x)
            s = s + x
        return s

    def divided_by_the_last(x, n):
        steps = [x]
        for _ in range(n):
            steps.append(np.sin(steps[-1]))
        return sum(u / steps[-1] for u in steps)

    def there_and_back(x, n):
        steps = [x]
        for _ in range(n):
            steps.append(np.sin(steps[-1]))
        v = steps[-1]
        for u in reversed(steps):
            v = np.cos(v) * u
        return v

    return {f.__name__: f for f in (chain, diamonds, sum_of_all, divided_by_the_last, there_and_back)}


@pytest.mark.parametrize("name", shapes_of_graphs())
def test_a_long_program_has_a_form_of_its_own_length(name: str) -> None:
    fn = shapes_of_graphs()[name]
    sizes = {}
    for n in (100, 400):
        p = ct.function(lambda x: fn(x, n), unroll=10**9).at(F3)  # noqa: B023
        form = p.point_free()
        sizes[n] = len(ordered(form)), len(repr(form))
        check_point_free(p)
    assert all(long <= 6 * short for short, long in zip(sizes[100], sizes[400], strict=True)), sizes


def test_a_thousand_lines_meet_no_limit() -> None:
    p = ct.function(lambda x, w: shapes_of_graphs()["there_and_back"](x * w, 400), unroll=10**9).at(F3 * F3)
    assert len(p.children) > 1000
    form = p.point_free()
    assert same_boxes(ct.wire(p, p.dom), ct.wire(form, p.dom)) and form == p.point_free()
