"""Reductions by index: by +, by *, by max, by operators on tuples and on rows, and some that are used twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import catad as ct

from .derivatives import Derivative
from .programs import Data, Program, Rng, also, normal, pulled_ones, pulled_unit

PLUS = (lambda a, b: a + b, 0.0)
TIMES = (lambda a, b: a * b, 1.0)
GREATEST = (lambda a, b: a if a >= b else b, -np.inf)
DOUBLED = (lambda a, b: 2.0 * a * b, 0.5)
DUAL = (lambda f, g: (f[1] * g[0] + g[1] * f[0], f[1] * g[1]), (0.0, 1.0))
LIMIT = 2.0**24 - 1
SATURATING = (lambda a, b: LIMIT if LIMIT - a < b else a + b, 0.0)


def first_least(a, b):
    """Of two (value, index) that with the smaller value, of equal values that with the smaller index."""
    left = a[0] < b[0] or (a[0] == b[0] and a[1] <= b[1])
    return (a[0] if left else b[0], a[1] if left else b[1])


ARGMIN = (first_least, (np.inf, np.inf))


def onto(op: Any, start: Any) -> ct.D:
    """(indices, values) folded onto bins that hold `start` at first."""
    return ct.fork(ct.const(start), ct.exl, ct.exr) >> ct.reduce_by_index(*op)


def both_jacobians(m: Derivative, d: Data) -> list[Any]:
    return [m.block(0, 1), m.block(0, 2)]


def two_histograms(d: Data) -> ct.D:
    """The product of the values one bin further, and the sum of the values plus 2."""
    product = ct.cross(ct.map(lambda i: i + 1), ct.id) >> onto(TIMES, np.ones(4))
    total = ct.cross(ct.id, ct.map(lambda v: v + 2.0)) >> onto(PLUS, np.zeros(4))
    return product + total


def duals(d: Data) -> ct.D:
    start = ct.fork(ct.const(np.zeros(4)), ct.const(np.ones(4)))
    values = ct.fork(ct.proj(1), ct.proj(2))
    return ct.fork(start, ct.proj(0), values) >> ct.reduce_by_index(*DUAL)


def squared_and(op: Any) -> Callable[[Data], ct.D]:
    """dst is used twice: its square plus what is folded onto it."""
    return lambda d: ct.fork(ct.proj(0) >> ct.square, ct.reduce_by_index(*op)) >> ct.add


def folded(op: Any) -> Callable[[Data], ct.D]:
    return lambda d: ct.reduce_by_index(*op)


def folded_and_scaled(op: Any) -> Callable[[Data], ct.D]:
    """(dst, indices, values, c)."""
    inner = ct.fork(ct.proj(0), ct.proj(1), ct.proj(2)) >> ct.reduce_by_index(*op)
    return lambda d: ct.fork(inner, ct.proj(3)) >> ct.mul


def with_total(d: Data) -> ct.D:
    return ct.fork(ct.proj(2) >> ct.sum(), ct.reduce_by_index(*GREATEST)) >> ct.mul


def with_values(d: Data) -> ct.D:
    return ct.fork(ct.reduce_by_index(*GREATEST), ct.proj(2))


def both_cotangents(m: Derivative, d: Data) -> list[Any]:
    return [m.pull(d["bar1"], d["bar2"])[2]]


def drawn_indices(bins: int, n: int) -> Data:
    """Indices of which some are out of range."""
    return {"is": lambda rng: rng.integers(-1, bins + 1, n)}


def indexed(bins: int, n: int, *rest: int, **more: tuple[int, ...]) -> Callable[[Rng], Data]:
    """dst and values of one shape of row, with indices."""
    return also(normal(dst=(bins, *rest), vs=(n, *rest), **more), **drawn_indices(bins, n))


GREATEST_BY_VALUE = {"0": pulled_unit(0, 2), "1": lambda m, d: list(m.pull(1.0)[1:2])}

# -- cases with drawn data: what is read must be the same in all modes


def blocks_seeded(m: Derivative, d: Data) -> list[Any]:
    """By the values, for blocks of ones."""
    return [m.row_block(0, 2)]


def random_blocks(shapes: list[tuple[int, ...]], numbers: list[float], rng: Rng, case: str) -> Data:
    at, dst, values = shapes
    return {"is": rng.integers(0, dst[0], at), "dst": rng.standard_normal(dst), "vs": rng.standard_normal(values)}


def saturating_or_least(d: Data) -> ct.D:
    if "dst_i" not in d:
        return ct.reduce_by_index(*SATURATING)
    pairs = ct.fork(ct.fork(ct.proj(0), ct.proj(1)), ct.proj(2), ct.fork(ct.proj(3), ct.proj(4)))
    return pairs >> ct.reduce_by_index(*ARGMIN)


def generic_point(d: Data) -> tuple[Any, ...]:
    if "dst_i" not in d:
        return d["dst"], d["is"], d["vs"]
    return d["dst"], d["dst_i"], d["is"], d["vs"], d["vs_i"]


def all_blocks(m: Derivative, d: Data) -> list[Any]:
    floats = [k for k, x in enumerate(m.xs) if x.dtype.kind == "f"]
    return [m.block(r, k) for r in range(len(m.ys)) for k in floats]


def random_generic(shapes: list[tuple[int, ...]], numbers: list[float], rng: Rng, case: str) -> Data:
    at, dst, *_ = shapes
    bins = dst[0]
    drawn = {"is": rng.integers(0, bins, at), "dst": rng.integers(0, 1000, dst), "vs": rng.integers(0, 1000, at)}
    if case.startswith("0"):
        drawn["vs"][:50] += 2**24 - 2000  # so that some bins are full
        return drawn
    ties = {"dst_i": rng.integers(0, 2000, dst), "vs_i": rng.integers(0, 2000, at)}
    return {**drawn, "vs": drawn["vs"] % 40, "dst": drawn["dst"] % 40, **ties}


def three_operators(d: Data) -> ct.D:
    return ct.fork(ct.reduce_by_index(*PLUS), ct.reduce_by_index(*TIMES), ct.reduce_by_index(*GREATEST))


def three_jacobians(m: Derivative, d: Data) -> list[Any]:
    """By dst and by values; of rows, for rows of ones."""
    block = m.block if m.xs[0].ndim == 1 else m.row_block
    return [block(r, k) for r in range(3) for k in (0, 2)]


def random_three(shapes: list[tuple[int, ...]], numbers: list[float], rng: Rng, case: str) -> Data:
    dst, at, values = shapes
    return {
        "dst": rng.choice([-2.0, -1.0, 1.0, 2.0], dst), "is": rng.integers(0, dst[0], at),
        "vs": rng.choice([-2.0, -1.0, 1.0, 2.0], values) * rng.choice([0.5, 1.0], values),
    }  # fmt: skip


PROGRAMS = {
    "hist_complex": Program(
        lambda d: ct.fork(ct.fork(ct.proj(0), ct.proj(1)) >> ct.histogram(*DOUBLED, len(d["c"])), ct.proj(2)) >> ct.mul,
        "is vs c", both_jacobians, also(normal(vs=(6,), c=(3,)), **drawn_indices(3, 6)), whole="is",
    ),
    "issue1577": Program(
        lambda d: onto(TIMES, np.ones(5)), "is vs", lambda m, d: [m.push(None, 1.0)],
        also(normal(vs=(6,)), **drawn_indices(5, 6)), whole="is",
    ),
    "reducebyindex3": Program(
        two_histograms, "is vs", lambda m, d: [m.block(0, 1)], also(normal(vs=(6,)), **drawn_indices(4, 6)), whole="is"
    ),
    "reducebyindex4": Program(
        duals, "is vs_a vs_b", pulled_ones(1, 2), also(normal(vs_a=(6,), vs_b=(6,)), **drawn_indices(4, 6)), whole="is"
    ),
    "reducebyindex6": Program(
        lambda d: onto(DOUBLED, np.full(2, 0.5)), "is vs", pulled_unit(1, 1), also(normal(vs=(6,)), **drawn_indices(2, 6)),
        whole="is",
    ),
    "reducebyindexadd0": Program(squared_and(PLUS), "dst is vs", pulled_unit(0, 0), indexed(4, 6), whole="is"),
    "reducebyindexadd1": Program(folded(PLUS), "dst is vs", pulled_ones(0, 2), indexed(4, 6), whole="is"),
    "reducebyindexadd3": Program(
        folded_and_scaled(PLUS), "dst is vs c", pulled_ones(0, 2, 3), indexed(3, 5, 2, c=(3, 2)), whole="is"
    ),
    "reducebyindexmul2": Program(squared_and(TIMES), "dst is vs", pulled_unit(0, 0), indexed(4, 6), whole="is"),
    "reducebyindexmul4": Program(
        folded_and_scaled(TIMES), "dst is vs c", pulled_ones(0, 2, 3), indexed(2, 5, 2, 2, c=(2, 2, 2)), whole="is"
    ),
    "reducebyindexminmax0": Program(
        folded(GREATEST), lambda d: (np.zeros(5), d["is"], d["vs"]), GREATEST_BY_VALUE, indexed(5, 8), whole="is"
    ),
    "reducebyindexminmax1": Program(folded(GREATEST), "dst is vs", pulled_unit(0, 0), indexed(4, 8), whole="is"),
    "reducebyindexminmax2": Program(folded(GREATEST), "dst is vs", pulled_unit(0, 2), indexed(4, 8), whole="is"),
    "reducebyindexminmax3": Program(
        folded_and_scaled(GREATEST), "dst is vs c", pulled_unit(0, 2, 3), indexed(3, 8, c=()), whole="is"
    ),
    "reducebyindexminmax5": Program(with_total, "dst is vs", pulled_unit(0, 2), indexed(3, 8), whole="is"),
    "reducebyindexminmax6": Program(squared_and(GREATEST), "dst is vs", pulled_unit(0, 0), indexed(4, 8), whole="is"),
    "reducebyindexminmax8": Program(
        folded(GREATEST), "dst is vs", blocks_seeded, indexed(3, 6, 2, 2), whole="is", random=random_blocks
    ),
    "reducebyindexminmax10": Program(
        with_values, "dst is vs", both_cotangents, indexed(3, 6, 2, bar1=(3, 2), bar2=(6, 2)), whole="is"
    ),
    "reducebyindexgenbenchtests": Program(
        saturating_or_least, generic_point, all_blocks, indexed(3, 8, dst_i=(3,), vs_i=(8,)), whole="is",
        random=random_generic,
    ),
    "reducebyindexspbenchtests": Program(
        three_operators, "dst is vs", three_jacobians, indexed(3, 6, 2), whole="is", random=random_three
    ),
}  # fmt: skip
