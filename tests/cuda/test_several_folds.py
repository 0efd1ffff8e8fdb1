"""Several folds by bin of the same elements, of values that are computed as they are read, and of each other's results."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import catad as ct
from catad.engine.cpu.run import target

from ..engine.cpu_support import assert_near, assert_same, on
from .support import emulated, on_gpu

pytestmark = pytest.mark.skipif(not target.available(), reason="there is no LLVM here")

M = 120


@pytest.fixture(autouse=True)
def known() -> None:
    emulated()


def steps(f: ct.D, space: ct.Space) -> list[str]:
    with ct.use_engine("emulated gpu"):
        return f.source("steps", space).splitlines()


RNG = np.random.default_rng(0)
X = RNG.uniform(0.5, 1.5, M)
OPERATORS: dict[str, tuple[Any, float]] = {
    "+": (operator.add, 0.0),
    "*": (operator.mul, 1.0),
    "max": (ct.maximum, -np.inf),
    "first": (lambda a, b: a if a != 0 else b, 0.0),
    "capped": (lambda a, b: min(a + b, 3.0), 0.0),
}
SQUARE = ct.cross(ct.id, ct.map(lambda x: x * x))


def by(name: str, bins: int) -> ct.D:
    return ct.histogram(*OPERATORS[name], bins=bins)


def same(f: ct.D, *x: Any) -> None:
    """As the reference says, and to the last bit in any order of threads."""
    found = []
    for seed in (1, 2):
        emulated(seed)
        found.append(on_gpu(f, *x))
    assert_near(found[0], on("reference", f, *x))
    assert_same(found[1], found[0])


SEVERAL = {
    "sums and largest": ct.fork(by("+", 300), by("max", 300)),
    "largest first": ct.fork(by("max", 300), by("+", 300)),
    "moments of values that are computed": ct.fork(by("+", 5), SQUARE >> by("+", 5), SQUARE >> SQUARE >> by("+", 5)),
    "other numbers of bins": ct.fork(by("+", 300), by("+", 7), by("+", 1)),
    "products and caps of many bins": ct.fork(by("*", 300), by("capped", 300)),
    "two keys of one array": ct.fork(
        ct.fork(ct.exl >> ct.exl, ct.exr) >> by("+", 4), ct.fork(ct.exl >> ct.exr, ct.exr) >> by("+", 9)
    ),
    "values of one map": ct.exr >> ct.map(lambda x: (x + 1.0, x * 2.0)),
}


@pytest.mark.parametrize("name", ["sums and largest", "largest first", "moments of values that are computed"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("rest", [(), (3,)])
def test_one_index_array(name: str, dtype: str, rest: tuple[int, ...]) -> None:
    x = RNG.uniform(0.5, 1.5, (M, *rest)).astype(dtype)
    index = RNG.integers(-1, 7, M)
    same(SEVERAL[name], index, x)


@pytest.mark.parametrize("name", ["other numbers of bins", "products and caps of many bins"])
@pytest.mark.parametrize("index", ["int32", "int64"])
def test_bins_of_any_number(name: str, index: str) -> None:
    by_index = RNG.integers(-1, 12, M).astype(index)
    same(SEVERAL[name], by_index, X)


def test_two_keys_of_one_array() -> None:
    keys = RNG.integers(-1, 5, M), RNG.integers(-1, 10, M).astype(np.int32)
    same(SEVERAL["two keys of one array"], keys, X)


def test_values_of_one_map_are_computed_by_each_fold() -> None:
    split = SEVERAL["values of one map"]
    f = ct.fork(ct.fork(ct.exl, split >> ct.exl) >> by("+", 6), ct.fork(ct.exl, split >> ct.exr) >> by("max", 6))
    index = RNG.integers(-1, 7, M)
    assert steps(f, ct.space_of((index, X))) == ["0: Map ScatterAdded, compiled", "1: Map FoldByBin, compiled"]
    same(f, index, X)
    kept = ct.fork(f, split >> ct.exl)  # which somebody else needs: a stage of its own, read by both
    assert len(steps(kept, ct.space_of((index, X)))) == 3
    same(kept, index, X)


def test_no_elements_one_no_bins_and_arrays_of_any_layout() -> None:
    for m, bins in ((0, 3), (1, 3), (M, 0)):
        f = ct.fork(by("+", bins), by("+", bins))
        same(f, RNG.integers(-1, 4, m), X[:m])
    arrays = RNG.integers(-1, 7, 2 * M)[::2], RNG.uniform(0.5, 1.5, (3, M)).T[::-1]
    same(ct.fork(by("+", 300), by("max", 300)), *arrays)


def test_a_fold_of_what_another_one_makes() -> None:
    index = RNG.integers(0, 5, M)
    counts = ct.fork(by("+", 5), by("+", 5)) >> ct.exl
    mean = ct.fork(ct.exl, ct.fork(counts, ct.exl) >> ct.gather) >> by("max", 5)  # needs the sums, at each element
    same(ct.fork(by("+", 5), mean), index, X)
    same(ct.fork(by("*", 5), by("max", 5)), index, X)
    same(ct.fork(*[SQUARE >> by("+", n) for n in range(2, 9)]), index, X)


def test_gradients_through_several_folds() -> None:
    index = RNG.integers(-1, 5, M)
    f = ct.fork(by("+", 4), SQUARE >> by("+", 4), by("max", 4))
    back = ct.reverse_differential(f)
    w = tuple([np.ones_like(leaf) for leaf in on("reference", f, index, X)])
    assert_near(on_gpu(back, (index, X), w), on("reference", back, (index, X), w))


@st.composite
def drawn(draw: st.DrawFn) -> ct.D:
    """(index, (x, y)) to leaves: histograms of arrays, and of what is read from earlier histograms."""
    index, x = ct.exl, [ct.exr >> ct.exl, ct.exr >> ct.exr]
    results: list[ct.D] = []
    for _ in range(draw(st.integers(2, 6))):
        kind = draw(st.sampled_from(["histogram", "histogram", "histogram", "map", "gather"]))
        own = draw(st.sampled_from(x))
        if kind == "map":
            x.append(own >> ct.map(lambda v: v * 0.5 + 1.0))
        elif kind == "gather" and results:
            x.append(ct.fork(draw(st.sampled_from(results)), index) >> ct.gather)
        else:
            name = draw(st.sampled_from(["+", "max", "first"]))
            results.append(ct.fork(index, own) >> by(name, draw(st.sampled_from([6, 300]))))
    kept = draw(st.lists(st.sampled_from(x), max_size=1))
    return ct.fork(*results, *kept) if len(results) + len(kept) > 1 else results[0] if results else kept[0] if kept else x[0]


@given(drawn())
def test_drawn_programs(f: ct.D) -> None:
    index = RNG.integers(0, 6, M)
    x = np.round(RNG.uniform(0.9, 1.1, M), 3)
    same(f, index, (x, x[::-1]))
