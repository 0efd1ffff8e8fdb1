"""Reductions and scans by NumPy's names against NumPy and SciPy: values, shapes, dtypes, NaN, empty arrays; their structures."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.special
from hypothesis import given, settings
from hypothesis import strategies as st

import catad as ct
from catad.testing import check_grads, check_laws

ENGINES = ("reference", "cpu")
DTYPES = ("float64", "float32", "int64", "int8", "uint8", "uint64", "bool")


def log_sum_exp(x: Any, axis: Any, keepdims: bool) -> Any:
    """As SciPy's, which gives numbers and empty arrays other shapes."""
    x = np.asarray(x, np.result_type(x, np.float32) if x.dtype == np.float32 else np.float64)
    most = np.max(x, axis=axis, keepdims=True, initial=-np.inf)
    safe = np.where(np.isfinite(most), most, 0)
    y = np.where(np.isfinite(most), np.log(np.sum(np.exp(x - safe), axis=axis, keepdims=True)) + safe, most)
    y = y.astype(x.dtype)
    return y if keepdims else y.reshape(np.max(x, axis=axis, initial=0).shape)


EXACT = {"max": np.max, "min": np.min, "any": np.any, "all": np.all, "argmax": np.argmax, "argmin": np.argmin}
ROUNDED = {"prod": np.prod, "mean": np.mean, "var": np.var, "std": np.std, "norm": np.linalg.norm, "logsumexp": log_sum_exp}
ONE_AXIS = ("argmax", "argmin", "cumsum", "cumprod")


def close(got: Any, want: Any, exact: bool) -> None:
    want = np.asarray(want)
    assert np.shape(got) == want.shape and got.dtype == want.dtype, (got, want)
    if exact or want.dtype.kind != "f":
        assert np.array_equal(got, want, equal_nan=want.dtype.kind == "f"), (got, want)
    else:
        off = 16 * float(np.finfo(want.dtype).eps)
        size = float(np.max(np.abs(want[np.isfinite(want)]), initial=0))
        np.testing.assert_allclose(got, want, rtol=off, atol=off * size)


@st.composite
def arrays(draw: Any, dtypes: tuple[str, ...] = DTYPES, least: int = 0, special: bool = True) -> Any:
    shape = tuple(draw(st.lists(st.integers(least, 4), max_size=4)))
    dtype = draw(st.sampled_from(dtypes))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    x = np.asarray(rng.integers(0 if dtype[0] in "ub" else -3, 4, size=shape)).astype(dtype)
    if x.dtype.kind == "f":
        if draw(st.booleans()):
            x = np.asarray(x + rng.normal(size=shape)).astype(dtype)
        if special and draw(st.integers(0, 2)) == 0:
            x = np.where(rng.random(shape) < 0.2, rng.choice([np.nan, np.inf, -np.inf], shape), x).astype(dtype)
    if x.ndim > 1 and draw(st.booleans()):
        x = x.T
    return x


