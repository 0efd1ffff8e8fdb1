"""`reshape` is a view where NumPy's is one, and a copy where it is a copy; where catad does not know, reading what a write may
have changed is an error."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import catad as ct

from . import cases_mathematics, cases_orders, cases_products, cases_reductions, cases_shapes
from .harness import leaves, run_by_numpy


def merged_rows(m: Any) -> Any:
    z = m[::2, ::2][:1].reshape(-1)
    z += 2.0
    return m


def of_an_order_of_its_own(m: Any) -> Any:
    y = m.T + 1.0
    z = y.reshape(-1)
    z += 1.0
    return y


def copied(m: Any) -> Any:
    y, w = np.copy(m.T), m.T.copy()
    y.reshape(-1)[0] = 7.0
    w.reshape(-1)[0] = 7.0
    return y, w


def made_like(m: Any) -> Any:
    y, w, v = np.zeros_like(m.T), np.ones_like(m.T, order="C"), np.full_like(m.T, 2.0, shape=(2, 3), order="F")
    for one in (y, w, v):
        one.ravel()[1] = 5.0
    return y, w, v


def in_fortran_order(m: Any) -> Any:
    y, w, v = np.zeros((2, 3), order="F"), np.array(m, order="F"), m.astype(np.float32, order="F")
    for one in (y, w, v):
        one.reshape(-1)[1] = 5.0
        one.T.reshape(-1)[2] = 6.0
    return y, w, v


def converted(m: Any) -> Any:
    y, w, v, u = np.ascontiguousarray(m.T), np.asfortranarray(m), np.ascontiguousarray(m), np.asarray(m.T, order="C")
    for k, one in enumerate((y, w, v, u)):
        one[0, 0] = float(k) + 20.0
    return m, y, w, v, u, np.ascontiguousarray(m[0, 0]), np.asfortranarray(m.T) + m.T


def from_lists(m: Any) -> Any:
    y = np.array([m.T, m.T])
    y.reshape(-1)[3] = 5.0
    return y


def products(m: Any) -> Any:
    y, w = m @ m.T, np.where(m.T > 1.0, m.T, 0.0)
    y.reshape(-1)[3] = 5.0
    w.T[0, 1] = 3.0
    return y, w


def rows_of(m: Any) -> Any:
    out = np.zeros_like(m)
    for k in range(3):
        row = m[k, ::-1].reshape(3, 1)
        row *= 2.0
        out[k] = row[:, 0]
    return m, out


PROGRAMS = [
    merged_rows, of_an_order_of_its_own, copied, made_like, in_fortran_order, converted, from_lists, products, rows_of,
]  # fmt: skip


def alike(got: Any, expected: Any) -> None:
    for one, other in zip(leaves(got), leaves(expected), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_as_numpy(program: Callable[..., Any]) -> None:
    m = np.arange(9.0).reshape(3, 3)
    alike(ct.function(program)(m.copy()), program(m.copy()))


def test_what_is_not_known_is_an_error() -> None:
    """NumPy chooses the order in memory of entries at indices."""

    def f(m: Any, read: bool) -> Any:
        y = m[:, [0, 2]]
        z = y.reshape(-1)
        z[0] = 5.0
        return (y, z) if read else z

    m = np.arange(9.0).reshape(3, 3)
    made = ct.function(f, static="read")
    np.testing.assert_array_equal(made(m, False), f(m, False))
    with pytest.raises(ct.TraceError, match=r"a view or a copy(.|\n)*shape \(3, 2\)(.|\n)*\.copy\(\)"):
        made(m, True)


def test_orders_that_do_not_exist() -> None:
    m = np.ones((2, 3))
    for fn in (lambda x: x.copy(order="Z"), lambda x: np.zeros((2, 3), order="K") + x, lambda x: np.copy(x, order="B")):
        with pytest.raises(ValueError, match=r"order"):
            ct.function(fn)(m)


CASES = [
    case
    for module in (cases_shapes, cases_mathematics, cases_orders, cases_products, cases_reductions)
    for case in module.CASES
]


@pytest.mark.numpy_only
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_of_every_result(case: Any, transposed: bool) -> None:
    """What is written into a result's `reshape` stands in the result where NumPy gives a view."""

    def written(*args: Any) -> Any:
        if transposed:
            args = tuple([arg.T.copy().T if isinstance(arg, np.ndarray) or hasattr(arg, "T") else arg for arg in args])
        out = []
        for one in leaves(case[1](*args)):
            if np.ndim(one) > 1:
                one.reshape(-1)[0] = 1
                out.append(one)
        return out

    expected, wrong = run_by_numpy(written, case[2:])
    if wrong is not None or not expected:
        return
    try:
        got = ct.function(written)(*copy.deepcopy(case[2:]))
    except ct.CatadError:
        return
    for one, other in zip(got, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12, equal_nan=True)


STEPS: dict[str, Callable[[Any], Any]] = {
    "T": lambda x: x.T,
    "moved": lambda x: np.moveaxis(x, 0, -1),
    "half": lambda x: x[::2],
    "end": lambda x: x[..., x.shape[-1] > 1 :],
    "back": lambda x: x[..., ::-1],
    "row": lambda x: x[0] if x.ndim > 1 else x,
    "new axis": lambda x: x[:, None] if x.ndim < 4 else x,
    "sum": lambda x: x + x,
    "beside a vector": lambda x: x * np.arange(x.shape[-1]),
    "beside its mirror": lambda x: x - x[::-1],
    "beside a turned one": lambda x: x + (x.swapaxes(0, -1) if x.shape[0] == x.shape[-1] else x),
    "copy": lambda x: x.copy(),
    "np.copy": lambda x: np.copy(x),
    "sine": lambda x: np.sin(x),
    "ones": lambda x: np.ones_like(x),
    "cosine": lambda x: np.cos(x),
    "pairs": lambda x: x.reshape(-1, 2) if x.size % 2 == 0 else x,
    "line": lambda x: x.ravel(),
}


@given(st.lists(st.sampled_from(sorted(STEPS)), max_size=8), st.sampled_from([(2, 3, 4), (4, 4), (3, 1, 3), (2, 2, 2, 2)]))
def test_of_drawn_views(steps: list[str], shape: tuple[int, ...]) -> None:
    """Of arithmetic, views and copies the layout is known: there is no error."""

    def f(x: Any) -> Any:
        for step in steps:
            x = STEPS[step](x)
        y = x.reshape(-1)
        y += 1.0
        return x, y

    x = np.linspace(-1.0, 1.0, int(np.prod(shape))).reshape(shape)
    if np.size(f(x.copy())[0]):
        for one, other in zip(ct.function(f)(x.copy()), f(x.copy()), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-15)
