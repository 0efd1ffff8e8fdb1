"""The functions of BLAS and LAPACK that compiled code calls: those of SciPy, by their addresses.

The library of them that a wheel of SciPy has beside it is opened by itself, since to import `scipy.linalg` takes longer than to
compile a program. Where there is none, SciPy says where its own are.
"""

from __future__ import annotations

import ctypes
import glob
import importlib.util
import os
import sys
from functools import cache


@cache
def address(name: str) -> int:
    """The address of a function that takes all its arguments by reference, with integers of 32 bits.

    >>> address("dgemm") > 0
    True
    """
    found = getattr(_library(), f"scipy_{name}_", None)
    if found is not None:
        return int(ctypes.cast(found, ctypes.c_void_p).value or 0)
    from scipy.linalg import cython_blas, cython_lapack

    capsule = {**cython_lapack.__pyx_capi__, **cython_blas.__pyx_capi__}[name]
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype, api.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
    api.PyCapsule_GetPointer.restype, api.PyCapsule_GetPointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return int(api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule)))


@cache
def _library() -> ctypes.CDLL | None:
    """The library beside SciPy, which SciPy opens, too, when it is imported; None where there is not exactly one."""
    if sys.platform == "win32" or "scipy.linalg.cython_blas" in sys.modules:
        return None
    scipy = importlib.util.find_spec("scipy")
    if scipy is None or not scipy.submodule_search_locations:
        return None
    beside = os.path.join(os.path.dirname(scipy.submodule_search_locations[0]), "scipy.libs")
    places = glob.glob(os.path.join(glob.escape(beside), "libscipy_openblas-*.so"))
    try:
        return ctypes.CDLL(places[0]) if len(places) == 1 else None
    except OSError:
        return None
