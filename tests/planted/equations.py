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
        "W knows nothing of the step size",
        "equations/ode/rosenbrock.py",
        "scale_by(h, gamma), often=True)",
        "b.apply(const(np.asarray(gamma, h.dtype)), ()), often=True)",
        "equations/test_rosenbrock.py",
    ),
    Bug(
        "the factors of a step are those of another Jacobian",
        "equations/ode/rosenbrock.py",
        "b.inline(jacobian.wiring, slots), scale_by",
        "b.inline(jacobian.wiring, [0.9 * slot for slot in slots]), scale_by",
        "equations/test_rosenbrock.py",
    ),
    Bug(
        "stiff equations have no derivative by time",
        "equations/ode/rosenbrock.py",
        "x if by_time is None else",
        "x if by_time is None or True else",
        "equations/test_rosenbrock.py",
    ),
    Bug(
        "dense output of a stiff step takes its coefficients in the other order",
        "equations/ode/rosenbrock.py",
        "        inner = more[-1]\n        for k in reversed(more[:-1]):",
        "        inner = more[0]\n        for k in more[1:]:",
        "equations/test_rosenbrock.py",
    ),
    Bug(
        "the sizes of tried steps have derivatives",
        "equations/ode/adaptive.py",
        "error = stop_gradient(norm(made[0], y, made[1], own)).astype(ts.dtype)",
        "error = norm(made[0], y, made[1], own).astype(ts.dtype)",
        "equations/test_stiff_derivatives.py",
    ),
    Bug(
        "a narrow band is solved without the interchanges of its rows",
        "engine/cpu/whole/narrow_bands.py",
        'place = self._at(self.w.set(f"sext i32 {pivot} to i64"), -1)',
        'place = self._at(self.w.set(f"sext i32 {pivot} to i64"), -1) if False else self._at(i, k)',
        "linalg/test_narrow_bands.py",
    ),
]
