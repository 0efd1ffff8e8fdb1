"""Plain NumPy programs of algorithms: tables of dynamic programming, pivots, searches, recursion, rows that are swapped."""

import numpy as np


def eliminate(a, b):
    """The solution of a linear system by elimination with pivots; rows are swapped by a list of two indices."""
    n = len(b)
    a, x = a.copy(), b.copy()
    for k in range(n):
        pivot = k + np.argmax(np.abs(a[k:, k]))
        a[[k, pivot]] = a[[pivot, k]]
        x[[k, pivot]] = x[[pivot, k]]
        for i in range(k + 1, n):
            factor = a[i, k] / a[k, k]
            a[i, k:] -= factor * a[k, k:]
            x[i] -= factor * x[k]
    for i in range(n - 1, -1, -1):
        x[i] = (x[i] - a[i, i + 1 :] @ x[i + 1 :]) / a[i, i]
    return x


def insertion_sort(x):
    """Sorts in the memory of its argument; the inner loop ends where data say so."""
    for i in range(1, len(x)):
        key = x[i]
        j = i - 1
        while j >= 0 and x[j] > key:
            x[j + 1] = x[j]
            j -= 1
        x[j + 1] = key
    return x


def time_warp(x, y):
    """The distance of two series under warping of time, by a table (Sakoe and Chiba)."""
    table = np.full((len(x) + 1, len(y) + 1), np.inf)
    table[0, 0] = 0
    for i in range(1, len(x) + 1):
        for j in range(1, len(y) + 1):
            cost = abs(x[i - 1] - y[j - 1])
            table[i, j] = cost + min(table[i - 1, j], table[i, j - 1], table[i - 1, j - 1])
    return table[-1, -1]


def viterbi(start, step, emit, seen):
    """The most probable path of a hidden Markov model, with pointers back."""
    score = np.zeros((len(seen), len(start)))
    back = np.zeros(score.shape, dtype=int)
    score[0] = start + emit[:, seen[0]]
    for t in range(1, len(seen)):
        for s in range(len(start)):
            found = score[t - 1] + step[:, s] + emit[s, seen[t]]
            back[t, s] = np.argmax(found)
            score[t, s] = found[back[t, s]]
    path = np.zeros(len(seen), dtype=int)
    path[-1] = np.argmax(score[-1])
    for t in range(len(seen) - 2, -1, -1):
        path[t] = back[t + 1, path[t + 1]]
    return score[-1].max(), path


def knapsack(weights, values, capacity=12):
    """The greatest value of things that fit, in one row that is overwritten from the right."""
    best = np.zeros(capacity + 1)
    for weight, value in zip(weights, values, strict=True):
        for c in range(capacity, weight - 1, -1):
            best[c] = max(best[c], best[c - weight] + value)
    return best[-1]


def nearest_first(lengths):
    """The lengths of the shortest paths from the first node (Dijkstra), by scans instead of a heap."""
    n = len(lengths)
    path = np.full(n, np.inf)
    done = np.zeros(n, dtype=bool)
    path[0] = 0
    for _ in range(n):
        best, node = np.inf, -1
        for k in range(n):
            if not done[k] and path[k] < best:
                best, node = path[k], k
        if node < 0:
            break
        done[node] = True
        for k in range(n):
            if path[node] + lengths[node, k] < path[k]:
                path[k] = path[node] + lengths[node, k]
    return path


def isotonic(y):
    """The nearest sequence that does not fall, by blocks that are merged on a stack of fixed size."""
    value, weight, top = np.zeros(len(y)), np.zeros(len(y)), -1
    for v in y:
        top += 1
        value[top], weight[top] = v, 1.0
        while top > 0 and value[top - 1] > value[top]:
            both = weight[top - 1] + weight[top]
            value[top - 1] = (value[top - 1] * weight[top - 1] + value[top] * weight[top]) / both
            weight[top - 1] = both
            top -= 1
    return value[: len(y) // 2] * weight[: len(y) // 2], top + 1


def golden_section(low, high, wave, tolerance=1e-7):
    """The minimum of a function in an interval, then one step of Newton's method, which carries the derivative."""
    ratio = (np.sqrt(5.0) - 1) / 2

    def f(x):
        return np.cos(wave * x) + 0.1 * x * x

    a, b = low, high
    c, d = b - ratio * (b - a), a + ratio * (b - a)
    while abs(b - a) > tolerance:
        if f(c) < f(d):
            b = d
        else:
            a = c
        c, d = b - ratio * (b - a), a + ratio * (b - a)
    x = (a + b) / 2
    slope, curve = -wave * np.sin(wave * x) + 0.2 * x, -(wave**2) * np.cos(wave * x) + 0.2
    return x - slope / curve


def fourier(re, im):
    """The fast Fourier transform of real and imaginary parts, by halves (Cooley and Tukey)."""
    n = len(re)
    if n == 1:
        return re, im
    even_re, even_im = fourier(re[::2], im[::2])
    odd_re, odd_im = fourier(re[1::2], im[1::2])
    angle = -2 * np.pi * np.arange(n // 2) / n
    c, s = np.cos(angle), np.sin(angle)
    turned_re, turned_im = c * odd_re - s * odd_im, c * odd_im + s * odd_re
    return np.concatenate([even_re + turned_re, even_re - turned_re]), np.concatenate(
        [even_im + turned_im, even_im - turned_im]
    )


def nelder_mead(start, valley, steps=20):
    """A simplex that goes downhill; its corners are sorted in each step."""

    def f(p):
        return (valley - p[0]) ** 2 + 10 * (p[1] - p[0] ** 2) ** 2

    corners = np.array([start, start + np.array([0.3, 0.0]), start + np.array([0.0, 0.3])])
    values = np.array([f(p) for p in corners])
    for _ in range(steps):
        order = np.argsort(values)
        corners, values = corners[order], values[order]
        middle = corners[:-1].mean(axis=0)
        tried = 2 * middle - corners[-1]
        at_tried = f(tried)
        if at_tried < values[0]:
            further = 3 * middle - 2 * corners[-1]
            at_further = f(further)
            if at_further < at_tried:
                corners[-1], values[-1] = further, at_further
            else:
                corners[-1], values[-1] = tried, at_tried
        elif at_tried < values[1]:
            corners[-1], values[-1] = tried, at_tried
        else:
            for k in (1, 2):
                corners[k] = (corners[0] + corners[k]) / 2
                values[k] = f(corners[k])
    return corners[0], values.min()
