"""Jacobians at points where partials are infinite or NaN: what the forms of one map say there."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import catad as ct

pytest.importorskip("scipy.sparse")
ENGINES = ("reference", "cpu")


def by_hand(x: Any) -> Any:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


PROGRAMS: dict[str, tuple[ct.D, tuple[int, ...]]] = {
    "softmax": (ct.softmax(), (5,)),
    "of rows": (ct.softmax(axis=1), (3, 4)),
    "of columns": (ct.softmax(axis=0), (3, 4)),
    "of many rows": (ct.softmax(axis=1), (40, 4)),
    "of rows that are scaled": (ct.map(lambda x: 2.0 * x) >> ct.softmax(axis=1), (3, 4)),
    "of rows, squared": (ct.softmax(axis=1) >> ct.square, (3, 4)),
    "of some rows": (ct.index[1:] >> ct.softmax(axis=1), (3, 4)),
    "log of the sum": (ct.logsumexp(axis=1), (3, 4)),
    "written out": (ct.function(by_hand), (3, 4)),
    "quotient": (ct.function(lambda x: np.exp(x) / np.exp(x).sum()), (5,)),
}


def point(shape: tuple[int, ...], number: float) -> Any:
    x = np.random.default_rng(0).standard_normal(shape)
    x[(1,) * len(shape)] = number
    return x


def dense_forms(f: ct.D, x: Any) -> list[Any]:
    L = ct.jacobian(f)(x)
    rows, columns = L.shape
    return [
        L.todense().reshape(L.shape),
        ct.jacobian(f, result="array")(x).reshape(L.shape),
        np.array([L.matvec(e) for e in np.eye(columns)]).T,
        np.array([L.rmatvec(e) for e in np.eye(rows)]),
    ]


def sparse_forms(f: ct.D, x: Any) -> list[Any]:
    return [ct.jacobian(f)(x).tocsr().toarray(), ct.jacobian(f, result="sparse")(x).toarray()]


@pytest.mark.numpy_only
@pytest.mark.quick(10)
@pytest.mark.parametrize(("name", "number"), [(name, number) for number in (np.inf, np.nan, -np.inf) for name in PROGRAMS])
def test_sparse_forms_have_the_numbers_of_the_array_or_zero_where_a_zero_met_no_number(name: str, number: float) -> None:
    f, shape = PROGRAMS[name]
    x = point(shape, number)
    wanted: list[Any] = []
    for engine in ENGINES:
        with ct.use_engine(engine), warnings.catch_warnings():
            warnings.simplefilter("error")
            found = sparse_forms(f, x)
            for sparse in found:
                for dense in dense_forms(f, x):
                    known = ~np.isnan(dense)
                    np.testing.assert_allclose(sparse[known], dense[known], rtol=1e-12, atol=1e-300)
                    assert not np.isnan(sparse[known]).any()
        wanted = wanted or found
        for one, first in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, first, rtol=1e-12, atol=1e-300)


@pytest.mark.numpy_only
@pytest.mark.parametrize("engine", ENGINES)
def test_rows_that_do_not_meet_stay_zero_in_sparse_forms(engine: str) -> None:
    x = point((3, 4), np.inf)
    with ct.use_engine(engine):
        blocks = ct.jacobian(ct.softmax(axis=1))(x).tocsr().toarray().reshape(3, 4, 3, 4)
        pulled = ct.vjp(ct.softmax(axis=1), x)[1](np.ones((3, 4)))[0]
    for r in range(3):
        for c in range(3):
            assert np.isnan(blocks[r, :, c]).all() if r == c == 1 else (blocks[r, :, c] == 0.0).all() == (r != c)
    assert (np.isnan(pulled) == (np.arange(3) == 1)[:, None]).all()
