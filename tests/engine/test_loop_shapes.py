"""Loops in mapped functions on arrays that broadcast together: values and derivatives are right on both engines."""

from __future__ import annotations

import math

import numpy as np
import pytest

import catad as ct

from .cpu_support import on

SHAPES = [
    ((3, 4), (3, 1)),
    ((3, 1), (3, 4)),
    ((3, 4), ()),
    ((), (3, 4)),
    ((4,), (3, 1)),
    ((3, 4), (4,)),
    ((), ()),
    ((0, 4), (1, 1)),
]
CASES = [("reference", shapes) for shapes in SHAPES] + [("cpu", shapes) for shapes in SHAPES[:5:2]]


def swap(x, y):
    for _ in range(17):
        x, y = 0.9 * y, 1.01 * x
    return x, y


def overwrite(x, y):
    for _ in range(20):
        x, y = 0.9 * y, 1.01 * y
    return x, y


def shrink(x, y):
    for _ in range(20):
        x = 0.25
    return x


def relax(x, y):
    for _ in range(20):
        x = 0.9 * x + 0.1 * y
    return x


def apart(x, y):
    for _ in range(20):
        x = 0.9 * x
        y = math.sin(y)
    return x, y


def nested(x, y):
    for _ in range(18):
        z = x
        for _ in range(17):
            z = 0.5 * y
        x = 0.5 * x + z * y
    return x, z


def stopped(x, y):
    n = 0
    while x > 0.3:
        x = 0.9 * x
        n += 1
    return x, y * 0.9**3, n


def found(x, y):
    for _ in range(40):
        x = 0.9 * x + 0.05 * y
        if x < 0.4:
            break
    return y, x


def relax_by_square(x, y):
    for _ in range(20):
        x = 0.9 * x * y + 0.1 * y
    return x


LOOPS = [swap, overwrite, shrink, relax, apart, nested, stopped, found]


def data(shapes):
    rng = np.random.default_rng(5)
    return tuple(rng.uniform(0.5, 2.0, shape) for shape in shapes)


def leaves(value):
    return value if isinstance(value, tuple) else (value,)


def elementwise(fn, x, y):
    """Plain Python on each element of the broadcast arrays."""
    xs, ys = np.broadcast_arrays(x, y)
    rows = [leaves(fn(a, b)) for a, b in zip(xs.ravel().tolist(), ys.ravel().tolist(), strict=True)]
    count = len(leaves(fn(1.0, 1.0)))
    return [np.array([row[k] for row in rows]).reshape(xs.shape) for k in range(count)]


@pytest.mark.parametrize(("engine", "shapes"), CASES, ids=str)
@pytest.mark.parametrize("fn", LOOPS)
def test_values_are_those_of_each_element(fn, engine, shapes):
    x, y = data(shapes)
    want = elementwise(fn, x, y)
    for a, b in zip(on(engine, ct.map(fn), (x, y)), want, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-12)


@pytest.mark.parametrize(("engine", "shapes"), CASES, ids=str)
@pytest.mark.parametrize("fn", LOOPS)
def test_derivatives_are_those_of_each_element(fn, engine, shapes):
    """The tangent against central differences of plain Python, the cotangents against the tangent."""
    x, y = data(shapes)
    count = len(leaves(fn(1.0, 1.0)))
    first = ct.map(fn)
    floats = [k for k in range(count) if isinstance(leaves(fn(1.0, 1.0))[k], float)]
    rng = np.random.default_rng(6)
    dx, dy = (rng.normal(size=a.shape) for a in (x, y))
    h = 1e-6
    moved = [elementwise(fn, x + s * h * dx, y + s * h * dy) for s in (1, -1)]
    want = {k: (moved[0][k] - moved[1][k]) / (2 * h) for k in floats}
    weights = {k: rng.normal(size=want[k].shape) for k in floats}
    with ct.use_engine(engine):
        value, tangent = ct.jvp(first, (x, y), (dx, dy))
        value, tangent = leaves(value), leaves(tangent)
        for k in floats:
            assert tangent[k].shape == value[k].shape
            np.testing.assert_allclose(tangent[k], want[k], rtol=1e-6, atol=1e-8)
        _, back = ct.vjp(first, x, y)
        given = tuple([weights.get(k, ()) for k in range(count)])
        gx, gy = back(given if count > 1 else given[0])
        assert gx.shape == x.shape and gy.shape == y.shape
        pulled = np.sum(gx * dx) + np.sum(gy * dy)
        pushed = sum(np.sum(weights[k] * tangent[k]) for k in floats)
        np.testing.assert_allclose(pulled, pushed, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("shapes", SHAPES[:5], ids=str)
def test_second_derivatives_have_the_shapes_of_the_arguments(shapes):
    x, y = data(shapes)
    f = ct.map(lambda x, y: x * x * relax_by_square(x, y)) >> ct.sum()
    rng = np.random.default_rng(7)
    v = tuple(rng.normal(size=a.shape) for a in (x, y))
    h = 1e-5
    with ct.use_engine("reference"):
        slope = ct.grad(f)
        found = ct.jvp(slope, (x, y), v)[1]
        ahead, behind = (slope(x + s * h * v[0], y + s * h * v[1]) for s in (1, -1))
    for one, a, b in zip(found, ahead, behind, strict=True):
        assert one.shape == a.shape
        np.testing.assert_allclose(one, (a - b) / (2 * h), rtol=1e-6, atol=1e-7)
