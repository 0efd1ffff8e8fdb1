"""What a pullback keeps: the fewest bytes, from which all coefficients follow, and the same cotangents."""

from __future__ import annotations

import itertools
import pickle
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.category import cache
from catad.category.wiring import Wiring
from catad.engine.stages.split import length
from catad.jacobians.min_cut import UNIT
from catad.jacobians.residuals import least_kept
from catad.planner.heuristics import Work
from catad.planner.problems.min_cut import MinCut
from catad.values import buffers
from catad.vector.pointwise.map import Map

pytestmark = pytest.mark.numpy_only
SCAN = ct.scan(lambda a, b: a + b, 0.0)
N = 72  # more than 4,096 numbers in N x N


def cell(z: Any, zb: Any, c: Any, f: Any, i: Any, g: Any) -> Any:
    if z == 1:
        return ct.sigmoid(i) * ct.tanh(g)
    elif zb == 0:  # noqa: RET505
        return c
    else:
        return ct.sigmoid(f) * c + ct.sigmoid(i) * ct.tanh(g)


def gates(frozen: bool, dtype: Any = np.float32, width: int = 1) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
    rng = np.random.default_rng(5)
    z, zb = (rng.integers(0, 2, (N, width)).astype(dtype) for _ in range(2))
    x = (z, zb, *[rng.standard_normal((N, N)).astype(dtype) for _ in range(4)])
    for a in x:
        a.flags.writeable = not frozen
    return x, rng.standard_normal((N, N)).astype(dtype)


def moved(call: Any, dtype: Any = np.float32) -> int:
    """How many arrays of N x N numbers the compiled stages of a call read and write, smaller ones left out."""
    with ct.profile() as p:
        call()
    return sum(stage.bytes for stage in p.stages) // (N * N * np.dtype(dtype).itemsize)


