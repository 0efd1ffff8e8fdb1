"""Newton's method with a line search, traced as a part of a finder.

    d = J^-1 F(x)        x <- x - t d,  t = 1, 1/2, 1/4, ...

A step is taken where it makes the residual smaller. It ends where the correction is within the tolerance and the residual has
fallen as near a root: by more than at a pole, where Newton's steps are small, too. Near a root of order m a step leaves
(1 - 1/m)^m of the residual, at a pole of order m it leaves (1 + 1/m)^-m; 1/e lies between. It also ends where rounding hides the
root: where the residual is what a change of the last digits of x makes, or does not fall along a small correction, which is a
direction of descent. (P. Deuflhard, *Newton Methods for Nonlinear Problems*, 2011, chapters 2 and 3.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from catad.equations.solution import Ended
from catad.equations.tolerance import Tolerance, in_units, largest, moved_by

IS_TRACED = True  # finders call these functions
AT_ROOT = 0.36  # of the residual, what a step near a root leaves at most
FAST = 0.1  # where the convergence is quadratic; the steps to a root of a higher order go on, since each gains a digit at most
HALVINGS = 40  # of a step
DIGITS = 16.0  # rounding units by which x is changed


def newton(residual: Callable[[Any], Any], correction: Callable[[Any], Any], start: Any, tol: Tolerance, max_steps: int) -> Ended:
    """From leaves `start` to the leaves where `residual` of them is zero, by `correction` of them, `J^-1 F`.

    Each trip of the loop tries one length of a step, and computes the next correction where it takes it.
    """
    leaves, change = start, start
    norm = largest(residual(leaves))
    steps, halvings, size, t = 0, 0, np.float64(np.inf), np.float64(0.0)
    going, near, done = norm > 0.0, norm == 0.0, norm == 0.0
    while going:
        trial = tuple([a - t.astype(a.dtype) * d for a, d in zip(leaves, change, strict=True)])
        there = largest(residual(trial))
        falls = there < (1.0 - 1e-4 * t) * norm
        near = (size <= 1.0) & (t == 1.0) & (there <= AT_ROOT * norm)
        hidden = ~(there < norm) & (size > 0.0) & (halvings == HALVINGS) & (in_units(change, leaves, tol.loose) <= 1.0)
        done = (near & (there <= FAST * norm)) | (there == 0.0) | hidden
        if falls | (steps == 0):
            leaves = trial
            norm = there
            t = np.float64(1.0)
            halvings = 0
            going = ~done & (steps < max_steps)
            if going:
                change = correction(leaves)
                size = in_units(change, leaves, tol)
                steps = steps + 1
        else:
            t = t / 2.0
            halvings = halvings + 1
            going = ~done & (halvings <= HALVINGS)
    found = done | near | (norm <= rounding(residual, leaves, tol))
    return Ended(found, leaves, (norm, size, np.float64(steps), largest(leaves)))


def rounding(residual: Callable[[Any], Any], leaves: Any, tol: Tolerance) -> Any:
    """The change of the residual where the last digits of x change."""
    here, found = residual(leaves), np.float64(0.0)
    for moved in moved_by(leaves, Tolerance(DIGITS * tol.eps, 0.0, tol.eps)):
        found = np.maximum(found, largest([there - own for there, own in zip(residual(moved), here, strict=True)]))
    return found
