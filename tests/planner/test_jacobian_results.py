"""The forms of a Jacobian: array, sparse and structured agree, for all dtypes and nestings; each is one program."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catad as ct
from tests.planner.forks import random_program

RNG = np.random.default_rng(0)
W = RNG.standard_normal((5, 4))
HEAT = ct.iterate(ct.stencil(lambda a, b, c: b + 0.1 * (a - 2.0 * b + c) * b, (-1, 0, 1)), 3)
BLOCK = ct.fork(ct.id, ct.fork(ct.const(np.ones((2, 30))), ct.id) >> ct.einsum("ij,j->i") >> ct.fork(ct.tanh, ct.sin) >> ct.mul
                >> ct.fork(ct.const(RNG.standard_normal((30, 2))), ct.id) >> ct.einsum("ij,j->i")) >> ct.add  # fmt: skip
CASES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "dense": (ct.function(lambda x: np.tanh(W @ x)), (RNG.standard_normal(4),)),
    "several arguments and results": (
        ct.fork(ct.mul, ct.exl >> ct.sum()),
        (RNG.standard_normal(3), RNG.standard_normal(3)),
    ),
    "matrices": (ct.function(lambda x: x @ x.T), (RNG.standard_normal((3, 2)),)),
    "number to number": (ct.sin, (np.float64(0.5),)),
    "number to vector": (ct.function(lambda x: x * W[0]), (np.array(0.5),)),
    "diagonal": (ct.exp, (RNG.standard_normal(4),)),
    "band": (HEAT, (np.linspace(1.0, 2.0, 9),)),
    "scan": (ct.scan(lambda a, b: a * b, 1.0), (np.linspace(1.0, 2.0, 5),)),
    "zero": (ct.fork(ct.const(np.ones(3)), ct.id) >> ct.exl, (np.ones(2),)),
    "empty": (ct.exp, (np.zeros(0),)),
    "low rank": (BLOCK >> BLOCK, (RNG.standard_normal(30),)),
}


def matrix_of(linear: ct.LinearMap) -> Any:
    return np.asarray(linear.todense())


@pytest.mark.parametrize("engine", ["reference", "auto"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", CASES)
def test_all_forms_agree(name: str, dtype: Any, engine: str) -> None:
    f, point = CASES[name]
    point = tuple([np.asarray(x, dtype) for x in point])
    with ct.use_engine(engine):
        expected = matrix_of(ct.linearize(f, *point)[1])
        for mode in ("auto", "forward", "reverse"):
            got = ct.jacobian(f, mode, result="array")(*point)
            assert np.shape(got) == expected.shape and np.asarray(got).dtype == expected.dtype
            tolerance = 1e-12 if dtype is np.float64 else 1e-5
            np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)
            L = ct.jacobian(f, mode)(*point)
            np.testing.assert_allclose(matrix_of(L), expected, rtol=tolerance, atol=tolerance)
            if name != "number to number":
                sparse = ct.jacobian(f, mode, result="sparse")(*point)
                np.testing.assert_allclose(sparse.toarray(), expected.reshape(L.shape), rtol=tolerance, atol=tolerance)


@pytest.mark.quick(5)
@pytest.mark.parametrize("seed", range(20))
def test_drawn_programs(seed: int) -> None:
    f, point = random_program(seed, 6)
    expected = matrix_of(ct.linearize(f, *point)[1])
    got = ct.jacobian(f, result="array")(*point)
    np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-10)


SINGLE = np.float32
DTYPES: dict[str, tuple[Any, Any, Any]] = {
    "narrowed": (lambda x: x.astype(SINGLE), np.ones(3), SINGLE),
    "narrowed, then few rows": (lambda x: np.ones((2, 3), SINGLE) @ x.astype(SINGLE), np.ones(3), SINGLE),
    "widened": (lambda x: 2.0 * x.astype(np.float64), np.ones(3, SINGLE), np.float64),
    "zero": (lambda x: np.ones(3, SINGLE), np.ones(3, SINGLE), SINGLE),
    "zero, narrowed": (lambda x: np.ones(3, SINGLE), np.ones(3), SINGLE),
    "empty": (np.sin, np.ones(0, SINGLE), SINGLE),
    "empty, narrowed": (lambda x: np.sin(x).astype(SINGLE), np.ones(0), SINGLE),
    "zero in a part": (lambda x: (x, np.ones(3, SINGLE)), np.ones(3, SINGLE), SINGLE),
    "two dtypes": (lambda x: (x, x.astype(np.float64)), np.ones(3, SINGLE), np.float64),
    "two dtypes, narrowed": (lambda x: (x, x.astype(SINGLE)), np.ones(3), np.float64),
    "many columns": (lambda x: (x * x[0]).astype(SINGLE), np.ones(300), SINGLE),
}


@pytest.mark.parametrize("name", DTYPES)
def test_all_forms_have_one_dtype(name: str) -> None:
    """That of the result, and between products the widest of all: also where nothing is stored, whichever basis is taken."""
    f, x, dtype = DTYPES[name]
    maps = [ct.linearize(ct.function(f), x)[1], *[ct.jacobian(f, mode)(x) for mode in ("auto", "forward", "reverse")]]
    arrays = [L.todense() for L in maps] + [L.tocsr() for L in maps]
    arrays += [ct.jacobian(f, result=form)(x) for form in ("array", "sparse")]
    assert {np.dtype(one.dtype) for one in arrays} == {np.dtype(dtype)}
    first = maps[0].todense().reshape(maps[0].shape)
    for one in arrays:
        np.testing.assert_array_equal(one.toarray() if hasattr(one, "toarray") else one.reshape(first.shape), first)


def test_a_kept_program_is_of_its_dtype_and_engine() -> None:
    """Calls that differ in dtype, shape or engine alone: each gets its own program, now and later."""
    f = ct.function(lambda x: np.tanh(x) * np.sum(x))
    jacobian = ct.jacobian(f, result="array")
    points = [np.linspace(0.1, 1.0, n).astype(t) for n in (3, 4) for t in (np.float64, np.float32)]
    for _ in range(3):
        for x in points:
            for engine in ("reference", "auto", "cpu"):
                with ct.use_engine(engine):
                    got = jacobian(x)
                    expected = np.asarray(ct.linearize(f, x)[1].todense())
                assert got.dtype == x.dtype and got.shape == (len(x), len(x))
                np.testing.assert_allclose(got, expected, rtol=1e-12 if x.dtype == np.float64 else 1e-5)


def test_results_are_the_callers() -> None:
    """Writing into an array that was returned, or into the point, changes no later Jacobian."""
    jacobian = ct.jacobian(ct.square, result="array")
    x = np.array([1.0, 2.0])
    first = jacobian(x)
    first[:] = 9.0
    np.testing.assert_array_equal(jacobian(x), [[2.0, 0.0], [0.0, 4.0]])
    L = ct.jacobian(ct.fork(ct.id, ct.id) >> ct.mul)(x)
    x[0] = 7.0
    np.testing.assert_array_equal(L.todense(), [[2.0, 0.0], [0.0, 4.0]])


def test_what_a_function_reads_is_read_again() -> None:
    scale = [2.0]

    def f(x: Any) -> Any:
        return scale[0] * x

    jacobian = ct.jacobian(f, result="array")
    x = np.ones(2)
    np.testing.assert_array_equal(jacobian(x), 2.0 * np.eye(2))
    try:
        scale[0] = 3.0
        changed = jacobian(x)
    except ct.CatadError:
        return  # it says that what it read has changed
    np.testing.assert_array_equal(changed, np.asarray(ct.jacobian(f, result="array")(x)))


def test_loops_of_other_lengths() -> None:
    """A while loop that takes more steps at another point: the program that was kept is not used there."""
    f = ct.while_loop(lambda x: np.sum(x) < 10.0, lambda x: 2.0 * x)
    jacobian = ct.jacobian(f, result="array")
    for start, factor in ((1.0, 8.0), (4.0, 2.0), (0.5, 16.0), (1.0, 8.0)):
        np.testing.assert_array_equal(jacobian(np.full(2, start)), factor * np.eye(2))


def test_other_forms_and_too_large_arrays_are_errors() -> None:
    with pytest.raises(ct.PlanError, match="no such form"):
        ct.jacobian(ct.sin, result="dense")  # type: ignore[arg-type]
    with pytest.raises(ct.DenseLimitError):
        ct.jacobian(ct.sin, result="array")(np.zeros(5000))
    with pytest.raises(ct.DerivativeError):
        ct.jacobian(ct.sum(), result="array")(np.arange(3))


def test_arrays_of_small_maps_are_planned_without_launches() -> None:
    """One function makes such an array, so eight products cost their bytes and operations, which take less than two launches."""
    rng = np.random.default_rng(0)
    own, end = rng.standard_normal((64, 64)), rng.standard_normal((3, 64))

    def network(h: Any) -> Any:
        for _ in range(4):
            h = np.tanh(own @ h)
        return end @ h

    rates = (("others", (5e-6, 1e-10, 0.0)), ("matmul", (5e-6, 1e-11, 1e-10)), ("Reshaped", (0.0, 0.0, 0.0)))
    alone = ct.CostProfile("example", rates)
    functions = ct.CostProfile(
        "example", (*rates, ("call of a program", (5e-6, 1e-10, 0.0)), ("matmul within a program", (1e-6, 1e-11, 1e-10)))
    )
    x = ct.f64[64]
    pulled = ct.plan(network, x, want="jacobian", cost=functions, result="array")
    assert pulled.cost.value < 2 * 5e-6 < 8 * 5e-6 < ct.plan(network, x, want="jacobian", cost=alone, result="array").cost.value
    assert pulled.compare()["planned"].value == pulled.compare()["reverse"].value == pulled.cost.value
    for form in ("structured", "sparse"):
        costs = [ct.plan(network, x, want="jacobian", cost=cost, result=form).cost for cost in (functions, alone)]
        assert costs[0] == costs[1]
    point = rng.standard_normal(64)
    assert np.allclose(pulled.multiply(ct.linearize(network, point)[1]).todense(), ct.linearize(network, point)[1].todense())
