"""Random associative operators on random shapes: values against plain loops, derivatives against differences of those loops.

Small integers make every comparison of values exact and ties and zeros frequent; derivatives are taken where there are none.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import catad as ct

from . import operators as o

SIZES = st.sampled_from([0, 1, 2, 3, 7, 18, 40])
RESTS = st.sampled_from([(), (1,), (2,), (0,), (2, 3)])
SEEDS = st.integers(0, 10**6)


@st.composite
def arrays(draw: st.DrawFn, op: o.Operator, few: bool = False) -> tuple[Any, int]:
    """Elements of an operator, with the axis along which they are counted."""
    n, rest = (
        draw(st.sampled_from([0, 1, 2, 4]) if few else SIZES),
        draw(st.sampled_from([(), (2,), (1,)]) if few else RESTS),
    )
    axis = draw(st.integers(0, len(rest)))
    make = o.spread if few else o.small
    return make(np.random.default_rng(draw(SEEDS)), op, (*rest[:axis], n, *rest[axis:])), axis


@st.composite
def bins(draw: st.DrawFn, op: o.Operator, few: bool = False) -> tuple[Any, Any, Any]:
    """A destination, indices in and out of range, and values."""
    n = draw(st.sampled_from([0, 1, 3, 5]) if few else SIZES)
    width = draw(st.sampled_from([1, 3] if few else [0, 1, 2, 5, 50]))
    rest = draw(st.sampled_from([(), (2,)]) if few else RESTS)
    rng = np.random.default_rng(draw(SEEDS))
    make = o.spread if few else o.small
    index = rng.integers(-2, width + 2, n).astype(draw(st.sampled_from([np.int64, np.int32, np.int8])))
    return make(rng, op, (width, *rest)), index, make(rng, op, (n, *rest))


# -- values


@given(st.data())
def test_fold_and_scan_are_loops(data: st.DataObject) -> None:
    op = data.draw(o.operators())
    x, axis = data.draw(arrays(op))
    exclusive, reverse = data.draw(st.booleans()), data.draw(st.booleans())
    assert o.same(ct.fold(*op.pair, axis=axis)(x), o.folded(op, x, axis))
    scan = ct.scan(*op.pair, exclusive=exclusive, reverse=reverse, axis=axis)
    assert o.same(scan(x), o.scanned(op, x, axis, exclusive, reverse))


@given(st.data())
def test_histogram_and_reduce_by_index_are_loops(data: st.DataObject) -> None:
    op = data.draw(o.operators())
    dst, index, x = data.draw(bins(op))
    width = len(o.leaves(dst)[0])
    kept = [np.array(leaf) for leaf in (*o.leaves(dst), index, *o.leaves(x))]
    assert o.same(ct.histogram(*op.pair, width)(index, x), o.binned(op, None, index, x, width))
    assert o.same(ct.reduce_by_index(*op.pair)(dst, index, x), o.binned(op, dst, index, x, width))
    assert all(np.array_equal(a, b) for a, b in zip(kept, (*o.leaves(dst), index, *o.leaves(x)), strict=True))


@st.composite
def segments(draw: st.DrawFn, n: int) -> Any:
    """Lengths, empty ones among them, that add up to n."""
    cuts = sorted(draw(st.lists(st.integers(0, n), max_size=4)))
    return np.diff(np.array([0, *cuts, n]))


@given(st.data())
def test_segmented_scans_and_folds_are_loops(data: st.DataObject) -> None:
    op = data.draw(o.operators())
    n, rest = data.draw(SIZES), data.draw(RESTS)
    x = o.small(np.random.default_rng(data.draw(SEEDS)), op, (n, *rest))
    lengths = data.draw(segments(n))
    how = {"exclusive": data.draw(st.booleans()), "reverse": data.draw(st.booleans())}
    want = by_segment(op, x, lengths, lambda part: o.scanned(op, part, 0, **how))
    assert o.same(ct.segmented_scan(*op.pair, **how, by="lengths")(lengths, x), want)
    flags = np.zeros(n + 1, bool)
    flags[np.cumsum(lengths)] = True  # an empty segment has no flag; nor needs the first element one
    assert o.same(ct.segmented_scan(*op.pair, **how)(flags[:n], x), want)
    folds = by_segment(op, x, lengths, lambda part: o.nested(part, [leaf[None] for leaf in o.leaves(o.folded(op, part))]))
    assert o.same(ct.segmented_fold(*op.pair, by="lengths")(lengths, x), folds)


def by_segment(op: o.Operator, x: Any, lengths: Any, each: Any) -> Any:
    """What `each` makes of the segments, one after the other."""
    ends = np.cumsum(lengths)
    made = [each(o.nested(x, [leaf[end - m : end] for leaf in o.leaves(x)])) for m, end in zip(lengths, ends, strict=True)]
    return o.nested(x, [np.concatenate([o.leaves(part)[k] for part in made]) for k in range(len(o.leaves(x)))])


# -- derivatives


def differentiable(op: o.Operator) -> bool:
    return not all(op.integer)


@given(st.data())
def test_derivatives_of_folds_and_scans(data: st.DataObject) -> None:
    op = data.draw(o.operators(most=2).filter(differentiable))
    x, axis = data.draw(arrays(op, few=True))
    exclusive, reverse = data.draw(st.booleans()), data.draw(st.booleans())
    o.agree(ct.fold(*op.pair, axis=axis), x, lambda x: o.folded(op, x, axis))
    scan = ct.scan(*op.pair, exclusive=exclusive, reverse=reverse, axis=axis)
    o.agree(scan, x, lambda x: o.scanned(op, x, axis, exclusive, reverse))


@given(st.data())
def test_derivatives_of_histograms(data: st.DataObject) -> None:
    op = data.draw(o.operators(most=2).filter(differentiable))
    dst, index, x = data.draw(bins(op, few=True))
    width = len(o.leaves(dst)[0])
    o.agree(ct.histogram(*op.pair, width), (index, x), lambda p: o.binned(op, None, p[0], p[1], width))
    o.agree(ct.reduce_by_index(*op.pair), (dst, index, x), lambda p: o.binned(op, p[0], p[1], p[2], width))


@given(st.data())
@settings(max_examples=6)
def test_derivatives_of_segmented_scans_and_folds(data: st.DataObject) -> None:
    op = data.draw(o.operators(most=2).filter(differentiable))
    x = o.spread(np.random.default_rng(data.draw(SEEDS)), op, (6,))
    lengths = data.draw(segments(6))
    for f in (
        ct.segmented_scan(*op.pair, by="lengths", reverse=data.draw(st.booleans())),
        ct.segmented_fold(*op.pair, by="lengths"),
    ):
        o.agree(f, (lengths, x))
    scan = ct.segmented_scan(*op.pair, by="lengths")
    o.agree(scan, (lengths, x), lambda p: by_segment(op, p[1], p[0], lambda part: o.scanned(op, part, 0, False, False)))


@given(st.data())
@settings(max_examples=2)
def test_second_derivatives(data: st.DataObject) -> None:
    op = data.draw(o.operators(most=2).filter(differentiable))
    x, axis = data.draw(arrays(op, few=True))
    o.agree_twice(ct.fold(*op.pair, axis=axis), x)
    o.agree_twice(ct.scan(*op.pair, reverse=data.draw(st.booleans()), axis=axis), x)
    dst, index, x = data.draw(bins(op, few=True))
    o.agree_twice(ct.histogram(*op.pair, 3), (index, x))
    o.agree_twice(ct.reduce_by_index(*op.pair), (dst, index, x))


# -- every operator by name, so that none is left to chance


@pytest.mark.quick(3)
@pytest.mark.parametrize("name", o.ATOMS)
def test_each_operator_to_second_order(name: str) -> None:
    op = o.operator([name])
    rng = np.random.default_rng(5)
    index = np.array([1, 4, 1, -1, 0, 1])
    for axis, shape in ((0, (6,)), (1, (2, 4))):
        x = o.small(rng, op, shape)
        assert o.same(ct.fold(*op.pair, axis=axis)(x), o.folded(op, x, axis))
        if differentiable(op):
            x = o.spread(rng, op, shape)
            o.agree(ct.fold(*op.pair, axis=axis), x, lambda x, axis=axis: o.folded(op, x, axis))
            twice = ct.scan(*op.pair, exclusive=True, reverse=True, axis=1) if axis else ct.fold(*op.pair)
            o.agree_twice(twice, x)
    if differentiable(op):
        dst, x = o.spread(rng, op, (3,)), o.spread(rng, op, (6,))
        o.agree_twice(ct.histogram(*op.pair, 3), (index, x))
        o.agree_twice(ct.reduce_by_index(*op.pair), (dst, index, x))


@pytest.mark.quick(2)
@pytest.mark.parametrize("name", ["affine", "matrix", "max-plus", "argmax", "or"])
def test_a_batch_of_combinators_is_one_by_one(name: str) -> None:
    """`ct.map` of a fold, scan or histogram, with values and derivatives."""
    op = o.operator([name])
    rng = np.random.default_rng(6)
    x, index = o.spread(rng, op, (3, 5)), rng.integers(-1, 4, (3, 5))
    for f, p in (
        (ct.fold(*op.pair), x),
        (ct.scan(*op.pair, reverse=True), x),
        (ct.histogram(*op.pair, 3), (index, x)),
        (ct.reduce_by_index(*op.pair), (o.spread(rng, op, (3, 2)), index, x)),
    ):
        together = ct.map(f)(p)
        rows = [f(o.nested(p, [leaf[k] for leaf in o.leaves(p)])) for k in range(3)]
        for k, leaf in enumerate(o.leaves(together)):
            np.testing.assert_allclose(leaf, np.stack([o.leaves(row)[k] for row in rows]), rtol=1e-13)
        o.agree(ct.map(f), p)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", [name for name, atom in o.ATOMS.items() if not any(atom.integer)])
def test_dtypes_stay(name: str, dtype: Any) -> None:
    op = o.operator([name])
    rng = np.random.default_rng(7)
    x = o.nested(op.neutral, [leaf.astype(dtype) for leaf in o.leaves(o.spread(rng, op, (20,)))])
    index = rng.integers(-1, 4, 20)
    for f, p in (
        (ct.fold(*op.pair), x),
        (ct.scan(*op.pair), x),
        (ct.histogram(*op.pair, 3), (index, x)),
    ):
        y = f(p)
        assert {leaf.dtype for leaf in o.leaves(y)} == {np.dtype(dtype)}
        w = o.nested(y, [np.ones_like(leaf) for leaf in o.leaves(y)])
        (dx,) = ct.vjp(f, p)[1](w)
        assert {leaf.dtype for leaf in o.leaves(dx) if not isinstance(leaf, tuple)} == {np.dtype(dtype)}
