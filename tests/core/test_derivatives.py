"""Derivatives of every order, and what they are made of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse.linalg

import catad as ct
from catad.category.wiring import wire
from catad.engine.rewrites.fuse import fuse

RNG = np.random.default_rng(7)
BINS = np.array([0, 2, 2, 0, 7, 1])
FLAGS = np.array([True, False, True, True, False, False])


def product(a: float, b: float) -> float:
    return a * b


def larger(a: float, b: float) -> float:
    return a if a >= b else b


def affine(f: Any, g: Any) -> Any:
    return f[0] * g[0], f[1] * g[0] + g[1]


PROGRAMS: dict[str, ct.D] = {
    "map": ct.map(lambda a: np.sin(a) * a * a),
    "fold *": ct.fold(product, 1.0),
    "fold max": ct.sin >> ct.fold(larger, -np.inf) >> ct.exp,
    "fold affine": ct.fork(ct.id, ct.sin) >> ct.fold(affine, (1.0, 0.0)) >> ct.mul,
    "scan *": ct.scan(product, 1.0),
    "scan, exclusive and reversed": ct.scan(product, 1.0, exclusive=True, reverse=True),
    "scan affine": ct.fork(ct.id, ct.sin) >> ct.scan(affine, (1.0, 0.0)) >> ct.mul,
    "histogram *": ct.fork(ct.const(BINS), ct.sin) >> ct.histogram(product, 1.0, 4) >> ct.exp,
    "histogram +": ct.fork(ct.const(BINS), ct.exp) >> ct.histogram(ct.add, 0.0, 4) >> ct.sin,
    "reduce by index": ct.fork(ct.slice(0, 3), ct.const(BINS), ct.sin) >> ct.reduce_by_index(product, 1.0),
    "gather": ct.fork(ct.exp, ct.const(np.array([0, 2, 2, 5]))) >> ct.gather >> ct.sin,
    "scatter": ct.fork(ct.exp, ct.const(np.array([0, 2, 2, 9])), ct.sin >> ct.slice(0, 4)) >> ct.scatter >> ct.sin,
    "scatter_add": ct.fork(ct.exp, ct.const(np.array([0, 2, 2, 9])), ct.sin >> ct.slice(0, 4)) >> ct.scatter_add >> ct.sin,
    "recurrence": ct.fork(ct.sin, ct.exp) >> ct.recurrence,
    "recurrence of matrices": ct.fork(ct.const(RNG.standard_normal((3, 2, 2))), ct.reshape((3, 2)) >> ct.sin)
    >> ct.recurrence,
    "matmul": ct.reshape((2, 3)) >> ct.fork(ct.id, ct.transpose()) >> ct.matmul >> ct.sin,
    "einsum": ct.reshape((2, 3)) >> ct.dup >> ct.einsum("ij,kj->ikj") >> ct.sum(axis=1) >> ct.exp,
    "softmax": ct.exp >> ct.fork(ct.id, ct.sum()) >> ct.div,
    "gradient": ct.grad(ct.sin >> ct.sum() >> ct.exp),
    "batched": ct.reshape((2, 3)) >> ct.map(ct.scan(product, 1.0) >> ct.fork(ct.sin, ct.sum()) >> ct.mul),
    "shapes": ct.fork(ct.sin, ct.exp >> ct.flip()) >> ct.concatenate() >> ct.fork(ct.id, ct.pad(1, -1)) >> ct.mul,
    "by hand": ct.D(lambda x: (x * x * x, ct.scale(3 * x * x))) >> ct.sum(),
    "segmented scan": ct.fork(ct.const(FLAGS), ct.sin) >> ct.segmented_scan(product, 1.0, reverse=True) >> ct.exp,
    "segmented fold": ct.fork(ct.const(np.array([2, 0, 4])), ct.sin) >> ct.segmented_fold(product, 1.0, by="lengths"),
    "sort": ct.sin >> ct.sort() >> ct.scan(product, 1.0),
    "stencil": ct.stencil(lambda a, b, c: a * b - np.sin(c), (-1, 0, 2)) >> ct.exp,
    "stencil, wrapped": ct.sin >> ct.stencil(product, (0, 1), boundary="wrap"),
    "stencil, reflected": ct.sin >> ct.stencil(product, (0, -2), boundary="reflect"),
}


def against(f: Any, f_at: Any, exact: Any) -> None:
    """`exact` against the central difference of f_at : t -> value, with a bound scaled by the terms."""
    h = 1e-4
    difference = (f_at(h) - f_at(-h)) / (2 * h)
    size = np.max(np.abs(exact)) + np.max(np.abs(f_at(0.0)))
    assert np.allclose(exact, difference, rtol=0, atol=2e-6 * (1 + size)), f


@pytest.mark.parametrize("name", PROGRAMS)
def test_third_derivatives_against_differences_of_the_second(name: str) -> None:
    f = PROGRAMS[name]
    x = RNG.uniform(0.5, 1.5, 6)
    v = RNG.standard_normal(6)
    o = np.zeros(6)
    first, second = ct.differential(f), ct.differential(ct.differential(f))
    third = ct.differential(second)
    against(f, lambda t: f(x + t * v), first(x, v))
    against(f, lambda t: first(x + t * v, v), second((x, v), (v, o)))
    against(f, lambda t: second((x + t * v, v), (v, o)), third(((x, v), (v, o)), ((v, o), (o, o))))


@pytest.mark.quick(5)
@pytest.mark.parametrize("name", PROGRAMS)
def test_forward_reverse_and_explicit_agree_at_second_order(name: str) -> None:
    f = PROGRAMS[name]
    x, v = RNG.uniform(0.5, 1.5, 6), RNG.standard_normal(6)
    scalar = f >> ct.map(lambda y: y * y) >> ct.sum()
    forward = ct.hvp(scalar, (x,), (v,))
    reverse = ct.vjp(ct.grad(scalar), x)[1](v)[0]
    hessians = [ct.hessian(scalar, mode)(x).todense() for mode in ("auto", "forward", "reverse")]
    bound = 1e-11 * (1 + np.max(np.abs(hessians[0])) * np.max(np.abs(v)))
    assert np.allclose(forward, reverse, rtol=0, atol=bound)
    for hessian in hessians:
        assert np.allclose(hessian, hessian.T, rtol=0, atol=bound)
        assert np.allclose(hessian @ v, forward, rtol=0, atol=bound)
    third = ct.jvp(ct.tangent(ct.grad(scalar)), ((x, v),), ((v, 0 * v),))[1][1]
    again = ct.vjp(ct.grad(ct.fork(ct.grad(scalar), ct.const(v)) >> ct.einsum("i,i->")), x)[1](v)[0]
    assert np.allclose(third, again, rtol=0, atol=1e3 * bound * (1 + np.max(np.abs(third))))


# -- what derivatives are made of: the vocabulary is closed and does not grow faster than it must


def spaces(f: ct.D, dom: ct.Space) -> list[tuple[ct.D, ct.Space]]:
    """T, TT, TTT, R and RR of a morphism with their domains."""
    T, R, t = ct.tangent, ct.reverse_differential, ct.tangent_space
    one = dom * t(dom)
    two = one * t(one)
    three = two * t(two)
    back = dom * t(f.spaces(dom))
    return [(T(f), one), (T(T(f)), two), (T(T(T(f))), three), (R(f), back), (R(R(f)), back * t(R(f).spaces(back)))]


V, M = ct.f64[5], ct.f64[2, 3]


@pytest.mark.parametrize(
    ("f", "dom", "boxes", "recurrences"),
    [
        (ct.sin, V, [1, 1, 1, 1, 1], [0, 0, 0, 0, 0]),
        (ct.mul, V * V, [1, 1, 1, 1, 1], [0, 0, 0, 0, 0]),
        (ct.scan(ct.add, 0.0), V, [2, 4, 8, 1, 3], [2, 4, 8, 1, 1]),
        (ct.scan(product, 1.0), V, [4, 9, 18, 4, 11], [1, 3, 7, 1, 3]),
        (ct.scan(affine, (1.0, 0.0)), V * V, [1, 1, 1, 5, 14], [0, 0, 0, 1, 3]),
        (ct.fold(product, 1.0), V, [3, 23, 51, 3, 21], [0, 2, 6, 0, 2]),
        (ct.matmul, M * ct.f64[3, 2], [4, 12, 34, 2, 5], [0, 0, 0, 0, 0]),
        (ct.gather, V * ct.i64[3], [3, 5, 9, 2, 4], [0, 0, 0, 0, 0]),
    ],
)
def test_number_of_boxes(f: ct.D, dom: ct.Space, boxes: list[int], recurrences: list[int]) -> None:
    """The derivative of order k of a scan has 2^k - 1 recurrences, one for each new tangent; or it is one scan of them all.

    Boxes are counted as they run, with maps fused.
    """
    wirings = [fuse(wire(g, at), horizontal=True) for g, at in spaces(f, dom)]
    kinds = [[type(box.primitive).__name__ for box in w.boxes] for w in wirings]
    assert [ks.count("Recurred") for ks in kinds] == recurrences
    assert [len(ks) for ks in kinds] == boxes
    closed = {"Map", "Contract", "StridedCopy", "Reshaped", "Gathered", "ScatterAdded", "Recurred", "Scan", "Fold", "Constant"}
    closed |= {"InRange", "LeaveOneOutProduct"}
    assert set().union(*kinds) <= closed


# -- the interface


def test_primals_and_cotangents_are_nested_as_in_jax() -> None:
    f = ct.map(lambda a, b: a * a * b)
    a, b = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    y, pullback = ct.vjp(f, a, b)
    da, db = pullback(np.ones(2))
    assert np.array_equal(y, a * a * b) and np.array_equal(da, 2 * a * b) and np.array_equal(db, a * a)
    ((da, db),) = ct.vjp(f, (a, b))[1](np.ones(2))
    assert np.array_equal(da, 2 * a * b)
    assert np.array_equal(ct.jvp(f, (a, b), (a, b))[1], 3 * a * a * b)
    assert np.array_equal(ct.jvp(f, ((a, b),), ((a, b),))[1], 3 * a * a * b)
    y, linear = ct.linearize(f, a, b)
    assert np.array_equal(linear((a, b)), 3 * a * a * b)
    total = f >> ct.sum()
    assert np.array_equal(ct.grad(total, argnums=1)(a, b), a * a)
    assert np.array_equal(ct.grad(total, argnums=(1, 0))(a, b)[1], 2 * a * b)
    value, (da, db) = ct.value_and_grad(total)(a, b)
    assert value == np.sum(a * a * b) and np.array_equal(db, a * a)


def test_integers_stand_for_tangents_and_cotangents_of_floats_that_have_them_all() -> None:
    """SciPy asks a Hessian-vector product for its dtype with a vector of int8."""
    f, x, v = ct.sin >> ct.square, np.linspace(0.1, 1.0, 4), np.array([1, 0, -2, 3])
    _, pullback = ct.vjp(f, x)
    _, L = ct.linearize(f, x)
    for kind in (np.int8, np.int64, np.uint8, bool):
        given = v.astype(kind)
        assert np.array_equal(ct.jvp(f, (x,), (given,))[1], ct.jvp(f, (x,), (given.astype(float),))[1])
        assert np.array_equal(pullback(given)[0], pullback(given.astype(float))[0])
        assert np.array_equal(L(given), L(given.astype(float))) and L(given).dtype == np.float64
    small = x.astype(np.float32)
    assert ct.jvp(f, (small,), (v.astype(np.int8),))[1].dtype == np.float32
    for call in (lambda v: ct.jvp(f, (small,), (v,)), ct.vjp(f, small)[1], ct.linearize(f, small)[1]):
        with pytest.raises(ct.SpaceError):
            call(v)  # float32 has not all of int64


def test_integers_have_unit_tangents() -> None:
    x, i = np.array([1.0, 2.0, 3.0]), np.array([2, 0])
    f = ct.gather
    for di in ((), None, np.zeros(2, np.int64)):
        assert np.array_equal(ct.jvp(f, (x, i), (x, di))[1], [3.0, 1.0])
    dx, di = ct.vjp(f, x, i)[1](np.ones(2))
    assert np.array_equal(dx, [1, 0, 1]) and di == ()
    assert ct.grad(f >> ct.sum())(x, i)[1] == ()
    assert ct.differential(f).spaces((ct.f64[3] * ct.i64[2]) * (ct.f64[3] * ct.Unit)) == ct.f64[2]
    both = ct.fork(ct.sin, ct.map(lambda v: v > 1.5))
    y, dy = ct.jvp(both, (x,), (x,))
    assert dy[1] == () and y[1].dtype == bool
    assert np.allclose(ct.vjp(both, x)[1]((x, ()))[0], np.cos(x) * x)


@pytest.mark.parametrize("name", PROGRAMS)
def test_float32_stays_float32(name: str) -> None:
    if "const" in repr(PROGRAMS[name]) and "matrices" in name:
        return  # its constant is float64
    f = PROGRAMS[name]
    x = RNG.uniform(0.5, 1.5, 6).astype(np.float32)
    y = f(x)
    assert y.dtype == np.float32
    assert ct.jvp(f, (x,), (x,))[1].dtype == np.float32
    (dx,) = ct.vjp(f, x)[1](np.ones_like(y))
    assert dx.dtype == np.float32
    double = ct.vjp(f, x.astype(np.float64))[1](np.ones(y.shape))[0]
    assert np.allclose(dx, double, rtol=1e-4, atol=1e-4 * (1 + np.max(np.abs(double))))


def test_mixed_precision_comes_back_in_the_precision_of_each_input() -> None:
    a, b = np.ones(3, np.float32), np.ones(3)
    da, db = ct.vjp(ct.mul, a, b)[1](np.full(3, 2.0))
    assert (da.dtype, db.dtype) == (np.float32, np.float64) and np.array_equal(da, [2, 2, 2])


def test_results_do_not_share_memory_that_repeats() -> None:
    g = ct.grad(ct.sum())(np.ones(4))
    g += 1.0
    assert np.array_equal(g, np.full(4, 2.0))


def test_a_branch_not_taken_does_not_poison() -> None:
    """In one function, across boxes, and where the sides overflow or are undefined."""
    inside = ct.map(lambda x: np.sqrt(x) if x > 0 else 0.0)
    across = ct.fork(ct.id, ct.sqrt) >> ct.map(lambda x, r: r if x > 0 else 0.0)
    overflow = ct.fork(ct.id, ct.exp >> ct.exp) >> ct.map(lambda x, e: e if x < 1 else x)
    x = np.array([-1.0, 0.0, 4.0, 1000.0])
    constant = ct.fork(ct.map(lambda x: x > 0), ct.sqrt, ct.const(np.zeros(4))) >> ct.where
    for f in (inside, across, constant):
        assert np.array_equal(f(x), [0, 0, 2, np.sqrt(1000.0)])
        gradient = ct.vjp(f, x)[1](np.ones(4))[0]
        assert np.array_equal(gradient[:3], [0, 0, 0.25])
        assert np.all(np.isfinite(ct.hvp(f >> ct.sum(), (x,), (np.ones(4),))))
    assert np.all(np.isfinite(ct.vjp(overflow, x)[1](np.ones(4))[0]))


# -- Jacobians in SciPy's hands


def test_least_squares_with_a_sparse_jacobian() -> None:
    t = np.linspace(0.0, 1.0, 40)
    truth = np.array([2.0, -1.3])
    data = truth[0] * np.exp(truth[1] * t)
    residual = (
        ct.fork(ct.slice(0, 1), ct.slice(1, 2), ct.const(t), ct.const(data))
        >> ct.map(lambda a, k, s, d: a * np.exp(k * s) - d)
    )  # fmt: skip
    jacobian = ct.jacobian(residual)
    for form in (lambda L: L.todense(), lambda L: L.tocsr(), lambda L: L.as_linear_operator()):
        found = scipy.optimize.least_squares(residual, np.array([1.0, 0.0]), jac=lambda p, form=form: form(jacobian(p)))
        assert np.allclose(found.x, truth, atol=1e-6)


def test_conjugate_gradients_and_lsqr_on_catad_maps() -> None:
    x = np.linspace(0.5, 1.5, 30)
    f = ct.fork(ct.id, ct.pad(1, -1)) >> ct.map(lambda a, b: a * a + 0.1 * a * b)
    J = ct.jacobian(f)(x)
    dense = J.todense()
    rhs = np.sin(np.arange(30.0))
    solution = scipy.sparse.linalg.lsqr(J.as_linear_operator(), rhs, atol=1e-13, btol=1e-13)[0]
    assert np.allclose(dense @ solution, rhs, atol=1e-8)
    normal = J.T @ J
    found, info = scipy.sparse.linalg.cg(normal.as_linear_operator(), rhs, rtol=1e-12, maxiter=1000)
    assert info == 0 and np.allclose(dense.T @ dense @ found, rhs, atol=1e-8)
    assert np.allclose((normal.tocsr() - scipy.sparse.csr_matrix(dense.T @ dense)).toarray(), 0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_coefficients_have_the_dtype_of_the_numbers_not_of_pythons(dtype: Any) -> None:
    x = np.linspace(-1.0, 1.0, 5, dtype=dtype)
    choice = ct.map(lambda c, a, b: a if c else b)
    for f, point in ((choice, (x > 0, x, x[::-1])), (ct.map(lambda a: abs(a)), x), (ct.where, (x > 0, x, x))):
        y, linear = ct.linearize(f, point)
        assert y.dtype == dtype and linear.slots and all(slot.dtype == dtype for slot in linear.slots)


def test_coefficients_of_mixed_floats_keep_the_wider() -> None:
    x = np.linspace(0.5, 1.0, 5)
    _, linear = ct.linearize(ct.mul, (x, x.astype(np.float32)))
    assert {slot.dtype for slot in linear.slots} == {np.dtype(np.float64), np.dtype(np.float32)}


@pytest.mark.parametrize("engine", ["reference", "cpu"])
@pytest.mark.parametrize("float_", [2.0, np.float32(2.0), np.float64(2.0), np.full(3, 2.0), np.full(3, 2.0, np.float32)])
def test_a_python_integer_is_a_float_beside_any_float(float_: object, engine: str) -> None:
    """So derivatives have one structure, whichever kind of float stands beside it."""
    dtype = np.asarray(float_).dtype
    with ct.use_engine(engine):
        for point, at in (((2, float_), 0), ((float_, 2), 1)):
            y, pullback = ct.vjp(ct.mul, *point)
            both = pullback(np.ones_like(y))
            assert [np.shape(w) for w in both] == [np.shape(p) for p in point]
            assert all(w.dtype == dtype for w in both) and both[at] == 2.0 * np.size(float_)
            assert ct.grad(ct.mul >> ct.sum())(*point)[at] == both[at]
            assert ct.jvp(ct.mul, point, tuple(np.ones_like(w) for w in both))[1].dtype == dtype
    assert ct.mul.spaces(ct.i64[()] * ct.i64[()]) == ct.i64[()] and ct.mul(2, 2).dtype == np.int64
