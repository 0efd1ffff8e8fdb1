"""Reading and writing arrays at affine forms of the coordinates of threads: moves and windows, and no index array."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from catad.linear.families.contract import contract
from catad.linear.families.reindex import Axis, axis, moved, reshaped, whole
from catad.linear.families.windows import Progression, Windowed, fits, summed
from catad.simt.affine import Form

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire

ROOM = 4
"""A view may pad an array to so many times the entries of the array and the threads together."""


def apart(forms: Sequence[Form], shape: Sequence[int]) -> tuple[list[Form], tuple[int, ...]]:
    """Forms of which no two have a coordinate in common: those given, or the position in the flattened array."""
    used = [v for form in forms for v, _ in form.terms]
    if len(used) == len(set(used)):
        return list(forms), tuple(shape)
    flat = Form(0)
    for form, n in zip(forms, shape, strict=True):
        flat = flat.times(n).plus(form)
    return [flat], (math.prod(shape),)


def viewable(forms: Sequence[Form], shape: Sequence[int], sizes: Sequence[int]) -> bool:
    """Whether reading there, and adding back, is a view of a padded array of moderate size."""
    forms, shape = apart(forms, shape)
    spans = [high - low + 1 for low, high in (form.bounds(sizes) for form in forms)]
    padded = [span if len(form.terms) > 1 else 1 for form, span in zip(forms, spans, strict=True)]
    if math.prod(padded) > ROOM * (math.prod(shape) + math.prod(sizes)) + 64:
        return False
    own = [Progression(0, tuple([(v, abs(s)) for v, s in form.terms])) for form in forms if len(form.terms) > 1]
    return all(fits(one, sizes) for one in own)


def _line(form: Form, n: int, sizes: Sequence[int]) -> Axis:
    """The move that reads an axis of size n at a form with one term, or none."""
    (v, s) = form.terms[0] if form.terms else (-1, 1)
    count = sizes[v] if form.terms else 1
    if s > 0:
        first, last = max(0, -(form.c // s)), min(count - 1, (n - 1 - form.c) // s)
    else:
        first, last = max(0, -((n - 1 - form.c) // -s)), min(count - 1, form.c // -s)
    return axis(n, count, form.c + s * first, s, first, 1, last - first + 1)


def window(b: Builder, x: Wire, forms: Sequence[Form], sizes: Sequence[int]) -> Wire:
    """`x[forms]` for all threads, with size 1 along coordinates on which no index depends; 0 where an index is out of range."""
    forms, shape = apart(forms, x.shape)
    x = reshaped(b, x, shape)
    axes, several = list[Axis](), False
    for form, n in zip(forms, shape, strict=True):
        if len(form.terms) <= 1:
            axes.append(_line(form, n, sizes))
        else:
            axes.append(_padded(form, n, sizes))
            several = True
    x = moved(b, x, axes)
    labels = [v for form in forms for v, _ in form.terms]
    if not several:
        x = reshaped(b, x, [sizes[v] for v in labels])
    else:
        (x,) = b.add(Windowed(_windows(forms, labels), tuple([sizes[v] for v in labels])), x)
        x = _turned(b, x, forms, labels)
    order = sorted(labels)
    x = contract(b, [tuple(labels)], [x], tuple(order), list(sizes))
    return reshaped(b, x, [n if v in labels else 1 for v, n in enumerate(sizes)])


def _windows(forms: Sequence[Form], labels: Sequence[int]) -> tuple[Progression, ...]:
    """The positions of forms in what `_line` and `_padded` have cut out, by the places of the coordinates among the labels."""
    made = []
    for form in forms:
        several = len(form.terms) > 1
        made.append(Progression(0, tuple([(labels.index(v), abs(s) if several else 1) for v, s in form.terms])))
    return tuple(made)


def _padded(form: Form, n: int, sizes: Sequence[int]) -> Axis:
    """The move that cuts out of an axis all places at which a form reads, and pads it where it reads beyond."""
    low, high = form.bounds(sizes)
    first, last = max(low, 0), min(high, n - 1)
    return axis(n, high - low + 1, first, 1, first - low, 1, last - first + 1)


def _turned(b: Builder, x: Wire, forms: Sequence[Form], labels: Sequence[int]) -> Wire:
    """The coordinates that several make an index with the others, and go down, the other way round."""
    down = {v for form in forms if len(form.terms) > 1 for v, s in form.terms if s < 0}
    return moved(b, x, [_flip(n) if v in down else whole(n) for v, n in zip(labels, x.shape, strict=True)])


def _flip(n: int) -> Axis:
    return axis(n, n, n - 1, -1, 0, 1, n)


def unwindow(b: Builder, v: Wire, forms: Sequence[Form], shape: Sequence[int], sizes: Sequence[int]) -> Wire:
    """The transpose of `window`: an array with the numbers of all threads added at their cells, 0 elsewhere."""
    forms, flat = apart(forms, shape)
    labels = [label for form in forms for label, _ in form.terms]
    v = contract(b, [tuple(range(v.ndim))], [v], tuple(labels), v.shape)
    if any(len(form.terms) > 1 for form in forms):
        v = _turned(b, v, forms, labels)
        v = summed(v, _windows(forms, labels), [_span(form, sizes) for form in forms])
    v = reshaped(b, v, [_span(form, sizes) for form in forms])
    moves = [_line(f, n, sizes).T if len(f.terms) <= 1 else _padded(f, n, sizes).T for f, n in zip(forms, flat, strict=True)]
    return reshaped(b, moved(b, v, moves), shape)


def _span(form: Form, sizes: Sequence[int]) -> int:
    if len(form.terms) <= 1:
        return sizes[form.terms[0][0]] if form.terms else 1
    low, high = form.bounds(sizes)
    return high - low + 1
