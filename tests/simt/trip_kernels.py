"""Kernels with loops: those whose trips are done at once, with the boxes that come out, and those that must be sweeps."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

import catad as ct
from catad.simt.kernel import Launch


class Loop(NamedTuple):
    """A launch with arguments, and the boxes that its wiring has among others; a sweep has "Sweep"."""

    launch: Launch
    args: tuple[Any, ...]
    boxes: tuple[str, ...] = ()


rng = np.random.default_rng(6)


def drawn(*shape: int) -> Any:
    return rng.uniform(0.5, 1.5, shape)


@ct.kernel
def matmul(a, b, c):
    i, j = ct.simt.grid(2)
    if i < c.shape[0] and j < c.shape[1]:
        s = 0.0
        for k in range(a.shape[1]):
            s += a[i, k] * b[k, j]
        c[i, j] = s


@ct.kernel
def scaled_product(a, b, w, c):
    """The factors depend on further numbers, and threads beyond the matrix go on behind the loop."""
    i, j = ct.simt.grid(2)
    s = 0.5
    if i < a.shape[0] and j < b.shape[1]:
        for k in range(a.shape[1]):
            s -= 2.0 * a[i, k] * w[k] * math.sin(b[k, j])
    c[i, j] = s


@ct.kernel
def saxpy(a, x, y):
    for i in range(ct.simt.grid(1), len(x), ct.simt.gridsize(1)):
        y[i] = a * x[i] + y[i]


@ct.kernel
def strided_rows(a, x, y):
    for r in range(ct.simt.grid(1), a.shape[0], ct.simt.gridsize(1)):
        s = 0.0
        for k in range(a.shape[1]):
            s += a[r, k] * x[k]
        y[r] = s


@ct.kernel
def per_thread(w, x, y):
    """What is read before the loop differs from thread to thread, so threads and trips are axes of their own."""
    t = ct.simt.grid(1)
    own = w[t]
    for k in range(t, len(x), ct.simt.gridsize(1)):
        y[k] = own * x[k]


@ct.kernel
def triangle(x, y):
    i = ct.simt.grid(1)
    if i < len(y):
        s = 1.0
        for k in range(i):
            s += x[k] * x[i]
        y[i] = s


@ct.kernel
def downwards(x, y):
    i = ct.simt.grid(1)
    if i < len(y):
        s = 0
        for k in range(len(x) - 1, i, -2):
            s -= x[k] / (k + 1.0)
        y[i] = s


@ct.kernel
def stores_downwards(x, y):
    i = ct.simt.grid(1)
    if i < 3:
        for k in range(len(x) - 1 - i, -1, -3):
            y[k] = x[k] * x[k]


@ct.kernel
def product(x, y):
    i = ct.simt.grid(1)
    if i < len(y):
        p = 2.0
        for k in range(i, len(x)):
            p *= x[k]
        y[i] = p


@ct.kernel
def extremes(x, y, z):
    i = ct.simt.grid(1)
    if i < len(y):
        high, low = -1.0, 9.0
        largest, least = 0.3, 7.0
        for k in range(i + 4):
            high = np.maximum(high, x[k] * y[i])
            low = np.minimum(low, x[k])
            largest = max(largest, x[k])
            v = x[k]
            if v < least:
                least = v
        y[i] = high * largest
        z[i] = low + 2.0 * least


@ct.kernel
def nested(x, w, y):
    i = ct.simt.grid(1)
    if i < len(y):
        s = w[i]
        for a in range(20):
            for b in range(a, 18):
                s += x[a, b] * w[i]
        y[i] = s


@ct.kernel
def choosing(x, y):
    i = ct.simt.grid(1)
    if i < len(y):
        s = 0.0
        for k in range(len(x)):
            if k == 3:
                continue
            if x[k] > 1.0:
                s += math.sqrt(x[k] - 1.0)
            elif k > i:
                s -= x[k]
        y[i] = s


@ct.kernel
def gathered(p, x, y):
    i = ct.simt.grid(1)
    if i < len(y):
        s = 0.0
        for k in range(p.shape[1]):
            s += x[p[i, k]]
        y[i] = s


@ct.kernel
def two_sums(x, y):
    i = ct.simt.grid(1)
    if i < y.shape[0]:
        s, q = 0.0, 0.0
        for k in range(len(x)):
            d = x[k] - x[i]
            s += d
            q += d * d
        y[i, 0] = s
        y[i, 1] = q


@ct.kernel
def own_memory(x, y):
    i = ct.simt.grid(1)
    v = ct.simt.local.array(20, x.dtype)
    if i < len(y):
        for k in range(20):
            v[k] = x[k] * x[i]
        s = 0.0
        for k in range(20):
            s += v[k] * v[19 - k]
        y[i] = s


@ct.kernel
def filled(x, y):
    s = ct.simt.shared.array(40, x.dtype)
    t, b = ct.simt.threadIdx.x, ct.simt.blockIdx.x
    for k in range(t, 40, ct.simt.blockDim.x):
        s[k] = x[40 * b + k]
    ct.simt.syncthreads()
    total = 0.0
    for k in range(40):
        total += s[k] * s[t]
    y[ct.simt.grid(1)] = total


@ct.kernel
def scattered(p, x, y):
    """Trips of one thread may store into one cell: the last one wins."""
    for k in range(ct.simt.grid(1), len(x), ct.simt.gridsize(1)):
        y[p[k]] = x[k] * x[k]


@ct.kernel
def scattered_by_own(p, w, x, y):
    """The same with trips as an axis of their own, and threads in two dimensions; each thread has a row of its own."""
    i, j = ct.simt.grid(2)
    own = w[i, j]
    for k in range(x.shape[0]):
        if k != i:
            y[i, j, p[k]] = own * x[k]


@ct.kernel
def any_of(x, y):
    i = ct.simt.grid(1)
    found, least = False, True
    for k in range(i, len(x)):
        found = max(found, x[k] > 1.2)
        least = min(least, x[k] > 0.6)
    y[i] = 2.0 * found + least


@ct.kernel
def histogram(b, x, h):
    for k in range(ct.simt.grid(1), len(x), ct.simt.gridsize(1)):
        ct.simt.atomic.add(h, b[k], x[k] * x[k])


@ct.kernel
def ranked(b, x, h, before):
    i = ct.simt.grid(1)
    for k in range(12):
        if i < 5:
            before[i, k] = ct.simt.atomic.add(h, (i, b[i, k]), x[i, k])


@ct.kernel
def bounded(b, x, low, high):
    for k in range(ct.simt.grid(1), len(x), ct.simt.gridsize(1)):
        ct.simt.atomic.min(low, b[k], x[k])
        ct.simt.atomic.max(high, b[k], 2.0 * x[k])


@ct.kernel
def pairs(x, y):
    """Even and odd cells are written by two statements; no trip comes to a cell of another one."""
    i = ct.simt.grid(1)
    if i < 2:
        for k in range(12):
            y[i, 2 * k] = x[k] * y[i, 2 * k + 1]
            y[i, 2 * k + 1] = y[i, 2 * k] + 1.0


@ct.kernel
def cell_sum(x, y, z):
    """Cells of two arrays, one of them below a condition that trips decide."""
    i = ct.simt.grid(1)
    if i < len(y):
        for k in range(x.shape[1]):
            y[i] += 2.0 * x[i, k]
            if i + k < x.shape[1]:
                z[i, 1] *= x[i, k]


@ct.kernel
def cell_least(x, y):
    i = ct.simt.grid(1)
    for k in range(x.shape[1]):
        if i < len(y) and x[i, k] < y[i]:
            y[i] = x[i, k]


@ct.kernel
def running_least(x, y):
    i = ct.simt.grid(1)
    s = 1.2
    for k in range(x.shape[1]):
        if x[i, k] < s:
            s = x[i, k]
    y[i] = s


@ct.kernel
def cut_cell(x, y):
    """Each store cuts the sum to an integer."""
    i = ct.simt.grid(1)
    for k in range(x.shape[1]):
        y[i] += x[i, k]


@ct.kernel
def one_cell(x, y):
    """Threads have no cells of their own, though only one of them comes there."""
    i = ct.simt.grid(1)
    for k in range(len(x)):
        if i == 1:
            y[0] += x[k]


@ct.kernel
def read_beside(x, y, z):
    """The cell is read by itself, too."""
    i = ct.simt.grid(1)
    for k in range(x.shape[1]):
        y[i] += x[i, k]
        z[i, k] = y[i]


@ct.kernel
def recurrence(x, y):
    i = ct.simt.grid(1)
    if i < 2:
        for k in range(20):
            y[i, k + 1] = y[i, k] * x[k]


@ct.kernel
def running(x, y):
    i = ct.simt.grid(1)
    if i < 2:
        s = 0.0
        for k in range(20):
            s += x[k]
            y[i, k] = s


@ct.kernel
def left_early(x, y):
    i = ct.simt.grid(1)
    if i < len(y):
        s = 0.0
        for k in range(len(x)):
            if x[k] > 1.4 and k > i:
                break
            s += x[k]
        y[i] = s


@ct.kernel
def damped(x, y):
    i = ct.simt.grid(1)
    if i < len(y):
        s = 0.0
        for k in range(len(x)):
            s = 0.5 * s + x[k]
        y[i] = s


@ct.kernel
def overwritten(x, y):
    i = ct.simt.grid(1)
    if i < len(y):
        for k in range(len(x)):
            y[i] = x[k] + i


@ct.kernel
def last_index(x, y):
    i = ct.simt.grid(1)
    if i < len(y):
        best, at = x[0], 0
        for k in range(1, len(x)):
            if x[k] > best:
                best = x[k]
                at = k
        y[i] = best * at


n = 22
index = rng.integers(0, 9, n)
order = np.concatenate([rng.permutation(9) for _ in range(3)])[:n]
AT_ONCE = {
    "matmul": Loop(matmul[(2, 2), (4, 4)], (drawn(7, 20), drawn(20, 6), np.zeros((7, 6))), ("Contract",)),
    "scaled_product": Loop(scaled_product[(2, 2), (4, 4)], (drawn(7, 20), drawn(20, 6), drawn(20), np.zeros((8, 8)))),
    "saxpy": Loop(saxpy[2, 3], (2.5, drawn(n), drawn(n))),
    "strided_rows": Loop(strided_rows[2, 3], (drawn(14, 20), drawn(20), np.zeros(14))),
    "per_thread": Loop(per_thread[2, 3], (drawn(6), drawn(n), np.zeros(n))),
    "triangle": Loop(triangle[3, 8], (drawn(n), np.zeros(n))),
    "downwards": Loop(downwards[2, 8], (drawn(n), np.zeros(12))),
    "stores_downwards": Loop(stores_downwards[1, 4], (drawn(n), np.zeros(n))),
    "product": Loop(product[1, 8], (drawn(n), np.zeros(5)), ("Fold",)),
    "extremes": Loop(extremes[1, 8], (drawn(12), drawn(6), np.zeros(6)), ("Fold",)),
    "nested": Loop(nested[1, 8], (drawn(20, 18), drawn(5), np.zeros(5))),
    "choosing": Loop(choosing[2, 4], (drawn(n), np.zeros(6))),
    "gathered": Loop(gathered[2, 4], (rng.integers(0, 7, (6, 18)), drawn(7), np.zeros(6))),
    "two_sums": Loop(two_sums[2, 4], (drawn(n), np.zeros((6, 2)))),
    "own_memory": Loop(own_memory[2, 4], (drawn(20), np.zeros(6))),
    "filled": Loop(filled[2, 8], (drawn(80), np.zeros(16))),
    "scattered": Loop(scattered[1, 9], (np.tile(np.arange(9), 3)[:n], drawn(n), np.zeros(9))),
    "scattered_by_own": Loop(scattered_by_own[(2, 1), (2, 3)], (order % 5, drawn(4, 3), drawn(n), np.zeros((4, 3, 5)))),
    "histogram": Loop(histogram[2, 3], (index, drawn(n), drawn(9))),
    "ranked": Loop(ranked[1, 8], (rng.integers(0, 4, (5, 12)), drawn(5, 12), drawn(5, 4), np.zeros((5, 12)))),
    "bounded": Loop(bounded[2, 3], (index, drawn(n), drawn(9), drawn(9))),
    "pairs": Loop(pairs[1, 2], (drawn(12), drawn(2, 24))),
    "cell_sum": Loop(cell_sum[2, 4], (drawn(6, 20), drawn(6), drawn(6, 2)), ("Contract", "Fold")),
    "cell_least": Loop(cell_least[2, 4], (drawn(6, 20), drawn(6)), ("Fold",)),
    "running_least": Loop(running_least[2, 3], (drawn(6, 20), np.zeros(6)), ("Fold",)),
}
"""Loops whose trips are done at once."""
ONE_BY_ONE = {
    "recurrence": Loop(recurrence[1, 2], (drawn(20), drawn(2, 21))),
    "running": Loop(running[1, 2], (drawn(20), drawn(2, 20))),
    "left_early": Loop(left_early[2, 4], (drawn(n), np.zeros(6))),
    "damped": Loop(damped[2, 4], (drawn(n), np.zeros(6))),
    "overwritten": Loop(overwritten[2, 4], (drawn(n), np.zeros(6))),
    "any_of": Loop(any_of[2, 4], (drawn(n), np.zeros(8))),
    "last_index": Loop(last_index[2, 4], (drawn(n), np.zeros(6))),
    "one_cell": Loop(one_cell[1, 4], (drawn(n), drawn(3))),
    "read_beside": Loop(read_beside[2, 3], (drawn(6, 20), drawn(6), np.zeros((6, 20)))),
}
"""Loops in which trips depend on each other, or on what is carried."""
