"""
Least squares with SciPy and a sparse Jacobian
==============================================

Forty fixed stations and 400 movable ones measure the distances to stations near them. ``scipy.optimize.least_squares``
finds the places from 1562 noisy distances. Its Jacobian comes from catad as a sparse matrix: ``result="sparse"`` writes
only entries that can differ from zero, at most four in each row. A central difference in a random direction agrees with
it.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import least_squares
from scipy.spatial import cKDTree

import catad as ct

rng = np.random.default_rng(4)
truth, fixed = rng.random((400, 2)), rng.random((40, 2))
pairs = cKDTree(np.concatenate([truth, fixed])).query_pairs(0.075, output_type="ndarray")
pairs = pairs[pairs[:, 0] < 400]
one, other = pairs.T


def distances(moving):
    """The distance of each pair of stations."""
    places = np.concatenate([moving, fixed])
    return np.sqrt(np.sum((places[one] - places[other]) ** 2, axis=1))


measured = distances(truth) + 0.001 * rng.normal(size=len(pairs))


def residuals(flat):
    """What least squares makes small."""
    return distances(np.reshape(flat, (400, 2))) - measured


jacobian = ct.jacobian(residuals, result="sparse")
start = (truth + 0.02 * rng.normal(size=truth.shape)).ravel()
found = least_squares(residuals, start, jac=jacobian, method="trf", x_scale="jac")
J = jacobian(found.x)
print(f"{len(pairs)} distances, {found.nfev} evaluations, {J.shape[0]} x {J.shape[1]} with {J.nnz} entries")

v = rng.normal(size=800)
difference = (residuals(found.x + 1e-6 * v) - residuals(found.x - 1e-6 * v)) / 2e-6
assert np.allclose(J @ v, difference, atol=1e-6)
before, after = (np.hypot(*(flat.reshape(400, 2) - truth).T) for flat in (start, found.x))
print(f"median error of a place: {np.median(before):.4f} at the start, {np.median(after):.4f} at the end")

figure, (plane, matrix) = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
everywhere = np.concatenate([found.x.reshape(400, 2), fixed])
plane.plot(*np.moveaxis(everywhere[pairs], (0, 1, 2), (2, 1, 0)), color="0.8", linewidth=0.7, zorder=0)
plane.scatter(*found.x.reshape(400, 2).T, c=after, s=14, norm="log", cmap="viridis_r")
plane.plot(*fixed.T, "C5^", markersize=6)
plane.set(title="stations (triangles are fixed)", aspect="equal", xticks=[], yticks=[])
matrix.spy(J, markersize=0.8, aspect="auto")
matrix.set(title=f"Jacobian, {J.nnz / np.prod(J.shape):.2%} of its entries", xticks=[], yticks=[])
plt.show()
