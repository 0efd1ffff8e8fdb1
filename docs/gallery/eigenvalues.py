"""
Which mass lowers which tone
============================

The tones of a string are eigenvalues of a symmetric matrix. ``np.linalg.eigvalsh`` is differentiated like any other
function: the curves say how much a little mass at a place changes each tone. For an even string the change is minus the
eigenvalue times the square of the mode, which is the dashed line; mass on a node leaves a tone as it is.
"""

import matplotlib.pyplot as plt
import numpy as np

import catad as ct

n = 120
place = np.arange(1, n + 1) / (n + 1)
stiffness = (n + 1) ** 2 * (2.0 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1))


def tones(mass):
    """The three lowest squared frequencies of a string with these masses."""
    root = 1.0 / np.sqrt(mass)
    return np.linalg.eigvalsh(root[:, None] * stiffness * root)[:3]


even = np.ones(n)
squares = tones(even)
by_mass = ct.jacrev(tones)(even)

figure, grid = plt.subplots(1, 3, figsize=(9, 3.3), layout="constrained", sharey=True)
for k, axes in enumerate(grid, 1):
    exact = 4.0 * (n + 1) ** 2 * np.sin(0.5 * np.pi * k / (n + 1)) ** 2
    closed = -exact * 2.0 / (n + 1) * np.sin(np.pi * k * place) ** 2
    assert np.isclose(squares[k - 1], exact) and np.allclose(by_mass[k - 1], closed, atol=1e-9)
    relative = (n + 1) / squares[k - 1]
    axes.plot(place, relative * by_mass[k - 1], linewidth=3, label="catad")
    axes.plot(place, relative * closed, "--", color="C1", label="closed form")
    axes.plot(place, 0.5 * np.sin(np.pi * k * place), color="0.7", linewidth=1, label="the mode")
    axes.set(title=f"tone {k}", xlabel="place of the mass")
grid[0].set(ylabel="relative change of the square")
figure.legend(*grid[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
plt.show()
