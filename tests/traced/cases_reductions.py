"""Calls of NumPy's reductions: names, function, arguments."""

import numpy as np

A = np.array([[0.5, -1.25, 3.0, 0.75], [2.5, 0.125, -0.5, 1.5], [-2.0, 4.0, 1.0, -0.25]])
V = np.array([0.5, -1.25, 3.0, 0.75, 2.25])
B = np.arange(24.0).reshape(2, 3, 4) / 7 - 1.3
N = np.array([[0.5, np.nan, 3.0, 0.75], [np.nan, np.nan, -0.5, np.inf], [-2.0, 4.0, np.nan, -np.inf]])
ALL_NAN = np.array([[np.nan, np.nan], [1.0, np.nan]])
E0 = np.zeros((0, 3))
S = np.array(1.5)
ONE = np.array([[2.5]])
M = np.array([[True, False, True, True], [False, True, True, False], [True, True, False, True]])

CASES = [
    (
        "sum",
        lambda x: (
            np.sum(x),
            x.sum(axis=0),
            np.sum(x, axis=(0, 1)),
            np.sum(x, axis=-1, keepdims=True),
            np.add.reduce(x),
        ),
        A,
    ),
    (
        "sum",
        lambda x: (np.sum(x, axis=()), x.sum(where=M), np.sum(x, 0, initial=2.5), np.sum(x, axis=1, dtype=np.float32)),
        A,
    ),
    ("sum", lambda x, y: np.sum([x, y], axis=0), V, V),
    ("mean", lambda x: (np.mean(x), x.mean(0), x.mean(axis=(0, 1), keepdims=True), np.mean(x, axis=1, where=M)), A),
    ("mean", lambda x: np.mean(x, dtype=np.float32), A),
    (
        "max",
        lambda x: (
            np.max(x),
            x.max(axis=0),
            np.amax(x, axis=-1, keepdims=True),
            x.max(initial=2.0),
            np.maximum.reduce(x),
        ),
        A,
    ),
    ("max", lambda x: np.max(x, axis=1, where=M, initial=1.0), A),
    (
        "min",
        lambda x: (np.min(x), x.min(0), np.amin(x, (0, 1)), np.min(x, initial=0), np.minimum.reduce(x, axis=None)),
        A,
    ),
    ("amax", lambda x: np.amax(x, axis=1), A),
    ("amin", lambda x: np.amin(x, axis=1), A),
    (
        "prod",
        lambda x: (
            np.prod(x),
            x.prod(axis=0),
            np.prod(x, axis=1, keepdims=True),
            np.multiply.reduce(x),
            np.prod(x, where=M),
        ),
        A,
    ),
    (
        "any",
        lambda x: (np.any(x), (x > 2).any(axis=0), np.any(x, axis=(0, 1), keepdims=True), np.logical_or.reduce(x > 1)),
        A,
    ),
    ("all", lambda x: (np.all(x), (x > -1).all(axis=0), np.all(x, axis=1, where=M), np.logical_and.reduce(x > 1)), A),
    (
        "count_nonzero",
        lambda x: (np.count_nonzero(x > 0, axis=0), np.count_nonzero(x, keepdims=True), np.count_nonzero(x, axis=1)),
        A,
    ),
    ("var", lambda x: (np.var(x), x.var(axis=0), np.var(x, axis=1, ddof=1, keepdims=True), np.var(x, axis=(0, 1))), A),
    (
        "var",
        lambda x: (
            np.var(x, axis=1, where=M),
            np.var(x, axis=0, correction=1),
            np.var(x, 0, mean=x.mean(0, keepdims=True)),
        ),
        A,
    ),
    (
        "std",
        lambda x: (np.std(x), x.std(axis=0), np.std(x, axis=1, ddof=1, keepdims=True), np.std(x, axis=1, where=M)),
        A,
    ),
    ("ptp", lambda x: (np.ptp(x), np.ptp(x, axis=0), np.ptp(x, axis=1, keepdims=True)), A),
    ("average", lambda x: (np.average(x), np.average(x, axis=0), np.average(x, axis=1, keepdims=True)), A),
    (
        "average",
        lambda x, w: (np.average(x, axis=1, weights=w), np.average(x, axis=1, weights=w, returned=True)),
        A,
        np.array([1.0, 2.0, 0.5, 3.0]),
    ),
    ("average", lambda x, w: np.average(x, weights=w), A, np.abs(A)),
    ("average", lambda x: np.average(x, axis=(0, 2), weights=np.arange(8.0).reshape(2, 4)), B),
    ("argmax", lambda x: (np.argmax(x), x.argmax(axis=0), np.argmax(x, axis=-1, keepdims=True)), A),
    ("argmin", lambda x: (np.argmin(x), x.argmin(axis=0), np.argmin(x, axis=1, keepdims=True)), A),
    ("nansum", lambda x: (np.nansum(x), np.nansum(x, axis=0), np.nansum(x, axis=1, keepdims=True)), N),
    ("nanprod", lambda x: (np.nanprod(x), np.nanprod(x, axis=0)), N),
    ("nanmax", lambda x: (np.nanmax(x), np.nanmax(x, axis=0), np.nanmax(x, axis=1, keepdims=True)), N),
    ("nanmin", lambda x: (np.nanmin(x), np.nanmin(x, axis=0)), N),
    ("nanmean", lambda x: (np.nanmean(x), np.nanmean(x, axis=0), np.nanmean(x, axis=1, keepdims=True)), N[:, :3]),
    ("nanvar", lambda x: (np.nanvar(x), np.nanvar(x, axis=0), np.nanvar(x, axis=1, ddof=1)), N[:, :3]),
    ("nanstd", lambda x: (np.nanstd(x), np.nanstd(x, axis=0), np.nanstd(x, axis=1, keepdims=True)), N[:, :3]),
    (
        "nanmean",
        lambda x: (np.nanmean(x, axis=1), np.nanmax(x, axis=1), np.nanstd(x, axis=1), np.nansum(x, axis=1)),
        ALL_NAN,
    ),
    ("nanargmax", lambda x: (np.nanargmax(x), np.nanargmax(x, axis=0)), N[:, [0, 2, 3]]),
    ("nanargmin", lambda x: (np.nanargmin(x), np.nanargmin(x, axis=1)), N),
    ("nanargmax", lambda x: np.nanargmax(x, axis=1), ALL_NAN),
    ("nanmax", lambda x: (np.nanmax(x), np.nanmean(x), np.nanvar(x, 0), np.nanargmax(x), np.nansum(x)), A),
    ("sum", lambda x: (x.sum(), x.mean(), x.max(), x.min(), x.prod(), x.any(), x.all(), x.std(), x.var()), S),
    ("argmax", lambda x: (np.argmax(x), np.argmin(x)), S),
    (
        "sum",
        lambda x: (
            x.sum(),
            x.mean(axis=1),
            x.max(0),
            x.min(),
            x.prod(keepdims=True),
            x.any(),
            x.all(),
            x.std(0),
            x.var(),
        ),
        ONE,
    ),
    (
        "sum",
        lambda x: (
            x.sum(),
            x.sum(0),
            x.sum(1),
            x.prod(0),
            x.any(0),
            x.all(),
            np.mean(x),
            np.mean(x, axis=0),
            np.mean(x, axis=1),
        ),
        E0,
    ),
    ("var", lambda x: (np.var(x, axis=1), np.var(x, axis=0), np.std(x)), E0),
    ("max", lambda x: (np.max(x, initial=1.0), np.max(x, axis=1), np.max(x, axis=0, initial=3)), E0),
    ("max", lambda x: np.max(x), E0),
    ("min", lambda x: np.min(x, axis=0), E0),
    ("argmax", lambda x: np.argmax(x, axis=0), E0),
    ("argmax", lambda x: np.argmax(x, axis=1), E0),
    ("sum", lambda x: np.sum(x, axis=2), A),
    ("sum", lambda x: np.sum(x, axis=(0, 0)), A),
    ("max", lambda x: np.max(x, axis=-3), A),
    ("max", lambda x: np.max(x, where=M), A),
    ("mean", lambda x: np.mean(x, axis=0.5), A),
    (
        "sum",
        lambda x: (x.sum(), x.max(), x.min(axis=0), x.prod(), x.mean(), x.any(), x.argmax(), x.argmin(axis=1), x.std()),
        N,
    ),
    ("sum", lambda x: x[x > 0].sum() + np.mean(x[x > 0]) + np.sum(np.exp(x[x > 0])), A),
    ("mean", lambda x: (x[x > 9].mean(), x[x > 0].any(), (x[x > 0] > 1).all()), A),
    ("sum", lambda x: np.sum(x, axis=1, out=np.zeros(3)), A),
    (
        "logaddexp.reduce",
        lambda x: (np.logaddexp.reduce(x), np.logaddexp.reduce(x, axis=1), np.logaddexp.reduce(x, axis=None)),
        A,
    ),
    ("!hypot.reduce", lambda x: np.hypot.reduce(x, axis=1), A),
    ("fmax.reduce", lambda x: (np.fmax.reduce(x, axis=1), np.fmin.reduce(x, keepdims=True)), N),
    ("fmax.reduce", lambda x: np.fmax.reduce(x, axis=1), ALL_NAN),
    (
        "bitwise.reduce",
        lambda x: (np.bitwise_or.reduce(x), np.bitwise_and.reduce(x, axis=1), np.bitwise_xor.reduce(x, axis=None)),
        np.array([[1, 2, 7], [5, 6, 12]]),
    ),
    ("logical_xor.reduce", lambda x: np.logical_xor.reduce(x > 0), A),
    ("!subtract.reduce", lambda x: np.subtract.reduce(x), A),
]
