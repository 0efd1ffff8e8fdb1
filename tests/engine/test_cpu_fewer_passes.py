"""Work that takes no pass of its own, and numbers that are not written: sums of products, choices of one place, recomputing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.engine.cpu.run import target
from catad.engine.cuda.steps import steps
from catad.engine.program import Program
from catad.testing.emulator.device import EmulatedDevice
from catad.values.buffers import address
from catad.vector.pointwise.map import Map

from .cpu_support import assert_near, assert_same, on

compiled = pytest.mark.skipif(not target.available(), reason="there is no LLVM here")
RNG = np.random.default_rng(0)


def lines(f: ct.D, *x: Any) -> list[str]:
    with ct.use_engine("cpu"):
        return f.source("steps", ct.space_of(x if len(x) > 1 else x[0])).splitlines()


def program(f: ct.D, *x: Any) -> Program:
    return Program(ct.wire(f, ct.space_of(x if len(x) > 1 else x[0])))


# -- what maps give


def maps(f: ct.D, *x: Any) -> list[Map]:
    return [box.primitive for box in program(f, *x).boxes if isinstance(box.primitive, Map)]


def test_arguments_that_are_coefficients_are_not_copied() -> None:
    x = RNG.normal(size=7), RNG.normal(size=7)
    first = ct.grad(ct.mul >> ct.sum())
    for f, point in ((first, x), (ct.reverse_differential(ct.mul), (x, x[0])), (ct.grad(first >> ct.mul >> ct.sum()), x)):
        found = [node for one in maps(f, *point) for node in one.function.outputs]
        assert found and all(node.op != "param" for node in found)


def test_a_map_gives_no_number_twice() -> None:
    def f(x: Any, m: Any, s: Any) -> Any:
        centered = x - m
        return np.sum(s * centered) + np.sum(centered * centered)

    x = RNG.normal(size=(9, 3)), RNG.normal(size=3), RNG.normal(size=3)
    gradient = ct.grad(ct.function(f).at(*x))
    for one in maps(gradient, *x):
        assert len(set(one.function.outputs)) == len(one.function.outputs)
    for got, want in zip(gradient(*x), (x[2] + 2 * (x[0] - x[1]), 0, 0), strict=True):
        if np.shape(want):
            np.testing.assert_allclose(got, want, rtol=1e-14)


def test_results_that_are_one_wire_are_arrays_of_their_own() -> None:
    a, b = (ct.fork(ct.map(lambda x: x * 2.0), ct.map(lambda x: x * 2.0)))(np.ones(3))
    a[0] = 7.0
    assert b[0] == 2.0
    x = np.ones(3)
    _, da, db = ct.fork(ct.mul, ct.exl, ct.exr)(x, x)
    da[0] = 5.0
    assert x[0] == 1.0 and db[0] == 1.0


# -- sums of products

SUMS = {
    "nkj,nkj->kj": ((50, 3, 4), (50, 3, 4)),
    "ij,ij->i": ((50, 30), (50, 30)),
    "ij,ji->j": ((50, 30), (30, 50)),
    "ijk,kji->": ((7, 9, 11), (11, 9, 7)),
    "i,i->": ((5000,), (5000,)),
    "ij,ij->j": ((2, 5), (2, 5)),
}


@compiled
@pytest.mark.parametrize("text", SUMS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_of_products_share_the_pass_of_what_they_read(text: str, dtype: Any) -> None:
    x, y = (RNG.normal(size=shape).astype(dtype) for shape in SUMS[text])
    f = ct.einsum(text)
    for a, b in ((x, y), (x[::-1], y), (np.asfortranarray(x), y[..., ::-1])):
        exact = np.einsum(text, a.astype(float), b.astype(float))
        (got,) = on("cpu", f, (a, b))
        assert got.dtype == dtype and got.shape == np.shape(exact)
        size = np.einsum(text, np.abs(a).astype(float), np.abs(b).astype(float))
        assert np.all(np.abs(got - exact) <= 20 * np.finfo(dtype).eps * size)
    before = ct.cross(ct.map(lambda v: v * v - 1.0), ct.id) >> f
    assert len(lines(before, x, y)) == 1
    assert_near(on("cpu", before, (x, y)), on("reference", before, (x, y)))


@compiled
def test_sums_of_products_of_special_numbers_and_of_integers() -> None:
    x = np.array([[1.0, np.inf, np.nan, 0.0], [2.0, 1.0, 1.0, -0.0]])
    y = np.array([[1.0, 0.0, 1.0, -1.0], [1.0, np.inf, 2.0, 0.0]])
    f = ct.einsum("ij,ij->j")
    assert_same(on("cpu", f, (x, y)), on("reference", f, (x, y)))
    k = RNG.integers(-9, 9, (6, 4))
    assert_same(on("cpu", f, (k, k)), [np.einsum("ij,ij->j", k, k)])
    assert_same(on("cpu", f, (np.zeros((0, 4)), np.zeros((0, 4)))), [np.zeros(4)])


# -- one place of each line


@compiled
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("shape", [(6, 5), (3, 4, 5), (40, 32), (4, 40), (5, 1)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_derivative_of_an_extremum(axis: int, shape: tuple[int, ...], dtype: Any) -> None:
    x = RNG.integers(-2, 3, shape).astype(dtype)  # with ties
    x.flat[3] = np.nan
    back = ct.reverse_differential(ct.max(axis=axis))
    w = RNG.normal(size=np.delete(shape, axis)).astype(dtype)
    w.flat[0] = -0.0
    assert_same(on("cpu", back, (x, w)), on("reference", back, (x, w)))


@compiled
def test_it_shares_the_pass_of_what_reads_it() -> None:
    f = ct.map(lambda v: v * v) >> ct.max(axis=1) >> ct.sum()
    x = RNG.normal(size=(1000, 5))
    assert not any(line.split()[1].startswith("ScatterAdded") for line in lines(ct.grad(f), x))
    assert_same(on("cpu", ct.grad(f), x), on("reference", ct.grad(f), x))
    wide = RNG.normal(size=(50, 1000))  # a long line is not gone through for one number
    assert any("ScatterAdded" in line for line in lines(ct.grad(f), wide))


# -- computing again


@compiled
def test_what_is_computed_of_small_arrays_is_not_written() -> None:
    def f(x: Any, m: Any, s: Any, q: Any) -> Any:
        centered = x[:, None] - m
        turned = s * centered + np.einsum("kij,nkj->nki", q, centered)
        return np.sum(turned * turned, axis=2)

    x = RNG.normal(size=(300, 4)), RNG.normal(size=(3, 4)), RNG.normal(size=(3, 4)), RNG.normal(size=(3, 4, 4))
    p = ct.function(f).at(*x)
    found = program(p, *x)
    made = [k for _, _, outs in steps(found.wiring, EmulatedDevice()) for k in outs]
    written = [k for k in made if found.wiring.wires[k].size == 3600]
    assert len(written) == 2  # what the product of matrices reads, and what it gives; the scaled one is made where it is read
    assert_near(on("cpu", p, x), [f(*x)])
    back = ct.reverse_differential(p)
    w = RNG.normal(size=(300, 3))
    assert_near(on("cpu", back, (x, w)), on("reference", back, (x, w)))


# -- addresses


def test_the_address_of_an_array() -> None:
    x = np.arange(12.0).reshape(3, 4)

    class Own(np.ndarray):
        pass

    views = x[1:, ::2], x.T, x[::-1], np.broadcast_to(x[0], (5, 4)), x.view(Own)
    for a in (x, *views, np.array(3), np.zeros((0, 3)), np.float32(2)):
        assert address(a) == a.__array_interface__["data"][0]


# -- cotangents: what several results are multiples of


def heat(u: Any, rate: Any) -> Any:
    for _ in range(4):
        u = u + rate * (np.roll(u, 1) - 2 * u + np.roll(u, -1))
    return np.sum(u * u)


def convolution(kernel: Any, image: Any) -> Any:
    h, w = image.shape[0] - 2, image.shape[1] - 2
    out = sum([kernel[i, j] * image[i : i + h, j : j + w] for i in range(3) for j in range(3)])
    return np.sum(out * out)


def chained(u: Any, a: Any) -> Any:
    """Each step's cotangent goes on as a third of itself, halved and with another sign."""
    for _ in range(3):
        v = 3.0 * u
        u = np.roll(np.sin(u), 2) * a - np.roll(v, 1) / 2.0 + np.roll(u, -1) * a * a
    return np.sum(np.cos(u))


