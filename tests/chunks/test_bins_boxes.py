"""Boxes at indices, by bin and of sorting, each alone: arrays in blocks give to the bit what whole arrays give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.chunks.here import BlockArray, blocked
from catad.chunks.rules import indexing, sorting
from catad.linear.families.clear import ClearedAt
from catad.linear.families.gather import Gathered, Indexing, ScatterAdded, along_axis, rows_of
from catad.testing.chunks import random_parts
from catad.vector.bins.fold_by_bin import FoldByBin
from catad.vector.bins.prefixes_by_bin import PrefixByBin
from catad.vector.bins.searchsorted import SortedPositions
from catad.vector.bins.sort import StableOrder
from catad.vector.bins.sorted_bins import SortByBin
from catad.vector.folds.arg_extremum import ArgExtremumByBin
from catad.vector.folds.leave_one_out import LeaveOneOutProductByBin
from catad.vector.folds.monoid import monoid_of
from catad.vector.indexing.gather import InRange, LastWriter
from catad.vector.indexing.overwrite import AddedAt, LastOnly, OverwrittenAt
from tests.chunks.plans import plans, ran_whole

RNG = np.random.default_rng(3)
ODD = np.array([np.nan, 1.0, -0.0, 0.0, np.inf, -np.inf, 1.0, np.nan, -1.0, 0.0, 2.0, -0.0, np.nan, 2.0, -np.inf, 1.0])
WHOLE = np.round(3 * RNG.normal(size=(16, 3)))
BINS = RNG.integers(-2, 5, 16)
APART = RNG.permutation(20)[:16].reshape(8, 2)
LANES = RNG.integers(-1, 7, (3, 11))
MOST = monoid_of(ct.maximum, -np.inf)
LEAST = monoid_of(lambda a, b: b if b < a else a, np.inf)
AFFINE = monoid_of(lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (1.0, 0.0))
GCD = monoid_of(lambda a, b: a ^ b, 0)
ROWS = rows_of((20, 3), (8, 2))
IN_LANES = Indexing((0, 1), 1, (0, 2), (0, 2), (3, 7, 11))

BOXES: dict[str, tuple[Any, list[Any]]] = {
    "gather rows": (Gathered(ROWS), [APART - 3, RNG.normal(size=(20, 3))]),
    "gather odd": (Gathered(rows_of((16,), (8, 2))), [APART, ODD]),
    "gather truth": (Gathered(rows_of((16,), (8, 2))), [APART, ODD > 0]),
    "gather along": (Gathered(along_axis((16, 3), 0)), [RNG.integers(-1, 17, (16, 3)), WHOLE]),
    "gather lanes": (Gathered(IN_LANES), [LANES.astype(np.int8), RNG.normal(size=(3, 7))]),
    "gather unsigned": (Gathered(rows_of((16,), (16,))), [RNG.integers(0, 20, 16).astype(np.uint64), ODD]),
    "gather one": (Gathered(rows_of((16, 3), ())), [np.int64(5), WHOLE]),
    "scatter": (ScatterAdded(ROWS), [APART, np.round(RNG.normal(size=(8, 2, 3)))]),
    "scatter bytes": (ScatterAdded(rows_of((4,), (16,))), [BINS, RNG.integers(-99, 99, 16).astype(np.int8)]),
    "scatter truth": (ScatterAdded(rows_of((4,), (16,))), [BINS, RNG.random(16) < 0.3]),
    "scatter lanes": (ScatterAdded(IN_LANES), [LANES, np.round(9 * RNG.normal(size=(3, 11)))]),
    "add": (AddedAt(ROWS), [APART % 9, -0.0 * RNG.random((20, 3)), np.round(RNG.normal(size=(8, 2, 3)))]),
    "add one": (AddedAt(rows_of((16, 3), ())), [np.int64(5), WHOLE, np.ones(3)]),
    "write": (OverwrittenAt(ROWS), [APART, -0.0 * RNG.random((20, 3)), -0.0 * np.round(RNG.normal(size=(8, 2, 3)))]),
    "write one": (OverwrittenAt(rows_of((16, 3), ())), [np.int64(5), WHOLE, np.ones(3)]),
    "clear": (ClearedAt(ROWS), [APART, RNG.normal(size=(20, 3))]),
    "last writer": (LastWriter(6), [BINS]),
    "last writer of lanes": (LastWriter(7, 1), [LANES]),
    "last only": (LastOnly(1, 5), [BINS % 5]),
    "last of two axes": (LastOnly(2, 9), [RNG.integers(0, 9, (2, 5, 7))]),
    "greatest": (FoldByBin(MOST, 5), [BINS, ODD]),
    "least": (FoldByBin(LEAST, 5), [BINS, WHOLE]),
    "integers": (FoldByBin(GCD, 5), [BINS, RNG.integers(0, 99, 16)]),
    "affine": (FoldByBin(AFFINE, 5), [BINS, np.sign(WHOLE), WHOLE]),
    "prefixes": (PrefixByBin(AFFINE, 5), [BINS, np.sign(WHOLE), WHOLE]),
    "prefixes of odd": (PrefixByBin(MOST, 5), [BINS, ODD]),
    "positions": (ArgExtremumByBin(MOST, 5), [BINS, WHOLE, FoldByBin(MOST, 5)(BINS, WHOLE)]),
    "odd positions": (ArgExtremumByBin(MOST, 5), [BINS, ODD, FoldByBin(MOST, 5)(BINS, ODD)]),
    "least positions": (ArgExtremumByBin(LEAST, 5), [BINS, WHOLE, FoldByBin(LEAST, 5)(BINS, WHOLE)]),
    "products": (
        LeaveOneOutProductByBin(5),
        [BINS, WHOLE, FoldByBin(monoid_of(ct.mul, 1.0), 5)(BINS, WHOLE)],
    ),
    "order": (StableOrder(0), [ODD]),
    "order of floats": (StableOrder(0), [WHOLE.astype(np.float32)]),
    "order of rows": (StableOrder(1), [RNG.integers(0, 3, (3, 11, 2)).astype(np.uint8)]),
    "order of truth": (StableOrder(0), [ODD > 0]),
    "order by bin": (SortByBin(5), [BINS]),
    "order of lanes": (SortByBin(7, 1), [LANES]),
    "places": (SortedPositions(False), [np.sort(ODD), ODD]),
    "places of rows": (SortedPositions(True, 1), [np.sort(WHOLE, axis=0).T, WHOLE.T]),
    "in range": (InRange(9), [APART % 9]),
}


def cut(x: Any, rng: np.random.Generator) -> Any:
    return blocked(x, random_parts(x.shape, rng)) if isinstance(x, np.ndarray) and x.ndim else x


def check(name: str, seed: int) -> None:
    box, args = BOXES[name]
    expected = box(*args)
    rng = np.random.default_rng(seed)
    with plans() as made:
        found = box(*[cut(x, rng) for x in args])
    assert ran_whole(made) == set()
    many = isinstance(expected, tuple)
    for a, b in zip(found if many else [found], expected if many else [expected], strict=True):
        a = a.numpy() if isinstance(a, BlockArray) else a
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)
        assert b.dtype.kind != "f" or np.array_equal(np.signbit(a), np.signbit(b)) or np.isnan(b).any()


@pytest.mark.parametrize("name", BOXES)
def test_boxes(name: str) -> None:
    with ct.use_engine("reference"):
        for seed in range(12):
            check(name, seed)


@pytest.mark.parametrize("name", BOXES)
def test_large_tables(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "TABLE", 48)
    monkeypatch.setattr(indexing, "BLOCKS", 2)
    monkeypatch.setattr(sorting, "TABLE", 48)
    with ct.use_engine("reference"):
        for seed in range(12, 18):
            check(name, seed)
