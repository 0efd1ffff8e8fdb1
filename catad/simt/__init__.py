"""Kernels: Python functions that many threads run, as morphisms, and their words, which are those of `numba.cuda`.

`ct.kernel` makes a kernel of a function; `k[blocks, threads]` is its launch, a morphism. Threads are axes: a load is a view or a
gather, a store makes a new version of its array. So kernels have derivatives of every order without a rule of their own.

>>> import catad as ct, numpy as np
>>> @ct.kernel
... def shifted(x, y):
...     i = ct.simt.grid(1)
...     if 0 < i < len(x):
...         y[i] = x[i - 1]
>>> shifted[1, 4](np.array([1.0, 2.0, 3.0, 4.0]), np.zeros(4))
array([0., 1., 2., 3.])
"""

from catad.simt.intrinsics import (
    atomic,
    blockDim,
    blockIdx,
    grid,
    gridDim,
    gridsize,
    laneid,
    local,
    shared,
    shfl_down_sync,
    shfl_sync,
    shfl_up_sync,
    shfl_xor_sync,
    syncthreads,
    syncwarp,
    threadIdx,
    warpSize,
    warpsize,
)

__all__ = [
    "atomic",
    "blockDim",
    "blockIdx",
    "grid",
    "gridDim",
    "gridsize",
    "laneid",
    "local",
    "shared",
    "shfl_down_sync",
    "shfl_sync",
    "shfl_up_sync",
    "shfl_xor_sync",
    "syncthreads",
    "syncwarp",
    "threadIdx",
    "warpSize",
    "warpsize",
]
