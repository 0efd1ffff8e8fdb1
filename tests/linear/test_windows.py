"""Reading in windows and adding windows back: against NumPy's indexing, on each engine, and as linear maps."""

from __future__ import annotations

import numpy as np
import pytest

import catad as ct
from catad.engine.program import run_structure
from catad.linear.families.windows import Progression, Windows, WindowSums, fits
from catad.vector.indexing.static_indices import gathered

ENGINES = ("reference", "cpu")


def drawn(seed: int) -> Windows:
    rng = np.random.default_rng(seed)
    axes, before = list[Progression](), list[int]()
    rank, count = int(rng.integers(1, 5)), int(rng.integers(1, 3))
    shape = tuple(int(n) for n in rng.integers(1, 5, rank))
    owner = rng.integers(0, count, rank)
    for k in range(count):
        terms = tuple((int(j), int(rng.integers(1, 6))) for j in range(rank) if owner[j] == k)
        a = int(rng.integers(0, 3))
        axes.append(Progression(a, terms))
        before.append(a + sum(s * (shape[j] - 1) for j, s in terms) + 1 + int(rng.integers(0, 3)))
    return Windows(tuple(axes), tuple(before), shape, np.dtype(np.float64))


def places(w: Windows) -> tuple[np.ndarray, ...]:
    rank = len(w.after)
    found = []
    for a, terms in w.axes:
        own = np.array(a)
        for k, s in terms:
            own = own + s * np.arange(w.after[k]).reshape([-1 if j == k else 1 for j in range(rank)])
        found.append(np.broadcast_to(own, w.after))
    return tuple(found)


@pytest.mark.parametrize("seed", range(60))
def test_values_and_transposes(seed: int) -> None:
    w = drawn(seed)
    rng = np.random.default_rng(1000 + seed)
    x, bar = rng.standard_normal(w.before), rng.standard_normal(w.after)
    expected = np.zeros(w.before)
    np.add.at(expected, places(w), bar)
    for engine in ENGINES:
        with ct.use_engine(engine):
            (y,) = run_structure(w, np, [], [x])
            np.testing.assert_array_equal(y, x[places(w)])
            (back,) = run_structure(w.T, np, [], [bar])
            np.testing.assert_allclose(back, expected, rtol=0, atol=1e-13)
    assert w == w.T.T


def test_dense_matrices() -> None:
    for seed in range(20):
        w = drawn(seed)
        L = ct.LinearMap(w.dom[0], w.cod[0], w, [])
        expected = np.zeros((np.prod(w.after, dtype=int), np.prod(w.before, dtype=int)))
        expected[np.arange(len(expected)), np.ravel_multi_index(places(w), w.before).reshape(-1)] = 1.0
        np.testing.assert_array_equal(np.asarray(L.todense()).reshape(expected.shape), expected)
        np.testing.assert_array_equal(np.asarray(L.T.todense()).reshape(expected.shape[::-1]), expected.T)
        assert L.stored == 0


def test_empty_windows() -> None:
    w = Windows((Progression(0, ((0, 1), (1, 1))),), (5,), (0, 3), np.dtype(np.float64))
    (y,) = run_structure(w, np, [], [np.ones(5)])
    assert y.shape == (0, 3)


def known(index: np.ndarray, n: int):
    """The wiring of x[index] with a known index."""
    return ct.wire(ct.function(lambda x: x[index]).at(ct.f64[n]), ct.f64[n])


def kinds(wiring) -> set[str]:
    return {type(box.primitive).__name__ for box in wiring.boxes}


