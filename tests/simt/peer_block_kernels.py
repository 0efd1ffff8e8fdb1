"""Kernels for published cases, continued: shared memory, barriers, shuffles, strides and overlapping reads."""

from __future__ import annotations

import numpy as np

import catad as ct
from catad.simt import atomic, blockIdx, grid, gridsize, shared, shfl_down_sync, syncthreads, threadIdx


@ct.kernel
def reverse_shared(d):
    s = shared.array(8, np.float64)
    t = threadIdx.x
    s[t] = d[t]
    syncthreads()
    d[t] = s[7 - t]


@ct.kernel
def tree_shared(x, o):
    s = shared.array(8, np.float64)
    t = threadIdx.x
    s[t] = x[grid(1)] ** 2
    syncthreads()
    half = 4
    while half > 0:
        if t < half:
            s[t] += s[t + half]
        syncthreads()
        half //= 2
    if t == 0:
        o[blockIdx.x] = s[0]


@ct.kernel
def stencil_global(x, w, o):
    i = grid(1)
    if 0 < i < len(x) - 1:
        o[i] = w[0] * x[i - 1] + w[1] * x[i] + w[2] * x[i + 1]


@ct.kernel
def cross_site(x, o):
    i = grid(1)
    o[i] = x[2 * i] * x[i + 1]


@ct.kernel
def zero_stride(x, o):
    i = grid(1)
    o[i] = 2.0 * x[0 * i]


@ct.kernel
def transpose_square(x, o):
    i, j = grid(2)
    o[j, i] = x[i, j] ** 2


@ct.kernel
def histogram(bins, w, h):
    i = grid(1)
    atomic.add(h, bins[i], w[i] * w[i])


@ct.kernel
def accumulate_then_scale(x, total):
    total[0] += x[1] * x[1]
    total[0] *= x[2]


@ct.kernel
def pingpong(x, k, o):
    u = shared.array((2, 6), np.float64)
    t, i = threadIdx.x, grid(1)
    u[0, t] = x[i]
    syncthreads()
    for step in range(3):
        a, b = step % 2, (step + 1) % 2
        if 0 < t < 5:
            u[b, t] = u[a, t] + k[0] * (u[a, t - 1] - 2.0 * u[a, t] + u[a, t + 1])
        else:
            u[b, t] = u[a, t]
        syncthreads()
    o[i] = u[1, t]


@ct.kernel
def shuffle_sum(x, o):
    v = x[grid(1)] ** 2
    for d in (4, 2, 1):
        v += shfl_down_sync(-1, v, d)
    if threadIdx.x == 0:
        o[blockIdx.x] = v


@ct.kernel
def axpy(a, x, y):
    for i in range(grid(1), len(x), gridsize(1)):
        y[i] = a[0] * x[i] + y[i]


@ct.kernel
def pair_sums(t, o):
    i = grid(1)
    o[i] = t[i] + (t[i - 1] if i > 0 else 0.0)
