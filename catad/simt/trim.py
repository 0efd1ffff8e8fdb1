"""Stores of a box of threads: a path whose conditions bound single coordinates is the box of the threads on it.

The numbers of these threads alone are moved into the array. What the bounds do not prove exactly is left to the selects of
`lower.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from catad.linear.contract import contract
from catad.linear.reindex import axis, whole
from catad.scalar import Node
from catad.simt.affine import Form, Forms, conjuncts, injective
from catad.vector.merge_axes import reshaped
from catad.vector.overwrite import Overwritten
from catad.vector.shape import moved

if TYPE_CHECKING:
    from catad.wiring import Builder, Wire

_ENDS: Mapping[str, tuple[int | None, int | None]] = {
    "lt": (None, -1), "le": (None, 0), "gt": (1, None), "ge": (0, None), "eq": (0, 0),
}  # fmt: skip
"""For each comparison with 0, the least and the largest integer for which it holds."""

Ranges = Sequence[tuple[int, int]]


def ranges_of(forms: Forms, path: Node, sizes: Sequence[int]) -> list[tuple[int, int]] | None:
    """The first and the last thread along each coordinate, where a path is exactly a box of threads, not empty."""
    found = [(0, n - 1) for n in sizes]
    for part in conjuncts(path):
        if part.op not in _ENDS:
            return None
        a, b = [forms.form(arg) for arg in part.args]
        if a is None or b is None:
            return None
        difference = a.plus(b, -1)
        if len(difference.terms) != 1 or difference.terms[0][0] >= len(sizes):
            return None
        v, s = difference.terms[0]
        low, high = bounded(difference.c, s, *_ENDS[part.op])
        first, last = found[v]
        found[v] = (first if low is None else max(first, low), last if high is None else min(last, high))
    return None if any(first > last for first, last in found) else found


def bounded(c: int, s: int, least: int | None, most: int | None) -> tuple[int | None, int | None]:
    """The integers v for which `c + s v` lies between two ends."""
    if s < 0:
        c, s, least, most = -c, -s, None if most is None else -most, None if least is None else -least
    return None if least is None else -((c - least) // s), None if most is None else (most - c) // s


def box_of(forms: Sequence[Form], ranges: Ranges, shape: Sequence[int]) -> list[Form] | None:
    """The forms over a box, counted from its first thread, where different threads of it surely have different cells."""
    sizes = [last - first + 1 for first, last in ranges]
    made = list[Form]()
    for form, n in zip(forms, shape, strict=True):
        terms = tuple([(v, s) for v, s in form.terms if sizes[v] > 1])
        own = Form(form.c + sum([s * ranges[v][0] for v, s in form.terms]), terms)
        low, high = own.bounds(sizes)
        if len(terms) > 1 or low < 0 or high >= n:
            return None
        made.append(own)
    return made if injective(made, sizes, range(len(sizes))) else None


def overwritten(b: Builder, old: Wire, v: Wire, forms: Sequence[Form], ranges: Ranges) -> Wire:
    """An array with the numbers of the threads of a box moved to their cells."""
    v = moved(b, v, [axis(n, hi - lo + 1, lo, 1, 0, 1, hi - lo + 1) for n, (lo, hi) in zip(v.shape, ranges, strict=True)])
    sizes = v.shape
    labels = [form.terms[0][0] for form in forms if form.terms]
    v = contract(b, [tuple(range(len(sizes)))], [v], tuple(labels), list(sizes))
    counts = [sizes[form.terms[0][0]] if form.terms else 1 for form in forms]
    v = reshaped(b, v, counts)
    steps = [form.terms[0][1] if form.terms else 1 for form in forms]
    axes = [axis(m, n, 0, 1, f.c, s, m) for f, s, m, n in zip(forms, steps, counts, old.shape, strict=True)]
    if all(ax == whole(n) for ax, n in zip(axes, old.shape, strict=True)):
        return v
    return b.add(Overwritten(tuple(axes)), old, v)[0]
