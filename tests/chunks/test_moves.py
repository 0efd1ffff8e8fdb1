"""Boxes that move entries do so block by block: what they give is what it is on whole arrays, and nothing runs whole."""

import numpy as np
import pytest

import catad as ct
from catad.chunks.here import blocked
from catad.chunks.rules.reshaping import groups
from catad.linear.families.clear import Cleared, ClearedWhere, run
from catad.linear.families.dot_within import DotWithin
from catad.linear.families.patterned import Bands, Diagonals, PatternProduct
from catad.testing import check_chunks
from tests.chunks.plans import plans, ran_whole

RNG = np.random.default_rng(0)
X = RNG.normal(size=23)
A = RNG.normal(size=(12, 10))
B = RNG.normal(size=(6, 4, 5))
N = np.arange(24)
K = np.array([1.0, 2.0, -1.0])
MASK = np.array([[True], [False]] * 6)
BAND, OF_BAND = RNG.normal(size=(4, 9)), RNG.normal(size=(9, 2))


def within(n, start, stop):
    """Numbers that are zero outside a range."""
    return np.where((np.arange(n) >= start) & (np.arange(n) < stop), RNG.normal(size=n), 0.0)


WITHIN = within(23, 3, 17)
TWO_WITHIN = np.stack([within(9, 2, 7), within(9, 5, 5)])


def interior(u):
    v = u.copy()
    v[1:-1] = np.sin(u[2:]) + u[:-2]
    return v


def every_second_backwards(u):
    v = u.copy()
    v[::-2] = u[:12]
    return v


def added(u):
    v = u.copy()
    v[3:20:3] += 2 * u[:6]
    return v


def column_and_row(u):
    v = u.copy()
    v[1:-1, 2] = 0.0
    v[3] += u[:, 0][:10]
    return v


def filled(u):
    v = np.zeros(30)
    v[4:27] = u
    return v[::2] * 2


