"""
Memory against time
===================

The gradient of a loop of 2000 steps needs the state of each step in the opposite order. Kept all together they take the
most memory; within a limit, the plan keeps some of them and takes steps again. The picture shows the work for each limit,
as the planner counts it. The gradient is the same to rounding under every limit.
"""

import matplotlib.pyplot as plt
import numpy as np

import catad as ct

n, steps = 250, 2000


@ct.function
def energy(u):
    """A nonlinear wave that runs around a ring: 2000 small steps, then the sum of squares."""
    for _ in range(steps):
        u = u + 0.05 * (np.roll(u, 1) - u) * (1.0 + 0.5 * np.sin(u))
    return np.sum(u**2)


u = np.exp(-np.linspace(-4.0, 4.0, n) ** 2)
whole = ct.plan(energy, ct.f64[n], memory=1e9, cost="operations").cost
gradient = ct.grad(energy)(u)

rows = []
for share in (1.0, 0.05, 0.03, 0.015, 0.008, 0.005):
    plan = ct.plan(energy, ct.f64[n], memory=share * whole.peak, cost="operations")
    found = plan.run(u).todense()
    rows.append((plan.cost.peak, plan.cost.operations, np.max(np.abs(found - gradient)) / np.max(np.abs(gradient))))
peaks, operations, errors = np.array(rows).T
assert np.all(np.diff(peaks) < 0) and np.all(np.diff(operations) >= 0) and np.max(errors) < 1e-12

figure, axes = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
axes.loglog(peaks / 1e3, operations / whole.operations, "o-")
axes.axvline(8 * n * steps / 1e3, color="0.5", linestyle=":", label="all 2000 states")
axes.set(xlabel="most memory alive at a time (kB)", ylabel="operations, without a limit = 1")
axes.set(title="each plan gives the same gradient", yticks=(1, 1.5, 2, 3), yticklabels=("1", "1.5", "2", "3"))
axes.set(xticks=(30, 100, 300, 1000, 3000, 10000), xticklabels=("30", "100", "300", "1000", "3000", "10,000"))
axes.minorticks_off()
axes.legend()
plt.show()
