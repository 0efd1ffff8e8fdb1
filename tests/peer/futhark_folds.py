"""Reductions and scans: of numbers, of tuples, of rows, of matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import catad as ct

from .derivatives import Derivative
from .programs import Data, Program, Rng, block, column, entry, gradient, normal, pulled_unit, value

PRODUCT = (lambda a, b: a * b, 1.0)
GREATEST = (lambda a, b: a if a >= b else b, -np.inf)
LEAST = (lambda a, b: a if a <= b else b, np.inf)


def constants_around(d: Data) -> ct.D:
    parts = ct.fork(ct.const(np.array([1.0, 2.0])), ct.reshape((1,)), ct.const(np.array([4.0])))
    return parts >> ct.concatenate() >> ct.fold(*PRODUCT)


def product_times(d: Data) -> ct.D:
    return ct.cross(ct.fold(*PRODUCT), ct.id) >> ct.mul


def least_and_greatest(d: Data) -> ct.D:
    return ct.abs >> ct.fork(ct.fold(*LEAST), ct.fold(*GREATEST))


def both_gradients(m: Derivative, d: Data) -> list[Any]:
    return [m.pull(1.0, None)[0], m.pull(None, 1.0)[0]]


def triples(d: Data) -> ct.D:
    op = lambda a, b: (a[0] + b[0], a[1] + b[1], a[2] + b[2])  # noqa: E731
    return ct.fold(op, (0.0, 0.0, 0.0))


def nearest(d: Data) -> ct.D:
    """(pose, points) to the sum over the points of the least distance to the segments."""
    segments = np.array([[[0.0, 0.0], [2.0, 2.0]]])
    ends = ct.const(segments.sum(axis=(1, 2)).reshape(1, -1))
    pose = ct.exl >> ct.fork(entry(0), entry(2))
    points = ct.exr >> ct.fork(ct.slice(0, 1, axis=1), ct.slice(2, 3, axis=1))
    away = ct.map(lambda p, q, s: (q[0] - p[0]) + (q[1] - p[1]) + s)
    return ct.fork(pose, points, ends) >> away >> ct.fold(*LEAST, axis=1) >> ct.sum()


def gradient_and_loss(m: Derivative, d: Data) -> list[Any]:
    return [np.concatenate([m.pull(1.0)[0], [m.y]])]


def rows_seeded(m: Derivative, d: Data) -> list[Any]:
    return [m.row_block()]


# -- scans of tuples: the point is a matrix with one element a row


def affine(f, g):
    return g[0] + g[1] * f[0], f[1] * g[1]


def affine_2d(f, g):
    d0, d1, a, b, c, d = f
    e0, e1, p, q, r, s = g
    return (e0 + p * d0 + q * d1, e1 + r * d0 + s * d1, p * a + q * c, p * b + q * d, r * a + s * c, r * b + s * d)


def product_of(n: int) -> Callable[..., Any]:
    """The product of two n by n matrices, each a tuple of its n * n numbers by rows."""

    def matrix_product(a, b):
        out = ()
        for i in range(n):
            for j in range(n):
                total = a[n * i] * b[j]
                for k in range(1, n):
                    total = total + a[n * i + k] * b[n * k + j]
                out += (total,)
        return out

    return matrix_product


def identity(n: int) -> tuple[float, ...]:
    return tuple(np.eye(n).reshape(-1).tolist())


def scan_columns(op: Callable[..., Any], neutral: tuple[float, ...]) -> ct.D:
    """A scan of the rows of a matrix, each a tuple of numbers."""
    columns = ct.fork(*[column(k) for k in range(len(neutral))])
    return columns >> ct.scan(op, neutral) >> ct.stack(axis=1)


def matrices(n: int) -> ct.D:
    return scan_columns(product_of(n), identity(n))


def arrays_of(n: int) -> ct.D:
    """The same with an operator on arrays."""
    return ct.reshape((-1, n, n)) >> ct.scan(ct.matmul, np.eye(n)) >> ct.reshape((-1, n * n))


AFFINE_2D = (affine_2d, (0.0, 0.0, 1.0, 0.0, 0.0, 1.0))
AFFINE = (affine, (0.0, 1.0))


def by_width(d: Data) -> ct.D:
    """The affine scan for elements of the data's width."""
    return scan_columns(*(AFFINE if d["xs"].shape[1] == 2 else AFFINE_2D))


def powers_summed(d: Data) -> ct.D:
    """The three numbers to the second row of the table, without its first column."""
    first = ct.sum() >> ct.map(lambda s: 1.0 - 2.0 * s) >> ct.reshape((1,))
    exponents = ct.const(np.arange(4).reshape(4, 1))
    factors = ct.const(np.array([1.0, 2.0, 2.0, 2.0]))
    table = ct.fork(ct.fork(first, ct.id) >> ct.concatenate(), exponents, factors) >> ct.map(lambda w, i, k: k * w**i)
    return table >> ct.scan(lambda a, b: a + b, 0.0, axis=1) >> ct.slice(1, 2) >> ct.reshape(-1) >> ct.slice(1, 4)


def point_of_powers(d: Data) -> tuple[Any, ...]:
    """Any point will do for the record: its row of the table is linear in the three numbers."""
    return (d.get("w", np.array([0.75, -1.25, 0.5])),)


