"""Steps that move, select and add up entries: shapes, indices, contractions, sorting."""

from __future__ import annotations

from typing import Any

import numpy as np

import catad as ct
from catad.testing.drawn import meaning as plain
from catad.testing.drawn.meaning import Meaning
from catad.testing.drawn.steps import Generator, Maker, Step, suits, with_axis

SMALL = 1000  # entries that a result may always have


def of(word: str, term: ct.D, meaning: Any, **more: Any) -> Step:
    """A step on one array whose meaning is a function of (array library, array)."""
    return Step(tuple(word.split()), term, lambda xp, xs: (meaning(xp, xs[0]),), **more)


def axis_of(rng: Generator, x: Any) -> int:
    """An axis, counted from the front or from the back."""
    return int(rng.integers(-x.ndim, x.ndim))


@with_axis
def sums(rng: Generator, x: Any) -> Step:
    """A sum over all axes or over one, with or without its axis kept; scaled to the size of an entry."""
    keep = bool(rng.integers(2))
    axis = None if rng.integers(3) == 0 else axis_of(rng, x)
    scale = 1.0 / max(1, x.size if axis is None else x.shape[axis])
    term = ct.sum(axis=axis, keepdims=keep) >> scale * ct.id
    return of("sum scaled", term, lambda xp, x: scale * xp.sum(x, axis=axis, keepdims=keep))


def reshapes(rng: Generator, x: Any) -> Step:
    """Another shape of the same entries."""
    shapes: list[tuple[int, ...]] = [(-1,)] if x.size else [(0,)]
    shapes += [(-1, 2)] if x.size and x.size % 2 == 0 else []
    shapes += [(1, *x.shape), (*x.shape, 1)] if x.ndim < 3 else []
    shape = shapes[int(rng.integers(len(shapes)))]
    return of("reshape", ct.reshape(shape), lambda xp, x: x.reshape(shape))


@suits(lambda x: x.ndim >= 2)
def transposes(rng: Generator, x: Any) -> Step:
    """The axes in another order."""
    axes = tuple(int(a) for a in rng.permutation(x.ndim))
    return of("transpose", ct.transpose(axes), lambda xp, x: xp.transpose(x, axes))


@with_axis
def flips(rng: Generator, x: Any) -> Step:
    """An axis backwards."""
    axis = axis_of(rng, x)
    return of("flip", ct.flip(axis=axis), lambda xp, x: xp.flip(x, axis))


@with_axis
def slices(rng: Generator, x: Any) -> Step:
    """Part of an axis, forwards or backwards."""
    axis = axis_of(rng, x)
    bounds = [
        (1, None, None),
        (None, -1, None),
        (None, None, -1),
        (None, None, 2),
        (None, None, -2),
        (0, 5, 1),
        (3, None, 3),
    ]
    start, stop, step = bounds[int(rng.integers(len(bounds)))]

    def meaning(xp: Any, x: Any) -> Any:
        return xp.moveaxis(xp.moveaxis(x, axis, 0)[start:stop:step], 0, axis)

    return of("slice", ct.slice(start, stop, step, axis=axis), meaning)


@with_axis
def pads(rng: Generator, x: Any) -> Step:
    """Entries added at both ends of an axis."""
    axis, before, after = axis_of(rng, x) % x.ndim, int(rng.integers(0, 3)), int(rng.integers(0, 3))
    value = float(rng.integers(-1, 2)) / 2.0
    width = [(before, after) if a == axis else (0, 0) for a in range(x.ndim)]
    return of("pad", ct.pad(before, after, value, axis=axis), lambda xp, x: xp.pad(x, width, constant_values=value))


@suits(lambda x: x.size <= SMALL)
def copies(rng: Generator, x: Any) -> Step:
    """The whole array twice, or a broadcast along a new axis."""
    if rng.integers(2):
        return of("replicate", ct.replicate(2), lambda xp, x: xp.stack([x, x]))
    shape = (2, *x.shape)
    return of("broadcast_to", ct.broadcast_to(shape), lambda xp, x: xp.broadcast_to(x, shape))


def index_for(rng: Generator, rows: int, count: int, out: bool) -> Any:
    """Indices of rows; with `out`, some of them out of range."""
    return rng.integers(-1 if out else 0, rows + 1 if out else max(rows, 1), count)


@suits(lambda x: x.ndim > 0 and x.shape[0] > 0)
def gathers(rng: Generator, x: Any) -> Step:
    """Rows read by a constant index."""
    index = index_for(rng, x.shape[0], min(x.shape[0] + 1, 5000), out=False).astype(str(rng.choice(["int64", "int32"])))
    return of("gather const", ct.fork(ct.id, ct.const(index)) >> ct.gather, lambda xp, x: x[index])


@with_axis
def scatters(rng: Generator, x: Any) -> Step:
    """Rows written or added by a constant index, of which some fall outside."""
    index = index_for(rng, x.shape[0], x.shape[0], out=True)
    if rng.integers(2):
        term = ct.fork(ct.id, ct.const(index), ct.neg) >> ct.scatter
        return of("scatter", term, lambda xp, x: plain.scatter(xp, x, index, -x))
    term = ct.fork(ct.id, ct.const(index), ct.sin) >> ct.scatter_add
    add = lambda xp, a, b: (a[0] + b[0],)  # noqa: E731
    return of("scatter_add", term, lambda xp, x: plain.histogram(xp, add, 0.0, x.shape[0], index, xp.sin(x), onto=x))


