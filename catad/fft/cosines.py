"""`dct`, `dst`, their inverses and their forms of several axes: real transforms by cosines and sines, types 1 to 4.

    dct  1  x_0 + (-1)^k x_(n-1) + 2 sum of the others x_j cos(pi j k / (n-1))
         2  2 sum x_j cos(pi (2j+1) k / 2n)
         3  x_0 + 2 sum of the others x_j cos(pi j (2k+1) / 2n)
         4  2 sum x_j cos(pi (2j+1) (2k+1) / 4n)

    dst  1  2 sum x_j sin(pi (j+1) (k+1) / (n+1))
         2  2 sum x_j sin(pi (2j+1) (k+1) / 2n)
         3  (-1)^k x_(n-1) + 2 sum of the others x_j sin(pi (j+1) (2k+1) / 2n)
         4  2 sum x_j sin(pi (2j+1) (2k+1) / 4n)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from catad import errors
from catad.category.constructors import constructor
from catad.category.terms import D
from catad.fft.arguments import Several, fitted, of_axes, of_one_axis, pair, points, real, scale_of
from catad.linear.families.fourier import INVERSE, OTHER, How, Transform
from catad.vector.deferred import Lay, Shaped, linear

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire


def _laid(kind: str, inverse: bool) -> Lay:
    """Parts of complex numbers are transformed each by itself."""

    def laid(b: Builder, x: Any, term: Any) -> Any:
        parts = pair(b, x, term) if isinstance(x, tuple) else (real(b, x, term),)
        made = tuple([_one(b, part, term, kind, inverse) for part in parts])
        return made if isinstance(x, tuple) else made[0]

    return linear(laid)


def _one(b: Builder, x: Wire, term: Any, kind: str, inverse: bool) -> Wire:
    axes, counts = points(x, term)
    given, norm = term.parameters["type"], scale_of(term)
    for axis, n in zip(axes, counts, strict=True):
        x = fitted(b, x, axis, n, term, 2 if (kind, given) == ("dct", 1) else 1)
    if not axes:
        return x
    type, norm = (INVERSE[given], OTHER[norm]) if inverse else (given, norm)
    return b.add(Transform(How(kind, axes, norm, type=type)), x)[0]


_dct, _idct, _dst, _idst = _laid("dct", False), _laid("dct", True), _laid("dst", False), _laid("dst", True)


def _known(type: int) -> int:
    if isinstance(type, bool) or type not in INVERSE:
        raise errors.ArgumentError(errors.no_such_choice("type of transforms (type=)", type, list(INVERSE)))
    return int(type)


@constructor()
def dct(type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None) -> D:
    """The discrete cosine transform of a type from 1 to 4 along an axis, as `scipy.fft.dct`.

    `n` points are transformed: the array is cut, or padded with zeros. `norm` divides by nothing ("backward", None), by the
    length of a period ("forward"), or makes the matrix orthogonal ("ortho").

    Shapes: (..., m, ...) to (..., n, ...), of pairs (re, im) each part. Dtype: floats keep theirs, integers become float64.
    Derivative: the transform itself, in O(n log n); its transpose is that of the inverse type, weighted where SciPy's definition
    has halves. Raises `SpaceError` for an axis that is missing or has too few points (type 1 takes 2), `ArgumentError` for
    another type or `norm`. Source: J. Makhoul, 1980; the numbers are those of `scipy.fft`.

    >>> import catad as ct, numpy as np
    >>> ct.fft.dct()(np.array([1.0, 1.0])), ct.fft.dct(1)(np.array([1.0, 0.0, 0.0]))
    (array([4., 0.]), array([1., 1., 1.]))
    """
    return Shaped(dct, _dct, type=_known(type), **of_one_axis(n, axis, norm))


@constructor()
def idct(type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None) -> D:
    """The inverse of `ct.fft.dct` of the same type, as `scipy.fft.idct`.

    Shapes, dtypes, derivative and errors as `ct.fft.dct`.

    >>> import catad as ct, numpy as np
    >>> ct.fft.idct()(np.array([4.0, 0.0]))
    array([1., 1.])
    """
    return Shaped(idct, _idct, type=_known(type), **of_one_axis(n, axis, norm))


@constructor()
def dst(type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None) -> D:
    """The discrete sine transform of a type from 1 to 4 along an axis, as `scipy.fft.dst`.

    Shapes, dtypes, parameters, derivative and errors as `ct.fft.dct`; type 1 takes one point, too.

    >>> import catad as ct, numpy as np
    >>> ct.fft.dst()(np.array([1.0, -1.0])).round(12)
    array([0., 4.])
    """
    return Shaped(dst, _dst, type=_known(type), **of_one_axis(n, axis, norm))


@constructor()
def idst(type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None) -> D:
    """The inverse of `ct.fft.dst` of the same type, as `scipy.fft.idst`.

    Shapes, dtypes, derivative and errors as `ct.fft.dst`.

    >>> import catad as ct, numpy as np
    >>> ct.fft.idst()(np.array([0.0, 4.0])).round(12)
    array([ 1., -1.])
    """
    return Shaped(idst, _idst, type=_known(type), **of_one_axis(n, axis, norm))


@constructor()
def dctn(type: int = 2, s: Several = None, axes: Several = None, norm: str | None = None) -> D:
    """`ct.fft.dct` along several axes (None: all), as `scipy.fft.dctn`.

    `s` has a number of points for each axis, -1 for those that there are. Shapes, dtypes and derivative as for `ct.fft.dct`.
    Errors as `ct.fft.dct`; axes that occur twice and numbers that do not fit them are a `SpaceError`.

    >>> import catad as ct, numpy as np
    >>> ct.fft.dctn()(np.ones((2, 2)))
    array([[16.,  0.],
           [ 0.,  0.]])
    """
    return Shaped(dctn, _dct, type=_known(type), **of_axes(s, axes, norm))


@constructor()
def idctn(type: int = 2, s: Several = None, axes: Several = None, norm: str | None = None) -> D:
    """The inverse of `ct.fft.dctn`, as `scipy.fft.idctn`.

    Shapes, dtypes, derivative and errors as `ct.fft.dctn`.

    >>> import catad as ct, numpy as np
    >>> ct.fft.idctn()(np.array([[16.0, 0.0], [0.0, 0.0]]))
    array([[1., 1.],
           [1., 1.]])
    """
    return Shaped(idctn, _idct, type=_known(type), **of_axes(s, axes, norm))


@constructor()
def dstn(type: int = 2, s: Several = None, axes: Several = None, norm: str | None = None) -> D:
    """`ct.fft.dst` along several axes (None: all), as `scipy.fft.dstn`.

    Shapes, dtypes, derivative and errors as `ct.fft.dctn`.

    >>> import catad as ct, numpy as np
    >>> ct.fft.dstn()(np.array([[1.0, -1.0], [-1.0, 1.0]])).round(12)[1, 1]
    np.float64(16.0)
    """
    return Shaped(dstn, _dst, type=_known(type), **of_axes(s, axes, norm))


@constructor()
def idstn(type: int = 2, s: Several = None, axes: Several = None, norm: str | None = None) -> D:
    """The inverse of `ct.fft.dstn`, as `scipy.fft.idstn`.

    Shapes, dtypes, derivative and errors as `ct.fft.dctn`.

    >>> import catad as ct, numpy as np
    >>> ct.fft.idstn()(np.array([[0.0, 0.0], [0.0, 16.0]])).round(12)[0]
    array([ 1., -1.])
    """
    return Shaped(idstn, _idst, type=_known(type), **of_axes(s, axes, norm))
