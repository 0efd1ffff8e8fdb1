"""`complex`, `np.complex64` and `np.complex128`, which ask their arguments for numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from catad.traced.arrays.layout import parts_in
from catad.traced.arrays.stand_in import Traced
from catad.traced.pairs.functions import nested
from catad.traced.pairs.stand_in import Complex, as_pair
from catad.traced.table import python_meaning
from catad.values.complex_numbers import real_dtype


@python_meaning(complex)
def complex_(driver: Any, real: Any = 0.0, imag: Any = None) -> Any:
    parts = [part for part in (real, imag) if isinstance(part, (Traced, Complex)) and part.constant is None]
    if not parts:
        own = [one.item() if isinstance(one, (Complex, Traced)) else one for one in (real, imag)]
        return complex(own[0]) if imag is None else complex(*own)
    if any(part.ndim for part in parts):
        raise TypeError("only length-1 arrays can be converted to Python scalars")
    both: Any = as_pair(driver.trace, real)
    if imag is not None:
        both = both + as_pair(driver.trace, imag) * 1j
    return Complex(*[driver.call(float, part) for part in (both.re, both.im)])


def _scalar_type(kind: Any) -> None:
    def made(driver: Any, x: Any = 0) -> Any:
        if isinstance(x, (Traced, Complex)):
            both = as_pair(driver.trace, x)
            return Complex(*[driver.call(real_dtype(kind).type, part) for part in (both.re, both.im)])
        parts = list(parts_in(x))
        return nested(driver.trace, x, kind) if any(isinstance(part, (Traced, Complex)) for part in parts) else kind(x)

    python_meaning(kind)(made)


_scalar_type(np.complex64)
_scalar_type(np.complex128)