@with_axis
def sorts(rng: Generator, x: Any) -> Step:
    """Sorted along an axis."""
    axis = axis_of(rng, x)
    if x.ndim == 1 and rng.integers(2):
        term = ct.fork(ct.id, ct.argsort()) >> ct.gather
        return of("argsort gather", term, lambda xp, x: xp.sort(x), smooth=False)
    return of("sort", ct.sort(axis=axis), lambda xp, x: xp.sort(x, axis=axis), smooth=False)


@suits(lambda x: x.ndim == 1 and x.size > 0)
def numbered(rng: Generator, x: Any) -> Step:
    """Times numbers generated from the position."""
    n = int(x.shape[0])
    if rng.integers(2):
        term = ct.fork(ct.id, ct.iota(n) >> ct.astype(np.float64) >> (1.0 / n) * ct.id) >> ct.mul
        return of("iota astype", term, lambda xp, x: x * (xp.arange(n) * (1.0 / n)))
    term = ct.fork(ct.id, ct.generate((n,), lambda i: 1.0 / (1.0 + i))) >> ct.add
    return of("generate", term, lambda xp, x: x + 1.0 / (1.0 + xp.arange(n)))


@suits(lambda x: x.ndim == 1 and 0 < x.size <= SMALL)
def weighed(rng: Generator, x: Any) -> Step:
    """A constant linear map, lifted: a diagonal, or a small dense matrix."""
    n = x.size
    if rng.integers(2) or n > 70:
        d = np.round(rng.uniform(-1, 1, n), 2)
        return of("lift scale", ct.astype(np.float64) >> ct.lift(ct.scale(d)), lambda xp, x: d * x)
    m = rng.uniform(-1, 1, (3, n)) / n
    return of("lift", ct.astype(np.float64) >> ct.lift(ct.linear.dense(m)), lambda xp, x: xp.asarray(m) @ x)


@suits(lambda x, y: 0 < x.ndim <= 2 and 0 < y.ndim <= 2 and x.shape[-1] == y.shape[0])
def products(rng: Generator, x: Any, y: Any) -> Step | None:
    """A product of matrices or vectors whose axes fit."""
    if x.size * (y.size // max(1, y.shape[0])) > 300_000:
        return None
    scale = 1.0 / max(1, x.shape[-1])
    if x.ndim == y.ndim == 2 and rng.integers(2):
        return Step(("einsum",), ct.einsum("ij,jk->ki") >> scale * ct.id, lambda xp, ys: (scale * (ys[0] @ ys[1]).T,))
    return Step(("matmul",), ct.matmul >> scale * ct.id, lambda xp, ys: (scale * (ys[0] @ ys[1]),))


@suits(lambda x, y: x.shape == y.shape and x.ndim == 2)
def pairings(rng: Generator, x: Any, y: Any) -> Step:
    """Elementwise and row-wise contractions of two arrays of one shape."""
    scale = 1.0 / max(1, x.shape[1])
    if rng.integers(2):
        return Step(("einsum",), ct.einsum("ij,ij->i") >> scale * ct.id, lambda xp, ys: (scale * (ys[0] * ys[1]).sum(1),))
    return Step(("einsum",), ct.einsum("ij,ij->ji"), lambda xp, ys: ((ys[0] * ys[1]).T,))


@suits(lambda x, y: x.ndim > 0 and x.shape[1:] == y.shape[1:] and x.ndim == y.ndim)
def joins(rng: Generator, x: Any, y: Any) -> Step:
    """Two arrays one after the other, or on a new axis."""
    if x.shape == y.shape and x.ndim < 3 and rng.integers(2):
        axis = int(rng.integers(-1, 2))
        return Step(("stack",), ct.stack(axis=axis), lambda xp, ys: (xp.stack(list(ys), axis=axis),))
    return Step(("concatenate",), ct.concatenate(), lambda xp, ys: (xp.concatenate(list(ys)),))


def narrowed(rng: Generator, x: Any) -> Step:
    """Through the other precision and back to the wider one."""
    term = ct.astype(np.float32) >> ct.square
    return of("astype", term, lambda xp, x: x * x, smooth=False, single=True)


def swaps(rng: Generator, x: Any, y: Any) -> Step:
    """The structure of products, which computes nothing."""
    exchanged: Meaning = lambda xp, ys: (ys[1], ys[0])  # noqa: E731
    if rng.integers(2):
        return Step(("swap",), ct.swap, exchanged, outputs=2)
    term = ct.dup >> ct.cross(ct.exr, ct.exl)
    return Step(("dup", "cross", "exl", "exr"), term, exchanged, outputs=2)


def associated(rng: Generator, x: Any, y: Any) -> Step:
    """Nesting to one side and the other."""
    term = ct.fork(ct.dup, ct.exl) >> ct.assoc_r >> ct.assoc_l >> ct.fork(ct.exr, ct.exl >> ct.exl >> ct.exr)
    return Step(("assoc_l", "assoc_r", "fork"), term, lambda xp, ys: (ys[0], ys[1]), outputs=2)


ONE: list[Maker] = [
    sums, sums, reshapes, transposes, flips, slices, pads, copies, gathers, scatters, scatters, sorts, numbered, weighed,
    narrowed,
]  # fmt: skip
TWO: list[Maker] = [products, products, pairings, joins, joins, swaps, associated]
