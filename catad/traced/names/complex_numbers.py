"""`complex`, `np.complex64`, `np.complex128` and `cmath`, which ask their arguments for numbers."""

from __future__ import annotations

import cmath
from collections.abc import Callable
from typing import Any

import numpy as np

from catad.traced.arrays.layout import parts_in
from catad.traced.arrays.stand_in import Traced
from catad.traced.pairs.functions import nested
from catad.traced.pairs.stand_in import Complex, as_pair, pair
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
    return pair(*[driver.call(float, part) for part in (both.re, both.im)])


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


# -- cmath


def _of_cmath(name: str, made: Callable[..., Any]) -> None:
    """The meaning of `cmath.name`, a function of numbers; where cmath raises an error, NumPy's result."""
    function = getattr(cmath, name)

    def meaning(driver: Any, *args: Any) -> Any:
        if not any(isinstance(arg, (Traced, Complex)) and arg.constant is None for arg in args):
            return function(*[arg.item() if isinstance(arg, (Traced, Complex)) else arg for arg in args])
        numbers = [complex_(driver, arg) for arg in args]
        return made(*[as_pair(driver.trace, one) for one in numbers])

    python_meaning(function)(meaning)


for _name in "exp log10 sqrt sin cos tan sinh cosh tanh isnan isinf isfinite".split():  # noqa: SIM905
    _of_cmath(_name, getattr(np, _name))
_of_cmath("log", lambda z, base=None: np.log(z) if base is None else np.log(z) / np.log(base))
_of_cmath("phase", np.angle)
_of_cmath("polar", lambda z: (abs(z), np.angle(z)))
_of_cmath("rect", lambda r, phi: Complex(r.re * np.cos(phi.re), r.re * np.sin(phi.re)))
