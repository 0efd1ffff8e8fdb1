"""Programs as bytes for other processes: with the functions of users in them, by value where these cannot be found by name.

Primitives from outside the package and opaque code hold Python functions. cloudpickle, which Dask brings, pickles those of
`__main__` and lambdas, too. What a function reads is sent as it was when its morphism was made.
"""

from __future__ import annotations

import hashlib
import pickle
from contextlib import suppress
from typing import Any

from catad import errors
from catad.category.wiring import Wiring
from catad.values.frozen_functions import sending


def _dumps(value: Any) -> bytes:
    found: Any = pickle
    with suppress(ImportError):  # without Dask all tasks run in this process
        import cloudpickle

        found = cloudpickle
    token = sending.set(True)
    try:
        made: bytes = found.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
        return made
    finally:
        sending.reset(token)


def sent(wiring: Wiring, *more: Any) -> tuple[str, bytes]:
    """A digest of a program, and its bytes; raises `EngineError` where a box in it cannot be pickled, which is named."""
    try:
        said = _dumps((wiring, *more))
    except Exception as error:  # whatever the objects raise that a function reads
        raise errors.EngineError(errors.does_not_pickle(_culprit(wiring), error)) from error
    return hashlib.sha256(said).hexdigest(), said


def _culprit(wiring: Wiring) -> Any:
    """The box that cannot be pickled."""
    for box in wiring.boxes:
        try:
            _dumps(box.primitive)
        except Exception:  # as above
            return box.primitive
    return wiring
