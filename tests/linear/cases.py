"""Linear maps of every family on small spaces, each with an independent dense matrix, by hand."""

from __future__ import annotations

from typing import Any

import numpy as np

import catad as ct
from catad import linear
from catad.linear.families.clear import ClearedWhere

Case = tuple[ct.LinearMap, Any]  # the map and its matrix on flattened vectors


def numbers(rng: np.random.Generator, *shape: int) -> Any:
    """Small integers as floats: sums and products of a few are exact."""
    return rng.integers(-3, 4, size=shape).astype(np.float64)


def recurrence_matrix(links: Any) -> Any:
    n = len(links)
    out = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            out[i, j] = np.prod(links[j + 1 : i + 1])
    return out


def gather_matrix(index: Any, n: int) -> Any:
    out = np.zeros((len(index), n))
    for r, i in enumerate(index):
        if 0 <= i < n:
            out[r, i] = 1
    return out


def square_cases(n: int, seed: int = 0) -> dict[str, Case]:
    """Maps from R^n to R^n, one for each kind."""
    rng = np.random.default_rng(seed)
    space = ct.f64[n]
    d, m = numbers(rng, n), numbers(rng, n, n)
    links = numbers(rng, n)
    index = rng.integers(-1, n + 1, size=n)
    u, v = numbers(rng, n), numbers(rng, n)
    flip = ct.linearize(ct.flip(), np.zeros(n))[1]
    shift = ct.linearize(ct.pad(1, -1), np.zeros(n))[1]
    small = ct.sum() >> ct.map(lambda s: s < 1.0)
    sides = ct.fork(ct.id, ct.const(d)) >> ct.mul, ct.fork(ct.id, ct.const(m)) >> ct.einsum("j,ij->i")
    either, other = [ct.linearize(ct.choose(p, *sides), np.zeros(n))[1] for p in (small, small >> ct.logical_not)]
    two, three = slice(1, 4, 2), np.unique(np.clip(index[:3], 0, n - 1))
    into = [ct.fork(ct.id, ct.const(np.zeros(2))) >> ct.at[two].set,
            ct.fork(ct.id, ct.const((three, np.zeros(len(three)))) >> ct.exl, ct.const(0.0)) >> ct.at[ct.arg].set]  # fmt: skip
    outside, elsewhere = [ct.linearize(f, np.zeros(n))[1] for f in into]
    kept = [1.0 - np.isin(np.arange(n), at) for at in (np.arange(n)[two], three)]
    where = ct.linearize(ct.fork(ct.const(kept[1] > 0.0), ct.id) >> ClearedWhere(), np.zeros(n))[1]
    diagonal, dense = ct.scale(d), linear.dense(m)
    free = linear.matrix_free(
        ct.fork(ct.exl, ct.exr) >> ct.einsum("ij,j->i"), ct.fork(ct.exl, ct.exr) >> ct.einsum("ij,i->j"), space, space, m
    )
    return {
        "identity": (linear.identity(space), np.eye(n)),
        "zero": (linear.zero(space, space), np.zeros((n, n))),
        "diagonal": (diagonal, np.diag(d)),
        "dense": (dense, m),
        "outer": (linear.outer(u, v), np.outer(u, v)),
        "einsum": (linear.einsum("ji,i->j", m, space), m),
        "scaled": (2.0 * linear.identity(space), 2 * np.eye(n)),
        "flip": (flip, np.eye(n)[::-1]),
        "shift": (shift, np.eye(n, k=-1)),
        "projection": (outside, np.diag(kept[0])),
        "projection at indices": (elsewhere, np.diag(kept[1])),
        "projection by a mask": (where, np.diag(kept[1])),
        "gather": (linear.gather(index, space), gather_matrix(index, n)),
        "scatter_add": (linear.scatter_add(index, space), gather_matrix(index, n).T),
        "recurrence": (linear.recurrence(links), recurrence_matrix(links)),
        "recurrence backwards": (linear.recurrence(links).T, recurrence_matrix(links).T),
        "cumulative_sum": (linear.cumulative_sum(space), np.tri(n)),
        "matrix_free": (free, m),
        "either": (either, np.diag(d)),
        "either, the other": (other, m),
        "sum": (diagonal + flip, np.diag(d) + np.eye(n)[::-1]),
        "chain": (
            linear.recurrence(links) >> linear.gather(index, space),
            gather_matrix(index, n) @ recurrence_matrix(links),
        ),
    }


def block_cases(n: int, seed: int = 0) -> dict[str, Case]:
    """Maps between products of spaces, with tuples of unequal ranks among them."""
    rng = np.random.default_rng(seed)
    a, b, m = numbers(rng, n), numbers(rng, n), numbers(rng, n, n)
    column = numbers(rng, n)
    A, B, M = np.diag(a), np.diag(b), m
    outer = linear.outer(column, np.ones(n))
    grid = linear.block(
        [[ct.scale(a), linear.dense(m)], [linear.zero(ct.f64[n], ct.f64[n]), ct.scale(b)]],
        ct.f64[n] * ct.f64[n],
        ct.f64[n] * ct.f64[n],
    )
    wide = ct.linearize(ct.scan(lambda f, g: (f[0] * g[0], f[1] * g[0] + g[1]), (1.0, 0.0)), (a, b))[1]
    return {
        "grid": (grid, np.block([[A, M], [np.zeros((n, n)), B]])),
        "cross": (linear.cross(ct.scale(a), linear.dense(m)), np.block([[A, np.zeros((n, n))], [np.zeros((n, n)), M]])),
        "fork": (linear.fork(ct.scale(a), outer), np.vstack([A, np.outer(column, np.ones(n))])),
        "join": (linear.join(linear.dense(m), ct.scale(b)), np.hstack([M, B])),
        "inl": (ct.inl(ct.f64[n], ct.f64[n]), np.vstack([np.eye(n), np.zeros((n, n))])),
        "jam": (ct.jam(ct.f64[n]), np.hstack([np.eye(n), np.eye(n)])),
        "affine scan": (wide, affine_matrix(a, b)),
    }


def affine_matrix(a: Any, b: Any) -> Any:
    """The Jacobian of the scan of affine maps, column by column, by exact differences of a multilinear function."""
    n = len(a)

    def run(x: Any) -> Any:
        p, q = x[:n].copy(), x[n:].copy()
        for i in range(1, n):
            p[i], q[i] = p[i - 1] * p[i], q[i - 1] * p[i] + q[i]
        return np.concatenate([p, q])

    x = np.concatenate([a, b])
    return np.stack([run(x + e) - run(x) for e in np.eye(2 * n)], axis=1)
