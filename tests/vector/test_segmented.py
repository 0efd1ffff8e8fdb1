"""`segmented_scan` and `segmented_fold` against plain loops over the segments, their derivatives, and mistakes."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import catad as ct
from catad.linear.families.gather import Gather, ScatterAdd
from catad.testing import check_grads, check_laws

from .explicit import check_derivatives
from .test_combinators import OPERATORS, columns, elements, leaves, loop, nested, row, same

MODES = [{}, {"exclusive": True}, {"reverse": True}, {"exclusive": True, "reverse": True}]
LENGTHS = [[], [0], [0, 0, 0], [1], [5], [1, 1, 1], [2, 0, 3], [0, 4, 0, 0, 1, 2, 0], [17, 1, 22]]


def times(a: float, b: float) -> float:
    return a * b


def flags_of(lengths: list[int], first: bool = True) -> Any:
    """Flags of the segments that are not empty."""
    flags = np.zeros(sum(lengths), bool)
    starts = np.cumsum([0, *[k for k in lengths if k]])[:-1]
    flags[starts] = True
    if len(flags):
        flags[0] = first
    return flags


def scan_loop(op: Any, neutral: Any, rows: list[Any], exclusive: bool = False, reverse: bool = False) -> list[Any]:
    """One segment, by folding each prefix (or suffix) anew."""
    n = len(rows)
    spans = [rows[i + exclusive :] if reverse else rows[: i + 1 - exclusive] for i in range(n)]
    return [loop(op, neutral, span)[-1] for span in spans]


def cut(rows: list[Any], lengths: list[int]) -> list[list[Any]]:
    ends = np.cumsum([0, *lengths])
    return [rows[a:b] for a, b in pairwise(ends)]


@pytest.mark.quick(40)
@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("lengths", LENGTHS)
def test_against_a_loop_over_segments(name: str, lengths: list[int]) -> None:
    op, neutral = OPERATORS[name]
    n = sum(lengths)
    x = elements(np.random.default_rng(n), neutral, (n,))
    segments = cut([row(x, i) for i in range(n)], lengths)
    sizes, full = np.array(lengths, np.int64), [s for s in segments if s]
    for options in MODES:
        want = columns([r for s in segments for r in scan_loop(op, neutral, s, **options)], neutral)
        for first in (True, False):  # the first element starts a segment, flagged or not
            assert same(ct.segmented_scan(op, neutral, **options)(flags_of(lengths, first), x), want), options
        assert same(ct.segmented_scan(op, neutral, by="lengths", **options)(sizes, x), want), options
    folds = columns([loop(op, neutral, s)[-1] for s in segments], neutral)
    assert same(ct.segmented_fold(op, neutral, by="lengths")(sizes, x), folds)
    folds = columns([loop(op, neutral, s)[-1] for s in full], neutral)
    for first in (True, False):
        assert same(ct.segmented_fold(op, neutral, segments=len(full))(flags_of(lengths, first), x), folds)


@given(st.lists(st.integers(0, 4), max_size=6), st.integers(0, 3))
def test_strings_keep_the_order_of_operands(lengths: list[int], mode: int) -> None:
    """Digits strung together, each with its power of ten: an operator on integers that does not commute."""

    def string(a: Any, b: Any) -> Any:
        return a[0] * b[1] + b[0], a[1] * b[1]

    n = sum(lengths)
    digits = np.random.default_rng(n).integers(1, 10, n)
    x = (digits, np.full(n, 10))
    segments = cut([(int(d), 10) for d in digits], lengths)
    want = [r[0] for s in segments for r in scan_loop(string, (0, 1), s, **MODES[mode])]
    got = ct.segmented_scan(string, (0, 1), by="lengths", **MODES[mode])(np.array(lengths, np.int64), x)
    assert got[0].tolist() == want
    folds = ct.segmented_fold(string, (0, 1), by="lengths")(np.array(lengths, np.int64), x)[0]
    assert folds.tolist() == [loop(string, (0, 1), s)[-1][0] for s in segments]


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint8, np.int32, np.int64])
def test_dtypes_of_flags_and_lengths(dtype: Any) -> None:
    x = np.arange(1.0, 6.0)
    flags, lengths = np.array([0, 0, 1, 1, 0]).astype(dtype), np.array([2, 1, 0, 2])
    kept = flags.copy()
    assert np.array_equal(ct.segmented_scan(times, 1.0)(flags, x), [1, 2, 3, 4, 20])
    assert np.array_equal(ct.segmented_fold(times, 1.0, segments=3)(flags, x), [2, 3, 20])
    assert np.array_equal(flags, kept)
    if dtype is not np.bool_:
        assert np.array_equal(ct.segmented_fold(times, 1.0, by="lengths")(lengths.astype(dtype), x), [2, 3, 1, 20])
        assert np.array_equal(ct.segmented_scan(times, 1.0, by="lengths")(lengths.astype(dtype), x), [1, 2, 3, 4, 20])


@pytest.mark.parametrize("name", ["+", "*", "max", "affine"])
def test_other_axes_are_carried_along(name: str) -> None:
    op, neutral = OPERATORS[name]
    x = elements(np.random.default_rng(1), neutral, (6, 2, 3))
    lengths, flags = np.array([1, 0, 3, 2]), np.array([1, 1, 0, 0, 1, 0])
    cases = [(ct.segmented_scan(op, neutral, **options), flags) for options in MODES]
    cases += [(ct.segmented_scan(op, neutral, by="lengths"), lengths), (ct.segmented_fold(op, neutral, segments=3), flags)]
    cases += [(ct.segmented_fold(op, neutral, by="lengths"), lengths)]
    for f, cuts in cases:
        whole = f(cuts, x)
        for i, j in np.ndindex(2, 3):
            alone = f(cuts, nested(neutral, [leaf[:, i, j] for leaf in leaves(x)]))
            for got, want in zip(leaves(whole), leaves(alone), strict=True):
                assert np.array_equal(got[:, i, j], want)


# -- derivatives

FLAGS, SIZES = np.array([True, False, True, True, False, False]), np.array([2, 0, 1, 3])


def smooth_operators() -> dict[str, ct.D]:
    """Morphisms on one array of six numbers between 0.5 and 1.5."""
    affine, pair = OPERATORS["affine"][0], ct.fork(ct.id, ct.sin)
    flagged, sized = ct.const(FLAGS), ct.const(SIZES)
    out: dict[str, ct.D] = {}
    for name, op, e in [("+", ct.add, 0.0), ("*", times, 1.0), ("max", ct.maximum, -np.inf)]:
        for k, options in enumerate(MODES):
            bounded = ct.map(lambda t: t if t > -1e9 else 0.0)  # the neutral element of a maximum stands in some places
            out[f"scan {name} {k}"] = ct.fork(flagged, ct.sin) >> ct.segmented_scan(op, e, **options) >> bounded
        out[f"scan {name} by lengths"] = ct.fork(sized, ct.sin) >> ct.segmented_scan(op, e, by="lengths")
        out[f"fold {name}"] = ct.fork(flagged, ct.sin) >> ct.segmented_fold(op, e, segments=3)
        out[f"fold {name} by lengths"] = ct.fork(sized, ct.sin) >> ct.segmented_fold(op, e, by="lengths") >> bounded
    for k, options in enumerate(MODES):
        out[f"scan affine {k}"] = ct.fork(flagged, pair) >> ct.segmented_scan(affine, (1.0, 0.0), **options) >> ct.mul
    out["fold affine"] = ct.fork(sized, pair) >> ct.segmented_fold(affine, (1.0, 0.0), by="lengths") >> ct.mul
    return out


PROGRAMS = smooth_operators()


@pytest.mark.quick(5)
@pytest.mark.parametrize("name", PROGRAMS)
def test_derivatives(name: str) -> None:
    x = np.array([0.6, 1.4, 0.9, 0.7, 1.3, 1.1])
    check_derivatives(PROGRAMS[name], x)
    check_grads(PROGRAMS[name], x)


def test_derivatives_with_rows() -> None:
    x = np.random.default_rng(2).uniform(0.5, 1.5, (6, 2))
    for f in (ct.segmented_scan(times, 1.0, reverse=True), ct.segmented_fold(times, 1.0, segments=3)):
        check_derivatives(ct.fork(ct.const(FLAGS), ct.sin) >> f, x)


def test_what_the_jacobians_are_made_of() -> None:
    x = np.linspace(0.5, 1.5, 6)
    total = ct.jacobian(ct.segmented_fold(ct.add, 0.0, by="lengths"))(SIZES, x)
    assert isinstance(total.structure, ScatterAdd) and np.array_equal(total.slots[0], [0, 0, 2, 3, 3, 3])
    largest = ct.jacobian(ct.segmented_fold(ct.maximum, -np.inf, segments=3))(FLAGS, x)
    assert isinstance(largest.structure, Gather) and np.array_equal(largest.todense().nonzero()[1], [1, 2, 5])
    _, scan = ct.linearize(ct.segmented_scan(ct.add, 0.0), FLAGS, x)
    assert scan.kind == "recurrence" and scan.stored == 6
    want = np.tril(np.cumsum(FLAGS)[:, None] == np.cumsum(FLAGS)[None, :]).astype(float)
    assert np.array_equal(scan.todense(), want)


def test_zeros_and_ties() -> None:
    x = np.array([0.0, 3.0, 2.0, 0.0, 0.0, 4.0])
    products = ct.segmented_fold(times, 1.0, segments=3) >> ct.sum()
    assert np.array_equal(ct.grad(products, argnums=1)(FLAGS, x), [3, 0, 1, 0, 0, 0])
    largest = ct.segmented_fold(ct.maximum, -np.inf, by="lengths") >> ct.sum()
    assert np.array_equal(ct.grad(largest, argnums=1)(np.array([6]), np.array([1.0, 3, 3, 2, 3, 0])), [0, 1, 0, 0, 0, 0])


def spoiled(n: int) -> tuple[Any, Any, Any]:
    """Values whose first segment has a NaN and whose second overflows, their lengths, and the third segment alone."""
    x = np.concatenate([[np.nan, 2.0], np.full(n, 1e300), np.full(n, 1.5)])
    return x, np.array([2, n, n]), x[n + 2 :]


@pytest.mark.parametrize("n", [4, 60])
def test_a_segment_does_no_harm_to_the_values_of_others(n: int) -> None:
    x, lengths, clean = spoiled(n)
    scan, fold = ct.segmented_scan(times, 1.0, by="lengths"), ct.segmented_fold(times, 1.0, by="lengths")
    assert np.allclose(scan(lengths, x)[n + 2 :], np.multiply.accumulate(clean), rtol=1e-13)
    assert np.allclose(fold(lengths, x)[2], np.prod(clean), rtol=1e-13)


@pytest.mark.parametrize("n", [4, 60])
def test_a_segment_does_no_harm_to_the_derivatives_of_others(n: int) -> None:
    x, lengths, clean = spoiled(n)
    _, dy = ct.jvp(ct.segmented_scan(times, 1.0, by="lengths"), (lengths, x), ((), np.ones_like(x)))
    _, want = ct.jvp(ct.scan(times, 1.0), (clean,), (np.ones(n),))
    assert np.allclose(dy[n + 2 :], want, rtol=1e-13)


def test_float32_and_empty() -> None:
    x = np.array([1.5, 2.0, 3.0], np.float32)
    flags, lengths = np.array([1, 0, 1]), np.array([2, 1])
    for f, cuts in [
        (ct.segmented_scan(times, 1.0, exclusive=True), flags),
        (ct.segmented_scan(ct.add, 0.0, by="lengths"), lengths),
        (ct.segmented_fold(times, 1.0, segments=2), flags),
        (ct.segmented_fold(ct.add, 0.0, by="lengths"), lengths),
    ]:
        y, pullback = ct.vjp(f, cuts, x)
        assert y.dtype == pullback(y)[1].dtype == ct.jvp(f, (cuts, x), ((), x))[1].dtype == np.float32
        check_laws(f, cuts, x, order=1)
    empty = np.zeros((0, 2))
    for f, cuts, rows in [
        (ct.segmented_scan(times, 1.0, reverse=True), np.zeros(0, bool), 0),
        (ct.segmented_fold(times, 1.0, segments=0), np.zeros(0, bool), 0),
        (ct.segmented_fold(times, 1.0, by="lengths"), np.zeros(3, int), 3),
        (ct.segmented_fold(ct.add, 0.0, by="lengths"), np.zeros(0, int), 0),
    ]:
        y, pullback = ct.vjp(f, cuts, empty)
        assert y.shape == (rows, 2) and pullback(y)[1].shape == (0, 2)


def test_operators_with_free_numbers_and_inverses() -> None:
    def soft(a: float, b: float, t: float) -> float:
        return t * np.logaddexp(a / t, b / t)

    x = np.array([0.1, 0.7, -0.3, 0.2, 0.5, 0.4])
    want = [0.8 * np.logaddexp.reduce(s / 0.8) for s in (x[:2], x[2:3], x[3:])]
    for f, cuts in [
        (ct.segmented_fold(soft, -np.inf, segments=3, params=1), FLAGS),
        (ct.segmented_fold(soft, -np.inf, by="lengths", params=1), np.array([2, 1, 3])),
    ]:
        assert np.allclose(f(cuts, x, 0.8), want, rtol=1e-14)
        check_grads(ct.fork(ct.const(cuts), ct.exl, ct.exr) >> f, (x, np.float64(0.8)), order=1)
    scan = ct.segmented_scan(soft, -np.inf, params=1)(FLAGS, x, 0.8)
    assert np.allclose(scan[[1, 2, 5]], want, rtol=1e-14)
    invertible = ct.monoid(times, 1.0, inverse=lambda total, t: total / t)
    y = x + 1.0
    for f, g in [(ct.segmented_fold(invertible, segments=3), ct.segmented_fold(times, 1.0, segments=3)),
                 (ct.segmented_scan(invertible), ct.segmented_scan(times, 1.0))]:  # fmt: skip
        assert np.allclose(f(FLAGS, y), g(FLAGS, y), rtol=1e-14)
        assert np.allclose(ct.jacobian(f)(FLAGS, y).todense(), ct.jacobian(g)(FLAGS, y).todense(), rtol=1e-13)


def test_batching() -> None:
    """Each row has segments of its own, as many as the others where it is folded by flags."""
    x = np.random.default_rng(4).uniform(0.5, 1.5, (3, 5))
    flags = np.array([[1, 0, 1, 0, 0], [0, 0, 0, 0, 1], [1, 1, 0, 0, 0]], bool)
    lengths = np.array([[2, 0, 3], [5, 0, 0], [1, 3, 1]])
    cases = [(ct.segmented_scan(times, 1.0, **options), flags) for options in MODES]
    cases += [(ct.segmented_fold(times, 1.0, segments=2), flags), (ct.segmented_fold(ct.add, 0.0, by="lengths"), lengths)]
    cases += [(ct.segmented_fold(ct.maximum, -1.0, by="lengths"), lengths)]
    cases += [(ct.segmented_scan(times, 1.0, by="lengths"), lengths)]
    for f, cuts in cases:
        got, pullback = ct.vjp(ct.map(f), cuts, x)
        dx = pullback(np.ones_like(got))[1]
        for k in range(3):
            want, alone = ct.vjp(f, cuts[k], x[k])
            assert np.allclose(got[k], want, rtol=1e-14)
            assert np.allclose(dx[k], alone(np.ones_like(want))[1], rtol=1e-13)
        shared = ct.map(ct.fork(ct.const(cuts[0]), ct.id) >> f)(x)  # the same segments for each row
        assert np.allclose(shared[2], f(cuts[0], x[2]), rtol=1e-14)


def test_laws() -> None:
    x = np.array([1.0, -2.0, 3.0, 2.0, -1.0, 2.0])
    for f, cuts in [
        (ct.segmented_scan(times, 1.0), FLAGS),
        (ct.segmented_scan(times, 1.0, exclusive=True, reverse=True, by="lengths"), SIZES),
        (ct.segmented_fold(times, 1.0, segments=3), FLAGS),
        (ct.segmented_fold(ct.add, 0.0, by="lengths"), SIZES),
    ]:
        check_laws(f, cuts, x, exact=True)


# -- mistakes

X = np.arange(1.0, 5.0)
SCAN, FOLD = ct.segmented_scan(times, 1.0), ct.segmented_fold(times, 1.0, segments=2)
BY_LENGTHS = [ct.segmented_scan(times, 1.0, by="lengths"), ct.segmented_fold(times, 1.0, by="lengths")]


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: SCAN(np.ones(3, bool), X), ct.SpaceError, ["one flag for each element", "ct.bool_[3]", "ct.f64[4]"]),
        (lambda: FOLD(np.ones(5, bool), X), ct.SpaceError, ["one flag for each element", "ct.segmented_fold("]),
        (lambda: SCAN(X, X), ct.SpaceError, ["flags are one array of booleans", "given:    ct.f64[4]"]),
        (lambda: SCAN(np.ones((4, 1), bool), X), ct.SpaceError, ["with one axis", "ct.bool_[4, 1]"]),
        (lambda: SCAN((X > 0, X > 1), X), ct.SpaceError, ["flags are one array"]),
        (lambda: SCAN(np.array([1, 0, 2, 0]), X), ct.ArgumentError, ["integers from 0 to 2", 'by="lengths"']),
        (lambda: SCAN(np.array([1, 0, -1, 0]), X), ct.ArgumentError, ["integers from -1 to 1"]),
        (lambda: SCAN(X > 0), ct.SpaceError, ["expected: a value (flags, values)"]),
        (lambda: BY_LENGTHS[0](X, X, X), ct.SpaceError, ["a value (lengths, values)"]),
        (lambda: SCAN(X > 0, (X, X)), ct.SpaceError, ["not nested as the neutral element is"]),
        (lambda: SCAN(np.bool_(True), np.float64(1.0)), ct.SpaceError, ["no such axis: 0"]),
        (lambda: FOLD(X > 0, X), ct.ArgumentError, ["the flags start 4 segments", "segments=2"]),
        (lambda: FOLD(X > 9, X), ct.ArgumentError, ["the flags start 1 segments", "flagged or not"]),
        (lambda: FOLD(np.zeros(0, bool), X[:0]), ct.ArgumentError, ["the flags start 0 segments"]),
        (lambda: ct.segmented_fold(times, 1.0), ct.ArgumentError, ["needs the number of segments", "segments=None"]),
        (lambda: ct.segmented_fold(times, 1.0, segments=-1), ct.ArgumentError, ["an integer of at least 0"]),
        (lambda: ct.segmented_fold(times, 1.0, segments=True), ct.ArgumentError, ["segments=True"]),
        (lambda: ct.segmented_fold(times, 1.0, 2, by="lengths"), ct.ArgumentError, ["leave segments= out"]),
        (lambda: ct.segmented_scan(times, 1.0, by="ends"), ct.ArgumentError, ["by='ends'", 'by="flags" or by="lengths"']),
        *[
            (lambda f=f, cuts=cuts: f(np.array(cuts), X), kind, words)
            for f in BY_LENGTHS
            for cuts, kind, words in [
                ([2, 1], ct.ArgumentError, ["do not add up", "the sum 3", "expected: the sum 4"]),
                ([], ct.SpaceError, ["lengths are one array of integers", "ct.f64[0]"]),
                ([2, -1, 3], ct.ArgumentError, ["a length of at least 0", "length -1"]),
                ([2.0, 2.0], ct.SpaceError, ["lengths are one array of integers"]),
                ([[2, 2]], ct.SpaceError, ["with one axis", "ct.i64[1, 2]"]),
                ([True, True], ct.SpaceError, ["lengths are one array of integers", "ct.bool_[2]"]),
            ]
        ],
        (lambda: ct.segmented_scan(times, 2.0)(X > 2, X), ct.MonoidError, ["the neutral element is wrong"]),
        (lambda: ct.segmented_scan(lambda a, b: a + b - 0.5 * a * b * b, 0.0)(X > 9, X), ct.MonoidError, ["associative"]),
        (lambda: ct.map(FOLD)(np.ones((2, 4), bool), np.ones((2, 4))), ct.ArgumentError, ["start 4 segments"]),
    ],
)  # fmt: skip
def test_mistakes(call: Any, kind: type[Exception], words: list[str]) -> None:
    with pytest.raises(kind) as caught:
        call()
    assert all(word in str(caught.value) for word in words), str(caught.value)
