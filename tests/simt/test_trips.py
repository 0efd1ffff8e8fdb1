"""Loops of kernels whose trips are done at once, against real threads, central differences, and the boxes that come out."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.category.spaces import flatten
from catad.linear.families.reindex import axis
from catad.scalar import const
from catad.simt import folds, parallel_trips
from catad.simt.arrays import Site
from catad.simt.races import READ, Lockstep
from catad.simt.read import Dims
from catad.simt.thread_axes import Lanes
from catad.vector.shapes.shape import moved
from tests.simt.against_threads import ENGINES, assert_gradients, assert_values
from tests.simt.kernels import Case
from tests.simt.trip_kernels import AT_ONCE, ONE_BY_ONE, cut_cell, matmul, saxpy

LOOPS = AT_ONCE | ONE_BY_ONE


def boxes(term: Any, *args: Any) -> list[str]:
    """The names of the boxes of a term."""
    return [type(box.primitive).__name__ for box in ct.wire(term, ct.space_of(args)).boxes]


@pytest.mark.parametrize("name", LOOPS)
def test_values_are_those_of_threads(name):
    launch, args, _ = LOOPS[name]
    ct.testing.check_races(launch, *args)
    assert_values(launch, args)


@pytest.mark.quick(17)
@pytest.mark.parametrize("name", LOOPS)
def test_gradients_are_those_of_differences_of_threads(name):
    launch, args, _ = LOOPS[name]
    assert_gradients(launch, args)


@pytest.mark.quick(4)
@pytest.mark.parametrize("name", ["matmul", "scaled_product", "saxpy", "triangle", "product", "scattered", "own_memory"])
def test_laws_of_derivatives(name):
    launch, args, _ = LOOPS[name]
    ct.testing.check_laws(launch, args)


@pytest.mark.parametrize("name", AT_ONCE)
def test_trips_at_once_are_no_sweep(name):
    launch, args, among = AT_ONCE[name]
    found = boxes(launch, *args)
    assert "Sweep" not in found and set(among) <= set(found)


@pytest.mark.parametrize("name", ONE_BY_ONE)
def test_trips_that_depend_on_each_other_are_a_sweep(name):
    launch, args, _ = ONE_BY_ONE[name]
    assert "Sweep" in boxes(launch, *args)


def test_a_product_of_matrices_and_its_reverse_are_contractions_of_the_matrices():
    args = (np.ones((64, 48)), np.ones((48, 32)), np.zeros((64, 32)))
    for term, products in ((matmul[(8, 4), (8, 8)], 1), (ct.grad(matmul[(8, 4), (8, 8)] >> ct.square >> ct.sum()), 3)):
        wiring = ct.wire(term, ct.space_of(args))
        assert {type(box.primitive).__name__ for box in wiring.boxes} <= {"Contract", "Map", "Reshaped", "Constant"}
        contractions = [box for box in wiring.boxes if type(box.primitive).__name__ == "Contract" and box.primitive.arity == 2]
        assert len(contractions) == products
        assert all(space.size <= 64 * 48 for box in wiring.boxes for space in wiring.spaces(box.outs))


@pytest.mark.parametrize(("dtype", "by"), [("i8", "f8"), ("f4", "f8"), ("i1", "i1"), ("f4", "f4"), ("u8", "u8")])
def test_each_store_into_a_cell_converts_to_its_dtype(dtype: str, by: str) -> None:
    args = (np.linspace(0.6, 9.0, 120).reshape(6, 20).astype(by), np.arange(6).astype(dtype))
    with np.errstate(over="ignore"):
        assert_values(cut_cell[2, 3], args, rtol=1e-6)
    assert ("Sweep" in boxes(cut_cell[2, 3], *args)) == (dtype != by)


def test_a_loop_with_the_step_of_the_grid_is_a_map_without_masks():
    for count in (64, 61):  # 61 is no multiple of the number of threads
        args = (2.0, np.ones(count), np.ones(count))
        assert boxes(saxpy[2, 8], *args) == ["Map"]
        assert set(boxes(ct.grad(saxpy[2, 8] >> ct.sum()), *args)) <= {"Map", "Contract", "Constant", "Reshaped"}


@ct.kernel
def bounded_product(a, b, m, c):
    """Threads and trips beyond the bounds see numbers that are none."""
    i, j = ct.simt.grid(2)
    s = 1.0
    if 0 < i < 3 and j < 3:
        for k in range(20):
            if k < 18 and m[k] > 0.0:
                s += a[i, k] * b[k, j]
    c[i, j] = s


@ct.kernel
def bounded_by_data(a, b, m, c):
    i, j = ct.simt.grid(2)
    s = 1.0
    if m[i] > 0.0:
        for k in range(20):
            s += a[i, k] * b[k, j]
    c[i, j] = s


@ct.kernel
def bounded_by_both(a, b, m, c):
    i, j = ct.simt.grid(2)
    s = 1.0
    for k in range(20):
        if m[i, k] > 0.0:
            s += a[i, k] * b[k, j]
    c[i, j] = s


@ct.kernel
def bounded_roots(x, y):
    i = ct.simt.grid(1)
    s, p, m = 0.0, 1.0, -9.0
    for k in range(4 * i):
        if x[k] >= 0.0:
            s += math.sqrt(x[k])
            p *= math.sqrt(x[k])
            m = np.maximum(m, math.sqrt(x[k]))
    y[i] = s * p + m


def _spoiled(bad: float) -> dict[str, Case]:
    """Numbers that no thread reads are bad ones; but b[4, 1], which some threads do read, is infinite."""
    rng = np.random.default_rng(11)
    a, b, m, c = rng.uniform(0.5, 1.5, (4, 20)), rng.uniform(0.5, 1.5, (20, 4)), np.ones(20), np.zeros((4, 4))
    m[[2, 7]] = -1.0
    clean = b.copy()
    a[0], a[3], a[:, 18:], a[:, m < 0], b[18:], b[m < 0], b[:, 3] = bad, bad, bad, bad, bad, bad, bad
    b[4, 1] = clean[4, 1] = np.inf
    by_data = rng.uniform(0.5, 1.5, (4, 20)), clean, np.array([1.0, -1.0, 1.0, -1.0]), c
    by_data[0][[1, 3]] = bad
    both = np.where(rng.random((4, 20)) < 0.5, 1.0, -1.0)
    by_both = np.where(both > 0, rng.uniform(0.5, 1.5, (4, 20)), bad), rng.uniform(0.5, 1.5, (20, 4)), both, c
    x = rng.uniform(0.5, 1.5, 16)
    x[[1, 6, 11]] = -1.0
    x[12:] = bad
    return {
        "by bounds and by trips": Case(bounded_product[(2, 2), (2, 2)], (a, b, m, c)),
        "by data": Case(bounded_by_data[(2, 2), (2, 2)], by_data),
        "by both": Case(bounded_by_both[(2, 2), (2, 2)], by_both),
        "by a condition": Case(bounded_roots[1, 4], (x, np.zeros(4))),
    }


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("name", _spoiled(0.0))
def test_numbers_that_no_thread_reads_reach_nobody(name, bad, engine):
    (launch, args), (_, clean) = _spoiled(bad)[name], _spoiled(1.0)[name]
    with ct.use_engine(engine):
        value, pull = ct.vjp(launch, *args)
        got = pull(np.ones_like(value))
        expected, pull = ct.vjp(launch, *clean)
        np.testing.assert_array_equal(value, expected)
        for mine, theirs in zip(got, pull(np.ones_like(value)), strict=True):
            np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_allclose(value, ct.testing.threads(launch, *args), rtol=1e-13)


@pytest.mark.parametrize("name", _spoiled(0.0))
def test_gradients_of_loops_with_bounds_are_those_of_differences(name):
    launch, args = _spoiled(np.nan)[name]
    assert_gradients(launch, tuple([np.where(np.isfinite(arg), arg, 1.0) for arg in args]))


def test_a_thread_without_trips_gives_nothing_to_what_others_read():
    for name, rows in (("by bounds and by trips", [0, 3]), ("by data", [1, 3])):
        launch, args = _spoiled(np.nan)[name]
        value, pull = ct.vjp(launch, *args)
        assert (value[rows] == 1.0).all() and np.isinf(value[1 - rows[0], 1])
        assert (pull(np.ones((4, 4)))[0][rows] == 0.0).all()


@ct.kernel
def extremes_of_nan(x, y):
    i = ct.simt.grid(1)
    high, greatest, least = -np.inf, -np.inf, 3.0
    for k in range(x.shape[1]):
        high = np.maximum(high, x[i, k])
        greatest = max(greatest, x[i, k])
        least = min(least, x[i, k])
    y[i, 0], y[i, 1], y[i, 2] = high, greatest, least


def test_extremes_have_the_meaning_of_their_words_for_nan_and_for_ties():
    x = np.random.default_rng(12).integers(0, 3, (4, 20)).astype(float)
    x[1, 7], x[2, 0], x[3] = np.nan, np.nan, np.nan
    launch, args = extremes_of_nan[1, 4], (x, np.zeros((4, 3)))
    assert "Sweep" not in boxes(launch, *args)
    np.testing.assert_array_equal(launch(*args), ct.testing.threads(launch, *args))
    (dx, _) = ct.vjp(launch, *args)[1](np.ones((4, 3)))
    first = np.zeros(20)
    first[np.argmax(x[0])] += 2
    first[np.argmin(x[0])] += 1
    np.testing.assert_array_equal(dx[0], first)


@ct.kernel
def no_trips(x, y):
    i = ct.simt.grid(1)
    s = 5.0
    for k in range(i + 20, 20 - len(x)):
        s += x[k]
        y[i] = x[k]
    z = 3.0
    for k in range(12 - i, 12):
        z *= x[k]
    y[i] += s + z


def test_threads_without_trips_keep_what_they_have():
    args = (np.linspace(0.5, 1.5, 14), np.ones(9))
    np.testing.assert_allclose(no_trips[1, 9](*args), ct.testing.threads(no_trips[1, 9], *args), rtol=1e-14)


@ct.kernel
def too_far(x, y):
    for k in range(ct.simt.grid(1), len(x) + 1, ct.simt.gridsize(1)):
        y[k] = x[k - 1] if k > 0 else 0.0


@ct.kernel
def too_far_along(x, y):
    i = ct.simt.grid(1)
    for k in range(12):
        y[i] += x[i + k]


def test_an_index_out_of_range_names_thread_and_trip():
    with pytest.raises(ct.IndexRangeError, match=r"\(0, 0, 0\) of block \(1, 0, 0\) in trip 2") as caught:
        too_far[2, 2](np.ones(10), np.ones(10))
    assert "10" in str(caught.value)
    with pytest.raises(ct.IndexRangeError):
        too_far_along[1, 4](np.ones(14), np.ones(4))


def test_explain_names_the_trip():
    launch, args, _ = AT_ONCE["matmul"]
    assert launch.explain(*args).splitlines() == [
        "a[i, k]  line 35  read  view; reverse: fold (index i, trip, several threads a cell)",
        "b[k, j]  line 35  read  view; reverse: fold (index trip, j, several threads a cell)",
        "c[i, j]  line 36  store  plain stores; reverse: view, no atomics (index i, j, one thread a cell)",
    ]
    launch, args, _ = AT_ONCE["saxpy"]
    lines = launch.explain(*args).splitlines()
    assert len(lines) == 3 and all("no atomics (index i + 6*trip, one thread a cell)" in line for line in lines)


def threads_at(launch: Any, args: Any, site: Site) -> dict[int, set[int]]:
    """The threads that come to each cell through a site."""
    body = launch.body([ct.space_of(arg) for arg in args])
    named = {name: np.asarray(arg) for name, arg in zip(launch.kernel.names, args, strict=True)}
    run = Lockstep(Dims(launch.grid, launch.block), body, named)
    run.run()
    found: dict[int, set[int]] = {}
    for one in run.accesses:
        if (one.site.line, one.site.column, one.kind) == (site.line, site.column, READ):
            for cell, thread in zip(one.cells, one.threads, strict=True):
                found.setdefault(int(cell), set()).add(int(thread))
    return found


@pytest.mark.parametrize("name", LOOPS)
def test_no_atomics_only_where_the_threads_meet_at_no_cell(name):
    launch, args, _ = LOOPS[name]
    for site in launch.sites(ct.space_of(args)):
        if site.free and site.kind == "read":
            assert all(len(several) == 1 for several in threads_at(launch, args, site.site).values())


# -- mistakes that are planted

LIMIT = iter(range(2001, 3000))


def again(name: str) -> Any:
    """A launch as another term, so that nothing is taken from a store of programs."""
    launch, args, _ = LOOPS[name]
    other = ct.kernel(max_steps=next(LIMIT))(launch.kernel.fn)[launch.grid, launch.block]
    return flatten(other(*args)), flatten(ct.testing.threads(launch, *args))


def differ(found: Any) -> bool:
    return not all(np.allclose(ours, theirs) for ours, theirs in zip(*found, strict=True))


@pytest.mark.parametrize("name", ["recurrence", "running", "product", "scattered"])
def test_the_planted_ones_are_right_as_they_are(name):
    assert not differ(again(name))


def test_trips_that_read_what_others_write_are_seen(monkeypatch):
    monkeypatch.setattr(parallel_trips, "_disjoint", lambda inner, several, counters: True)
    assert differ(again("recurrence"))


def test_a_running_sum_taken_for_a_fold_is_seen(monkeypatch):
    monkeypatch.setattr(folds._Finder, "alone", lambda self, body: True)
    assert differ(again("running"))


def test_a_wrong_neutral_element_is_seen(monkeypatch):
    monkeypatch.setattr(parallel_trips, "neutral", lambda op, dtype: const(dtype.type(0)))
    assert differ(again("product"))


def test_trips_in_another_order_are_seen(monkeypatch):
    right = Lanes.in_order

    def reversed_(self, b, wire):
        made = right(self, b, wire)
        return moved(b, made, [axis(made.shape[0], made.shape[0], made.shape[0] - 1, -1, 0, 1, made.shape[0])])

    monkeypatch.setattr(Lanes, "in_order", reversed_)
    assert differ(again("scattered"))


def spoiled_again(name: str) -> list[Any]:
    launch, args = _spoiled(np.nan)[name]
    other = ct.kernel(max_steps=next(LIMIT))(launch.kernel.fn)[launch.grid, launch.block]
    value, pull = ct.vjp(other, *args)
    return [value, *pull(np.ones((4, 4)))]


def equal(one: list[Any], other: list[Any]) -> bool:
    return all(np.array_equal(ours, theirs, equal_nan=True) for ours, theirs in zip(one, other, strict=True))


def test_a_condition_left_out_of_a_contraction_is_seen(monkeypatch):
    name = "by bounds and by trips"
    expected, right = spoiled_again(name), folds.peeled
    assert equal(spoiled_again(name), expected)
    monkeypatch.setattr(folds, "peeled", lambda node: ([], right(node)[1]))
    assert not equal(spoiled_again(name), expected)


def test_a_condition_on_data_left_to_the_result_of_a_contraction_is_seen(monkeypatch):
    expected, right = spoiled_again("by data"), folds.axes_of
    nobody: frozenset[int] = frozenset()
    monkeypatch.setattr(folds, "axes_of", lambda inner, node: nobody if node.kind == "b" else right(inner, node))
    monkeypatch.setattr(folds, "both", lambda nodes: const(True))
    assert not equal(spoiled_again("by data"), expected)
