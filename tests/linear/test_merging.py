"""Sums of products with as few terms as their patterns allow: values against dense matrices, and what is stored."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import catad as ct
from catad import linear
from catad.category.wiring import Builder
from catad.linear.families.delta import delta
from catad.linear.products import MapProduct, left, right
from catad.linear.sums import added

F = np.dtype(np.float64)
PATTERNS = {  # labels of result, argument, slot; sizes 2, 3 for labels 0 and 1, 2, 3 for 2 and 3
    "dense": ((0, 1), (2, 3), (0, 1, 2, 3)),
    "dense, axes exchanged": ((0, 1), (2, 3), (3, 1, 0, 2)),
    "rank one by columns": ((0, 1), (2, 3), (2, 3)),
    "ones": ((0, 1), (2, 3), None),
    "block-diagonal": ((0, 1), (0, 3), (0, 1, 3)),
    "blocks on the other axis": ((0, 1), (2, 1), (1, 0, 2)),
    "kronecker": ((0, 1), (0, 3), (3, 1)),
    "diagonal": ((0, 1), (0, 1), (0, 1)),
    "diagonal, axes exchanged": ((0, 1), (0, 1), (1, 0)),
    "rows of one number": ((0, 1), (0, 1), (0,)),
    "columns of one number": ((0, 1), (0, 1), (1,)),
    "one number": ((0, 1), (0, 1), ()),
    "identity": ((0, 1), (0, 1), None),
}
SIZES = (2, 3, 2, 3)


def pattern(name: str, factor: float) -> linear.Delta:
    out, ins, slot = PATTERNS[name]
    return delta(out, ins, slot, SIZES, F, F, None if slot is None else F, factor)


@pytest.mark.parametrize(("first", "second"), list(itertools.product(PATTERNS, PATTERNS)))
def test_the_sum_of_two_patterns_is_the_sum_of_their_matrices(first: str, second: str) -> None:
    a, c = pattern(first, 2.0), pattern(second, -1.0)
    rng = np.random.default_rng(0)
    slots = [[rng.integers(-3, 4, s.shape).astype(float) for s in d.slots] for d in (a, c)]
    space = ct.f64[2, 3]
    matrices = [ct.LinearMap(space, space, d, own).todense() for d, own in zip((a, c), slots, strict=True)]
    product = added([MapProduct(a, tuple(map(left, range(len(a.slots))))), MapProduct(c, tuple(map(right, range(len(c.slots)))))])
    b = Builder()
    wires = [[b.wire(s) for s in d.slots] for d in (a, c)]
    outs = product.combine(b, *wires)
    assert tuple(w.space for w in outs) == product.structure.slots
    dom = ct.product(*[w.space for own in wires for w in own]) if any(wires) else ct.Unit
    wiring = b.finish(dom, tuple([w for own in wires for w in own]), tuple(outs))
    made = ct.engine.program.Program(wiring)(np, [x for own in slots for x in own])
    found = ct.LinearMap(space, space, product.structure, made)
    np.testing.assert_array_equal(found.todense(), sum(matrices))
    assert found.stored <= a.stored + c.stored
    if "dense" in first or "dense" in second:
        assert found.kind == ("dense" if "ones" not in (first, second) else found.kind) and found.stored <= 36


def test_a_dense_jacobian_stores_no_more_than_dense() -> None:
    """A softmax after a matrix product: a block-diagonal and a dense term fall in the same places."""
    rng = np.random.default_rng(1)
    rows, inner, out = 6, 3, 4
    shares = ct.fork(ct.exp, ct.exp >> ct.sum(axis=1) >> ct.reshape((rows, 1))) >> ct.div
    f = ct.einsum("bi,io->bo") >> shares
    x = rng.standard_normal((rows, inner)), rng.standard_normal((inner, out))
    _, linear_map = ct.linearize(f, *x)
    expected = linear_map.todense()
    for mode in ("auto", "forward", "reverse"):
        found = ct.jacobian(f, mode)(*x)
        np.testing.assert_allclose(found.todense(), expected, rtol=1e-12, atol=1e-15)
        assert found.stored <= found.structure.rows * found.structure.columns


def band(n: int, seed: int) -> ct.D:
    w = np.random.default_rng(seed).integers(1, 4, n).astype(float)
    bend = ct.stencil(lambda a, b, c: a * b + 2.0 * b * c, (-1, 0, 1))
    return ct.fork(bend, ct.const(w)) >> ct.mul


@pytest.mark.parametrize("times", [2, 3, 4])
def test_the_power_of_a_band_is_a_wider_band(times: int) -> None:
    n = 12
    f = ct.compose(*[band(n, seed) for seed in range(times)])
    x = np.random.default_rng(9).standard_normal(n) / 8
    expected = ct.linearize(f, x)[1].todense()
    assert np.count_nonzero(expected) == sum(n - abs(k) for k in range(-times, times + 1))
    for mode in ("auto", "forward", "reverse"):
        found = ct.jacobian(f, mode)(x)
        np.testing.assert_allclose(found.todense(), expected, rtol=1e-12, atol=1e-300)
        assert len(found.structure.parts) == 2 * times + 1  # type: ignore[attr-defined]
        assert found.stored <= (2 * times + 1) * n


def test_bands_in_two_directions() -> None:
    five = [(0, 0), (0, 1), (1, 0), (0, -1), (-1, 0)]
    f = ct.stencil(lambda a, b, c, d, e: a * b + c * d * e, five)
    x = np.random.default_rng(2).standard_normal((5, 6))
    found = ct.jacobian(f >> f, ct.plan(f >> f, x, cost="operations"))(x)
    np.testing.assert_allclose(found.todense(), ct.linearize(f >> f, x)[1].todense(), rtol=1e-12, atol=1e-15)
    assert len(found.structure.parts) == 13  # type: ignore[attr-defined]  # the points at most two steps away


def test_a_row_beside_others_is_not_written_out_among_zeros() -> None:
    n = 50
    first = ct.square >> ct.sum() >> ct.reshape((1,))
    f = ct.fork(first, ct.fork(ct.slice(0, 1) >> ct.reshape(()), ct.slice(1, n)) >> ct.mul) >> ct.concatenate()
    x = np.random.default_rng(3).standard_normal(n)
    expected = np.diag(np.full(n, x[0]))
    expected[1:, 0], expected[0] = x[1:], 2 * x
    for mode in ("auto", "forward", "reverse"):
        found = ct.jacobian(f, mode)(x)
        np.testing.assert_allclose(found.todense(), expected, rtol=1e-14)
        assert found.stored <= 4 * n, found


def test_entries_of_chains_that_only_move_them() -> None:
    n = 20
    found = ct.jacobian(ct.stencil(lambda a, b, c: (a + b + c) ** 2, (-1, 0, 1)))(np.ones(n))
    assert found.nnz == 3 * n - 2 == np.count_nonzero(found.todense())
    moved = ct.linearize(ct.flip() >> ct.sin >> ct.pad(2, 0), np.zeros(5))[1]
    assert moved.nnz == 5
    dense = ct.linear.dense(np.ones((4, 3))) >> ct.linearize(ct.flip(), np.zeros(4))[1]
    assert dense.nnz == 12
    links = ct.linear.recurrence(np.ones(4))
    assert (links >> links).nnz == 16  # a bound: 10 are there
