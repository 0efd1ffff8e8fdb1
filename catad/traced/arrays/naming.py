"""The names that the user's program has for arrays: for texts, pictures and messages."""

from __future__ import annotations

from collections.abc import Mapping
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from catad.traced.arrays.stand_in import Traced
from catad.values.complex_numbers import ComplexPair
from catad.values.frozen_functions import content_of, names_of


def named(names: str | tuple[str, ...], value: Any) -> Any:
    """The value, its arrays noted under the names to which the program binds them."""
    if isinstance(names, str):
        if isinstance(value, (Traced, ComplexPair)) and not names.startswith("__catad"):
            value.named_(names)
    elif isinstance(value, (tuple, list)) and len(value) == len(names):
        for name, part in zip(names, value, strict=True):
            if isinstance(part, (Traced, ComplexPair)):
                part.named_(name)
    return value


def captured(fn: Any) -> dict[int, str]:
    """The names of arrays that a function reads from outside, by the identity of the array."""
    if isinstance(fn, MethodType):
        return {**_arrays(getattr(fn.__self__, "__dict__", {})), **captured(fn.__func__)}
    if not isinstance(fn, FunctionType):
        return {}
    code = fn.__code__
    outside = {name: fn.__globals__[name] for name in names_of(code).outer if name in fn.__globals__}
    for name, cell in zip(code.co_freevars, fn.__closure__ or (), strict=True):
        outside[name] = content_of(cell)
    return _arrays(outside)


def _arrays(scope: Mapping[str, Any]) -> dict[int, str]:
    return {id(value): name for name, value in scope.items() if isinstance(value, np.ndarray)}
