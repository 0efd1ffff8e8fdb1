"""Operators on arrays, in `scan` and `fold`: the limitation 7.1.1 of Bruun and Larsen 2022."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catad as ct

RNG = np.random.default_rng(3)
MATRICES = RNG.standard_normal((6, 3, 3))


def prefixes(x: Any) -> Any:
    out = [x[0]]
    for m in x[1:]:
        out.append(out[-1] @ m)
    return np.stack(out)


def difference(f: Any, x: Any, v: Any, h: float = 1e-6) -> Any:
    return (f(x + h * v) - f(x - h * v)) / (2 * h)


def test_scan_and_fold_of_matrix_products() -> None:
    x, n = MATRICES, len(MATRICES)
    want = prefixes(x)
    eye = np.eye(3)
    assert np.allclose(ct.scan(ct.matmul, eye)(x), want, rtol=1e-14)
    assert np.allclose(ct.scan(ct.matmul, eye, exclusive=True)(x), np.concatenate([eye[None], want[:-1]]), rtol=1e-14)
    suffixes = np.stack([np.linalg.multi_dot([*x[i:], eye]) for i in range(n)])
    assert np.allclose(ct.scan(ct.matmul, eye, reverse=True)(x), suffixes, rtol=1e-12)
    assert np.allclose(ct.fold(ct.matmul, eye)(x), want[-1], rtol=1e-14)
    assert np.array_equal(ct.fold(ct.matmul, eye)(x[:0]), eye)
    assert ct.scan(ct.matmul, eye)(x[:0]).shape == (0, 3, 3)


@pytest.mark.parametrize("options", [{}, {"exclusive": True}, {"reverse": True}, {"exclusive": True, "reverse": True}])
def test_derivatives_of_scans(options: dict[str, bool]) -> None:
    f = ct.scan(ct.matmul, np.eye(3), **options)
    x, v = MATRICES, RNG.standard_normal(MATRICES.shape)
    w = RNG.standard_normal(MATRICES.shape)
    forward = ct.jvp(f, (x,), (v,))[1]
    assert np.allclose(forward, difference(f, x, v), rtol=1e-7, atol=1e-7)
    assert np.isclose(np.sum(ct.vjp(f, x)[1](w)[0] * v), np.sum(forward * w), rtol=1e-12)
    scalar = f >> ct.sin >> ct.sum()
    hv = ct.hvp(scalar, (x,), (v,))
    assert np.allclose(hv, difference(ct.grad(scalar), x, v), rtol=1e-6, atol=1e-6)
    assert np.allclose(ct.vjp(ct.grad(scalar), x)[1](v)[0], hv, rtol=1e-11, atol=1e-11)


def test_composition_of_affine_maps() -> None:
    """(A, b) after (B, c): matrices with vectors, an operator on pairs of arrays."""
    compose = ct.fork(
        ct.cross(ct.exl, ct.exl) >> ct.matmul,
        ct.fork(ct.cross(ct.exl, ct.exr) >> ct.matmul, ct.exl >> ct.exr) >> ct.add,
    )
    A, b = MATRICES[:4], RNG.standard_normal((4, 3))
    f = ct.fold(compose, (np.eye(3), np.zeros(3)))
    P, q = np.eye(3), np.zeros(3)
    for k in range(4):
        P, q = P @ A[k], P @ b[k] + q
    got = f(A, b)
    assert np.allclose(got[0], P) and np.allclose(got[1], q)
    g = f >> ct.exr >> ct.sin >> ct.sum()
    dA, db = ct.grad(g)(A, b)
    vA, vb = RNG.standard_normal(A.shape), RNG.standard_normal(b.shape)
    h = 1e-6
    slope = (g(A + h * vA, b + h * vb) - g(A - h * vA, b - h * vb)) / (2 * h)
    assert np.isclose(np.sum(dA * vA) + np.sum(db * vb), slope, rtol=1e-7)


def test_no_matrix_over_elements_is_made() -> None:
    """The numbers that the linear map keeps: for each step the two factors of the product, not d^2 by d^2."""
    d, n = 12, 5
    x = RNG.standard_normal((n, d, d)) / d
    _, L = ct.linearize(ct.scan(ct.matmul, np.eye(d)), x)
    assert L.stored == 2 * n * d * d


def test_the_work_is_that_of_a_few_primal_scans() -> None:
    from catad.category.wiring import wire
    from catad.linear.products import cost_of_wiring

    f, space = ct.scan(ct.matmul, np.eye(8)), ct.f64[20, 8, 8]
    primal = cost_of_wiring(wire(f, space))
    forward = cost_of_wiring(wire(ct.tangent(f), space * space))
    reverse = cost_of_wiring(wire(ct.reverse_differential(f), space * space))
    assert primal == 20 * 8**3
    assert forward <= 4.2 * primal and reverse <= 4.2 * primal


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ct.fold(ct.matmul, np.ones((3, 3)))(MATRICES), "op(neutral, x) is not x"),
        (lambda: ct.fold(ct.matmul, np.eye(2))(MATRICES), "not nested as the neutral element"),
        (lambda: ct.fold(ct.matmul, np.eye(3))(np.ones((2, 3, 4))), "matrix sizes do not meet"),
        (lambda: ct.fold(ct.fork(ct.exl, ct.exr), np.eye(3))(MATRICES), "not closed on its element"),
        (lambda: ct.fold(ct.sub >> ct.sin >> ct.neg, 0.0)(MATRICES), "not associative"),
        (lambda: ct.fold(ct.matmul, np.eye(3), axis=1), "along axis 0"),
        (
            lambda: ct.fold(ct.fork(ct.exl, ct.exr, ct.fork(ct.exl, ct.exr) >> ct.mul >> ct.square)
                            >> ct.fork(ct.fork(ct.proj(0), ct.proj(1)) >> ct.add, ct.proj(2)) >> ct.add, 0.0)(MATRICES),
            "not associative",
        ),
    ],
)  # fmt: skip
def test_mistakes(call: Any, words: str) -> None:
    with pytest.raises(ct.CatadError) as caught:
        call()
    assert words in str(caught.value)
