"""The meaning of the drawn programs: plain loops and array functions, written without catad.

Each function takes the array library `xp` first, so that NumPy evaluates a meaning and JAX, where it is installed, also
differentiates it. Loops along an axis are Python loops over rows: slow, short and obviously right.
"""

from __future__ import annotations

import functools
import importlib
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Leaves = tuple[Any, ...]
Meaning = Callable[[Any, Leaves], Leaves]  # (array library, leaves) -> leaves
Operator = Callable[..., Any]  # (array library, left, right) -> both joined; tuples for operators on tuples


@functools.cache
def _erf() -> Callable[..., Any]:
    return np.vectorize(math.erf, otypes=[np.float64])


def erf(xp: Any, x: Any) -> Any:
    """The error function."""
    if xp is np:
        return _erf()(x)
    return importlib.import_module("jax.scipy.special").erf(x)


def digamma(x: float) -> float:
    """The derivative of log gamma at x > 0: its recurrence up to 12, then Stirling's series."""
    total = 0.0
    while x < 12.0:
        total, x = total - 1.0 / x, x + 1.0
    s = 1.0 / (x * x)
    return total + math.log(x) - 0.5 / x - s * (1 / 12 - s * (1 / 120 - s * (1 / 252 - s * (1 / 240 - s / 132))))


def trigamma(x: float) -> float:
    """The second derivative of log gamma at x > 0, in the same way."""
    total = 0.0
    while x < 12.0:
        total, x = total + 1.0 / (x * x), x + 1.0
    s = 1.0 / (x * x)
    return total + 1.0 / x + 0.5 * s + s / x * (1 / 6 - s * (1 / 30 - s * (1 / 42 - s * (1 / 30 - s * 5 / 66))))


def rows(x: Any) -> list[Any]:
    """The entries along axis 0."""
    return [x[i] for i in range(x.shape[0])]


def joined(xp: Any, parts: Sequence[Any], like: Any, count: int) -> Any:
    """Rows stacked along a new axis 0; `like` gives the shape of a row where there is none."""
    return xp.stack(parts) if count else xp.zeros((0, *like.shape[1:]))


def fold(xp: Any, op: Operator, neutral: Leaves, xs: Leaves) -> Leaves:
    """`op` from left to right along axis 0, on tuples of arrays."""
    state: Leaves = tuple(xp.full(x.shape[1:], e, dtype=xp.float64) for x, e in zip(xs, neutral, strict=True))
    for at in range(xs[0].shape[0]):
        state = op(xp, state, tuple(x[at] for x in xs)) if at else tuple(x[0] for x in xs)
    return state


def scan(xp: Any, op: Operator, neutral: Leaves, xs: Leaves, exclusive: bool = False, reverse: bool = False) -> Leaves:
    """All prefixes of a fold along axis 0."""
    count = xs[0].shape[0]
    order = range(count - 1, -1, -1) if reverse else range(count)
    empty: Leaves = tuple(xp.full(x.shape[1:], e, dtype=xp.float64) for x, e in zip(xs, neutral, strict=True))
    state: Leaves | None = None
    out: list[Leaves] = []
    for at in order:
        before, element = state, tuple(x[at] for x in xs)
        left, right = (element, before) if reverse else (before, element)
        state = element if before is None else op(xp, left, right)
        out.append(state if not exclusive else empty if before is None else before)
    if reverse:
        out.reverse()
    return tuple(joined(xp, [o[k] for o in out], x, count) for k, x in enumerate(xs))


def segmented_scan(xp: Any, op: Operator, neutral: Leaves, flags: Any, x: Any) -> Any:
    """A scan that begins anew wherever a flag is set."""
    out: list[Any] = []
    state: Leaves = ()
    for at in range(x.shape[0]):
        state = (x[at],) if at == 0 or flags[at] else op(xp, state, (x[at],))
        out.append(state[0])
    return joined(xp, out, x, x.shape[0])


def histogram(xp: Any, op: Operator, neutral: float, bins: int, index: Any, x: Any, onto: Any = None) -> Any:
    """The fold of each bin, in the order of the elements; an index out of range is dropped."""
    held: list[Leaves | None] = [None] * bins
    if onto is not None:
        held = [(onto[b],) for b in range(bins)]
    for at, b in enumerate(np.asarray(index).tolist()):
        if 0 <= b < bins:
            before = held[b]
            held[b] = (x[at],) if before is None else op(xp, before, (x[at],))
    empty = xp.full(x.shape[1:], neutral, dtype=xp.float64)
    if bins == 0:
        return xp.zeros((0, *x.shape[1:]))
    return xp.stack([empty if h is None else h[0] for h in held])


def scatter(xp: Any, dst: Any, index: Any, values: Any) -> Any:
    """Rows overwritten in order; an index out of range is dropped."""
    out = rows(dst)
    for at, b in enumerate(np.asarray(index).tolist()):
        if 0 <= b < len(out):
            out[b] = values[at]
    return joined(xp, out, dst, len(out))


def recurrence(xp: Any, a: Any, b: Any) -> Any:
    """`s[i] = a[i] s[i-1] + b[i]` from nothing."""
    out: list[Any] = []
    for at in range(b.shape[0]):
        out.append(a[at] * out[-1] + b[at] if out else b[at])
    return joined(xp, out, b, b.shape[0])


def stencil(xp: Any, fn: Callable[..., Any], offsets: Sequence[int], boundary: str, x: Any) -> Any:
    """A function of the neighbours along axis 0, each read by itself."""
    n = x.shape[0]

    def neighbour(i: int) -> Any:
        if boundary == "wrap":
            return x[i % n]
        if boundary == "reflect":
            i = -i if i < 0 else 2 * (n - 1) - i if i >= n else i
        return x[i] if 0 <= i < n else xp.zeros(x.shape[1:])

    return joined(xp, [fn(*[neighbour(i + o) for o in offsets]) for i in range(n)], x, n)


def one_by_one(fn: Callable[..., Any]) -> Meaning:
    """A Python function called on the numbers of broadcast arrays, one after another."""

    def meaning(xp: Any, xs: Leaves) -> Leaves:
        shape = np.broadcast_shapes(*(x.shape for x in xs))
        flat = [np.broadcast_to(np.asarray(x, np.float64), shape).ravel().tolist() for x in xs]
        out = np.array([fn(*numbers) for numbers in zip(*flat, strict=True)], np.float64)
        return (out.reshape(shape),)

    return meaning
