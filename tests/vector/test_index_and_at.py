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
        x = np.asarray(np.round(x) + 0.0)  # without negative zeros, which maximum orders
    v = values_for(rng, x[drawn.for_numpy].shape, "bool" if other else str(x.dtype))
    if v.dtype.kind == "f":
        v = np.asarray(np.round(v) + 0.0)
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
        if word in ("min", "max"):  # away from ties
            v = (3 + 0.1 * np.arange(v.size).reshape(v.shape)) * np.where(v < 0, -1, 1)
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


# -- what they are laid out as, and the structure of their Jacobians


def boxes(f: ct.D, *spaces: ct.Space) -> list[str]:
    return [type(box.primitive).__name__ for box in ct.wire(f, spaces[0] if len(spaces) == 1 else ct.product(*spaces)).boxes]


A, MANY, ONE = ct.f64[6, 5, 4], ct.i64[7], ct.i64[()]


def test_few_boxes() -> None:
    assert boxes(ct.index[1:, ::2, ::-1], A) == ["StridedCopy"]
    assert boxes(ct.index[0, 1:, None], A) == ["StridedCopy", "Reshaped"]
    assert boxes(ct.index[...], A) == boxes(ct.index[:, :], A) == []
    assert boxes(ct.index[ct.arg], A, MANY) == ["FlatIndex", "Gathered"]
    assert boxes(ct.index[ct.arg, ct.arg], A, ONE, ONE) == ["FlatIndex", "Reshaped", "Gathered"]
    assert boxes(ct.index[ct.arg, :, ct.arg], A, MANY, ONE).count("Gathered") == 1
    assert boxes(ct.at[1:, 2:3].set, A, ct.f64[5, 1, 4]) == ["Overwritten"]
    assert boxes(ct.at[:].set, A, A) == []
    assert boxes(ct.at[1:].add, A, ct.f64[5, 5, 4]) == ["StridedCopy", "Map"]
    assert boxes(ct.at[ct.arg].set, A, ONE, ct.f64[5, 4]) == ["FlatIndex", "OverwrittenAt"]
    assert boxes(ct.at[ct.arg].set, A, MANY, ct.f64[7, 5, 4]) == ["FlatIndex", "LastOnly", "OverwrittenAt"]
    assert boxes(ct.at[ct.arg].add, A, MANY, ct.f64[7, 5, 4]) == ["FlatIndex", "AddedAt"]


def test_structures() -> None:
    x, v = np.ones((3, 4)), np.ones((2, 4))
    assert ct.jacobian(ct.index[1:, ::2])(x).kind == "slice"
    assert ct.jacobian(ct.at[1:].set)(x, v).stored == ct.jacobian(ct.at[1:].add)(x, v).stored == 0
    assert [part[0].kind for part in ct.jacobian(ct.at[1:].set)(x, v).structure.blocks.grid[0]] == ["projection", "pad"]
    assert [part[0].kind for part in ct.jacobian(ct.at[1:].add)(x, v).structure.blocks.grid[0]] == ["identity", "pad"]
    assert ct.jacobian(ct.at[1:].mul)(x, v).structure.blocks.grid[0][0][0].kind == "diagonal"
    i = np.array([0, 2, 0])
    J = ct.jacobian(ct.at[ct.arg].set)(x, i, np.ones((3, 4)))
    assert [part[0].kind for part in J.structure.blocks.grid[0]] == ["projection", "scatter-add"] and J.stored == 3
    assert ct.jacobian(ct.at[ct.arg].add)(x, i, np.ones((3, 4))).stored == 3


def test_a_projection_joins_what_it_meets() -> None:
    n = 6
    first, second, reads = ct.at[1:5].set, ct.at[2:4].set, ct.index[2:4]
    zeros = ct.const(0.0)
    both = ct.fork(ct.fork(ct.id, zeros) >> first, zeros) >> second
    assert ct.jacobian(both)(np.ones(n)).kind == "projection"
    assert ct.jacobian(ct.fork(ct.id, zeros) >> first >> reads)(np.ones(n)).kind == "zero"
    assert ct.jacobian(ct.fork(ct.id, zeros) >> first >> ct.index[:1])(np.ones(n)).kind == "slice"
    assert ct.jacobian(ct.fork(ct.id, zeros) >> first >> ct.sin)(np.ones(n)).kind == "diagonal"
    assert ct.jacobian(ct.sin >> ct.fork(ct.id, zeros) >> first)(np.ones(n)).kind == "diagonal"
    again = ct.fork(ct.at[ct.arg].set, ct.proj(1)) >> ct.index[ct.arg]
    (line,) = ct.jacobian(again)(np.ones(n), 2, 5.0).structure.blocks.grid
    assert line[0] is None  # what was written is read, not what stood there


@pytest.mark.parametrize("engine", ENGINES)
def test_numbers_that_are_not_finite_and_signed_zeros_stay(engine: str) -> None:
    x = np.array([-0.0, np.nan, np.inf, -np.inf, -0.0, 0.0])
    with ct.use_engine(engine):
        for word in ("add", "mul", "min", "max"):
            same(getattr(ct.at[5:], word)(x, 2.0)[:5], x[:5])
            same(getattr(ct.at[ct.arg], word)(x, -1, 2.0)[:5], x[:5])
            same(getattr(ct.at[ct.arg], word)(x, np.array([-1, 5]), 2.0)[:5], x[:5])
        same(ct.at[:2].set(x, np.array([np.nan, -0.0])), [np.nan, -0.0, *x[2:]])


