"""Cosine and sine transforms of the types 1 and 4 by complex transforms, for array libraries that have the types 2 and 3 alone.

Definitions, scales and `ortho` are those of `scipy.fft`. Type 1 is the transform of the argument continued evenly or oddly,
type 4 one of twice the length, of the argument turned by half steps.

Source: J. Makhoul, *A fast cosine transform in one and two dimensions*, 1980, sections I and II, has the method for type 2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any


def of_type_1_or_4(xp: Any, kind: str, type: int, x: Any, axes: Sequence[int], norm: str) -> Any:
    """The transform of `kind` dct or dst along each of some axes, in the dtype of `x`."""
    for axis in axes:
        x = xp.moveaxis(_along_the_last(xp, kind, type, xp.moveaxis(x, axis, -1), norm), -1, axis)
    return x


def _along_the_last(xp: Any, kind: str, type: int, x: Any, norm: str) -> Any:
    n, even, dtype = x.shape[-1], kind == "dct", x.dtype
    logical = 2 * n if type == 4 else 2 * (n - 1 if even else n + 1)  # the length of the complex transform behind it
    orthogonal = norm == "ortho" and type == 1 and even
    if orthogonal:
        x = x.copy()
        x[..., 0] *= math.sqrt(2.0)
        x[..., -1] *= math.sqrt(2.0)
    y = _continued(xp, even, x) if type == 1 else _turned(xp, even, x)
    if orthogonal:
        y[..., 0] /= math.sqrt(2.0)
        y[..., -1] /= math.sqrt(2.0)
    if norm != "backward":
        y = y / (math.sqrt(logical) if norm == "ortho" else logical)
    return y.astype(dtype, copy=False)


def _continued(xp: Any, even: bool, x: Any) -> Any:
    if even:
        return xp.fft.rfft(xp.concatenate([x, x[..., -2:0:-1]], axis=-1)).real
    nothing = xp.zeros((*x.shape[:-1], 1), dtype=x.dtype)
    return -xp.fft.rfft(xp.concatenate([nothing, x, nothing, -x[..., ::-1]], axis=-1)).imag[..., 1:-1]


def _turned(xp: Any, even: bool, x: Any) -> Any:
    n = x.shape[-1]
    steps = xp.arange(n)
    within = xp.exp(-0.5j * math.pi / n * steps)  # as complex128; the transform of float32 numbers is rounded once, at the end
    z = xp.fft.fft(x * within, n=2 * n)[..., :n] * xp.exp(-0.25j * math.pi / n * (2 * steps + 1))
    return 2.0 * z.real if even else -2.0 * z.imag
