"""`rfft`, `irfft`, `hfft`, `ihfft` and the forms of several axes: transforms where one side is real.

The spectrum of real numbers is symmetric, y_(n-k) = conj(y_k), so that its first n // 2 + 1 entries say all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from catad import errors
from catad.category.constructors import constructor
from catad.category.terms import D
from catad.fft.arguments import Several, fitted, of_axes, of_one_axis, pair, points, real, scale_of
from catad.linear.families.fourier import OTHER, How, Transform
from catad.vector.deferred import Lay, Shaped, linear

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire


def _halved(conjugate: bool) -> Lay:
    """Real in, half a spectrum out."""

    def laid(b: Builder, x: Any, term: Any) -> tuple[Wire, ...]:
        x = real(b, x, term)
        axes, counts = points(x, term)
        if not axes:
            raise errors.SpaceError(errors.lengths_and_axes(term.parameters.get("s"), axes, x.space, term))
        for axis, n in zip(axes, counts, strict=True):
            x = fitted(b, x, axis, n, term)
        norm = scale_of(term)
        re, im = b.add(Transform(How("r2c", axes, OTHER[norm] if conjugate else norm, n=x.shape[axes[-1]])), x)
        return re, -im if conjugate else im

    return linear(laid)


def _completed(conjugate: bool) -> Lay:
    """Half a spectrum in, real out."""

    def laid(b: Builder, x: Any, term: Any) -> Wire:
        z = pair(b, x, term)
        axes, counts = points(z[0], term)
        if not axes:
            raise errors.SpaceError(errors.lengths_and_axes(term.parameters.get("s"), axes, z[0].space, term))
        last = 2 * (z[0].shape[axes[-1]] - 1) if counts[-1] is None else counts[-1]
        if last < 1:
            raise errors.SpaceError(errors.too_few_points(1, last, axes[-1], term))
        for axis, n in zip(axes, [*counts[:-1], last // 2 + 1], strict=True):
            z = (fitted(b, z[0], axis, n, term), fitted(b, z[1], axis, n, term))
        norm = scale_of(term)
        given = (z[0], -z[1]) if conjugate else z
        return b.add(Transform(How("c2r", axes, OTHER[norm] if conjugate else norm, n=last)), *given)[0]

    return linear(laid)


_rfft, _ihfft, _irfft, _hfft = _halved(False), _halved(True), _completed(False), _completed(True)


@constructor()
def rfft(n: int | None = None, axis: int = -1, norm: str | None = None) -> D:
    """The first n // 2 + 1 entries of the Fourier transform of real numbers, as `numpy.fft.rfft`.

    `n` and `norm` are those of `ct.fft.fft`. Shapes: (..., m, ...) to a pair (re, im) of (..., n // 2 + 1, ...). Dtype: floats
    keep theirs, integers become float64. Derivative: the transform itself, in O(n log n); its transpose is a weighted `irfft`.
    Raises `SpaceError` for a pair, for an axis that is missing or has no points, `ArgumentError` for another `norm` and for
    parameters that are no integers.

    >>> import catad as ct, numpy as np
    >>> ct.fft.rfft()(np.array([1.0, 2.0, 0.0, 0.0]))
    (array([ 3.,  1., -1.]), array([ 0., -2.,  0.]))
    """
    return Shaped(rfft, _rfft, **of_one_axis(n, axis, norm))


@constructor()
def irfft(n: int | None = None, axis: int = -1, norm: str | None = None) -> D:
    """The n real numbers of which half the spectrum is given, as `numpy.fft.irfft`; n is 2 (m - 1), if it is not given.

    The imaginary part of the first entry, and of the last if n is even, is not read. Shapes: an array (..., m, ...), or a pair
    (re, im) of such, to (..., n, ...). Dtype: floats keep theirs, integers become float64. Derivative: the transform itself; its
    transpose is a weighted `rfft`. Raises `SpaceError` for an axis that is missing, n < 1 and parts of two shapes,
    `ArgumentError` for another `norm` and for parameters that are no integers.

    >>> import catad as ct, numpy as np
    >>> ct.fft.irfft()(np.array([3.0, 1.0, -1.0]), np.array([0.0, -2.0, 0.0]))
    array([1., 2., 0., 0.])
    """
    return Shaped(irfft, _irfft, **of_one_axis(n, axis, norm))


@constructor()
def hfft(n: int | None = None, axis: int = -1, norm: str | None = None) -> D:
    """The real spectrum of n numbers that are symmetric, of which the first half is given, as `numpy.fft.hfft`.

    Shapes, dtypes, derivative and errors as `ct.fft.irfft`; the scales are those of `ct.fft.fft`.

    >>> import catad as ct, numpy as np
    >>> ct.fft.hfft()(np.array([1.0, 2.0, 3.0]))
    array([ 8., -2.,  0., -2.])
    """
    return Shaped(hfft, _hfft, **of_one_axis(n, axis, norm))


@constructor()
def ihfft(n: int | None = None, axis: int = -1, norm: str | None = None) -> D:
    """The inverse of `ct.fft.hfft`, as `numpy.fft.ihfft`.

    Shapes, dtypes, derivative and errors as `ct.fft.rfft`; the scales are those of `ct.fft.ifft`.

    >>> import catad as ct, numpy as np
    >>> ct.fft.ihfft()(np.array([8.0, -2.0, 0.0, -2.0]))[0]
    array([1., 2., 3.])
    """
    return Shaped(ihfft, _ihfft, **of_one_axis(n, axis, norm))


@constructor()
def rfftn(s: Several = None, axes: Several = None, norm: str | None = None) -> D:
    """`ct.fft.rfft` along the last of several axes (None: all), and `ct.fft.fft` along the others, as `scipy.fft.rfftn`.

    `s` and `axes` are those of `ct.fft.fftn`. Shapes: (..., m) to a pair (re, im) of (..., m // 2 + 1), if the last axis is
    among them. Dtypes, derivative and errors as `ct.fft.rfft`; no axes are a `SpaceError`.

    >>> import catad as ct, numpy as np
    >>> ct.fft.rfftn()(np.ones((2, 2)))[0]
    array([[4., 0.],
           [0., 0.]])
    """
    return Shaped(rfftn, _rfft, **of_axes(s, axes, norm))


@constructor()
def irfftn(s: Several = None, axes: Several = None, norm: str | None = None) -> D:
    """`ct.fft.ifft` along all but the last of several axes (None: all), and `ct.fft.irfft` along that, as `scipy.fft.irfftn`.

    Shapes, dtypes, derivative and errors as `ct.fft.irfft`, with `s` and `axes` of `ct.fft.fftn`.

    >>> import catad as ct, numpy as np
    >>> ct.fft.irfftn()(np.array([[4.0, 0.0], [0.0, 0.0]]))
    array([[1., 1.],
           [1., 1.]])
    """
    return Shaped(irfftn, _irfft, **of_axes(s, axes, norm))


@constructor()
def rfft2(s: Several = None, axes: Several = (-2, -1), norm: str | None = None) -> D:
    """`ct.fft.rfftn` along the last two axes, as `scipy.fft.rfft2`.

    Shapes, dtypes, derivative and errors as `ct.fft.rfftn`.

    >>> import catad as ct, numpy as np
    >>> ct.fft.rfft2()(np.eye(2))[0]
    array([[2., 0.],
           [0., 2.]])
    """
    return Shaped(rfft2, _rfft, **of_axes(s, axes, norm))


@constructor()
def irfft2(s: Several = None, axes: Several = (-2, -1), norm: str | None = None) -> D:
    """`ct.fft.irfftn` along the last two axes, as `scipy.fft.irfft2`.

    Shapes, dtypes, derivative and errors as `ct.fft.irfftn`.

    >>> import catad as ct, numpy as np
    >>> ct.fft.irfft2()(2 * np.eye(2))
    array([[1., 0.],
           [0., 1.]])
    """
    return Shaped(irfft2, _irfft, **of_axes(s, axes, norm))


@constructor()
def hfftn(s: Several = None, axes: Several = None, norm: str | None = None) -> D:
    """`ct.fft.fft` along all but the last of several axes (None: all), and `ct.fft.hfft` along that, as `scipy.fft.hfftn`.

    Shapes, dtypes, derivative and errors as `ct.fft.irfftn`; the scales are those of `ct.fft.fft`.

    >>> import catad as ct, numpy as np
    >>> ct.fft.hfftn()(np.array([[1.0, 1.0], [1.0, 1.0]]))
    array([[4., 0.],
           [0., 0.]])
    """
    return Shaped(hfftn, _hfft, **of_axes(s, axes, norm))


@constructor()
def ihfftn(s: Several = None, axes: Several = None, norm: str | None = None) -> D:
    """The inverse of `ct.fft.hfftn`, as `scipy.fft.ihfftn`.

    Shapes, dtypes, derivative and errors as `ct.fft.rfftn`; the scales are those of `ct.fft.ifft`.

    >>> import catad as ct, numpy as np
    >>> ct.fft.ihfftn()(np.array([[4.0, 0.0], [0.0, 0.0]]))[0]
    array([[1., 1.],
           [1., 1.]])
    """
    return Shaped(ihfftn, _ihfft, **of_axes(s, axes, norm))


@constructor()
def hfft2(s: Several = None, axes: Several = (-2, -1), norm: str | None = None) -> D:
    """`ct.fft.hfftn` along the last two axes, as `scipy.fft.hfft2`.

    Shapes, dtypes, derivative and errors as `ct.fft.hfftn`.

    >>> import catad as ct, numpy as np
    >>> ct.fft.hfft2()(np.eye(2))
    array([[2., 0.],
           [0., 2.]])
    """
    return Shaped(hfft2, _hfft, **of_axes(s, axes, norm))


@constructor()
def ihfft2(s: Several = None, axes: Several = (-2, -1), norm: str | None = None) -> D:
    """The inverse of `ct.fft.hfft2`, as `scipy.fft.ihfft2`.

    Shapes, dtypes, derivative and errors as `ct.fft.ihfftn`.

    >>> import catad as ct, numpy as np
    >>> ct.fft.ihfft2()(2 * np.eye(2))[0]
    array([[1., 0.],
           [0., 1.]])
    """
    return Shaped(ihfft2, _ihfft, **of_axes(s, axes, norm))
