"""Positions affine in several loops: passes meet through reshapes and windows, and compute what the reference engine does."""

from __future__ import annotations

import math

import numpy as np
import pytest

import catad as ct
from catad.engine.stages import access
from catad.engine.stages.access import Affine, affine, along, behind, composed, extent, straight
from catad.engine.stages.refine import common
from catad.linear.families.reindex import Reshaped, StridedCopy, axis, whole


def passes(f: ct.D, dom: ct.Space) -> list[str]:
    return f.source("steps", dom).splitlines()


SPLIT = ct.exp >> ct.reshape((300, 100)) >> ct.sin
MERGED = ct.exp >> ct.reshape((30_000,)) >> ct.sin
BOTH = ct.exp >> ct.reshape((60, 10, 50)) >> ct.sin >> ct.sum(axis=2)
TURNED = ct.exp >> ct.reshape((300, 100)) >> ct.transpose((1, 0)) >> ct.sin
SCANNED = ct.exp >> ct.reshape((3, 100, 100)) >> ct.scan(ct.add, 0.0, axis=2)
CASES = {
    "split": (SPLIT, ct.f64[30_000]),
    "merged": (MERGED, ct.f64[300, 100]),
    "both": (BOTH, ct.f64[300, 100]),
    "turned": (TURNED, ct.f64[30_000]),
    "scanned": (SCANNED, ct.f64[300, 100]),
}


@pytest.mark.parametrize("name", ["split", "merged", "both", "scanned"])
def test_maps_before_and_after_a_reshape_are_one_pass(name: str) -> None:
    f, dom = CASES[name]
    assert len(passes(f, dom)) == 1
    assert "Reshaped" not in f.source("steps", dom)


