"""
An elimination as an animation
==============================

The derivative of a program that shares work is a graph of Jacobians. Eliminating a vertex multiplies the Jacobians into
it with those out of it; a dashed edge is one that this adds. Forward and reverse mode are two of the 5040 orders of these
seven vertices, each of which stands for an array of the size that ``sizes`` has. The bars count all orders in plain
Python: none is cheaper than the plan, which is the one that the animation shows.
"""

from itertools import permutations

import matplotlib.pyplot as plt
import numpy as np

import catad as ct

edges = [(0, 2), (1, 3), (2, 3), (2, 4), (3, 5), (4, 5), (4, 6), (5, 7), (6, 7), (6, 8), (7, 9), (8, 9), (8, 10)]
sizes = [6, 4, 1, 8, 2, 9, 1, 7, 3, 5, 6]
graph = ct.Graph(edges, inputs=[0, 1], outputs=[9, 10], sizes=sizes)
plan = ct.plan_graph(graph)
print(plan)
plan.animate()

# %%
# The number of multiplications of every order, and of the three that have a name:


def multiplications(order):
    """What it costs to eliminate the vertices in this order."""
    left, total = set(edges), 0
    for vertex in order:
        before = [a for a, b in left if b == vertex]
        after = [b for a, b in left if a == vertex]
        total += sizes[vertex] * sum(sizes[a] for a in before) * sum(sizes[b] for b in after)
        left = {edge for edge in left if vertex not in edge} | {(a, b) for a in before for b in after}
    return total


counts = np.array([multiplications(order) for order in permutations(range(2, 9))])
assert counts.min() == plan.cost.operations == multiplications(plan.order)
figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
axes.hist(counts, bins=60, color="0.75")
named = {"planned": plan.order, "forward": range(2, 9), "reverse": range(8, 1, -1)}
for colour, (name, order) in enumerate(named.items()):
    axes.axvline(multiplications(order), color=f"C{colour}", label=f"{name}: {multiplications(order):,}")
axes.set(xlabel="multiplications", ylabel="orders")
figure.legend(loc="outside upper center", ncols=3)
plt.show()
