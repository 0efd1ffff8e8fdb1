"""Programs on data in chunks: what `chunks.py` races. Each as plain NumPy, and by hand on arrays of Dask with its derivatives.

The first parameter is what is differentiated, the others are data. By hand there are the value, the gradient and the Hessian
times a vector, written as somebody writes them who knows Dask and calculus.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import dask.array as da
import numpy as np

Hand = Callable[..., Any]
STEPS = 4  # of the heat equation
BINS = 64


class Program(NamedTuple):
    """A program, its value, value with gradient, and Hessian times a vector by hand, and what makes its arguments.

    `hvp` takes the vector after the first argument. `data` takes the numbers of chunks and of entries in a chunk; it gives the
    arguments, the vector, and the sizes of the chunks of each argument, None where it is not cut.
    """

    name: str
    fn: Hand
    value: Hand
    gradient: Hand
    hvp: Hand
    data: Callable[[int, int], tuple[list[Any], Any, list[Any]]]


# -- logistic regression


def logistic(w: Any, rows: Any, labels: Any) -> Any:
    z = rows @ w
    return np.sum(np.logaddexp(0, z) - labels * z)


def logistic_gradient(w: Any, rows: Any, labels: Any) -> Any:
    z = rows @ w
    return np.sum(np.logaddexp(0, z) - labels * z), rows.T @ (1 / (1 + np.exp(-z)) - labels)


def logistic_hvp(w: Any, v: Any, rows: Any, labels: Any) -> Any:
    p = 1 / (1 + np.exp(-(rows @ w)))
    return rows.T @ (p * (1 - p) * (rows @ v))


def labelled_rows(chunks: int, entries: int) -> tuple[list[Any], Any, list[Any]]:
    rng, n = np.random.default_rng(0), entries // 8
    rows = rng.normal(size=(chunks * n, 8))
    labels = (rng.random(chunks * n) > 0.5) * 1.0
    return [0.3 * rng.normal(size=8), rows, labels], rng.normal(size=8), [None, (n, 8), n]


# -- k-means


def k_means(centres: Any, points: Any) -> Any:
    """The squares of the distances to the nearest centres: half a step of Newton's method is a step of k-means."""
    return np.sum(np.min(np.sum((points[:, None, :] - centres) ** 2, axis=2), axis=1))


def nearest(centres: Any, points: Any) -> tuple[Any, Any]:
    apart = ((points[:, None, :] - centres) ** 2).sum(axis=2)
    return apart, apart.argmin(axis=1)[:, None] == np.arange(len(centres))


def k_means_gradient(centres: Any, points: Any) -> Any:
    apart, chosen = nearest(centres, points)
    gradient = 2 * (chosen.sum(axis=0)[:, None] * centres - chosen.astype(float).T @ points)
    return apart.min(axis=1).sum(), gradient


def k_means_hvp(centres: Any, v: Any, points: Any) -> Any:
    return 2 * nearest(centres, points)[1].sum(axis=0)[:, None] * v


def clustered(chunks: int, entries: int) -> tuple[list[Any], Any, list[Any]]:
    rng, n = np.random.default_rng(1), entries // 8
    points = rng.normal(size=(chunks * n, 8)) + 3 * rng.integers(0, 2, (chunks * n, 1))
    return [rng.normal(size=(4, 8)) + 1.5, points], rng.normal(size=(4, 8)), [None, (n, 8)]


# -- a mixture of Gaussian distributions


def mixture(means: Any, points: Any) -> Any:
    logs = -0.5 * np.sum((points[:, None, :] - means) ** 2, axis=2)
    most = np.max(logs, axis=1)
    return np.sum(most + np.log(np.sum(np.exp(logs - most[:, None]), axis=1)))


def shares(means: Any, points: Any) -> tuple[Any, Any]:
    logs = -0.5 * ((points[:, None, :] - means) ** 2).sum(axis=2)
    most = logs.max(axis=1, keepdims=True)
    parts = np.exp(logs - most)
    total = parts.sum(axis=1, keepdims=True)
    return (most + np.log(total)).sum(), parts / total


def mixture_value(means: Any, points: Any) -> Any:
    return shares(means, points)[0]


def mixture_gradient(means: Any, points: Any) -> Any:
    value, r = shares(means, points)
    return value, r.T @ points - r.sum(axis=0)[:, None] * means


def mixture_hvp(means: Any, v: Any, points: Any) -> Any:
    r = shares(means, points)[1]
    along = points @ v.T - (means * v).sum(axis=1)
    more = r * (along - (r * along).sum(axis=1, keepdims=True))
    return more.T @ points - more.sum(axis=0)[:, None] * means - r.sum(axis=0)[:, None] * v


# -- the largest drawdown


def drawdown(returns: Any) -> Any:
    """The largest part of a peak of prices that was lost after it."""
    logs = np.cumsum(returns)
    return 1 - np.exp(-np.max(np.maximum.accumulate(logs) - logs))