def axes_for(draw: Any, ndim: int, one: bool = False) -> Any:
    if draw(st.integers(0, 3)) == 0:
        return None
    if one:
        return draw(st.integers(-ndim, ndim - 1)) if ndim else None
    chosen = draw(st.permutations(range(ndim)))[: draw(st.integers(0, ndim))]
    given_ = tuple([k - ndim if draw(st.booleans()) else k for k in chosen])
    return given_[0] if len(given_) == 1 and draw(st.booleans()) else given_


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", [*EXACT, *ROUNDED])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_reductions_are_those_of_numpy(engine: str, name: str, data: Any) -> None:
    meaning = EXACT.get(name) or ROUNDED[name]
    x = data.draw(arrays())
    axis = axes_for(data.draw, x.ndim, name in ONE_AXIS)
    options: dict[str, Any] = {"axis": axis, "keepdims": data.draw(st.booleans())}
    if name in ("var", "std"):
        options["ddof"] = data.draw(st.sampled_from([0, 1, 2, 0.5]))
    if name == "norm":
        axis = options["axis"] = axis if axis is None or np.size(axis) == 1 else None
    if name in ("prod", "mean", "var", "std") and x.dtype == np.uint64:
        x = x.astype(np.int64) if name != "prod" else x
    f = getattr(ct, name)(**options)
    assert eval(repr(f), {"ct": ct}) == f == pickle.loads(pickle.dumps(f))
    if name == "norm" and x.dtype.kind in "iub":
        x = x.astype(np.int64)
    with ct.use_engine(engine):
        try:
            want = meaning(x, **options)
        except ValueError:
            with pytest.raises(ct.SpaceError):
                f(x)
            return
        got = f(x)
    close(got, want, name in EXACT)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ["cumsum", "cumprod", "softmax"])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_scans_and_softmax(engine: str, name: str, data: Any) -> None:
    x = data.draw(arrays())
    axis = axes_for(data.draw, x.ndim, name != "softmax")
    meaning = scipy.special.softmax if name == "softmax" else getattr(np, name)
    if name == "softmax" and x.dtype.kind != "f":
        x = x.astype(np.float64)
    f = getattr(ct, name)(axis)
    assert eval(repr(f), {"ct": ct}) == f == pickle.loads(pickle.dumps(f))
    try:
        want = meaning(x, axis=axis)
    except ValueError:
        with pytest.raises(ct.SpaceError):
            f(x)
        return
    with ct.use_engine(engine):
        close(f(x), want, False)


@pytest.mark.quick(12)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("order", [None, 2, 1, 0, 3, 2.5, -1, -2, 0.5, np.inf, -np.inf, "fro"])
def test_norms_of_all_orders(engine: str, order: Any) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3, 4, 2))
    x[0, :, 0] = 0.0
    with ct.use_engine(engine):
        for axis in (0, -1, (0, 1), (2, 0), (1, -1)):
            for keepdims in (False, True):
                for array in (x, x.astype(np.float32), np.arange(24).reshape(3, 4, 2), np.zeros((3, 4, 0))):
                    f = ct.norm(order, axis, keepdims)
                    try:
                        if isinstance(axis, tuple) and order in (2, -2):
                            raise ValueError
                        want = np.linalg.norm(array, order, axis, keepdims)
                    except ValueError:
                        with pytest.raises(ct.SpaceError):
                            f(array)
                    else:
                        close(f(array), want, False)
    one = x[1, :, 0]
    if order != "fro":
        close(ct.norm(order)(one), np.linalg.norm(one, order), False)
    if order not in (2, -2, 0, 3, 2.5, 0.5):
        close(ct.norm(order)(x[1]), np.linalg.norm(x[1], order), False)
    with pytest.raises(ct.SpaceError):
        (ct.norm(order) if order is not None else ct.norm(axis=(0, 1, 2)))(x)


@pytest.mark.parametrize("name", [*EXACT, *ROUNDED, "softmax", "cumsum", "cumprod"])
def test_wrong_parameters_and_empty_arrays(name: str) -> None:
    make = getattr(ct, name)
    for wrong in (1.5, "a", True):
        with pytest.raises(ct.ArgumentError, match="axis"):
            make(axis=wrong)
    with pytest.raises(ct.SpaceError, match="no such axis"):
        make(axis=2)(np.ones((2, 2)))
    with pytest.raises(ct.SpaceError, match="one array is expected"):
        make()((np.ones(2), np.ones(2)))
    if name in ("max", "min", "argmax", "argmin", "softmax"):
        with pytest.raises(ct.SpaceError, match="of no entry"):
            make(axis=0)(np.zeros((0, 3)))


def test_orders_of_norms_that_are_none() -> None:
    for order in ("nuc", "f", np.nan, True, (1,), None.__class__):
        with pytest.raises(ct.ArgumentError, match="no norm of this order"):
            ct.norm(order)  # type: ignore[arg-type]
    with pytest.raises(ct.ArgumentError, match="ddof"):
        ct.var(ddof="1")  # type: ignore[arg-type]


# -- derivatives

