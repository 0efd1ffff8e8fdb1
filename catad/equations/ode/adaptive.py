"""A loop over steps whose sizes follow from error estimates.

One trip of the loop is one step, accepted or not. Step sizes, and with them which steps there are, are constants for
derivatives; so these are the derivatives of the numbers that are computed. (E. Hairer, S. P. Norsett and G. Wanner, *Solving
Ordinary Differential Equations I*, II.4: norm, starting step, and the controller, whose constants are those of DOPRI5.)

Results at given times come from dense output. A step that covers some of the times leaves what dense output is made of in a row
of its own, so the loop has no loop over times in it, and dense output is one operation on all times after the loop.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from catad import errors
from catad.category.terms import D
from catad.equations.ode.events import Event
from catad.equations.ode.explicit import size_for
from catad.equations.ode.method import Leaves, Method, Slopes
from catad.equations.ode.trial import WithDerivative
from catad.traced.function import function_term
from catad.vector.loops.converged import WhereConverged
from catad.vector.stop_gradient import stop_gradient

SAFETY, LEAST, MOST = 0.9, 0.2, 10.0  # of the factor between two step sizes


@dataclass(frozen=True)
class Adaptive:
    """Tolerances and limits of steps whose sizes follow from error estimates."""

    rtol: float
    atol: float
    max_steps: int
    first_step: float | None
    max_step: float


class Interval(NamedTuple):
    """The times at which results are wanted: as they are, and as constants with the sign of their direction."""

    ts: Any
    sign: Any
    start: Any
    end: Any
    ahead: Any  # ts times the sign, which grow


def interval(ts: Any) -> Interval:
    """The times from the first to the last one."""
    fixed = stop_gradient(ts)
    sign = chosen(fixed[-1] < fixed[0], -1.0, 1.0).astype(ts.dtype)
    return Interval(ts, sign, fixed[0], fixed[-1], fixed * sign)


def norm(values: Leaves, y: Leaves, other: Leaves, own: Adaptive) -> Any:
    """The root of the mean square of values beside their tolerances, at the larger of two states."""
    total, count = 0.0, 0
    for value, a, b in zip(values, y, other, strict=True):
        part = value / (own.atol + own.rtol * np.maximum(np.abs(a), np.abs(b)))
        total, count = total + np.sum(part * part), count + part.size
    return np.sqrt(total / max(count, 1))


def starting_step(method: Method, slopes: Slopes, own: Adaptive, at: Interval, y: Leaves, first: Leaves, args: Any) -> Any:
    """The size of the first step, without its sign."""
    most = np.minimum(np.abs(at.end - at.start), own.max_step)
    if own.first_step is not None:
        return np.minimum(own.first_step, most)
    size, slope = norm(y, y, y, own), norm(first, y, y, own)
    h = chosen((size < 1e-5) | (slope < 1e-5), 1e-6, 0.01 * size / slope)
    h = np.minimum(chosen(np.isfinite(h), h, 1e-6), most).astype(at.ts.dtype)
    step = h * at.sign
    ahead = tuple([leaf + size_for(step, leaf) * k for leaf, k in zip(y, first, strict=True)])
    changes = tuple([b - a for a, b in zip(first, slopes(at.start + step, ahead, args), strict=True)])
    steepest = np.maximum(slope, norm(changes, y, y, own) / h)
    other = chosen(steepest <= 1e-15, np.maximum(1e-6, 1e-3 * h), (0.01 / steepest) ** (1.0 / (method.order + 1)))
    other = chosen(np.isfinite(other), other, h)
    return np.minimum(np.minimum(100.0 * h, other), most).astype(at.ts.dtype)


def next_size(method: Method, size: Any, error: Any, last: Any, good: Any, before: Any) -> Any:
    """The size of the next step, after one of a size with an error; `last` is that of the last accepted step."""
    exponent = 1.0 / (method.error_order + 1)
    own = error ** (exponent - 0.75 * method.beta)
    factor = np.clip(SAFETY * last**method.beta / own, LEAST, np.where(before, MOST, 1.0))
    less = np.maximum(SAFETY / own, LEAST)
    return size * chosen(np.isnan(error), LEAST, np.where(good, factor, less))


def adaptive(method: Method, slopes: Slopes, own: Adaptive, m: int, event: Event | None = None) -> D:
    """The morphism from `(y0, ts, args)`, with y0 as the tuple of its leaves, to the leaves of y at m times.

    With an event to these, NaN after the event, its time, and the leaves of y there.
    """
    end_of = WhereConverged(errors.integration_failed)
    limit = float(own.max_steps)

    def step(t: Any, h: Any, y: Leaves, first: Leaves, carried: Any, args: Any) -> Any:
        made = method.step(slopes, t, h, y, first, carried, args)
        return made.error, made.end, made.slopes, made.carried, made.kept

    tried = function_term(step)
    taken_step = WithDerivative(tried)

    def solve(y0: Leaves, ts: Any, args: Any) -> Leaves:
        at = interval(ts)
        zero = ts[0] - stop_gradient(ts[0])  # with the derivative of the times
        t, y, tiny = at.start, tuple([leaf if leaf.ndim else leaf[()] for leaf in y0]), np.finfo(ts.dtype).eps
        first = slopes(t + zero, y, args)
        carried = method.start(y, first)
        size = stop_gradient(starting_step(method, slopes, own, at, y, first, args))
        rows = tuple([tuple([repeated(leaf, m) for leaf in like]) for like in method.at_rest(y, first)])
        begins, sizes, ends = repeated(t, m), np.ones(m, ts.dtype), np.full(m, np.inf, ts.dtype)
        row, covered, steps = 0, 0, 0
        error, last = np.zeros((), ts.dtype)[()], np.full((), 1e-4, ts.dtype)[()]
        before: Any = True
        stuck: Any = False
        over: Any = False
        final = 0
        sided = zero if event is None else stop_gradient(event(t, y, args))
        while (t * at.sign < at.end * at.sign) & (steps < own.max_steps) & (not stuck) & (not over):
            left = np.abs(at.end - t)
            to_end = left <= 1.01 * size
            taken = chosen(to_end, left, size)
            h = taken * at.sign
            made = tried(*stop_gradient((t, h, y, first, carried, args)))
            error = stop_gradient(norm(made[0], y, made[1], own)).astype(ts.dtype)
            good = error <= 1.0
            _, end, after, onwards, kept = taken_step((t + zero, chosen(good, h, 0.0 * t), y, first, carried, args), made)
            reached = chosen(to_end, at.end, t + h)
            begins[row], sizes[row] = t, h
            ends[row] = np.where(good, reached * at.sign, np.inf)
            for arrays, like in zip(rows, kept, strict=True):
                for array, leaf in zip(arrays, like, strict=True):
                    array[row] = leaf
            t = chosen(good, reached, t)
            y, first, carried = chosen(good, (end, after, onwards), (y, first, carried))
            size = np.minimum(next_size(method, taken, error, last, good, before), own.max_step).astype(ts.dtype)
            stuck = (not good) & (0.1 * size <= tiny * np.abs(t))
            last, before = chosen(good, np.maximum(error, 1e-4), last).astype(ts.dtype), good
            if event is not None:
                now = stop_gradient(event(t, y, args))
                over, sided, final = good & event.changes(sided, now), chosen(good, now, sided), row + 0
            through = np.searchsorted(at.ahead, t * at.sign, side="right")
            row = row + chosen(good & (through > covered), 1, 0)
            covered = chosen(good, through, covered)
            steps = steps + 1
        done = (t * at.sign >= at.end * at.sign) | over
        which = np.minimum(np.searchsorted(ends, at.ahead), m - 1)
        part = (ts - (begins[which] + zero)) / sizes[which]
        found = []
        for k in range(len(y)):
            lying = [like[k][which] for like in rows]
            ones = lying[0].dtype, (m,) + (1,) * (lying[0].ndim - 1)
            there, h = [a.astype(ones[0]).reshape(ones[1]) for a in (part, sizes[which])]
            found.append(method.within(there, h, tuple(lying)))
        if event is not None:
            there, state = event.found(method, over, begins[final] + zero, sizes[final], picked(rows, final), args)
            found = [*without(found, over & (at.ahead > stop_gradient(there) * at.sign)), there, *state]
        told = (t, size, error, np.float64(1.0) * steps, np.full((), limit)[()])
        leaves: Any = end_of(done, told, tuple(found))
        return tuple(leaves)

    return function_term(solve)


def repeated(row: Any, m: int) -> Any:
    """m equal rows, to be written into."""
    return np.broadcast_to(row, (m, *np.shape(row))).copy()


def picked(rows: Any, k: Any) -> Any:
    """The k-th row of each of the arrays."""
    return tuple([tuple([array[k] for array in like]) for like in rows])


def without(found: list[Any], gone: Any) -> list[Any]:
    """The leaves of y, NaN in the rows that are gone."""
    made = [np.where(gone.reshape((-1,) + (1,) * (leaf.ndim - 1)), np.nan, leaf) for leaf in found]
    return [there.astype(leaf.dtype) for there, leaf in zip(made, found, strict=True)]


def chosen(flag: Any, a: Any, b: Any) -> Any:
    """One of two values of one form; numbers stay numbers."""
    if isinstance(a, tuple):
        return tuple([chosen(flag, x, y) for x, y in zip(a, b, strict=True)])
    made = np.where(flag, a, b)
    return made if made.ndim else made[()]
