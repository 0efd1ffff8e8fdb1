"""The functions of BLAS that compiled code calls: those of SciPy, by their addresses."""

from __future__ import annotations

import ctypes
from functools import cache


@cache
def address(name: str) -> int:
    """The address of a function that takes all its arguments by reference, with integers of 32 bits.

    >>> address("dgemm") > 0
    True
    """
    from scipy.linalg import cython_blas

    capsule = cython_blas.__pyx_capi__[name]
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype, api.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
    api.PyCapsule_GetPointer.restype, api.PyCapsule_GetPointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    found = api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule))
    return int(found)