PROGRAMS = {
    "slice": (lambda x: x[2:-3], [X]),
    "every third": (lambda x: np.sin(x[1::3]), [X]),
    "flip": (lambda x: x[::-1] * x, [X]),
    "backwards": (lambda x: x[20:2:-4], [X]),
    "empty slice": (lambda x: x[5:5], [X]),
    "differences": (lambda u: u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2]), [X]),
    "sum of squares of differences": (lambda u: np.sum((u[1:] - u[:-1]) ** 2), [X]),
    "interior": (interior, [X]),
    "every second backwards": (every_second_backwards, [X]),
    "added": (added, [X]),
    "column and row": (column_and_row, [A]),
    "filled": (filled, [X]),
    "cleared": (Cleared((run(12, 1, 3, 4), run(10, 8, -2, 3))), [A]),
    "cleared where": (ClearedWhere(), [MASK, A]),
    "roll": (lambda u: np.roll(u, 3) * u, [X]),
    "roll alone": (lambda u: np.roll(u, 1) + np.roll(u, -1), [X]),
    "roll of two axes": (lambda u: np.roll(u, (1, -2), (0, 1)) + np.roll(u, 1), [A]),
    "pad": (lambda u: np.pad(u, (2, 3)), [X]),
    "stack": (lambda a, b: np.stack([a, b, a * b], 1), [X, X + 1]),
    "concatenate": (lambda a, b: np.concatenate([a, np.sin(b), a[:3]]) * 2, [X, X[:7] + 1]),
    "concatenate two dtypes": (lambda a, b: np.concatenate([a, b]) * 2, [X, X[:7].astype(np.float32)]),
    "vstack": (lambda a: np.vstack([a, a * a]), [A]),
    "hstack": (lambda a: np.hstack([a, a * a]), [A]),
    "tile": (lambda a: np.tile(a, 3) * 2, [X]),
    "tile two axes": (lambda a: np.tile(a, (2, 3)), [A]),
    "repeat": (lambda a: np.repeat(a, 3), [X]),
    "repeat columns": (lambda a: np.repeat(a, 2, axis=1), [A]),
    "diff": (lambda a: np.diff(a), [X]),
    "second diff": (lambda a: np.diff(a, 2, axis=1), [A]),
    "tril": (lambda a: np.tril(a), [A]),
    "triu": (lambda a: np.triu(a, 1) * a, [A]),
    "gradient": (lambda u: np.gradient(u), [X]),
    "rot90": (lambda u: np.rot90(u), [A]),
    "split": (lambda u: np.split(u, 3, axis=0)[1] * 2, [A]),
    "diagonal": (lambda u: np.diagonal(u), [A]),
    "ravel": (lambda a: a.ravel() ** 2, [A]),
    "merge": (lambda a: a.reshape(24, 5), [B]),
    "split axis": (lambda a: a.reshape(4, 6), [N * 1.0]),
    "split and transpose": (lambda a: a.reshape(3, 8).T.reshape(4, 6), [N * 1.0]),
    "long rows": (lambda a: a.reshape(3, 20)[1] * 2, [np.arange(60.0)]),
    "pools": (lambda a: a.reshape(6, 2, 5, 2).sum(axis=(1, 3)), [A]),
    "new axis": (lambda a: a[:, None, :] + a[None, :1, :], [A]),
    "integers": (lambda u: np.roll(u, 2)[::-1].reshape(4, 6)[:, 1:], [N]),
    "convolve": (lambda u: np.convolve(u, K, "same"), [X]),
    "convolve full": (lambda u, k: np.convolve(u, k, "full"), [X, K]),
    "convolve valid": (lambda u, k: np.convolve(u, k, "valid"), [X, K]),
    "windows": (lambda u: np.sum(np.lib.stride_tricks.sliding_window_view(u, (3, 2)) ** 2, axis=(2, 3)), [A]),
    "stencil": (ct.stencil(lambda a, b, c: a * b - 2 * c, [(0, 1), (1, 0), (0, 0)], "wrap"), [A]),
    "reflecting stencil": (ct.stencil(lambda a, b, c: a - 2 * b * c, (-1, 0, 2), "reflect"), [X]),
    "bands": (PatternProduct(Bands(1, 2), "v"), [BAND, OF_BAND]),
    "bands turned": (PatternProduct(Bands(2, 1), "x"), [BAND, OF_BAND]),
    "symmetric bands": (PatternProduct(Bands(0, 3, True), "v"), [BAND, OF_BAND]),
    "along bands": (PatternProduct(Bands(1, 2), "a"), [OF_BAND, OF_BAND + 1]),
    "dot within": (DotWithin(23), [np.int64(3), np.int64(17), WITHIN, WITHIN + (WITHIN != 0)]),
    "dots within": (DotWithin(9, (2,)), [np.array([2, 5]), np.array([7, 5]), TWO_WITHIN, 2 * TWO_WITHIN]),
    "all diagonals": (PatternProduct(Diagonals(), "v"), [RNG.normal(size=17), OF_BAND]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name):
    f, args = PROGRAMS[name]
    with plans() as found, ct.use_engine("reference"):
        for seed in range(4):
            check_chunks(f, *args, seed=seed)
    assert not ran_whole(found)


@pytest.mark.parametrize("name", ["differences", "roll", "pad", "column and row", "split and transpose", "convolve", "tile"])
def test_compiled_programs_in_float32(name):
    f, args = PROGRAMS[name]
    check_chunks(f, *[x.astype(np.float32) for x in args], seed=1)


def test_what_is_not_finite_stays_where_it_is():
    u = X.copy()
    u[[0, 7, 15]] = np.nan, np.inf, -np.inf
    with ct.use_engine("reference"):
        check_chunks(lambda x: np.roll(x, 2)[::-1], u, many=False)
        check_chunks(lambda x: np.convolve(x, K, "same"), u, many=False)


def test_rows_without_common_multiples_run_whole_and_the_plan_says_so():
    with plans() as found, ct.use_engine("reference"):
        check_chunks(lambda a: a.reshape(5, 24) * 2, A, seed=2)
    assert ran_whole(found) == {"Reshaped"}


def test_arrays_after_each_other_need_no_task():
    x, y = blocked(X, ((10, 13),)), blocked(X, ((8, 8, 7),))
    with plans() as found:
        z = ct.function(lambda a, b: np.concatenate([a, b]))(x, y)
    assert z.parts == ((10, 13, 8, 8, 7),)
    assert not found[0].regions
    np.testing.assert_array_equal(z.numpy(), np.concatenate([X, X]))


def test_groups_of_axes():
    assert [(one.own, one.new) for one in groups((2, 3, 1, 4), (6, 2, 2))] == [((2, 3), (6,)), ((4,), (2, 2))]
    assert [(one.before, one.after) for one in groups((1, 6, 4), (3, 1, 2, 4))] == [((1,), (0, 2)), ((2,), (3,))]
    assert not groups((1, 1), ())
