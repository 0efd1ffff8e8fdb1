"""`ct.index[key]`: NumPy's indexing of one array, its key known, or with indices that come as arguments.

Slices, integers and new axes are one `StridedCopy` and at most one `Reshaped`. Indices that come as arguments become one flat
index of the axes from the first to the last of them, so that there is one `Gathered` for any number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from catad import errors
from catad.category.boxes import of_fields
from catad.category.constant import index_of
from catad.category.terms import D
from catad.errors.places import here
from catad.linear.families.reindex import axis as move
from catad.linear.families.reindex import moved, reshaped, whole
from catad.support.help import documented
from catad.vector.indexing.flat_index import FlatIndex, indexing
from catad.vector.indexing.keys import BROADCAST, NEW, Along, Key, Selection, key_of, selection
from catad.vector.indexing.static_indices import gathered
from catad.vector.pointwise.map import broadcast

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire, Wires
    from catad.linear.families.gather import Indexing
    from catad.linear.families.reindex import Axis


def arguments(b: Builder, x: Any, key: Key, written: bool, term: D) -> tuple[Wire, list[Wire], Wire | None]:
    """The array, the index arrays, and the values to be written, if there are any; checked to be arrays and integers."""
    count = 1 + key.arguments + written
    parts = (x,) if count == 1 and not isinstance(x, tuple) else x
    if not isinstance(parts, tuple) or len(parts) != count or any(isinstance(part, tuple) for part in parts):
        raise errors.SpaceError(errors.wrong_key_arguments(key.arguments, written, b.space(x), term))
    indices = [index_of(wire) for wire in parts[1 : 1 + key.arguments]]
    try:
        broadcast([wire.space for wire in indices]) if indices else ()
    except ValueError:
        raise errors.SpaceError(errors.indices_do_not_broadcast([w.space for w in indices], term)) from None
    return parts[0], indices, parts[-1] if written else None


def cut(along: Along) -> Axis:
    """The move of one axis to what a slice or an integer takes of it."""
    return move(along.size, along.length, along.start, along.step, 0, 1, along.length)


def span(along: Sequence[Along], kinds: Callable[[Along], bool]) -> slice:
    """The axes from the first to the last that is of some kind."""
    found = [k for k, axis in enumerate(along) if kinds(axis)]
    return slice(found[0], found[-1] + 1)


def flat_index(b: Builder, along: Sequence[Along], indices: Sequence[Wire]) -> Wire:
    """The positions in the axes of a span."""
    return b.add(FlatIndex(tuple(along)), *indices)[0]


def reading(chosen: Selection, inner: slice, broadcast: tuple[int, ...]) -> Indexing:
    """The reading of an array whose span is one axis; of other axes what is taken, without those that an integer takes.

    New axes of the result are not there.
    """
    along = chosen.along
    kept = [k for k, axis in enumerate(along) if axis.kind == "slice" and not inner.start <= k < inner.stop]
    inside = [k for k in range(inner.start, inner.stop) if along[k].kind == "slice"]
    counts = [along[k].length for k in kept]
    before = len([k for k in kept if k < inner.start])
    names = [*kept, *[BROADCAST] * len(broadcast), *inside]
    at = iter([k for k, name in enumerate(names) if name == BROADCAST])
    dst: list[int] = []
    for name in chosen.result:
        dst += list(at) if name == BROADCAST else [] if name == NEW else [names.index(name)]
    size = math.prod(axis.size for axis in along[inner])
    index = (*broadcast, *[along[k].length for k in inside])
    return indexing(counts[:before], size, counts[before:], index, dst)


@of_fields
class Subscript(D):
    """`ct.index[key]`."""

    key: Key

    def lay_out(self, b: Builder, x: Wires) -> Any:
        x, indices, _ = arguments(b, x, self.key, False, self)
        chosen = selection(self.key, x.space, [wire.ndim > 0 for wire in indices], self)
        along = chosen.along
        if not indices:
            return reshaped(b, moved(b, x, [cut(axis) for axis in along]), chosen.shape(()))
        inner = span(along, lambda axis: axis.kind == "argument")
        shape = broadcast([wire.space for wire in indices])
        how = reading(chosen, inner, shape)
        x = moved(b, x, [whole(axis.size) if inner.start <= k < inner.stop else cut(axis) for k, axis in enumerate(along)])
        read = gathered(b, how, flat_index(b, along[inner], indices), reshaped(b, x, how.shape(how.src)))
        return reshaped(b, read, chosen.shape(shape))

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        return f"ct.index[{self.key!r}]"


class Index:
    """The class of `ct.index`."""

    def __getitem__(self, key: Any) -> D:
        term = Subscript(key_of(key))
        term._place = here()
        return term

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise errors.SpaceError(errors.key_was_called("ct.index"))

    def __repr__(self) -> str:
        return "ct.index"


index = documented(
    Index(),
    """`ct.index[key]` reads a part of one array as NumPy's `x[key]`; `ct.arg` in the key is an index that comes as an argument.

The key has integers, slices, None and an ellipsis, in brackets: `ct.index[1:, 0, None, ::2]`. For each `ct.arg` an array of
integers follows x: `ct.index[ct.arg, :, 0]` is `(x, i) -> x[i, :, 0]`, `ct.index[ct.arg, ct.arg]` is `(x, i, j) -> x[i, j]`.
Index arrays broadcast together. Negative indices count from the end, also those in index arrays.

Shapes: as NumPy's; the axes of index arrays stand in the place of the indices, or first where these do not stand together.
Dtypes: any for x, which is that of the result; integers for index arrays.
Derivative: linear in x: a slice, or a gather by one flat index; transposed, it writes into zeros, or adds. None by the indices.
Errors: `ArgumentError` for a key with other parts, two ellipses or a step of 0; `SpaceError` for more indices than axes, index
  arrays that do not broadcast, and a call instead of brackets; `IndexRangeError` for an index out of range.

>>> import catad as ct, numpy as np
>>> x = np.arange(12.0).reshape(3, 4)
>>> ct.index[-1, ::2](x)
array([ 8., 10.])
>>> ct.index[ct.arg, ct.arg](x, np.array([0, -1]), 1)
array([1., 9.])
""",
)
