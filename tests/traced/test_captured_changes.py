"""What a function reads from outside and somebody changes in place: an error at every call that names it, no old result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import catad as ct

A = np.array([1.0, 2.0, 3.0])
LARGE = np.ones(1 << 16)
CONFIG: dict[str, Any] = {"rate": 0.5, "weights": [1.0, 2.0], "array": np.ones(3)}
X = np.array([0.5, -1.0, 2.0])


class Holder:
    def __init__(self) -> None:
        self.w = np.ones(3)


HOLDER = Holder()


def an_array(x: Any) -> Any:
    return A * x


def a_part_of_a_large_one(x: Any) -> Any:
    return LARGE[:3] * x


def a_number_in_a_dict(x: Any) -> Any:
    return CONFIG["rate"] * x


def a_list_in_a_dict(x: Any) -> Any:
    return CONFIG["weights"][1] * x


def an_array_in_a_dict(x: Any) -> Any:
    return CONFIG["array"] * x


def an_attribute(x: Any) -> Any:
    return HOLDER.w * x


CASES: dict[str, tuple[Any, Any, Any, Any, str]] = {  # the function, the place, its key, another value, the name
    "an array": (an_array, A, 0, 5.0, "A"),
    "the sign of a zero": (an_array, A, 1, -0.0, "A"),
    "not a number": (an_array, A, 1, np.nan, "A"),
    "a large array": (a_part_of_a_large_one, LARGE, 2, 5.0, "LARGE"),
    "a number in a dict": (a_number_in_a_dict, CONFIG, "rate", 0.25, "CONFIG"),
    "a list in a dict": (a_list_in_a_dict, CONFIG["weights"], 1, 7.0, "CONFIG"),
    "an array in a dict": (an_array_in_a_dict, CONFIG["array"], 1, 7.0, "CONFIG"),
    "an attribute": (an_attribute, HOLDER.w, 1, 7.0, "HOLDER.w"),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("use", ["value", "gradient", "derivative", "inside"])
def test_a_change_in_place_is_named_at_the_next_call(name: str, use: str) -> None:
    fn, place, key, value, said = CASES[name]
    f = ct.function(fn)
    uses: dict[str, Callable[[], Any]] = {
        "value": lambda: f(X), "gradient": lambda: ct.vjp(f, X)[1](X), "derivative": lambda: ct.jvp(f, X, X),
        "inside": lambda: ct.function(lambda x: f(x) + 1.0)(X),
    }  # fmt: skip
    run = uses[use]
    run(), run()
    before = place[key]
    try:
        place[key] = value
        with pytest.raises(ct.TraceError, match="has changed since it was traced") as caught:
            run()
        assert f"given:    {said}\n" in str(caught.value)
    finally:
        place[key] = before
    run()  # it is what it was


def test_what_the_program_holds_is_a_copy() -> None:
    p = ct.function(an_array).at(X)
    before = A[0]
    try:
        A[0] = 5.0
        np.testing.assert_array_equal(p(X), [0.5, -2.0, 6.0])
        np.testing.assert_array_equal(ct.function(lambda x: A * x)(X), [2.5, -2.0, 6.0])
        np.testing.assert_array_equal(ct.function(an_array)(X), [2.5, -2.0, 6.0])
    finally:
        A[0] = before


def test_a_closure_that_is_changed_in_place() -> None:
    w = np.ones(3)

    def fn(x: Any) -> Any:
        return w * x

    f, g = ct.function(fn), ct.function(fn, free=("w",))
    f(X)
    np.testing.assert_array_equal(g(w, X), X)
    w *= 2.0
    with pytest.raises(ct.TraceError, match="has changed"):
        f(X)
    np.testing.assert_array_equal(g(w, X), 2.0 * X)
    np.testing.assert_array_equal(ct.function(fn)(X), 2.0 * X)


def test_a_list_that_the_function_fills_is_a_log() -> None:
    seen: list[int] = []

    def fn(x: Any) -> Any:
        seen.append(len(x))
        return x * 2.0

    f = ct.function(fn)
    for n in (1, 2, 1, 3):
        f(np.ones(n))
    seen.clear()
    np.testing.assert_array_equal(f(np.ones(2)), [2.0, 2.0])


# -- arrays that nobody can write to


def read_only(*numbers: float) -> Any:
    made = np.array(numbers)
    made.flags.writeable = False
    return made


def test_arrays_that_nobody_can_write_to_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    from catad.traced import mutation_checks

    weights = [read_only(1.0, 2.0, 3.0), np.ones(3)]
    f = ct.jacobian(ct.function(lambda x: weights[0] * weights[1] * x), result="array")
    for _ in range(2):
        assert np.array_equal(f(X), np.diag(weights[0]))
    compared, original = [], mutation_checks.same_bits
    monkeypatch.setattr(mutation_checks, "same_bits", lambda a, b: compared.append(a) or original(a, b))
    f(X)
    assert [one is weights[1] for one in compared] == [True]


@pytest.mark.parametrize("which", [0, 1])
def test_an_array_that_changes_and_is_closed_then_is_named(which: int) -> None:
    """What was written before an array was closed, or stands in its place, is no old result."""
    weights = [read_only(1.0, 2.0, 3.0), np.ones(3)]
    f = ct.jacobian(ct.function(lambda x: weights[0] * weights[1] * x), result="array")
    f(X), f(X)
    if which:
        weights[1][0] = 7.0
        weights[1].flags.writeable = False
    else:
        weights[0] = read_only(1.0, 2.0, 4.0)
    with pytest.raises(ct.TraceError, match="weights"):
        f(X)


def test_one_array_that_changes_and_is_closed_then_is_named() -> None:
    w = np.ones(1 << 14)
    f = ct.jacobian(ct.function(lambda x: w[:3] * x), result="array")
    f(X), f(X)
    w[2] = 5.0
    w.flags.writeable = False
    with pytest.raises(ct.TraceError, match="w"):
        f(X)


log = [1.0]  # has the name of np.log, which a function may ask for


def test_a_global_with_the_name_of_an_attribute_is_not_read() -> None:
    f = ct.function(lambda x: np.log(x * x))
    before = f(X)
    log.append(2.0)
    assert np.array_equal(f(X), before) and np.array_equal(before, np.log(X * X))


def test_a_global_that_an_inner_function_reads_is_read() -> None:
    def outer(x: Any) -> Any:
        def inner(y: Any) -> Any:
            return y * log[0]

        return inner(np.log(x * x))

    f = ct.function(outer)
    f(X)
    log[0] = 3.0
    with pytest.raises(ct.TraceError, match="log"):
        f(X)
