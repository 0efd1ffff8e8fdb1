"""Random chains of linear maps, and a brute force over bracketings that shares no code with the planner's search."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import catad as ct
from catad import linear
from catad.category.wiring import Builder
from catad.linear.families.block import Chain, chain
from catad.linear.network import Network
from catad.linear.products import cost_of, multiply, operations
from catad.linear.structure import Structure
from catad.planner.chains.pushes import accumulated

KINDS = (
    "dense", "diagonal", "gather", "scatter", "slice", "flip", "pad", "recurrence", "outer", "scaled", "identity", "sum",
)  # fmt: skip


def numbers(rng: np.random.Generator, *shape: int) -> Any:
    """Small integers as floats: all sums and products of a few are exact."""
    return rng.integers(-3, 4, size=shape).astype(np.float64)


def single(rng: np.random.Generator, kind: str, n: int, m: int) -> ct.LinearMap:
    """A map from R^n; to R^m where the kind lets it."""
    space = ct.f64[n]
    x = np.zeros(n)
    match kind:
        case "dense":
            return linear.dense(numbers(rng, m, n))
        case "diagonal":
            return ct.scale(numbers(rng, n))
        case "gather":
            return linear.gather(rng.integers(-1, n + 1, size=m), space)
        case "scatter":
            return linear.scatter_add(rng.integers(-1, m + 1, size=n), ct.f64[m])
        case "slice":
            return ct.linearize(ct.slice(0, max(1, n - 1)), x)[1]
        case "flip":
            return ct.linearize(ct.flip(), x)[1]
        case "pad":
            return ct.linearize(ct.pad(1, 0), x)[1]
        case "recurrence":
            return linear.recurrence(numbers(rng, n))
        case "outer":
            return linear.outer(numbers(rng, m), numbers(rng, n))
        case "scaled":
            return 2.0 * linear.identity(space)
        case "sum":
            return linear.dense(numbers(rng, n, n)) + ct.scale(numbers(rng, n))
    return linear.identity(space)


def random_chain(seed: int, count: int, kinds: tuple[str, ...] = KINDS) -> list[ct.LinearMap]:
    """`count` maps between vectors, each from where the last one ended."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 6))
    maps: list[ct.LinearMap] = []
    for _ in range(count):
        made = single(rng, str(rng.choice(kinds)), n, int(rng.integers(1, 6)))
        maps.append(made)
        n = made.cod.size
    return maps


def random_blocks(seed: int, count: int) -> list[ct.LinearMap]:
    """Square grids of maps between pairs of vectors of one length, some places empty."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 5))
    space = ct.f64[n] * ct.f64[n]

    def cell() -> ct.LinearMap:
        kind = str(rng.choice(["dense", "diagonal", "recurrence", "identity", "zero", "gather", "flip"]))
        return linear.zero(ct.f64[n], ct.f64[n]) if kind == "zero" else single(rng, kind, n, n)

    return [linear.block([[cell(), cell()], [cell(), cell()]], space, space) for _ in range(count)]


def dense_product(maps: list[ct.LinearMap]) -> Any:
    """The matrix of the product on flattened vectors, by NumPy."""
    out = np.eye(maps[0].dom.size)
    for m in maps:
        out = m.todense().reshape(m.cod.size, m.dom.size) @ out
    return out


def bracketings(i: int, j: int) -> Iterator[Any]:
    """All of factors i to j, as nested lists."""
    if i == j:
        yield i
    for k in range(i, j):
        for a in bracketings(i, k):
            for c in bracketings(k + 1, j):
                yield [a, c]


def plain(structure: Structure) -> list[Structure]:
    """The factors of a map: the parts of chains, the stages of networks."""
    if isinstance(structure, Network):
        return plain(structure.stages)
    if isinstance(structure, Chain):
        return [inner for part, _ in structure.parts for inner in plain(part)]
    return [structure]


def whole(parts: list[Structure]) -> Structure:
    """The product of some factors, not multiplied out."""
    start, placed = 0, []
    for part in parts:
        placed.append((part, tuple(range(start, start + len(part.slots)))))
        start += len(part.slots)
    return chain(placed)


def written(structure: Structure, backwards: bool) -> tuple[int, Structure]:
    """What it costs to write a map out by pushing or pulling a basis, and what comes of it."""
    product = accumulated(structure, backwards)
    b = Builder()
    product.combine(b, [b.wire(space) for space in structure.slots], [])
    return cost_of(b), product.structure


def with_bases(bracketing: Any, maps: list[ct.LinearMap]) -> list[Any]:
    """A bracketing, and all that write out some of what is known by its application only."""
    if isinstance(bracketing, int):
        found = [bracketing]
    else:
        halves = [with_bases(half, maps) for half in bracketing]
        found = [[left, right] for left in halves[0] for right in halves[1]]
    return [b for each in found for b in [each, *([how, each] for how in ("push", "pull") if stays_lazy(each, maps))]]


def stays_lazy(bracketing: Any, maps: list[ct.LinearMap]) -> bool:
    return any(part.is_lazy for part in cost(bracketing, maps)[1])


def cost(bracketing: Any, maps: list[ct.LinearMap]) -> tuple[int, list[Structure]]:
    """The operations of a bracketing, and its product as a chain of what has no rule; arrays all different."""
    if isinstance(bracketing, int):
        return 0, plain(maps[bracketing].structure)
    if isinstance(bracketing[0], str):
        before, parts = cost(bracketing[1], maps)
        spent, made = written(whole(parts), bracketing[0] == "pull")
        return before + spent, plain(made)
    (left_cost, left), (right_cost, right) = cost(bracketing[0], maps), cost(bracketing[1], maps)
    total, at, parts = left_cost + right_cost, len(left) - 1, [*left, *right]
    todo = [at]
    while todo:
        k = todo.pop(0)
        product = multiply(parts[k], parts[k + 1])
        if product is not None:
            spent = operations(parts[k], parts[k + 1])
            assert spent is not None
            total += spent
            made = product.structure
            new = [s for s, _ in made.parts] if isinstance(made, Chain) else [made]
            parts[k : k + 2] = new
            todo = [p for p in (k - 1, k + len(new) - 1) if 0 <= p < len(parts) - 1]
    return total, parts
