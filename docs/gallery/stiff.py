"""
A stiff equation and its sensitivities
======================================

Robertson's three reactions (H. Robertson, 1966) run over ten powers of ten in time. ``ct.odeint`` with a Rosenbrock
method takes few steps there, and ``ct.jacfwd`` gives the derivatives of all concentrations by the three rates. SciPy's
LSODA, and central differences of it, say the same.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.integrate import solve_ivp

import catad as ct

rates = np.array([0.04, 3e7, 1e4])  # A to B; 2 B to B + C; B + C to A + C
start, times = np.array([1.0, 0.0, 0.0]), np.append(0.0, np.logspace(-5, 5, 61))


def reactions(t, y, rates):
    """The slopes of three concentrations."""
    first, second, third = rates[0] * y[0], rates[1] * y[1] ** 2, rates[2] * y[1] * y[2]
    return np.stack([third - first, first - second - third, second])


solve = ct.odeint(reactions, method="rosenbrock23", rtol=1e-6, atol=1e-10)


def concentrations(log_rates):
    """The concentrations at all times, by the logarithms of the rates."""
    return solve(start, times, np.exp(log_rates))


y, slopes = concentrations(np.log(rates)), ct.jacfwd(concentrations)(np.log(rates))


def lsoda(log_rates):
    """The same by SciPy."""
    span = (0.0, times[-1])
    return solve_ivp(reactions, span, start, "LSODA", times, args=(np.exp(log_rates),), rtol=1e-10, atol=1e-14).y.T


assert np.allclose(y, lsoda(np.log(rates)), rtol=1e-3, atol=1e-7)
h = np.array([1e-4, 0.0, 0.0])
by_first = (lsoda(np.log(rates) + h) - lsoda(np.log(rates) - h)) / 2e-4
assert np.allclose(slopes[:, :, 0], by_first, rtol=1e-2, atol=1e-5)

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
for k, (name, scale) in enumerate((("A", 1.0), ("10,000 B", 1e4), ("C", 1.0))):
    left.semilogx(times[1:], scale * y[1:, k], label=name)
    right.semilogx(times[1:], slopes[1:, 0, k], label=f"by log k{k + 1}")
right.semilogx(times[1::6], by_first[1::6, 0], "k.", label="LSODA, differences")
left.set(title="concentrations", xlabel="t")
right.set(title="derivatives of A", xlabel="t")
left.legend()
right.legend()
plt.show()
