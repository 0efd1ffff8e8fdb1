"""Bugs in linear algebra."""

from __future__ import annotations

from .bug import Bug

BUGS = [
    Bug(
        "what a change of the matrix does to a solution has the other sign",
        "linear/families/inverse.py",
        "less = [pointwise(space, space, None, -1.0)",
        "less = [pointwise(space, space, None, 1.0)",
        "linalg/test_systems.py",
    ),
    Bug(
        "the transpose of an inverse solves with the matrix itself",
        "linear/families/inverse.py",
        "return Inverse(self.of.T, self.factored, not self.turned)",
        "return Inverse(self.of.T, self.factored, self.turned)",
        "linalg/test_systems.py",
    ),
    Bug(
        "a batch of right-hand sides becomes columns in another order",
        "linear/families/inverse.py",
        "[rhs], (*axes, 0), rhs.shape)",
        "[rhs], (*axes[:-1], 0, axes[-1]), rhs.shape)",
        "linalg/test_systems.py",
    ),
    Bug(
        "Phi keeps the whole diagonal",
        "linalg/cholesky.py",
        "-1) + 0.5 * np.eye(n)",
        "-1) + 1.0 * np.eye(n)",
        "linalg/test_systems.py",
    ),
    Bug(
        "small matrices are solved with the pivots of their neighbours",
        "linear/solving/factors.py",
        "p, row = pivots[:, k], x[:, k].copy()",
        "p, row = np.roll(pivots[:, k], 1), x[:, k].copy()",
        "linalg/test_systems.py",
    ),
    Bug(
        "interchanges of rows do not turn the sign of a determinant",
        "linalg/determinant.py",
        "moved = (pivots != xp.arange(pivots.shape[-1])).sum(axis=-1) % 2\n        return",
        "moved = 0 * (pivots != xp.arange(pivots.shape[-1])).sum(axis=-1)\n        return",
        "linalg/test_systems.py",
    ),
    Bug(
        "cofactors of a singular matrix have no sign",
        "linalg/determinant.py",
        "signs = xp.linalg.det(u) * xp.linalg.det(vh)",
        "signs = xp.abs(xp.linalg.det(u) * xp.linalg.det(vh))",
        "linalg/test_systems.py",
    ),
]