@pytest.mark.parametrize(("frozen", "width", "most"), [(False, 1, 18), (True, 1, 18), (False, N, 23), (True, N, 19)])
def test_the_cell_of_an_lstm_moves_no_more_than_this(frozen: bool, width: int, most: int) -> None:
    """Copies of four arguments, or four slots, are the least where the caller may write; nothing where nobody may.

    Gates of whole rows leave rows of the slots unread, which are counted here and not moved: see below.
    """
    f, (x, w) = ct.map(cell), gates(frozen, width=width)
    assert moved(lambda: ct.vjp(f, *x)[1](w)) <= most
    once = ct.fork(ct.exl >> f, ct.reverse_differential(f) >> ct.fork(*[ct.proj(k) for k in range(2, 6)]))
    assert moved(lambda: once(x, w)) == (10 if width == 1 else 12)


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("frozen", [False, True])
def test_rows_on_which_a_partial_is_constant_are_neither_written_nor_read(
    frozen: bool, streamed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    (z, zb, *rest), w = gates(frozen)
    if streamed:  # 16 MiB of results
        rest, w = ([np.ascontiguousarray(np.broadcast_to(a[:, :1], (N, 1 << 14))) for a in each] for each in (rest, [w]))
        w = w[0]
        for a in rest:
            a.flags.writeable = not frozen
    f, x = ct.map(cell), (z, zb, *rest)
    empty = buffers.empty

    def marked(*args: Any, **kwargs: Any) -> np.ndarray:
        made = empty(*args, **kwargs)
        if made.dtype.kind == "f":
            made.fill(77.0)
        return made

    cache.forget()
    monkeypatch.setattr(buffers, "empty", marked)
    monkeypatch.setattr(buffers, "LARGE", 0)  # all results come from there
    with ct.use_engine("cpu"):
        y, back = ct.vjp(f, *x)
    wide = [a for a in back.arrays if a.shape == w.shape]  # type: ignore[attr-defined]
    flushed, copied = z[:, 0] == 1, (z[:, 0] != 1) & (zb[:, 0] == 0)
    unread = [int((a == 77.0).all(axis=1).sum()) for a in wide]
    assert sorted(unread) == sorted([(flushed | copied).sum()] * 2 + [copied.sum()] * 2)
    with ct.use_engine("cpu"):
        first = back(w)
    with ct.use_engine("reference"):
        want_y, want = ct.vjp(f, *x)
        want = want(w)
    np.testing.assert_allclose(y, want_y, rtol=1e-4, atol=1e-6)
    for a, b in zip(first[2:], want[2:], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)
    poison = np.where(copied, np.nan, 0.0)[:, None].astype(np.float32)
    back.arrays = tuple([a + poison if a.shape == w.shape else a for a in back.arrays])  # type: ignore[attr-defined]
    with ct.use_engine("cpu"):
        again = back(w)
    for a, b in zip(first, again, strict=True):
        np.testing.assert_array_equal(a, b)


def test_rows_whose_cotangent_is_nan_stay_nan_where_the_partial_is_zero() -> None:
    (z, zb, *rest), w = gates(False)
    w[:, 0] = np.nan
    found = ct.vjp(ct.map(cell), z, zb, *rest)[1](w)
    want = ct.reverse_differential(ct.map(cell))((z, zb, *rest), w)
    for a, b in zip(found[2:], want[2:], strict=True):
        assert np.array_equal(np.isnan(a), np.isnan(b)) and np.isnan(a[:, 0]).all()


TERMS: dict[str, tuple[ct.D, int]] = {
    "three slots of one argument": (ct.fork(ct.sin, ct.map(lambda a: a * a * a), ct.exp) >> ct.map(lambda a, b, c: a * b / c), 1),
    "three results": (ct.map(lambda a: (ct.sin(a), ct.cos(a), a * a * a)), 1),
    "two arguments": (ct.map(lambda a, b: ct.sin(a * b) + a), 2),
    "a branch": (ct.map(lambda a, b: ct.sqrt(a) if a > 0 else b * b), 2),
    "a product behind": (ct.fork(ct.sin, ct.cos) >> ct.matmul, 1),
    "a scan between": (ct.sin >> ct.scan(lambda a, b: a + b, 0.0) >> ct.cos, 1),
    "a sum": (ct.sin >> ct.exp >> ct.sum(), 1),
    "a loop": (ct.while_loop(ct.sum() >> ct.map(lambda s: s > 1.0), 0.5 * ct.sin), 1),
    "a choice": (ct.choose(ct.sum() >> ct.map(lambda s: s > 0.0), ct.sin >> ct.exp, ct.cos), 1),
}


@pytest.fixture
def compiled() -> Iterator[None]:
    """One engine from the first call on, so that later calls have the same bits."""
    with ct.use_engine("cpu"):
        yield


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("name", TERMS)
def test_pullbacks_are_those_of_one_program_and_the_transposes_of_jvp(name: str, frozen: bool, compiled: None) -> None:
    f, count = TERMS[name]
    rng = np.random.default_rng(3)
    x = tuple(rng.standard_normal((N, N)) for _ in range(count))
    before = tuple(a.copy() for a in x)
    for a in x:
        a.flags.writeable = not frozen
    y, back = ct.vjp(f, *x)
    w = tuple(rng.standard_normal(np.shape(a)) for a in y) if isinstance(y, tuple) else rng.standard_normal(np.shape(y))
    first = back(w)
    want = ct.reverse_differential(f)(x[0] if count == 1 else x, w)
    for a, b in zip(first, want if count > 1 else (want,), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-13)
    v = tuple(rng.standard_normal((N, N)) for _ in range(count))
    dy = ct.jvp(f, x, v)[1]
    pairs = zip(w, dy, strict=True) if isinstance(y, tuple) else [(w, dy)]
    through, pulled = sum(np.vdot(a, b) for a, b in pairs), sum(np.vdot(a, b) for a, b in zip(first, v, strict=True))
    if np.isfinite(through):
        np.testing.assert_allclose(pulled, through, rtol=1e-8)
    if not frozen:
        for a in x:
            a[...] = 77.0
        for a in y if isinstance(y, tuple) else [y]:
            if np.ndim(a):
                a[...] = 77.0
    again = back(w)
    assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(first, again, strict=True))
    L = ct.linearize(f, *before)[1]
    for a, b in zip(back.slots, L.slots, strict=True):  # type: ignore[attr-defined]
        np.testing.assert_array_equal(a, b)


def test_what_is_kept_serves_many_cotangents_and_another_process() -> None:
    f, (x, w) = ct.map(cell), gates(True, width=N)
    _, back = ct.vjp(f, *x)
    assert any(a is x[2] for a in back.arrays)  # type: ignore[attr-defined]
    found = back.many(np.stack([w, 2 * w]))  # type: ignore[attr-defined]
    once, other = back(w), pickle.loads(pickle.dumps(back))(w)
    for a, b, c in zip(once, found, other, strict=True):
        np.testing.assert_array_equal(a, c)
        np.testing.assert_allclose(b, np.stack([a, 2 * a]), rtol=1e-6)


