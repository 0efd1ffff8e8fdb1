"""Bugs in functions that an equation gives."""

from __future__ import annotations

from .bug import Bug

BUGS = [
    Bug(
        "the derivative of a solution has the other sign",
        "equations/implicit.py",
        "less = [pointwise(space, space, None, -1.0)",
        "less = [pointwise(space, space, None, 1.0)",
        "equations/test_root.py",
    ),
    Bug(
        "Newton's steps are taken where the residual grows",
        "equations/newton.py",
        "falls = there < (1.0 - 1e-4 * t) * norm",
        "falls = there < np.inf",
        "equations/test_root.py",
    ),
    Bug(
        "a small step is a root, also beside a pole",
        "equations/newton.py",
        "near = (size <= 1.0) & (t == 1.0) & (there <= AT_ROOT * norm)",
        "near = (size <= 1.0) & (t == 1.0)",
        "equations/test_root.py",
    ),
    Bug(
        "the steps of Levenberg and Marquardt are those of Gauss and Newton",
        "equations/least_squares.py",
        "d = step(x, gradient, (mu * damping)",
        "d = step(x, gradient, (0.0 * mu * damping)",
        "equations/test_least_squares.py",
    ),
    Bug(
        "a saddle point is a minimum",
        "equations/optimum.py",
        "least >= -(tol.eps**0.5) * greatest",
        "least >= -2.0 * greatest",
        "equations/test_minimize.py",
    ),
    Bug(
        "a given solution is believed in the equation of the largest scale alone",
        "equations/given.py",
        "np.abs(own) <= BEYOND * bound",
        "np.abs(own) <= BEYOND * np.max(bound)",
        "equations/test_implicit.py",
    ),
    Bug(
        "a lane without a solution has a derivative",
        "equations/solution.py",
        "leaf if factor is None else leaf *",
        "leaf if True else leaf *",
        "equations/test_root.py",
    ),
    Bug(
        "a jump between two signs is a root",
        "equations/bracketing.py",
        "done & (np.abs(fb) <= SMALL * start)",
        "done",
        "equations/test_root.py",
    ),
    Bug(
        "Anderson's mixing forgets what a combination leaves",
        "equations/fixed_point.py",
        "trial = trial - weights @ (xs + rests)",
        "trial = trial - weights @ xs",
        "equations/test_fixed_point.py",
    ),
    Bug(
        "the sizes of steps are differentiated",
        "equations/ode/adaptive.py",
        "size = stop_gradient(starting_step(method, slopes, own, at, y, first, args))",
        "size = starting_step(method, slopes, own, at, y, first, args)",
        "equations/test_odeint_derivatives.py",
    ),
    Bug(
        "the first slope of a step is that of a step that was rejected",
        "equations/ode/adaptive.py",
        "y, first, carried = chosen(good, (end, after, onwards), (y, first, carried))",
        "y, first, carried = chosen(good, (end, after, onwards), (y, after, carried))",
        "equations/test_odeint.py",
    ),
    Bug(
        "dense output reads the row of the next step",
        "equations/ode/adaptive.py",
        "which = np.minimum(np.searchsorted(ends, at.ahead), m - 1)",
        'which = np.minimum(np.searchsorted(ends, at.ahead, side="right"), m - 1)',
        "equations/test_odeint.py",
    ),
    Bug(
        "cotangents of 0 meet the partials of a step that was rejected",
        "equations/ode/adaptive.py",
        "chosen(good, h, 0.0 * t), y, first",
        "h, y, first",
        "equations/test_odeint_steps.py",
    ),
    Bug(
        "the time of an event is a constant",
        "equations/ode/events.py",
        "part = RootOf(function_term(value))(high, given)",
        "part = high",
        "equations/test_odeint_events.py",
    ),
]
