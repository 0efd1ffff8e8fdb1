"""
Regression on more rows than memory holds
=========================================

Logistic regression on a billion rows, 72 GB, is planned chunk by chunk before anything is computed: the picture shows the
stages of value and gradient, which read each chunk once. The same loss is then minimised over 200,000 rows with Dask; the
gradient that is written by hand vanishes on the whole array.
"""

import dask
import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import catad as ct

dask.config.set(scheduler="synchronous")
truth = np.linspace(-1.0, 1.0, 8)


def loss(weights, rows, labels):
    z = rows @ weights
    return np.mean(np.logaddexp(0, z) - labels * z)


def drawn(n, chunk):  # rows and labels, made when they are needed
    source = da.random.default_rng(0)
    rows = source.normal(size=(n, 8), chunks=(chunk, 8))
    return rows, (source.random(n, chunks=chunk) < 1 / (1 + da.exp(-rows @ truth))) * 1.0


evaluated = ct.value_and_grad(loss)
plan = evaluated.plan_chunks(np.zeros(8), *drawn(10**9, 10**7))
rows, labels = drawn(200_000, 25_000)
losses = []


def one_pass(weights):  # value and gradient
    value, slope = dask.compute(*evaluated(weights, rows, labels))
    losses.append(value)
    return value, slope


found = minimize(one_pass, np.zeros(8), jac=True, method="BFGS", tol=1e-6)
whole, wanted = rows.compute(), labels.compute()
assert np.allclose(whole.T @ (1 / (1 + np.exp(-whole @ found.x)) - wanted) / len(whole), 0.0, atol=1e-6)

figure, (curve, weights) = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
curve.plot(losses, "o-", markersize=4)
curve.set(xlabel="pass over the data", title="loss")
weights.plot(truth, found.x, "o")
weights.plot(truth, truth, "--", color="0.6", zorder=0)
weights.set(xlabel="weight that drew the data", title="weight found")
plt.show()

# %%
# The stages of the plan for a billion rows:

plan
