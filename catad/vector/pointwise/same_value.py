"""Conversion of integers to a dtype that holds them; another number is an error, as with `casting="same_value"` in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from catad import errors
from catad.category.boxes import box, of_fields
from catad.category.spaces import flatten, rebuild
from catad.category.terms import D
from catad.vector.indexing.gather import Within
from catad.vector.pointwise.map import Map

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire, Wires


@box
class Fits(Within):
    """Integers, passed on; raises where one is not in `least <= number < least + size`, which are those that a dtype holds."""

    dtype: str
    size: int
    least: int = 0

    def error(self, low: int, high: int) -> errors.CatadError:
        return errors.NumberRangeError(errors.number_out_of_range(low if low < self.least else high, self.dtype))


@of_fields
class SameValue(D):
    """`ct.astype(dtype, casting="same_value")`, leaf by leaf."""

    dtype: np.dtype[Any]
    box: Map

    def lay_out(self, b: Builder, x: Wires) -> Any:
        return rebuild(b.space(x), [self._converted(b, wire) for wire in flatten(x)])

    def _converted(self, b: Builder, wire: Wire) -> Any:
        own = wire.space.dtype
        if own.kind not in "iub" or self.dtype.kind not in "iu":
            raise errors.SpaceError(errors.not_integers_to_integers(own, self.dtype))
        if not np.can_cast(own, self.dtype):
            given, held = np.iinfo(own), np.iinfo(self.dtype)
            least = max(given.min, held.min)
            wire = b.add(Fits(str(self.dtype), min(given.max, held.max) + 1 - least, least), wire)[0]
        return b.add(self.box, wire)[0]

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        return f"ct.astype({str(self.dtype)!r}, casting='same_value')"