def fallen(returns: Any) -> tuple[Any, Any]:
    """By how much logarithms of prices fell most, and a mask of the steps of that."""
    logs = da.cumsum(returns)
    tops = da.reductions.cumreduction(np.maximum.accumulate, np.maximum, -np.inf, logs, axis=0)
    fall = tops - logs
    steps = da.arange(len(returns), chunks=returns.chunks)
    last = fall.argmax()
    first = da.where(steps <= last, logs, -np.inf).argmax()
    return fall.max(), (steps > first) & (steps <= last)


def drawdown_value(returns: Any) -> Any:
    logs = da.cumsum(returns)
    tops = da.reductions.cumreduction(np.maximum.accumulate, np.maximum, -np.inf, logs, axis=0)
    return 1 - np.exp(-(tops - logs).max())


def drawdown_gradient(returns: Any) -> Any:
    most, mask = fallen(returns)
    return 1 - np.exp(-most), -np.exp(-most) * mask


def drawdown_hvp(returns: Any, v: Any) -> Any:
    most, mask = fallen(returns)
    return -np.exp(-most) * (mask * v).sum() * mask


def series(chunks: int, entries: int) -> tuple[list[Any], Any, list[Any]]:
    rng, n = np.random.default_rng(2), chunks * entries
    return [1e-3 * rng.normal(size=n)], rng.normal(size=n), [entries]


# -- the heat equation


def heat(u: Any) -> Any:
    """The sum of squares after some steps; around the plate it is 0."""
    for _ in range(STEPS):
        p = np.pad(u, 1)
        u = u + 0.2 * (p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4 * u)
    return np.sum(u * u)


def heat_step(p: Any) -> Any:
    out = np.zeros_like(p)  # the edges are cut off
    out[1:-1, 1:-1] = 0.2 * (p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] + p[1:-1, 1:-1])
    return out


def heated(u: Any) -> Any:
    """All steps; they are symmetric, so they are their own transpose."""
    for _ in range(STEPS):
        u = da.map_overlap(heat_step, u, depth=1, boundary=0, dtype=u.dtype)
    return u


def heat_value(u: Any) -> Any:
    u = heated(u)
    return (u * u).sum()


def heat_gradient(u: Any) -> Any:
    last = heated(u)
    return (last * last).sum(), heated(2 * last)


def heat_hvp(u: Any, v: Any) -> Any:
    return heated(2 * heated(v))


def plate(chunks: int, entries: int) -> tuple[list[Any], Any, list[Any]]:
    rng, n = np.random.default_rng(3), int(entries**0.5)
    u, v = rng.normal(size=(2, chunks // 2 * n, 2 * n))
    return [u], v, [(n, n)]


# -- a histogram of residuals


def residuals(w: Any, rows: Any, labels: Any) -> Any:
    """The squares of the energy of residuals in each bin of their sizes."""
    r = labels - rows @ w
    bins = np.clip(np.abs(r) * 8, 0, BINS - 1).astype(np.int64)
    energy = np.bincount(bins, weights=r * r, minlength=BINS)
    return np.sum(energy * energy) / len(r)


def in_bins(w: Any, rows: Any, labels: Any) -> tuple[Any, Any, Any]:
    r = labels - rows @ w
    bins = np.clip(np.abs(r) * 8, 0, BINS - 1).astype(np.int64)
    return r, bins, da.bincount(bins, weights=r * r, minlength=BINS)


def at_bins(table: Any, bins: Any) -> Any:
    return da.blockwise(np.take, "i", table, "b", bins, "i", concatenate=True, dtype=table.dtype)


def residuals_value(w: Any, rows: Any, labels: Any) -> Any:
    r, _, energy = in_bins(w, rows, labels)
    return (energy * energy).sum() / len(r)


def residuals_gradient(w: Any, rows: Any, labels: Any) -> Any:
    r, bins, energy = in_bins(w, rows, labels)
    return (energy * energy).sum() / len(r), rows.T @ (at_bins(energy, bins) * r) * (-4 / len(r))


def residuals_hvp(w: Any, v: Any, rows: Any, labels: Any) -> Any:
    r, bins, energy = in_bins(w, rows, labels)
    along = -(rows @ v)
    more = da.bincount(bins, weights=2 * r * along, minlength=BINS)
    return rows.T @ (at_bins(more, bins) * r + at_bins(energy, bins) * along) * (-4 / len(r))


PROGRAMS = (
    Program("logistic regression", logistic, logistic, logistic_gradient, logistic_hvp, labelled_rows),
    Program("k-means", k_means, k_means, k_means_gradient, k_means_hvp, clustered),
    Program("mixture of Gaussians", mixture, mixture_value, mixture_gradient, mixture_hvp, clustered),
    Program("largest drawdown", drawdown, drawdown_value, drawdown_gradient, drawdown_hvp, series),
    Program("heat equation", heat, heat_value, heat_gradient, heat_hvp, plate),
    Program("histogram of residuals", residuals, residuals_value, residuals_gradient, residuals_hvp, labelled_rows),
)