def test_sums_lose_few_digits_and_the_last_of_equal_indices_wins() -> None:
    v = np.full(2**18, 0.1, np.float32)
    got = ct.at[ct.arg].add(np.ones(2, np.float32), np.zeros(2**18, int), v)
    assert abs(float(got[0]) / (1 + 2**18 * float(v[0])) - 1) < 1e-6 and got[1] == 1
    got = ct.at[ct.arg, ct.arg].set(np.zeros((2, 2)), np.array([[0, 1], [0, 1]]), 0, np.arange(4.0).reshape(2, 2))
    same(got, [[2.0, 0.0], [3.0, 0.0]])


# -- errors


def test_keys_that_are_none() -> None:
    slices = (slice(0.5), 1), slice(None, ct.arg), slice(0, 1, 0)
    for key in (1.5, "a", True, [0, 1], np.array([0]), *slices, (..., ...), np.True_):
        for take in (ct.index, ct.at):
            with pytest.raises(ct.ArgumentError, match=r"key|slice"):
                take[key]
    with pytest.raises(ct.ArgumentError, match=r"ct.index\[ct.arg\]\(x, i\)"):
        ct.index[[0, 1]]
    with pytest.raises(ct.SpaceError, match=r"write ct.index\[1:\]\(x\)"):
        ct.index(np.ones(3), 1)
    with pytest.raises(ct.SpaceError, match=r"write ct.at\[1:\].set\(x, v\)"):
        ct.at[1:](np.ones(3), 1.0)


def test_arguments_that_do_not_fit() -> None:
    x = np.ones((3, 4))
    for f, args, error, words in [
        (ct.index[0, 0, 0], (x,), ct.SpaceError, "3 indices"),
        (ct.index[3], (x,), ct.IndexRangeError, "index 3 is out of range for axis 0"),
        (ct.index[:, -5], (x,), ct.IndexRangeError, "index -5 is out of range for axis 1"),
        (ct.index[ct.arg], (x, 3), ct.IndexRangeError, "-3 <= index < 3"),
        (ct.index[ct.arg], (x, np.array([0, -4])), ct.IndexRangeError, "index -4"),
        (ct.index[ct.arg], (x, 1.0), ct.SpaceError, "indices are integers"),
        (ct.index[ct.arg], (x, np.array([True, False, True])), ct.SpaceError, "indices are integers"),
        (ct.index[ct.arg], (x,), ct.SpaceError, r"expected: \(x, i\)"),
        (ct.index[ct.arg, ct.arg], (x, np.arange(2), np.arange(3)), ct.SpaceError, "broadcast together"),
        (ct.index[1:], ((x, x),), ct.SpaceError, "expected: x"),
        (ct.at[1:].set, (x,), ct.SpaceError, r"expected: \(x, v\)"),
        (ct.at[1:].set, (x, np.ones(3)), ct.SpaceError, "do not broadcast"),
        (ct.at[1, 2].set, (x, np.ones(1)), ct.SpaceError, "do not broadcast"),
        (ct.at[ct.arg].add, (x, 9, 1.0), ct.IndexRangeError, "-3 <= index < 3"),
        (ct.at[1:].add, (np.arange(3), 0.5), ct.SpaceError, "integers do not take floats"),
        (ct.at[ct.arg].set, (x, 1.0), ct.SpaceError, r"\(x, i, v\)"),
    ]:
        with pytest.raises(error, match=words):
            f(*args)


@pytest.mark.parametrize("engine", ENGINES)
def test_values_are_converted_as_by_assignment(engine: str) -> None:
    with ct.use_engine(engine):
        same(ct.at[1:].set(np.arange(3), np.array([1.9, -2.9])), np.array([0, 1, -2]))
        same(ct.at[1].set(np.arange(3), 2.5), np.array([0, 2, 2]))
        same(ct.at[ct.arg].set(np.arange(3, dtype=np.int8), 1, 2.5), np.array([0, 2, 2], np.int8))
        same(ct.at[:1].set(np.zeros(2, bool), 0.5), np.array([True, False]))
        same(ct.at[:1].set(np.zeros(2, np.float32), 0.1), np.array([0.1, 0.0], np.float32))
        same(ct.at[:1].add(np.ones(2, np.float32), np.float64(1e-9)), np.ones(2, np.float32))
        same(ct.at[:1].add(np.zeros(2, bool), True), np.array([True, False]))
    assert ct.grad(ct.at[0].set >> ct.astype(float) >> ct.sum(), argnums=1)(np.arange(3), 2.5) == 0.0


def test_a_batch_of_keys() -> None:
    rng = np.random.default_rng(0)
    X, J, V = rng.normal(size=(5, 3, 4)), rng.integers(-3, 3, (5, 2)), rng.normal(size=(5, 2, 4))
    same(ct.map(ct.index[ct.arg, 1:])(X, J), np.stack([x[i, 1:] for x, i in zip(X, J, strict=True)]))
    for f in (ct.at[ct.arg].set, ct.at[ct.arg].add, ct.at[ct.arg].mul):
        got = ct.map(f)(X, J, V)
        np.testing.assert_allclose(got, np.stack([f(*xs) for xs in zip(X, J, V, strict=True)]), rtol=1e-15)
    same(ct.map(ct.at[1:, 0].set)(X, V[:, :, 0]), np.stack([ct.at[1:, 0].set(x, v) for x, v in zip(X, V[:, :, 0], strict=True)]))


def test_what_is_overwritten_stays_zero_in_reversed_reads() -> None:
    x = np.arange(1.0, 6.0)
    for k in range(5):
        J = ct.jacobian(ct.fork(ct.id, ct.const(0.0)) >> ct.at[k].set >> ct.index[::-1])(x)
        np.testing.assert_array_equal(J.todense(), (np.eye(5) - np.diag(np.arange(5) == k))[::-1])
