"""What functions of other libraries share: trees of their arrays taken apart, and put together of arrays of NumPy or CuPy."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from catad import errors
from catad.category.spaces import flatten, mapped
from catad.values.arrays import is_weak
from catad.values.trees import Tree, plain


def library(name: str, what: str, install: str) -> Any:
    """A library that is not always there. Raises `EngineError`, which says how to install it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise errors.EngineError(errors.needs_library(what, name, install)) from None


class Apart:
    """Arguments, or a result, taken apart: `leaves` are the arrays and the Python numbers in them."""

    def __init__(self, values: Sequence[Any]) -> None:
        found = [plain(value) for value in values]
        self._forms: list[tuple[Any, Tree]] = [(mapped(value, lambda _: None), tree) for value, tree in found]
        self.leaves: list[Any] = [leaf for value, _ in found for leaf in flatten(value)]

    def filled(self, leaves: Sequence[Any]) -> list[Any]:
        """The same trees with other leaves."""
        given = iter(leaves)
        return [tree.restore(mapped(shape, lambda _: next(given))) for shape, tree in self._forms]


def real_result(y: Any) -> Apart:
    """A result taken apart. Raises `SpaceError` where a part is complex: cotangents of other libraries are not told apart."""
    if plain(y)[1].has_complex:
        raise errors.SpaceError(errors.complex_between_libraries(y))
    return Apart([y])


def is_array(leaf: Any) -> bool:
    """False for Python numbers."""
    return not is_weak(leaf)


def gradients(leaves: Sequence[Any], floats: Sequence[bool], found: Sequence[Any]) -> list[Any]:
    """The cotangents that a pullback gives, one for each leaf; None for leaves that are no floats."""
    given = iter(Apart(found).leaves)
    return [next(given) if is_float else None for _, is_float in zip(leaves, floats, strict=True)]