@pytest.mark.parametrize("name", ["split", "merged"])
def test_gradients_are_one_pass(name: str) -> None:
    f, dom = CASES[name]
    assert len(passes(ct.grad(f >> ct.square >> ct.sum()), dom)) == 1


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients(name: str) -> None:
    f, dom = CASES[name]
    x = np.random.default_rng(1).standard_normal(dom.shape)
    made = []
    for engine in ("reference", "cpu"):
        with ct.use_engine(engine):
            made.append((f(x), ct.grad(f >> ct.square >> ct.sum())(x)))
    for one, other in zip(*made, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def factors(rng: np.random.Generator, n: int) -> tuple[int, ...]:
    """Some sizes with this product, 1 among them now and then."""
    out = list[int]()
    while n > 1 and rng.random() < 0.8 and len(out) < 4:
        d = int(rng.choice([d for d in range(1, n + 1) if n % d == 0]))
        out.append(d)
        n //= d
    out.append(n)
    if rng.random() < 0.2:
        out.insert(int(rng.integers(0, len(out) + 1)), 1)
    return tuple(out)


def drawn(seed: int) -> tuple[ct.Space, ct.D]:
    """A chain of maps, reshapes, transpositions, flips, slices with steps, scans and sums."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice([12, 24, 30, 36, 64, 1, 0, 7]))
    shape = factors(rng, n) if n else (0, 3)
    dom, f = ct.f64[shape], ct.id
    for _ in range(int(rng.integers(2, 9))):
        cur = f.spaces(dom).shape if f != ct.id else shape
        k, at = int(rng.integers(0, 10)), int(rng.integers(0, max(len(cur), 1)))
        g = [ct.sin, ct.square, ct.map(lambda x: 2.0 * x - 1.0)][k % 3]
        if k in (3, 4, 5) and math.prod(cur):
            g = ct.reshape(factors(rng, math.prod(cur)))
        elif k == 6 and len(cur) > 1:
            g = ct.transpose(tuple(int(v) for v in rng.permutation(len(cur))))
        elif k == 7 and cur:
            g = ct.flip(at)
        elif k == 8 and cur and cur[at] > 2:
            key = [slice(None)] * len(cur)
            key[at] = slice(int(rng.integers(0, 2)), None, int(rng.integers(1, 3)))
            g = ct.index[tuple(key)]
        elif k == 9 and cur:
            g = [ct.scan(ct.add, 0.0, axis=at), ct.sum(axis=at), ct.fold(ct.maximum, -np.inf, axis=at)][int(rng.integers(0, 3))]
        f = f >> g
    return dom, f


@pytest.mark.quick(12)
@pytest.mark.parametrize("seed", range(60))
def test_drawn_chains(seed: int) -> None:
    dom, f = drawn(seed)
    x = np.random.default_rng(seed).standard_normal(dom.shape)
    made = []
    for engine in ("reference", "cpu"):
        with ct.use_engine(engine):
            y, pullback = ct.vjp(f, x)
            bar = pullback(np.random.default_rng(seed).standard_normal(np.shape(y)))
            made.append((y, bar[0] if isinstance(bar, tuple) else bar, ct.grad(f >> ct.sum())(x)))
    for other in made[1:]:
        for one, two in zip(made[0], other, strict=True):
            assert np.shape(one) == np.shape(two)
            np.testing.assert_allclose(one, two, rtol=1e-11, atol=1e-11)


# -- positions, against arrays of positions


def positions(found: access.Access, loops: tuple[int, ...], before: tuple[int, ...]) -> np.ndarray:
    """Where each index of the loops reads in an array that has its own positions as entries."""
    index = np.indices(loops)
    at = [axis.a + sum(s * index[label] for label, s in axis.terms) + np.zeros(loops, int) for axis in found.axes]
    holds = np.ones(loops, bool)
    for terms, lo, hi in found.guards:
        tested = sum((s * index[label] for label, s in terms), np.zeros(loops, int))
        holds &= (tested >= lo) & (tested < hi)
    entries = np.arange(math.prod(before)).reshape(before)
    safe = tuple(np.where(holds, p, 0) for p in at)
    return np.where(holds, entries[safe] if before else entries, -1)


@pytest.mark.parametrize("seed", range(80))
def test_views_of_views_read_where_numpy_does(seed: int) -> None:
    """Reshapes and moves with steps, on either side: an affine position or None, never another one."""
    rng = np.random.default_rng(seed)
    shape = factors(rng, int(rng.choice([6, 12, 24, 36])))
    made: list[tuple[object, tuple[int, ...]]] = []
    x = np.arange(math.prod(shape)).reshape(shape)
    first = x
    for _ in range(int(rng.integers(1, 4))):
        view: object = Reshaped(factors(rng, x.size))
        if rng.random() < 0.5 or not x.size:
            at, axes = int(rng.integers(0, x.ndim)), [whole(n) for n in x.shape]
            n = x.shape[at]
            m = int(rng.integers(0, n + 1))
            t = int(rng.integers(1, 4))
            axes[at] = axis(n, t * m + int(rng.integers(0, 3)), 0, 1, 0, t, m)
            view = StridedCopy(tuple(axes), -1.0)
            if not math.prod(ax.n_out for ax in axes):
                break
        made.append((view, x.shape))
        x = view.evaluate(np, x)  # type: ignore[attr-defined]
    loops = x.shape
    found: access.Access | None = straight(len(loops))
    for view, before in reversed(made):
        found = behind(view, found, before, loops)  # type: ignore[arg-type]
        if found is None:
            return
    np.testing.assert_array_equal(positions(found, loops, first.shape), x)


def test_a_move_with_a_step_is_read_where_the_loop_has_it_too() -> None:
    view = StridedCopy((axis(4, 11, 0, 1, 2, 3, 4),))  # y[2 + 3 k] = x[k]
    assert behind(view, access.Access((along(0, 2, 3),)), (4,), (3,)) == access.Access((along(0, 0, 1),))
    once = access.Access((access.FIXED,), (access.Guard(((0, 1),), 0, 1),), 0.0)
    assert behind(view, access.Access((along(0, 2, 1),)), (4,), (3,)) == once
    assert behind(view, access.Access((along(0, 2, 1),)), (4,), (4,)) is None
    between = behind(view, access.Access((along(0, 1, 3),)), (4,), (3,))
    assert between is not None and between.guards[0].hi == 0


def test_normal_forms() -> None:
    assert affine(1, [(2, 3), (0, 1), (2, -3)]) == Affine(1, ((0, 1),))
    assert composed(Affine(1, ((0, 2), (1, 3))), [along(1, 5, -1), Affine(2, ((0, 4), (1, 1)))]) == Affine(17, ((0, 12), (1, 1)))
    assert extent(Affine(3, ((0, -2), (1, 1))), (4, 5)) == (-3, 7)
    assert common((300, 100), (60, 10, 50)) == (60, 5, 2, 50)
    assert common((6,), (2, 3)) == common((2, 3), (6,)) == (2, 3)
    assert common((2, 3), (3, 2)) is None and common((0, 3), (3, 0)) is None and common((4,), (5,)) is None


def test_a_planted_digit_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = access._digits

    def planted(flat, sizes, loops):
        found = plain(flat, sizes, loops)
        return None if found is None else [*found[:-1], found[-1]._replace(a=max(found[-1].a - 1, 0))]

    monkeypatch.setattr(access, "_digits", planted)
    view, inner = Reshaped((4, 5)), access.Access((along(0), along(1, 1)))
    found = behind(view, inner, (20,), (4, 4))
    assert found is not None
    assert not np.array_equal(positions(found, (4, 4), (20,)), np.arange(20).reshape(4, 5)[:, 1:])
