"""
Kepler's equation for all orbits at once
========================================

The place of a planet solves E - e sin E = M. ``ct.root`` solves it for one orbit, ``ct.vmap`` for 40,000 at a time, each
with as many steps of Newton's method as it takes. The derivative does not go through these steps: it is that of the
equation. Both pictures are compared with closed forms, 1 / (1 - e cos E) and sin E / (1 - e cos E).
"""

import matplotlib.pyplot as plt
import numpy as np

import catad as ct


def kepler(E, M, e):
    """Zero where E is the eccentric anomaly."""
    return E - e * np.sin(E) - M


@ct.function
def anomaly(M, e):
    """The root from a start near it."""
    return ct.root(kepler)(M + e * np.sin(M), M, e)


M, e = np.meshgrid(np.linspace(0.05, np.pi - 0.05, 200), np.linspace(0.0, 0.9, 200))
at = M.ravel(), e.ravel()
E = ct.vmap(anomaly)(*at).reshape(M.shape)
by_M, by_e = (slope.reshape(M.shape) for slope in ct.vmap(ct.grad(anomaly, argnums=(0, 1)))(*at))
assert np.max(np.abs(kepler(E, M, e))) < 1e-12
assert np.allclose(by_M, 1.0 / (1.0 - e * np.cos(E))) and np.allclose(by_e, np.sin(E) / (1.0 - e * np.cos(E)))
print(f"{E.size:,} roots, the largest residual is {np.max(np.abs(kepler(E, M, e))):.1e}")

figure, grid = plt.subplots(1, 3, figsize=(9.5, 3.2), layout="constrained", sharey=True)
for axes, values, title in zip(grid, (E, by_M, by_e), ("E", "dE / dM", "dE / de"), strict=True):
    filled = axes.contourf(M, e, values, levels=np.linspace(0.0, min(values.max(), 5.0), 16), extend="max")
    figure.colorbar(filled, ax=axes, format="%.1f")
    axes.set(title=title, xlabel="mean anomaly M")
grid[0].set(ylabel="eccentricity e")
plt.show()
