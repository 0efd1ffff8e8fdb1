"""The position of a minimum or maximum: the first number that it equals, and what the operator itself chooses where it is NaN."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import catad as ct
from catad.vector.folds.arg_extremum import ArgExtremum
from catad.vector.folds.fold import Fold
from catad.vector.folds.monoid import with_position

MAXIMA: dict[str, tuple[Any, float]] = {
    "maximum": (ct.maximum, -np.inf),
    "minimum": (ct.minimum, np.inf),
    "a lambda": (lambda a, b: a if a >= b else b, -np.inf),
    "the other lambda": (lambda a, b: b if b < a else a, np.inf),
}


def positions(x: Any, axis: int) -> Any:
    shape = [1] * x.ndim
    shape[axis] = x.shape[axis]
    return np.broadcast_to(np.arange(x.shape[axis]).reshape(shape), x.shape)


@pytest.mark.quick(6)
@pytest.mark.parametrize("name", MAXIMA)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
@given(st.data())
def test_it_is_what_the_fold_of_numbers_and_positions_says(name: str, dtype: str, data: st.DataObject) -> None:
    shape = data.draw(st.sampled_from([(1,), (2,), (7,), (3, 4), (4, 1, 3)]))
    axis = data.draw(st.integers(0, len(shape) - 1))
    rng = np.random.default_rng(data.draw(st.integers(0, 999)))
    x = rng.integers(-2, 3, shape).astype(dtype) * (-1 if rng.random() < 0.5 else 1)  # ties, zeros of both signs
    op, neutral = MAXIMA[name]
    neutral = neutral if dtype.startswith("float") else int(np.sign(neutral)) * 99
    monoid, total = ct.monoid(op, neutral), ct.fold(op, neutral, axis=axis)(x)
    found = ArgExtremum(monoid, axis).evaluate(np, x, positions(x, axis), np.asarray(total))
    _, general = Fold(with_position(monoid), axis).evaluate(np, x, positions(x, axis))
    assert np.array_equal(found, general)


@pytest.mark.parametrize("engine", ["reference", "cpu"])
@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_gradients_at_ties_zeros_nan_and_infinities(engine: str, name: str) -> None:
    op, neutral = MAXIMA[name]
    nan, inf = np.nan, np.inf
    for x, at in (
        ([1.0, 3.0, 3.0, 1.0], (1, 0)),
        ([0.0, -0.0, 0.0], (0, 0)),
        ([2.0, nan, 5.0, nan], (1, 1)),
        ([inf, -inf, inf, -inf], (0, 1)),
        ([-neutral, neutral], (0, 0)),
        ([neutral, neutral, neutral], (0, 0)),
        ([4.0], (0, 0)),
    ):
        want = np.zeros(len(x))
        want[at[name == "minimum"]] = 1.0
        with ct.use_engine(engine):
            assert np.array_equal(ct.grad(ct.fold(op, neutral))(np.array(x)), want), x


@pytest.mark.parametrize("engine", ["reference", "cpu"])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_rows_and_lanes(engine: str, axis: int) -> None:
    rng = np.random.default_rng(axis)
    x = rng.integers(-3, 4, (4, 5, 6)).astype(float)
    x[1, 2, 3] = np.nan
    f = ct.fold(ct.maximum, -np.inf, axis=axis)
    with ct.use_engine(engine):
        found = ct.grad(f >> ct.sum())(x)
        lanes = ct.map(ct.grad(ct.fold(ct.maximum, -np.inf)))(np.moveaxis(x, axis, -1).reshape(-1, x.shape[axis]))
    want = np.zeros_like(x)
    np.put_along_axis(want, np.expand_dims(np.argmax(x, axis=axis), axis), 1.0, axis)
    assert np.array_equal(found, want)
    assert np.array_equal(lanes, np.moveaxis(want, axis, -1).reshape(-1, x.shape[axis]))


CHOICES: dict[str, tuple[Any, Any]] = {
    "maximum": (ct.maximum, lambda a, b: np.isnan(a) or a >= b),
    "a lambda": (lambda a, b: a if a >= b else b, lambda a, b: a >= b),
    "the other lambda": (lambda a, b: b if b > a else a, lambda a, b: not b > a),
}


@pytest.mark.parametrize("name", CHOICES)
@pytest.mark.parametrize(("m", "bins", "width"), [(70_000, 3, ()), (20_000, 3, (5,)), (3_000, 20_000, (5,)), (40_000, 1, (2,))])
def test_by_bin_a_nan_has_the_position_that_the_operator_chooses(
    name: str, m: int, bins: int, width: tuple[int, ...]
) -> None:
    rng = np.random.default_rng(bins)
    index = rng.integers(-1, bins + 1, m)
    x = rng.permutation(m * int(np.prod(width))).astype(np.float32).reshape(m, *width)
    if name == "maximum" or bins > m:  # of the others, pieces joined tell more of a NaN than elements one after the other
        x[rng.random(x.shape) < 5 / m] = np.nan
    x[-1], index[-1] = np.nan, 0
    op, left = CHOICES[name]
    states: dict[tuple[int, ...], tuple[Any, int]] = {}
    for i, bin_ in enumerate(index):
        if 0 <= bin_ < bins:
            for c in np.ndindex(*width):
                at = (int(bin_), *c)
                if at not in states or not left(states[at][0], x[i][c]):
                    states[at] = (x[i][c], i)
    w = rng.permutation(bins * int(np.prod(width))).astype(np.float32).reshape(bins, *width)
    want = np.zeros_like(x)
    for (bin_, *c), (_, i) in states.items():
        want[(i, *c)] = w[(bin_, *c)]
    with ct.use_engine("cpu"):
        _, pullback = ct.vjp(ct.histogram(op, -np.inf, bins=bins), index, x)
        assert np.array_equal(pullback(w)[1], want)


def test_compiled_it_is_a_pass_that_keeps_nothing_but_the_position() -> None:
    f = ct.fork(ct.exl >> ct.fold(ct.maximum, -np.inf), ct.reverse_differential(ct.fold(ct.maximum, -np.inf)))
    found = f.source("steps", ct.f32[100_000] * ct.f32[()]).splitlines()
    assert found == ["0: Fold, compiled", "1: ArgExtremum, compiled", "2: ScatterAdded, compiled"]
