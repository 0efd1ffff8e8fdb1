"""Combinator programs on compiled stages: value, tangents, cotangents and gradients are those of the reference."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import catad as ct
from catad.testing import points, terms

from .cpu_support import assert_near, assert_same, on, small_blocks, small_thresholds

SPACES = [ct.f64[3], ct.f64[2, 3], ct.f32[4], ct.f64[1], ct.f64[2, 1, 3], ct.f64[3] * ct.f64[3], ct.f32[2, 2] * ct.f32[2]]


def drawn(data, f, dom, compare, exact):
    """Value, D[f] and R[f] at drawn points."""
    cod = f.spaces(dom)
    x, v = data.draw(points(dom, small_integers=exact)), data.draw(points(ct.tangent_space(dom), small_integers=exact))
    w = data.draw(points(ct.tangent_space(cod), small_integers=exact))
    for g, at in ((f, x), (ct.tangent(f), (x, v)), (ct.fork(ct.exl >> f, ct.reverse_differential(f)), (x, w))):
        compare(on("cpu", g, at), on("reference", g, at), note=(g, at))


@given(st.data())
def test_polynomial_programs_are_the_same_bit_for_bit(data):
    dom = data.draw(st.sampled_from(SPACES))
    drawn(data, data.draw(terms(dom, polynomial=True, boxes=6)), dom, exactly, True)


def exactly(got, want, note):
    assert_same([a + 0 for a in got], [b + 0 for b in want], note)  # of zeros, signs may tell where a sum starts


@given(st.data())
def test_all_programs_agree_with_the_reference(data):
    dom = data.draw(st.sampled_from(SPACES))
    drawn(data, data.draw(terms(dom, smooth=data.draw(st.booleans()), boxes=5)), dom, assert_near, False)


# -- programs that go together in stages, at sizes about tiles, chunks and blocks


def affine(a, b):
    return a[0] * b[0], a[1] * b[0] + b[1]


def square(x):
    return x * x


PROGRAMS = {
    "maps": ct.map(square) >> ct.map(lambda x: x + 1.0) >> ct.fork(ct.neg, ct.map(lambda x: 2.0 * x)),
    "map, sum": ct.map(square) >> ct.fork(ct.sum(), ct.sum(axis=0)),
    "scans": ct.fork(*[ct.scan(ct.add, 0.0, exclusive=e, reverse=r, axis=k) for e in (0, 1) for r in (0, 1) for k in (0, -1)]),
    "scan of products": ct.map(lambda x: 1.0 + 0.01 * x) >> ct.scan(lambda a, b: a * b, 1.0),
    "affine scan": ct.fork(ct.map(lambda x: 0.5 * x), ct.id) >> ct.scan(affine, (1.0, 0.0)) >> ct.add,
    "affine fold": ct.fork(ct.map(lambda x: 0.5 * x), ct.id) >> ct.fold(affine, (1.0, 0.0)),
    "maximum": ct.fork(ct.fold(ct.maximum, -np.inf), ct.scan(ct.minimum, np.inf, reverse=True)),
    "product": ct.map(lambda x: 1.0 + 0.01 * x) >> ct.fold(lambda a, b: a * b, 1.0),
    "flips and shifts": ct.flip() >> ct.map(square) >> ct.pad(2, 1, 0.5) >> ct.slice(1, None) >> ct.map(lambda x: x + 1.0),
    "steps": ct.slice(None, None, 2) >> ct.map(square) >> ct.flip(),
    "transposed": ct.transpose() >> ct.map(square) >> ct.scan(ct.add, 0.0) >> ct.transpose(),
    "joined": ct.fork(ct.map(square), ct.flip()) >> ct.concatenate() >> ct.scan(ct.add, 0.0),
    "with its reverse": ct.fork(ct.id, ct.flip()) >> ct.mul,
    "normalised": ct.fork(ct.id, ct.map(square) >> ct.sum() >> ct.map(lambda s: 1.0 / (1.0 + s))) >> ct.mul,
    "neighbours": ct.stencil(lambda a, b, c: a * b + 0.5 * c, [-1, 0, 1], "reflect"),
    "recurrence": ct.fork(ct.map(lambda x: 0.25 * x), ct.id) >> ct.recurrence,
    "with its sum": ct.fork(ct.sum(axis=0, keepdims=True), ct.id) >> ct.add,
}  # fmt: skip


def arrays(size, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.uniform(-1.0, 1.0, shape) for shape in ((size,), (size, 3), (3, size), (2, size, 2))]


@pytest.mark.quick(14)
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("size", [0, 1, 2, 5, 67])
def test_programs_at_small_sizes_with_small_tiles_and_threads(monkeypatch, name, size):
    small_blocks(monkeypatch)
    small_thresholds(monkeypatch)
    f = PROGRAMS[name]
    with ct.num_threads(3):
        for x in arrays(size):
            try:
                want = on("reference", f, x)
            except ct.CatadError as error:  # no neighbour, or no element, at this size
                with pytest.raises(type(error)):
                    on("cpu", f, x)
                continue
            assert_near(on("cpu", f, x), want, note=name)
            derivatives(f, x, name)


def derivatives(f, x, note):
    rng = np.random.default_rng(7)
    dom = ct.space_of(x)
    v, w = (random(rng, space) for space in (dom, f.spaces(dom)))
    assert_near(on("cpu", ct.tangent(f), (x, v)), on("reference", ct.tangent(f), (x, v)), eps=2048, note=note)
    back = ct.fork(ct.exl >> f, ct.reverse_differential(f))
    assert_near(on("cpu", back, (x, w)), on("reference", back, (x, w)), eps=2048, note=note)


def random(rng, space):
    if isinstance(space, ct.Tensor):
        return rng.uniform(-1.0, 1.0, space.shape).astype(space.dtype)
    return tuple(random(rng, factor) for factor in space.factors)


@pytest.mark.quick(8)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_above_the_sizes_of_tiles_and_chunks(name):
    f = PROGRAMS[name]
    for x in arrays(8200, seed=1)[:3]:
        assert_near(on("cpu", f, x), on("reference", f, x), eps=8192, note=name)
    derivatives_large(f, arrays(8200, seed=2)[0], name)


def derivatives_large(f, x, note):
    """Against directional sums of the reference: rounding grows with the length of a sum."""
    rng = np.random.default_rng(7)
    w = random(rng, f.spaces(ct.space_of(x)))
    back = ct.reverse_differential(f)
    assert_near(on("cpu", back, (x, w)), on("reference", back, (x, w)), eps=1 << 16, note=note)


OPERATORS = {
    "+": (ct.add, 0.0),
    "*": (lambda a, b: a * b, 1.0),
    "max": (ct.maximum, -np.inf),
    "sat": (lambda a, b: min(a + b, 10.0), 0.0),
}


@pytest.mark.quick(10)
@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("count", [0, 1, 2, 50, 9000])
def test_histograms_gathers_and_segments(name, count):
    op, neutral = OPERATORS[name]
    rng = np.random.default_rng(5)
    index, x = rng.integers(-1, 8, count), rng.integers(1, 3, count).astype(float)
    if name == "*":
        x = np.where(rng.uniform(size=count) < 0.995, 1.0, x)
    h = ct.fork(ct.exl, ct.exr >> ct.map(lambda x: 1.0 * x)) >> ct.histogram(op, neutral, 7)
    flags = rng.uniform(size=count) < 0.1
    s = ct.segmented_scan(op, neutral)
    for f, at in ((h, (index, x)), (s, (flags, x))):
        want = on("reference", f, at)
        assert_near(on("cpu", f, at), want)
        w = rng.integers(-2, 3, want[0].shape).astype(float)
        back = ct.reverse_differential(f)
        assert_near(on("cpu", back, (at, w)), on("reference", back, (at, w)))
    if count:
        g = ct.fork(ct.exr, ct.exl >> ct.map(lambda k: max(k, 0))) >> ct.gather >> ct.map(square) >> ct.sum()
        y = rng.integers(-3, 4, 7).astype(float)
        assert_same(on("cpu", g, (index % 7, y)), on("reference", g, (index % 7, y)))
        back = ct.reverse_differential(g)
        assert_same(on("cpu", back, ((index % 7, y), 1.0)), on("reference", back, ((index % 7, y), 1.0)))


def test_a_product_with_zeros_and_one_that_overflows_or_vanishes_by_halves():
    """The gradient of a product is read from the whole where that is a normal number, and else from both sides."""
    g = ct.grad(ct.fold(lambda a, b: a * b, 1.0))
    for x in (
        [2.0, 3.0, 4.0],
        [2.0, 0.0, 4.0],
        [0.0, 0.0, 4.0],
        [1e200, 1e200, 1e-300],
        [1e-200, 1e-200, 1e300],
        [np.inf, 2.0, 0.0],
    ):
        assert_near(on("cpu", g, np.array(x)), on("reference", g, np.array(x)))


def test_second_derivatives_and_jacobians():
    f = ct.map(lambda x: x * np.tanh(x)) >> ct.scan(ct.add, 0.0) >> ct.map(lambda x: np.sin(x)) >> ct.sum()
    x = np.linspace(-1, 1, 40)
    for g in (lambda x: ct.hessian(f)(x).todense(), lambda x: ct.hvp(f, (x,), (x,)), ct.grad(ct.grad(f) >> ct.sum())):
        assert_near(on("cpu", g, x), on("reference", g, x), eps=4096)
