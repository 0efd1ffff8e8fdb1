"""`sort` and `argsort` against NumPy and plain Python, and their derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import catad as ct
from catad.linear.families.gather import Gather
from catad.testing import check_grads, check_laws

from .explicit import check_derivatives

ARRAYS = hnp.arrays(
    np.float64,
    hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=4),
    elements=st.sampled_from([0.0, -0.0, 1.0, 2.0, -3.5, np.inf, -np.inf, np.nan]),
)


def positions(row: list[float]) -> list[int]:
    """A stable order, NaN last, by Python's own sort."""
    return sorted(range(len(row)), key=lambda k: (np.isnan(row[k]), 0.0 if np.isnan(row[k]) else row[k]))


@given(ARRAYS, st.data())
def test_against_a_loop_over_rows(x: Any, data: st.DataObject) -> None:
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    order, ordered = ct.argsort(axis)(x), ct.sort(axis)(x)
    assert order.shape == ordered.shape == x.shape and order.dtype == np.int64
    rows, places, results = (np.moveaxis(a, axis, -1) for a in (x, order, ordered))
    for at in np.ndindex(rows.shape[:-1]):
        want = positions(rows[at].tolist())
        assert places[at].tolist() == want
        assert rows[at][want].tobytes() == results[at].tobytes()  # signed zeros and NaN, too


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint16, np.int32, np.int64, np.float32, np.float64])
def test_every_dtype_stays(dtype: Any) -> None:
    x = np.array([3, 0, 1, 1, 0, 2]).astype(dtype)
    got = ct.sort()(x)
    assert got.dtype == dtype and np.array_equal(got, np.sort(x, kind="stable"))
    assert np.array_equal(ct.argsort()(x), np.argsort(x, kind="stable"))
    assert ct.sort().spaces(ct.space_of(x)) == ct.space_of(x)


def test_the_argument_is_not_modified() -> None:
    x = np.array([3.0, 1.0, 2.0])
    ct.sort()(x), ct.argsort()(x)
    assert np.array_equal(x, [3, 1, 2])


@pytest.mark.quick(3)
@pytest.mark.parametrize(("shape", "axis"), [((6,), -1), ((6,), 0), ((3, 4), 0), ((3, 4), -1), ((2, 3, 2), 1), ((1,), 0)])
def test_derivatives(shape: tuple[int, ...], axis: int) -> None:
    x = np.random.default_rng(1).permutation(np.arange(1.0, 1.0 + np.prod(shape))).reshape(shape) / 10
    check_derivatives(ct.sort(axis), x)
    check_derivatives(ct.map(lambda t: t * t) >> ct.sort(axis) >> ct.sin, x)
    check_grads(ct.sort(axis) >> ct.exp, x, order=3)


def test_the_jacobian_is_a_gather_by_argsort() -> None:
    x = np.random.default_rng(2).standard_normal((3, 5))
    for mode in ("auto", "forward", "reverse"):
        J = ct.jacobian(ct.sort(0), mode)(x)
        assert isinstance(J.structure, Gather) and J.kind == "gather" and J.stored == x.size and J.nnz == x.size
        assert np.array_equal(J.slots[0], np.argsort(x, axis=0, kind="stable"))
    matrix = J.tocsr()
    assert matrix.nnz == x.size and np.array_equal((matrix @ matrix.T).toarray(), np.eye(x.size))  # a permutation
    weighted = ct.jacobian(ct.sin >> ct.sort() >> ct.exp)(x)
    assert weighted.kind == "weighted gather" and weighted.stored == 2 * x.size


def test_ties_keep_their_order_in_the_derivative() -> None:
    x = np.array([2.0, 1.0, 2.0, 1.0, -0.0, 0.0])
    v = np.arange(6.0)
    assert np.array_equal(ct.jvp(ct.sort(), (x,), (v,))[1], [4, 5, 1, 3, 0, 2])
    assert np.array_equal(ct.vjp(ct.sort(), x)[1](v)[0], [4, 2, 5, 3, 0, 1])


