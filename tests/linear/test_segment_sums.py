"""Sums of segments: NumPy's, and those of array libraries without a `reduceat` that can be trusted."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import catad as ct
from catad.linear.matrix.segment_sums import segment_sums

from ..strict_arrays import strict

NUMBERS = st.floats(-1e12, 1e12) | st.sampled_from([0.0, -0.0, 1e-300, math.inf, -math.inf, math.nan])


@pytest.mark.parametrize("xp", [np, strict], ids=["numpy", "strict"])
@given(segments=st.lists(st.lists(NUMBERS, max_size=9), max_size=7))
def test_each_segment_is_added_by_itself(xp: Any, segments: list[list[float]]) -> None:
    values = np.array([x for one in segments for x in one])
    starts = np.cumsum([0, *[len(one) for one in segments]])[: len(segments)].astype(np.int64)
    with np.errstate(invalid="ignore"):
        got = segment_sums(xp, xp.asarray(values), xp.asarray(starts))
    got = got if xp is np else got.get()
    for sum_, one in zip(got, segments, strict=True):
        if all(map(math.isfinite, one)):
            exact = math.fsum(one)
            assert abs(sum_ - exact) <= 1e-15 * math.fsum(map(abs, one))
            signs = {math.copysign(1.0, x) for x in one} if not any(one) else {1.0}
            assert exact or math.copysign(1.0, sum_) == max(signs, default=1.0)
        else:
            with np.errstate(invalid="ignore"):
                assert np.array_equal(sum_, np.sum(one), equal_nan=True)


@pytest.mark.parametrize("dtype", [np.int8, np.uint64, np.float32])
def test_numbers_keep_their_dtype(dtype: Any) -> None:
    values, starts = np.arange(20).astype(dtype), np.array([0, 7, 7])
    for xp in (np, strict):
        got = segment_sums(xp, xp.asarray(values), xp.asarray(starts))
        last = 169 - 256 if dtype is np.int8 else 169  # small integers wrap
        assert got.dtype == dtype and [int(x) for x in (got if xp is np else got.get())] == [21, 0, last]


@pytest.mark.parametrize("xp", [np, strict], ids=["numpy", "strict"])
def test_a_place_does_not_know_what_stands_at_the_others(xp: Any) -> None:
    x = xp.asarray(np.array([1e8, math.inf, 1.0, 2.0, 1e-3], np.float32))
    index = xp.asarray(np.array([0, 1, 2, 2, 4]))
    with ct.use_engine("reference"):
        made = ct.histogram(ct.add, 0.0, 5)(index, x)
        _, pullback = ct.vjp(ct.gather, xp.asarray(np.zeros(5, np.float32)), index)
        back = pullback(x)[0]
    for sums in (made, back):
        assert np.array_equal(sums if xp is np else sums.get(), np.array([1e8, math.inf, 3.0, 0.0, 1e-3], np.float32))
