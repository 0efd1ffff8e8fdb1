"""Kernels of our own, each with a launch and arguments: every kind of site, statement and loop of the language."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

import catad as ct
from catad.simt.kernel import Launch


class Case(NamedTuple):
    """A launch with arguments."""

    launch: Launch
    args: tuple[Any, ...]


rng = np.random.default_rng(16)


def drawn(*shape: int) -> Any:
    return rng.uniform(0.5, 2.0, shape)


@ct.kernel
def guarded(x, y):
    i = ct.simt.grid(1)
    if i >= len(x):
        return
    y[i] = math.sin(x[i]) * x[i]


@ct.kernel
def root(x, o):
    i = ct.simt.grid(1)
    if i < len(x) and x[i] > 1.0:
        o[i] = math.sqrt(x[i] - 1.0)


@ct.kernel
def blur(x, w, o):
    s = ct.simt.shared.array(10, x.dtype)
    i, t = ct.simt.grid(1), ct.simt.threadIdx.x
    s[t + 1] = x[i] if i < len(x) else 0.0
    if t == 0:
        s[0] = x[i - 1] if i > 0 else 0.0
    if t == 7:
        s[9] = x[i + 1] if i + 1 < len(x) else 0.0
    ct.simt.syncthreads()
    if i < len(x):
        o[i] = w[0] * s[t] + w[1] * s[t + 1] + w[2] * s[t + 2]


@ct.kernel
def tree(x, o):
    s = ct.simt.shared.array(ct.simt.blockDim.x, np.float64)
    i, t = ct.simt.grid(1), ct.simt.threadIdx.x
    s[t] = x[i] ** 2 if i < len(x) else 0.0
    ct.simt.syncthreads()
    half = ct.simt.blockDim.x // 2
    while half > 0:
        if t < half:
            s[t] += s[t + half]
        ct.simt.syncthreads()
        half //= 2
    if t == 0:
        o[ct.simt.blockIdx.x] = s[0]


@ct.kernel
def product_of(x, n, o):
    i = ct.simt.grid(1)
    if i >= len(o):
        return
    p = 1.0
    for k in range(n[i]):
        p *= x[k]
    o[i] = p


@ct.kernel
def doubling(a, o):
    i = ct.simt.grid(1)
    if i < len(a):
        steps = 0
        while a[i] < 10.0:
            a[i] += a[i]
            steps += 1
        o[i] = steps * a[i]


@ct.kernel
def left_early(x, o):
    i = ct.simt.grid(1)
    if i < len(o):
        s = 0.0
        for k in range(len(x)):
            if k == 3:
                continue
            if s > 4.0 + i:
                break
            s += x[k] * x[i]
        o[i] = s


@ct.kernel
def slots(b, x, h, before):
    i = ct.simt.grid(1)
    if i < len(x):
        before[i] = ct.simt.atomic.add(h, b[i], x[i] * x[i])


@ct.kernel
def extremes(b, x, low, high):
    i = ct.simt.grid(1)
    if i < len(x):
        ct.simt.atomic.min(low, b[i], x[i])
        ct.simt.atomic.max(high, b[i], 2.0 * x[i])


@ct.kernel
def total(x, o):
    i = ct.simt.grid(1)
    if i < len(x):
        ct.simt.atomic.add(o, 0, x[i] * x[i])
        ct.simt.atomic.sub(o, 1, x[i])


@ct.kernel
def permuted(p, x, y):
    i = ct.simt.grid(1)
    if i < len(x):
        y[p[i]] = x[i] * x[p[i]]


@ct.kernel
def product(a, b, c):
    i, j = ct.simt.grid(2)
    if i < c.shape[0] and j < c.shape[1]:
        s = 0.0
        for k in range(a.shape[1]):
            s += a[i, k] * b[k, j]
        c[i, j] = s


@ct.kernel
def tiled(a, b, c):
    ta = ct.simt.shared.array((4, 4), a.dtype)
    tb = ct.simt.shared.array((4, 4), a.dtype)
    i, j = ct.simt.grid(2)
    x, y = ct.simt.threadIdx.x, ct.simt.threadIdx.y
    s = 0.0
    for k in range(a.shape[1] // 4):
        ta[x, y] = a[i, 4 * k + y]
        tb[x, y] = b[4 * k + x, j]
        ct.simt.syncthreads()
        for m in range(4):
            s += ta[x, m] * tb[m, y]
        ct.simt.syncthreads()
    c[i, j] = s


@ct.kernel
def strided(a, x, y):
    for i in range(ct.simt.grid(1), len(x), ct.simt.gridsize(1)):
        y[i] = a * x[i] + y[i]


@ct.kernel
def backwards(d):
    s = ct.simt.shared.array(8, np.float64)
    t = ct.simt.threadIdx.x
    s[t] = d[t]
    ct.simt.syncthreads()
    d[t] = s[7 - t]


def _polynomial(row, t):
    total = 0.0
    for c in range(3):
        total = total * t + row[c]
    return total


@ct.kernel
def device(rows, t, o):
    i = ct.simt.grid(1)
    if i < rows.shape[0]:
        o[i] = _polynomial(rows[i], t[i])


@ct.kernel
def own_memory(x, o):
    i = ct.simt.grid(1)
    v = ct.simt.local.array(3, x.dtype)
    if i < len(x):
        for k in range(3):
            v[k] = x[i] ** (k + 1)
        o[i] = v[0] * v[1] + v[2]


@ct.kernel
def shuffled(x, o):
    i = ct.simt.grid(1)
    v = x[i] * x[i]
    for d in (4, 2, 1):
        v += ct.simt.shfl_down_sync(-1, v, d)
    beside, third, up = ct.simt.shfl_xor_sync(-1, x[i], 1), ct.simt.shfl_sync(-1, v, 3), ct.simt.shfl_up_sync(-1, v, 1)
    if ct.simt.laneid % 8 == 0:
        o[i // 8] = v + beside * third - up


@ct.kernel
def heat(u, k, steps):
    a = ct.simt.shared.array(8, np.float64)
    t, i = ct.simt.threadIdx.x, ct.simt.grid(1)
    a[t] = u[i]
    ct.simt.syncthreads()
    for _ in range(20):
        old = a[t]
        new = old
        if 0 < t < 7:
            new = old + k * (a[t - 1] - 2.0 * old + a[t + 1])
        ct.simt.syncthreads()
        a[t] = new
        ct.simt.syncthreads()
    u[i] = a[t] * steps


@ct.kernel
def digits(x, o):
    n = ct.simt.grid(1)
    if n < 12:
        i, j = n // 4, n % 4
        o[j, i] = x[i, j] * x[i, 3 - j]


@ct.kernel
def volume(x, y):
    i, j, k = ct.simt.grid(3)
    if i < x.shape[0] and j < x.shape[1] and k < x.shape[2]:
        y[i, j, k] = x[i, j, k] * x[0, j, 0]


@ct.kernel
def spread(x, y):
    i = ct.simt.grid(1)
    if i < len(x):
        y[2 * i + 1] = x[len(x) - 1 - i] * x[i // 2]


@ct.kernel
def stepped(x, o):
    i = ct.simt.grid(1)
    if i < len(x):
        v, n = 3.0 * x[i], 0
        while (v := v - 0.75) > 0.0:
            o[i] += v
            n += 1
        while (v := v + 0.5) < 1.0 and n < 9:
            n += 1
        o[i] += n * v


CASES = {
    "guarded": Case(guarded[3, 4], (drawn(10), np.zeros(10))),
    "root": Case(root[3, 4], (np.array([1.0, 2.0, 0.0, 4.25, 0.5, 1.0]), drawn(6))),
    "blur": Case(blur[4, 8], (drawn(29), drawn(3), np.zeros(29))),
    "tree": Case(tree[4, 8], (drawn(29), np.zeros(4))),
    "product_of": Case(product_of[2, 4], (drawn(9), rng.integers(0, 9, 7), np.zeros(7))),
    "doubling": Case(doubling[2, 4], (drawn(7), np.zeros(7))),
    "left_early": Case(left_early[2, 4], (drawn(12), np.zeros(7))),
    "slots": Case(slots[3, 4], (rng.integers(-1, 5, 11), drawn(11), drawn(4), np.zeros(11))),
    "extremes": Case(extremes[3, 4], (rng.integers(0, 4, 11), drawn(11), drawn(4), drawn(4))),
    "total": Case(total[3, 4], (drawn(11), drawn(2))),
    "permuted": Case(permuted[3, 4], (rng.permutation(11), drawn(11), np.zeros(11))),
    "product": Case(product[(2, 2), (4, 4)], (drawn(7, 5), drawn(5, 6), np.zeros((7, 6)))),
    "tiled": Case(tiled[(2, 1), (4, 4)], (drawn(8, 8), drawn(8, 4), np.zeros((8, 4)))),
    "strided": Case(strided[2, 3], (2.5, drawn(17), drawn(17))),
    "backwards": Case(backwards[1, 8], (drawn(8),)),
    "device": Case(device[2, 4], (drawn(6, 3), drawn(6), np.zeros(6))),
    "own_memory": Case(own_memory[2, 4], (drawn(6), np.zeros(6))),
    "shuffled": Case(shuffled[2, 16], (drawn(32), np.zeros(4))),
    "heat": Case(heat[2, 8], (drawn(16), 0.1, 2.0)),
    "digits": Case(digits[2, 8], (drawn(3, 4), np.zeros((4, 3)))),
    "volume": Case(volume[(2, 1, 3), (2, 3, 1)], (drawn(3, 2, 3), np.zeros((3, 2, 3)))),
    "spread": Case(spread[2, 4], (drawn(7), drawn(15))),
    "stepped": Case(stepped[2, 4], (drawn(7), np.zeros(7))),
}
"""Every kernel, by name."""
