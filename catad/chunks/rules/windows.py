"""Windows on arrays, and matrices of few diagonals: a block reads what its windows show, and what lies within a band of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from catad.category.spaces import Tensor
from catad.chunks.parts import Ranges, Sizes, Window, bounds, cut_like, in_order, ranges_of, sizes_between
from catad.chunks.plan import Plan
from catad.chunks.rules.moves import remembering
from catad.chunks.rules.table import rule
from catad.chunks.wires import At, Chunked, Local
from catad.linear.families.patterned import Bands, PatternProduct
from catad.linear.families.reindex import axis, moved_along
from catad.linear.families.windows import Progression, Windowed

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire


@rule(Windowed, cut="along any axis: local along the longest one of its windows", exchanged="what windows show of other blocks")
def _windowed(plan: Plan, primitive: Windowed, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> Sequence[Chunked]:
    (x,), (space,) = ins, outs
    sizes: list[Sizes] = [(n,) for n in space.shape]
    for one, own in zip(primitive.axes, x.parts, strict=True):
        free = [(space.shape[k], -k, s) for k, s in one.terms if len(sizes[k]) == 1]
        if len(own) > 1 and free and space.size:
            n, k, s = max(free)
            edges = [min(max(round((edge - one.a) / s), 0), n) for edge in bounds(own)[1:-1]]
            sizes[-k] = sizes_between(sorted({0, *edges, n}))
    made = _shown(plan, primitive, x, space, cut_like(sizes))
    return plan.on_whole(primitive, ins, outs, "windows move along two axes that are cut") if made is None else [made]


def _shown(plan: Plan, primitive: Windowed, x: Chunked, space: Tensor, ranges: Sequence[Ranges | None]) -> Chunked | None:
    """Ranges of the windows; None where two of them would cut one axis of the array."""
    cut = {k: r for k, r in enumerate(ranges) if r is not None and len(r.starts) > 1}
    order = in_order(cut)
    dim = {k: d for d, k in enumerate(order)}
    windows: list[Window | None] = []
    local = []
    for one in primitive.axes:
        own = [k for k, _ in one.terms if ranges[k] is not None]
        if len([k for k in own if k in dim]) > 1 or (own and not space.size):
            return None
        at = next((dim[k] for k in own if k in dim), None)
        windows.append(Window(at, _seen(one, space.shape, ranges)) if own else None)
        local.append(Progression(0, one.terms) if own else one)

    def lay(b: Builder, wires: list[Wire], at: At) -> Sequence[Wire]:
        shape = [at.sizes[dim[k]] if k in dim else sizes[0] for k, sizes in enumerate(parts)]
        return b.add(Windowed(tuple(local), tuple(shape)), *wires)

    parts = tuple([(n,) if r is None else r.sizes for n, r in zip(space.shape, ranges, strict=True)])
    grid = tuple([parts[k] for k in order])
    box = Local("windows", grid, [plan.read(x, windows)], lay, light=True, salt=plan.salt, moves=True)
    plan.note_gathered("windows", box.reads)
    again = remembering(plan, lambda asked: _shown(plan, primitive, x, space, asked))
    wide = Tensor([sum(own) for own in parts], space.dtype)
    return box.result(wide, [dim.get(k) for k in range(space.ndim)], parts, again)


def _seen(one: Progression, shape: Sequence[int], ranges: Sequence[Ranges | None]) -> Ranges:
    """The positions along an axis of the array that ranges of the windows show."""
    count = max([len(r.starts) for k, _ in one.terms if (r := ranges[k]) is not None])
    starts, stops = [], []
    for c in range(count):
        low = high = one.a
        empty = False
        for k, s in one.terms:
            own = ranges[k] or Ranges((0,), (shape[k],))
            at = min(c, len(own.starts) - 1)
            first, stop = own.starts[at], own.stops[at]
            low, high, empty = low + s * first, high + s * (stop - 1), empty or stop <= first
        starts.append(low)
        stops.append(low if empty else high + 1)
    return Ranges(tuple(starts), tuple(stops))


@rule(
    PatternProduct,
    cut="leading axes and columns: local; rows of bands: local, with rows beside them; rows of all diagonals are gathered",
    exchanged="what lies within a band of a block",
)
def _patterned(plan: Plan, primitive: PatternProduct, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> Sequence[Chunked]:
    banded = isinstance(primitive.pattern, Bands)
    roles = (*primitive.given, primitive.result)
    (space,) = outs
    before = range(space.ndim - (1 if primitive.result == "a" and not banded else 2))
    rest = {role: (None, len(before)) for role in "xv"} | {"a": (None,) * (2 if banded else 1)}
    if primitive.result == "a":
        rest["x"] = rest["v"] = (None, None)
    labels = [(*before, *rest[role]) for role in roles]
    cut = [k for x, own in zip(ins, labels, strict=False) for sizes, k in zip(x.parts, own, strict=True) if len(sizes) > 1]
    if banded and cut and set(cut) == {None}:
        return [_by_rows(plan, primitive, ins, space)]

    def lay(b: Builder, wires: list[Wire], sizes: Mapping[int, int]) -> Sequence[Wire]:
        return b.add(primitive, *wires)

    return plan.labelled("product of diagonals", list(zip(ins, labels, strict=False)), [(space, labels[2])], lay)[0]


def _by_rows(plan: Plan, primitive: PatternProduct, ins: Sequence[Chunked], space: Tensor) -> Chunked:
    """A product of bands, whose blocks of rows read the rows within a band of them."""
    at = [x.ndim - (1 if role == "a" else 2) for role, x in zip(primitive.given, ins, strict=True)]
    to = space.ndim - (1 if primitive.result == "a" else 2)
    n = space.shape[to]
    assert isinstance(primitive.pattern, Bands)
    width = max(primitive.pattern.lower, primitive.pattern.upper)
    own = ranges_of(max([x.parts[k] for x, k in zip(ins, at, strict=True)], key=len))
    starts = tuple([max(0, k - width) for k in own.starts])
    shown = Window(0, Ranges(starts, tuple([min(n, k + width) for k in own.stops])))
    before = [a - b for a, b in zip(own.starts, starts, strict=True)]

    def lay(b: Builder, wires: list[Wire], here: At) -> Sequence[Wire]:
        (made,) = b.add(primitive, *wires)
        (size,), (skipped,) = here.sizes, here.notes
        return [moved_along(b, made, to, axis(made.shape[to], size, skipped, 1, 0, 1, size))]  # type: ignore[arg-type]

    reads = [plan.read(x, [shown if d == k else None for d in range(x.ndim)]) for x, k in zip(ins, at, strict=True)]
    box = Local("product of diagonals", (own.sizes,), reads, lay, [before], salt=plan.salt)
    return box.result(space, [0 if k == to else None for k in range(space.ndim)])
