"""Words that rearrange arrays, and products by name, against NumPy; their derivatives, structures and errors."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import catad as ct
from catad.category.spaces import flatten
from catad.testing import check_grads, check_laws

from .test_reductions import arrays

ENGINES = ("reference", "cpu")


def same(got: Any, want: Any) -> None:
    """Equal leaf by leaf, in shape and dtype too."""
    if isinstance(want, (tuple, list)):
        assert isinstance(got, tuple) and len(got) == len(want)
        for one, other in zip(got, want, strict=True):
            same(one, other)
        return
    want = np.asarray(want)
    assert got.dtype == want.dtype and np.shape(got) == want.shape, (got, want)
    assert np.array_equal(got, want, equal_nan=want.dtype.kind == "f")


def _axis(draw: Any, ndim: int) -> int:
    return draw(st.integers(-ndim - 1, ndim))


def _some(draw: Any, least: int, most: int) -> tuple[int, ...]:
    return tuple(draw(st.lists(st.integers(least, most), max_size=3)))


OPTIONS: dict[str, Callable[[Any, Any], tuple[Any, ...]]] = {
    "unstack": lambda draw, x: ({"axis": _axis(draw, x.ndim)},),
    "split": lambda draw, x: (draw(st.integers(1, 4) | st.just(_some(draw, -5, 5))), {"axis": _axis(draw, x.ndim)}),
    "roll": lambda draw, x: (
        draw(st.integers(-7, 7) | st.just(_some(draw, -7, 7)[:1] or 2)),
        {"axis": draw(st.none() | st.just(_axis(draw, x.ndim)) | st.just(tuple(range(x.ndim)) or None))},
    ),
    "squeeze": lambda draw, x: ({"axis": draw(st.none() | st.just(_axis(draw, x.ndim)) | st.just(_some(draw, -3, 3)))},),
    "expand_dims": lambda draw, x: ({"axis": draw(st.just(_axis(draw, x.ndim)) | st.just(_some(draw, -3, 3)))},),
    "diff": lambda draw, x: ({"n": draw(st.integers(0, 5)), "axis": _axis(draw, x.ndim)},),
    "tile": lambda draw, x: (draw(st.integers(0, 3) | st.just(_some(draw, 0, 3))), {}),
    "moveaxis": lambda draw, x: (*_moved(draw, x.ndim), {}),
    "repeat": lambda draw, x: _repeats(draw, x),
}


def _moved(draw: Any, ndim: int) -> tuple[Any, Any]:
    count = draw(st.integers(0, ndim))
    sides = [tuple([k - ndim * draw(st.booleans()) for k in draw(st.permutations(range(ndim)))[:count]]) for _ in range(2)]
    return (sides[0][0], sides[1][0]) if count == 1 else (sides[0], sides[1])


def _repeats(draw: Any, x: Any) -> tuple[Any, ...]:
    axis = draw(st.none() | st.just(_axis(draw, x.ndim)))
    size = x.size if axis is None else x.shape[axis] if -x.ndim <= axis < x.ndim else 1
    return draw(st.integers(0, 3) | st.just([draw(st.integers(0, 3)) for _ in range(size)])), {"axis": axis}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", OPTIONS)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_rearranging_is_that_of_numpy(engine: str, name: str, data: Any) -> None:
    x = data.draw(arrays())
    *args, options = OPTIONS[name](data.draw, x)
    f = getattr(ct, name)(*args, **options)
    assert eval(repr(f), {"ct": ct}) == f == pickle.loads(pickle.dumps(f))
    with ct.use_engine(engine), np.errstate(invalid="ignore"):  # differences of infinities
        try:
            want = getattr(np, name)(x, *args, **options)
        except (ValueError, IndexError, TypeError, ZeroDivisionError):
            with pytest.raises(ct.SpaceError):
                f(x)
            return
        if x.ndim == 0 and np.ndim(options.get("axis")) == 0 and options.get("axis") is not None and name != "expand_dims":
            return  # NumPy takes a number for an array of one axis here and there
        same(f(x), want)


@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_take_is_that_of_numpy(engine: str, data: Any) -> None:
    x = data.draw(arrays())
    axis = data.draw(st.none() | st.integers(0, x.ndim - 1) if x.ndim else st.none())
    n = x.size if axis is None else x.shape[axis]
    shape = tuple(data.draw(st.lists(st.integers(0, 3), max_size=2)))
    if n == 0:
        shape = (*shape, 0)
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    index = np.asarray(rng.integers(-n, max(n, 1), shape), data.draw(st.sampled_from([np.int64, np.int8])))
    f = ct.take(axis)
    assert eval(repr(f), {"ct": ct}) == f == pickle.loads(pickle.dumps(f))
    with ct.use_engine(engine):
        same(f(x, index), np.take(x, index, axis))
        for bad in (n, -n - 1):
            with pytest.raises(ct.IndexRangeError, match="out of range"):
                f(x, np.array([bad]))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int8", "int64", "uint8", "bool"])
def test_products_by_name(engine: str, dtype: str) -> None:
    rng = np.random.default_rng(0)
    shapes = [(), (4,), (3, 4), (4, 2), (2, 3, 4), (5, 4, 2), (0,), (4, 0), (1,)]
    with ct.use_engine(engine):
        for one in shapes:
            for two in shapes:
                low = 0 if dtype in ("uint8", "bool") else -3
                a, c = (np.asarray(rng.integers(low, 4, shape)).astype(dtype) for shape in (one, two))
                same(ct.outer(a, c), np.outer(a, c))
                try:
                    want = np.dot(a, c)
                except ValueError:
                    with pytest.raises(ct.SpaceError, match="sizes do not meet"):
                        ct.dot(a, c)
                else:
                    same(ct.dot(a, c), want)


SMOOTH = {
    "unstack": (ct.unstack(1), (2, 3)), "split": (ct.split((1, 3), axis=1), (2, 4)), "roll": (ct.roll((1, -2), (0, 1)), (3, 4)),
    "roll flat": (ct.roll(-2), (2, 3)), "squeeze": (ct.squeeze(), (1, 3)), "expand_dims": (ct.expand_dims((0, 2)), (2, 3)),
    "moveaxis": (ct.moveaxis((0, 1), (-1, 0)), (2, 3, 2)), "diff": (ct.diff(2, axis=0), (4, 2)),
    "tile": (ct.tile((2, 1, 2)), (2, 2)), "repeat": (ct.repeat(2, axis=1), (2, 3)),
    "repeat unequally": (ct.repeat((1, 0, 2), axis=1), (2, 3)),
    "take": (ct.fork(ct.id, ct.const(np.array([[0, -1], [0, 1]]))) >> ct.take(1), (2, 3)),
    "dot": (ct.fork(ct.id, ct.transpose()) >> ct.dot, (2, 3)), "outer": (ct.fork(ct.id, ct.sum(0)) >> ct.outer, (2, 3)),
}  # fmt: skip


@pytest.mark.parametrize("name", SMOOTH)
def test_derivatives_and_laws(name: str) -> None:
    f, shape = SMOOTH[name]
    x = np.random.default_rng(0).normal(size=shape)
    check_laws(f, x)
    bent = ct.cross(*[ct.square] * len(flatten(f(x)))) if name in ("unstack", "split") else ct.square
    check_grads(ct.sin >> f >> bent, x)


def test_structures() -> None:
    x = np.arange(5.0)
    J = ct.jacobian(ct.roll(2))(x)
    assert J.stored == 0 and [part[0].kind for part in J.structure.terms] == ["shift", "shift"]
    assert np.array_equal(J.todense(), np.roll(np.eye(5), 2, axis=0)) and np.array_equal(J.T.todense(), J.todense().T)
    for f in (ct.diff(), ct.diff(2), ct.tile(2), ct.repeat(2), ct.squeeze(), ct.expand_dims(0), ct.unstack(), ct.split((1, 3))):
        assert ct.jacobian(f)(x).stored == 0
    assert ct.jacobian(ct.take())(x, np.array([1, 1])).structure.blocks.grid[0][0][0].kind == "gather"
    assert ct.jacobian(ct.roll(5))(x).kind == ct.jacobian(ct.moveaxis(0, 0))(x).kind == "identity"


def test_a_stopped_gradient_is_zero_in_every_order_and_every_mode() -> None:
    f = ct.fork(ct.id, ct.sin >> ct.stop_gradient) >> ct.mul
    x = np.array([0.3, 1.0])
    assert np.array_equal(ct.grad(f >> ct.sum())(x), np.sin(x)) and np.array_equal(f(x), x * np.sin(x))
    assert np.array_equal(ct.jvp(f, (x,), (np.ones(2),))[1], np.sin(x))
    assert not ct.hessian(f >> ct.sum())(x).todense().any()
    y, back = ct.vjp(ct.stop_gradient, (x, (np.int64(1), x)))
    assert np.array_equal(y[0], x) and y[1][0] == 1
    ((first, (none, _)),) = back((x, ((), x)))
    assert not first.any() and none == ()
    assert np.array_equal(ct.grad(ct.map(f) >> ct.sum())(np.stack([x, x])), np.sin(np.stack([x, x])))
    assert eval(repr(ct.stop_gradient), {"ct": ct}) == ct.stop_gradient == pickle.loads(pickle.dumps(ct.stop_gradient))
    assert ct.stop_gradient(x) is not x and not np.shares_memory(ct.stop_gradient(x), x)


WRONG: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: ct.unstack()(1.0), ct.SpaceError, "no such axis"),
    (lambda: ct.split(4)(np.ones(6)), ct.SpaceError, "not divisible into 4"),
    (lambda: ct.split(0), ct.ArgumentError, "at least 1"),
    (lambda: ct.split((1.5,)), ct.ArgumentError, "one integer"),  # type: ignore[arg-type]
    (lambda: ct.roll(1.5), ct.ArgumentError, "one integer"),  # type: ignore[arg-type]
    (lambda: ct.roll((1, 2), (0, 1, 2)), ct.ArgumentError, "equally many"),
    (lambda: ct.roll(1, 3)(np.ones(3)), ct.SpaceError, "no such axis"),
    (lambda: ct.squeeze(0)(np.ones(3)), ct.SpaceError, "only axes of size 1"),
    (lambda: ct.expand_dims((0, 0))(np.ones(3)), ct.SpaceError, "no such axis"),
    (lambda: ct.expand_dims(None), ct.ArgumentError, "one integer"),  # type: ignore[arg-type]
    (lambda: ct.moveaxis(0, (0, 1)), ct.ArgumentError, "equally many"),
    (lambda: ct.moveaxis(0, 2)(np.ones((2, 2))), ct.SpaceError, "no such axis"),
    (lambda: ct.diff(-1), ct.ArgumentError, "at least 0"),
    (lambda: ct.diff()(1.0), ct.SpaceError, "no such axis"),
    (lambda: ct.tile(-1), ct.ArgumentError, "at least 0"),
    (lambda: ct.tile((1, -1)), ct.ArgumentError, "at least 0"),
    (lambda: ct.repeat((1, 2))(np.ones(3)), ct.SpaceError, "one number of repeats"),
    (lambda: ct.repeat((1, -2)), ct.ArgumentError, "at least 0"),
    (lambda: ct.take()(np.ones(3), 1.5), ct.SpaceError, "indices are integers"),
    (lambda: ct.take(1)(np.ones(3), 1), ct.SpaceError, "no such axis"),
    (lambda: ct.take()(np.ones(3)), ct.SpaceError, "2"),
    (lambda: ct.dot(np.ones(3)), ct.SpaceError, r"\(a, b\)"),
    (lambda: ct.outer(np.ones(3), 1.0, 2.0), ct.SpaceError, r"\(a, b\)"),
]


@pytest.mark.parametrize("case", range(len(WRONG)))
def test_mistakes_are_named(case: int) -> None:
    call, error, words = WRONG[case]
    with pytest.raises(error, match=words):
        call()
