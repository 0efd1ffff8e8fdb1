"""
Newton's method with a banded Hessian
=====================================

A noisy signal of 4000 numbers is smoothed: the loss is the distance to the data plus a penalty on jumps between
neighbours that grows like their absolute value. The Hessian has 16 million entries, of which catad stores those of three
diagonals, so a step of Newton's method takes linear time. SciPy's banded solver, with the second derivatives written by
hand, gives the same step.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.linalg import solveh_banded

import catad as ct

n, weight, width = 4000, 6.0, 0.05
rng = np.random.default_rng(1)
t = np.linspace(0.0, 1.0, n)
clean = np.where(t < 0.3, 0.0, np.where(t < 0.6, 1.5, 0.5)) + 0.5 * (t > 0.75) * np.sin(12 * t)
noisy = clean + 0.3 * rng.normal(size=n)


def loss(x):
    """Half the squared distance to the data, and a smooth absolute value of the jumps."""
    return 0.5 * np.sum((x - noisy) ** 2) + weight * np.sum(np.sqrt(np.diff(x) ** 2 + width**2))


slope, curvature = ct.value_and_grad(loss), ct.hessian(loss)
x, norms = noisy.copy(), []
while not norms or norms[-1] > 1e-9:
    value, gradient = slope(x)
    norms.append(np.linalg.norm(gradient))
    H = curvature(x)
    step, rate = H.solve(gradient), 1.0
    while loss(x - rate * step) > value - 1e-4 * rate * (gradient @ step) and rate > 1e-6:
        rate /= 2.0
    x = x - rate * step

jumps = weight * width**2 / (np.diff(x) ** 2 + width**2) ** 1.5
bands = np.zeros((2, n))
bands[1] = 1.0 + np.append(jumps, 0.0) + np.append(0.0, jumps)
bands[0, 1:] = -jumps
v = rng.normal(size=n)
assert np.allclose(curvature(x).solve(v), solveh_banded(bands, v)) and norms[-1] < 1e-8
print(H)

figure, (signal, curve) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained", width_ratios=(3, 2))
signal.plot(t, noisy, ".", color="0.75", markersize=2, label="data")
signal.plot(t, x, label="smoothed")
signal.plot(t, clean, "--", linewidth=1, label="before noise")
signal.legend()
curve.semilogy(norms, "o-", markersize=4)
curve.set(xlabel="step of Newton's method", title="norm of the gradient")
plt.show()
