"""Inverses by the places of entries: bands in any order of the unknowns, groups, dense matrices; of J and of 1 - c J."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import catad as ct
from catad import upward
from catad.category.boxes import of_fields
from catad.category.spaces import Product, Tensor, flatten, rebuild
from catad.category.terms import D
from catad.category.wiring import Builder, Wires
from catad.engine.cpu.whole import callbacks
from catad.linear.families.inverse import Factor, Solved
from catad.linear.families.inverses import inverse_of
from catad.linear.families.shifted import inverse_on
from catad.linear.matrix.sparsity import Unplaced, static_places
from catad.linear.solving import ordering
from catad.linear.solving.ordering import order_of
from catad.testing import check_grads

RNG = np.random.default_rng(3)


def bratu(u: Any) -> Any:
    """u'' = exp(u) with zero ends."""
    v = np.concatenate([np.zeros(1), u, np.zeros(1)])
    return 3.0 * (v[2:] - 2.0 * v[1:-1] + v[:-2]) - np.exp(u)


def ring(w: Any) -> Any:
    return np.roll(w, 1) + np.roll(w, -1) - 2.0 * w


def reaction(uv: Any) -> Any:
    """Two species on a ring."""
    u, v = uv
    return 0.3 * ring(u) + u * u * v - 4.0 * u, 0.5 * ring(v) - u * u * v + 1.0 - 3.0 * v


def closed(uv: Any) -> Any:
    """Two species between walls that nothing passes."""
    u, v = uv

    def moved(w: Any) -> Any:
        p = np.concatenate([w[:1], w, w[-1:]])
        return p[2:] - 2.0 * p[1:-1] + p[:-2]

    return moved(u) + u * u * v - 4.0 * u, 0.5 * moved(v) - u * u * v + 1.0


def heat(u: Any) -> Any:
    p = np.pad(u, 1)
    return p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4.0 * u - u**3


def upwind(u: Any) -> Any:
    return u + 0.1 * np.where(u > 1.5, u * (u - np.roll(u, 1)), u * (np.roll(u, -1) - u))


def rates(y: Any) -> Any:
    a, b, c = y
    return np.stack([0.5 * b * c - a, 0.2 * a - b * c - 3.0 * b, b**2 - c - 1.0])


def groups(uv: Any) -> Any:
    """Groups of one, and groups of two unknowns in one array."""
    u, v = uv
    return u * u + 1.0, v * v + 3.0 * v[:, ::-1]


def mean_field(u: Any) -> Any:
    return u * u.sum() + 3.0 * u


class Case(NamedTuple):
    f: Callable[[Any], Any]
    x: Any
    kind: str


def random(*shape: int) -> Any:
    return 1.0 + RNG.random(size=shape)


CASES = {
    "three diagonals": Case(bratu, random(24), "tridiagonal"),
    "three diagonals, few": Case(bratu, random(3), "general"),
    "ring": Case(upwind, random(60), "band 2 2"),
    "ring, few": Case(upwind, random(6), "general"),
    "two species on a ring": Case(reaction, (random(90), random(90)), "band 5 5"),
    "two species": Case(closed, (random(30), random(30)), "band 2 2"),
    "two species, few": Case(closed, (random(4), random(4)), "general"),
    "rows of a grid": Case(heat, random(30, 3), "band 3 3"),
    "columns of a grid": Case(heat, random(3, 60), "band 4 4"),
    "systems beside each other": Case(rates, random(3, 17), "general"),
    "groups of other sizes": Case(groups, (random(2), random(9, 2)), "general"),
    "diagonal": Case(lambda u: u**3, random(5), ""),
    "full": Case(mean_field, random(7), "general"),
}


class Made(NamedTuple):
    program: Any
    args: list[Any]
    right: Any


def made(case: Case, shift: float | None) -> Made:
    """The program from slots, shift and a right-hand side to the solutions with the map and with its transpose."""
    J = ct.linearize(case.f, case.x)[1]
    b = Builder()
    slots = [b.wire(Tensor(slot.shape, slot.dtype)) for slot in J.slots]
    c = [] if shift is None else [b.wire(Tensor((), np.float64))]
    right = [b.wire(leaf) for leaf in J.cod.leaves]
    M, own = inverse_on(b, J.structure, slots, c[0] if c else None)
    outs = [wire for one in (M, M.T) for wire in one.apply(b, own, right) if wire is not None]
    ins = (*slots, *c, *right)
    program = upward.Program(b.finish(Product(tuple([wire.space for wire in ins])), ins, tuple(outs)))
    ys = [RNG.normal(size=leaf.shape) for leaf in J.cod.leaves]
    return Made(program, [*J.slots, *([] if shift is None else [np.array(shift)]), *ys], flat(ys))


def flat(leaves: Any) -> Any:
    return np.concatenate([np.ravel(leaf) for leaf in leaves])


def matrix(case: Case) -> Any:
    J = ct.linearize(case.f, case.x)[1]
    return np.stack([J.matvec(e) for e in np.eye(J.shape[1])], axis=1)


@pytest.mark.parametrize("engine", ["reference", "cpu"])
@pytest.mark.parametrize("shift", [None, 0.3])
@pytest.mark.parametrize("name", CASES)
def test_solutions_are_those_of_the_dense_matrix(name: str, shift: float | None, engine: str) -> None:
    case = CASES[name]
    program, args, right = made(case, shift)
    a = matrix(case) if shift is None else np.eye(len(right)) - shift * matrix(case)
    with ct.use_engine(engine):
        found = program.inside(np, args)
    half = len(found) // 2
    np.testing.assert_allclose(flat(found[:half]), np.linalg.solve(a, right), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(flat(found[half:]), np.linalg.solve(a.T, right), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("shift", [None, 0.3])
@pytest.mark.parametrize("name", CASES)
def test_factors_are_made_once_in_the_kind_that_fits(name: str, shift: float | None) -> None:
    case = CASES[name]
    boxes = [box.primitive for box in made(case, shift).program.wiring.boxes]
    assert [box.kind for box in boxes if isinstance(box, Factor)] == [case.kind] * bool(case.kind)
    assert all(box.kind for box in boxes if isinstance(box, Solved))


def test_planned_jacobians_have_the_same_kinds() -> None:
    """A sum, a network and a grid of one function are one band."""
    for name in ("three diagonals", "two species on a ring", "rows of a grid"):
        J = ct.jacobian(CASES[name].f)(CASES[name].x)
        order = order_of(J.structure)
        assert order is not None and order.kind == CASES[name].kind, name


def test_systems_beside_each_other_are_a_stack() -> None:
    for name, shape in (("systems beside each other", (17, 3)), ("groups of other sizes", (11, 2))):
        order = order_of(ct.linearize(CASES[name].f, CASES[name].x)[1].structure)
        assert order is not None and order.at is not None and order.at.shape == shape


def test_few_vectors_are_pushed() -> None:
    """Those of a grid are five colours and not one for each diagonal."""
    order = order_of(ct.linearize(heat, random(40, 9))[1].structure)
    assert order is not None and order.kind == "band 9 9" and order.vectors < 10


def test_masks_may_be_anything() -> None:
    def f(x: Any) -> Any:
        y = 2.0 * x
        y[x > 1.0] = (3.0 * x + x[::-1])[x > 1.0]
        return y

    x = np.array([0.5, 2.0, 0.25, 3.0])
    J = ct.linearize(f, x)[1]
    found = static_places(J.structure)
    assert set(zip(found.rows.tolist(), found.columns.tolist(), strict=True)) == {(k, j) for k in range(4) for j in (k, 3 - k)}
    np.testing.assert_allclose(ct.linear.inverse(J)(np.ones(4)), np.linalg.solve(J.todense(), np.ones(4)))


def test_indices_are_not_known() -> None:
    L = ct.linear.gather(np.array([1, 0, 2]), ct.f64[3])
    with pytest.raises(Unplaced):
        static_places(L.structure)
    assert inverse_of(L.structure).structure.kind == "inverse gather"


@pytest.mark.parametrize("f", [bratu, upwind, lambda u: heat(u.reshape(-1, 4)).reshape(-1)])
def test_large_maps_are_looked_at_quickly(f: Callable[[Any], Any]) -> None:
    J = ct.linearize(f, random(100_000))[1]
    ordering._kept.clear()
    order_of(J.structure)  # SciPy is imported
    ordering._kept.clear()
    start = time.thread_time()
    assert order_of(J.structure) is not None
    assert time.thread_time() - start < 2.0


# -- derivatives, loops, lanes


@of_fields
class Solving(D):
    """(x, r) to J(x)^-1 r, or (x, r, c) to (1 - c J(x))^-1 r."""

    f: D
    shifted: bool = False

    def lay_out(self, b: Builder, x: Wires) -> Any:
        to_slots, moved = upward.linearised(self.f, b.space(x[0]), None)
        _, slots = b.apply(to_slots, x[0])
        M, own = inverse_on(b, moved, flatten(slots), x[2] if self.shifted else None)
        return rebuild(b.space(x[1]), M.apply(b, own, flatten(x[1])))


def solving(case: Case, shifted: bool = False) -> Solving:
    from catad.category.terms import morphism
    from catad.jacobians.at_point import taken_point

    return Solving(taken_point(morphism(case.f, "f"), (case.x,)).term, shifted)


SMALL = {
    "three diagonals": Case(bratu, random(24), ""),
    "two species on a ring": Case(reaction, (random(45), random(45)), ""),
    "systems beside each other": Case(rates, random(3, 4), ""),
    "groups of other sizes": Case(groups, (random(2), random(3, 2)), ""),
    "diagonal": Case(lambda u: u**3, random(5), ""),
    "full": Case(mean_field, random(4), ""),
}


def like(x: Any) -> Any:
    return tuple([RNG.normal(size=part.shape) for part in x]) if isinstance(x, tuple) else RNG.normal(size=x.shape)


@pytest.mark.parametrize("shifted", [False, True])
@pytest.mark.parametrize("name", SMALL)
def test_derivatives_by_point_right_hand_side_and_shift(name: str, shifted: bool) -> None:
    case = SMALL[name]
    check_grads(solving(case, shifted), case.x, like(case.x), *([0.02] if shifted else []), order=2, tolerance=1e-6)


@pytest.mark.parametrize("engine", ["reference", "cpu"])
@pytest.mark.parametrize("name", SMALL)
def test_lanes_with_numbers_of_their_own(name: str, engine: str) -> None:
    case = SMALL[name]
    solve = solving(case)
    points = [(ct.function(lambda x: x)(case.x), like(case.x)) for _ in range(3)]
    points = [(moved(x, 0.1 * k), y) for k, (x, y) in enumerate(points)]
    stacked = [stack([point[side] for point in points]) for side in (0, 1)]
    with ct.use_engine(engine):
        found = ct.vmap(solve)(*stacked)
        only = ct.vmap(solve, in_axes=(None, 0))(points[0][0], stacked[1])
        for k, (x, y) in enumerate(points):
            np.testing.assert_allclose(flat(lane(found, k)), flat(leaves(solve(x, y))), rtol=1e-10)
            np.testing.assert_allclose(flat(lane(only, k)), flat(leaves(solve(points[0][0], y))), rtol=1e-10)


def leaves(x: Any) -> tuple[Any, ...]:
    return x if isinstance(x, tuple) else (x,)


def moved(x: Any, by: float) -> Any:
    return tuple([part + by for part in x]) if isinstance(x, tuple) else x + by


def stack(values: list[Any]) -> Any:
    if isinstance(values[0], tuple):
        return tuple([np.stack(parts) for parts in zip(*values, strict=True)])
    return np.stack(values)


def lane(x: Any, k: int) -> tuple[Any, ...]:
    return tuple([part[k] for part in leaves(x)])


def no_array_code(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The boxes whose array code is called while programs are compiled from now on."""
    found: list[str] = []
    write = callbacks.call_array_code

    def noted(text: Any, kernel: Any, read: Any, made: Any, borrows: bool = False) -> None:
        found.append(getattr(kernel, "__qualname__", "kernel"))
        write(text, kernel, read, made, borrows)

    monkeypatch.setattr(callbacks, "call_array_code", noted)
    return found