@pytest.mark.parametrize(
    "index",
    [
        np.arange(4)[:, None] + np.arange(3),
        3 * np.arange(4)[:, None] + np.arange(3),
        2 * np.arange(4)[:, None] + np.arange(3),
        9 - 2 * np.arange(3)[:, None] + np.arange(2),
        np.arange(11, 0, -2),
        np.arange(2)[:, None, None] + 4 * np.arange(2)[:, None] + np.arange(3),
        np.array([[5]]),
    ],
)
def test_known_affine_indices_are_views(index: np.ndarray) -> None:
    wiring = known(index, 12)
    assert "Gathered" not in kinds(wiring)
    x = np.random.default_rng(2).standard_normal(12)
    f = ct.function(lambda x: x[index])
    bar = np.random.default_rng(3).standard_normal(index.shape)
    expected = np.zeros(12)
    np.add.at(expected, index, bar)
    for engine in ENGINES:
        with ct.use_engine(engine):
            y, pullback = ct.vjp(f, x)
            np.testing.assert_array_equal(y, x[index])
            np.testing.assert_allclose(pullback(bar)[0], expected, atol=1e-13)


@pytest.mark.parametrize(
    "index", [np.array([0, 1, 3]), np.array([2, 2, 2]), np.array([0, 1, 2, 4]), np.array([[0, 1], [1, 3]]), np.arange(6) % 3]
)
def test_other_known_indices_are_gathered(index: np.ndarray) -> None:
    assert "Gathered" in kinds(known(index, 12))
    x = np.arange(12.0)
    np.testing.assert_array_equal(ct.function(lambda x: x[index])(x), x[index])


def test_an_index_out_of_range_is_refused_still() -> None:
    with pytest.raises(ct.IndexRangeError):
        ct.function(lambda x: x[np.arange(4) + 10])(np.ones(12))


def test_indices_out_of_range_are_no_window() -> None:
    """`Gathered` gives zero outside of the array: such an index is no view."""
    b = ct.primitive.Builder()
    x, (index,) = b.inputs(ct.f64[5]), b.add(ct.primitive.Constant(np.arange(3, 7)))
    from catad.linear.families.gather import rows_of

    made = gathered(b, rows_of((5,), (4,)), index, x)
    assert type(next(box.primitive for box in b.boxes if made.number in box.outs)).__name__ == "Gathered"


def test_windows_of_many_places_are_added_by_index() -> None:
    assert fits(Progression(0, ((0, 1), (1, 1))), (1000, 32))
    assert not fits(Progression(0, ((0, 1), (1, 1))), (1000, 33))
    assert fits(Progression(0, ((0, 33), (1, 1))), (1000, 33))


def test_sliding_windows_in_two_directions() -> None:
    x = np.random.default_rng(4).standard_normal((9, 8, 3))
    bar = np.random.default_rng(5).standard_normal((7, 5, 3, 3, 4))
    windows = np.lib.stride_tricks.sliding_window_view

    def f(x):
        return windows(x, (3, 4), axis=(0, 1))

    expected = np.zeros_like(x)
    for i in range(7):
        for j in range(5):
            expected[i : i + 3, j : j + 4] += np.moveaxis(bar[i, j], 0, -1)
    dom = ct.space_of(x)
    assert kinds(ct.wire(ct.function(f).at(dom), dom)) <= {"Windowed", "Contract"}
    for engine in ENGINES:
        with ct.use_engine(engine):
            y, pullback = ct.vjp(ct.function(f), x)
            np.testing.assert_array_equal(y, f(x))
            np.testing.assert_allclose(pullback(bar)[0], expected, atol=1e-13)


def test_second_order_and_batches() -> None:
    rng = np.random.default_rng(6)
    x, v = rng.standard_normal(12), rng.standard_normal(12)
    index = np.arange(10)[:, None] + np.arange(3)
    f = ct.function(lambda x: np.sum(np.prod(x[index], axis=1) ** 2))
    _, h = ct.jvp(ct.grad(f), x, v)
    slope = (ct.grad(f)(x + 1e-6 * v) - ct.grad(f)(x - 1e-6 * v)) / 2e-6
    np.testing.assert_allclose(h, slope, rtol=1e-6, atol=1e-5)
    xs = rng.standard_normal((4, 12))
    np.testing.assert_array_equal(ct.vmap(ct.function(lambda x: x[index]))(xs), xs[:, index])


