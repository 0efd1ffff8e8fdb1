"""Tangents and cotangents as users give them: checked against the space of the point or of the result."""

from __future__ import annotations

from typing import Any

from catad import errors
from catad.category.spaces import Product, Space, Tensor, Value, space_of, tangent_space
from catad.values.arrays import as_array, as_number, counted_in, is_weak


def tangent_leaves(value: Value, space: Space, xp: Any, what: str) -> list[Any]:
    """The floating leaves of a tangent or cotangent; for an integer leaf `()`, None or zeros may stand, and nothing else.

    Integers stand for floats, as SciPy's solvers give them.
    """
    out: list[Any] = []
    stack: list[tuple[Any, Space]] = [(value, space)]
    while stack:
        v, s = stack.pop()
        if isinstance(s, Product):
            fits = isinstance(v, tuple) and len(v) == len(s.factors)
            if fits:
                stack.extend(zip(reversed(v), reversed(s.factors), strict=True))
        elif isinstance(s, Tensor) and s.is_float:
            if not isinstance(v, tuple) and v is not None:
                v = as_number(xp, v, s.dtype) if is_weak(v) else counted_in(as_array(v), s.dtype)
            fits = getattr(v, "shape", None) == s.shape and v.dtype == s.dtype
            out.append(v)
        else:
            fits = _is_zero(v, s)
        if not fits:
            raise errors.SpaceError(errors.wrong_tangent(what, tangent_space(space), _described(value), None))
    return out


def _is_zero(value: Value, space: Space) -> bool:
    """Whether a value may stand for the tangent of integers: `()`, None, 0, or zeros of their shape."""
    if value is None or isinstance(value, tuple):
        return not value
    if is_weak(value):
        return bool(value == 0)
    array = as_array(value)
    return isinstance(space, Tensor) and array.shape == space.shape and array.dtype.kind in "biuf" and not array.any()


def _described(value: Value) -> Any:
    """The space of a value for a message, or the value where it has none."""
    try:
        return space_of(value)
    except errors.CatadError:
        return errors.abbreviated(value)
