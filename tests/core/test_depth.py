"""Morphisms that are nested far deeper than Python's stack: they are laid out, differentiated and run all the same."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad import errors
from catad.category import nesting
from catad.category.cache import cached


@pytest.fixture(autouse=True)
def limit() -> Iterator[None]:
    """Nothing here may raise Python's limit."""
    before = sys.getrecursionlimit()
    assert before <= 1000
    yield
    assert sys.getrecursionlimit() == before


@pytest.fixture(params=["reference", "cpu"])
def engine(request: pytest.FixtureRequest) -> Iterator[str]:
    with ct.use_engine(request.param):
        yield request.param


def nested(f: ct.D, depth: int, around: Callable[[ct.D], ct.D]) -> ct.D:
    for _ in range(depth):
        f = around(f)
    return f


def sines(x: float, n: int) -> tuple[float, float, float]:
    """sin applied n times, with its first and second derivative, in plain Python."""
    y, d, e = x, 1.0, 0.0
    for _ in range(n):
        y, d, e = math.sin(y), math.cos(y) * d, -math.sin(y) * d * d + math.cos(y) * e
    return y, d, e


def agrees(f: ct.D, x: float, want: tuple[float, float, float], hvp: bool = True) -> None:
    y, d, e = want
    point, v = np.array([x]), np.array([2.0])
    assert f(point) == pytest.approx(y)
    assert ct.grad(f >> ct.sum())(point) == pytest.approx(d)
    assert ct.jvp(f, (point,), (v,))[1] == pytest.approx(2.0 * d)
    assert ct.vjp(f, point)[1](v)[0] == pytest.approx(2.0 * d)
    if hvp:
        assert ct.hvp(f >> ct.sum(), point, v) == pytest.approx(2.0 * e)


@pytest.mark.quick(1)
def test_checkpoints_within_each_other(engine: str) -> None:
    agrees(nested(ct.sin, 300, ct.checkpoint), 0.5, sines(0.5, 1))


@pytest.mark.quick(1)
def test_checkpoints_with_work_between(engine: str) -> None:
    f = nested(ct.sin, 300, lambda f: ct.sin >> ct.checkpoint(f))
    y, d, _ = sines(0.5, 301)
    assert ct.value_and_grad(f >> ct.sum())(np.array([0.5])) == (pytest.approx(y), pytest.approx(d))
    agrees(nested(ct.sin, 30, lambda f: ct.sin >> ct.checkpoint(f)), 0.5, sines(0.5, 31))


@pytest.mark.slow
@pytest.mark.parametrize("around, steps", [(ct.checkpoint, 1), (lambda f: ct.sin >> ct.checkpoint(f), 2001)])
def test_two_thousand(engine: str, around: Callable[[ct.D], ct.D], steps: int) -> None:
    agrees(nested(ct.sin, 2000, around), 0.5, sines(0.5, steps))


def test_forward_mode_goes_through_each_checkpoint_once() -> None:
    """The work of value and tangent, of a function and of its gradient, grows as the depth does."""

    def operations(depth: int, order: int) -> int:
        f = nested(ct.sin, depth, lambda f: ct.sin >> ct.checkpoint(f)) >> ct.sum()
        point, v = (np.array([0.5]),), (np.array([2.0]),)
        with ct.count() as c:
            ct.jvp(f if order == 1 else ct.grad(f), point, v)
        return c.operations

    for order in (1, 2):
        few, many = operations(10, order), operations(40, order)
        assert many <= 4.4 * few


def test_checkpoints_around_arrays_of_any_weight(engine: str) -> None:
    """What holds large arrays is not found by an equal term made anew, and is laid out once all the same."""
    half = np.full(20_000, 0.5)
    f = nested(ct.sin, 60, lambda f: ct.checkpoint(ct.fork(f, ct.const(np.ones(20_000))) >> ct.mul))
    np.testing.assert_allclose(ct.grad(f >> ct.sum())(half), np.cos(half))


@pytest.mark.quick(1)
def test_loops_within_each_other(engine: str) -> None:
    f = nested(ct.sin, 300, lambda f: ct.iterate(f, 1))
    assert f(np.array([0.5])) == pytest.approx(math.sin(0.5))
    agrees(nested(ct.sin, 25, lambda f: ct.iterate(f, 1)), 0.5, sines(0.5, 1))


