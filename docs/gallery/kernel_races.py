"""
A kernel with a race, and without
=================================

Eight threads of a block reverse an array in shared memory. Each thread writes one cell and reads another, so a barrier
must stand between the two statements. Without it catad refuses the launch and names a cell and both statements. A line of
the picture connects the thread that writes a cell with the one that reads it: an orange line is a race, and the green
line is the barrier, with which the kernel and its pullback run.
"""

import matplotlib.pyplot as plt
import numpy as np

import catad as ct
from catad.simt import shared, syncthreads, threadIdx


@ct.kernel
def hasty(d):
    s = shared.array(8, np.float64)
    t = threadIdx.x
    s[t] = d[t]
    d[t] = s[7 - t] ** 2


@ct.kernel
def patient(d):
    s = shared.array(8, np.float64)
    t = threadIdx.x
    s[t] = d[t]
    syncthreads()
    d[t] = s[7 - t] ** 2


x = np.arange(1.0, 9.0)
try:
    hasty[1, 8](x)
    raise AssertionError("the race was not seen")
except ct.ScalarError as error:
    what, *_, way_out = str(error).split("  called:")[0].strip().splitlines()
    print(what, way_out, sep="\n")

y, pullback = ct.vjp(patient[1, 8], x)
assert np.array_equal(y, x[::-1] ** 2) and np.array_equal(pullback(np.arange(8.0))[0], 2.0 * x * np.arange(8.0)[::-1])
ct.testing.check_races(patient[1, 8], x)  # compares every access with every other, and finds nothing

threads = np.arange(8)
figure, grid = plt.subplots(1, 2, figsize=(8.5, 3.6), layout="constrained", sharey=True)
for axes, title, barrier in zip(grid, ("without a barrier", "with syncthreads()"), (False, True), strict=True):
    for t in threads:
        axes.plot([t, 7 - t], [0, 1], color="0.8" if barrier else "C1", linewidth=1.5, zorder=0)
    axes.scatter(threads, 0 * threads, s=110, color="C0", label="writes cell t", zorder=2)
    axes.scatter(threads, 0 * threads + 1, s=110, facecolor="white", edgecolor="C0", label="reads cell 7 - t", zorder=2)
    if barrier:
        axes.axhline(0.5, color="C2", linewidth=5)
    axes.set(title=title, xlabel="thread t", yticks=(0, 1), yticklabels=("s[t] = d[t]", "d[t] = s[7 - t] ** 2"), ylim=(1.3, -0.3))
plt.show()
