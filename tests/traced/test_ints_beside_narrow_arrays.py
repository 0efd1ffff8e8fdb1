"""A Python int that meets narrower integers within a function is NumPy's: the number, or an OverflowError."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.vector.pointwise.same_value import Fits

from .programs import outcome


def written(x: Any, n: int) -> Any:
    y = x.copy()
    y[1] = n
    return y


def counted(x: Any, n: int) -> Any:
    for i in range(n - 2, n):
        x = x + i
    return x


def chosen(x: Any, n: int) -> Any:
    return np.where(x > 1, x, n)


FUNCTIONS: list[Callable[[Any, int], Any]] = [
    lambda x, n: x + n, lambda x, n: n * x, lambda x, n: x - (n + 1), lambda x, n: np.maximum(x, n), lambda x, n: x == n,
    lambda x, n: np.sum(x) + n, written, counted, chosen,
]  # fmt: skip


@pytest.mark.quick(60)
@pytest.mark.parametrize("engine", ["reference", "cpu"])
@pytest.mark.parametrize("number", [3, 127, 128, 300, -1, -129, 2**40, -(2**62)])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("k", range(len(FUNCTIONS)))
def test_as_in_numpy(k: int, dtype: str, number: int, engine: str) -> None:
    x, fn = np.arange(4).astype(dtype), FUNCTIONS[k]
    with np.errstate(all="ignore"):
        kind, wanted = outcome(fn, (x.copy(), number))
    with ct.use_engine(engine):
        if kind == "error":
            with pytest.raises(OverflowError):
                ct.function(fn)(x, number)
        else:
            found = ct.function(fn)(x, number)
            assert found.dtype == wanted.dtype and np.array_equal(found, wanted)


@pytest.mark.parametrize("engine", ["reference", "cpu"])
def test_a_second_call_is_checked_as_the_first_one(engine: str) -> None:
    f = ct.function(lambda x, n: x + n)
    x = np.arange(4, dtype=np.int8)
    with ct.use_engine(engine):
        assert f(x, 3).tolist() == [3, 4, 5, 6]
        for number in (128, 300, -129):
            with pytest.raises(ct.errors.NumberRangeError, match=str(number)):
                f(x, number)
    assert "same_value" in str(f.at(x, 3))


def test_the_conversion_alone() -> None:
    f = ct.astype("int8", casting="same_value")
    assert f(np.array([127, -128])).dtype == np.int8 and eval(repr(f), {"ct": ct}) == f
    with pytest.raises(ct.errors.NumberRangeError, match="128"):
        f(np.array([3, 128]))
    with pytest.raises(ct.errors.NumberRangeError, match="18446744073709551615"):
        ct.astype("int64", casting="same_value")(np.array([2**64 - 1], np.uint64))
    with pytest.raises(ct.SpaceError, match="integers to integers"):
        f(1.5)
    with pytest.raises(ct.errors.ArgumentError, match="casting"):
        ct.astype("int8", casting="safe")  # type: ignore[arg-type]
    assert not any(isinstance(one.primitive, Fits) for one in ct.wire(ct.astype("int64", casting="same_value"), ct.i8[3]).boxes)


@pytest.mark.parametrize("engine", ["reference", "cpu"])
def test_of_many_numbers_and_lanes(engine: str) -> None:
    rng = np.random.default_rng(1)
    for dtype in ("int8", "uint16", "uint64"):
        info = np.iinfo(dtype)
        x = rng.integers(max(info.min, -(2**63)), min(info.max, 2**63 - 1), 50)
        f = ct.vmap(ct.astype(dtype, casting="same_value"))
        with ct.use_engine(engine):
            assert np.array_equal(f(x), x.astype(dtype))
            if info.min == 0:
                with pytest.raises(ct.errors.NumberRangeError, match="-1"):
                    f(np.array([3, -1]))
