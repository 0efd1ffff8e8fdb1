"""Shapes, indices, maps and products of matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import catad as ct

from .derivatives import Derivative
from .programs import (
    Data,
    Program,
    Reading,
    Rng,
    also,
    block,
    column,
    entry,
    gradient,
    normal,
    pulled_ones,
    tangent,
    transposed,
    value,
)


def whole_numbers(high: int, *shape: int) -> Callable[[Rng], Any]:
    return lambda rng: rng.integers(0, high, shape)


def reshaped(d: Data) -> ct.D:
    return ct.reshape((int(d["n"]), int(d["m"])))


def first_columns(m: Derivative, d: Data) -> list[Any]:
    """The tangents of the result for the first two unit tangents."""
    return [np.stack([m.push(e) for e in np.eye(m.xs[0].size)[:2]])]


def pulled_back(m: Derivative, d: Data) -> list[Any]:
    """The cotangent of the point, for its own image as cotangent."""
    return list(m.pull(m.y))


def counted_rows(m: Derivative, d: Data) -> list[Any]:
    """The cotangent of the point, for a cotangent with 0, 1, 2, ... along the last axis."""
    return list(m.pull(np.arange(float(m.y.shape[-1]))))


def overwritten_first(d: Data) -> ct.D:
    return ct.fork(ct.id, ct.const(np.array([0])), ct.const(np.zeros(1))) >> ct.scatter


def overwritten_if(d: Data) -> ct.D:
    written = ct.exr >> overwritten_first(d)
    return ct.fork(ct.exl, written, ct.exr) >> ct.map(lambda b, new, old: new if b else old)


def doubled_second(d: Data) -> ct.D:
    doubled = ct.map(lambda x: 2.0 * x) >> ct.slice(1, 2)
    return ct.fork(ct.id, ct.const(np.array([1])), doubled) >> ct.scatter


def row_sums_and_indices(d: Data) -> ct.D:
    rows = ct.cross(ct.id, ct.astype(np.int64)) >> ct.gather >> ct.sum(axis=1)
    return ct.fork(rows, ct.exr) >> ct.add


def windows(d: Data) -> ct.D:
    """Both windows gathered by their indices, then contracted."""
    at = np.add.outer
    four, two = np.arange(4), np.arange(2)
    pairs = ct.fork(
        ct.fork(ct.id, ct.const(at(four, four))) >> ct.gather, ct.fork(ct.id, ct.const(at(two, four))) >> ct.gather
    )
    products = pairs >> ct.einsum("kj,ij->ki")
    return products >> ct.fork(column(0), column(1)) >> ct.sub


def windows_unrolled(d: Data) -> ct.D:
    """The sum over j written out: slices times single entries."""
    out = None
    for j in range(4):
        term = ct.fork(ct.slice(j, j + 4), ct.fork(entry(j), entry(j + 1)) >> ct.sub) >> ct.mul
        out = term if out is None else out + term
    return out


def windows_nested(d: Data) -> ct.D:
    """Maps of morphisms, one inside the other: for each window, for each shift, a dot product."""
    four, two = np.arange(4), np.arange(2)
    shifted = ct.fork(ct.id, ct.const(np.add.outer(two, four))) >> ct.gather
    window = ct.fork(ct.id, ct.const(np.add.outer(four, four))) >> ct.gather
    both = ct.fork(window, shifted >> ct.replicate(4))
    dots = ct.fork(ct.exl >> ct.replicate(2), ct.exr) >> ct.map(ct.mul >> ct.sum())
    return both >> ct.map(dots >> ct.fork(entry(0), entry(1)) >> ct.sub)


def added_matmul(d: Data) -> ct.D:
    (i, k), j = d["A"].shape, d["B"].shape[1]
    return ct.cross(ct.reshape((i, k, 1)), ct.reshape((k, j)) >> ct.replicate(1)) >> ct.add >> ct.sum(axis=1)


def gathered_in_rows(d: Data) -> ct.D:
    return ct.cross(ct.id, ct.replicate(len(d["X"]))) >> ct.map(ct.gather)


def scattered_self(d: Data) -> ct.D:
    n = len(d["xs"])
    at = np.concatenate([np.arange(n), np.zeros(n, np.int64)])
    values = ct.fork(ct.id, entry(0) >> ct.replicate(n)) >> ct.concatenate()
    return ct.fork(ct.id, ct.const(at), values) >> ct.scatter >> ct.slice(1, None) >> ct.sum()


def scattered_outside(d: Data) -> ct.D:
    n = len(d["xs"])
    at = np.concatenate([np.arange(n), np.full(n, -1)])
    return ct.fork(ct.const(np.zeros(n)), ct.const(at), ct.dup >> ct.concatenate()) >> ct.scatter >> ct.sum()


def two_pulls(m: Derivative, d: Data) -> list[Any]:
    return [np.stack([m.pull(w)[0] for w in (1.0, 2.0)])]


def scaled_and_added(d: Data) -> ct.D:
    alpha, beta = float(d["alpha"]), float(d["beta"])
    product = ct.fork(ct.proj(0), ct.proj(1)) >> ct.matmul
    return ct.fork(ct.proj(2), product) >> ct.map(lambda c, p: alpha * c + beta * p)


def random_gemm(shapes: list[tuple[int, ...]], numbers: list[float], rng: Rng, case: str) -> Data:
    drawn = {name: rng.standard_normal(shape) for name, shape in zip(("A", "B", "C", "G_adj"), shapes, strict=True)}
    return {"alpha": numbers[0], "beta": numbers[1], **drawn}


def given_cotangent(name: str) -> Reading:
    return lambda m, d: list(m.pull(d[name]))


PROGRAMS = {
    "concat0": Program(lambda d: ct.dup >> ct.concatenate(), "xs", transposed, normal(xs=(4,))),
    "reshape0": Program(
        reshaped, "xs", {"0": first_columns, "1": pulled_back}, also(normal(xs=(6,)), n=2, m=3), whole="n m"
    ),
    "replicate0": Program(
        lambda d: ct.replicate(int(d["n"])), "xs", {"0": transposed, "1": counted_rows}, also(normal(xs=(2,)), n=3), whole="n"
    ),
    "replicate2": Program(
        lambda d: ct.broadcast_to((int(d["n"]), int(d["m"]))), "x", {"0": tangent, "1": counted_rows},
        also(normal(x=()), n=2, m=3), whole="n m",
    ),
    "index": Program(lambda d: ct.gather, "xs i", pulled_ones(0), also(normal(xs=(4,)), i=2), whole="i"),
    "consume0": Program(overwritten_first, "xs", block(), normal(xs=(3,))),
    "consume1": Program(overwritten_if, "b xs", block(1), also(normal(xs=(3,)), b=lambda rng: rng.random() < 0.5)),
    "consume4": Program(doubled_second, "xs", {"0": value, "1": gradient, "2": tangent}, normal(xs=(4,))),
    "map3": Program(lambda d: ct.mul, "x xs", block(0), normal(x=(), xs=(3,))),
    "map5": Program(
        row_sums_and_indices, "A is", block(1),
        also(normal(A=(3, 2)), **{"is": lambda rng: rng.integers(0, 3, 4) + rng.uniform(0.1, 0.9, 4)}),
    ),
    "map6": (Program(windows, "x", transposed, normal(x=(8,))), Program(windows_nested, "x", transposed, normal(x=(8,)))),
    "map7": Program(windows_unrolled, "x", transposed, normal(x=(8,))),
    "fwd/map0": Program(
        lambda d: ct.fork(ct.const(np.arange(3.0)), ct.id) >> ct.map(lambda k, x: k * x**2), "x", tangent, normal(x=())
    ),
    "matmul": Program(added_matmul, "A B", block(1), normal(A=(2, 3), B=(3, 4))),
    "genred-opt/matmul-simple": Program(
        lambda d: ct.matmul, "A B", given_cotangent("C_adj"), normal(A=(2, 3), B=(3, 2), C_adj=(2, 2))
    ),
    "genred-opt/gemm-simple": Program(
        scaled_and_added, "A B C", given_cotangent("G_adj"), also(normal(A=(2, 3), B=(3, 2), C=(2, 2)), alpha=0.3, beta=1.7),
        random=random_gemm, random_modes=("reverse", "planned"),
    ),
    "gather0": Program(lambda d: ct.gather, "xs is", block(0), also(normal(xs=(4,)), **{"is": whole_numbers(4, 5)}), whole="is"),
    "gather1": Program(gathered_in_rows, "X is", block(0), also(normal(X=(3, 4)), **{"is": whole_numbers(4, 5)}), whole="is"),
    "scatter0": Program(
        lambda d: ct.scatter, "xs is vs", block(2), also(normal(xs=(4,), vs=(4,)), **{"is": np.array([2, -1, 0, 9])}), whole="is"
    ),
    "scatter2": Program(scattered_outside, "xs", gradient, normal(xs=(4,))),
    "scatter3": Program(
        lambda d: ct.fork(ct.const(np.zeros(1)), ct.const(np.array([0])), ct.id) >> ct.scatter >> ct.sum(), "xs", two_pulls,
        normal(xs=(1,)),
    ),
    "scatter5": Program(scattered_self, "xs", gradient, normal(xs=(4,))),
}  # fmt: skip
