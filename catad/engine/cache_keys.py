"""Names on disk for kernels: what they compute, written out, and which printer would print it.

The text of a large kernel takes longer to print than its code to load, so code is found by the kernel itself.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from catad import version
from catad.scalar import Function, Loop
from catad.scalar.ir import flatten

SHARED = ("engine/stages", "engine/text", "scalar", "values")  # `values/formats.py` has the numbers of formats
"""The folders of what decides about a text on every machine, with all that lies in them."""

_known: WeakKeyDictionary[Function, str] = WeakKeyDictionary()


def key_of(printer: type, kernel: tuple[Any, ...], folders: tuple[str, ...]) -> str | None:
    """A key that is the same text for the same kernel in every process; None where that cannot be promised.

    `folders` are those of the machine's own printers, within the package.

    >>> key_of(object, (1, "f4", -0.0), ()) == key_of(object, (1, "f4", 0.0), ())
    False
    """
    made_by = sources(folders)
    if made_by is None:
        return None
    try:
        return f"{printer.__qualname__} {written(kernel)} {made_by}"
    except TypeError:
        return None


def written(value: Any) -> str:
    """A value as text that only equal values have; raises TypeError for what has none."""
    if isinstance(value, (tuple, list)):
        return f"{type(value).__name__}({', '.join([written(part) for part in value])})"
    if value is None or isinstance(value, (str, bool, int, float)):
        return f"{type(value).__name__} {value!r}"
    if isinstance(value, Function):
        return _function(value)
    if isinstance(value, Loop):
        return f"loop of {value.states}, {_function(value.condition)}, {_function(value.step)}"
    if isinstance(value, np.generic):
        return f"{value.dtype.str} {value.tobytes().hex()}"
    if isinstance(value, np.dtype):
        return value.str
    raise TypeError(f"no text stands for {value!r}")


def _function(function: Function) -> str:
    found = _known.get(function)
    if found is None:
        parts = (function.arity, flatten(function.outputs), function.tree, function.param_trees)
        found = _known[function] = hashlib.sha256(written(parts).encode()).hexdigest()
    return found


@cache
def sources(folders: tuple[str, ...]) -> str | None:
    """A text that identifies the printers of this catad: names, sizes and times of its files; None without files."""
    root = os.path.dirname(version.__file__)
    try:
        found = [about for place in (*SHARED, *folders) for about in _files(root, place)]
    except OSError:
        return None
    return hashlib.sha256(repr(found).encode()).hexdigest()


def _files(root: str, place: str) -> Iterator[tuple[str, int, int]]:
    """The files of a folder and of all folders in it: path, bytes, time."""
    for entry in sorted(os.scandir(os.path.join(root, place)), key=lambda entry: entry.name):
        path = f"{place}/{entry.name}"
        if entry.name.endswith(".py"):
            about = entry.stat()
            yield path, about.st_size, about.st_mtime_ns
        elif entry.is_dir() and entry.name != "__pycache__":
            yield from _files(root, path)
