"""Barriers and shuffles: whether all threads of a block, or of a warp, come there.

What data decide must be the same for all threads of a block. What the coordinates decide is tried, warp by warp.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from catad import errors, scalar
from catad.scalar import Function
from catad.simt.affine import both
from catad.simt.arrays import Barrier
from catad.simt.intrinsics import WARP
from catad.simt.thread_axes import places

if TYPE_CHECKING:
    from catad.simt.lower import Lowering


def reached(low: Lowering, step: Barrier) -> None:
    """Raise where some threads of a block, or of a warp, do not come to a barrier."""
    low.phase.end()
    path = low.normal(step.path)
    if not low.varying(path) or (step.warp and uniform(low, path)):
        return
    raise errors.ScalarError((errors.divergent_warp if step.warp else errors.divergent_barrier)(step.where))


def uniform(low: Lowering, path: scalar.Node) -> bool:
    """Whether the threads of each warp surely agree on a path."""
    known, unknown = low.conditions(path)
    if any(low.varying(part) for part in unknown):
        return False
    axes = places(low.sizes)
    (holds,) = scalar.array_function(Function.make(len(axes), [scalar.truth(both(known))]))(np, *axes)
    return agree(low.lanes.linear(np.broadcast_to(holds, low.sizes)), math.prod(low.lanes.dims.block))


def agree(holds: np.ndarray, threads: int, team: int = WARP) -> bool:
    """Whether all threads of each warp agree; the threads are in linear order."""
    rows = holds.reshape(-1, threads)
    return all(bool((rows[:, k : k + team] == rows[:, k : k + 1]).all()) for k in range(0, threads, team))
