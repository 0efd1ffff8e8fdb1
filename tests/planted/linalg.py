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
        "_exchange(xp, at[k] == row, x, k, row)",
        "_exchange(xp, np.roll(at[k] == row, 1), x, k, row)",
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
    Bug(
        "F has the other sign in the derivative of eigenvectors and singular vectors",
        "linalg/divided.py",
        'difference = apply("sub", param(1), param(0))',
        'difference = apply("sub", param(0), param(1))',
        "linalg/test_decompositions.py",
    ),
    Bug(
        "equal eigenvalues divide 0 by 0",
        "linalg/divided.py",
        '_NOTHING = apply("and", apply("eq", param(0), _ZERO), apply("eq", param(1), _ZERO))',
        '_NOTHING = apply("ne", param(0), param(0))',
        "linalg/test_decompositions.py",
    ),
    Bug(
        "singular vectors of tall matrices stay in the space that they span",
        "linalg/svd.py",
        "        if m > k:\n            inner",
        "        if m > k + m:\n            inner",
        "linalg/test_decompositions.py",
    ),
    Bug(
        "what leaves the columns of Q is not projected",
        "linalg/qr.py",
        "placed(chain, [*over(q, r, 1), beside])",
        "placed(chain, [*over(q, r, 1)])",
        "linalg/test_decompositions.py",
    ),
    Bug(
        "the columns beyond Q turn the other way",
        "linalg/complement.py",
        "factor=-1.0), (0,))])",
        "factor=1.0), (0,))])",
        "linalg/test_decompositions.py",
    ),
    Bug(
        "NaN of one matrix spoils its neighbours",
        "linalg/parts.py",
        "found(a if clean else xp.where(good[..., None, None], a, 0))",
        "found(a if clean else xp.where(good.all(), a, 0))",
        "linalg/test_decompositions.py",
    ),
    Bug(
        "a pseudo-inverse forgets what dA does to its rows",
        "linalg/lstsq.py",
        "structure = total([both, _by_rows(a, p), _by_columns(a, p)])",
        "structure = total([both, _by_columns(a, p)])",
        "linalg/test_least_squares.py",
    ),
    Bug(
        "least squares of lost rank have a derivative",
        "linalg/lstsq.py",
        "(p,) = b.add(Pinv(full=True), a, rtol)",
        "(p,) = b.add(Pinv(full=False), a, rtol)",
        "linalg/test_least_squares.py",
    ),
    Bug(
        "the transpose of Frechet's derivative keeps its matrix",
        "linalg/expm.py",
        "T = property(lambda self: Frechet(self.space, not self.turned))",
        "T = property(lambda self: Frechet(self.space, self.turned))",
        "linalg/test_spectral.py",
    ),
    Bug(
        "the derivative of packed LU factors keeps the diagonal on both sides",
        "linalg/lu.py",
        "lower = np.tril(np.ones((n, n), a.dtype), -1)",
        "lower = np.tril(np.ones((n, n), a.dtype))",
        "linalg/test_systems.py",
    ),
    Bug(
        "the half of a triangle that is not read has a derivative",
        "linalg/solve.py",
        'if kind in ("lower", "upper"):',
        'if kind in ("lower", "upper") and not matrices.ndim:',
        "linalg/test_systems.py",
    ),
]
