"""
An HM-LSTM and where its gradient goes
======================================

In a hierarchical multiscale LSTM (J. Chung, S. Ahn and Y. Bengio, 2017) a cell takes one of three branches at each step:
it updates its memory, copies it, or flushes it after a boundary. The cell below is a function with branches, and its
derivative is that of the branch that runs. The curve is the gradient of the last memory by each earlier one: copies keep
it, updates shrink it, and past a flush only the way through the gates is left.
"""

import matplotlib.pyplot as plt
import numpy as np

import catad as ct


@ct.map
def cell(flushes, arrives, c, f, i, g):
    """The memory of a unit: after a boundary of its own, without one below, with one below."""
    if flushes == 1.0:
        return ct.sigmoid(i) * ct.tanh(g)
    if arrives == 0.0:
        return c
    return ct.sigmoid(f) * c + ct.sigmoid(i) * ct.tanh(g)


rng = np.random.default_rng(2)
steps, n = 48, 8
below = (np.arange(steps) % 4 == 3).astype(float)  # a boundary in the layer below at each fourth step
own = np.isin(np.arange(steps), (18, 33)).astype(float)  # boundaries of this layer
x = rng.normal(size=(steps, n))
weights = {name: rng.normal(size=(2 * n, n)) / np.sqrt(2 * n) for name in "fig"}


def memories(shifts):
    """The memory after each step, to which a shift is added; the gates read the input and the memory."""
    c = np.zeros(n)
    states = []
    for t in range(steps):
        both = np.concatenate([x[t], np.tanh(c)])
        gates = [both @ weights[name] for name in "fig"]
        c = cell(own[t] * np.ones(n), below[t] * np.ones(n), c, *gates) + shifts[t]
        states.append(c)
    return np.stack(states)


zero, step = np.zeros((steps, n)), 1e-6 * rng.normal(size=(steps, n))
gradient = ct.grad(lambda shifts: np.sum(memories(shifts)[-1]))(zero)
assert np.isclose(np.sum(gradient * step), np.sum(memories(step)[-1] - memories(-step)[-1]) / 2, rtol=1e-6)

figure, grid = plt.subplots(3, 1, figsize=(8, 4.4), sharex=True, layout="constrained", height_ratios=(1, 3, 4))
grid[0].imshow(np.where(own == 1, 2, below)[None], aspect="auto", cmap="Set2", vmax=7)
grid[0].set(title="green: copy, orange: update, blue: flush", yticks=[])
grid[1].imshow(memories(zero).T, aspect="auto", cmap="RdBu", vmin=-1, vmax=1)
grid[1].set(ylabel="memory", yticks=[])
grid[2].semilogy(np.linalg.norm(gradient, axis=1), "o-", markersize=3, drawstyle="steps-mid")
grid[2].set(xlabel="step", ylabel="gradient by the memory")
plt.show()
