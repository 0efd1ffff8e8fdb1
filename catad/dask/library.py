"""Arrays of Dask as a library of arrays in blocks: which of them programs take, and where their tasks go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from dask.array import Array, from_array

from catad.chunks.libraries import Library
from catad.chunks.parts import Parts
from catad.chunks.tasks import Tasks
from catad.dask.graph import DaskGraph


def _parts(array: Array) -> Parts:
    return tuple([tuple(sizes) for sizes in array.chunks])


def _tasks(token: str, arrays: Sequence[Any]) -> Tasks:
    others = [array for array in arrays if not isinstance(array, Array)]
    return DaskGraph(token, [array for array in arrays if isinstance(array, Array)], [np.asarray(a) for a in others])


def _recut(array: Any, parts: Parts) -> Array:
    return array.rechunk(parts) if isinstance(array, Array) else from_array(np.asarray(array), chunks=parts)


DASK = Library("dask.array", _parts, _tasks, lambda array: array._meta, _recut)
