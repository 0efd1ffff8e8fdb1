"""Shortcuts: boxes with a short formula where the result of another box is at hand and meets a condition.

The gradient of a product is the product by each element, where the product is a normal number; the position of a maximum is the
first at which the maximum stands, where it is a number. Elsewhere the box is computed as its `exact` says. All of it is data, so
an engine needs no code for a new shortcut: a stage computes the formula, and runs without shortcuts where the condition
fails.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from catad import errors, scalar
from catad.category.boxes import Primitive
from catad.category.spaces import Tensor
from catad.category.terms import D
from catad.scalar import Function
from catad.vector.decomposed import Decomposed, evaluated

INDEXED = -1
"""The axis of an array that is read at an index."""


class Read(NamedTuple):
    """A read of a formula: an argument, and for each axis of it the axis of the elements along which it lies."""

    argument: int
    axes: tuple[int, ...]


class First(NamedTuple):
    """The position along an axis of the first element for which a formula is true; a read has the positions of all."""

    axis: int
    read: int


class Formula(NamedTuple):
    """A scalar function of what is read at each element of a shape.

    With `bins` the first read gives the place along the axis `INDEXED` of the second, in an array of so many places; what is read
    is 0 where there is no such place. With `first` the function is a truth value, and the result the position of the first one.
    """

    function: Function
    reads: tuple[Read, ...]
    shape: tuple[int, ...]
    bins: int | None = None
    first: First | None = None


class Shortcut(Decomposed):
    """(arguments..., the result of another box) to what the decomposition says of the arguments.

    `condition` names what the result must meet for the formula to hold: all its numbers are "normal", finite and of all digits,
    or each is a "number" and not NaN. Integers always do.
    """

    helpers = 1
    condition: str

    @property
    def exact(self) -> D:
        """The value of the box from its arguments only, whatever the numbers are: by the decomposition, or better."""
        return self.decomposition

    def formula(self, ins: tuple[Tensor, ...]) -> Formula | None:
        """The formula for arguments in these spaces; None where there is none, of no elements say."""
        raise errors.ExtensionError(errors.missing_method("box", self, "formula"))

    evaluate = Primitive.evaluate  # by the kernel

    def kernel(self, ins: tuple[Tensor, ...]) -> Callable[..., Any]:
        formula = self.formula(ins)
        run = None if formula is None else array_code(formula)
        holds = CONDITIONS[self.condition] if ins[-1].is_float else None

        def code(xp: Any, *arrays: Any) -> Any:
            if run is None or not (holds is None or holds(xp, arrays[-1])):
                return evaluated(xp, self.exact, self.own(arrays))
            return run(xp, *arrays)

        return code


def array_code(formula: Formula) -> Callable[..., Any]:
    """A formula as a function of an array library and the arguments."""
    function, axes = scalar.array_function(formula.function), range(len(formula.shape))
    at = formula.reads[0].axes[:1]  # the axes of the index, and so of what is read at it
    lying = [at + read.axes[1:] if INDEXED in read.axes else read.axes for read in formula.reads]
    where = [tuple([slice(None) if axis in own else None for axis in axes]) for own in lying]

    def code(xp: Any, *arrays: Any) -> Any:
        given = [arrays[read.argument] for read in formula.reads]
        if formula.bins is not None:
            given[1] = _read_at(xp, given[0], given[1], formula.bins)
        (found,) = function(xp, *[array[places] for array, places in zip(given, where, strict=True)])
        return found if formula.first is None else xp.argmax(found, axis=formula.first.axis)

    return code


def _read_at(xp: Any, index: Any, array: Any, bins: int) -> Any:
    """The entries of an array at some indices, and 0 where these are out of range."""
    there = (index >= 0) & (index < bins)
    read = array[xp.where(there, index, 0).astype(np.int64)]
    return xp.where(there.reshape(there.shape + (1,) * (array.ndim - 1)), read, xp.zeros((), dtype=array.dtype))


def is_normal(xp: Any, array: Any) -> bool:
    """True where all numbers are finite and have lost no digits: products, say, which may then be divided by each factor."""
    size = xp.abs(array)
    return bool(xp.all((size >= float(np.finfo(array.dtype).tiny)) & (size < math.inf)))


def is_number(xp: Any, array: Any) -> bool:
    """True where no number is NaN."""
    return not bool(xp.isnan(array).any())


CONDITIONS: Mapping[str, Callable[[Any, Any], bool]] = {"normal": is_normal, "number": is_number}
"""The conditions on numbers, by name, as array code."""
