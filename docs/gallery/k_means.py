"""
k-means by Newton's method
==========================

The loss of k-means is the sum of squared distances to the nearest centre. Its gradient by the centres adds up the points
of each centre, as a histogram does. Its Hessian is a diagonal, twice the counts, so a step of Newton's method costs no
more than a gradient. The lines are the paths of the centres; SciPy's k-means takes the same steps.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.cluster.vq import kmeans2

import catad as ct

rng = np.random.default_rng(5)
k, n = 5, 2000
middles = np.array([[0.0, 0.0], [3.0, 1.0], [1.0, 3.5], [4.5, 4.0], [-2.0, 2.5]])
points = middles[rng.integers(0, k, n)] + 0.6 * rng.normal(size=(n, 2))


def nearest(centres):
    """The number of the nearest centre of each point."""
    return np.argmin(np.sum((points[:, None] - centres) ** 2, axis=2), axis=1)


def loss(centres):
    """The sum of squared distances of the points to their nearest centres."""
    return np.sum((points - centres[nearest(centres)]) ** 2)


slope, curvature = ct.grad(loss), ct.hessian(loss)
count = ct.histogram(ct.add, 0.0, k)
centres, losses = points[:k].copy(), []
path = [centres]
for _ in range(12):
    H = curvature(centres)
    assert np.allclose(H.todense().reshape(2 * k, 2 * k), np.diag(np.repeat(2.0 * count(nearest(centres), np.ones(n)), 2)))
    centres = centres - H.solve(slope(centres))
    losses.append(loss(centres))
    path.append(centres)
theirs, labels = kmeans2(points, points[:k].copy(), iter=12, minit="matrix")
assert np.allclose(centres, theirs)
print(H)

figure, (plane, curve) = plt.subplots(1, 2, figsize=(8.5, 3.8), layout="constrained", width_ratios=(3, 2))
plane.scatter(*points.T, c=labels, s=4, cmap="tab10", vmax=9, alpha=0.5)
plane.plot(*np.moveaxis(path, 2, 0), "k.-", linewidth=1, markersize=4)
plane.plot(*centres.T, "kX", markersize=9)
plane.set(title="2000 points and the paths of 5 centres", aspect="equal", xticks=[], yticks=[])
curve.plot(range(1, 13), losses, "o-")
curve.set(xlabel="Newton step", title="sum of squared distances")
plt.show()
