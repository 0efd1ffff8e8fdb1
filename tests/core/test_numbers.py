"""Python numbers beside arrays, truth values on wires, sums of integers: NumPy's meaning, or an error with a name."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import catad as ct

WHOLE = [np.dtype(code) for code in "bBhHiIqQ"]
NO_MAP = ct.linear.zero(ct.Unit, ct.Unit)
pytestmark = pytest.mark.numpy_only


@pytest.fixture(params=["reference", "cpu"], autouse=True)
def engine(request: Any) -> Any:
    with ct.use_engine(request.param):
        yield


def on_wires(fn: Callable[[Any], Any]) -> ct.D:
    """The function traced on wires; opaque code is an error here."""

    def checked(x: Any) -> Any:
        assert not isinstance(x, np.ndarray), "not traced"
        return fn(x), NO_MAP

    return ct.D(checked)


@pytest.mark.quick(60)
@pytest.mark.parametrize("dtype", WHOLE, ids=str)
@pytest.mark.parametrize("number", [1, 300, -1, True, 2**40, 1.5])
@pytest.mark.parametrize("op", ["add", "mul"])
def test_a_python_number_beside_integers_is_weak_as_in_numpy(op: str, number: Any, dtype: np.dtype) -> None:
    x = np.array([1, 2], dtype)
    python = getattr(operator, op)
    try:
        want = python(x, number)
    except OverflowError:
        for call in (lambda: getattr(ct, op)(x, number), lambda: ct.map(lambda a: a + 2**40)(x.astype(np.int8))):
            with pytest.raises(ct.NumberRangeError, match="does not fit"):
                call()
        if (op, number) != ("mul", -1):  # on wires that is the negative, which unsigned integers have
            with pytest.raises(ct.NumberRangeError):
                on_wires(lambda t: python(t, number))(x)
        return
    found = [getattr(ct, op)(x, number), getattr(ct, op)(number, x)]
    found += [on_wires(lambda t: python(t, number))(x)] if want.dtype.kind != "f" else []
    for got in found:
        assert got.dtype == want.dtype and np.array_equal(got, want)


def test_a_number_alone_must_fit() -> None:
    with pytest.raises(ct.NumberRangeError, match="int64"):
        ct.sin(2**70)
    with pytest.raises(OverflowError):
        ct.add(np.float32(1.0), 2**2000)


COMPARED: dict[str, Callable[[Any], Any]] = {
    "==": lambda t: t == 2,
    "!=": lambda t: t != 2,
    "== of wires": lambda t: t == t,
    "a number first": lambda t: 2 == t,  # noqa: SIM300
    "an array first": lambda t: np.arange(3) == t,
    "NumPy's": lambda t: np.equal(t, 2),
    "< of a large number": lambda t: t < 2**40,
    "!= of a product": lambda t: t * t != 4,
    "a choice": lambda t: (t == 2) * t,
}
TRUTH: dict[str, Callable[[Any], Any]] = {
    "+": lambda t: t + t,
    "*": lambda t: t * t,
    "+ True": lambda t: t + True,
    "True *": lambda t: True * t,
    "+ 1": lambda t: t + 1,
    "* 2": lambda t: t * 2,
    "abs": lambda t: abs(t),
    "np.add": lambda t: np.add(t, t),
    "np.multiply": lambda t: np.multiply(t, np.array([True, True, False])),
    "==": lambda t: t == t,
    "!=": lambda t: t != True,  # noqa: E712
    "-": lambda t: t - t,
    "negative": lambda t: -t,
    "np.subtract": lambda t: np.subtract(t, True),
}


@pytest.mark.parametrize("name", COMPARED)
def test_comparisons_of_wires_are_element_by_element(name: str) -> None:
    for x in (np.array([1, 2, 2]), np.array([1, 2, 3], np.int8)):
        want, got = COMPARED[name](x), on_wires(COMPARED[name])(x)
        assert np.array_equal(got, want) and got.dtype == want.dtype


def test_a_morphism_by_hand_may_compare() -> None:
    f = ct.D(lambda x: (x * (x == 2.0), ct.scale((x == 2.0) * 1.0)))
    x = np.array([1.0, 2.0, 3.0])
    assert f(x).tolist() == [0.0, 2.0, 0.0] and ct.grad(f >> ct.sum())(x).tolist() == [0.0, 1.0, 0.0]


@pytest.mark.parametrize("name", TRUTH)
def test_truth_values_on_wires_mean_what_they_do_in_numpy(name: str) -> None:
    x = np.array([True, False, True])
    try:
        want = TRUTH[name](x)
    except TypeError:
        with pytest.raises(ct.ScalarError, match="truth values"):
            on_wires(TRUTH[name])(x)
        return
    got = on_wires(TRUTH[name])(x)
    assert got.dtype == want.dtype and np.array_equal(got, want)


def test_equal_layouts_are_still_found() -> None:
    f = ct.sin >> ct.exp
    shared = ct.fork(f, f >> ct.fork(ct.id, ct.id) >> ct.exl)
    assert len(ct.wire(shared, ct.f64[3]).boxes) == 2
    nested = ct.fork(ct.cross(ct.id, ct.id) >> ct.exl, ct.cross(ct.id, ct.id) >> ct.exr)
    assert nested.spaces((ct.f64[2] * ct.f64[3]) * ct.f64[4]) == (ct.f64[2] * ct.f64[3]) * ct.f64[4]


@pytest.mark.quick(8)
@pytest.mark.parametrize("dtype", [*WHOLE, np.dtype(bool), np.dtype(np.float32)], ids=str)
def test_sums_have_the_dtype_of_numpy(dtype: np.dtype) -> None:
    x = (np.arange(1200).reshape(300, 4) % 120).astype(dtype)
    for axis, keepdims in ((None, False), (0, False), (1, True), ((0, 1), False)):
        want, got = x.sum(axis=axis, keepdims=keepdims), ct.sum(axis=axis, keepdims=keepdims)(x)
        assert got.dtype == want.dtype and np.array_equal(got, want)
    assert ct.sum()(x[:0]).dtype == x.sum().dtype and ct.sum()(x[:0]) == 0


def test_a_fold_keeps_the_dtype_of_its_elements() -> None:
    x = np.array([100, 27], np.int8)
    for f in (ct.fold(ct.add, 0), ct.fold(lambda a, b: a + b, 0)):
        assert f(x).dtype == np.int8 and f(x) == 127
        assert eval(repr(f), {"ct": ct}) == f


@pytest.mark.parametrize(
    ("dtype", "value"),
    [("i1", 0.5), ("i1", np.nan), ("i1", np.inf), ("i1", 300), ("u1", -1), ("?", 2), ("i8", 2.0**63), ("u8", 1e30)],
)
def test_what_is_put_in_must_fit(dtype: str, value: float) -> None:
    with pytest.raises(ct.NumberRangeError, match="cannot hold the fill value"):
        ct.pad(1, 0, value)(np.ones(3, dtype))


def test_what_fits_is_put_in() -> None:
    assert ct.pad(1, 1, 3.0)(np.ones(1, np.int8)).tolist() == [3, 1, 3]
    assert ct.pad(0, 1, True)(np.zeros(1, bool)).tolist() == [False, True]
    assert np.isnan(ct.pad(1, 0, np.nan)(np.ones(1, np.float32))[0])
    for wrong in (1j, "0", None):
        with pytest.raises(ct.CatadError):
            ct.pad(1, 0, wrong)  # type: ignore[arg-type]


LARGE: dict[str, Callable[[], Any]] = {
    "iota": lambda: ct.iota(2**63)(()),
    "iota, bytes": lambda: ct.iota(2**62)(()),
    "generate": lambda: ct.generate(2**63, lambda i: i)(()),
    "a space": lambda: ct.Tensor((2**63,), "float64"),
    "replicate": lambda: ct.replicate(2**63)(1.0),
    "broadcast_to": lambda: ct.broadcast_to((2**63, 2))(1.0),
    "histogram": lambda: ct.histogram(ct.add, 0.0, 2**63)(np.array([0]), np.array([1.0])),
    "an empty one": lambda: ct.Tensor((0, 2**63), "float64"),
}


@pytest.mark.parametrize("name", LARGE)
def test_a_size_beyond_memory_is_an_error_with_a_name(name: str) -> None:
    with pytest.raises(ct.CatadError, match="2\\*\\*63"):
        LARGE[name]()


TANGENTS = [(), None, 0, 0.0, False, np.zeros(3), np.zeros(3, int), np.zeros(3, bool)]
NO_TANGENTS: list[Any] = ["nonsense", 1, 1.0, np.ones(3), np.zeros(4), np.zeros(()), [0, 0, 0], ((),), (0.0,), np.nan, object()]


def test_integers_have_no_tangent_but_zero() -> None:
    x, i, f = np.arange(3.0), np.array([2, 0, 1]), ct.cross(ct.id, ct.id)
    _, back = ct.vjp(f, x, i)
    _, whole = ct.vjp(ct.astype(np.int32), 1.5)
    for zero in TANGENTS:
        assert back((np.ones(3), zero))[1] == () and ct.jvp(f, (x, i), (x, zero))[1][1] == ()
    for zero in ((), None, 0, np.int32(0)):
        assert whole(zero) == (0.0,)
    for other in NO_TANGENTS:
        with pytest.raises(ct.SpaceError):
            back((x, other))
        with pytest.raises(ct.SpaceError):
            ct.jvp(f, (x, i), (x, other))
    for other in ("nonsense", 1, 0.5, np.ones(()), np.zeros(3), [0], ((),)):
        with pytest.raises(ct.SpaceError):
            whole(other)
