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

from typing import TYPE_CHECKING

from catad.support.lazy_names import first_use

if TYPE_CHECKING:
    from catad.simt.intrinsics import atomic as atomic
    from catad.simt.intrinsics import blockDim as blockDim
    from catad.simt.intrinsics import blockIdx as blockIdx
    from catad.simt.intrinsics import grid as grid
    from catad.simt.intrinsics import gridDim as gridDim
    from catad.simt.intrinsics import gridsize as gridsize
    from catad.simt.intrinsics import laneid as laneid
    from catad.simt.intrinsics import local as local
    from catad.simt.intrinsics import shared as shared
    from catad.simt.intrinsics import shfl_down_sync as shfl_down_sync
    from catad.simt.intrinsics import shfl_sync as shfl_sync
    from catad.simt.intrinsics import shfl_up_sync as shfl_up_sync
    from catad.simt.intrinsics import shfl_xor_sync as shfl_xor_sync
    from catad.simt.intrinsics import syncthreads as syncthreads
    from catad.simt.intrinsics import syncwarp as syncwarp
    from catad.simt.intrinsics import threadIdx as threadIdx
    from catad.simt.intrinsics import warpSize as warpSize
    from catad.simt.intrinsics import warpsize as warpsize

first_use(__name__)
