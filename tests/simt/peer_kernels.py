"""Kernels for published cases: what each case says it computes, in catad. Its numbers are read from outside."""

from __future__ import annotations

import math
from typing import Any

import catad as ct
from catad.simt import atomic, grid, gridsize, threadIdx, warpSize


@ct.kernel
def square_first(a):
    a[0] = a[0] * a[0]


@ct.kernel
def sum_warp_stride(out, given, n):
    i = grid(1)
    if i < n:
        s = 0.0
        for j in range(i, n, warpSize):
            s += given[j]
        out[i] = s


@ct.kernel
def sum_grid_stride(out, given, n):
    i = grid(1)
    if i < n and i < gridsize(1):
        s = 0.0
        for j in range(i, n, gridsize(1)):
            s += given[j]
        out[i] = s


@ct.kernel
def broadcast_read(a, b):
    a[grid(1)] = b[0]


def plus_value(given, v):
    return given[grid(1)] + v


def plus_pointer(given, p):
    return given[grid(1)] + p[0]


def plus_nested(given, v):
    return plus_value(given, v)


@ct.kernel
def device_value(out, given, val):
    out[threadIdx.x] = plus_value(given, val[0])


@ct.kernel
def device_pointers(out, given, val):
    out[threadIdx.x] = plus_pointer(given, val)


@ct.kernel
def device_local(out, given, val):
    copy = val[0]
    out[threadIdx.x] = given[grid(1)] + copy


@ct.kernel
def device_nested(out, given, val):
    out[threadIdx.x] = plus_nested(given, val[0])


def twice_in_place(a):
    i, j = grid(1), threadIdx.x
    a[i] += a[i]
    a[j] += a[j]


@ct.kernel
def device_in_place(a):
    twice_in_place(a)


@ct.kernel
def index_reassigned(a):
    i, j = grid(1), grid(1)
    i = 1
    a[i] += a[i]
    j = 1
    a[j] += a[j]


@ct.kernel
def index_in_loop(a):
    for i in range(grid(1), 0, -1):
        a[i] += a[i]


@ct.kernel
def copied_first(out, given):
    i = grid(1)
    if i < len(out):
        out[i] = given[0]


@ct.kernel
def added(c, a, b):
    i = grid(1)
    if i < len(c):
        c[i] = a[i] + b[i]


@ct.kernel
def reduce_add(x, y):
    i = grid(1)
    if i < len(x):
        atomic.add(y, 0, x[i])


@ct.kernel
def reduce_max(x, y):
    i = grid(1)
    if i < len(x):
        atomic.max(y, 0, x[i])


@ct.kernel
def reduce_min(x, y):
    i = grid(1)
    if i < len(x):
        atomic.min(y, 0, x[i])


@ct.kernel
def reduce_product(x, y):
    p = y[0]
    for k in range(len(x)):
        p *= x[k]
    y[0] = p


@ct.kernel
def prefix_sums(x, y):
    s = 0.0
    for k in range(len(x)):
        s += x[k]
        y[k] = s


@ct.kernel
def exclusive_sums(x, y, init):
    s = init[0]
    for k in range(len(x)):
        y[k] = s
        s += x[k]


@ct.kernel
def sums_by_key(keys, x, y):
    s = 0.0
    for k in range(len(x)):
        s = s + x[k] if k > 0 and keys[k] == keys[k - 1] else x[k]
        y[k] = s


@ct.kernel
def reduce_by_key(keys, x, y):
    group = -1
    for k in range(len(x)):
        if k == 0 or keys[k] != keys[k - 1]:
            group += 1
            y[group] = 0.0
        y[group] += x[k]


def transformed(fn: Any) -> Any:
    """The kernel of a function of two entries."""

    @ct.kernel
    def transform(x, w, y):
        i = grid(1)
        if i < len(x):
            y[i] = fn(x[i], w[i])

    return transform


@ct.kernel
def affine(x, y, a, b):
    i = grid(1)
    y[i] = a[0] * x[i] + b[0]


@ct.kernel
def bilinear(x, w, y, a, b, c):
    i = grid(1)
    y[i] = a[0] * x[i] + b[0] * w[i] + c[0]


@ct.kernel
def quadratic(x, y, a, b):
    i = grid(1)
    y[i] = a[0] * x[i] ** 2 + b[0]


@ct.kernel
def exp_sin(x, w, y, a, b, c):
    i = grid(1)
    y[i] = x[i] * math.exp(b[0] * w[i] + c[0]) + a[0] * math.sin(x[i])


