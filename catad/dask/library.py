"""Arrays of Dask as a library of arrays in blocks: which of them programs take, and where their tasks go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from dask.array import Array, from_array
from dask.base import compute, persist

from catad.chunks.libraries import Library
from catad.chunks.parts import Parts
from catad.chunks.tasks import Tasks
from catad.dask.graph import DaskGraph


class _Dask(Library):
    """Arrays of Dask, whose tasks are a graph."""

    __name__ = "dask.array"

    def parts_of(self, array: Array) -> Parts:
        return tuple([tuple(sizes) for sizes in array.chunks])

    def tasks(self, token: str, arrays: Sequence[Any]) -> Tasks:
        others = [array for array in arrays if not isinstance(array, Array)]
        return DaskGraph(token, [array for array in arrays if isinstance(array, Array)], [np.asarray(a) for a in others])

    def sample(self, array: Array) -> Any:
        return array._meta

    def recut(self, array: Any, parts: Parts) -> Array:
        return array.rechunk(parts) if isinstance(array, Array) else from_array(np.asarray(array), chunks=parts)

    def persisted(self, arrays: Sequence[Any]) -> Sequence[Any]:
        return persist(*arrays)  # type: ignore[no-any-return]

    def computed(self, arrays: Sequence[Any]) -> Sequence[Any]:
        return compute(*arrays)  # type: ignore[no-any-return]


DASK = _Dask()
