"""`numpy.fft`, `scipy.fft`, the convolutions of `scipy.signal` and the circulants of `scipy.linalg`.

The words of `catad.fft` take and give pairs of real arrays, which are the parts of complex stand-ins.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from catad import errors, linalg
from catad import fft as words
from catad.category.terms import D
from catad.traced.names.linear.linalg import several
from catad.traced.names.sums import one_line, strong
from catad.traced.pairs.functions import OWN
from catad.traced.pairs.stand_in import Complex
from catad.traced.recorder import Trace
from catad.traced.table import meaning, meaning_anywhere, of_package

Meaning = Callable[..., Any]
Pair = Callable[[Any, Any], Any]
_ONE_AXIS, _AXES = ("n", "axis", "norm"), ("s", "axes", "norm")
_IGNORED = ("overwrite_x", "workers")  # of SciPy's functions
REAL = {  # words with real results, of real arrays, and the parameters that they take
    **dict.fromkeys(("irfft", "hfft"), _ONE_AXIS), **dict.fromkeys(("irfftn", "irfft2"), _AXES),
    **dict.fromkeys(("dct", "idct", "dst", "idst"), ("type", *_ONE_AXIS)),
    **dict.fromkeys(("dctn", "idctn", "dstn", "idstn"), ("type", *_AXES)),
}  # fmt: skip
COMPLEX = {  # words with complex results
    **dict.fromkeys(("fft", "ifft", "rfft", "ihfft"), _ONE_AXIS),
    **dict.fromkeys(("fftn", "ifftn", "fft2", "ifft2", "rfftn", "rfft2"), _AXES),
}
_REAL_ALONE = ("rfft", "ihfft", "rfftn", "rfft2")


def _bound(fn: Meaning, *first: Any, **named: Any) -> Meaning:
    """A meaning with its first arguments."""

    def made(trace: Trace, *args: Any, **kwargs: Any) -> Any:
        return fn(*first, trace, *args, **named, **kwargs)

    return made


def _is_complex(x: Any) -> bool:
    return np.dtype(getattr(x, "dtype", type(x) if isinstance(x, complex) else float)).kind == "c"


def _parts(trace: Trace, x: Any) -> list[Any]:
    """The real stand-ins of an argument: itself, or the parts of a complex one."""
    return [strong(trace, part) for part in ((x.real, x.imag) if _is_complex(x) else (x,))]


def _term(
    name: str, taken: Sequence[str], function: Meaning, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, D]:
    """The array of a call, which is its first argument, and the word."""
    (_, x), *more = inspect.signature(function).bind(*args, **kwargs).arguments.items()
    given = dict(more)
    ortho = given.pop("orthogonalize", None)
    if ortho is not None and bool(ortho) != (given.get("norm") == "ortho"):
        raise errors.TraceError(errors.unknown_parameter(f"scipy.fft.{name}", "orthogonalize"))
    for parameter, value in given.items():
        if parameter not in taken and parameter not in _IGNORED and value is not None:
            module = "np" if str(function.__module__).startswith("numpy") else "scipy"
            raise errors.TraceError(errors.unknown_parameter(f"{module}.fft.{name}", parameter))
    return x, getattr(words, name)(**{k: _plain(v) for k, v in given.items() if k in taken})


def _plain(value: Any) -> Any:
    """A parameter in Python's numbers."""
    if isinstance(value, (list, tuple, np.ndarray)):
        return tuple([k.__index__() for k in value])
    return value if value is None or isinstance(value, str) else value.__index__()


def _to_real(name: str, function: Meaning, trace: Trace, *args: Any, **kwargs: Any) -> Any:
    x, term = _term(name, REAL[name], function, args, kwargs)
    return one_line(trace, term, *_parts(trace, x))


def _to_pair(name: str, function: Meaning, pair: Pair, trace: Trace, *args: Any, **kwargs: Any) -> Any:
    x, term = _term(name, COMPLEX[name], function, args, kwargs)
    given = _parts(trace, x)
    if len(given) > 1 and name in _REAL_ALONE:
        raise TypeError(f"{name} transforms real numbers, and a complex array is given")
    return pair(*several(trace, term, *given))


def _shifted(name: str, trace: Trace, x: Any, axes: Any = None) -> Any:
    return one_line(trace, getattr(words, name)(None if axes is None else _plain(axes)), strong(trace, x))


