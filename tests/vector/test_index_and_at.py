"""`ct.index[key]` and `ct.at[key]` against NumPy, over keys, shapes, dtypes; their laws, structures and errors."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import catad as ct
from catad.testing import check_grads, check_laws

from .keys import Drawn, keys

ENGINES = ("reference", "cpu")


def same(got: Any, want: Any) -> None:
    """Equal in value, signed zeros and NaN too, in shape and dtype."""
    want = np.asarray(want)
    assert got.dtype == want.dtype and got.shape == want.shape, (got, want)
    assert np.array_equal(got, want, equal_nan=want.dtype.kind == "f"), (got, want)
    if want.dtype.kind == "f":
        assert np.array_equal(np.signbit(got), np.signbit(want))


@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=150, deadline=None)
@given(keys())
def test_reading_is_that_of_numpy(engine: str, drawn: Drawn) -> None:
    f = ct.index[drawn.key]
    with ct.use_engine(engine):
        same(f(drawn.x, *drawn.indices) if drawn.indices else f(drawn.x), drawn.x[drawn.for_numpy])
    assert eval(repr(f), {"ct": ct}) == f == pickle.loads(pickle.dumps(f))


def values_for(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Any:
    """Values that broadcast to a shape."""
    own = tuple([1 if rng.integers(4) == 0 else n for n in shape[rng.integers(len(shape) + 1) :]])
    if len(own) == len(shape) > 0 and rng.integers(3) == 0:
        own = (1, *own)
    return np.asarray(rng.normal(size=own) * 9).astype(dtype)


def combine(ufunc: np.ufunc, x: Any, key: Any, v: Any) -> Any:
    """What `ufunc.at` does, at the positions of the key in the flattened array: of keys with None NumPy's own is wrong."""
    at = np.arange(x.size).reshape(x.shape)[key]
    while v.ndim > np.ndim(at):
        v = v[0]
    flat = x.reshape(-1).copy()
    ufunc.at(flat, at.reshape(-1), np.broadcast_to(v, at.shape).reshape(-1))
    return flat.reshape(x.shape)


WRITES = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}


@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=150, deadline=None)
@given(keys(), st.integers(0, 2**32), st.sampled_from(["float64", "float32", "int64", "bool"]))
def test_writing_is_that_of_numpy(engine: str, drawn: Drawn, seed: int, dtype: str) -> None:
    rng = np.random.default_rng(seed)
    if drawn.x.dtype.kind in "u":
        dtype = "bool"  # negative floats have no unsigned integer
    v = values_for(rng, drawn.x[drawn.for_numpy].shape, dtype)
    want = np.array(drawn.x)
    want[drawn.for_numpy] = v
    f = ct.at[drawn.key].set
    before = drawn.x.copy()
    with ct.use_engine(engine):
        same(f(drawn.x, *drawn.indices, v), want)
    same(drawn.x, before)
    assert eval(repr(f), {"ct": ct}) == f == pickle.loads(pickle.dumps(f))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("word", WRITES)
@settings(max_examples=80, deadline=None)
@given(keys(), st.integers(0, 2**32), st.booleans())
def test_combining_is_that_of_ufunc_at(engine: str, word: str, drawn: Drawn, seed: int, other: bool) -> None:
    rng = np.random.default_rng(seed)
    x = drawn.x
    if x.dtype.kind == "f":
        x = np.asarray(np.round(x))
    v = values_for(rng, x[drawn.for_numpy].shape, "bool" if other else str(x.dtype))
    if v.dtype.kind == "f":
        v = np.asarray(np.round(v))
    want = combine(WRITES[word], x, drawn.for_numpy, v)
    with ct.use_engine(engine):
        same(getattr(ct.at[drawn.key], word)(x, *drawn.indices, v), want)


@settings(max_examples=40, deadline=None)
@given(keys(dtype="float64", least=1), st.integers(0, 2**32), st.sampled_from(["index", "set", *WRITES]))
def test_gradients_to_second_order(drawn: Drawn, seed: int, word: str) -> None:
    rng = np.random.default_rng(seed)
    x = drawn.x + 0.01 * np.arange(drawn.x.size).reshape(drawn.x.shape)
    if word == "index":
        f, point = ct.index[drawn.key], (x, *drawn.indices)
    else:
        v = rng.normal(size=x[drawn.for_numpy].shape)
        v = np.asarray(v if word not in ("min", "max") else 3 * np.sign(v) + 0.1 * v)  # away from ties
        f, point = getattr(ct.at[drawn.key], word), (x, *drawn.indices, v)
    bent = [ct.sin, *[ct.id] * (len(point) - 1)]
    check_grads((ct.cross(*bent) if len(bent) > 1 else ct.sin) >> f >> ct.square, *point)


@settings(max_examples=15, deadline=None)
@given(keys(dtype="float64", least=1), st.integers(0, 2**32), st.sampled_from(["index", "set", "add"]))
def test_laws(drawn: Drawn, seed: int, word: str) -> None:
    rng = np.random.default_rng(seed)
    if word == "index":
        check_laws(ct.index[drawn.key], drawn.x, *drawn.indices)
    else:
        check_laws(getattr(ct.at[drawn.key], word), drawn.x, *drawn.indices, rng.normal(size=drawn.x[drawn.for_numpy].shape))