def test_a_branch_that_is_not_taken_keeps_its_nan_when_it_runs_again() -> None:
    a, b = np.linspace(-1.0, 1.0, N * N).reshape(N, N).copy(), np.ones((N, N))
    for each in (a, b):
        each.flags.writeable = False
    da, _ = ct.vjp(TERMS["a branch"][0], a, b)[1](np.ones((N, N)))
    assert np.array_equal(da[a <= 0], np.zeros((a <= 0).sum())) and np.isfinite(da).all()


def test_small_arrays_and_the_array_code_keep_slots() -> None:
    f, x = ct.sin >> ct.exp, np.ones(10)
    x.flags.writeable = False
    assert ct.vjp(f, x)[1].residuals is None  # type: ignore[attr-defined]
    (large, w), term = (gates(True)[0], gates(True)[1]), ct.map(cell)
    assert ct.vjp(term, *large)[1].residuals is not None  # type: ignore[attr-defined]
    with ct.use_engine("reference"):
        back = ct.vjp(term, *large)[1]
        assert back.residuals is None and back(w)[2].shape == (N, N)  # type: ignore[attr-defined]


# -- against all cuts


def drawn(seed: int) -> Wiring:
    """A small wiring of pointwise boxes and sums along an axis, some results of which are slots."""
    rng = random.Random(seed)
    b = ct.primitive.Builder()
    x = b.inputs(ct.f64[8, 1] * ct.f64[8, 8])
    wires = [*x]
    for _ in range(5):
        one, two = rng.choice(wires), rng.choice(wires)
        term = rng.choice([ct.mul, ct.add, ct.sin, SCAN])
        wires.append(b.apply(term, (one, two) if term in (ct.mul, ct.add) else one))
    return b.finish(ct.f64[8, 1] * ct.f64[8, 8], x, (wires[-1], *rng.sample(wires[2:], 3)))


def costs(wiring: Wiring, slots: set[int], free: set[int], kept: set[int]) -> int | None:
    """What keeping some wires and running the rest again costs; None where the rest cannot run again."""
    made = {k: box for box in wiring.boxes for k in box.outs}
    total, again, stack = 0, set[int](), [*slots]
    for k in kept:
        copies = k not in made or k == wiring.outputs[0]
        total += (1 if k in free else 3 if copies else 2) * UNIT * 8 * wiring.wires[k].size
    while stack:
        k = stack.pop()
        if k in kept or k in again:
            continue
        if k not in made or not isinstance(made[k].primitive, Map):
            return None
        again.add(k)
        total += weight(made[k].primitive) * 8 * wiring.wires[k].size
        stack += made[k].ins
    return total


def weight(primitive: Any) -> int:
    return length(primitive.function)


@pytest.mark.parametrize("seed", range(60))
def test_no_other_set_of_wires_is_cheaper(seed: int) -> None:
    wiring = drawn(seed)
    slots, free = set(wiring.outputs[1:]), {*wiring.inputs[seed % 3 :]}
    found = least_kept(wiring, 1, free, set(), {})
    assert found is not None
    there = [*wiring.inputs, *[k for box in wiring.boxes for k in box.outs]]
    all_sets = itertools.chain.from_iterable(itertools.combinations(there, r) for r in range(len(there) + 1))
    best = min(cost for kept in all_sets if (cost := costs(wiring, slots, free, set(kept))) is not None)
    assert costs(wiring, slots, free, found) == best


@pytest.mark.parametrize("seed", range(60))
def test_minimum_cuts_are_the_least_of_all(seed: int) -> None:
    rng = random.Random(seed)
    m = 8
    sizes = [0, *[rng.randint(1, 9) for _ in range(m - 1)], 1000]
    sets = [sum(1 << j for j in range(i + 1, m + (i > 3)) if rng.random() < 0.5) for i in range(m)]
    cut = MinCut(sets, 0, sizes, m, Work(1e9)).vertices()

    def separates(gone: Any) -> bool:
        seen, stack = {0}, [0]
        while stack:
            for j in range(m + 1):
                if stack[0] < m and sets[stack[0]] >> j & 1 and j not in seen and j not in gone:
                    seen.add(j)
                    stack.append(j)
            stack.pop(0)
        return m not in seen

    every = itertools.chain.from_iterable(itertools.combinations(range(1, m), r) for r in range(m))
    assert cut is not None and separates(cut)
    assert sum(sizes[u] for u in cut) == min(sum(sizes[u] for u in gone) for gone in every if separates(gone))
    assert MinCut(sets, 0, sizes, m, Work(0)).vertices() is None
