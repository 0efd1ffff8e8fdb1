"""Arrays of other libraries in the memory of a GPU, as arrays of CuPy that show the same memory.

Two protocols tell where an array lies: DLPack and `__cuda_array_interface__`. Both let CuPy wait for what still writes the
array on another stream. Arrays that record gradients refuse to be shown, and stay refused.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

from catad import errors

_ON_GPU = (2, 13)  # the kinds of devices that DLPack calls CUDA and CUDA managed


def shown(thing: Any) -> Any:
    """An array of CuPy in the memory of one of another library, without a copy; None for what lies on no GPU.

    Raises `EngineError` where CuPy is missing.
    """
    kind = type(thing)
    if hasattr(kind, "__dlpack_device__") and hasattr(kind, "__dlpack__"):
        try:
            there = thing.__dlpack_device__()[0] in _ON_GPU
        except Exception:  # of a tracer, say: what is no array has no device
            return None
        return _taken(thing, "from_dlpack") if there else None
    if hasattr(kind, "__cuda_array_interface__"):
        return _taken(thing, "asarray")
    return None


def _taken(thing: Any, how: str) -> Any:
    try:
        take = getattr(sys.modules.get("cupy") or importlib.import_module("cupy"), how)
    except Exception as error:  # a broken CuPy raises anything
        raise errors.EngineError(errors.needs_cupy(thing, error)) from None
    try:
        return take(thing)
    except (AttributeError, BufferError, RuntimeError, TypeError, ValueError):  # as PyTorch does where it records gradients
        return None