@ct.kernel
def contraction(a, b, c):
    n = grid(1)
    if n < 36:
        p, q = n // 18, n // 6 % 3
        e, f = n // 2 % 3, n % 2
        s = 0.0
        for k in range(4):
            s += a[p, q, k] * b[k, e, f]
        c[p, q, e, f] = s


def normal_cdf(d):
    return 0.5 * math.erfc(-d / math.sqrt(2.0))


@ct.kernel
def black_scholes(s, x, t, call, put):
    i = grid(1)
    if i < len(s):
        root = math.sqrt(t[i])
        d1 = (math.log(s[i] / x[i]) + (0.02 + 0.5 * 0.30 * 0.30) * t[i]) / (0.30 * root)
        d2 = d1 - 0.30 * root
        discounted = x[i] * math.exp(-0.02 * t[i])
        call[i] = s[i] * normal_cdf(d1) - discounted * normal_cdf(d2)
        put[i] = discounted * normal_cdf(-d2) - s[i] * normal_cdf(-d1)


@ct.kernel
def polynomial(x, y):
    i = grid(1)
    y[i] = x[i] ** 2 + 3.0 * x[i] + 1.0


@ct.kernel
def doubled(x, y):
    i = grid(1)
    y[i] = 2.0 * x[i]


@ct.kernel
def assigned(x, y):
    i = grid(1)
    y[i] = x[i]


@ct.kernel
def squared(x, y):
    i = grid(1)
    y[i] = x[i] * x[i]


@ct.kernel
def add_in_place(a, b):
    i = grid(1)
    a[i] += b[i]


@ct.kernel
def multiply_in_place(a, b):
    i = grid(1)
    a[i] *= b[i]


@ct.kernel
def increment(a):
    i = grid(1)
    a[i] = a[i] + 1.0


@ct.kernel
def dynamic_product(x, n, total):
    p = 1.0
    for k in range(n):
        p *= x[k]
    total[0] += p


def weighted(x, w, n):
    s, norm = 0.0, 0.0
    for k in range(n):
        s += x[k] * w[k]
        norm += w[k]
    return s / norm


@ct.kernel
def weighted_here(x, w, n, total):
    s, norm = 0.0, 0.0
    for k in range(n):
        s += x[k] * w[k]
        norm += w[k]
    total[0] += s / norm


@ct.kernel
def weighted_there(x, w, n, total):
    total[0] += weighted(x, w, n)


@ct.kernel
def slot_allocation(counter, x, o):
    s = atomic.add(counter, 0, 1)
    o[s] = math.sqrt(x[s])


@ct.kernel
def arc(y, x, o):
    i = grid(1)
    o[i] = math.atan2(y[i], x[i])


@ct.kernel
def for_loop(x, n, s):
    for i in range(n):
        s[0] += 2.0 * x[i]


@ct.kernel
def nested_if(x, n, s):
    for i in range(n):
        if i < 16:
            if i < 8:
                s[0] += 2.0 * x[i]
            else:
                s[0] += 4.0 * x[i]
        elif i < 24:
            s[0] += 6.0 * x[i]
        else:
            s[0] += 8.0 * x[i]


@ct.kernel
def nested_for(x, s):
    for i in range(3):
        for j in range(3):
            k = 3 * i + j
            s[0] += k * x[k] + 1.0


@ct.kernel
def atomics(x, c, s1, s2):
    i = grid(1)
    c[i] = 2.0 * x[i]
    atomic.add(s1, 0, 3.0 * x[i])
    atomic.sub(s2, 0, 2.0 * x[i])


@ct.kernel
def alias_and_branch(a, b):
    i = grid(1)
    x = a[i]
    y = x
    if y > 0.0:  # noqa: SIM108
        y = x * x
    else:
        y = x * x * y
    b[i] = y


@ct.kernel
def components(x, y):
    i = grid(1)
    row = y[i]
    row[0] = 2.0 * x[i]
    row[1] = 3.0 * x[i]
    row[2] = 4.0 * x[i]


@ct.kernel
def row_squared(x, y):
    j = grid(1)
    source, target = x[1], y[1]
    target[j] = source[j] * source[j]


@ct.kernel
def dot_atomic(x, y, z):
    i = grid(1)
    atomic.add(z, 0, x[i] * y[i])


@ct.kernel
def chain_of_two(x, y, z):
    i = grid(1)
    y[i] = x[i]
    z[i] = y[i]


@ct.kernel
def circuit_and(flag, x, o):
    i = grid(1)
    o[i] = 3.0 * x[i] if flag[i] != 0 and i < 2 else x[i]


@ct.kernel
def circuit_or(flag, x, o):
    i = grid(1)
    o[i] = x[i] if flag[i] == 0 or i >= 2 else 3.0 * x[i]
