"""Whose memory it is: no later write of a caller changes a derivative, and no write into a result changes anything else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.category.spaces import flatten

from ..strict_arrays import strict
from .test_derivatives import PROGRAMS

opaque = ct.D(lambda x: (np.asarray(x) * float(x[0]), ct.scale(np.asarray(x))))
traced = ct.D(lambda x: (x * x, ct.scale(2 * x)))
same = ct.D(lambda x: (x, ct.scale(x)))

ONE: dict[str, ct.D] = {
    **PROGRAMS,
    "id": ct.id,
    "slice": ct.slice(1, None),
    "all of a slice": ct.slice(0, None),
    "flip": ct.flip(),
    "reshape": ct.reshape((1, -1)),
    "transpose": ct.reshape((-1, 1)) >> ct.transpose(),
    "dup": ct.dup,
    "three": ct.fork(ct.id, ct.id, ct.flip()),
    "two views of one result": ct.sin >> ct.fork(ct.slice(0, 3), ct.slice(2, 5), ct.id),
    "pad by nothing": ct.pad(0, 0),
    "the same dtype": ct.astype(np.float64),
    "map of nothing": ct.map(lambda x: x),
    "replicate": ct.replicate(2),
    "broadcast_to": ct.reshape((1, -1)) >> ct.broadcast_to((1, 6)),
    "concatenate one": ct.fork(ct.id) >> ct.concatenate(),
    "the value is the slope": ct.exp,
    "products": ct.fork(ct.id, ct.sin, ct.id) >> ct.map(lambda x, y, z: x * y * z),
    "checkpoint": ct.checkpoint(ct.square),
    "checkpoint of nothing": ct.checkpoint(ct.flip()),
    "iterate": ct.iterate(ct.sin >> ct.square, 3),
    "iterate nothing": ct.iterate(ct.sin, 0),
    "while": ct.while_loop(ct.sum() >> ct.map(lambda s: s > 1.0), 0.5 * ct.id),
    "lift": ct.lift(ct.linear.identity(ct.f64[6])),
    "const": ct.fork(ct.const(np.arange(6.0)), ct.id),
    "two of one constant": ct.fork(ct.const(np.arange(6.0)), ct.const(np.arange(6.0)) >> ct.flip(), ct.id),
    "iota": ct.fork(ct.iota(6), ct.id),
    "by hand, traced": traced,
    "by hand, traced, x itself": same,
    "by hand, opaque": opaque,
    "sort": ct.sort(),
    "stencil": ct.stencil(lambda a, b: a * b, (0, 1)),
}
MORE: dict[str, tuple[ct.D, Callable[[], tuple[Any, ...]]]] = {
    "mul": (ct.mul, lambda: (np.arange(1.0, 7.0), np.arange(6.0) + 0.5)),
    "swap": (ct.swap, lambda: (np.arange(6.0), np.ones(3))),
    "matmul": (ct.matmul, lambda: (np.arange(6.0).reshape(2, 3), np.ones((3, 2)))),
    "einsum": (ct.einsum("ij,j->i"), lambda: (np.arange(6.0).reshape(2, 3), np.arange(3.0))),
    "where": (ct.where, lambda: (np.array([True, False]), np.arange(2.0), np.ones(2))),
    "gather": (ct.gather, lambda: (np.arange(6.0), np.array([0, 5, 0]))),
    "scatter": (ct.scatter, lambda: (np.arange(6.0), np.array([0, 5]), np.ones(2))),
    "scatter nothing": (ct.scatter, lambda: (np.arange(6.0), np.zeros(0, int), np.zeros(0))),
    "scatter_add": (ct.scatter_add, lambda: (np.arange(6.0), np.array([0, 5]), np.ones(2))),
    "histogram": (ct.histogram(ct.mul, 1.0, 3), lambda: (np.array([0, 2, 0]), np.arange(1.0, 4.0))),
    "recurrence": (ct.recurrence, lambda: (np.arange(6.0), np.ones(6))),
    "segmented_scan": (ct.segmented_scan(ct.mul, 1.0), lambda: (np.array([1, 0, 1], bool), np.arange(1.0, 4.0))),
    "one argument twice": (ct.mul, lambda: (SHARED, SHARED)),
    "views of one array": (ct.mul, lambda: (SHARED[:3], SHARED[2:5])),
}
SHARED = np.arange(1.0, 7.0)
CASES: dict[str, tuple[ct.D, Callable[[], tuple[Any, ...]]]] = {
    **{name: (f, lambda: (np.linspace(0.5, 1.5, 6),)) for name, f in ONE.items()},
    **{f"{name}, beside others": case for name, case in MORE.items()},
}
ENGINES = ["reference", "cpu"]
BOTH = [
    *[pytest.param(name, "reference") for name in CASES],
    *[pytest.param(name, "cpu", marks=[pytest.mark.slow] if name in PROGRAMS else []) for name in CASES],
]
pytestmark = pytest.mark.numpy_only


def arrays(*values: Any) -> list[np.ndarray]:
    return [leaf for value in values for leaf in flatten(value) if isinstance(leaf, np.ndarray)]


def pairs(own: list[np.ndarray], others: list[np.ndarray]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    for i, a in enumerate(own):
        for b in [*own[:i], *others]:
            yield a, b


def cotangent(y: Any) -> Any:
    if isinstance(y, tuple):
        return tuple(map(cotangent, y))
    return np.cos(np.arange(np.size(y), dtype=float)).reshape(np.shape(y)) if np.asarray(y).dtype.kind == "f" else ()


def copied(value: Any) -> Any:
    return tuple(map(copied, value)) if isinstance(value, tuple) else np.array(value)


def equal(a: Any, b: Any) -> bool:
    return all(np.array_equal(u, v) for u, v in zip(flatten(a), flatten(b), strict=True))


def spoil(*values: Any) -> None:
    for array in arrays(*values):
        array[...] = 77


@pytest.mark.quick(40)
@pytest.mark.parametrize(("name", "engine"), BOTH)
def test_writes_into_arguments_and_results_change_no_derivative(name: str, engine: Any) -> None:
    f, make = CASES[name]
    with ct.use_engine(engine):
        x = tuple(a.copy() for a in make()) if "one" not in name and "views" not in name else make()
        y, back = ct.vjp(f, *x)
        value, L = ct.linearize(f, *x)
        w = cotangent(y)
        before = copied((back(w), L.T(w), L.todense() if len(flatten(y)) == 1 else ()))
        kept = [a.copy() for a in arrays(x)]
        spoil(y, value)
        assert equal(tuple(arrays(x)), tuple(kept)), "a write into the value changed an argument"
        spoil(x)
        assert equal((back(w), L.T(w), L.todense() if len(flatten(y)) == 1 else ()), before)
        for array, old in zip(arrays(x), kept, strict=True):
            array[...] = old
        assert equal(f(*x), copied(ct.vjp(f, *x)[0])), "a write into the value changed the program"


@pytest.mark.parametrize(("name", "engine"), BOTH)
def test_results_are_writeable_and_in_memory_of_their_own(name: str, engine: Any) -> None:
    f, make = CASES[name]
    with ct.use_engine(engine):
        x = make()
        y, back = ct.vjp(f, *x)
        w = cotangent(y)
        v = tuple(np.ones_like(a) if a.dtype.kind == "f" else () for a in x)
        L = ct.linearize(f, *x)[1]
        tangent = v[0] if len(x) == 1 else v
        found = [(f(*x), x), (y, x), (back(w), (x, w)), (L.T(w), (x, w)), (L(tangent), (x, v)), (ct.jvp(f, x, v), (x, v))]
    for results, given in found:
        for a, b in pairs(arrays(results), arrays(given)):
            assert not np.shares_memory(a, b)
        assert all(a.flags.writeable for a in arrays(results))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_training_loop_may_move_its_weights_in_place(engine: Any) -> None:
    loss = ct.fork(ct.exl, ct.exr) >> ct.mul >> ct.sin >> ct.sum()
    x, y = np.linspace(0.1, 1.0, 8), np.linspace(1.0, 2.0, 8)
    with ct.use_engine(engine):
        _, back = ct.vjp(loss, x, y)
        want = y * np.cos(x * y), x * np.cos(x * y)
        x -= 0.1 * back(1.0)[0]
        y -= 0.1 * back(1.0)[1]
        assert all(np.allclose(a, b, rtol=1e-14) for a, b in zip(back(1.0), want, strict=True))


A = np.arange(1.0, 4.0)
BUILT: dict[str, Callable[[np.ndarray], ct.LinearMap]] = {
    "scale": ct.scale,
    "dense": lambda a: ct.linear.dense(a.reshape(1, 3)),
    "outer": lambda a: ct.linear.outer(a, a[::-1]),
    "recurrence": ct.linear.recurrence,
    "gather": lambda a: ct.linear.gather(a[:2].view(np.int64) * 0, ct.f64[3]),
    "matrix_free": lambda a: ct.linear.matrix_free(ct.mul, ct.mul, ct.f64[3], ct.f64[3], a),
    "LinearMap": lambda a: ct.LinearMap(ct.f64[3], ct.f64[3], ct.scale(a).structure, [a]),
    "a sum": lambda a: ct.scale(a) + ct.linear.identity(ct.f64[3]),
    "a product": lambda a: ct.scale(a) @ ct.scale(a[::-1]),
    "multiplied": lambda a: ct.scale(a).multiply(ct.scale(a)),
    "transposed": lambda a: ct.scale(a).T,
    "a block": lambda a: ct.linear.fork(ct.scale(a), ct.scale(a)),
    "a Jacobian": lambda a: ct.jacobian(ct.square)(a),
    "a Jacobian of products": lambda a: ct.jacobian(ct.dup >> ct.mul)(a),
    "a plan": lambda a: ct.plan(ct.square, a).run(a),
    "a Hessian": lambda a: ct.hessian(ct.square >> ct.sum())(a),
    "compForward": lambda a: ct.compForward(a.reshape(1, 3))(ct.id)(np.eye(3)),
    "a map with a read-only view": lambda a: ct.scale(np.broadcast_to(a, (3,))),
}


@pytest.mark.parametrize("name", BUILT)
def test_linear_maps_keep_copies_and_give_out_what_cannot_be_written(name: str) -> None:
    a = A.copy()
    L = BUILT[name](a)
    before = L.todense().copy()
    a[:] = 99.0
    assert np.array_equal(L.todense(), before)
    for slot in L.slots:
        with pytest.raises(ValueError, match="read-only"):
            slot[...] = 0.0
    dense = L.todense()
    dense[...] = 7.0
    assert np.array_equal(L.todense(), before)
    if name not in ("matrix_free",):
        sparse = L.tocsr()
        sparse.data[:] = 7.0
        assert np.array_equal(L.todense(), before)


def test_an_array_that_nobody_writes_into_is_not_copied() -> None:
    a = A.copy()
    a.flags.writeable = False
    assert ct.scale(a).slots[0] is a
    assert ct.scale(A).slots[0] is not A
    L = ct.scale(a)
    assert L.T.slots[0] is a and (L + L).slots[0] is a


def test_cotangents_stay_the_callers() -> None:
    W = np.eye(3)
    (pulled,) = ct.vjp(ct.id, A)[1].many(W)  # type: ignore[attr-defined]
    assert W.flags.writeable
    pulled[:] = 5.0
    assert np.array_equal(W, np.eye(3))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("f", [ct.iota(3), ct.const(np.arange(3)), ct.generate(3, lambda i: i), ct.const(np.arange(3)) >> ct.id])
def test_a_write_into_a_constant_result_does_not_change_the_program(f: ct.D, engine: Any) -> None:
    with ct.use_engine(engine):
        for _ in range(3):
            y = f(())
            assert y.tolist() == [0, 1, 2]
            y[0] = 99


def test_constants_and_neutral_elements_are_copied() -> None:
    e = np.eye(2)
    product, constant = ct.fold(ct.matmul, e), ct.const(e)
    x = np.arange(12.0).reshape(3, 2, 2)
    want = x[0] @ x[1] @ x[2]
    e[:] = 0.0
    assert np.array_equal(product(x), want) and np.array_equal(constant(()), np.eye(2))
    there = strict.asarray(np.ones(2))
    constant = ct.const(there)
    there[0] = 5.0
    assert constant(strict.asarray(A)).tolist() == [1.0, 1.0]


def test_opaque_code_may_write_where_it_likes() -> None:
    buffer = np.zeros(3)

    def fn(x: Any) -> Any:
        x += 1.0  # its own copy
        buffer[:] = [float(v) for v in x]
        return buffer, ct.scale(buffer)

    f, x = ct.D(fn), A.copy()
    y, back = ct.vjp(f, x)
    first = y.copy(), back(np.ones(3))[0].copy()
    assert np.array_equal(x, A) and np.array_equal(y, A + 1.0)
    f(x * 10.0)
    assert np.array_equal(y, first[0]) and np.array_equal(back(np.ones(3))[0], first[1])


def test_strict_arrays_are_kept_apart_too() -> None:
    x = strict.asarray(A.copy())
    _, back = ct.vjp(ct.mul, x, x)
    z = ct.id(x)
    x[0] = 50.0
    assert z.tolist() == A.tolist()
    assert back(strict.asarray(np.ones(3)))[0].tolist() == A.tolist()
    slope = ct.scale(x)
    x[0] = 1.0
    assert slope(x).tolist() == [50.0, 4.0, 9.0]
    flipped = ct.flip()(x)
    flipped[0] = 9.0
    assert x.tolist() == A.tolist()
