"""Totals of blocks may leave the range of floats where no state does: what a scan gives does not show it."""

from __future__ import annotations

import numpy as np
import pytest

import catad as ct
from catad.chunks.here import blocked
from catad.chunks.rules.sequences.wide import is_wide, longer_of, pairs_of
from catad.scalar import array_function
from catad.vector.folds.monoid import monoid_of
from tests.chunks.plans import plans, ran_whole

N = 4000
PARTS = ((1000, 1500, 0, 1500),)
ZEROS = np.where(np.arange(N) == 5, 0.0, 3.0)  # 0, then blocks of 3**1000
UP_AND_DOWN = np.repeat([2.0, 1.0, 0.5, 1.0], [900, 100, 1100, 1900])  # 2**900, a block of 2**-1100, 2**-200
FIRST = np.eye(1, N)[0]


def composed(f, g):
    return f[0] * g[0], f[1] * g[0] + g[1]


def matrices(f, g):
    return f[0] * g[0] + f[1] * g[2], f[0] * g[1] + f[1] * g[3], f[2] * g[0] + f[3] * g[2], f[2] * g[1] + f[3] * g[3]


def beside(f, g):  # numbers in parallel, as resistances
    return f if g == np.inf else g if f == np.inf else f * g / (f + g)


def least(f, g):
    return min(f[0], g[0] + f[1]), f[1] + g[1]


SUMS = np.zeros(N)
SUMS[[0, 1000, 1001, 2600]] = -1.5e308, 1e308, 1e308, -1e307
CASES = {
    "affine maps of 0": (ct.scan(composed, (1.0, 0.0)), [ZEROS, FIRST]),
    "affine maps that shrink": (ct.scan(composed, (1.0, 0.0)), [UP_AND_DOWN, FIRST]),
    "affine maps from the end": (ct.scan(lambda g, f: composed(f, g), (1.0, 0.0), reverse=True), [ZEROS[::-1], FIRST[::-1]]),
    "matrices": (ct.scan(matrices, (1.0, 0.0, 0.0, 1.0)), [UP_AND_DOWN, 0 * FIRST, 0 * FIRST, 1 / UP_AND_DOWN]),
    "products": (ct.scan(lambda a, b: a * b, 1.0), [UP_AND_DOWN]),
    "sums": (ct.cumsum(), [SUMS]),
    "sums in single precision": (ct.cumsum(), [(SUMS * 1e-270).astype(np.float32)]),
    "a number beside": (ct.scan(lambda a, b, t: a * b / t, 1.0, params=1), [2 * ZEROS, 2.0]),
    "recurrence": (ct.recurrence, [UP_AND_DOWN, FIRST]),
    "sums as a recurrence": (ct.recurrence, [np.ones(N), SUMS]),
    "parallel": (ct.scan(beside, np.inf), [1e150 + 0 * FIRST]),
    "paths": (ct.scan(least, (np.inf, 0.0)), [np.sin(np.arange(N)), SUMS]),
}


@pytest.mark.parametrize("engine", ["reference", "cpu"])
@pytest.mark.parametrize("name", CASES)
def test_states_in_the_range_of_floats(name, engine):
    f, args = CASES[name]
    with ct.use_engine(engine), plans() as found, np.errstate(all="ignore"):
        whole = ct.testing.chunks.whole(f(*args))
        made = ct.testing.chunks.whole(f(*[blocked(a, PARTS) if np.ndim(a) else a for a in args]))
    assert not ran_whole(found)
    for a, b in zip(made, whole, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5 if b.dtype == np.float32 else 1e-9)
        assert np.isfinite(b).any()


def test_derivatives_in_the_range_of_floats():
    f, args = CASES["affine maps of 0"]
    with ct.use_engine("reference"), np.errstate(all="ignore"):
        _, pulled = ct.vjp(f, *args)
        _, pulled_in_blocks = ct.vjp(f, *[blocked(a, PARTS) for a in args])
        w = (0 * FIRST, np.where(np.arange(N) < 5, 1.0, 0.0))
        for a, b in zip(pulled_in_blocks(w), pulled(w), strict=True):
            np.testing.assert_allclose(a.numpy(), b, rtol=1e-9)


@pytest.mark.parametrize(
    ("op", "neutral"),
    [
        (composed, (1.0, 0.0)),
        (matrices, (1.0, 0.0, 0.0, 1.0)),
        (least, (np.inf, 0.0)),
        (beside, np.inf),
        (lambda a, b: np.float64(a) + abs(b) if a > -b else -b if np.isnan(a) else max(a, b), 0.0),
    ],
)
def test_operators_mean_the_same_in_the_longer_range(op, neutral):
    """Numbers of floats, also zero, infinite and NaN, as pairs and back."""
    op = monoid_of(op, neutral)
    d, rng = op.width, np.random.default_rng(3)
    dtypes = [np.dtype(np.float64)] * d
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, 1e-310, 1.7e308, 1.0, 3.0])
    args = [np.where(rng.random(2000) < 0.3, rng.choice(special, 2000), rng.normal(size=2000)) for _ in range(2 * d)]
    assert is_wide(op, dtypes) and pairs_of(dtypes) == [np.dtype(np.float64), np.dtype(np.int64)] * d
    pairs = []
    for a in args:
        m, e = np.frexp(a)
        pairs += [m, np.where(m == 0, -(2**40), np.where(np.isfinite(m), e.astype(np.int64), 2**40))]
    with np.errstate(all="ignore"):
        expected = array_function(op.op)(np, *args)
        made = array_function(longer_of(op, dtypes).op)(np, *pairs)
        for m, e, b in zip(made[::2], made[1::2], expected, strict=True):
            a = np.ldexp(m, np.clip(e, -3000, 3000))
            inside = np.isfinite(b) & (np.abs(b) > 1e-300)
            np.testing.assert_allclose(a[inside], b[inside], rtol=1e-14)
            np.testing.assert_array_equal(np.isnan(a) & ~np.isnan(b), False)
