"""
The Jacobian of a scan is a recurrence
======================================

A smooth maximum of all numbers so far is a scan with ``logaddexp``. Its Jacobian is a triangle: row i says how much each
number counts in the maximum after i steps. catad keeps it as a diagonal and a recurrence, n numbers each, also for n =
100,000, where the array has 10^10 entries; products, transposed products and solutions take linear time. The entries have
a closed form, exp(x_j - y_i) for j <= i.
"""

import matplotlib.pyplot as plt
import numpy as np

import catad as ct

rng = np.random.default_rng(6)
smooth_maximum = ct.scan(np.logaddexp, -np.inf)

x = np.cumsum(0.02 * rng.normal(size=100_000))
y, J = ct.linearize(smooth_maximum, x)
print(J)
print(J.solver)
v = rng.normal(size=len(x))
assert np.allclose(J(v), np.cumsum(np.exp(x - x.max()) * v) / np.cumsum(np.exp(x - x.max())))
assert np.allclose(J(J.solve(v)), v)

n = 120
x = np.cumsum(1.2 * rng.normal(size=n))
y, J = ct.linearize(smooth_maximum, x)
triangle = J.todense()
assert np.allclose(triangle, np.tril(np.exp(x - y[:, None])))

figure, (path, matrix) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
path.plot(x, "o-", markersize=3, linewidth=1, label="x")
path.plot(y, label="smooth maximum so far")
path.plot(np.maximum.accumulate(x), "--", color="0.4", linewidth=1, label="maximum so far")
path.set(xlabel="step", ylim=(x.min() - 4, None))  # with room for the legend
path.legend(loc="lower left")
shown = matrix.imshow(np.where(triangle > 0, np.log10(np.maximum(triangle, 1e-9)), np.nan), vmin=-3, vmax=0)
matrix.set(title=f"log10 of the Jacobian, {J.stored} numbers stored", xlabel="number", ylabel="maximum after step")
figure.colorbar(shown, ax=matrix)
plt.show()
