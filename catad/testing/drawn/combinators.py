"""Steps that fold, scan, sort by bin and repeat; their meanings are loops over rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import catad as ct
from catad.testing.drawn import meaning as plain
from catad.testing.drawn.meaning import Leaves, Operator
from catad.testing.drawn.steps import Generator, Maker, Step, squash, suits, with_axis
from catad.testing.vocabulary import affine, times


@dataclass(frozen=True)
class Joining:
    """An associative operator on tuples of numbers: as catad takes it, and on arrays.

    `before` brings elements to where long folds stay ordinary numbers.
    """

    word: str
    op: Any
    neutral: Any
    plain: Operator
    before: Callable[[int], tuple[ct.D, Callable[[Any, Leaves], Leaves]]]
    smooth: bool = True
    inverse: Any = None

    def chosen(self, rng: Generator) -> tuple[Any, Any]:
        """The first two arguments of a constructor; now and then a monoid with a declared inverse."""
        if self.inverse is not None and rng.integers(2):
            return ct.monoid(self.op, self.neutral, inverse=self.inverse), None
        return self.op, self.neutral

    @property
    def empty(self) -> Leaves:
        empty: Leaves = self.neutral if isinstance(self.neutral, tuple) else (self.neutral,)
        return empty


def _kept(n: int) -> tuple[ct.D, Any]:
    return ct.id, lambda xp, xs: xs


def _thinned(n: int) -> tuple[ct.D, Any]:
    scale = 1.0 / max(1, n)
    return scale * ct.id, lambda xp, xs: (scale * xs[0],)


def _about_one(n: int) -> tuple[ct.D, Any]:
    half = 1.0 / max(2.0, math.sqrt(max(1, n)))
    return squash(1.0 - half, 1.0 + half)


def _contracting(n: int) -> tuple[ct.D, Any]:
    term, meant = squash(0.2, 0.9)
    return ct.cross(term, ct.id), lambda xp, xs: (*meant(xp, xs[:1]), xs[1])


def _saturating(a: float, b: float) -> float:
    return min(a + b, 0.75)


def _sums(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    return a[0] + b[0], a[1] + b[1]


def _positive(n: int) -> tuple[ct.D, Any]:
    return squash(0.0, min(0.7, 2.0 / max(1, n)))


JOININGS = (
    Joining("add", ct.add, 0.0, lambda xp, a, b: (a[0] + b[0],), _thinned, inverse=ct.sub),
    Joining("mul", times, 1.0, lambda xp, a, b: (a[0] * b[0],), _about_one, inverse=lambda whole, x: whole / x),
    Joining("maximum", ct.maximum, -np.inf, lambda xp, a, b: (xp.maximum(a[0], b[0]),), _kept, smooth=False),
    Joining("minimum", ct.minimum, np.inf, lambda xp, a, b: (xp.minimum(a[0], b[0]),), _kept, smooth=False),
    Joining("logaddexp", ct.logaddexp, -np.inf, lambda xp, a, b: (xp.logaddexp(a[0], b[0]),), _kept),
    Joining("map", _saturating, 0.0, lambda xp, a, b: (xp.minimum(a[0] + b[0], 0.75),), _positive, smooth=False),
)
ON_PAIRS = (
    Joining("map", affine, (1.0, 0.0), lambda xp, f, g: (f[0] * g[0], f[1] * g[0] + g[1]), _contracting),
    Joining("map", _sums, (0.0, 0.0), lambda xp, a, b: (a[0] + b[0], a[1] + b[1]), _kept),
)


def _any(rng: Generator, among: tuple[Joining, ...]) -> Joining:
    return among[int(rng.integers(len(among)))]


def _traced(x: Any) -> bool:
    """True where JAX would trace a short loop."""
    return bool(x.shape[0] <= 16)


@with_axis
def scans(rng: Generator, x: Any) -> Step:
    """A scan by some operator along some axis, forwards or backwards, inclusive or exclusive."""
    by, axis = _any(rng, JOININGS), int(rng.integers(-x.ndim, x.ndim))
    exclusive, reverse = bool(rng.integers(2)) and by.word in ("add", "mul"), bool(rng.integers(2))
    before, meant = by.before(x.shape[axis])
    op, neutral = by.chosen(rng)
    term = before >> ct.scan(op, neutral, axis=axis, exclusive=exclusive, reverse=reverse)

    def meaning(xp: Any, ys: Leaves) -> Leaves:
        y = xp.moveaxis(meant(xp, ys)[0], axis, 0)
        return (xp.moveaxis(plain.scan(xp, by.plain, by.empty, (y,), exclusive, reverse)[0], 0, axis),)

    return Step(("scan", by.word), term, meaning, by.smooth, _traced(x))


@with_axis
def folds(rng: Generator, x: Any) -> Step | None:
    """A fold by some operator along some axis."""
    by, axis = _any(rng, JOININGS), int(rng.integers(-x.ndim, x.ndim))
    if x.shape[axis] == 0 and np.isinf(by.empty[0]):
        return None
    before, meant = by.before(x.shape[axis])
    op, neutral = by.chosen(rng)

    def meaning(xp: Any, ys: Leaves) -> Leaves:
        return plain.fold(xp, by.plain, by.empty, (xp.moveaxis(meant(xp, ys)[0], axis, 0),))

    return Step(("fold", by.word), before >> ct.fold(op, neutral, axis=axis), meaning, by.smooth, _traced(x))


@suits(lambda x, y: x.ndim > 0 and x.shape == y.shape)
def pair_scans(rng: Generator, x: Any, y: Any) -> Step:
    """A scan or a fold of pairs of numbers."""
    by = _any(rng, ON_PAIRS)
    before, meant = by.before(x.shape[0])
    if rng.integers(2):
        term = before >> ct.scan(by.op, by.neutral)
        meaning = lambda xp, ys: plain.scan(xp, by.plain, by.empty, meant(xp, ys))  # noqa: E731
        return Step(("scan",), term, meaning, by.smooth, _traced(x), outputs=2)
    term = before >> ct.fold(by.op, by.neutral)
    meaning = lambda xp, ys: plain.fold(xp, by.plain, by.empty, meant(xp, ys))  # noqa: E731
    return Step(("fold",), term, meaning, by.smooth, _traced(x), outputs=2)


@suits(lambda x, y: x.ndim > 0 and x.shape == y.shape)
def recurrences(rng: Generator, x: Any, y: Any) -> Step:
    """A linear recurrence whose factors are less than 1."""
    before, meant = _contracting(0)
    meaning = lambda xp, ys: (plain.recurrence(xp, *meant(xp, ys)),)  # noqa: E731
    return Step(("recurrence",), before >> ct.recurrence, meaning, True, _traced(x))


@with_axis
def histograms(rng: Generator, x: Any) -> Step | None:
    """Folds by bin, of numbers or rows, by a constant index of which some are out of range."""
    by, n = _any(rng, JOININGS), x.shape[0]
    bins = int(rng.choice([1, 3, 31]))
    index = rng.integers(-1, bins + 1, n).astype(str(rng.choice(["int64", "int32", "int16"])))
    before, meant = by.before(n)
    op, neutral = by.chosen(rng)
    if np.isinf(by.empty[0]) and set(range(bins)) - set(index.tolist()):
        return None  # an empty bin would hold an infinity
    term = ct.fork(ct.const(index), before) >> ct.histogram(op, neutral, bins=bins)

    def meaning(xp: Any, ys: Leaves) -> Leaves:
        return (plain.histogram(xp, by.plain, by.empty[0], bins, index, meant(xp, ys)[0]),)

    return Step(("histogram", by.word), term, meaning, by.smooth, _traced(x))


@suits(lambda x, y: x.ndim > 0 and y.ndim == x.ndim and y.shape[1:] == x.shape[1:])
def reductions_onto(rng: Generator, x: Any, y: Any) -> Step | None:
    """Folds by bin onto the rows of another array."""
    by = _any(rng, JOININGS)
    index = rng.integers(-1, x.shape[0] + 1, y.shape[0])
    if by.word == "mul" or by.op is _saturating:
        return None
    before, meant = by.before(y.shape[0])
    op, neutral = by.chosen(rng)
    term = ct.fork(ct.exl, ct.const(index), ct.exr >> before) >> ct.reduce_by_index(op, neutral)

    def meaning(xp: Any, ys: Leaves) -> Leaves:
        values = meant(xp, (ys[1],))[0]
        return (plain.histogram(xp, by.plain, by.empty[0], x.shape[0], index, values, onto=ys[0]),)

    return Step(("reduce_by_index", by.word), term, meaning, by.smooth, _traced(y))


@suits(lambda x: x.ndim > 0 and x.shape[0] > 0)
def segments(rng: Generator, x: Any) -> Step:
    """Scans and folds of segments, by flags or by lengths."""
    by, n = _any(rng, JOININGS[:4]), x.shape[0]
    before, meant = by.before(n)
    op, neutral = by.chosen(rng)
    flags = rng.uniform(size=n) < 0.2
    if rng.integers(2):
        term = ct.fork(ct.const(flags), before) >> ct.segmented_scan(op, neutral)

        def meaning(xp: Any, ys: Leaves) -> Leaves:
            return (plain.segmented_scan(xp, by.plain, by.empty, flags, meant(xp, ys)[0]),)

        return Step(("segmented_scan", by.word), term, meaning, by.smooth, _traced(x))
    starts = np.flatnonzero(flags | (np.arange(n) == 0))
    lengths, number = np.diff(np.append(starts, n)), np.cumsum(flags | (np.arange(n) == 0)) - 1
    if rng.integers(2):
        term = ct.fork(ct.const(lengths), before) >> ct.segmented_fold(op, neutral, by="lengths")
    else:
        term = ct.fork(ct.const(flags), before) >> ct.segmented_fold(op, neutral, segments=len(starts))

    def folded(xp: Any, ys: Leaves) -> Leaves:
        return (plain.histogram(xp, by.plain, by.empty[0], len(starts), number, meant(xp, ys)[0]),)

    return Step(("segmented_fold", by.word), term, folded, by.smooth, _traced(x))


@suits(lambda x: x.ndim > 0 and x.shape[0] >= 3)
def stencils(rng: Generator, x: Any) -> Step:
    """A function of the neighbours of each entry."""
    boundary: Any = str(rng.choice(["zero", "wrap", "reflect"]))
    fn = lambda a, b, c: 0.5 * a * b - 0.25 * c  # noqa: E731
    term = ct.stencil(fn, (-1, 0, 2), boundary=boundary)
    return Step(("stencil",), term, lambda xp, ys: (plain.stencil(xp, fn, (-1, 0, 2), boundary, ys[0]),), traced=_traced(x))


# -- loops, and terms as functions


def iterates(rng: Generator, x: Any) -> Step:
    """A term a few times over, keeping all states or few of them."""
    n, memory = int(rng.integers(0, 7)), None if rng.integers(2) else int(rng.integers(1, 4))
    body = ct.sin + 0.5 * ct.id

    def meaning(xp: Any, ys: Leaves) -> Leaves:
        y = ys[0]
        for _ in range(n):
            y = xp.sin(y) + 0.5 * y
        return (y,)

    return Step(("iterate",), ct.iterate(body, n, memory=memory), meaning)


@suits(lambda x: x.ndim > 0 and x.shape[0] > 0)
def sweeps(rng: Generator, x: Any) -> Step:
    """A loop over rows: a state that reads the first row at each step, and the states before each step."""
    n, reverse = x.shape[0], bool(rng.integers(2))
    body = ct.map(lambda s, g, u: (0.5 * s + np.sin(u) * g, s * u))
    first = ct.slice(0, 1) >> ct.sum(axis=0)
    term = ct.fork(first, first, ct.id) >> ct.sweep(body, n, reverse=reverse) >> ct.exr

    def meaning(xp: Any, ys: Leaves) -> Leaves:
        s, rows = ys[0][0], [ys[0][0]] * n
        for i in reversed(range(n)) if reverse else range(n):
            s, rows[i] = 0.5 * s + xp.sin(ys[0][i]) * ys[0][0], s * ys[0][i]
        return (xp.stack(rows),)

    return Step(("sweep",), term, meaning)


def choices(rng: Generator, x: Any) -> Step:
    """One of two functions, as the sum of squares says."""
    bound = float(rng.uniform(0.1, 10.0))
    large = ct.square >> ct.sum() >> ct.map(lambda s: s > bound)
    term = ct.choose(large, ct.sin + 0.5 * ct.id, ct.square >> ct.scan(ct.add, 0.0) if x.ndim == 1 else ct.cos)

    def meaning(xp: Any, ys: Leaves) -> Leaves:
        if float(np.sum(np.asarray(ys[0], np.float64) ** 2)) > bound:
            return (xp.sin(ys[0]) + 0.5 * ys[0],)
        return (xp.cumsum(ys[0] ** 2) if ys[0].ndim == 1 else xp.cos(ys[0]),)

    return Step(("choose",), term, meaning, False, False)


@suits(lambda x: x.ndim <= 1)
def while_loops(rng: Generator, x: Any) -> Step:
    """Halved until it is small: the number of steps depends on the numbers."""
    size = ct.square >> ct.sum() >> ct.map(lambda s: s > 1.0)

    def meaning(xp: Any, ys: Leaves) -> Leaves:
        y = ys[0]
        while float(np.sum(np.asarray(y, np.float64) ** 2)) > 1.0:
            y = 0.5 * y + 0.125 * y
        return (y,)

    return Step(("while_loop",), ct.while_loop(size, 0.5 * ct.id + 0.125 * ct.id), meaning, False, False)


def checkpoints(rng: Generator, x: Any) -> Step:
    """Recomputed in the derivative."""
    term = ct.checkpoint(ct.sin >> ct.square + ct.id)
    return Step(("checkpoint",), term, lambda xp, ys: (xp.sin(ys[0]) ** 2 + xp.sin(ys[0]),))


@suits(lambda x: x.ndim == 2 and x.shape[0] > 0)
def mapped_terms(rng: Generator, x: Any) -> Step:
    """A term for each row."""
    if rng.integers(2):
        scale = 1.0 / max(1, x.shape[1])
        term = ct.map(ct.fork(ct.id, ct.sum() >> scale * ct.id) >> ct.sub)
        return Step(("map",), term, lambda xp, ys: (ys[0] - scale * ys[0].sum(1, keepdims=True),))
    return Step(("map",), ct.map(ct.scan(ct.add, 0.0)), lambda xp, ys: (xp.cumsum(ys[0], axis=1),))


def by_hand(rng: Generator, x: Any) -> Step:
    """A morphism with its derivative written by hand, and one that NumPy alone computes."""
    return Step(("D", "scale"), ct.D(lambda x: (x * x, ct.scale(2.0 * x))), lambda xp, ys: (ys[0] ** 2,))


def derivatives(rng: Generator, x: Any) -> Step:
    """A derivative is a term like any other."""
    kind = int(rng.integers(4))
    total = ct.sin >> ct.sum()
    if kind == 0:
        return Step(("grad",), ct.grad(total), lambda xp, ys: (xp.cos(ys[0]),))
    if kind == 1:
        return Step(("tangent", "exr"), ct.dup >> ct.tangent(ct.square) >> ct.exr, lambda xp, ys: (2.0 * ys[0] ** 2,))
    if kind == 2:
        return Step(("differential",), ct.dup >> ct.differential(ct.sin), lambda xp, ys: (ys[0] * xp.cos(ys[0]),))
    term = ct.dup >> ct.reverse_differential(ct.square)
    return Step(("reverse_differential",), term, lambda xp, ys: (2.0 * ys[0] ** 2,))


def valued(rng: Generator, x: Any) -> Step:
    """Value and gradient together, used both."""
    term = ct.value_and_grad(ct.square >> ct.sum() >> ct.tanh) >> ct.mul

    def meaning(xp: Any, ys: Leaves) -> Leaves:
        s = xp.tanh((ys[0] ** 2).sum())
        return (s * (1.0 - s * s) * 2.0 * ys[0],)

    return Step(("value_and_grad",), term, meaning)


ONE: list[Maker] = [
    scans, scans, scans, folds, folds, histograms, histograms, histograms, segments, segments, stencils, iterates, while_loops,
    sweeps, choices, checkpoints, mapped_terms, by_hand, derivatives, valued,
]  # fmt: skip
TWO: list[Maker] = [pair_scans, pair_scans, recurrences, reductions_onto, reductions_onto]
