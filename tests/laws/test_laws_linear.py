"""The laws of linear maps: biproducts, duals, and every family and combination that can be drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("hypothesis", reason="pip install hypothesis")

from hypothesis import given, settings
from hypothesis import strategies as st

import catad as ct
from catad.testing import check_laws, check_linear_map, linear_maps, points, spaces
from catad.testing.linear_strategies import ANYWHERE, COMBINED, WIDENING, WITH_AXIS, combined


@given(linear_maps(small_integers=True))
def test_drawn_maps_obey_the_laws_bit_for_bit(linear: ct.LinearMap) -> None:
    check_linear_map(linear, exact=True)


@given(linear_maps())
def test_drawn_maps_obey_the_laws_within_rounding(linear: ct.LinearMap) -> None:
    check_linear_map(linear)


@given(spaces(2, np.float32).flatmap(lambda space: linear_maps(space, depth=1)))
def test_drawn_maps_in_single_precision(linear: ct.LinearMap) -> None:
    check_linear_map(linear)


@pytest.mark.parametrize("name", [*ANYWHERE, *WITH_AXIS])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3)], ids=str)
@settings(max_examples=3)
@given(data=st.data())
def test_each_family_obeys_the_laws(name: str, shape: tuple[int, ...], data: Any) -> None:
    if name in WITH_AXIS and not shape:
        return
    linear = (ANYWHERE | WITH_AXIS)[name](data.draw, ct.f64[shape], True)
    check_linear_map(linear, exact=True)
    check_linear_map(linear.T, exact=True)


@pytest.mark.quick(5)
@pytest.mark.parametrize("name", [*COMBINED, *WIDENING])
@settings(max_examples=8)
@given(data=st.data())
def test_each_combination_obeys_the_laws(name: str, data: Any) -> None:
    space = data.draw(spaces(2))
    check_linear_map(combined((COMBINED | WIDENING)[name], data.draw, space, True, 1), exact=True)


@settings(max_examples=15)
@given(linear_maps(ct.f64[2], small_integers=True, depth=1), points(ct.f64[2], small_integers=True))
def test_a_lifted_map_is_its_own_derivative(linear: ct.LinearMap, x: Any) -> None:
    f = ct.lift(linear)
    same_value(f(x), linear(x))
    same_value(ct.differential(f)(x, x), linear(x))
    check_laws(f, x, exact=True, order=1)


# -- biproducts


def same_value(got: Any, expected: Any) -> None:
    assert ct.space_of(got) == ct.space_of(expected)
    for a, b in zip(leaves(got), leaves(expected), strict=True):
        assert np.array_equal(a, b)


def leaves(value: Any) -> list[Any]:
    return [leaf for part in value for leaf in leaves(part)] if isinstance(value, tuple) else [value]


def same_map(left: ct.LinearMap, right: ct.LinearMap) -> None:
    assert (left.dom, left.cod) == (right.dom, right.cod)
    assert np.array_equal(np.asarray(left.todense()), np.asarray(right.todense()))


def projections(a: ct.Space, b: ct.Space) -> tuple[ct.LinearMap, ct.LinearMap]:
    """exl and exr as linear maps, from their derivatives."""
    x = zeros(a), zeros(b)
    return ct.linearize(ct.exl, x)[1], ct.linearize(ct.exr, x)[1]


def zeros(space: ct.Space) -> Any:
    return np.zeros(space.shape) if isinstance(space, ct.Tensor) else tuple(map(zeros, space.factors))


PAIRS = [(ct.f64[2], ct.f64[3]), (ct.f64[()], ct.f64[2, 2]), (ct.f64[2] * ct.f64[1], ct.f64[3])]


@pytest.mark.parametrize(("a", "b"), PAIRS, ids=str)
def test_products_are_biproducts(a: ct.Space, b: ct.Space) -> None:
    inl, inr, (exl, exr) = ct.inl(a, b), ct.inr(a, b), projections(a, b)
    same_map(inl >> exl, ct.linear.identity(a))
    same_map(inr >> exr, ct.linear.identity(b))
    same_map(inl >> exr, ct.linear.zero(a, b))
    same_map(inr >> exl, ct.linear.zero(b, a))
    same_map((exl >> inl) + (exr >> inr), ct.linear.identity(a * b))


@given(linear_maps(ct.f64[2], True, 1), linear_maps(ct.f64[2], True, 1))
def test_fork_and_join_are_dual_and_universal(L: ct.LinearMap, M: ct.LinearMap) -> None:
    exl, exr = projections(L.cod, M.cod)
    same_map(ct.linear.fork(L, M) >> exl, L)
    same_map(ct.linear.fork(L, M) >> exr, M)
    inl, inr = ct.inl(L.cod, M.cod), ct.inr(L.cod, M.cod)
    same_map(inl >> (L.T | M.T), L.T)
    same_map(inr >> (L.T | M.T), M.T)
    same_map(ct.linear.fork(L, M).T, ct.linear.join(L.T, M.T))
    same_map((L.T | M.T).T, ct.linear.fork(L, M))
    same_map(ct.linear.cross(L, M).T, ct.linear.cross(L.T, M.T))
    same_map(ct.linear.fork(L, M), ct.linear.fork(*[ct.linear.identity(ct.f64[2])] * 2) >> ct.linear.cross(L, M))


@given(linear_maps(ct.f64[3], True, 1), st.data())
def test_transposition_is_a_contravariant_functor(L: ct.LinearMap, data: Any) -> None:
    M = data.draw(linear_maps(L.cod, True, 1))
    same_map((L >> M).T, M.T >> L.T)
    same_map(M.multiply(L).T, L.T.multiply(M.T))
    same_map(M.multiply(L), L >> M)
    same_map((L + L).T, L.T + L.T)
    same_map((3.0 * L).T, 3.0 * L.T)
    same_map(M @ L, L >> M)
    N = data.draw(linear_maps(M.cod, True, 0))
    same_map((L >> M) >> N, L >> (M >> N))
    same_map(N.multiply(M.multiply(L)), N.multiply(M).multiply(L))
    same_map(ct.linear.identity(L.dom) >> L, L)
    same_map(L >> ct.linear.identity(L.cod), L)


def derivative(f: ct.D, *shape: int) -> ct.LinearMap:
    return ct.linearize(f, np.zeros(shape))[1]


INDEX = np.array([2, 0, 2, 5, -1])
LINKS = np.array([2.0, -1.0, 3.0, 1.0])
DUALS: dict[str, tuple[Any, Any]] = {
    "exl and inl": (lambda: projections(ct.f64[2], ct.f64[3])[0], lambda: ct.inl(ct.f64[2], ct.f64[3])),
    "exr and inr": (lambda: projections(ct.f64[2], ct.f64[3])[1], lambda: ct.inr(ct.f64[2], ct.f64[3])),
    "dup and jam": (lambda: derivative(ct.dup, 3), lambda: ct.jam(ct.f64[3])),
    "gather and scatter_add": (lambda: ct.linear.gather(INDEX, ct.f64[3]), lambda: ct.linear.scatter_add(INDEX, ct.f64[3])),
    "broadcast and sum": (lambda: derivative(ct.broadcast_to((4, 3)), 3), lambda: derivative(ct.sum(axis=0), 4, 3)),
    "replicate and sum": (lambda: derivative(ct.replicate(4), 3), lambda: derivative(ct.sum(axis=0), 4, 3)),
    "fork and join": (
        lambda: ct.linear.fork(ct.scale(LINKS), ct.linear.cumulative_sum(ct.f64[4])),
        lambda: ct.linear.join(ct.scale(LINKS), ct.linear.cumulative_sum(ct.f64[4], reverse=True)),
    ),
    "slice and pad": (lambda: derivative(ct.slice(1, 3), 6), lambda: derivative(ct.pad(1, 3), 2)),
    "flip and flip": (lambda: derivative(ct.flip(), 2, 3), lambda: derivative(ct.flip(), 2, 3)),
    "reshape and reshape": (lambda: derivative(ct.reshape((6,)), 2, 3), lambda: derivative(ct.reshape((2, 3)), 6)),
    "transposition and its inverse": (
        lambda: derivative(ct.transpose((1, 2, 0)), 2, 3, 4),
        lambda: derivative(ct.transpose((2, 0, 1)), 3, 4, 2),
    ),
    "scan and reversed scan": (
        lambda: derivative(ct.scan(ct.add, 0.0), 4),
        lambda: derivative(ct.scan(ct.add, 0.0, reverse=True), 4),
    ),
    "exclusive scan and reversed exclusive scan": (
        lambda: derivative(ct.scan(ct.add, 0.0, exclusive=True), 4),
        lambda: derivative(ct.scan(ct.add, 0.0, exclusive=True, reverse=True), 4),
    ),
    "recurrence forward and backward": (
        lambda: ct.linear.recurrence(LINKS),
        lambda: ct.linear.recurrence(LINKS, reverse=True),
    ),
    "dense and its transpose": (
        lambda: ct.linear.dense(np.arange(6.0).reshape(2, 3)),
        lambda: ct.linear.dense(np.arange(6.0).reshape(2, 3).T),
    ),
    "outer and outer": (lambda: ct.linear.outer(LINKS[:2], LINKS), lambda: ct.linear.outer(LINKS, LINKS[:2])),
    "concatenate and split": (
        lambda: ct.linearize(ct.concatenate(), np.zeros(2), np.zeros(3))[1],
        lambda: derivative(ct.fork(ct.slice(0, 2), ct.slice(2, 5)), 5),
    ),
    "diagonal and trace": (
        lambda: derivative(ct.einsum("ii->i"), 3, 3),
        lambda: ct.linear.dense(np.einsum("ij,jk->ijk", np.eye(3), np.eye(3))),
    ),
}


@pytest.mark.parametrize("name", list(DUALS))
def test_dual_pairs_are_transposes_of_each_other(name: str) -> None:
    one, other = (make() for make in DUALS[name])
    same_map(one.T, other)
    same_map(other.T, one)
    check_linear_map(one, exact=True)
    check_linear_map(other, exact=True)
