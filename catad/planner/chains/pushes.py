"""Products without a rule: columns pushed through a map, rows pulled back, and maps accumulated from a basis.

    push      A known, f not:  (f A) e_k = f(A e_k)              as many applications of f as A has columns
    pull      A known, f not:  (A f)^T e_k = f^T(A^T e_k)        as many applications of f^T as A has rows
    accumulate   f known by its application only: f(e_k) for all k, or for sums of those e_k that no row sees together

The last is compressed by colours (`catad.linear.matrix.patterns`): a band of l + u + 1 diagonals takes l + u + 1 applications
whatever its size. Each of these is a `MapProduct`, like those that the rules of the families give, so that plans count, carry
out and explain them alike.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from catad.category.constant import const
from catad.category.spaces import Tensor
from catad.linear.apply import applying
from catad.linear.batch import batch
from catad.linear.families.block import Zero, assemble, chain, total
from catad.linear.families.contract import contract, zeros
from catad.linear.families.delta import Delta, delta
from catad.linear.families.gather import Gathered, Indexing
from catad.linear.families.reindex import Reindex, Reshaped, StridedCopy, axis, whole
from catad.linear.matrix.patterns import Pattern, pattern_of
from catad.linear.products import MapProduct, Source, computed
from catad.linear.structure import Placed, Structure, cast
from catad.support.lru import remembered

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire

MOST = 512  # colours of a map that is written out by diagonals; with more it becomes dense


def is_explicit(structure: Structure) -> bool:
    """True where the columns of a map can be read off: a dense array, or a grid of such."""
    cells = structure.leafwise
    return cells is not None and all(part is None or part[0].holds_columns for row in cells for part in row)


@remembered
def pushed(first: Structure, second: Structure) -> MapProduct | None:
    """`first >> second` by pushing the columns of an explicit `first`; None where it has none."""
    if not is_explicit(first):
        return None
    there = [_reads(first, c) for c in range(len(first.dom))]

    def columns(b: Builder, c: int, ls: Sequence[Wire]) -> tuple[Wire | None, ...]:
        return tuple([None if part is None else _columns_of(b, part, ls) for part in _column(first, c)])

    return _dense_grid(first.dom, second, there, columns)


@remembered
def pulled(first: Structure, second: Structure) -> MapProduct | None:
    """`first >> second` by pulling back the rows of an explicit `second`; None where it has none."""
    product = pushed(second.T, first.T)
    return None if product is None else MapProduct(product.structure.T, tuple([source.swapped() for source in product.sources]))


@remembered
def accumulated(structure: Structure, backwards: bool = False) -> MapProduct:
    """A map as one that is written out, from its application to a basis, or backwards from that of its transpose.

    It is the product of the map (first) and nothing. Where the pattern is known, columns of one colour are pushed together, and
    the result has that pattern: a diagonal, a band, a block-diagonal map.
    """
    if backwards:
        product = accumulated(structure.T)
        return MapProduct(product.structure.T, product.sources)
    pattern = pattern_of(structure)
    if pattern is not None and is_compressed(structure):
        return _compressed(structure, pattern)

    def basis(b: Builder, c: int, _: Sequence[Wire]) -> tuple[Wire | None, ...]:
        leaf = structure.dom[c]
        axes = tuple(range(leaf.ndim))
        ones = contract(b, [()], [_constant(b, np.ones((), leaf.dtype))], (*axes, *axes), leaf.shape)
        (unit,) = b.add(Reshaped((leaf.size, *leaf.shape)), ones)
        return tuple([unit if k == c else None for k in range(len(structure.dom))])

    there = [tuple([k == c for k in range(len(structure.dom))]) for c in range(len(structure.dom))]
    made = _dense_grid(structure.dom, structure, there, basis)
    return MapProduct(made.structure, tuple([source.swapped() for source in made.sources]))


def is_compressed(structure: Structure) -> bool:
    """True where columns of one colour are pushed together when a map is written out."""
    pattern = pattern_of(structure)
    return pattern is not None and not pattern.is_full and pattern.colours <= MOST


def _constant(b: Builder, array: Any) -> Wire:
    wire: Wire = b.apply(const(array), ())
    return wire


# -- dense results


def _column(structure: Structure, c: int) -> list[Placed | None]:
    assert structure.leafwise is not None
    return [row[c] for row in structure.leafwise]


def _reads(structure: Structure, c: int) -> tuple[bool, ...]:
    return tuple([part is not None for part in _column(structure, c)])


def _columns_of(b: Builder, part: Placed, slots: Sequence[Wire]) -> Wire:
    """The columns of a dense map as an array (count, ...result)."""
    structure, own = part
    return structure.columns_on(b, [slots[k] for k in own])


def _dense_grid(dom: Sequence[Tensor], second: Structure, there: Sequence[tuple[bool, ...]], columns: Any) -> MapProduct:
    """The map whose columns are those given, leaf by leaf of the argument, pushed through `second`.

    `there[c]` says which leaves of the columns of argument leaf c are not zero; `columns(b, c, left slots)` makes them.
    """
    made = [applying(second, flags)[1] if any(flags) else (False,) * len(second.cod) for flags in there]
    rows: list[list[Placed | None]] = [[None] * len(dom) for _ in second.cod]
    sources: list[Source] = []
    for c, leaf in enumerate(dom):
        for r, end in enumerate(second.cod):
            if made[c][r] and leaf.size and end.size:
                rows[r][c] = (_written(leaf, end), (len(sources),))
                sources.append(computed(_image(second, there[c], columns, c, r, (*leaf.shape, *end.shape))))
    spaces = [part[0].slots[0] for r in zip(*rows, strict=True) for part in r if part is not None] if rows else []
    structure = assemble(rows, dom, second.cod, spaces)
    return MapProduct(Zero(tuple(dom), second.cod), ()) if structure.is_zero else MapProduct(structure, tuple(sources))


def _written(dom: Tensor, cod: Tensor) -> Delta:
    """The dense map whose slot has the axes of the argument, then those of the result."""
    ins = tuple(range(dom.ndim))
    out = tuple(range(dom.ndim, dom.ndim + cod.ndim))
    return delta(out, ins, (*ins, *out), (*dom.shape, *cod.shape), dom.dtype, cod.dtype, cod.dtype)


def _image(second: Structure, flags: tuple[bool, ...], columns: Any, c: int, r: int, shape: tuple[int, ...]) -> Any:
    """The columns of argument leaf c at result leaf r; the boxes are the same for all r, so they are laid out once.

    As an array of the given shape: the axes of the argument, then those of the result.
    """

    def compute(b: Builder, ls: Sequence[Wire], rs: Sequence[Wire]) -> Wire:
        wires = [w for w in columns(b, c, ls) if w is not None]
        count = wires[0].shape[0]
        wires = [
            cast(w, leaf.dtype)
            for w, leaf in zip(wires, [s for s, f in zip(second.dom, flags, strict=True) if f], strict=True)
        ]
        wiring, made = applying(second, flags)
        outs = batch(b, wiring, [*rs, *wires], [*[False] * len(rs), *[True] * len(wires)], count)
        out: Wire = outs[sum(made[:r])]
        return out if out.shape == shape else b.add(Reshaped(shape), out)[0]

    return compute


# -- compressed by colours


def _compressed(structure: Structure, pattern: Pattern) -> MapProduct:
    """Push one sum of unit vectors for each colour, and read the entries off; the slots are those of the map as first factor."""
    dom, cod = structure.dom[0], structure.cod[0]
    narrow = [k for k, ax in enumerate(pattern.axes) if not ax.is_full]
    offsets = list(itertools.product(*[range(pattern.axes[k].low, pattern.axes[k].high + 1) for k in narrow]))
    weight, labels = _term(structure, pattern)
    placed: list[Placed] = []
    sources: list[Source] = []
    for offset in offsets:
        shift = dict(zip(narrow, offset, strict=True))
        axes = []
        for k, ax in enumerate(pattern.axes):
            if k not in shift:
                axes.append(whole(ax.n_in))
                continue
            start = max(0, -shift[k])
            axes.append(axis(ax.n_in, ax.n_out, start, 1, start + shift[k], 1, min(ax.n_in, ax.n_out - shift[k]) - start))
        if any(ax.m == 0 and ax.n_out for ax in axes):
            continue
        move = Reindex(tuple(axes), dom.dtype)
        number = len(sources)
        part: Placed = (weight, (number,))
        placed.append(part if move.is_identity else (chain([(move, ()), (weight, (0,))]), (number,)))
        sources.append(computed(_read_off(structure, pattern, shift, labels)))
    if not placed:
        return MapProduct(Zero((dom,), (cod,)), ())
    return MapProduct(total(placed), tuple(sources))


def _term(structure: Structure, pattern: Pattern) -> tuple[Delta, tuple[int, ...]]:
    """One diagonal of the pattern, tied along narrow axes and dense along full ones, and the labels of its slot.

    The slot has the full axes of the argument, then those of the result.
    """
    dom, cod = structure.dom[0], structure.cod[0]
    n = len(pattern.axes)
    out = tuple(range(n))
    ins = tuple([n + k if ax.is_full else k for k, ax in enumerate(pattern.axes)])
    slot = (*[n + k for k, ax in enumerate(pattern.axes) if ax.is_full], *out)
    sizes = (*cod.shape, *[ax.n_in if ax.is_full else 1 for ax in pattern.axes])
    return delta(out, ins, slot, sizes, dom.dtype, cod.dtype, cod.dtype), slot


def _repeated(b: Builder, wire: Wire, n: int) -> Wire:
    """The last axis of an array again and again, n long; made when the program runs, since it may be large."""
    before, period = wire.shape[:-1], wire.shape[-1]
    m = wire.ndim
    labels = tuple(range(m))
    if not period:  # nothing, or nothing but zeros
        return contract(b, [()], [_constant(b, np.zeros((), wire.dtype))], labels, (*before, n))
    times = -(-n // period)
    wide = contract(b, [labels], [wire], (*labels[:-1], m, m - 1), (*wire.shape, times))
    (wide,) = b.add(Reshaped((*before, times * period)), wide)
    cut = axis(times * period, n, 0, 1, 0, 1, n)
    return b.add(StridedCopy((*[whole(size) for size in before], cut)), wide)[0] if times * period != n else wide


def _seeds(b: Builder, pattern: Pattern, dom: Tensor) -> Wire:
    """An array (colours, ...argument): for each colour the sum of its unit vectors."""
    wire: Wire | None = None
    n = len(pattern.axes)
    labels: tuple[int, ...] = ()
    sizes = [*[ax.colours for ax in pattern.axes], *dom.shape]
    one = _constant(b, np.ones((), dom.dtype))
    for k, ax in enumerate(pattern.axes):
        own = _repeated(b, contract(b, [()], [one], (0, 0), (ax.colours,)), ax.n_in)
        if wire is None:
            wire, labels = own, (k, n + k)
        else:
            joined = (*labels, k, n + k)
            wire, labels = contract(b, [labels, (k, n + k)], [wire, own], joined, sizes), joined
    assert wire is not None
    wire = contract(b, [labels], [wire], tuple(range(2 * n)), sizes)
    return b.add(Reshaped((pattern.colours, *dom.shape)), wire)[0]


def _read_off(structure: Structure, pattern: Pattern, shift: dict[int, int], slot: tuple[int, ...]) -> Any:
    """The entries at one offset: those of result r come from the colour that holds column r - offset."""

    def compute(b: Builder, ls: Sequence[Wire], rs: Sequence[Wire]) -> Wire:
        wiring, (there,) = applying(structure)
        cod = structure.cod[0]
        if not there:
            return zeros(b, _term(structure, pattern)[0].slots[0])
        seeds = _seeds(b, pattern, structure.dom[0])
        (wire,) = batch(b, wiring, [*ls, seeds], [*[False] * len(ls), True], pattern.colours)
        n = len(pattern.axes)
        sizes = (*cod.shape, *[ax.colours for ax in pattern.axes])  # labels: result axes, then colours
        own = (*range(n, 2 * n), *range(n))
        (wire,) = b.add(Reshaped(tuple([sizes[label] for label in own])), wire)
        for k, ax in enumerate(pattern.axes):
            if k in shift:
                index = _repeated(b, _constant(b, (np.arange(ax.colours) - shift[k]) % ax.colours), ax.n_out)
                left = tuple([label for label in own if label != n + k])
                how = Indexing(own, own.index(n + k), (k,), left, sizes)
                (wire,) = b.add(Gathered(how), index, wire)
                own = left
        return contract(b, [own], [wire], slot, sizes)

    return compute
