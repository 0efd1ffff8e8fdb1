"""Whether the blocks of an array of dask are what it says: dask itself believes it, and hands over whatever tasks give."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np


def misdeclared(array: Any) -> list[str]:
    """A line for each block whose dtype, sizes or type are not those of the array; one after the other is made and looked at."""
    import dask

    graph = dict(array.__dask_graph__())
    places = list(product(*[range(len(sizes)) for sizes in array.chunks]))
    found = dask.get(graph, [(array.name, *place) for place in places])
    lines = []
    for place, block in zip(places, found, strict=True):
        shape = tuple([sizes[k] for sizes, k in zip(array.chunks, place, strict=True)])
        declared = f"{array.dtype}{shape}"
        is_number = isinstance(block, np.generic) and shape == () and type(array._meta) is np.ndarray
        got = f"{block.dtype}{block.shape}" if is_number or type(block) is type(array._meta) else type(block).__name__
        if got != declared:
            lines.append(f"block {place} is {got}, declared {declared}")
    return lines
