"""`fft`, `ifft` and their forms of several axes: complex numbers in, complex numbers out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from catad.category.constructors import constructor
from catad.category.terms import D
from catad.fft.arguments import Several, fitted, of_axes, of_one_axis, pair, points, scale_of
from catad.linear.families.fourier import How, Transform
from catad.vector.deferred import Lay, Shaped, linear

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire


def _both_ways(inverse: bool) -> Lay:
    def laid(b: Builder, x: Any, term: Any) -> tuple[Wire, ...]:
        z = pair(b, x, term)
        axes, counts = points(z[0], term)
        for axis, n in zip(axes, counts, strict=True):
            z = (fitted(b, z[0], axis, n, term), fitted(b, z[1], axis, n, term))
        return b.add(Transform(How("c2c", axes, scale_of(term), inverse)), *z) if axes else z

    return linear(laid)


_forth, _back = _both_ways(False), _both_ways(True)


@constructor()
def fft(n: int | None = None, axis: int = -1, norm: str | None = None) -> D:
    """The discrete Fourier transform along an axis, as `numpy.fft.fft`: `y_k = sum_j exp(-2 pi i j k / n) x_j`.

    `n` points are transformed: the array is cut, or padded with zeros. `norm` divides by nothing ("backward", None), by sqrt(n)
    ("ortho") or by n ("forward").

    Shapes: an array (..., m, ...) or a pair of its real and imaginary parts, to a pair of (..., n, ...). Dtype: floats keep
    theirs, integers become float64. Derivative: the transform itself, in O(n log n); its transpose is `ifft` with the other
    scale. Raises `SpaceError` for an axis that is missing or has no points and for parts of two shapes, `ArgumentError` for
    another `norm`. Source: J. Cooley & J. Tukey, 1965; the numbers are those of `scipy.fft`.

    >>> import catad as ct, numpy as np
    >>> re, im = ct.fft.fft()(np.array([1.0, 2.0, 0.0, 0.0]))
    >>> re, im
    (array([ 3.,  1., -1.,  1.]), array([ 0., -2.,  0.,  2.]))
    """
    return Shaped(fft, _forth, **of_one_axis(n, axis, norm))


@constructor()
def ifft(n: int | None = None, axis: int = -1, norm: str | None = None) -> D:
    """The inverse of `ct.fft.fft` along an axis, as `numpy.fft.ifft`: `x_j = 1/n sum_k exp(2 pi i j k / n) y_k`.

    `norm` divides by n ("backward", None), by sqrt(n) ("ortho") or by nothing ("forward"). Shapes, dtypes
    and errors as `ct.fft.fft`. The transpose is `fft` with the other scale.

    >>> import catad as ct, numpy as np
    >>> (ct.fft.fft() >> ct.fft.ifft())(np.array([1.0, 2.0, 0.0, 0.0]))
    (array([1., 2., 0., 0.]), array([0., 0., 0., 0.]))
    """
    return Shaped(ifft, _back, **of_one_axis(n, axis, norm))


@constructor()
def fftn(s: Several = None, axes: Several = None, norm: str | None = None) -> D:
    """The discrete Fourier transform along several axes (None: all), as `scipy.fft.fftn`.

    `s` has a number of points for each axis, -1 for those that there are; without `axes` they are those of the last axes. Shapes,
    dtypes, scales and the derivative are those of `ct.fft.fft`. Raises `SpaceError` for axes that are missing or occur twice and
    for numbers that do not fit them, `ArgumentError` for another `norm`.

    >>> import catad as ct, numpy as np
    >>> ct.fft.fftn()(np.ones((2, 2)))[0]
    array([[4., 0.],
           [0., 0.]])
    """
    return Shaped(fftn, _forth, **of_axes(s, axes, norm))


@constructor()
def ifftn(s: Several = None, axes: Several = None, norm: str | None = None) -> D:
    """The inverse of `ct.fft.fftn`, as `scipy.fft.ifftn`.

    Shapes, dtypes, parameters and errors as `ct.fft.fftn`. The transpose is `fftn` with the other scale.

    >>> import catad as ct, numpy as np
    >>> ct.fft.ifftn()(np.ones((2, 2)))[0]
    array([[1., 0.],
           [0., 0.]])
    """
    return Shaped(ifftn, _back, **of_axes(s, axes, norm))


@constructor()
def fft2(s: Several = None, axes: Several = (-2, -1), norm: str | None = None) -> D:
    """`ct.fft.fftn` along the last two axes, as `scipy.fft.fft2`.

    Shapes, dtypes, derivative and errors as `ct.fft.fftn`.

    >>> import catad as ct, numpy as np
    >>> ct.fft.fft2()(np.eye(2))[0]
    array([[2., 0.],
           [0., 2.]])
    """
    return Shaped(fft2, _forth, **of_axes(s, axes, norm))


@constructor()
def ifft2(s: Several = None, axes: Several = (-2, -1), norm: str | None = None) -> D:
    """The inverse of `ct.fft.fft2`, as `scipy.fft.ifft2`.

    Shapes, dtypes, derivative and errors as `ct.fft.ifftn`.

    >>> import catad as ct, numpy as np
    >>> ct.fft.ifft2()(2 * np.eye(2))[0]
    array([[1., 0.],
           [0., 1.]])
    """
    return Shaped(ifft2, _back, **of_axes(s, axes, norm))
