"""
The best shape of a beam
========================

A concrete beam lies on soil and carries five columns. Its deflection solves a banded system of 4000 equations with
``scipy.linalg.solveh_banded``. Value and gradient by all thicknesses take linear time, and forty steps find the thickness
of least compliance at a fixed volume. The gradient is compared with what the theory of beams says: the bending energy.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.linalg import solveh_banded

import catad as ct

n, length, young, soil = 4000, 100.0, 30e9, 5e7  # points; m; Pa; Pa
x = np.linspace(0.0, length, n)
dx = x[1] - x[0]
load = sum(force / 0.5 * (np.abs(x - place) < 0.25) for place, force in ((12, 1e6), (30, 2e6), (50, 1e6), (70, 2e6), (88, 1e6)))


def deflection(thickness):
    """The deflection at each point, in m; both ends are free."""
    s = young * thickness[1:-1] ** 3 / 12.0 / dx**4
    bands = np.zeros((3, n))  # the diagonal and the two below it
    bands[0] = soil
    bands[0, :-2] += s
    bands[0, 1:-1] += 4.0 * s
    bands[0, 2:] += s
    bands[1, :-2] -= 2.0 * s
    bands[1, 1:-1] -= 2.0 * s
    bands[2, :-2] = s
    return solveh_banded(bands, load, lower=True)


compliance = ct.value_and_grad(lambda thickness: dx * np.sum(load * deflection(thickness)))
thickness, works = np.full(n, 0.5), []
bent = np.diff(deflection(thickness), 2) / dx**2
closed = -dx * young / 4.0 * (thickness[1:-1] * bent) ** 2
assert np.allclose(compliance(thickness)[1][1:-1], closed, rtol=1e-6, atol=1e-6 * np.abs(closed).max())

for _ in range(40):
    work, slope = compliance(thickness)
    works.append(work)
    low, high = 1e-12, 1e12
    while high > low * (1.0 + 1e-10):  # more where the slope is steeper than a level that keeps the volume
        level = np.sqrt(low * high)
        wanted = np.clip(thickness * np.clip(-slope / level, 0.0, None) ** 0.25, 0.8 * thickness, 1.25 * thickness)
        wanted = np.clip(wanted, 0.2, 1.5)
        low, high = (level, high) if wanted.mean() > 0.5 else (low, level)
    thickness = wanted

figure, (top, bottom) = plt.subplots(2, 1, figsize=(8, 4), sharex=True, layout="constrained")
top.plot(x, -1e3 * deflection(np.full(n, 0.5)), color="0.6", label=f"even, {works[0]:,.0f} J")
top.plot(x, -1e3 * deflection(thickness), label=f"best, {works[-1]:,.0f} J")
top.set(ylabel="deflection (mm)")
top.legend()
bottom.fill_between(x, -thickness / 2, thickness / 2, color="0.7")
bottom.set(xlabel="x (m)", ylabel="thickness (m)")
plt.show()
