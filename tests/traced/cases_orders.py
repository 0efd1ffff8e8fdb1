"""Calls of NumPy's functions of order, counting, differences and choices: names, function, arguments."""

import numpy as np

A = np.array([[0.5, -1.25, 3.0, 0.75], [2.5, 0.125, -0.5, 1.5], [-2.0, 4.0, 1.0, -0.25]])
V = np.array([0.5, -1.25, 3.0, 0.75, 2.25])
W = np.array([0.3, 1.0, -0.6])
B = np.arange(24.0).reshape(2, 3, 4) / 7 - 1.3
N = np.array([[0.5, np.nan, 3.0, 0.75], [np.nan, np.nan, -0.5, np.inf], [-2.0, 4.0, np.nan, -np.inf]])
ALL_NAN = np.array([[np.nan, np.nan], [1.0, np.nan]])
S = np.array(1.5)
ONE = np.array([[2.5]])
E0 = np.zeros((0, 3))
X = np.array([-1.0, 0.0, 1.5, 2.5])


def sorted_in_place(x):
    y = x.copy()
    y.sort()
    z = x.copy()
    z.sort(axis=0)
    return y, z


CASES = [
    ("sort", lambda x: (np.sort(x), np.sort(x, axis=0), np.sort(x, axis=None), np.sort(x, kind="stable")), A),
    ("sort", lambda x: np.sort(x), N),
    ("sort", lambda x: np.sort(x), S),
    ("sort", lambda x: (np.sort(x, axis=0), np.sort(x)), E0),
    ("sort", lambda x: np.sort(x, axis=2), A),
    (
        "argsort",
        lambda x: (np.argsort(x, kind="stable"), x.argsort(axis=0, stable=True), np.argsort(x, axis=None, stable=True)),
        A,
    ),
    ("argsort", lambda x: np.argsort(x), S),
    ("sort", sorted_in_place, A),
    ("lexsort", lambda x, y: (np.lexsort((x, y)), np.lexsort([y, x])), V, np.array([1.0, 0.0, 1.0, 0.0, 1.0])),
    (
        "median",
        lambda x: (np.median(x), np.median(x, axis=0), np.median(x, axis=1), np.median(x, axis=(0, 1), keepdims=True)),
        A,
    ),
    ("median", lambda x: np.median(x), V),
    ("median", lambda x: (np.median(x, axis=0), np.median(x)), N),
    ("median", lambda x: np.median(x), S),
    ("median", lambda x: (np.median(x), np.median(x, axis=0)), E0),
    (
        "quantile",
        lambda x: (
            np.quantile(x, 0.3),
            np.quantile(x, [0.0, 0.25, 1.0], axis=1),
            np.quantile(x, 0.5, axis=0, keepdims=True),
            np.quantile(x, 0.9),
        ),
        A,
    ),
    (
        "quantile",
        lambda x: [
            np.quantile(x, [0.1, 0.35, 0.5, 0.99], method=m)
            for m in ("lower", "higher", "nearest", "midpoint", "linear", "hazen", "weibull")
        ],
        V,
    ),
    (
        "quantile",
        lambda x: [
            np.quantile(x, [0.1, 0.37, 0.99], method=m)
            for m in (
                "median_unbiased",
                "normal_unbiased",
                "interpolated_inverted_cdf",
                "inverted_cdf",
                "closest_observation",
                "averaged_inverted_cdf",
            )
        ],
        V,
    ),
    ("!quantile", lambda x, q: np.quantile(x, q), V, np.array(0.3)),
    ("!quantile", lambda x, q: np.quantile(x, q, axis=0), A, np.array([0.3, 0.8])),
    ("quantile", lambda x: np.quantile(x, 1.5), V),
    ("quantile", lambda x: np.quantile(x, 0.5, method="x"), V),
    ("quantile", lambda x: np.quantile(x, 0.3, axis=0), N),
    (
        "percentile",
        lambda x: (
            np.percentile(x, 30),
            np.percentile(x, [10, 50.0, 90], axis=0),
            np.percentile(x, 75, axis=1, keepdims=True),
        ),
        A,
    ),
    ("nanmedian", lambda x: (np.nanmedian(x), np.nanmedian(x, axis=0), np.nanmedian(x, axis=1, keepdims=True)), N),
    ("nanmedian", lambda x: np.nanmedian(x, axis=1), ALL_NAN),
    ("nanquantile", lambda x: (np.nanquantile(x, 0.3), np.nanquantile(x, [0.1, 0.9], axis=1)), N[:, :3]),
    ("nanpercentile", lambda x: np.nanpercentile(x, 40, axis=0), N[:, :3]),
    ("nanquantile", lambda x: (np.nanquantile(x, 0.3), np.nanmedian(x, axis=0)), A),
    (
        "searchsorted",
        lambda x, v: (
            np.searchsorted(x, v),
            np.searchsorted(x, v, "right"),
            np.sort(x).searchsorted(v),
            np.searchsorted(np.sort(x), 1.0),
        ),
        X,
        A,
    ),
    ("searchsorted", lambda x, v: np.searchsorted(x, v, sorter=np.argsort(x, stable=True)), V, A),
    ("searchsorted", lambda x: np.searchsorted([1.0, 2.0, np.nan], x), N),
    ("searchsorted", lambda x: np.searchsorted(x, 1.0), A),
    ("searchsorted", lambda x: np.searchsorted(X, x, "middle"), A),
    (
        "digitize",
        lambda x: (
            np.digitize(x, X),
            np.digitize(x, X, right=True),
            np.digitize(x, X[::-1]),
            np.digitize(x, [3.0, 1.0], right=True),
        ),
        A,
    ),
    ("digitize", lambda x: np.digitize(x, [1, 3, 2]), A),
    (
        "bincount",
        lambda w: (np.bincount([0, 2, 2, 1, 5], weights=w), np.bincount(np.array([0, 2, 2, 1, 5]), w, minlength=8)),
        V,
    ),
    ("bincount", lambda w: np.bincount([0, 1], weights=w), V),
    ("!bincount", lambda x: np.bincount(x, minlength=3), np.array([0, 2, 2])),
    (
        "histogram",
        lambda w: (
            np.histogram(V, 4, weights=w),
            np.histogram(V, bins=[-2, 0, 1, 3], weights=w),
            np.histogram(V, 3, range=(0.0, 2.5), weights=w)[0],
        ),
        V,
    ),
    ("histogram", lambda w: np.histogram(V, "auto", weights=w), V),
    ("!histogram", lambda w: np.histogram(V, 3, weights=w, density=True), V),
    (
        "histogram",
        lambda x: (
            np.histogram(x, bins=[-2, 0, 1, 3])[0],
            np.histogram(x, 3, range=(-1.0, 2.0)),
            np.histogram(x, bins=X, density=True)[0],
        ),
        A + 0.01,
    ),
    ("histogram", lambda x: np.histogram(x, 5), V),
    ("histogram", lambda x: np.histogram(x, 0), V),
    ("histogram", lambda x: np.histogram(x, [2, 1]), V),
    ("histogram_bin_edges", lambda x: np.histogram_bin_edges(x, 4), V),
    (
        "interp",
        lambda x, f: (
            np.interp(x, X, f),
            np.interp(x, X, f, left=-1.0, right=7.0),
            np.interp(0.7, X, f),
            np.interp(1.5, X, f),
        ),
        A + 0.01,
        X**2,
    ),
    ("interp", lambda x, p, f: np.interp(x, p, f), A, X + 1.01, X**2),
    ("interp", lambda x: (np.interp(x, X, [0.0, 1.0, np.inf, 2.0]), np.interp(x, X, X)), N),
    ("interp", lambda x, f: np.interp(x, X[:3], f, period=3.0), V + 0.1, W),
    ("interp", lambda x: np.interp(x, [1.0], [2.0], right=5), V),
    ("interp", lambda x: np.interp(x, X, V), A),
    ("cumsum", lambda x: (np.cumsum(x), x.cumsum(axis=0), np.cumsum(x, axis=-1), np.add.accumulate(x)), A),
    ("cumsum", lambda x: (np.cumsum(x), np.cumprod(x)), S),
    ("cumsum", lambda x: np.cumsum(x, 2), A),
    ("cumprod", lambda x: (np.cumprod(x), x.cumprod(axis=0), np.multiply.accumulate(x, axis=1)), A),
    ("cumsum", lambda x: (np.cumsum(x, axis=0), np.cumsum(x), np.cumprod(x, axis=1)), E0),
    ("nancumsum", lambda x: (np.nancumsum(x), np.nancumsum(x, axis=0), np.nancumprod(x, axis=1)), N[:, :3]),
    ("nancumprod", lambda x: np.nancumprod(x), A),
    (
        "cumulative_sum",
        lambda x: (
            np.cumulative_sum(x[0]),
            np.cumulative_sum(x, axis=1, include_initial=True),
            np.cumulative_prod(x, axis=0),
        ),
        A,
    ),
    (
        "accumulate",
        lambda x: (
            np.maximum.accumulate(x),
            np.minimum.accumulate(x, axis=1),
            np.logaddexp.accumulate(x),
            np.logical_and.accumulate(x > 0),
            np.fmax.accumulate(x),
        ),
        A,
    ),
    ("accumulate", lambda x: np.maximum.accumulate(x), N),
    (
        "outer.ufunc",
        lambda x, y: (
            np.add.outer(x, y),
            np.multiply.outer(x, y),
            np.maximum.outer(x, y),
            np.subtract.outer(x, 2.0),
            np.hypot.outer(x, y),
        ),
        A,
        W + 0.01,
    ),
    (
        "diff",
        lambda x: (
            np.diff(x),
            np.diff(x, axis=0),
            np.diff(x, 2),
            np.diff(x, prepend=0.5),
            np.diff(x, append=x[:, :1]),
            np.diff(x, 0),
        ),
        A,
    ),
    ("diff", lambda x: np.diff(x), S),
    ("diff", lambda x: np.diff(x, 3, axis=0), A),
    ("ediff1d", lambda x: (np.ediff1d(x), np.ediff1d(x, to_begin=9.0, to_end=[1.0, 2.0])), A),
    (
        "gradient",
        lambda x: (
            np.gradient(x),
            np.gradient(x, 0.5),
            np.gradient(x, axis=1),
            np.gradient(x, 2.0, 0.5),
            np.gradient(x, edge_order=2),
        ),
        A,
    ),
    (
        "gradient",
        lambda x, p: (
            np.gradient(x, p),
            np.gradient(x, p, edge_order=2),
            np.gradient(x, [0.0, 1.0, 2.0, 3.0, 4.0]),
            np.gradient(x, [0.0, 1.0, 2.5, 3.0, 4.0]),
        ),
        V,
        np.array([0.0, 0.5, 1.5, 2.0, 4.0]),
    ),
    ("gradient", lambda x: np.gradient(x), ONE),
    (
        "trapezoid",
        lambda x: (
            np.trapezoid(x),
            np.trapezoid(x, dx=0.5),
            np.trapezoid(x, axis=0),
            np.trapezoid(x, [0.0, 1.0, 1.5, 4.0]),
            np.trapezoid(x, x=x * 2),
        ),
        A,
    ),
    (
        "cov",
        lambda x: (
            np.cov(x),
            np.cov(x, rowvar=False),
            np.cov(x[0], x[1]),
            np.cov(x, bias=True),
            np.cov(x[0]),
            np.cov(x, ddof=0),
        ),
        A,
    ),
    ("corrcoef", lambda x: (np.corrcoef(x), np.corrcoef(x[0], x[1]), np.corrcoef(x[:2], rowvar=False)), A * 2 + B[0]),
    (
        "convolve",
        lambda x, w: (
            np.convolve(x, w),
            np.convolve(w, x),
            np.convolve(x, w, "same"),
            np.convolve(x, w, "valid"),
            np.convolve(x, w[:2], "same"),
            np.convolve(x, x, "same"),
        ),
        V,
        W,
    ),
    ("convolve", lambda x: np.convolve(x, x[:0]), V),
    (
        "correlate",
        lambda x, w: (
            np.correlate(x, w),
            np.correlate(w, x),
            np.correlate(x, w, "same"),
            np.correlate(x, w, "full"),
            np.correlate(w, x, "full"),
            np.correlate(w, x, "same"),
            np.correlate(x, w[:2], "same"),
            np.correlate(w[:2], x, "same"),
        ),
        V,
        W,
    ),
    ("polyval", lambda p, x: (np.polyval(p, x), np.polyval(p, 2.0), np.polyval([1, 2, 3], x)), W, A),
    ("vander", lambda x: (np.vander(x), np.vander(x, 3), np.vander(x, 4, increasing=True)), V),
]
