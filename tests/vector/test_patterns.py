"""Patterns of an operator's Jacobian: what a scan stores and which recurrences it runs.

The patterns ZeroQuad and MatrixMul are those of J. Bruun and U. Larsen, Reverse automatic differentiation in Futhark, 2022,
section 7.4; here blocks may have any sizes and stand in any order, and zeros and ones inside a block are not stored either.
"""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import catad as ct
from catad.category.wiring import wire
from catad.derivative.functors import linearised
from catad.linear.apply import applying

from . import operators as o

N = 24


def space(op: o.Operator, n: int = N) -> ct.Space:
    parts = iter(op.integer)

    def build(t: Any) -> ct.Space:
        return ct.product(*[build(p) for p in t]) if isinstance(t, tuple) else (ct.i64 if next(parts) else ct.f64)[n]

    return build(op.neutral)


def shapes(f: ct.D, at: ct.Space) -> list[tuple[int, int, int]]:
    """Of each recurrence: components of one state, copies of it, arrays that link the steps."""
    return [(len(p.grid), p.copies, p.slots) for p in o.recurrences(f, at=at)]


def stored(op: o.Operator, n: int = N) -> float:
    """Arrays of n numbers that the Jacobian of the scan keeps."""
    x = o.spread(np.random.default_rng(0), op, (n,))
    return ct.linearize(ct.scan(*op.pair), x)[1].stored / n


@pytest.mark.parametrize(
    ("names", "recurrences", "kept"),
    [
        (["+"], [(1, 1, 0)], 0),
        (["+", "+"], [(1, 1, 0), (1, 1, 0)], 0),  # independent operators are scans of their own
        (["*"], [(1, 1, 1)], 2),
        (["*", "*"], [(1, 1, 1), (1, 1, 1)], 4),
        (["affine"], [(1, 2, 1)], 3),  # links: b0 for both numbers; before: a0, a1 and an identity
        (["affine, outer first"], [(2, 1, 2)], 3),  # links: b0, b1, 0, 1; before: a0 for both
        (["max-plus"], [(1, 1, 0), (1, 1, 1)], 3),
        (["two shifts"], [(1, 2, 0), (1, 1, 1)], 3),
        (["triangular"], [(1, 1, 1), (2, 1, 3)], 6),
        (["jet"], [(3, 1, 3)], 6),  # a triangular Toeplitz matrix: each of three numbers once
        (["complex"], [(2, 1, 3)], 6),
        (["matrix"], [(2, 2, 4)], 8),  # MatrixMul: one block, two copies
        (["matrix", "*", "+"], [(2, 2, 4), (1, 1, 0), (1, 1, 1)], 10),
        (["matrix", "matrix"], [(2, 2, 4), (2, 2, 4)], 16),  # ZeroQuad of two MatrixMuls
    ],
)
def test_patterns_by_name(names: list[str], recurrences: list[tuple[int, int, int]], kept: float) -> None:
    op = o.operator(names)
    assert shapes(ct.scan(*op.pair), space(op)) == recurrences
    assert stored(op) == kept


@given(st.data())
def test_blocks_are_found_in_any_order_of_the_tuple(data: st.DataObject) -> None:
    names = data.draw(
        st.lists(st.sampled_from([n for n, a in o.ATOMS.items() if not any(a.integer)]), min_size=1, max_size=3)
    )
    plain = o.operator(names)
    d = len(o.leaves(plain.neutral))
    mixed = o.operator(names, data.draw(st.permutations(range(d))), data.draw(o.trees(d)))
    assert stored(mixed) == stored(plain)
    assert sorted(shapes(ct.scan(*mixed.pair), space(mixed))) == sorted(shapes(ct.scan(*plain.pair), space(plain)))


@pytest.mark.quick(5)
@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_equal_blocks_share_their_links_in_any_order(order: tuple[int, ...]) -> None:
    op = o.operator(["matrix"], order)
    (recur,) = o.recurrences(ct.scan(*op.pair), at=space(op))
    assert (len(recur.grid), recur.copies, recur.links) == (2, 2, 4)
    x = o.spread(np.random.default_rng(1), op, (20,))
    o.agree(ct.scan(*op.pair), x, lambda x: o.scanned(op, x, 0, False, False))
    o.agree(ct.scan(*op.pair, reverse=True), x, lambda x: o.scanned(op, x, 0, False, True))