def of_complex(pair: Pair) -> dict[str, Meaning]:
    """Enter the functions with complex results, and return by name what functions mean of a complex stand-in."""
    found: dict[str, Meaning] = {}
    for name in COMPLEX:
        function = getattr(np.fft, name)
        found[name] = _bound(_to_pair, name, function, pair)
        meaning(function)(found[name])
    for name, taken in REAL.items():
        if taken[0] != "type":
            found[name] = _bound(_to_real, name, getattr(np.fft, name))
    for name in ("fftshift", "ifftshift"):
        found[name] = lambda trace, x, axes=None, name=name: pair(*[_shifted(name, trace, p, axes) for p in _parts(trace, x)])
    return found


for _name, _taken in REAL.items():
    if _taken[0] != "type":
        meaning(getattr(np.fft, _name))(_bound(_to_real, _name, getattr(np.fft, _name)))
for _name in ("fftshift", "ifftshift"):
    meaning(getattr(np.fft, _name))(_bound(_shifted, _name))
OWN.update(of_complex(Complex))


@of_package("scipy.fft")
def enter() -> None:
    """Enter the functions of `scipy.fft` into the tables."""
    import scipy.fft

    for name in REAL:
        function = getattr(scipy.fft, name)
        meaning_anywhere(function)(_bound(_to_real, name, function))
    for name in COMPLEX:
        function = getattr(scipy.fft, name)
        meaning_anywhere(function)(_bound(_to_pair, name, function, Complex))
    for name in ("fftshift", "ifftshift"):
        meaning_anywhere(getattr(scipy.fft, name))(_bound(_shifted, name))


# -- convolutions of SciPy


def _lines(trace: Trace, name: str, a: Any, v: Any) -> tuple[Any, Any]:
    x, y = strong(trace, a), strong(trace, v)
    if x.ndim != y.ndim:
        raise ValueError(f"{name}: in1 and in2 should have the same dimensionality")
    if x.ndim != 1:
        raise errors.TraceError(errors.unknown_function(f"scipy.signal.{name} of arrays of {x.ndim} axes"))
    return x, y


def _convolved(trace: Trace, in1: Any, in2: Any, mode: Any = "full", method: str = "auto", name: str = "convolve") -> Any:
    """By `np.convolve`, whose middle is that of the longer array; SciPy's is that of the first one."""
    x, y = _lines(trace, name, in1, in2)
    if not len(x) or not len(y):
        return np.zeros(0, np.result_type(x.dtype, y.dtype))
    y = y[::-1] if name == "correlate" else y
    if method == "fft":
        return _by_transforms(trace, x, y, mode)
    if mode != "same":
        return np.convolve(x, y, mode)
    first = (len(y) - 1) // 2
    return np.convolve(x, y)[first : first + len(x)]


def _by_transforms(trace: Trace, in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Any:
    x, y = _lines(trace, "fftconvolve", in1, in2)
    if axes is not None and _plain(axes) not in (0, -1, (0,), (-1,)):
        raise errors.TraceError(errors.unknown_parameter("scipy.signal.fftconvolve", "axes"))
    if not len(x) or not len(y):
        return np.zeros(0, np.result_type(x.dtype, y.dtype))
    return one_line(trace, words.fftconvolve(mode), x, y)


@of_package("scipy.signal")
def enter_signal() -> None:
    """Enter the convolutions of `scipy.signal` into the tables."""
    import scipy.signal

    meaning_anywhere(scipy.signal.convolve)(_convolved)
    meaning_anywhere(scipy.signal.correlate)(_bound(_convolved, name="correlate"))
    meaning_anywhere(scipy.signal.fftconvolve)(_by_transforms)


# -- circulants of SciPy


def _solve_circulant(
    trace: Trace, c: Any, b: Any, singular: str = "raise", tol: Any = None, caxis: int = -1, baxis: int = 0, outaxis: int = 0
) -> Any:
    if singular != "raise":
        raise errors.TraceError(errors.unknown_parameter("scipy.linalg.solve_circulant", "singular"))
    if _is_complex(c) or _is_complex(b):
        raise errors.TraceError(errors.not_for_complex("scipy.linalg.solve_circulant"))
    column, right = np.moveaxis(strong(trace, c), caxis, -1), np.moveaxis(strong(trace, b), baxis, 0)
    word = linalg.solve_circulant(None if tol is None else float(tol))
    return np.moveaxis(one_line(trace, word, column, right), 0, outaxis)


@of_package("scipy.linalg")
def enter_circulants() -> None:
    """Enter the circulants of `scipy.linalg` into the tables."""
    import scipy.linalg

    meaning_anywhere(scipy.linalg.solve_circulant)(_solve_circulant)
