"""The same morphisms on other array libraries: strict arrays always, CuPy where there is a GPU.

The whole suite can also be run on them, with `--arrays strict` or `--arrays cupy`; here results must be arrays of the library
that went in, equal to NumPy's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catad as ct

from .core.test_derivatives import PROGRAMS
from .linear.cases import block_cases, square_cases
from .strict_arrays import StrictArray, strict


def library(name: str) -> Any:
    return strict if name == "strict" else pytest.importorskip("cupy")


LIBRARIES = ["strict", pytest.param("cupy", marks=pytest.mark.gpu)]


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize("program", PROGRAMS)
def test_values_and_derivatives(name: str, program: str) -> None:
    xp, f = library(name), PROGRAMS[program]
    x = np.random.default_rng(0).uniform(0.5, 1.5, 6)
    there = xp.asarray(x)
    y, pullback = ct.vjp(f, x)
    y_there, pullback_there = ct.vjp(f, there)
    w = np.ones_like(y)
    w_there = xp.asarray(w)
    pairs = [
        (y, y_there),
        (f(x), f(there)),
        (ct.jvp(f, (x,), (x,))[1], ct.jvp(f, (there,), (there,))[1]),
        (pullback(w)[0], pullback_there(w_there)[0]),
        (ct.jacobian(f)(x).todense(), ct.jacobian(f)(there).todense()),
    ]
    for want, got in pairs:
        assert type(got) is type(there)
        assert np.allclose(got.get(), want, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize("kind", [*square_cases(4), *block_cases(4)])
def test_linear_maps(name: str, kind: str) -> None:
    xp = library(name)
    L, want = {**square_cases(4), **block_cases(4)}[kind]
    there = ct.LinearMap(L.dom, L.cod, L.structure, [xp.asarray(slot) for slot in L.slots])
    if L.slots:
        assert np.array_equal(there.todense().get().reshape(want.shape), want)
    v = np.arange(1.0, 1 + want.shape[1])
    assert np.array_equal(there.matvec(xp.asarray(v)).get(), want @ v)
    assert np.array_equal(there.T.matvec(xp.asarray(want @ v)).get(), want.T @ (want @ v))


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize("kind", [*square_cases(4), *block_cases(4)])
def test_linear_maps_as_matrices(name: str, kind: str) -> None:
    xp = library(name)
    L, want = {**square_cases(4), **block_cases(4)}[kind]
    there = ct.LinearMap(L.dom, L.cod, L.structure, [xp.asarray(slot) for slot in L.slots])
    B, b = np.arange(2.0 * want.shape[1]).reshape(-1, 2), np.arange(1.0, 1 + want.shape[0])
    assert np.array_equal((there @ xp.asarray(B)).get(), want @ B)
    if L.slots:
        for k in (0, 1, -2):
            assert np.array_equal(there.diagonal(k).get(), np.diagonal(want, k))
        assert float(there.trace()) == np.trace(want)
    try:
        solution = np.linalg.solve(want, b)
    except np.linalg.LinAlgError:
        with pytest.raises(ct.SolveError):
            there.solve(xp.asarray(b[:, None]))
    else:
        found = there.solve(xp.asarray(b[:, None]))
        assert type(found) is type(xp.asarray(b)) and np.allclose(found.get()[:, 0], solution)


def test_an_iteration_runs_on_other_arrays() -> None:
    u = strict.asarray(np.linspace(0.0, 1.0, 300))
    L = 2 * ct.linear.identity(ct.f64[300]) + ct.linear.outer(u, u)
    x = L.solve(u)
    assert L.solver.method == "iterative" and np.allclose((L @ x).get(), u.get())


def test_a_strict_array_refuses_to_become_numpy() -> None:
    x = strict.asarray([1.0, 2.0])
    for use in (
        lambda: np.asarray(x),
        lambda: np.sin(x),
        lambda: x + np.ones(2),
        lambda: strict.einsum,
        lambda: strict.add.at,
    ):
        with pytest.raises((TypeError, AttributeError)):
            use()
    assert isinstance(ct.sin(x), StrictArray)


def _constant(x):
    return 2.0


def _beside(x):
    return 2.0, x


def _counted(x):
    steps = 0.0
    while steps < 3.0:
        steps = steps + 1.0
    return steps


def _halved(x):
    while x > 1.0:
        x = x / 2.0
    return x


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize("shape", [(), (3,)])
def test_numbers_that_depend_on_no_array_do_not_stay_on_the_host(name: str, shape: tuple[int, ...]) -> None:
    xp = library(name)
    x = xp.asarray(np.full(shape, 0.7))
    ones = xp.asarray(np.ones(shape))
    for fn in (_constant, _beside, _counted, _halved):
        y = ct.map(fn)(x)
        assert all(type(leaf) is type(x) and leaf.shape == shape for leaf in (y if isinstance(y, tuple) else (y,)))
    slope = ct.fork(ct.square, ct.id) >> ct.reverse_differential(ct.map(_halved))  # the loop takes no step
    value, pullback = ct.vjp(slope, x)
    assert type(value) is type(pullback(ones)[0]) is type(x)
    assert np.allclose(value.get(), 0.7) and np.allclose(pullback(ones)[0].get(), 1.0)


@pytest.mark.parametrize("name", LIBRARIES)
def test_opaque_code_that_moves_its_argument_is_refused(name: str) -> None:
    x = library(name).asarray(np.ones(3))
    f = ct.D(lambda x: (np.asarray([float(v) for v in x]), ct.scale(x)))
    with pytest.raises(ct.DeviceError, match="arrays of two array libraries"):
        f(x)
    number = ct.D(lambda x: (float(x), ct.scale(1.0)))
    assert type(number(x[0])) is type(x)


@pytest.mark.parametrize("name", LIBRARIES)
def test_constants_keep_the_sign_of_zero(name: str) -> None:
    xp, zero = library(name), np.array(-0.0)
    x = xp.asarray(np.array([1.0, 2.0]))
    lost = ct.fold(lambda a, b: a * b, -0.0)
    scaled, times = ct.lift(ct.scale(-0.0)), ct.function(lambda x: x * zero)
    for f in (lambda x: scaled(x[0]), times, lambda x: lost(x[:0])):
        for engine in ("reference", "auto"):
            with ct.use_engine(engine):  # type: ignore[arg-type]
                assert np.all(np.signbit(f(x).get()))