def test_results_may_be_written_into() -> None:
    """Windows overlap in memory: what a caller gets does not."""
    index = np.arange(10)[:, None] + np.arange(3)
    for engine in ENGINES:
        with ct.use_engine(engine):
            for f in (lambda x: x[index], lambda x: (x * 2.0)[index]):
                y = ct.function(f)(np.arange(12.0))
                before = y.copy()
                y[0, 1] = 77.0
                before[0, 1] = 77.0
                np.testing.assert_array_equal(y, before)


def test_a_planted_window_that_is_off_by_one_is_found(monkeypatch) -> None:
    from catad.linear.families import windows

    plain = windows.axis

    def planted(n_in, n_out, a, s, c, t, m):
        return plain(n_in, n_out, a, s, c, t, m if c != 1 else m - 1)

    monkeypatch.setattr(windows, "axis", planted)
    w = Windows((Progression(0, ((0, 1), (1, 1))),), (9,), (7, 3), np.dtype(np.float64))
    bar = np.random.default_rng(7).standard_normal((7, 3))
    expected = np.zeros(9)
    np.add.at(expected, places(w), bar)
    (back,) = run_structure(WindowSums(*[getattr(w, k) for k in ("axes", "before", "after", "dtype")]), np, [], [bar])
    assert not np.allclose(back, expected)


def written(x, v, key):
    y = x * 1.0
    y[key] = v
    return y


@pytest.mark.parametrize(
    ("key", "is_move"),
    [
        (np.arange(1, 11, 3), True),
        (np.arange(10, 0, -2), True),
        (np.array([-1, -2]), True),
        (np.array([3]), False),
        (np.array([0, 1, 3]), False),
        (np.array([2, 2]), False),
        (np.array([0, 6, 12]) % 12, False),
        ((np.arange(2)[:, None], np.arange(3)), True),
        ((np.arange(3), np.arange(3)), False),
        ((slice(None), np.arange(0, 4, 2)), True),
        ((np.arange(3), 2), True),
    ],
)
def test_known_indices_that_differ_are_moves(key, is_move: bool) -> None:
    """What is written at a progression along each axis is moved there; all else keeps its last writer."""
    x = np.random.default_rng(8).standard_normal(12 if not isinstance(key, tuple) else (3, 4))
    v = np.random.default_rng(9).standard_normal(x[key].shape)
    f = ct.function(lambda x, v: written(x, v, key))
    dom = ct.space_of(x) * ct.space_of(v)
    assert ("Overwritten" in kinds(ct.wire(f.at(dom), dom))) == is_move
    bar = np.random.default_rng(10).standard_normal(x.shape)
    for engine in ENGINES:
        with ct.use_engine(engine):
            y, pullback = ct.vjp(f, x, v)
            np.testing.assert_array_equal(y, written(x, v, key))
            dx, dv = pullback(bar)
            np.testing.assert_array_equal(dx, written(bar, np.zeros_like(v), key))
            last = written(np.full(x.shape, -1.0), np.arange(v.size).reshape(v.shape) * 1.0, key)
            expected = np.zeros(v.size)
            expected[last[last >= 0].astype(int)] = bar[last >= 0]
            np.testing.assert_array_equal(dv.reshape(-1), expected)


@pytest.mark.parametrize("index", [np.arange(5)[:, None] + np.arange(3), 4 * np.arange(3)[:, None] + np.arange(2)])
def test_laws(index: np.ndarray) -> None:
    from catad.linear.families.windows import Windowed

    n = index.max() + 2
    steps = tuple([(k, int(index[tuple(int(j == k) for j in range(2))] - index[0, 0])) for k in range(2)])
    box = Windowed((Progression(0, steps),), index.shape)
    x = np.random.default_rng(11).integers(-3, 4, n).astype(np.float64)
    np.testing.assert_array_equal(box(x), x[index])
    ct.testing.check_laws(box, x)
    ct.testing.check_linear_map(ct.linearize(box, x)[1])
    assert eval(repr(box), {"ct": ct}) == box
