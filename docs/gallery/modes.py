"""
Forward, reverse, or neither
============================

The derivative of a chain of n maps is a product of n matrices. Forward mode multiplies from the input, reverse mode from
the output; ``ct.plan`` finds the cheapest order. On the left: the operations for one chain whose width changes from layer
to layer, cut off after 2 to 14 maps. On the right: how many times more the better of the two modes costs, over 25 random
chains for each length. A plan may take over the order of an earlier chain if that costs at most 15 % above a bound; the
textbook's recursion, which shares no code with catad, confirms it.
"""

from functools import lru_cache
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np

import catad as ct

rng = np.random.default_rng(3)


def drawn(n):
    """The sizes (rows, columns) of n matrices in a chain, the first of which is applied first."""
    widths = rng.integers(2, 200, n + 1)
    return [(int(m), int(k)) for k, m in pairwise(widths)]


def least(sizes):
    """The operations of the best order, by the textbook's recursion."""
    widths = [sizes[0][1], *[m for m, _ in sizes]]

    @lru_cache(None)
    def best(i, j):
        splits = (best(i, k) + best(k, j) + widths[i] * widths[k] * widths[j] for k in range(i + 1, j))
        return min(splits, default=0)

    return best(0, len(sizes))


lengths, chain = range(2, 15), drawn(14)
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for mode in ("forward", "reverse", "auto"):
    left.semilogy(lengths, [ct.plan(chain[:n], mode=mode).cost.operations for n in lengths], "o-", label=mode, markersize=4)
left.set(xlabel="maps in the chain", ylabel="multiply-adds", title="one chain")
left.legend()

ratios = []
for n in lengths:
    chains = [drawn(n) for _ in range(25)]
    planned = [ct.plan(sizes).cost.operations for sizes in chains]
    assert np.all(planned <= 1.15 * np.array([least(sizes) for sizes in chains]))  # what a plan may cost that is taken over
    modes = [min(ct.plan(sizes, mode=mode).cost.operations for mode in ("forward", "reverse")) for sizes in chains]
    ratios.append(np.divide(modes, planned))
right.boxplot(ratios, positions=list(lengths), widths=0.6, showfliers=False)
right.set(xlabel="maps in the chain", title="better mode over the planned order")
right.set_yscale("log")
right.axhline(1.0, color="0.6", linewidth=1)
plt.show()
