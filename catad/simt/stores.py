"""Stores: the next version of an array, with the numbers that the threads on a path write.

Only the threads on the path compute what is stored, as far as the path says so by bounds of their coordinates: of
`if t == 0: s[0] = ...` one thread of each block.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from catad import scalar
from catad.linear.families.gather import Gathered, rows_of
from catad.linear.families.reindex import reshaped
from catad.scalar import Node, apply, param
from catad.scalar.simplify import FALSE, TRUE
from catad.simt.affine import Box, Form, both, boxed, injective
from catad.simt.arrays import Array, Site
from catad.simt.one_writer import OneWriter, Stored
from catad.simt.versions import Piece
from catad.simt.views import window
from catad.vector.indexing.gather import LastWriter
from catad.vector.pointwise.map import mapped

if TYPE_CHECKING:
    from catad.category.wiring import Wire
    from catad.simt.lower import Lowering


def store(low: Lowering, site: Site, value: Node) -> None:
    """The next version of an array, with numbers stored into it."""
    index, path = low.place(site)
    if path is FALSE:
        return
    value = low.normal(value)
    if site.array.place == "shuffle":
        low.versions[site.array] = low.poisoned(low.versions.space(site.array)[0], low.dtype(value))
    forms = low.view_of(site, index, path)
    if forms is not None:
        box, rest = boxed(low.forms, path, low.sizes)
        inner = [box.form(form) for form in forms]
        if injective(inner, box.sizes, range(len(box.sizes))):
            said = ", ".join(map(low.lanes.said, forms))
            low.note(site, "store", "plain stores", "view", True, f"index {said}, one thread a cell")
            if 0 not in box.sizes:
                low.phase.note("store", site, index, path)
                _plain(low, site.array, inner, box, both(rest), value)
            return
    low.note(site, "store", "last writer", "gather", True, "")
    low.versions[site.array] = _last_written(low, site, index, path, value)


def _plain(low: Lowering, array: Array, forms: Sequence[Form], box: Box, path: Node, value: Node) -> None:
    """A store by the threads of a box at affine indices that differ."""
    dtype = low.versions.space(array)[1]
    new = low.written(path, value, dtype)
    if any(len(form.terms) > 1 or abs(form.slope) > 1 for form in forms):
        low.versions[array] = _among_others(low, low.versions[array], forms, box, path, new)
        return
    ends = [form.bounds(box.sizes) for form in forms]
    starts, stops = tuple([a for a, _ in ends]), tuple([b + 1 for _, b in ends])
    spans = tuple([b - a for a, b in zip(starts, stops, strict=True)])
    more: list[Wire] = []
    if path is not TRUE:
        below = low.versions.part(array, starts, stops)
        old = window(low.b, below.wire, [form.plus(Form(-a)) for form, a in zip(forms, below.starts, strict=True)], box.sizes)
        new, more = apply("select", path, new, param(len(low.wires))), [old]
    (v,) = low.in_box(box, [new], more)
    inside = [form.plus(Form(-a)) for form, a in zip(forms, starts, strict=True)]
    low.versions.put(array, Piece(starts, low.put(v, inside, spans, box.sizes)))


def _among_others(low: Lowering, old: Wire, forms: Sequence[Form], box: Box, path: Node, value: Node) -> Wire:
    """A store at cells between others that stay."""
    (v,) = low.in_box(box, [value])
    new = low.put(v, forms, old.shape, box.sizes)
    if path is TRUE and low.covers(forms, old.shape, box.sizes):
        return new
    (there,) = low.in_box(box, [path])
    mask = low.put(there, forms, old.shape, box.sizes)
    return mapped(low.b, [apply("select", scalar.truth(param(0)), param(1), param(2))], [mask, new, old])[0]


def _last_written(low: Lowering, site: Site, index: Sequence[Node], path: Node, value: Node) -> Wire:
    """A store at any indices, which must differ from thread to thread; of the trips of a thread the last one wins."""
    old, array = low.versions[site.array], site.array
    size = math.prod(old.shape)
    at, v = low.computed(low.flat(index, old.shape, path), low.written(path, value, old.dtype))
    at, v = low.in_order(at), low.in_order(v)
    last = LastWriter(size)
    one = OneWriter(last, Stored(low.lanes, array.name, old.shape, len(array.shape), site.where))
    (writer,) = low.b.add(one if array.place in ("global", "shared") else last, at)  # others are those of one thread
    low.phase.note("store", site, index, path, writer)
    (new,) = low.b.add(Gathered(rows_of(v.shape, (size,))), writer, v)
    chosen = apply("select", apply("ge", param(0), 0), param(1), param(2))
    return reshaped(low.b, mapped(low.b, [chosen], [writer, new, reshaped(low.b, old, (size,))])[0], old.shape)
