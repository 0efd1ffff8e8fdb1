"""Arguments of transforms: arrays or pairs of them, axes, numbers of points, names of scales."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from catad import errors
from catad.category.constructors import axes as axes_
from catad.category.constructors import integer, integers
from catad.linear.families.contract import zeros
from catad.linear.families.fourier import OTHER
from catad.linear.families.reindex import axis as move
from catad.linear.families.reindex import moved_along
from catad.linear.structure import cast, widest
from catad.vector.folds.moments import floating
from catad.vector.shapes.shape import axes_of

if TYPE_CHECKING:
    from catad.category.terms import D
    from catad.category.wiring import Builder, Wire

Several = int | Sequence[int] | None


def scale(norm: str | None) -> str | None:
    """A scale as a parameter: None is "backward"."""
    if norm is not None and (not isinstance(norm, str) or norm not in OTHER):
        raise errors.ArgumentError(errors.no_such_choice("scale (norm=)", norm, [*OTHER, None]))
    return None if norm == "backward" else norm


def scale_of(term: Any) -> str:
    """The name of the scale of a term."""
    return term.parameters["norm"] or "backward"


def of_one_axis(n: int | None, axis: int, norm: str | None) -> dict[str, Any]:
    """The parameters of a transform along one axis."""
    points = None if n is None else integer(n, "a number of points", 1)
    return {"n": points, "axis": integer(axis, "an axis"), "norm": scale(norm)}


def of_axes(s: Several, axes: Several, norm: str | None) -> dict[str, Any]:
    """The parameters of a transform along several axes."""
    points = None if s is None else integers(s, "a number of points")
    named = axes_(axes)
    return {"s": points, "axes": (named,) if isinstance(named, int) else named, "norm": scale(norm)}


def pair(b: Builder, x: Any, term: D) -> tuple[Wire, Wire]:
    """An argument as the real and the imaginary parts of complex numbers, in one floating dtype; raises `SpaceError`."""
    if not isinstance(x, tuple):
        real = floating(x)
        return real, zeros(b, real.space)
    if len(x) != 2 or any(isinstance(part, tuple) for part in x) or x[0].shape != x[1].shape:
        raise errors.SpaceError(errors.not_complex(b.space(x), term))
    re, im = floating(x[0]), floating(x[1])
    dtype = widest(re.space, im.space)
    return cast(re, dtype), cast(im, dtype)


def real(b: Builder, x: Any, term: D) -> Wire:
    """An argument as an array of floats; raises `SpaceError`."""
    if isinstance(x, tuple):
        raise errors.SpaceError(errors.not_real(b.space(x), term))
    return floating(x)


def points(x: Wire, term: Any) -> tuple[tuple[int, ...], list[int | None]]:
    """The axes of a transform, counted from the front, and the number of points of each, None for all that there are."""
    given = term.parameters
    if "axis" in given:
        return axes_of(given["axis"], x, term), [given["n"]]
    s, axes = given["s"], given["axes"]
    if s is not None and axes is None:
        axes = tuple(range(-len(s), 0))
    places = axes_of(axes, x, term)
    if s is not None and len(s) != len(places):
        raise errors.SpaceError(errors.lengths_and_axes(s, axes, x.space, term))
    return places, [None if n == -1 else n for n in s or [-1] * len(places)]


def fitted(b: Builder, x: Wire, axis: int, n: int | None, term: D, least: int = 1) -> Wire:
    """The array cut, or padded with zeros, to so many points along an axis; raises `SpaceError` where these are too few."""
    m = x.shape[axis]
    n = m if n is None else n
    if n < least:
        raise errors.SpaceError(errors.too_few_points(least, n, axis, term))
    return moved_along(b, x, axis, move(m, n, 0, 1, 0, 1, min(m, n)))
