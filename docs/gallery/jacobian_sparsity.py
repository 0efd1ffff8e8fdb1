"""
Sparsity of Jacobians
=====================

The Jacobian of each program below is a map of 24 numbers to 24 numbers. A cell is dark where its entry can differ from
zero. The title says how many numbers catad stores for the map; the array has 576 entries. Each map is compared with
central differences.
"""

import matplotlib.pyplot as plt
import numpy as np

import catad as ct

n = 24
x = 1.0 + 0.4 * np.sin(0.6 * np.arange(n)) + 0.01 * np.arange(n)
weights = np.random.default_rng(0).normal(size=(2, n))


def reversed_blocks(x):
    """Products of neighbours, the last pair first."""
    pairs = x.reshape(-1, 2)[::-1]
    return np.stack([pairs[:, 0] * pairs[:, 1], pairs[:, 0] / pairs[:, 1]], axis=1).ravel()


programs = {
    "each number by itself": lambda x: np.sin(x) * x,
    "neighbours": lambda x: 0.2 * np.roll(x, 1) + 0.6 * x * x + 0.2 * np.roll(x, -1),
    "running sum of squares": lambda x: np.cumsum(x * x),
    "largest so far": np.maximum.accumulate,
    "pairs in reverse order": reversed_blocks,
    "through two numbers": lambda x: weights.T @ np.tanh(weights @ x),
    "sorted": np.sort,
    "cubes and their mean": lambda x: x**3 + np.mean(x**3),
}

figure, grid = plt.subplots(2, 4, figsize=(9, 5), layout="constrained")
for axes, (name, program) in zip(grid.flat, programs.items(), strict=True):
    _, J = ct.linearize(program, x)
    by_differences = np.stack([(program(x + h) - program(x - h)) / 2e-6 for h in 1e-6 * np.eye(n)], axis=1)
    assert np.allclose(J.todense(), by_differences, atol=1e-8), name
    axes.imshow(J.todense() != 0, cmap="Blues", vmin=0, vmax=1.3)
    axes.set(title=f"{name}\nstored {J.stored}", xticks=[], yticks=[])
    axes.spines[:].set_visible(True)
plt.show()
