"""Keys drawn for `ct.index` and `ct.at`: a shape, a key with `ct.arg` in it, and the arrays of indices."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

import catad as ct

DTYPES = ("float64", "float32", "int64", "int8", "uint16", "bool")


class Drawn(NamedTuple):
    """A key, the same key for NumPy, an array and index arrays."""

    key: tuple[Any, ...]
    for_numpy: tuple[Any, ...]
    x: Any
    indices: tuple[Any, ...]


def _bound(n: int) -> st.SearchStrategy[int | None]:
    return st.none() | st.integers(-n - 2, n + 2)


@st.composite
def keys(draw: Any, dtype: str | None = None, arguments: bool = True, least: int = 0) -> Drawn:
    """Of arrays with up to four axes; with `least=1` no axis is empty."""
    shape = tuple(draw(st.lists(st.integers(least, 4), max_size=4)))
    used = draw(st.integers(0, len(shape)))
    gap = draw(st.integers(0, used)) if draw(st.booleans()) or used < len(shape) else None
    broadcast = tuple(draw(st.lists(st.integers(least, 3), max_size=2)))
    parts: list[Any] = []
    indices: list[Any] = []
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    sizes = list(shape)
    for k in range(used):
        if gap == k:
            parts.append(Ellipsis)
        axis = k if gap is None or k < gap else len(shape) - used + k
        n = sizes[axis]
        kind = draw(st.sampled_from(["slice", "slice", "int", "arg", "none"] if arguments else ["slice", "slice", "int", "none"]))
        if kind == "none":
            parts.append(None)
            kind = "slice"
        if kind == "arg" and (n > 0 or 0 in broadcast):
            own = broadcast[draw(st.integers(0, len(broadcast))) :]
            own = tuple([1 if draw(st.integers(0, 3)) == 0 else m for m in own])
            i = rng.integers(-n, max(n, -n + 1), own, dtype=draw(st.sampled_from([np.int64, np.int8])))
            if n == 0:
                i = np.zeros(own, np.int64)
            if n > 0 or i.size == 0:
                parts.append(ct.arg)
                indices.append(i)
                continue
        if kind == "int" and n > 0:
            parts.append(draw(st.integers(-n, n - 1)))
        else:
            parts.append(slice(draw(_bound(n)), draw(_bound(n)), draw(st.sampled_from([None, 1, 2, 3, -1, -2]))))
    if gap == used:
        parts.append(Ellipsis)
    if draw(st.integers(0, 5)) == 0:
        parts.append(None)
    kind = dtype or draw(st.sampled_from(DTYPES))
    x = np.asarray(rng.normal(size=shape) * 5).astype(kind)
    given_ = iter(indices)
    plain = tuple([next(given_) if part is ct.arg else part for part in parts])
    return Drawn(tuple(parts), plain, x, tuple(indices))