@pytest.mark.parametrize("batched", [False, True])
@pytest.mark.parametrize("name", [name for name in SMALL if name not in ("full", "groups of other sizes")])
def test_newtons_loop_runs_without_python(name: str, batched: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    case = SMALL[name]
    solve, f = solving(case), ct.function(case.f)
    found = no_array_code(monkeypatch)

    def newton(x: Any) -> Any:
        r, k = f(x), 0
        while (size(r) > 1e-20) & (k < 40):
            x = less(x, solve(x, r))
            r, k = f(x), k + 1
        return x, r

    run = ct.vmap(ct.function(newton)) if batched else ct.function(newton)
    x = stack([case.x, moved(case.x, 0.1)]) if batched else case.x
    with ct.use_engine("cpu"):
        _, r = run(x)
    assert np.abs(flat(leaves(r))).max() < 1e-9 and not found


def size(r: Any) -> Any:
    return sum(np.sum(part * part) for part in leaves(r))


def less(x: Any, y: Any) -> Any:
    return tuple([p - q for p, q in zip(x, y, strict=True)]) if isinstance(x, tuple) else x - y


@pytest.mark.parametrize("engine", ["reference", "cpu"])
@pytest.mark.parametrize("name", ["three diagonals", "two species", "systems beside each other", "diagonal"])
def test_one_minus_the_map_may_be_singular(name: str, engine: str) -> None:
    """With J = 1 and c = 1."""
    f, x = CASES[name].f, CASES[name].x

    def ones(y: Any) -> Any:
        made = tuple([0.0 * r + part for r, part in zip(leaves(f(y)), leaves(y), strict=True)])
        return made if isinstance(y, tuple) else made[0]

    program, args, _ = made(Case(ones, x, ""), 1.0)
    with ct.use_engine(engine), pytest.raises(ct.SolveError):
        program.inside(np, args)


@pytest.mark.parametrize("engine", ["reference", "cpu"])
@pytest.mark.parametrize("name", ["three diagonals", "two species", "full"])
def test_what_is_no_number_stays_so(name: str, engine: str) -> None:
    program, args, _ = made(CASES[name], 0.3)
    args[0] = np.full_like(args[0], np.nan)
    with ct.use_engine(engine):
        assert np.isnan(flat(program.inside(np, args))).any()
