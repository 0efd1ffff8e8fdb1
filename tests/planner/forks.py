"""Random programs with forks: boxes whose arguments are any wires that are there, several of which are results."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

import catad as ct


class Program(NamedTuple):
    """A program and a point of it: a tuple of vectors, one for each factor."""

    f: ct.D
    point: tuple[Any, ...]


MULTIPLIED = ("dense", "dense", "dense", "pointwise", "product", "sum", "gather", "flip")
APPLIED = ("scan", "scan of pairs", "loop", "checkpoint")  # known by how they are applied


def matrix(rng: np.random.Generator, m: int, n: int) -> ct.D:
    return ct.fork(ct.const(rng.standard_normal((m, n))), ct.id) >> ct.einsum("ij,j->i")


class Growing:
    """The wires that are there, by their sizes; a box reads some of them and adds its results."""

    def __init__(self, seed: int, sizes: list[int]) -> None:
        self.rng, self.sizes, self.starts = np.random.default_rng(seed), list(sizes), list(sizes)
        self.f: ct.D = ct.id

    def wire(self, k: int) -> ct.D:
        return ct.id if len(self.sizes) == 1 else ct.proj(k)

    def of_size(self, k: int, n: int) -> ct.D:
        """Wire k, made n long by a matrix if it is not."""
        return self.wire(k) if self.sizes[k] == n else self.wire(k) >> matrix(self.rng, n, self.sizes[k])

    def add(self, kind: str, k: int, j: int, m: int) -> None:
        n, x = self.sizes[k], self.wire(k)
        pair = ct.fork(x, self.of_size(j, n))
        made = {
            "dense": lambda: [(x >> matrix(self.rng, m, n), m)],
            "pointwise": lambda: [(x >> ct.tanh, n)],
            "product": lambda: [(pair >> ct.mul, n)],
            "sum": lambda: [(pair >> ct.add, n)],
            "gather": lambda: [(ct.fork(x, ct.const(self.rng.integers(0, n, m))) >> ct.gather, m)],
            "flip": lambda: [(x >> ct.flip(), n)],
            "scan": lambda: [(x >> ct.scan(lambda a, b: a * b, 1.0), n)],
            "scan of pairs": lambda: self._both(pair >> PAIRS, n),
            "loop": lambda: [(x >> ct.iterate(ct.fork(ct.tanh, ct.flip()) >> ct.add, 2), n)],
            "checkpoint": lambda: [(x >> ct.checkpoint(ct.fork(ct.sin, ct.flip()) >> ct.mul), n)],
        }[kind]()
        whole = [self.wire(i) for i in range(len(self.sizes))]
        self.f = self.f >> ct.fork(*whole, *[term for term, _ in made])
        self.sizes += [size for _, size in made]

    def _both(self, pair: ct.D, n: int) -> list[tuple[ct.D, int]]:
        return [(pair >> ct.proj(0), n), (pair >> ct.proj(1), n)]

    def finish(self, results: list[int]) -> Program:
        outs = [self.wire(k) for k in results]
        f = self.f >> (ct.fork(*outs) if len(outs) > 1 else outs[0])
        return Program(f, tuple([self.rng.standard_normal(n) / 2 for n in self.starts]))


PAIRS = ct.scan(lambda a, b: (a[0] + b[0] * a[1], a[1] * b[1]), (0.0, 1.0))


@st.composite
def programs(draw: Any, most: int = 7, kinds: tuple[str, ...] = MULTIPLIED + APPLIED) -> Program:
    """Programs of up to `most` boxes."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=2))
    growing = Growing(draw(st.integers(0, 1000)), sizes)
    for _ in range(draw(st.integers(2, most))):
        there = st.integers(0, len(growing.sizes) - 1)
        growing.add(draw(st.sampled_from(kinds)), draw(there), draw(there), draw(st.integers(1, 5)))
    last = len(growing.sizes) - 1
    more = draw(st.lists(st.integers(0, last), max_size=2, unique=True))
    return growing.finish([*more, last])


def random_program(seed: int, boxes: int, kinds: tuple[str, ...] = MULTIPLIED, width: int = 5) -> Program:
    """A program by a seed."""
    rng = random.Random(seed)
    growing = Growing(seed, [rng.randint(1, width) for _ in range(rng.randint(1, 2))])
    for _ in range(boxes):
        count = len(growing.sizes)
        growing.add(rng.choice(kinds), rng.randrange(count), rng.randrange(count), rng.randint(1, width))
    last = len(growing.sizes) - 1
    return growing.finish(sorted({last, rng.randrange(last + 1)}))


# -- Jacobians as matrices, by definition


def flat(value: Any) -> Any:
    """All numbers of a value in one vector."""
    parts = value if isinstance(value, tuple) else (value,)
    return np.concatenate([np.ravel(np.asarray(part)) for part in parts])


def nested(vector: Any, point: tuple[Any, ...]) -> Any:
    """A vector as a tangent of a point."""
    ends = np.cumsum([part.size for part in point])
    parts = tuple(np.split(np.asarray(vector), ends[:-1]))
    return parts if len(parts) > 1 else parts[0]


def pushed(linear: ct.LinearMap, point: tuple[Any, ...]) -> Any:
    """The matrix of a map, by applying it to a basis."""
    return np.stack([flat(linear(nested(e, point))) for e in np.eye(sum(part.size for part in point))], axis=-1)


def differences(program: Program, step: float = 1e-5) -> Any:
    """Central differences."""
    f, point = program
    x = flat(point)

    def value(y: Any) -> Any:
        found = nested(y, point)
        return flat(f(*found) if isinstance(found, tuple) else f(found))

    columns = [(value(x + step * e) - value(x - step * e)) / (2 * step) for e in np.eye(x.size)]
    return np.stack(columns, axis=-1)
