"""The laws on drawn terms: compositions that nobody thought of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("hypothesis", reason="pip install hypothesis")

from hypothesis import assume, given, settings
from hypothesis import strategies as st

import catad as ct
from catad.testing import chains, check_grads, check_laws, points, spaces, terms
from catad.testing.values import largest

EXACT = 2.0**40  # beyond this, small integers have grown out of what float64 holds exactly after a few more products


@st.composite
def terms_at_points(
    draw: Any, polynomial: bool = False, smooth: bool = False, dtype: Any = np.float64, boxes: int = 3
) -> Any:
    space = draw(spaces(2, dtype))
    return draw(terms(space, polynomial, smooth, boxes)), draw(points(space, small_integers=polynomial))


def stays_exact(f: ct.D, x: Any) -> bool:
    """Whether the term and its second derivative are small, so that the laws, which take both further, stay exact."""
    v = threes(ct.space_of(x))
    second = ct.differential(ct.differential(f))
    return largest(f(x), second((x, v), (v, v))) < 2.0**20


def threes(space: ct.Space) -> Any:
    """The tangent whose numbers are all 3."""
    if isinstance(space, ct.Tensor):
        return np.full(space.shape, 3.0, space.dtype)
    return tuple(threes(factor) for factor in space.factors)


@given(terms_at_points(polynomial=True))
def test_laws_hold_bit_for_bit_on_polynomial_terms(drawn: Any) -> None:
    f, x = drawn
    assume(stays_exact(f, x))
    check_laws(f, x, exact=True)


@settings(max_examples=8)
@given(terms_at_points())
def test_laws_hold_within_rounding(drawn: Any) -> None:
    f, x = drawn
    check_laws(f, x, order=1)


@settings(max_examples=8)
@given(terms_at_points(dtype=np.float32, smooth=True))
def test_laws_hold_within_rounding_in_single_precision(drawn: Any) -> None:
    f, x = drawn
    check_laws(f, x, order=1)


@given(terms_at_points(smooth=True))
def test_derivatives_agree_with_differences(drawn: Any) -> None:
    f, x = drawn
    check_grads(f, x, order=2)


@st.composite
def chains_at_points(draw: Any) -> Any:
    space = draw(spaces(2))
    return draw(chains(space, polynomial=True)), draw(points(space, small_integers=True))


def same(left: ct.D, right: ct.D, x: Any) -> None:
    """Equal values bit for bit, with dtypes, and wirings of equally many boxes."""
    got, expected = left(x), right(x)
    space = ct.space_of(x)
    assert left.spaces(space) == right.spaces(space) == ct.space_of(got)
    assert len(ct.wire(left, space).boxes) == len(ct.wire(right, space).boxes)
    for a, b in zip(leaves(got), leaves(expected), strict=True):
        assert a.dtype == b.dtype
        assert np.array_equal(a, b)


def leaves(value: Any) -> list[Any]:
    return [leaf for part in value for leaf in leaves(part)] if isinstance(value, tuple) else [value]


@given(chains_at_points())
def test_composition_is_associative_and_has_a_unit(drawn: Any) -> None:
    (f, g, h), x = drawn
    assert (f >> g) >> h == f >> (g >> h) == ct.compose(f, g, h)
    assert hash((f >> g) >> h) == hash(f >> (g >> h))
    assert ct.id >> f == f == f >> ct.id
    same((f >> g) >> h, f >> (g >> h), x)
    same(ct.id >> f, f, x)


@given(chains_at_points(), st.data())
def test_products_fuse(drawn: Any, data: Any) -> None:
    (h, f, _), x = drawn
    g = data.draw(terms(ct.space_of(h(x)), polynomial=True, boxes=2))
    pair = ct.fork(f, g)
    same(h >> pair >> ct.exl, h >> f, x)
    same(h >> pair >> ct.exr, h >> g, x)
    same(h >> pair, ct.fork(h >> f, h >> g), x)
    same(h >> ct.dup >> ct.cross(f, g), h >> pair, x)
    same(ct.cross(h, h) >> ct.cross(f, g), ct.cross(h >> f, h >> g), (x, x))
    same(h >> pair >> ct.swap, h >> ct.fork(g, f), x)


@given(chains_at_points())
def test_the_tangent_functor_takes_chains_to_chains(drawn: Any) -> None:
    (f, g, h), x = drawn
    v = threes(ct.space_of(x))
    whole, parts = ct.tangent(ct.compose(f, g, h)), ct.compose(*map(ct.tangent, (f, g, h)))
    got, expected = whole(x, v), parts(x, v)
    assume(largest(got) < EXACT)
    for a, b in zip(leaves(got), leaves(expected), strict=True):
        assert a.dtype == b.dtype
        assert np.array_equal(a, b)


@given(terms_at_points())
def test_terms_print_as_python_that_rebuilds_them(drawn: Any) -> None:
    import pickle

    f, x = drawn
    again = eval(repr(f), {"ct": ct, "np": np, **f.names})
    assert again == f
    assert hash(again) == hash(f)
    packed = pickle.loads(pickle.dumps(f))
    assert packed == f
    for a, b in zip(leaves(f(x)), leaves(packed(x)), strict=True):
        assert np.array_equal(a, b)
