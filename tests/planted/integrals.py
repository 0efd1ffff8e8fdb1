"""Bugs in integrals and splines."""

from __future__ import annotations

from .bug import Bug

BUGS = [
    Bug(
        "the derivative by the lower end has the sign of that by the upper one",
        "equations/integral.py",
        "return finite, [found[i] if k else -found[i] for i in self.of]",
        "return finite, [found[i] for i in self.of]",
        "equations/test_quad_derivatives.py",
    ),
    Bug(
        "an integral in a batch is differentiated as if it were alone",
        "equations/integral.py",
        "        for size in reversed(self.lanes):",
        "        for size in self.lanes[1:]:",
        "equations/test_quad_derivatives.py",
    ),
    Bug(
        "an interval that is cut in two keeps its left end for both halves",
        "equations/quad.py",
        "lefts = np.stack([left[k], left[k] + half])",
        "lefts = np.stack([left[k], left[k]])",
        "equations/test_quad.py",
    ),
    Bug(
        "the rule of Gauss is that of Kronrod, so no error is seen",
        "equations/kronrod.py",
        "error = lengths([summed(leaf, BETWEEN) for leaf in samples])",
        "error = lengths([summed(leaf, 0.0 * BETWEEN) for leaf in samples])",
        "equations/test_quad.py",
    ),
    Bug(
        "an integral from the greater end to the lesser one keeps its sign",
        "equations/integral.py",
        "return np.where(ends[0] <= ends[1], value, -value)",
        "return np.where(ends[0] <= ends[1], value, value)",
        "equations/test_quad.py",
    ),
    Bug(
        "a periodic spline forgets the first of its two corners",
        "traced/names/calculus/splines.py",
        "last = np.concatenate([w[:1], np.zeros(m - 2)])",
        "last = np.concatenate([0.0 * w[:1], np.zeros(m - 2)])",
        "equations/test_splines.py",
    ),
    Bug(
        "the second derivative at the right end of a spline has the sign of that at the left one",
        "traced/names/calculus/splines.py",
        "3.0 * h[0] * rise[0] - 0.5 * sign * value * h[0] ** 2",
        "3.0 * h[0] * rise[0] - 0.5 * value * h[0] ** 2",
        "equations/test_splines.py",
    ),
    Bug(
        "an antiderivative jumps between its intervals",
        "traced/names/calculus/splines.py",
        "before = np.cumsum(whole * widths, axis=0)[:-1]",
        "before = (whole * widths)[:-1]",
        "equations/test_splines.py",
    ),
    Bug(
        "np.interp has the left value at the right",
        "traced/names/counting.py",
        "np.where(at > places[-1], last, np.where(at < places[0], first, made))",
        "np.where(at > places[-1], first, np.where(at < places[0], first, made))",
        "traced/test_interp.py",
    ),
]
