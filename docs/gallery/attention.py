"""
Attention as a string diagram
=============================

One head of attention, written in NumPy, is a program that can be drawn: time runs from left to right, and each wire says
what shape it has. Green boxes are linear, blue ones work on each number by itself. The result is compared with sums in
plain Python, and its pullback with central differences.
"""

import math

import numpy as np

import catad as ct


def attention(x, queries, keys, values):
    """Each row of x asks all rows; softmax says how much each answer counts."""
    scores = (x @ queries) @ (x @ keys).T / math.sqrt(queries.shape[1])
    shares = np.exp(scores - np.max(scores, axis=1, keepdims=True))
    return (shares / np.sum(shares, axis=1, keepdims=True)) @ (x @ values)


rng = np.random.default_rng(0)
x, queries, keys, values = rng.normal(size=(6, 4)), *rng.normal(size=(3, 4, 2))
y, pullback = ct.vjp(attention, x, queries, keys, values)

q, k, v = (np.array([[sum(row * column) for column in matrix.T] for row in x]) for matrix in (queries, keys, values))
for row in range(6):
    weights = [math.exp(sum(q[row] * k[other]) / math.sqrt(2.0)) for other in range(6)]
    assert np.allclose(y[row], sum(w * v[other] for other, w in enumerate(weights)) / sum(weights))

step = 1e-6 * rng.normal(size=x.shape)
change = np.sum(attention(x + step, queries, keys, values) - attention(x - step, queries, keys, values)) / 2
assert abs(np.sum(pullback(np.ones((6, 2)))[0] * step) - change) < 1e-8 * abs(change) + 1e-14

# %%
# The program of the function at these shapes. In a notebook the last line of a cell shows the picture.

ct.function(attention).at(x, queries, keys, values)
