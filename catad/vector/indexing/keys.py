"""Keys of `ct.index` and `ct.at`: what stands in the brackets, its text, and what it selects of an array.

A key is NumPy's: integers, slices, None and an ellipsis; `ct.arg` in it stands for an index that comes as an argument. Of the
axes of the result, those of slices and None follow the key. Those of the index arrays, which broadcast together, stand in the
place of the indices, or first where something else stands between these; an integer beside index arrays counts as one of them,
and an index array without axes as an integer. (NumPy's manual, *Advanced indexing*.)
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from catad import errors
from catad.category.spaces import Tensor
from catad.category.terms import D
from catad.support.help import documented


class Argument:
    """The class of `ct.arg`."""

    def __repr__(self) -> str:
        return "ct.arg"

    def __reduce__(self) -> str:
        return "arg"


arg = documented(
    Argument(),
    """`ct.arg` stands in a key of `ct.index` and `ct.at` for an index that comes as an argument.

The arguments follow the array in the order of the key: `ct.index[ct.arg, :, ct.arg]` is `(x, i, j) -> x[i, :, j]`. Each is an
array of integers, of any shape.

>>> import catad as ct, numpy as np
>>> ct.index[ct.arg, 0](np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1, 1, 0]))
array([3., 3., 1.])
""",
)


class Bounds(NamedTuple):
    """A slice with bounds as they are written; None where they are left out."""

    start: int | None
    stop: int | None
    step: int | None

    def __repr__(self) -> str:
        ends = ":".join(["" if k is None else str(k) for k in (self.start, self.stop)])
        return ends if self.step is None else f"{ends}:{self.step}"


Part = Any  # an int, `Bounds`, None, an Ellipsis or `arg`


class Key(tuple[Part, ...]):
    """The parts of a key in normal form: no ellipsis at its end, unless it is all of the key."""

    __slots__ = ()

    def __repr__(self) -> str:
        return ", ".join(["..." if part is Ellipsis else repr(part) for part in self])

    @property
    def arguments(self) -> int:
        """The number of indices that come as arguments."""
        return sum(part is arg for part in self)


def key_of(given: Any) -> Key:
    """The key that stands in brackets; raises `ArgumentError` for what is none."""
    parts = [_part(each) for each in (given if isinstance(given, tuple) else (given,))]
    if sum(part is Ellipsis for part in parts) > 1:
        raise errors.ArgumentError(errors.two_ellipses(Key(parts)))
    if len(parts) > 1 and parts[-1] is Ellipsis:
        parts.pop()
    return Key(parts or [Ellipsis])


def _part(given: Any) -> Part:
    if given is None or given is Ellipsis or given is arg:
        return given
    if isinstance(given, slice):
        bounds = Bounds(*[_bound(k) for k in (given.start, given.stop, given.step)])
        if bounds.step == 0:
            raise errors.ArgumentError(errors.zero_step())
        return bounds if bounds.step != 1 else bounds._replace(step=None)
    if isinstance(given, (bool, np.bool_)) or not isinstance(given, (int, np.integer)):
        raise errors.ArgumentError(errors.not_a_part_of_a_key(given))
    return operator.index(given)


def _bound(given: Any) -> int | None:
    if given is None:
        return None
    if given is arg:
        raise errors.ArgumentError(errors.computed_bound(given))
    if isinstance(given, (bool, np.bool_)) or not isinstance(given, (int, np.integer)):
        raise errors.ArgumentError(errors.not_an_integer("a bound or step of a slice", given, None))
    return operator.index(given)


class Along(NamedTuple):
    """The positions that a key takes along one axis of an array: `start + step * k`, 0 <= k < length, or those of an argument."""

    size: int
    start: int = 0
    step: int = 1
    length: int = 0
    kind: str = "slice"  # or "index", one position, without an axis in the result; or "argument"

    @property
    def is_whole(self) -> bool:
        return self.kind == "slice" and (self.start, self.step, self.length) == (0, 1, self.size)


class Selection(NamedTuple):
    """The part of an array that a key selects: one `Along` for each axis, and the axes of the result.

    These are numbers of axes of the array, `NEW` for a new one, and `BROADCAST` for all those of the index arrays.
    """

    along: tuple[Along, ...]
    result: tuple[int, ...]

    def shape(self, broadcast: Sequence[int]) -> tuple[int, ...]:
        """The shape of the result, for index arrays that broadcast to a shape."""
        sizes = [broadcast if k == BROADCAST else [1 if k == NEW else self.along[k].length] for k in self.result]
        return tuple([n for group in sizes for n in group])


NEW, BROADCAST = -1, -2


def selection(key: Key, space: Tensor, with_axes: Sequence[bool], term: D) -> Selection:
    """The part of an array that a key selects, where the index arrays have axes or none.

    Raises `SpaceError` for more indices than axes, `IndexRangeError` for an integer out of range.
    """
    used = len([part for part in key if part is not None and part is not Ellipsis])
    if used > space.ndim:
        raise errors.SpaceError(errors.too_many_indices(used, space, term))
    arrays = any(with_axes)
    along: list[Along] = []
    places: list[int | None] = []  # as in a result; None for an index that leaves no axis, `_GAP` for an ellipsis
    for part in _written_out(key, space.ndim - used):
        if part is None:
            places.append(NEW)
        elif part is Ellipsis:
            places.append(_GAP)
        else:
            along.append(_along(part, space.shape[len(along)], len(along), space, term))
            index = along[-1].kind != "slice"
            places.append((BROADCAST if arrays else None) if index else len(along) - 1)
    return Selection(tuple(along), tuple(_result(places)))


_GAP = -3


def _written_out(key: Key, rest: int) -> Iterator[Part]:
    """The parts with an ellipsis followed by a whole slice for each axis that it stands for; there is one at the end."""
    for part in key if Ellipsis in key else (*key, Ellipsis):
        yield part
        if part is Ellipsis:
            yield from [Bounds(None, None, None)] * rest


def _along(part: Part, size: int, axis: int, space: Tensor, term: D) -> Along:
    if part is arg:
        return Along(size, kind="argument")
    if isinstance(part, Bounds):
        start, stop, step = slice(*part).indices(size)
        return Along(size, start, step, len(range(start, stop, step)))
    if not -size <= part < size:
        raise errors.IndexRangeError(errors.fixed_index_out_of_range(part, axis, space, term))
    return Along(size, part % size, 1, 1, "index")


def _result(places: Sequence[int | None]) -> list[int]:
    """The axes of the result: those of index arrays where they stand side by side, else first."""
    first = [k for k, place in enumerate(places) if place == BROADCAST]
    kept = [place for place in places if place is not None and place not in (BROADCAST, _GAP)]
    if not first:
        return kept
    if first != list(range(first[0], first[-1] + 1)):
        return [BROADCAST, *kept]
    before = len([place for place in places[: first[0]] if place is not None and place != _GAP])
    return [*kept[:before], BROADCAST, *kept[before:]]