COTANGENTS = {
    "heat": (heat, (RNG.normal(size=4000), 0.2), 17),
    "convolution": (convolution, (RNG.normal(size=(3, 3)), RNG.normal(size=(70, 60))), 22),
    "chained": (chained, (RNG.normal(size=4000), 0.3), 46),
}


@compiled
@pytest.mark.parametrize("name", COTANGENTS)
def test_a_pass_writes_what_others_are_multiples_of(name: str) -> None:
    """Arrays of their size that passes read and write, shifted ones once each: more where each multiple is written."""
    f, x, arrays = COTANGENTS[name]
    both = ct.value_and_grad(lambda x: f(*x))
    with ct.use_engine("reference"):
        want = both(x)
    with ct.use_engine("cpu"), ct.profile() as p:
        got = both(x)
    np.testing.assert_allclose(got[0], want[0], rtol=1e-13)
    for a, b in zip(got[1], want[1], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-11)
    moved = sum([stage.bytes for stage in p.stages]) / (8 * max(np.size(one) for one in x))
    assert moved <= arrays


def test_multiples_are_differentiated_apart() -> None:
    """A step and twice its result have the coefficients of the step, not each of them twice."""

    def step(x: Any, y: Any) -> Any:
        z = np.sin(x) * y
        return z, 2.0 * z

    x = RNG.normal(size=5), RNG.normal(size=5)
    _, pullback = ct.vjp(step, *x)
    assert sum([np.size(slot) for slot in pullback.slots]) == 10
    w = RNG.normal(size=5), RNG.normal(size=5)
    t = w[0] + 2.0 * w[1]
    for got, want in zip(pullback(w), (np.cos(x[0]) * x[1] * t, np.sin(x[0]) * t), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-14)
