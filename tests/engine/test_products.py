"""Sums of products that are products of matrices become contractions; all others stay as they are."""

from __future__ import annotations

import numpy as np
import pytest

import catad as ct
from catad.engine.rewrites.fuse import fuse
from catad.linear.families.contract import Contract


def two_operands(fn, *spaces) -> int:
    dom = ct.Product(spaces) if len(spaces) > 1 else spaces[0]
    wiring = fuse(ct.wire(ct.function(fn).at(dom), dom))
    return sum(isinstance(box.primitive, Contract) and len(box.ins) == 2 for box in wiring.boxes)


def product(a, b):
    return np.sum(a[:, :, None] * b, axis=1)


def windows(a, w):
    return np.sum(a[:, :3, :3, :, np.newaxis] * w[np.newaxis, :, :, :], axis=(1, 2, 3))


def test_products_of_matrices_are_contractions() -> None:
    assert two_operands(product, ct.f64[20, 30], ct.f64[30, 40]) == 1
    assert two_operands(windows, ct.f64[8, 5, 5, 4], ct.f64[3, 3, 4, 16]) == 1


def rows(a, b):
    return np.sum(a * b, axis=1)


def used_twice(a, b):
    p = a[:, :, None] * b
    return np.sum(p, axis=1) + np.max(p)


def outer(a, b):
    return np.sum(a[:, None] * b, axis=(0, 1))


def summed_apart(a, b):
    return np.sum(a[:, :, None] * b[None, :], axis=(0, 1))


@pytest.mark.parametrize("fn", [rows, used_twice])
def test_other_sums_stay(fn) -> None:
    assert two_operands(fn, ct.f64[30, 30], ct.f64[30, 30]) == 0


def test_sums_over_an_axis_of_one_factor_alone_stay() -> None:
    assert two_operands(outer, ct.f64[30], ct.f64[40]) == 0
    assert two_operands(summed_apart, ct.f64[30, 30], ct.f64[30, 40]) == 0
    assert two_operands(product, ct.i64[20, 30], ct.i64[30, 40]) == 0


@pytest.mark.parametrize("engine", ["reference", "cpu"])
@pytest.mark.parametrize(
    "shapes", [((20, 30), (30, 40)), ((20, 1), (1, 40)), ((1, 30), (30, 7)), ((20, 30), (30, 1)), ((0, 3), (3, 4))]
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_values_and_gradients(engine, shapes, dtype) -> None:
    rng = np.random.default_rng(1)
    a, b = [rng.standard_normal(shape).astype(dtype) for shape in shapes]
    with ct.use_engine(engine):
        y, pullback = ct.vjp(ct.function(product), a, b)
        tolerance = 1e-12 if dtype is np.float64 else 1e-4
        np.testing.assert_allclose(y, a @ b, rtol=tolerance, atol=tolerance)
        weights = rng.standard_normal(y.shape).astype(dtype)
        da, db = pullback(weights)
        np.testing.assert_allclose(da, weights @ b.T, rtol=tolerance, atol=tolerance)
        np.testing.assert_allclose(db, a.T @ weights, rtol=tolerance, atol=tolerance)
        assert y.dtype == da.dtype == db.dtype == dtype


def test_windows_against_einsum() -> None:
    rng = np.random.default_rng(2)
    a, w = rng.standard_normal((8, 5, 5, 4)), rng.standard_normal((3, 3, 4, 16))
    y, pullback = ct.vjp(ct.function(windows), a, w)
    np.testing.assert_allclose(y, np.einsum("nijc,ijcd->nd", a[:, :3, :3], w), rtol=1e-12, atol=1e-12)
    bar = rng.standard_normal(y.shape)
    da, dw = pullback(bar)
    np.testing.assert_allclose(dw, np.einsum("nijc,nd->ijcd", a[:, :3, :3], bar), rtol=1e-12, atol=1e-12)
    expected = np.zeros_like(a)
    expected[:, :3, :3] = np.einsum("nd,ijcd->nijc", bar, w)
    np.testing.assert_allclose(da, expected, rtol=1e-12, atol=1e-12)


def test_second_order() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((6, 9)), rng.standard_normal((9, 8))

    def f(a, b):
        return np.sum(np.sin(product(a, b)))

    va, vb = rng.standard_normal(a.shape), rng.standard_normal(b.shape)
    grad = ct.grad(ct.function(f))
    _, (ha, hb) = ct.jvp(grad, (a, b), (va, vb))
    h = 1e-6
    up, down = grad(a + h * va, b + h * vb), grad(a - h * va, b - h * vb)
    np.testing.assert_allclose(ha, (up[0] - down[0]) / (2 * h), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(hb, (up[1] - down[1]) / (2 * h), rtol=1e-6, atol=1e-6)


def test_nan_reaches_only_its_row_and_column() -> None:
    a, b = np.ones((4, 8)), np.ones((8, 6))
    a[1, 2], b[3, 5] = np.nan, np.inf
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(ct.function(product)(a, b), product(a, b))