def crossed(a: Any, b: Any) -> Any:
    """Dual numbers times one factor that both parts share: one block of two, coupled through the right operand only."""
    return a[0] * b[0], a[1] * b[0] + b[1] * a[0], a[2] + b[2]


def test_the_recurrence_runs_on_blocks_not_on_the_whole_grid() -> None:
    """Counted work of the linear part: 2 + 1 entries, not 3 x 3; the transposed map has as much."""
    f, at = ct.scan(crossed, (1.0, 0.0, 0.0)), ct.product(ct.f64[N], ct.f64[N], ct.f64[N])
    for w in (applying(linearised(f, at)[1])[0], wire(ct.reverse_differential(f), at * at)):
        work = [
            box.primitive.cost(w.spaces(box.ins), w.spaces(box.outs))
            for box in w.boxes
            if type(box.primitive).__name__ == "Recurred"
        ]
        assert sorted(work) == [N, 3 * N]


def test_copies_cost_their_states_and_share_their_links() -> None:
    """The work of composing links does not grow with the copies, nor does what is kept."""
    one, two = o.operator(["*"]), o.operator(["affine"])
    assert stored(two) == stored(one) + 1
    (recur,) = o.recurrences(ct.scan(*two.pair), at=space(two))
    assert recur.grid == ((0,),) and recur.copies == 2


@pytest.mark.parametrize("rest", [(1,), (5,), (4, 3)])
@pytest.mark.parametrize("name", ["+", "*", "affine", "matrix", "max"])
def test_further_axes_are_independent_scans(name: str, rest: tuple[int, ...]) -> None:
    """An elementwise operator on rows keeps as much for each number as one on numbers, and never a d x d Jacobian."""
    op = o.operator([name])
    x = o.spread(np.random.default_rng(2), op, (N, *rest))
    f = ct.scan(*op.pair)
    _, linear = ct.linearize(f, x)
    assert linear.stored == stored(op) * N * int(np.prod(rest))
    assert shapes(f, ct.space_of(x)) == shapes(f, space(op))
    one = (0, *[0] * len(rest))
    unit = o.nested(x, [np.zeros_like(leaf) for leaf in o.leaves(x)])
    o.leaves(unit)[0][one] = 1.0
    for leaf in o.leaves(linear(unit)):
        leaf[(slice(None), *one[1:])] = 0.0
        assert not leaf.any()  # nothing reaches another column
    fold, bins = ct.fold(*op.pair), ct.histogram(*op.pair, 3)
    index = np.arange(N) % 4
    assert ct.linearize(fold, x)[1].stored <= 16 * N * int(np.prod(rest))
    assert ct.linearize(bins, index, x)[1].stored <= 60 * N * int(np.prod(rest))


def test_folds_and_histograms_of_independent_parts_are_apart() -> None:
    """`+` stores nothing and a minimum one index, also beside an operator that needs scans."""
    op = o.operator(["+", "max", "*"], [2, 0, 1])
    x = o.spread(np.random.default_rng(3), op, (N,))
    assert ct.linearize(ct.fold(*op.pair), x)[1].stored == 1 + N
    index = np.arange(N) % 3
    names = o.kinds(ct.histogram(*op.pair, 3), ct.i64[N] * space(op))
    assert names.count("ArgExtremumByBin") == names.count("LeaveOneOutProductByBin") == 1 and "PrefixByBin" not in names
    x = o.small(np.random.default_rng(3), op, (N,))
    assert o.same(ct.histogram(*op.pair, 3)(index, x), o.binned(op, None, index, x, 3))


def test_a_mixed_tuple_with_an_integer_part() -> None:
    """The largest value with its index: one gather, and no recurrence over the index."""
    op = o.operator(["argmax", "affine"], [1, 3, 0, 2])
    x = o.spread(np.random.default_rng(4), op, (6,))
    assert [leaf.dtype for leaf in o.leaves(ct.fold(*op.pair)(x))] == [leaf.dtype for leaf in o.leaves(x)]
    o.agree(ct.fold(*op.pair), x, lambda x: o.folded(op, x))
    o.agree(ct.scan(*op.pair), x, lambda x: o.scanned(op, x, 0, False, False))
    assert shapes(ct.scan(*op.pair), space(op)) == [(1, 2, 1), (1, 1, 1)]