SMOOTH = ("prod", "mean", "var", "std", "norm", "logsumexp", "softmax", "cumsum", "cumprod", "max", "min")


@pytest.mark.parametrize("name", SMOOTH)
@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_gradients_to_second_order(name: str, data: Any) -> None:
    x = data.draw(arrays(("float64",), 1, special=False))
    x = np.asarray(np.random.default_rng(x.size).permutation(x.size).reshape(x.shape) * (1.0 / x.size) + 0.6)
    axis = axes_for(data.draw, x.ndim, name in ONE_AXIS)
    if name == "norm" and axis is not None and np.size(axis) != 1:
        axis = None
    if name in ("var", "std") and ((axis is None and x.size < 2) or (axis is not None and np.var(x, axis=axis).min() < 1e-3)):
        return
    check_grads(ct.map(lambda x: x + 0.1 * x * x) >> getattr(ct, name)(axis=axis) >> ct.square, x, tolerance=1e-6)


@pytest.mark.parametrize("order", [1, 2, 3, 2.5, -2, np.inf, -np.inf])
def test_gradients_of_norms(order: float) -> None:
    x = np.array([[0.5, -1.5, 2.0], [3.0, 0.7, -0.2]])
    check_grads(ct.norm(order, axis=1) >> ct.square, x)
    check_grads(ct.norm(order if order in (1, np.inf, -np.inf) else None) >> ct.square, x)


LAWFUL = [
    ct.var(1), ct.std((0, 2), ddof=1), ct.norm(axis=0), ct.norm(3, axis=1), ct.softmax(1), ct.logsumexp((0, 2)), ct.max((0, 2)),
    ct.mean(), ct.prod((0, 2)), ct.cumprod(1),
]  # fmt: skip


@pytest.mark.parametrize("f", LAWFUL, ids=repr)
def test_laws(f: ct.D) -> None:
    check_laws(f, np.random.default_rng(1).uniform(0.5, 2.0, (2, 3, 2)))


def test_where_nothing_varies_the_derivative_is_zero() -> None:
    for f in (ct.norm(), ct.norm(3), ct.norm(1), ct.norm(np.inf), ct.std(), ct.norm(axis=(0,), keepdims=True) >> ct.sum()):
        x = np.full(3, 2.0) if f == ct.std() else np.zeros(3)
        assert np.array_equal(ct.grad(f)(x), np.zeros(3)) and np.array_equal(ct.jvp(f, (x,), (np.ones(3),))[1], 0.0 * f(x))
    got = ct.grad(ct.norm(axis=1) >> ct.sum())(np.array([[0.0, 0.0], [3.0, 4.0]]))
    np.testing.assert_allclose(got, [[0.0, 0.0], [0.6, 0.8]])
    got = ct.grad(ct.norm(3.0))(np.array([0.0, 2.0]))
    np.testing.assert_allclose(got, [0.0, 1.0])


def test_structures() -> None:
    x = np.random.default_rng(0).normal(size=(4, 5))
    v = x[0]
    assert ct.jacobian(ct.norm())(v).kind == "row" and ct.jacobian(ct.norm())(v).stored == 5
    assert ct.jacobian(ct.norm(axis=1))(x).kind == "rows"
    assert ct.jacobian(ct.var())(v).kind == ct.jacobian(ct.std())(v).kind == ct.jacobian(ct.logsumexp())(v).kind == "row"
    assert ct.jacobian(ct.mean(axis=0))(x).stored == 0
    assert ct.jacobian(ct.max(axis=1))(x).kind == "gather"
    assert ct.jacobian(ct.cumsum())(v).stored == 0 and "recurrence" in ct.jacobian(ct.cumsum())(v).kind
    soft = ct.linearize(ct.softmax(), v)[1]
    assert soft.stored == 5 and [part[0].kind for part in soft.structure.stages.terms] == ["diagonal", "chain of row >> column"]
    p = scipy.special.softmax(v)
    np.testing.assert_allclose(soft.todense(), np.diag(p) - np.outer(p, p), atol=1e-15)
    np.testing.assert_allclose(ct.jacobian(ct.softmax())(v).todense(), np.diag(p) - np.outer(p, p), atol=1e-15)


