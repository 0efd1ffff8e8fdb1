"""
A Gaussian process
==================

The likelihood of a Gaussian process is a few lines of ``np.linalg``. Value and gradient share one Cholesky factor, and
L-BFGS finds amplitude, length and noise. The inverse of the Hessian at the best point says how sure they are. The data
were drawn from a process with amplitude 1.5, length 0.8 and noise 0.3; the likelihood is compared with that of
``scipy.stats``.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import minimize
from scipy.stats import multivariate_normal

import catad as ct

rng = np.random.default_rng(3)
x = np.sort(np.concatenate([rng.uniform(0.0, 5.0, 50), rng.uniform(6.5, 10.0, 50)]))
truth = np.array([1.5, 0.8, 0.3])


def covariance(scales, a, b):
    """The squared exponential of two sets of places."""
    return scales[0] ** 2 * np.exp(-0.5 * ((a[:, None] - b) / scales[1]) ** 2)


def minus_log_likelihood(log_scales, y):
    """-log p(y | x)."""
    scales = np.exp(log_scales)
    L = np.linalg.cholesky(covariance(scales, x, x) + scales[2] ** 2 * np.eye(len(x)))
    white = solve_triangular(L, y, lower=True)
    return 0.5 * white @ white + np.sum(np.log(np.diag(L))) + 0.5 * len(x) * np.log(2.0 * np.pi)


y = np.linalg.cholesky(covariance(truth, x, x) + 0.09 * np.eye(len(x))) @ rng.normal(size=len(x))
best = minimize(ct.value_and_grad(minus_log_likelihood), np.zeros(3), args=(y,), jac=True, method="L-BFGS-B")
scales, H = np.exp(best.x), ct.hessian(minus_log_likelihood, argnums=0)(best.x, y).todense()
deviations = np.sqrt(np.diag(np.linalg.inv(H)))
for name, true, log_scale, deviation in zip(("amplitude", "length", "noise"), truth, best.x, deviations, strict=True):
    low, high = np.exp(log_scale - deviation), np.exp(log_scale + deviation)
    print(f"{name:<9} drawn with {true}, found {np.exp(log_scale):.2f}, one deviation from {low:.2f} to {high:.2f}")

K = covariance(scales, x, x) + scales[2] ** 2 * np.eye(len(x))
assert np.isclose(-best.fun, multivariate_normal(cov=K).logpdf(y))
places = np.linspace(-0.5, 10.5, 200)
between = covariance(scales, places, x)
mean = between @ np.linalg.solve(K, y)
width = 2.0 * np.sqrt(scales[0] ** 2 - np.sum(between * np.linalg.solve(K, between.T).T, axis=1))
figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
axes.fill_between(places, mean - width, mean + width, alpha=0.2, label="two deviations")
axes.plot(places, mean, label="posterior mean")
axes.plot(x, y, "k.", markersize=4, label="data")
axes.set(xlabel="x", ylabel="y")
figure.legend(ncols=3, loc="outside upper center")
plt.show()
