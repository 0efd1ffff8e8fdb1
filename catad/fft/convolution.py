"""`fftconvolve`: the convolution of two arrays of one axis in O(n log n), by the product of their spectra.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from catad import errors
from catad.category.constructors import constructor
from catad.category.terms import D
from catad.linear.families.fourier import How, Transform
from catad.linear.families.reindex import axis as move
from catad.linear.families.reindex import moved_along
from catad.linear.structure import cast, widest
from catad.vector.deferred import Shaped, linear
from catad.vector.folds.moments import floating
from catad.vector.resummed import Resummed

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire

MODES = ("full", "same", "valid")


def good_size(n: int) -> int:
    """The next number that is a product of the primes up to 5, for which transforms are quick."""
    best = 1 << max(0, n - 1).bit_length()
    five = 1
    while five < best:
        three = five
        while three < best:
            rest = -(-n // three)
            best = min(best, three << max(0, rest - 1).bit_length())
            three *= 3
        five *= 5
    return best


def multiplied(first: tuple[Wire, Wire], second: tuple[Wire, Wire]) -> tuple[Wire, Wire]:
    """The product of complex numbers."""
    (a, b), (c, d) = first, second
    return a * c - b * d, a * d + b * c


def convolved(b: Builder, x: Wire, y: Wire, first: int, count: int) -> Wire:
    """The entries from `first` of the full convolution of two arrays of one axis and one dtype."""
    n = good_size(x.shape[0] + y.shape[0] - 1)
    spectra = []
    for one in (x, y):
        m = one.shape[0]
        re, im = b.add(Transform(How("r2c", (0,), n=n)), moved_along(b, one, 0, move(m, n, 0, 1, 0, 1, m)))
        spectra.append((re, im))
    (z,) = b.add(Transform(How("c2r", (0,), n=n)), *multiplied(spectra[0], spectra[1]))
    return moved_along(b, z, 0, move(n, count, first, 1, 0, 1, count))


@linear
def _fftconvolve(b: Builder, x: Any, term: Any) -> Wire:
    if not isinstance(x, tuple) or len(x) != 2 or any(isinstance(one, tuple) or one.ndim != 1 or not one.shape[0] for one in x):
        raise errors.SpaceError(errors.two_arrays_of_one_axis(b.space(x), term))
    a, v = floating(x[0]), floating(x[1])
    dtype = widest(a.space, v.space)
    a, v = cast(a, dtype), cast(v, dtype)
    n, m = a.shape[0], v.shape[0]
    full, mode = n + m - 1, term.parameters["mode"]
    count = {"full": full, "same": n, "valid": max(n, m) - min(n, m) + 1}[mode]
    y = convolved(b, a, v, (full - count) // 2, count)
    if not term.parameters["local"]:
        return y
    return b.add(Resummed((full - count) // 2), a, v, y)[0]


@constructor()
def fftconvolve(mode: str = "full", local: bool = False) -> D:
    """Maps `(a, v)` to their convolution `y_k = sum_j a_j v_(k-j)`, by Fourier transforms, as `scipy.signal.fftconvolve`.

    Shapes: (n,) and (m,) to (n + m - 1,) in the mode "full", to the middle n entries in the mode "same", to the
    max(n, m) - min(n, m) + 1 entries in which no zeros beside the arrays take part in the mode "valid". Dtype: the common
    floating one, float64 for integers. The numbers are those of sums to rounding: about 1e-16 of the largest ones, also where
    the sum is small. Infinity and NaN spread over all entries; with `local` only over those of whose sums they are part, as in
    `numpy.convolve`, where all is summed again if there are such numbers. Derivative: two such convolutions, in O(n log n).
    Raises `SpaceError` for arrays of another number of axes and empty ones, `ArgumentError` for another mode.

    >>> import catad as ct, numpy as np
    >>> ct.fft.fftconvolve()(np.array([1.0, 2.0, 3.0]), np.array([0.0, 1.0])).round(12)
    array([0., 1., 2., 3.])
    """
    if mode not in MODES:
        raise errors.ArgumentError(errors.no_such_choice("mode", mode, MODES))
    return Shaped(fftconvolve, _fftconvolve, mode=mode, local=bool(local))
