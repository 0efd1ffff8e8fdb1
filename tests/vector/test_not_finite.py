"""NaN and infinity in scans, recurrences, segments and bins: they go where the steps take them, and no further."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import catad as ct
from catad.engine.program import Program
from catad.linear.families.prefixes import SEQUENTIAL, prefixes
from catad.linear.families.recurrence import Recurred

from .test_combinators import OPERATORS, leaves, nested

NAN, INF = np.nan, np.inf

# -- the work, counted


class Counted:
    """A function on lists of arrays that counts its calls and the numbers in its results."""

    def __init__(self, function: Any) -> None:
        self.function, self.calls, self.numbers = function, 0, 0

    def __call__(self, a: Any, b: Any) -> Any:
        out = self.function(a, b)
        self.calls += 1
        self.numbers += sum(np.size(part) for part in out)
        return out


def affine_step(s: Any, x: Any) -> Any:
    return [x[0] * s[0] + x[1]]


def affine_join(x: Any, y: Any) -> Any:
    return [y[0] * x[0], y[0] * x[1] + y[1]]


def max_plus(s: Any, x: Any) -> Any:
    return [s[0] + x[0], np.maximum(s[1] + x[0], x[1])]


def run(x: Any, width: int, step: Any, join: Any) -> tuple[Any, int, int]:
    """All states, how many array operations and how many numbers they took."""
    step, join = Counted(step), Counted(join)
    with np.errstate(all="ignore"):
        states = prefixes(np, x, width, step, join)
        stepped = [x[k][:1] for k in range(len(x) - width, len(x))]
        for i in range(1, len(x[-1])):
            made = step.function([s[-1] for s in stepped], [a[i] for a in x])
            stepped = [np.append(s, m) for s, m in zip(stepped, made, strict=True)]
    for got, want in zip(states, stepped, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-9)
    return states, step.calls + join.calls, step.numbers + join.numbers


def problems(n: int) -> dict[str, tuple[Any, int, Any, Any]]:
    rng = np.random.default_rng(n)
    a, b = rng.uniform(0.5, 1.0, n), rng.uniform(-1.0, 1.0, n)
    spoiled, low, cold = b.copy(), b.copy(), a.copy()
    spoiled[10], low[: n // 2], cold[n // 3] = NAN, -INF, -INF
    late = np.zeros(n)
    late[-3:] = 1.0
    wave = np.ones(n)
    wave[n // 2 : n // 2 + 2], wave[n // 2 + 2 : n // 2 + 4] = 1e200, 1e-200
    return {
        "finite": ([a, b], 1, affine_step, affine_join),
        "nan": ([a, spoiled], 1, affine_step, affine_join),
        "max-plus": ([a, b], 2, max_plus, max_plus),
        "max-plus, -inf": ([cold, low], 2, max_plus, max_plus),
        "links overflow": ([np.full(n, 2.0), late], 1, affine_step, affine_join),
        "links overflow once": ([wave, late], 1, affine_step, affine_join),
    }


@pytest.mark.parametrize(("name", "clean"), [("nan", "finite"), ("max-plus, -inf", "max-plus")])
def test_what_is_not_finite_by_itself_costs_one_more_step(name: str, clean: str) -> None:
    """One application of the operator to all steps at once shows that the states are right."""
    n = 3000
    _, calls, numbers = run(*problems(n)[name])
    _, once, least = run(*problems(n)[clean])
    assert calls == once + 1 and numbers < least + problems(n)[name][1] * n


def test_links_that_overflow_are_joined_as_far_as_they_go() -> None:
    n = 20_000
    _, calls, numbers = run(*problems(n)["links overflow"])  # 2.0 ** 1024 is infinite: 512 links can be joined
    assert calls < 4 * n // 512 + 100 and numbers < 12 * n
    _, calls, numbers = run(*problems(n)["links overflow once"])
    _, once, least = run(*problems(n)["finite"])
    assert calls < 4 * once and numbers < 4 * least


def test_what_cannot_be_joined_is_stepped_through() -> None:
    n = 8 * SEQUENTIAL
    a = np.tile([1e200, 1e200, 0.0, 1.0], n // 4)
    b = np.where(np.arange(n) % 4 == 2, 1e-150, 0.0)
    states, _, _ = run([a, b], 1, affine_step, affine_join)
    assert np.isfinite(states[0]).sum() > n // 2


# -- recurrences against their steps

LINKS = st.sampled_from([0.0, 1.0, -2.0, 0.5, 1e200, INF, NAN])
INPUTS = st.sampled_from([0.0, 1.0, -1.0, INF, -INF, NAN])


def recurrence_loop(a: Any, cuts: Any, b: Any) -> tuple[Any, Any]:
    """The states, and a bound of all numbers that are added up in them."""
    s, size = [b[0]], [abs(b[0])]
    with np.errstate(all="ignore"):
        for i in range(1, len(b)):
            s.append(b[i] if cuts[i] else a[i] * s[-1] + b[i])
            size.append(abs(b[i]) if cuts[i] else abs(a[i]) * size[-1] + abs(b[i]))
    return np.array(s), np.array(size)


@given(st.data(), st.integers(1, 3 * SEQUENTIAL), st.booleans(), st.booleans())
def test_a_recurrence_is_its_steps(data: st.DataObject, n: int, reverse: bool, cut: bool) -> None:
    a = np.array(data.draw(st.lists(LINKS, min_size=n, max_size=n)))
    b = np.array(data.draw(st.lists(INPUTS, min_size=n, max_size=n)))
    cuts = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n))) & cut
    got = Recurred(((0,),), 0, reverse, 1, cut)(*[a, *([cuts] if cut else []), b])
    if reverse:  # link i joins steps i - 1 and i
        want, size = recurrence_loop(np.roll(a[::-1], 1), np.roll(cuts[::-1], 1), b[::-1])
        got = got[::-1]
    else:
        want, size = recurrence_loop(a, cuts, b)
    finite = np.isfinite(want)
    assert np.array_equal(got[~finite], want[~finite], equal_nan=True), (got, want)
    assert np.all(np.abs(got[finite] - want[finite]) <= 1e-12 * size[finite])


@pytest.mark.parametrize("reverse", [False, True])
def test_a_cut_recurrence_has_the_derivatives_of_its_pieces(reverse: bool) -> None:
    """Two states on one set of links, cut in the middle, where the first piece is NaN."""
    n, rng = 6, np.random.default_rng(0)
    arrays = [rng.uniform(0.5, 1.5, 2 * n) for _ in range(7)]
    grid = ((0, 1), (-1, 2))
    cuts = np.zeros(2 * n, bool)
    cuts[n] = True
    half = slice(n, None) if not reverse else slice(0, n)
    other = slice(0, n) if not reverse else slice(n, None)
    for k, odd in enumerate([0.5, INF, 0.5, NAN, NAN, NAN, NAN]):
        arrays[k][other] = odd

    def check(x: Any, v: Any) -> list[Any]:
        """The value, both modes, and both modes of reverse mode; links first, then what is added."""
        flags = ct.const(cuts[: len(x[0])] if len(x[0]) > n else np.zeros(n, bool))
        f = ct.fork(*[ct.proj(k) for k in range(3)], flags, *[ct.proj(k) for k in range(3, 7)])
        f = f >> Recurred(grid, 0, reverse, 2, True)
        y, dy = ct.jvp(f, (x,), (v,))
        back = ct.fork(ct.id, ct.fork(*[ct.const(np.ones(len(x[0])))] * 4)) >> ct.reverse_differential(f)
        second = ct.jvp(back, (x,), (v,))
        return [*y, *dy, *second[0], *second[1], *ct.vjp(back, x)[1](v)[0]]

    x = tuple(arrays)
    v = tuple([np.roll(a, 1) if k < 3 else a for k, a in enumerate(x)])
    piece, part = tuple([a[half].copy() for a in x]), tuple([a[half].copy() for a in v])
    for k in range(3):  # the first link of a piece joins nothing
        v[k][0], part[k][0] = 0.0, 0.0
        x[k][n], v[k][n] = NAN, NAN
    for got, want in zip(check(x, v), check(piece, part), strict=True):
        np.testing.assert_allclose(got[half], want, rtol=1e-12)


# -- segments and bins

SOFT = {**{name: OPERATORS[name] for name in ("+", "*", "max", "affine")}, "logaddexp": (np.logaddexp, -INF)}
ODD = st.sampled_from([NAN, INF, -INF])


def spoil(data: st.DataObject, x: Any, where: Any) -> Any:
    """Some numbers of some places replaced by what is not finite."""
    return [np.where(where, data.draw(ODD), leaf) for leaf in x]


def derivatives(f: ct.D, neutral: Any, x: list[Any], v: list[Any], w: list[Any]) -> list[list[Any]]:
    """Value, forward mode and reverse mode, and their derivatives in a direction; leaves of each."""
    x_, v_ = nested(neutral, list(x)), nested(neutral, list(v))
    y, dy = ct.jvp(f, (x_,), (v_,))
    back = ct.fork(ct.id, ct.const(nested(neutral, list(w)))) >> ct.reverse_differential(f)
    dx, ddx = ct.jvp(back, (x_,), (v_,))
    return [leaves(part) for part in (y, dy, dx, ddx)]


def check_pieces(
    data: st.DataObject, name: str, whole: ct.D, alone: Any, pieces: list[Any], outs: list[Any], rows: int
) -> None:
    """Each piece of the elements does as it does alone, whatever the others hold."""
    _, neutral = SOFT[name]
    n = sum(len(piece) for piece in pieces) if pieces else 0
    size = 1 + max((int(np.max(piece)) for piece in pieces if len(piece)), default=n - 1)
    rng = np.random.default_rng(size)
    bad = np.zeros(size, bool)
    for piece in pieces:
        if len(piece) and data.draw(st.booleans()):
            bad[piece[data.draw(st.integers(0, len(piece) - 1))]] = True
    x = spoil(data, [rng.uniform(0.5, 1.5, size) for _ in leaves(neutral)], bad)
    where = bad if data.draw(st.booleans()) else np.zeros(size, bool)
    v = spoil(data, [rng.standard_normal(size) for _ in leaves(neutral)], where)
    w = [rng.standard_normal(rows) for _ in leaves(neutral)]
    for piece, out in zip(pieces, outs, strict=True):
        if out is not None and len(piece) and not bad[piece].any():
            got = derivatives(whole, neutral, x, v, w)
            want = derivatives(
                alone(len(piece)), neutral, *[[a[piece] for a in part] for part in (x, v)], [a[out] for a in w]
            )
            for k, (many, one) in enumerate(zip(got, want, strict=True)):
                for a, b in zip(many, one, strict=True):
                    np.testing.assert_allclose(a[out if k < 2 else piece], b, rtol=1e-9, atol=1e-12)


def cut_at(lengths: list[int]) -> list[Any]:
    ends = np.cumsum([0, *lengths])
    return [np.arange(a, b) for a, b in pairwise(ends)]


LENGTHS = st.lists(st.integers(0, 20), min_size=1, max_size=4)


@given(st.data(), st.sampled_from(sorted(SOFT)), LENGTHS, st.booleans(), st.booleans())
def test_segments_of_scans_do_no_harm_to_others(
    data: st.DataObject, name: str, lengths: list[int], exclusive: bool, reverse: bool
) -> None:
    def scan(lengths: list[int]) -> ct.D:
        f = ct.segmented_scan(*SOFT[name], exclusive=exclusive, reverse=reverse, by="lengths")
        return ct.fork(ct.const(np.array(lengths)), ct.id) >> f

    pieces = cut_at(lengths)
    check_pieces(data, name, scan(lengths), lambda n: scan([n]), pieces, pieces, sum(lengths))


@given(st.data(), st.sampled_from(sorted(SOFT)), LENGTHS)
def test_segments_of_folds_do_no_harm_to_others(data: st.DataObject, name: str, lengths: list[int]) -> None:
    def fold(lengths: list[int]) -> ct.D:
        return ct.fork(ct.const(np.array(lengths)), ct.id) >> ct.segmented_fold(*SOFT[name], by="lengths")

    outs = [slice(k, k + 1) for k in range(len(lengths))]
    check_pieces(data, name, fold(lengths), lambda n: fold([n]), cut_at(lengths), outs, len(lengths))


INVERTIBLE = {
    "*": lambda t, x: t / x,
    "logaddexp": lambda t, x: t + np.log(-np.expm1(x - t)),
}


@given(st.data(), st.sampled_from(sorted(SOFT)), st.lists(st.integers(-1, 4), min_size=1, max_size=40), st.booleans())
def test_bins_do_no_harm_to_others(data: st.DataObject, name: str, index: list[int], inverse: bool) -> None:
    """Bins 0 to 3; what is dropped does no harm either."""
    inverse = inverse and name in INVERTIBLE
    monoid = ct.monoid(*SOFT[name], inverse=INVERTIBLE[name]) if inverse else ct.monoid(*SOFT[name])

    def histogram(index: Any, bins: int) -> ct.D:
        return ct.fork(ct.const(np.array(index)), ct.id) >> ct.histogram(monoid, bins=bins)

    pieces = [np.flatnonzero(np.array(index) == k) for k in range(4)]
    outs = [slice(k, k + 1) for k in range(4)]
    others = np.flatnonzero(~np.isin(index, range(4)))
    check_pieces(data, name, histogram(index, 4), lambda n: histogram([0] * n, 1), [*pieces, others], [*outs, None], 4)


# -- declared inverses of histograms


def test_one_value_in_a_bin_needs_no_inverse() -> None:
    """At the neutral element the inverse of a sum of exponentials has no derivatives."""
    index, x = np.array([0, 1, 1, 5, -1, 3]), np.array([0.3, 0.5, 0.7, 0.1, 0.2, -0.4])
    for name, undo in INVERTIBLE.items():
        fast, slow = (
            ct.fork(ct.const(index), ct.id) >> ct.histogram(m, bins=4) >> ct.map(lambda t: np.exp(t)) >> ct.sum()
            for m in (ct.monoid(*SOFT[name], inverse=undo), ct.monoid(*SOFT[name]))
        )
        np.testing.assert_allclose(ct.grad(fast)(x), ct.grad(slow)(x), rtol=1e-12)
        np.testing.assert_allclose(ct.hessian(fast)(x).todense(), ct.hessian(slow)(x).todense(), rtol=1e-9, atol=1e-12)
        rows = np.stack([x, x[::-1]])
        np.testing.assert_allclose(ct.map(ct.grad(fast))(rows), [ct.grad(slow)(r) for r in rows], rtol=1e-12)


def test_a_histogram_with_an_inverse_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    prepare = Program.__init__
    monkeypatch.setattr(Program, "__init__", lambda self, *a, **k: (made.append(1), prepare(self, *a, **k))[1])
    f = ct.histogram(ct.monoid(lambda a, b: a * b * 1.0, 1.0, inverse=lambda t, x: t / x), bins=3)
    index, x = np.array([0, 2, 2]), np.array([2.0, 3.0, 4.0])
    ct.vjp(f, index, x)
    first = len(made)
    assert first and np.array_equal(f(index, x), [2.0, 1.0, 12.0])
    made.clear()
    for _ in range(3):
        ct.vjp(f, index, x)
        f(index, x)
    assert not made


@pytest.mark.parametrize("bins", [0, 1, 255, 256, 65_535, 65_536, 70_000])
def test_any_number_of_bins(bins: int) -> None:
    index = np.array([bins - 1, 0, bins, -1, bins // 2, bins - 1])
    x = np.arange(1.0, 7.0)
    want = np.ones(bins)
    for i, value in zip(index, x, strict=True):
        if 0 <= i < bins:
            want[i] *= value
    assert np.array_equal(ct.histogram(lambda a, b: a * b, 1.0, bins)(index, x), want)