def test_nan_stays_last_in_the_derivative() -> None:
    x = np.array([np.nan, 1.0, np.inf, -1.0, np.nan])
    assert np.array_equal(ct.jvp(ct.sort(), (x,), (np.arange(5.0),))[1], [3, 1, 2, 0, 4])


def test_order_statistics() -> None:
    """The gradient of a quantile is one-hot; that of a trimmed mean is flat within."""
    x = np.array([5.0, 1.0, 4.0, 2.0, 3.0])
    assert np.array_equal(ct.grad(ct.sort() >> ct.slice(2, 3) >> ct.sum())(x), [0, 0, 0, 0, 1])
    trimmed = ct.sort() >> ct.slice(1, 4) >> ct.sum() >> ct.times(1 / 3)
    assert np.allclose(ct.grad(trimmed)(x), np.array([0, 0, 1, 1, 1]) / 3, rtol=1e-15)


def test_float32_and_the_derivative_of_integers() -> None:
    x = np.array([3.0, 1.0, 2.0], np.float32)
    y, dy = ct.jvp(ct.sort(), (x,), (x,))
    assert y.dtype == dy.dtype == np.float32 and np.array_equal(dy, [1, 2, 3])
    assert ct.vjp(ct.sort(), x)[1](x)[0].dtype == np.float32
    assert ct.jvp(ct.argsort(), (x,), (x,))[1] == ()
    check_laws(ct.sort(), x, order=1)


@pytest.mark.parametrize("shape", [(0,), (1,), (0, 3), (3, 0), (2, 1)])
def test_empty_and_single(shape: tuple[int, ...]) -> None:
    x = np.ones(shape)
    for axis in range(len(shape)):
        assert ct.sort(axis)(x).shape == shape and ct.argsort(axis)(x).shape == shape
        assert np.array_equal(ct.vjp(ct.sort(axis), x)[1](x)[0], x)
        assert ct.jacobian(ct.sort(axis))(x).todense().shape == (*shape, *shape)


def test_batching() -> None:
    x = np.random.default_rng(3).standard_normal((2, 3, 4))
    for f in (ct.sort(), ct.argsort()):
        assert np.array_equal(ct.map(f)(x), f(x)) and np.array_equal(ct.map(ct.map(f))(x), f(x))
    assert np.array_equal(ct.map(ct.sort(0))(x), np.sort(x, axis=1))
    check_derivatives(ct.map(ct.sort(0)) >> ct.sin, x)


def test_laws() -> None:
    check_laws(ct.sort(), np.array([3.0, 1.0, 2.0, 1.0]), exact=True)
    check_laws(ct.sin >> ct.sort(0), np.random.default_rng(4).standard_normal((3, 2)))
    check_laws(ct.argsort(), np.array([3.0, 1.0, 2.0]), exact=True)
    by_key = ct.fork(ct.exr, ct.exl >> ct.argsort()) >> ct.gather
    check_laws(by_key, np.array([3, 1, 2]), np.array([1.0, 2.0, 3.0]), exact=True)


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: ct.sort(1)(np.zeros(3)), ct.SpaceError, ["no such axis: 1", "ct.f64[3]", "ct.sort(axis=1)"]),
        (lambda: ct.argsort()(2.0), ct.SpaceError, ["no such axis: -1", "ct.argsort()"]),
        (lambda: ct.sort()(np.zeros(3), np.zeros(3)), ct.SpaceError, ["one array is expected, not a product"]),
        (lambda: ct.sort(None), ct.ArgumentError, ["an axis is one integer", "None of type NoneType"]),
        (lambda: ct.argsort(True), ct.ArgumentError, ["an axis is one integer"]),
    ],
)
def test_mistakes(call: Any, kind: type[Exception], words: list[str]) -> None:
    with pytest.raises(kind) as caught:
        call()
    assert all(word in str(caught.value) for word in words), str(caught.value)