# -- cases with drawn data: what is read must be the same in all modes


def random_elements(shapes: list[tuple[int, ...]], numbers: list[float], rng: Rng, case: str) -> Data:
    """Elements whose products over the whole length neither vanish nor overflow."""
    (n, width), which = shapes[0], int(case.split(".")[0])
    x = rng.standard_normal((n, width))
    if which <= 2:
        size = (2, 3, 4)[which]
        q = np.linalg.qr(x.reshape(n, size, size))[0]
        return {"xs": q.reshape(n, width), "which": which}
    if which == 3:
        return {"xs": np.stack([x[:, 0], rng.choice([-1.0, 1.0], n)], axis=1), "which": which}
    q = np.linalg.qr(x[:, 2:].reshape(n, 2, 2))[0]
    return {"xs": np.concatenate([x[:, :2], q.reshape(n, 4)], axis=1), "which": which}


def benchmark_scan(d: Data) -> ct.D:
    which = int(d["which"])
    return matrices(which + 2) if which <= 2 else scan_columns(*(AFFINE, AFFINE_2D)[which - 3])


def scanned_both(d: Data) -> ct.D:
    """Scans by + and by *."""
    return ct.fork(ct.scan(lambda a, b: a + b, 0.0), ct.scan(*PRODUCT))


def both_blocks(m: Derivative, d: Data) -> list[Any]:
    """The Jacobians of both results; of rows, for rows of ones."""
    block = m.block if m.xs[0].ndim == 1 else m.row_block
    return [block(0), block(1)]


def random_scanned(shapes: list[tuple[int, ...]], numbers: list[float], rng: Rng, case: str) -> Data:
    return {"xs": rng.integers(0, 2, shapes[0])}


def random_rows(shapes: list[tuple[int, ...]], numbers: list[float], rng: Rng, case: str) -> Data:
    return {"xs": rng.standard_normal(shapes[0])}


def drawn_matrices(n: int) -> Callable[[Rng], Data]:
    return normal(xs=(3, n * n))


PROGRAMS = {
    "sum": Program(lambda d: ct.sum(), "xs", gradient, normal(xs=(5,))),
    "reduce0": Program(lambda d: ct.fold(*PRODUCT), "xs", gradient, normal(xs=(5,))),
    "fwd/red0": Program(constants_around, "x", lambda m, d: [m.push(1.0)], normal(x=())),
    "reducemul2": Program(product_times, "xs c", gradient, normal(xs=(4,), c=())),
    "reducemul3": Program(product_times, "xs c", gradient, normal(xs=(4,), c=())),
    "reducevec0": Program(lambda d: ct.fold(*PRODUCT), "xs", block(), normal(xs=(3, 2, 2))),
    "reducevecmul1": Program(product_times, "xs c", pulled_unit(3, 0, 1), normal(xs=(3, 4), c=())),
    "reducevecmul3": Program(product_times, "xs c", pulled_unit(1, 0, 1), normal(xs=(3, 4), c=())),
    "reduce-vec-minmax0": Program(lambda d: ct.fold(*GREATEST), "xs", block(), normal(xs=(4, 3)), random=random_rows),
    "maximum": Program(lambda d: ct.abs >> ct.fold(*GREATEST), "xs", gradient, normal(xs=(6,))),
    "minimum": Program(lambda d: ct.fold(*LEAST), "xs", gradient, normal(xs=(6,))),
    "minmax": Program(least_and_greatest, "xs", both_gradients, normal(xs=(6,))),
    "issue2199": Program(triples, "as bs cs", value, normal(**{"as": (3,), "bs": (3,), "cs": (3,)})),
    "issue2294": Program(nearest, lambda d: (np.zeros(3), d["pcd"]), gradient_and_loss, normal(pcd=(4, 3))),
    "scan0": Program(lambda d: ct.scan(*PRODUCT), "a", block(), normal(a=(5,))),
    "scan2": Program(lambda d: ct.scan(lambda a, b: a + b, 0.0), "a", rows_seeded, normal(a=(4, 3))),
    "scan6": Program(by_width, "xs", block(), normal(xs=(4, 6))),
    "scan8": (
        Program(lambda d: matrices(3), "xs", block(), drawn_matrices(3)),
        Program(lambda d: arrays_of(3), "xs", block(), drawn_matrices(3)),
    ),
    "scan9": (
        Program(lambda d: matrices(4), "xs", block(), drawn_matrices(4)),
        Program(lambda d: arrays_of(4), "xs", block(), drawn_matrices(4)),
    ),
    "issue2256": Program(lambda d: ct.fork(ct.id, ct.scan(*PRODUCT)) >> ct.mul >> ct.sum(), "x", gradient, normal(x=(5,))),
    "issue2239": Program(
        powers_summed, point_of_powers, lambda m, d: [m.push(d["seed"])], normal(seed=(3,), w=(3,))
    ),
    "scangenbenchtests": Program(
        benchmark_scan, "xs", block(), lambda rng: random_elements([(4, 6)], [], rng, "4.0"), whole="which",
        random=random_elements,
    ),
    "scanvecbenchtests": Program(scanned_both, "xs", both_blocks, normal(xs=(3, 2)), random=random_scanned),
}  # fmt: skip
