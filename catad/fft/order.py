"""The order of spectra: `fftshift` and `ifftshift` move entries, `fftfreq` and `rfftfreq` are the frequencies of entries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from catad import errors
from catad.category.constant import const
from catad.category.constructors import axes as axes_
from catad.category.constructors import constructor, integer
from catad.category.terms import D
from catad.fft.arguments import Several
from catad.vector.deferred import Lay, Shaped, linear
from catad.vector.shapes.shape import axes_of
from catad.vector.shapes.split import rolled

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire


def _halfway(sign: int) -> Lay:
    def one(b: Builder, x: Wire, term: Any) -> Wire:
        for axis in axes_of(term.parameters["axes"], x, term):
            n = x.shape[axis]
            x = rolled(b, x, axis, n // 2 if sign > 0 else -(n // 2))
        return x

    def laid(b: Builder, x: Any, term: Any) -> Any:
        return tuple([one(b, part, term) for part in x]) if isinstance(x, tuple) else one(b, x, term)

    return linear(laid)


_to_middle, _to_front = _halfway(1), _halfway(-1)


@constructor()
def fftshift(axes: Several = None) -> D:
    """Move the entry of frequency 0 to the middle of some axes (None: all), as `numpy.fft.fftshift`.

    Shapes and dtypes stay; parts of a pair (re, im) are moved alike. Derivative: the move; its transpose is `ifftshift`. Raises
    `SpaceError` for an axis that is missing or occurs twice, `ArgumentError` for one that is no integer.

    >>> import catad as ct, numpy as np
    >>> ct.fft.fftshift()(np.array([0.0, 1.0, 2.0, -2.0, -1.0]))
    array([-2., -1.,  0.,  1.,  2.])
    """
    return Shaped(fftshift, _to_middle, axes=axes_(axes))


@constructor()
def ifftshift(axes: Several = None) -> D:
    """The inverse of `ct.fft.fftshift`, as `numpy.fft.ifftshift`.

    Shapes, dtypes, derivative and errors as `ct.fft.fftshift`.

    >>> import catad as ct, numpy as np
    >>> ct.fft.ifftshift()(np.array([-2.0, -1.0, 0.0, 1.0, 2.0]))
    array([ 0.,  1.,  2., -2., -1.])
    """
    return Shaped(ifftshift, _to_front, axes=axes_(axes))


def _spacing(d: float) -> float:
    if isinstance(d, bool) or not isinstance(d, (int, float, np.integer, np.floating)) or d == 0:
        raise errors.ArgumentError(errors.no_such_choice("spacing of samples (d=)", d, ["a number that is not 0"]))
    return float(d)


@constructor()
def fftfreq(n: int, d: float = 1.0) -> D:
    """The frequencies of the entries of a spectrum of n points at distances `d`, a constant, as `numpy.fft.fftfreq`.

    Shape: (n,) with the dtype float64, whatever the argument is. Derivative: zero. Raises `ArgumentError` for n < 1 and d = 0.

    >>> import catad as ct, numpy as np
    >>> ct.fft.fftfreq(5, 0.5)(np.zeros(3))
    array([ 0. ,  0.4,  0.8, -0.8, -0.4])
    """
    return const(np.fft.fftfreq(integer(n, "a number of points", 1), _spacing(d)))


@constructor()
def rfftfreq(n: int, d: float = 1.0) -> D:
    """The frequencies of the entries of `ct.fft.rfft` of n points at distances `d`, a constant, as `numpy.fft.rfftfreq`.

    Shape: (n // 2 + 1,) with the dtype float64. Derivative and errors as `ct.fft.fftfreq`.

    >>> import catad as ct, numpy as np
    >>> ct.fft.rfftfreq(4)(np.zeros(3))
    array([0.  , 0.25, 0.5 ])
    """
    return const(np.fft.rfftfreq(integer(n, "a number of points", 1), _spacing(d)))
