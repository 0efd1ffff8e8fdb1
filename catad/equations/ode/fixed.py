"""A given number of equal steps from each time to the next; here the sizes of steps have derivatives by the times."""

from __future__ import annotations

from typing import Any

import numpy as np

from catad.category.terms import D
from catad.equations.ode.method import Leaves, Method, Slopes
from catad.traced.function import function_term
from catad.vector.loops.sweep import sweep


def fixed(method: Method, slopes: Slopes, steps: int, m: int) -> D:
    """The morphism from `(y0, ts, args)`, with y0 as the tuple of its leaves, to the leaves of y at m times."""

    def one(state: Any, given: Any, k: Any) -> Any:
        (y, first, carried), (t, h, args) = state, given
        made = method.step(slopes, t + k * h, h, y, first, carried, args)
        return (made.end, made.slopes, made.carried), ()

    def between(state: Any, args: Any, times: Any) -> Any:
        t, until = times
        h = (until - t) / steps
        numbers = np.arange(steps).astype(t.dtype)
        state, _ = sweep(function_term(one), steps)(state, (t, h, args), numbers)
        return state, state[0]

    def solve(y0: Leaves, ts: Any, args: Any) -> Leaves:
        first = slopes(ts[0], y0, args)
        _, found = sweep(function_term(between), m - 1)((y0, first, method.start(y0, first)), args, (ts[:-1], ts[1:]))
        return tuple([np.concatenate([a[None], b]) for a, b in zip(y0, found, strict=True)])

    return function_term(solve)
