"""Options of calls that several rooms check in one way."""

from __future__ import annotations

from typing import Any

import numpy as np


def truth_value(value: Any, what: str) -> bool:
    """An option that is a truth value of Python or NumPy, or an integer, which NumPy takes for one.

    Raises `ArgumentError` for anything else, such as a word: "off" is true in Python.

    >>> truth_value(True, "keepdims"), truth_value(0, "keepdims")
    (True, False)
    """
    if not isinstance(value, (bool, np.bool_, int, np.integer)):
        from catad import errors

        raise errors.ArgumentError(errors.not_a_truth_value(what, value))
    return bool(value)
