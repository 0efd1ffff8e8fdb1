"""
A plan as bars
==============

A network of six linear maps narrows to three numbers twice. The bars are the cost of its Jacobian in three orders:
forward mode, reverse mode, and the order that ``ct.plan`` finds. Work and peak memory are what the planner counts;
``ct.count`` confirms the operations while the products run.
"""

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np

import catad as ct

rng = np.random.default_rng(0)
widths = [120, 120, 3, 150, 150, 3, 100]
maps = [ct.lift(rng.normal(size=(m, n)) / np.sqrt(n)) for n, m in pairwise(widths)]
network = maps[0] >> ct.tanh >> maps[1] >> maps[2] >> ct.tanh >> maps[3] >> maps[4] >> ct.tanh >> maps[5]
at = ct.f64[widths[0]]

plans = {mode: ct.plan(network, at, mode=mode, cost="operations") for mode in ("forward", "reverse", "auto")}

x = rng.normal(size=widths[0])
_, L = ct.linearize(network, x)
for plan in plans.values():
    with ct.count() as counted:
        J = plan.multiply(L)
    assert counted.operations == plan.cost.operations
    assert np.allclose(J.todense(), plans["forward"].multiply(L).todense())

figure, (work, memory) = plt.subplots(1, 2, figsize=(8.5, 2.8), sharey=True, layout="constrained")
for axes, numbers, title in (
    (work, [plan.cost.operations for plan in plans.values()], "multiply-adds"),
    (memory, [plan.cost.peak / 1e3 for plan in plans.values()], "peak memory (kB)"),
):
    bars = axes.barh(list(plans), numbers, color=["C6", "C6", "C0"])
    axes.bar_label(bars, [f"{number:,.0f}" for number in numbers], padding=4)
    axes.set(title=title, xlim=(0, 1.25 * max(numbers)), xticks=[])
    axes.spines[:].set_visible(False)
plt.show()

# %%
# A plan shows itself in a notebook:

plans["auto"]
