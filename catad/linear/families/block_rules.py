"""The product rules of composite structures: blockwise for `Block`, through the ends of a `Chain`, term by term for `Sum`."""

from __future__ import annotations

from collections.abc import Sequence

from catad.category.spaces import Tensor
from catad.linear.families.block import Block, Chain, Sum, Widths, Zero, chain, slots_of
from catad.linear.products import MapProduct, Shared, Source, left, moved, multiply, right, rule
from catad.linear.structure import Placed, Structure, apart, renumbered
from catad.linear.sums import added, pool


def among(shared: Shared, ls: Sequence[int], rs: Sequence[int]) -> Shared:
    """The pairs of slots that two parts share, of those that their composites share."""
    return frozenset((i, j) for i, a in enumerate(ls) for j, c in enumerate(rs) if (a, c) in shared) if shared else shared


def joined(first: Placed, second: Placed, shared: Shared) -> MapProduct:
    """The product of placed parts; a chain of the two where there is no rule."""
    (a, ls), (c, rs) = first, second
    product = multiply(a, c, among(shared, ls, rs))
    if product is None:
        product = MapProduct(chain(apart(a, c)), (*[left(i) for i in range(len(ls))], *[right(j) for j in range(len(rs))]))
    return moved(product, [left(i) for i in ls], [right(j) for j in rs])


@rule(Block, Block)
@rule(Block, Structure)
@rule(Structure, Block)
@rule(Block, Sum)
@rule(Sum, Block)
def blockwise(first: Structure, second: Structure, shared: Shared) -> MapProduct | None:
    """`(first >> second)[r][c] = sum over k of first[k][c] >> second[r][k]`."""
    a, c = first.blocks, second.blocks
    if a.rows != c.columns:
        return None
    width = len(a.grid[0]) if a.grid else len(first.dom)
    terms = [
        [
            [
                joined(upper, lower, shared)
                for k, lower in enumerate(line)
                if lower is not None and (upper := a.grid[k][col]) is not None
            ]
            for col in range(width)
        ]
        for line in c.grid
    ]
    made = in_places(terms, first.dom, second.cod, (a.columns, c.rows))
    whole = made.structure
    if len(first.dom) == 1 and len(second.cod) == 1 and whole.blocks.grid and (only := whole.blocks.grid[0][0]) is not None:
        return MapProduct(only[0], tuple([made.sources[k] for k in only[1]]))
    return MapProduct(Zero(first.dom, second.cod), ()) if whole.is_zero else made


def in_places(
    terms: Sequence[Sequence[Sequence[MapProduct]]], dom: Sequence[Tensor], cod: Sequence[Tensor], widths: Widths
) -> MapProduct:
    """A grid whose places have the sums of some products."""
    sources, placed = pool([added(own) for line in terms for own in line if own])
    parts = iter(placed)
    grid = [[next(parts) if own else None for own in line] for line in terms]
    rows = tuple([tuple([None if part is None or part[0].is_zero else part for part in line]) for line in grid])
    plain = all(w == 1 for side in widths for w in side)
    return MapProduct(Block(rows, tuple(dom), tuple(cod), slots_of(placed), None if plain else widths), sources)


@rule(Chain, Chain)
@rule(Chain, Structure)
@rule(Structure, Chain)
@rule(Chain, Block)
@rule(Block, Chain)
@rule(Chain, Sum)
@rule(Sum, Chain)
def at_the_joint(first: Structure, second: Structure, shared: Shared) -> MapProduct | None:
    """The parts that meet are multiplied, and so on to both sides, as long as a rule fits."""
    n = len(first.slots)
    before, after = [[renumbered(inner, own) for inner in part.series] for part, own in apart(first, second)]
    pair = frozenset((i, n + j) for i, j in shared)
    product = multiply(before[-1][0], after[0][0], _among_all(pair, before[-1][1], after[0][1]))
    if product is None:
        return None

    def whole(source_numbers: Sequence[int]) -> list[Source]:
        return [left(k) if k < n else right(k - n) for k in source_numbers]

    middle = moved(product, whole(before[-1][1]), whole(after[0][1]))
    parts = [MapProduct(s, tuple(whole(own))) for s, own in before[:-1]] + [middle]
    parts += [MapProduct(s, tuple(whole(own))) for s, own in after[1:]]
    sources, placed = pool(_settled(parts, len(before) - 1))
    return MapProduct(chain(placed), sources)


def _settled(parts: list[MapProduct], at: int) -> list[MapProduct]:
    """A chain of which part `at` is new: it is multiplied with its neighbours, and what comes of that with theirs."""
    todo = [at - 1, at]
    while todo:
        k = todo.pop(0)
        if not 0 <= k < len(parts) - 1:
            continue
        (a, ls), (c, rs) = ((part.structure, part.sources) for part in parts[k : k + 2])
        shared = frozenset((i, j) for i, s in enumerate(ls) for j, t in enumerate(rs) if s == t)
        product = multiply(a, c, shared)
        if product is not None:
            parts[k : k + 2] = [moved(product, ls, rs)]
            todo = [k - 1, k]
    return parts


def _among_all(pairs: Shared, ls: Sequence[int], rs: Sequence[int]) -> Shared:
    """The pairs of slots that two parts share, where all slots have one numbering; equal numbers are the same slot."""
    return frozenset((i, j) for i, a in enumerate(ls) for j, c in enumerate(rs) if a == c or (a, c) in pairs)


@rule(Sum, Sum)
@rule(Sum, Structure)
@rule(Structure, Sum)
def _distribute(first: Structure, second: Structure, shared: Shared) -> MapProduct | None:
    """A sum times a map, where every term has a rule, or is a chain that costs little more to apply than the sum."""
    terms, multiplied = [], first.only_moves or second.only_moves
    for a, ls in first.terms:
        for c, rs in second.terms:
            product = multiply(a, c, among(shared, ls, rs))
            multiplied |= product is not None
            if product is None and not (a.is_light and c.is_light):
                return None
            terms.append(joined((a, ls), (c, rs), shared))
    return added(terms) if multiplied else None
