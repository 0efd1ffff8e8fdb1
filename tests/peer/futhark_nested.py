"""Derivatives of derivatives, and maps whose elements give different numbers of results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import catad as ct

from .derivatives import Derivative
from .programs import Data, Program, also, normal


def pulled(f: ct.D) -> ct.D:
    """x to the cotangent of x for a cotangent of ones, as a morphism."""
    return ct.fork(ct.id, f >> ct.map(lambda y: 1.0)) >> ct.reverse_differential(f)


def pushed(f: ct.D) -> ct.D:
    """x to the tangent of the result for a tangent of ones, as a morphism."""
    return ct.fork(ct.id, ct.map(lambda x: 1.0)) >> ct.differential(f)


def ones(m: Derivative, d: Data) -> list[Any]:
    return list(m.pull(1.0))


def inner_product(derivative: str) -> Callable[[Data], ct.D]:
    """d/dz (x z) at z = y, a function of x and y: the inner function has x as a constant, which is passed beside."""

    def term(d: Data) -> ct.D:
        if derivative == "forward":
            seed = ct.fork(ct.const(0.0), ct.const(1.0))
            return ct.fork(ct.id, seed) >> ct.differential(ct.mul)
        return ct.fork(ct.id, ct.const(1.0)) >> ct.reverse_differential(ct.mul) >> ct.exr

    return term


def inner_square(derivative: str) -> Callable[[Data], ct.D]:
    """d/dx (x - b)^2 at x = a, a function of a and b."""
    square = ct.sub >> ct.square

    def term(d: Data) -> ct.D:
        if derivative == "forward":
            return ct.fork(ct.id, ct.fork(ct.const(1.0), ct.const(0.0))) >> ct.differential(square)
        return ct.fork(ct.id, ct.const(1.0)) >> ct.reverse_differential(square) >> ct.exl

    return term


def by_first(m: Derivative, d: Data) -> list[Any]:
    return [m.push(1.0, None)]


def by_second(m: Derivative, d: Data) -> list[Any]:
    return [m.push(None, 1.0)]


FOURTH = ct.map(lambda x: x**4)
CUBE = ct.map(lambda x: x**3)


def pulled_array(f: ct.D) -> ct.D:
    """(array, indices) to the cotangent of the array, for a cotangent of ones."""
    return pulled(f) >> ct.exl


def rows_and_columns(d: Data) -> ct.D:
    """X[is[i]][js[j]] cubed, from (X, is, js)."""
    rows = ct.fork(ct.proj(0), ct.proj(1)) >> ct.gather >> ct.transpose()
    return ct.fork(rows, ct.proj(2)) >> ct.gather >> ct.transpose() >> CUBE


def powers(d: Data) -> ct.D:
    squares = ct.map(lambda x: x**2.0)
    return ct.fork(ct.slice(1, 2), ct.slice(2, 3)) >> ct.cross(squares, squares) >> ct.add >> ct.sum()


def matrix(m: Derivative, d: Data) -> list[Any]:
    return [m.block()]


# -- each element repeated its own number of times


def repeated(total: int) -> ct.D:
    """(counts, array) to the array with entry i repeated counts[i] times: which entry stands at j is how many end before j."""
    ends = ct.exl >> ct.scan(lambda a, b: a + b, 0)
    at = ct.fork(ct.iota(total) >> ct.reshape((total, 1)), ends)
    place = at >> ct.map(lambda j, end: 1 if j >= end else 0) >> ct.sum(axis=1)
    return ct.fork(ct.exr, place) >> ct.gather


def copies_and_double(d: Data) -> ct.D:
    return ct.fork(repeated(int(d["ks"].sum())), ct.exr >> ct.map(lambda x: 2.0 * x))


def pairs_and_multiples(d: Data) -> ct.D:
    pairs = ct.map(lambda x: (x, x**2)) >> ct.stack(axis=1)
    multiples = ct.map(lambda x: (2.0 * x, 3.0 * x)) >> ct.stack(axis=1)
    return ct.fork(ct.cross(ct.id, pairs) >> repeated(int(d["ks"].sum())), ct.exr >> multiples)


def transposed_both(m: Derivative, d: Data) -> list[Any]:
    return [np.moveaxis(m.block(k, 1), -1, 0) for k in range(2)]


COUNTS = also(normal(xs=(4,)), ks=np.array([2, 0, 3, 1]))
POINT = {"is": np.array([2, 0, 1, 2])}

PROGRAMS = {
    "confusion0": tuple(Program(inner_product(k), "x y", by_first, normal(x=(), y=())) for k in ("forward", "reverse")),
    "nested0": (
        Program(lambda d: pulled(pulled(FOURTH)), "xs", ones, normal(xs=(3,))),
        Program(lambda d: pushed(pulled(FOURTH)), "xs", ones, normal(xs=(3,))),
    ),
    "nested2": Program(
        lambda d: pulled_array(pulled_array(ct.gather >> FOURTH)), "xs is", ones, also(normal(xs=(3,)), **POINT), whole="is"
    ),
    "nested4": Program(
        lambda d: pulled(rows_and_columns(d)) >> ct.proj(0), "X is js", ones,
        also(normal(X=(3, 3)), js=np.array([1, 2, 2]), **POINT), whole="is js",
    ),
    "issue2229_jvp": Program(inner_square("forward"), "a b", by_second, normal(a=(), b=())),
    "issue2229_vjp": Program(inner_square("reverse"), "a b", by_second, normal(a=(), b=())),
    "issue2216": Program(lambda d: ct.grad(powers(d)), "x", matrix, normal(x=(3,))),
    "flatmap0": Program(copies_and_double, "ks xs", transposed_both, COUNTS, whole="ks"),
    "flatmap1": Program(pairs_and_multiples, "ks xs", transposed_both, COUNTS, whole="ks"),
}  # fmt: skip