def test_more_axes_than_arrays_have() -> None:
    """The coefficients of a loop have an axis for its steps; NumPy's arrays have at most 64."""
    f = nested(ct.sin, 100, lambda f: ct.iterate(f, 1))
    with pytest.raises(ct.errors.SpaceError, match="65 axes"):
        ct.grad(f >> ct.sum())(np.array([0.5]))
    with pytest.raises(ct.errors.SpaceError, match="65 axes"):
        ct.Tensor((1,) * 65, "float64")


@pytest.mark.quick(1)
def test_loops_of_checkpoints_keep_arguments_alone(engine: str) -> None:
    f = nested(ct.sin, 100, lambda f: ct.iterate(ct.checkpoint(f), 1))
    agrees(f, 0.5, sines(0.5, 1), hvp=False)


def test_batches_within_each_other(engine: str) -> None:
    x = np.full((1,) * 60, 0.5)
    f = nested(ct.sin, 59, ct.map)
    assert f(x).shape == x.shape and f(x).item() == pytest.approx(math.sin(0.5))
    assert ct.vjp(f, x)[1](x)[0].item() == pytest.approx(0.5 * math.cos(0.5))


def test_batched_while_loops_below_checkpoints(engine: str) -> None:
    """Loops whose steps are counted on the data, laid out anew for each number, far down."""
    halve = ct.while_loop(ct.map(lambda x: x > 1.0), ct.map(lambda x: x / 2.0))
    f = ct.map(nested(halve, 40, ct.checkpoint))
    x = np.array([0.5, 3.0, 10.0, 100.0])
    np.testing.assert_array_equal(f(x), [0.5, 0.75, 0.625, 0.78125])
    np.testing.assert_array_equal(ct.grad(f >> ct.sum())(x), [1.0, 1 / 4, 1 / 16, 1 / 128])


def test_while_loops_within_each_other(engine: str) -> None:
    """Each level counts the steps of the one within as it takes them, so that no level runs twice for the next."""
    f = nested(ct.sin, 20, lambda f: ct.while_loop(ct.map(lambda x: x > 0.9), f))
    y, d, _ = sines(1.2, 2)
    assert f(1.2) == pytest.approx(y)
    assert ct.value_and_grad(f)(1.2) == (pytest.approx(y), pytest.approx(d))
    assert ct.jvp(f, (0.5,), (2.0,)) == (0.5, 2.0)


def test_operations_are_counted_at_any_depth() -> None:
    f = nested(ct.sin, 300, lambda f: ct.sin >> ct.checkpoint(f))
    with ct.count() as c:
        f(np.ones(4))
    assert c.programs == 1 and c.operations == 301 * 4


def test_errors_far_down_are_the_usual_ones() -> None:
    f = nested(ct.mul, 100, ct.checkpoint)
    with pytest.raises(ct.errors.SpaceError) as far:
        f(np.ones(3))
    with pytest.raises(ct.errors.SpaceError) as near:
        ct.mul(np.ones(3))
    assert far.value.message == near.value.message


def test_each_thing_far_down_is_made_once() -> None:
    calls: list[int] = []

    def make(k: int) -> int:
        if k == 100:
            calls.append(k)
            return 0
        return 1 + nesting.made(k + 1, lambda: make(k + 1))

    assert nesting.made(0, lambda: make(0)) == 100
    assert calls == [100]


def test_what_nests_without_end_is_a_named_error() -> None:
    def forever(x: Any) -> Any:
        return forever(x)

    with pytest.raises(errors.DepthError) as found:
        cached(ct.sin >> ct.exp >> ct.cos, "forever", lambda: forever(0))
    assert isinstance(found.value, RecursionError) and isinstance(found.value, ct.errors.CatadError)
    assert "recursion limit" in found.value.message


def test_hashes_of_deep_terms() -> None:
    f, g = (nested(ct.sin, 3000, ct.checkpoint) for _ in range(2))
    assert hash(f) == hash(g) and f == g
