"""Options of calls that several rooms check in one way."""

from __future__ import annotations

from typing import Any

import numpy as np


def truth_value(value: Any, what: str) -> bool:
    """An option that is a truth value of Python or NumPy, or one of the integers 0 and 1.

    Raises `ArgumentError` for anything else, such as a word: "off" is true in Python. SciPy's `trans=2` has a meaning of its own.

    >>> truth_value(True, "keepdims"), truth_value(0, "keepdims")
    (True, False)
    """
    if not isinstance(value, (bool, np.bool_, int, np.integer)) or value not in (0, 1):
        from catad import errors

        raise errors.ArgumentError(errors.not_a_truth_value(what, value))
    return bool(value)
