"""`scipy.integrate`: integrals of functions and of samples, entered when the first of its functions is called.

`quad` and `quad_vec` are `ct.quad`: always by 21 points, and an error where SciPy warns. Rules on samples are sums.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from catad import errors, upward
from catad.traced.names.sums import strong
from catad.traced.pairs.stand_in import as_pair
from catad.traced.recorder import Trace
from catad.traced.table import COMPLEX_TOO, PYTHON, meaning_anywhere, of_package
from catad.values.complex_numbers import is_complex

_LIMIT = 50  # SciPy's default, of a rule that extrapolates: bisection alone has room for more


def _unsupported(name: str, **given: Any) -> None:
    """Raise `TraceError` for the first parameter that is given."""
    for parameter, value in given.items():
        if value is not None and value is not False and value != 0:
            raise errors.TraceError(errors.unknown_parameter(f"scipy.integrate.{name}", parameter))


def _tuple(args: Any) -> tuple[Any, ...]:
    return args if isinstance(args, tuple) else (args,)


def quad(
    driver: Any, func: Any, a: Any, b: Any, args: Any = (), full_output: Any = 0, epsabs: float = 1.49e-8,
    epsrel: float = 1.49e-8, limit: int = _LIMIT, points: Any = None, weight: Any = None, wvar: Any = None, wopts: Any = None,
    maxp1: int = 50, limlst: int = 50, complex_func: bool = False,
) -> Any:  # fmt: skip
    _unsupported("quad", full_output=full_output, weight=weight, wvar=wvar, wopts=wopts)
    most = 200 if limit == _LIMIT else int(limit)
    return _integral(driver, func, a, b, args, epsabs=epsabs, epsrel=epsrel, limit=most, points=points)


def quad_vec(
    driver: Any, f: Any, a: Any, b: Any, epsabs: float = 1e-200, epsrel: float = 1e-8, norm: str = "2",
    cache_size: float = 100e6, limit: float = 10_000, workers: Any = 1, points: Any = None, quadrature: Any = None,
    full_output: bool = False, *, args: Any = (),
) -> Any:  # fmt: skip
    """Room for at most 1,000 intervals is made."""
    _unsupported("quad_vec", full_output=full_output)
    if norm not in ("2", "max"):
        raise ValueError(f"{norm!r} is not '2' or 'max'")
    if quadrature not in (None, "gk21", "gk15", "trapezoid"):
        raise ValueError(f"unknown quadrature {quadrature!r}")
    most = min(int(limit), 1000)
    return _integral(driver, f, a, b, args, epsabs=epsabs, epsrel=epsrel, limit=most, points=points)


def _integral(driver: Any, f: Any, a: Any, b: Any, args: Any, points: Any, **options: Any) -> Any:
    cuts = () if points is None else _numbers(points)
    return upward.quad(f, points=cuts, error=True, **options)(a, b, *_tuple(args))


def _numbers(points: Any) -> tuple[float, ...]:
    """Points as numbers: where they depend on data, the integral is cut by hand."""
    found = []
    for p in points:
        value = getattr(p, "constant", p)
        if value is None:
            raise errors.TraceError(errors.traced_break_points())
        found.append(float(value))
    return tuple(found)


def fixed_quad(driver: Any, func: Any, a: Any, b: Any, args: Any = (), n: int = 5) -> Any:
    if any(isinstance(end, float) and np.isinf(end) for end in (a, b)):
        raise ValueError("Gaussian quadrature is only available for finite limits.")
    nodes, weights = np.polynomial.legendre.leggauss(n)
    x = (b - a) * (nodes + 1) / 2.0 + a
    values = driver.call(func, x, *_tuple(args))
    return (b - a) / 2.0 * np.sum(weights * values, axis=-1), None


# -- integrals of samples


def _samples(trace: Trace, a: Any) -> Any:
    return as_pair(trace, a) if is_complex(a) else strong(trace, a)


def _spacings(trace: Trace, y: Any, x: Any, axis: int) -> Any:
    """The differences of x along an axis, in as many axes as y; raises SciPy's errors."""
    at = strong(trace, x)
    if at.ndim == 1:
        at = at.reshape(tuple([-1 if k == axis else 1 for k in range(y.ndim)]))
    elif at.ndim != y.ndim:
        raise ValueError("If given, shape of x must be 1-D or the same as y.")
    if at.shape[axis] != y.shape[axis]:
        raise ValueError("If given, length of x along axis must be the same as y.")
    return np.diff(at, axis=axis)


