"""Derivatives that are zero by structure: every word behind a constant and a `sign`, in every mode, and to second order."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import pytest
from law_cases import CASES, Case

import catad as ct

MODES = ("auto", "forward", "reverse", "elimination")


def constant(x: Any) -> ct.D:
    """The morphism from anything to a value."""
    if isinstance(x, tuple):
        return ct.fork(*[constant(part) for part in x]) if x else ct.bang
    return ct.const(x)


def signed(x: Any) -> ct.D:
    """The morphism on the space of a value that is that value there, and whose derivative is zero everywhere."""
    if isinstance(x, tuple):
        return ct.cross(*[signed(part) for part in x])
    if np.asarray(x).dtype.kind != "f":
        return ct.id
    return ct.fork(ct.sign, ct.const(np.abs(np.asarray(x)))) >> ct.mul


def leaves(value: Any) -> list[Any]:
    return [leaf for part in value for leaf in leaves(part)] if isinstance(value, tuple) else [value]


def same(value: Any, like: Any) -> bool:
    """Whether a value has the shape of a tangent of another, and is zero."""
    if isinstance(like, tuple):
        return isinstance(value, tuple) and len(value) == len(like) and all(map(same, value, like))
    if np.asarray(like).dtype.kind != "f":
        return value == ()
    return value.shape == np.shape(like) and value.dtype == np.asarray(like).dtype and not np.any(value)


def ones(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple([ones(part) for part in value])
    return np.ones_like(value) if np.asarray(value).dtype.kind == "f" else ()


def check(f: ct.D, x: Any, y: Any) -> None:
    """All that is asked of a derivative at a point, where f(x) = y, against zeros."""
    value, back = ct.vjp(f, x)
    assert all(np.array_equal(a, c, equal_nan=True) for a, c in zip(leaves(value), leaves(y), strict=True))
    w, v = ones(value), ones(x)
    assert same(back(w)[0], x)
    assert same(ct.jvp(f, (x,), (v,))[1], value)
    _, L = ct.linearize(f, x)
    if not L.structure.dom or not L.structure.cod:
        return
    assert L.structure.is_zero and L.stored == 0 and len(L.slots) == 0
    assert same(L(v), value) and same(L.T(w), x)
    assert not np.any(L.todense()) and L.todense().size == L.shape[0] * L.shape[1] and L.tocsr().nnz == 0
    many = back.many(ones_of(3, w))[0]
    assert all(leaf.shape[0] == 3 and not np.any(leaf) for leaf in leaves(many) if not isinstance(leaf, tuple))
    for mode in MODES:
        assert not np.any(ct.jacobian(f, mode)(x).todense())


def ones_of(count: int, w: Any) -> Any:
    return tuple([ones_of(count, part) for part in w]) if isinstance(w, tuple) else np.ones((count, *np.shape(w)), w.dtype)


def check_twice(f: ct.D, x: Any) -> None:
    """The same of the gradient of a scalar function."""
    assert same(ct.grad(f)(x), x) and same(ct.hvp(f, (x,), (ones(x),)), x)
    for mode in MODES:
        assert not np.any(ct.hessian(f, mode)(x).todense())


def has_floats(x: Any) -> bool:
    return any(np.asarray(leaf).dtype.kind == "f" for leaf in leaves(x))


@pytest.mark.quick(60)
@pytest.mark.parametrize("case", [pytest.param(c, id=str(c)) for c in CASES if "opaque" not in c.name])
def test_behind_a_constant_and_behind_a_sign(case: Case) -> None:
    f = case.make()
    x = case.point(np.random.default_rng(zlib.crc32(case.name.encode())), "float64", False)
    with np.errstate(all="ignore"):
        y = f(x)
        check(constant(x) >> f, np.array([0.5, 2.0]), y)
        if has_floats(x):
            check(signed(x) >> f, x, (signed(x) >> f)(x))


SHORT: dict[str, ct.D] = {
    "square of a sum": ct.sum() >> ct.square,
    "iterate": ct.iterate(ct.sin, 3),
    "a loop whose step is constant": ct.iterate(ct.sign >> ct.exp, 3),
    "a loop that sums": ct.iterate(ct.fork(ct.sum() >> ct.sign, ct.id) >> ct.mul, 2),
    "while": ct.while_loop(ct.sum() >> ct.map(lambda s: s < 5.0), ct.map(lambda v: v + 1.0)),
    "checkpoint": ct.checkpoint(ct.sin),
    "sort": ct.sort(),
    "scan": ct.scan(lambda a, b: a * b, 1.0),
    "fold": ct.fold(lambda a, b: a * b, 1.0),
    "fork": ct.fork(ct.sin, ct.exp) >> ct.mul,
    "map of a loop": ct.map(lambda v: v * v),
}


@pytest.mark.parametrize("engine", ["reference", "cpu"])
@pytest.mark.parametrize("name", SHORT)
def test_to_second_order(name: str, engine: str) -> None:
    x = np.ones(3)
    with ct.use_engine(engine):
        for before in (ct.sign, ct.const(x)):
            f = before >> SHORT[name]
            check(f, x, f(x))
            scalar = f if np.shape(f(x)) == () else f >> ct.sum()
            check_twice(scalar, x)


def test_a_part_that_is_zero_beside_one_that_is_not() -> None:
    x = np.array([0.5, 2.0])
    f = ct.fork(ct.sign >> ct.scan(lambda a, b: a * b, 1.0) >> ct.exp, ct.sin) >> ct.add
    both = ct.fork(ct.sign >> ct.sort(), ct.cos)
    np.testing.assert_array_equal(ct.linearize(f, x)[1].todense(), np.diag(np.cos(x)))
    assert ct.jacobian(f)(x).kind == "diagonal" and ct.jacobian(f)(x).stored == 2
    for mode in MODES:
        np.testing.assert_array_equal(
            ct.jacobian(both, mode)(x).todense(), np.vstack([np.zeros((2, 2)), np.diag(-np.sin(x))])
        )


def test_zero_maps_by_name() -> None:
    """What is composed of a zero map keeps no arrays of the others."""
    zero, scale = ct.linear.zero(ct.f64[2], ct.f64[2]), ct.scale(np.array([2.0, 3.0]))
    lazy = ct.linear.recurrence(np.array([1.0, 2.0]))
    for L in (zero >> scale, scale >> zero, lazy >> zero, zero >> lazy, lazy >> scale >> zero, lazy >> (zero >> scale)):
        assert np.array_equal(L(np.ones(2)), np.zeros(2)) and np.array_equal(L.T(np.ones(2)), np.zeros(2))
        assert L.stored == len(L.slots) == 0 and not np.any(L.todense())
    for L in (zero + scale, scale + zero, scale - zero):
        assert np.array_equal(L(np.ones(2)), [2.0, 3.0])