def test_the_first_of_equal_entries_takes_the_derivative() -> None:
    x = np.array([[1.0, 3.0], [3.0, 3.0]])
    assert np.array_equal(ct.grad(ct.max())(x), [[0, 1], [0, 0]])
    assert np.array_equal(ct.grad(ct.max((1, 0)))(x.T), [[0, 1], [0, 0]])
    assert np.array_equal(ct.grad(ct.max(0) >> ct.sum())(x), [[0, 1], [1, 0]])


def test_few_boxes() -> None:
    def boxes(f: ct.D, space: ct.Space) -> list[str]:
        return [type(box.primitive).__name__ for box in ct.wire(f, space).boxes]

    A = ct.f64[3, 4, 5]
    assert boxes(ct.max(axis=1), A) == ["Fold"]
    assert boxes(ct.max(axis=(1, 2)), A) == ["Reshaped", "Fold"]
    assert boxes(ct.max(axis=(0, 2)), A) == ["Contract", "Reshaped", "Fold"]
    assert boxes(ct.max(axis=-1, keepdims=True), A) == ["Fold", "Reshaped"]
    assert boxes(ct.mean(), A) == ["Contract", "Map"]
    assert boxes(ct.cumsum(0), A) == ["Recurred"]


# -- folds of any operator along several axes


def affine(f: Any, g: Any) -> Any:
    return f[0] * g[0], f[1] * g[0] + g[1]


@pytest.mark.parametrize("axis", [None, (0, 1), (2, 0), 1, (), (1, -1), (0, 1, 2)])
def test_folds_along_several_axes(axis: Any) -> None:
    rng = np.random.default_rng(3)
    a, c = rng.normal(size=(2, 3, 4)), rng.normal(size=(2, 3, 4))
    axes = tuple(range(3)) if axis is None else tuple(np.atleast_1d(np.asarray(axis, int)) % 3)
    rest = [k for k in range(3) if k not in axes]
    lines = [np.transpose(x, [*rest, *sorted(axes)]).reshape(*[x.shape[k] for k in rest], -1) for x in (a, c)]
    want = ct.fold(affine, (1.0, 0.0), axis=-1)(*lines)
    shape = [1 if k in axes else n for k, n in enumerate(a.shape)]
    f = ct.fold(affine, (1.0, 0.0), axis=axis, keepdims=True)
    assert eval(repr(f), {"ct": ct, **f.names}) == f == pickle.loads(pickle.dumps(f))
    for got, plain, line in zip(f(a, c), ct.fold(affine, (1.0, 0.0), axis=axis)(a, c), want, strict=True):
        np.testing.assert_allclose(plain, line)
        np.testing.assert_allclose(got, line.reshape(shape))
    summed = ct.fold(ct.add, 0.0, axis=axis, keepdims=True)
    np.testing.assert_allclose(summed(a), a.sum(axis=axis, keepdims=True))
    assert eval(repr(summed), {"ct": ct}) == summed == pickle.loads(pickle.dumps(summed))


def test_folds_with_free_numbers_along_several_axes() -> None:
    soft = lambda a, b, t: t * np.logaddexp(a / t, b / t)  # noqa: E731
    x, t = np.random.default_rng(0).normal(size=(2, 3, 4)), np.array([0.5, 1.0, 2.0]).reshape(3, 1)
    got = ct.fold(soft, -np.inf, axis=(0, 2), params=1)(x, t)
    np.testing.assert_allclose(got, [k * scipy.special.logsumexp(x[:, i] / k) for i, k in enumerate(t[:, 0])])
    with pytest.raises(ct.SpaceError, match="the same at every step"):
        ct.fold(soft, -np.inf, axis=(0, 2), params=1)(x, np.ones(4))
    with pytest.raises(ct.ArgumentError, match="keepdims"):
        ct.fold(ct.matmul, np.eye(2), keepdims=True)  # type: ignore[arg-type]