def _part(axis: int, *slices: Any) -> list[Any]:
    """The slices along an axis, as indices."""
    return [(slice(None),) * axis + (one,) for one in slices]


def trapezoid(trace: Trace, y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    return np.trapezoid(_samples(trace, y), x, dx, axis)


def cumulative_trapezoid(trace: Trace, y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: Any = None) -> Any:
    f = _samples(trace, y)
    k = normalize_axis_index(axis, f.ndim)
    if not f.shape[k]:
        raise ValueError("At least one point is required along `axis`.")
    if initial is not None and initial != 0:
        raise ValueError("`initial` must be `None` or `0`.")
    steps = dx if x is None else _spacings(trace, f, x, k)
    later, earlier = _part(k, slice(1, None), slice(None, -1))
    made = np.cumsum(steps * (f[later] + f[earlier]) / 2.0, axis=k)
    if initial is None:
        return made
    first = np.zeros((*made.shape[:k], 1, *made.shape[k + 1 :]), made.dtype)
    return np.concatenate([first, made], axis=k)


def _quotient(a: Any, b: Any) -> Any:
    """a / b, and 0 where b is 0."""
    return np.where(b != 0, a / np.where(b != 0, b, 1.0), 0.0)


def simpson(trace: Trace, y: Any, x: Any = None, *, dx: Any = 1.0, axis: int = -1) -> Any:
    """An even number of samples: the last interval by the parabola through the last three."""
    f = _samples(trace, y)
    k = normalize_axis_index(axis, f.ndim)
    n = f.shape[k]
    steps = None if x is None else _spacings(trace, f, x, k).astype(np.float64)
    if n % 2:
        return _parabolas(f, steps, dx, k, n)
    if n < 2:
        raise IndexError("Simpson's rule needs a sample")
    a, b, c = _part(k, -3, -2, -1)
    if n == 2:
        return 0.5 * (dx if steps is None else steps[c]) * (f[c] + f[b])
    g, h = (np.float64(dx), np.float64(dx)) if steps is None else (steps[b], steps[c])
    own = _quotient(2.0 * h**2 + 3.0 * g * h, 6.0 * (h + g)) * f[c] + _quotient(h**2 + 3.0 * g * h, 6.0 * g) * f[b]
    return _parabolas(f, steps, dx, k, n - 1) + own - _quotient(h**3, 6.0 * g * (g + h)) * f[a]


def _parabolas(f: Any, steps: Any, dx: Any, k: int, n: int) -> Any:
    """Simpson's rule on the first n samples, an odd number."""
    first, middle, last = [f[one] for one in _part(k, slice(0, n - 2, 2), slice(1, n - 1, 2), slice(2, n, 2))]
    if steps is None:
        return np.sum(first + 4.0 * middle + last, axis=k) * (dx / 3.0)
    g, h = [steps[one] for one in _part(k, slice(0, n - 2, 2), slice(1, n - 1, 2))]
    both, ratio = g + h, _quotient(g, h)
    terms = first * (2.0 - _quotient(1.0, ratio)) + middle * (both * _quotient(both, g * h)) + last * (2.0 - ratio)
    return np.sum(both / 6.0 * terms, axis=k)


@of_package("scipy.integrate")
def enter() -> None:
    """Enter the functions into the tables."""
    import scipy.integrate

    for of_function in (quad, quad_vec, fixed_quad):
        PYTHON[getattr(scipy.integrate, of_function.__name__)] = of_function
    for of_samples in (trapezoid, cumulative_trapezoid, simpson):
        meaning_anywhere(getattr(scipy.integrate, of_samples.__name__))(of_samples)
        COMPLEX_TOO.add(of_samples)
