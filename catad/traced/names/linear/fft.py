"""`numpy.fft` and `scipy.fft`.

The words of `catad.fft` take and give pairs of real arrays, which are the parts of complex stand-ins.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from catad import errors
from catad import fft as words
from catad.category.terms import D
from catad.traced.names.linear.linalg import several
from catad.traced.names.sums import one_line, strong
from catad.traced.pairs.own_meanings import OWN
from catad.traced.pairs.stand_in import Complex
from catad.traced.recorder import Trace
from catad.traced.table import meaning, meaning_anywhere, of_package

Meaning = Callable[..., Any]
Pair = Callable[[Any, Any], Any]
_ONE_AXIS, _AXES = ("n", "axis", "norm"), ("s", "axes", "norm")
_IGNORED = ("overwrite_x", "workers")  # of SciPy's functions
REAL = {  # words with real results, of real arrays, and the parameters that they take
    **dict.fromkeys(("irfft", "hfft"), _ONE_AXIS), **dict.fromkeys(("irfftn", "irfft2", "hfftn", "hfft2"), _AXES),
    **dict.fromkeys(("dct", "idct", "dst", "idst"), ("type", *_ONE_AXIS)),
    **dict.fromkeys(("dctn", "idctn", "dstn", "idstn"), ("type", *_AXES)),
}  # fmt: skip
COMPLEX = {  # words with complex results
    **dict.fromkeys(("fft", "ifft", "rfft", "ihfft"), _ONE_AXIS),
    **dict.fromkeys(("fftn", "ifftn", "fft2", "ifft2", "rfftn", "rfft2", "ihfftn", "ihfft2"), _AXES),
}
_REAL_ALONE = ("rfft", "ihfft", "rfftn", "rfft2", "ihfftn", "ihfft2")


def _bound(fn: Meaning, *first: Any, **named: Any) -> Meaning:
    """A meaning with its first arguments."""

    def made(trace: Trace, *args: Any, **kwargs: Any) -> Any:
        return fn(*first, trace, *args, **named, **kwargs)

    return made


def is_complex(x: Any) -> bool:
    return np.dtype(getattr(x, "dtype", type(x) if isinstance(x, complex) else float)).kind == "c"


def _parts(trace: Trace, x: Any) -> list[Any]:
    """The real stand-ins of an argument: itself, or the parts of a complex one."""
    return [strong(trace, part) for part in ((x.real, x.imag) if is_complex(x) else (x,))]


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
    return x, getattr(words, name)(**{k: plain(v) for k, v in given.items() if k in taken})


def plain(value: Any) -> Any:
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
    return one_line(trace, getattr(words, name)(None if axes is None else plain(axes)), strong(trace, x))


def of_complex(pair: Pair) -> dict[str, Meaning]:
    """Enter the functions with complex results, and return by name what functions mean of a complex stand-in."""
    found: dict[str, Meaning] = {}
    for name in filter(_of_numpy, COMPLEX):
        function = getattr(np.fft, name)
        found[name] = _bound(_to_pair, name, function, pair)
        meaning(function)(found[name])
    for name in filter(_of_numpy, REAL):
        found[name] = _bound(_to_real, name, getattr(np.fft, name))
    for name in ("fftshift", "ifftshift"):
        found[name] = lambda trace, x, axes=None, name=name: pair(*[_shifted(name, trace, p, axes) for p in _parts(trace, x)])
    return found


def _of_numpy(name: str) -> bool:
    return hasattr(np.fft, name)


for _name in filter(_of_numpy, REAL):
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
